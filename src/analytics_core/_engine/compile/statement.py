"""What a plan is compiled to: text for a driver with its values."""

from __future__ import annotations

from dataclasses import dataclass

from analytics_core._engine.engines.spec import BindValue
from analytics_core._engine.engines.types import ValueKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """SQL text for the driver with its bound values, and the text as people read it (values inlined).

    `parameters` is a tuple for qmark drivers, else a mapping. `labels` and `kinds` follow the outputs.
    """

    sql: str
    parameters: tuple[BindValue, ...] | dict[str, BindValue]
    display_sql: str
    labels: tuple[str, ...]
    kinds: tuple[ValueKind, ...]
