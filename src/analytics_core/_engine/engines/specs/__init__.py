"""One module per engine and its kin: the registry takes up each `EngineSpec` in its `ENGINES`."""
