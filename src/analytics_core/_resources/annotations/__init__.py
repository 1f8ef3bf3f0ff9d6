"""Annotation layers and their annotations."""
