"""What a package imports to add to the library, and the groups of entry points that it names its additions in.

An entry point of `OPERATIONS` names one `Operation`, one of `ADVANCED_DATA_TYPES` one `AdvancedDataType`, one of
`CHART_KINDS` one `ChartKind`, one of `ENGINES` one `EngineSpec`, one of `NOTIFIERS` a maker of a `ports.Notifier`,
without arguments. What specs of engines are built of stands in modules, from `bounds` to `tokens`.
"""

from __future__ import annotations

from analytics_core._engine.compile.advanced_types import ENTRY_POINTS as ADVANCED_DATA_TYPES
from analytics_core._engine.compile.advanced_types import AdvancedDataType, Span
from analytics_core._engine.engines import bounds, fences, grains, kinds, literals, meanings, nodes, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.guards import (
    STANDARD_TABLE_NAMES,
    DatabaseFiles,
    Guards,
    NameSet,
    RevealingRelations,
    TableNames,
    allowed_with,
    name_set,
    uri_options,
)
from analytics_core._engine.engines.registry import ENTRY_POINTS as ENGINES
from analytics_core._engine.engines.registry import EngineRegistry, installed_engines
from analytics_core._engine.engines.spec import EngineSpec, ErrorPattern, ParamStyle, Syntax
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core._engine.frames import ENTRY_POINTS as OPERATIONS
from analytics_core._engine.frames.registry import Operation
from analytics_core._reports import ENTRY_POINTS as NOTIFIERS
from analytics_core._superset import ENTRY_POINTS as CHART_KINDS
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import Form, FormValue

__all__ = [
    "ADVANCED_DATA_TYPES",
    "CHART_KINDS",
    "ENGINES",
    "NOTIFIERS",
    "OPERATIONS",
    "STANDARD_TABLE_NAMES",
    "AdvancedDataType",
    "ChartKind",
    "DatabaseFiles",
    "EngineRegistry",
    "EngineSpec",
    "ErrorPattern",
    "Form",
    "FormValue",
    "Guards",
    "NameSet",
    "Operation",
    "ParamStyle",
    "QueryDraft",
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
    "uri_options",
]
