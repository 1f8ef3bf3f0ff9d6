"""Turns chart payloads into records; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analytics_core._records.chart import Chart
from analytics_core.models.chart import ChartPost, ChartPut

_KEPT_ON_NULL = frozenset({"slice_name", "is_managed_externally", "datasource_id", "datasource_type"})
_CONTEXT, _GENERATED = "query_context", "query_context_generation"
_TAKEN_APART = frozenset({"owners", "dashboards", "tags"})


def new_chart(post: ChartPost, *, uuid: str, owner_ids: tuple[int, ...]) -> Chart:
    """Return the record of a create payload."""
    record = Chart(uuid=uuid, slice_name=post.slice_name, owner_ids=owner_ids)
    return replace(record, **_copied(post))


def changed_chart(chart: Chart, put: ChartPut, *, owner_ids: tuple[int, ...]) -> Chart:
    """Return the record after an update; null clears what may be empty and leaves everything else as it is.

    A query context that a person wrote is not replaced by one that a system made (`query_context_generation`).
    """
    return replace(chart, **_respecting_the_writer(chart, _copied(put)), owner_ids=owner_ids)


def _respecting_the_writer(chart: Chart, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an update, without a generated query context where a person's is stored.

    A query context that comes without the flag is a person's.
    """
    if fields.get(_GENERATED):
        written_by_hand = bool(chart.query_context) and not chart.query_context_generation
        return {n: v for n, v in fields.items() if n not in (_CONTEXT, _GENERATED)} if written_by_hand else fields
    return {**fields, _GENERATED: False} if _CONTEXT in fields else fields


def _copied(payload: ChartPost | ChartPut) -> dict[str, Any]:
    return {
        name: value
        for name, value in payload.given().items()
        if name not in _TAKEN_APART and (value is not None or name not in _KEPT_ON_NULL)
    }
