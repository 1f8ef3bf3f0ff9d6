"""Jobs: questions kept as records of the store, which any process may run, find, read and cancel."""
