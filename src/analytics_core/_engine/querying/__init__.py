"""The road of a chart query: run, cache, compare in time, shape and write the answer."""
