"""Content looked at as a whole: what broke since it was stored, and what a change of it changes."""
