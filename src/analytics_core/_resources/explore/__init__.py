"""The explore view: what it starts from, and stored form data."""
