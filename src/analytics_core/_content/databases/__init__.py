"""Databases: the namespace, and the payloads and answers behind it."""
