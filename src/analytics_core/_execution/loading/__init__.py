"""Writes rows of files into tables of users' databases, all or none."""
