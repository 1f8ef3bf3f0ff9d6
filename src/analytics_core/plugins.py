"""What a package imports to add to the library, and the groups of entry points that it names its additions in.

An entry point of `OPERATIONS` names one `Operation`, one of `ADVANCED_DATA_TYPES` one `AdvancedDataType`.
"""

from __future__ import annotations

from analytics_core._compile.advanced_types.base import AdvancedDataType, Span
from analytics_core._compile.advanced_types.registry import ENTRY_POINTS as ADVANCED_DATA_TYPES
from analytics_core._frames.operations.base import Operation
from analytics_core._frames.registry import ENTRY_POINTS as OPERATIONS

__all__ = ["ADVANCED_DATA_TYPES", "OPERATIONS", "AdvancedDataType", "Operation", "Span"]
