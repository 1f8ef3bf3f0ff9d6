"""Functions that no user's SQL may call, engine by engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DENIED_FUNCTIONS: Mapping[str, frozenset[str]] = MappingProxyType({})
"""Engine name -> lower-case names of functions that read files, reach the network, sleep or change the session."""
