"""Content that other stores exported: read, checked and stored as a whole."""
