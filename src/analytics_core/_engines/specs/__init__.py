"""One module per engine; each offers a function that returns its `EngineSpec`."""
