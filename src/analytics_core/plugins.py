"""What a package imports to add to the library, and the groups of entry points that it names its additions in.

An entry point of `OPERATIONS` names one `Operation`, one of `ADVANCED_DATA_TYPES` one `AdvancedDataType`, one of
`ENGINES` one `EngineSpec`. What specs of engines are built of stands in modules, from `bounds` to `tokens`.
"""

from __future__ import annotations

from analytics_core._compile.advanced_types import ENTRY_POINTS as ADVANCED_DATA_TYPES
from analytics_core._compile.advanced_types import AdvancedDataType, Span
from analytics_core._engines import bounds, fences, grains, kinds, literals, meanings, nodes, operators, tokens
from analytics_core._engines.ansi import ansi_engine
from analytics_core._engines.guards import (
    STANDARD_TABLE_NAMES,
    DatabaseFiles,
    Guards,
    NameSet,
    RevealingRelations,
    TableNames,
    allowed_with,
    name_set,
)
from analytics_core._engines.registry import ENTRY_POINTS as ENGINES
from analytics_core._engines.registry import EngineRegistry, installed_engines
from analytics_core._engines.spec import EngineSpec, ErrorPattern, ParamStyle, Syntax
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core._frames.registry import ENTRY_POINTS as OPERATIONS
from analytics_core._frames.registry import Operation

__all__ = [
    "ADVANCED_DATA_TYPES",
    "ENGINES",
    "OPERATIONS",
    "STANDARD_TABLE_NAMES",
    "AdvancedDataType",
    "DatabaseFiles",
    "EngineRegistry",
    "EngineSpec",
    "ErrorPattern",
    "Guards",
    "NameSet",
    "Operation",
    "ParamStyle",
    "RevealingRelations",
    "Span",
    "Syntax",
    "TableNames",
    "TimeEncoding",
    "TimeFormat",
    "ValueKind",
    "allowed_with",
    "ansi_engine",
    "bounds",
    "fences",
    "grains",
    "installed_engines",
    "kinds",
    "literals",
    "meanings",
    "name_set",
    "nodes",
    "operators",
    "tokens",
]
