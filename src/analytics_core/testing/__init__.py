"""Fakes, sample data and conformance suites for those who build on analytics_core; loaded on first use."""
