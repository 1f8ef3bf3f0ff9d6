"""The question that readers of one chart ask, alone or on a dashboard whose filters count with their default values."""

from __future__ import annotations

from typing import Any, Final

from analytics_core._content.questions.acting_filters import acting_filters, given_state
from analytics_core._content.questions.contexts import context_with
from analytics_core._content.questions.extra_filters import ExtraFilters, GivenFilters, given_filters
from analytics_core._content.questions.queries import ChartQueries
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core.errors import NotFoundError

_SHAPE: Final = "ChartCacheWarmUpRequestSchema"


class ActorChartContexts:
    """Gives the questions of charts as one actor asks them."""

    def __init__(self, runtime: ContentRuntime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def question(
        self, chart_id: int, *, dashboard_id: int | None, extra_filters: GivenFilters
    ) -> tuple[Chart, dict[str, Any]]:
        """Return a chart, and the query context that its readers ask; errors are those of `around`, and one more.

        Raises:
            QueryError: the chart stores neither a query context nor a form.
        """
        chart, filters = self.around(chart_id, dashboard_id=dashboard_id, extra_filters=extra_filters)
        queries = ChartQueries(self._runtime, self._actor)
        contexts = self._runtime.chart_contexts
        return chart, context_with(contexts, chart, filters, queries.chart, queries.knows_name)[0]

    def around(
        self, chart_id: int, *, dashboard_id: int | None, extra_filters: GivenFilters
    ) -> tuple[Chart, ExtraFilters]:
        """Return a chart, and what stands around it: the filters of a dashboard as its makers set them, and others.

        Raises:
            QueryError: a filter of the dashboard needs a value.
            NotFoundError, ChartAccessError, DashboardAccessError: unknown, or not for this actor.
            PayloadSchemaError: `extra_filters` are no filters, or fields of the chart's form cannot be used.
        """
        filters = given_filters(extra_filters, shape=_SHAPE)
        with self._runtime.store.unit_of_work() as unit:
            reader = Reader(unit, self._runtime.policy, self._actor)
            chart = reader.chart(chart_id)
            dashboard = None if dashboard_id is None else reader.dashboard(dashboard_id)
        queries = ChartQueries(self._runtime, self._actor)
        if dashboard is not None:
            if chart.id not in dashboard.chart_ids:
                raise NotFoundError("chart", chart.id, place=f"on dashboard {dashboard.id}")
            filters = acting_filters(dashboard, given_state(extra=filters), queries).on(chart)
        return chart, filters
