"""What drivers' messages mean, engine by engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from analytics_core._engines.spec import ErrorPattern

ERROR_PATTERNS: Mapping[str, tuple[ErrorPattern, ...]] = MappingProxyType({})
"""Engine name -> patterns, tried in order."""
