"""Which part of a core is given which others: what a host chose, the engine, the rooms above it."""
