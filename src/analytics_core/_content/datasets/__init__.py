"""Datasets: the namespace, and the payloads, columns and copies behind it."""
