"""Engines as data: one frozen `EngineSpec` each, and the registry that finds them."""
