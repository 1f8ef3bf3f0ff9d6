"""Alerts and reports: when they are due, which states their runs go through, what is sent, and by whom."""
