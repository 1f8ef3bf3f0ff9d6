"""Dashboards: the namespace, and the payloads, texts, filters and copies behind it."""
