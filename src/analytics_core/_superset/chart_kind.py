"""What a chart kind is: the builder of its queries, and what its editor asks where a field is absent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import Form

Build = Callable[[Form], list[QueryDraft]]
"""Makes the queries of a form; fields that it cannot use are rejected by `Form.reject`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartKind:
    """One kind of chart.

    Args:
        name: what `viz_type` says.
        build: makes the queries.
        defaults: the values of absent fields.
        is_compared: whether its queries were compared with those of a real front end; else they follow its public
            documentation.
        is_checked: whether its answers, too, were compared with SQL written by hand where its queries were not.
        fields: further fields of forms that it asks, or that only draw it; others than ours are told as not understood.
        note: what an answer lacks against the chart, as a sentence without a full stop.
    """

    name: str
    build: Build
    defaults: Mapping[str, Any] = field(default_factory=dict)
    is_compared: bool = False
    is_checked: bool = False
    note: str | None = None
    fields: frozenset[str] = frozenset()
