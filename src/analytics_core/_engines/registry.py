"""Finds the spec of an engine by its name or by a connection URI's backend name."""
