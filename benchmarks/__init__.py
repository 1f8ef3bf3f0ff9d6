"""Measures the ratios that the project promises (docs/explanation/limits.md); run with `nox -s bench`."""
