"""analytics_core: a headless analytics engine."""
