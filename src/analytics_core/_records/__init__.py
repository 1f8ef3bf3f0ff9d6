"""Frozen records of what the metadata store holds, and the protocols of the repositories that keep them."""
