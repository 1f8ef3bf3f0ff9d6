"""What readers of a chart ask: its stored query context, with the filters of the dashboard that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analytics_core._querying.reading import stored_context
from analytics_core._records.chart import Chart
from analytics_core._resources.question_filters import (
    ExtraFilters,
    GivenFilters,
    dashboard_filters,
    given_filters,
    with_filters,
)
from analytics_core._resources.reader import Reader
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import NotFoundError, QueryError
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once

_SHAPE = "ChartCacheWarmUpRequestSchema"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadersQuestion:
    """A chart, and the query context that its readers ask."""

    chart: Chart
    payload: dict[str, Any]


class Questions:
    """Makes questions of charts for one actor."""

    def __init__(self, runtime: Runtime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def one(self, chart_id: int, *, dashboard_id: int | None, extra_filters: GivenFilters) -> ReadersQuestion:
        """Return the question of a chart.

        Raises:
            QueryError: the chart stores no query context, or one that is no JSON object.
            NotFoundError, ChartAccessError, DashboardAccessError: unknown, or not for this actor.
            PayloadSchemaError: `extra_filters` are no filters.
        """
        given = given_filters(extra_filters, shape=_SHAPE)
        with self._runtime.store.unit_of_work() as unit:
            reader = Reader(unit, self._runtime.policy, self._actor)
            chart = reader.chart(chart_id)
            dashboard = reader.dashboard(dashboard_id) if dashboard_id is not None else None
        if dashboard is not None and chart.id not in dashboard.chart_ids:
            raise NotFoundError("chart", chart.id, place=f"on dashboard {dashboard.id}")
        default = dashboard_filters(dashboard, chart.id) if dashboard is not None else ExtraFilters()
        return ReadersQuestion(chart=chart, payload=with_filters(_context(chart), default.and_then(given)))


def _context(chart: Chart) -> dict[str, Any]:
    try:
        content = read_json_once(stored_context(chart))
    except RepeatedKeyError as error:
        raise QueryError(f"the query_context of chart {chart.id} {error}; save one with charts.update") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise QueryError(f"the query_context of chart {chart.id} is no JSON object; save one with charts.update")
    return content
