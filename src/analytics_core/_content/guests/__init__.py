"""Guests: embedded dashboards, their tokens, and what a token opens."""
