"""Runs statements within limits and diagnoses what databases answer."""
