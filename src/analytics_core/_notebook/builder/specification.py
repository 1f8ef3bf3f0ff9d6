"""What a query of the builder asks, as one value: each step of the chain gives another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from analytics_core._notebook.builder.expressions import ColumnExpression, MetricExpression
from analytics_core._notebook.builder.operators import OrderKey


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbStep:
    """A step on the rows of the answer, as the chain says it: `pivot`, `rolling`, `share` ... and its options."""

    verb: str
    options: Mapping[str, Any]


class ChainCall(NamedTuple):
    """One call of a chain as it was written; its text is made when it is shown."""

    name: str
    said: tuple[object, ...]
    named: Mapping[str, object]

    def __repr__(self) -> str:
        arguments = [*map(repr, self.said), *(f"{name}={value!r}" for name, value in self.named.items())]
        return f"{self.name}({', '.join(arguments)})"


class QuerySpecification(NamedTuple):
    """All that a chain has said so far; a tuple, since each call of a chain makes another one.

    `metrics` None asks for rows. `top` is how many, and by what, `top_of` of which columns. `time_range` and `grain`
    are of `time_column`, or else of the dataset's main one. `filters` are those of a payload, `where` and `having` SQL
    conditions.
    """

    metrics: tuple[MetricExpression, ...] | None = ()
    columns: tuple[ColumnExpression, ...] = ()
    time_column: str | None = None
    time_range: str | None = None
    grain: str | None = None
    filters: tuple[Mapping[str, Any], ...] = ()
    where: tuple[str, ...] = ()
    having: tuple[str, ...] = ()
    offsets: tuple[str, ...] = ()
    order: tuple[OrderKey, ...] = ()
    top: tuple[int, OrderKey | None] | None = None
    top_of: tuple[str, ...] = ()
    has_others: bool = False
    limit: int | None = None
    offset: int = 0
    steps: tuple[VerbStep, ...] = ()
    layers: tuple[Mapping[str, Any], ...] = ()
    calls: tuple[ChainCall, ...] = ()
