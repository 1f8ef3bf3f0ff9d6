"""Real implementations of the ports."""
