"""One question becomes rows."""
