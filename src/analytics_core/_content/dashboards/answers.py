"""The charts of a dashboard answered together: with its filters, several at a time, one failure sparing the others."""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Lock
from typing import Any, Final

from analytics_core._content.dashboards.layout import read_layout
from analytics_core._content.permalinks import stored_state
from analytics_core._content.questions.acting_filters import (
    FIRST_ITEM,
    ActingFilters,
    GivenState,
    acting_filters,
    check_given,
    given_state,
)
from analytics_core._content.questions.extra_filters import ExtraFilters, GivenFilters, given_filters
from analytics_core._content.questions.filter_values import SHAPE
from analytics_core._content.questions.queries import ChartQueries, JobQueries
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.stored_json import json_object
from analytics_core._engine.compile.fingerprint import digest_of
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.results.dashboard_answer import DashboardChart, DashboardData, FilterState
from analytics_core._engine.rights.actor import Actor
from analytics_core._pictures.pages.page_layout import tabs_around
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core.errors import AnalyticsError, StatementStoppedError, ThreadLimitError
from analytics_core.models.parsing import payload_error

OnChart = Callable[[DashboardChart], object]
"""Is told of each chart as soon as it is answered, in the thread of the caller."""

Answer = Callable[[int], DashboardChart]
"""Answers one chart; never raises an AnalyticsError."""

MOST_AT_A_TIME: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredDashboard:
    """A dashboard with the answers to its charts.

    `find_chart` gives a chart that the actor may read; `visible_tabs` are ids of tabs, None: all.
    """

    dashboard: Dashboard
    data: DashboardData
    find_chart: Callable[[int], Chart]
    visible_tabs: frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardRequest:
    """What is asked of a dashboard: the arguments of `core.dashboards.data`, but for whom it tells of charts."""

    dashboard_id: int
    filters: Mapping[str, Any] | None = None
    cross_filters: Mapping[int, Mapping[str, Any]] | None = None
    extra_filters: GivenFilters = None
    url_params: Mapping[str, Any] | None = None
    permalink: str | None = None
    tabs: Sequence[str] | None = None
    force: bool = False
    parallel: int = 4


class DashboardQuestions:
    """Answers the charts of one dashboard for one actor, once.

    Args:
        queries: answers single charts.
        dashboard: the dashboard, which the actor may read.
        given: what the caller sets.
        request: of whose charts, and how many at a time.
    """

    def __init__(self, queries: JobQueries, dashboard: Dashboard, given: GivenState, request: DashboardRequest) -> None:
        self._queries = queries
        self._dashboard = dashboard
        self._given = given
        self._request = request
        self._layout = read_layout(json_object(dashboard.position_json))
        self._cancel = queries.cancel or CancelToken()

    @cached_property
    def _acting(self) -> ActingFilters:
        return acting_filters(self._dashboard, self._given, self._queries)

    def check(self) -> None:
        """Raise what `answer` would, as far as it can be known before anything is asked."""
        _checked_parallel(self._request.parallel)
        self._chosen()
        check_given(self._dashboard, self._given)

    def answer(self, on_chart: OnChart | None = None) -> DashboardData:
        """Return the answers to the charts in some tabs, some of them at a time.

        Raises:
            UnknownNameError: a filter or a tab that the dashboard does not have.
            PayloadSchemaError: a value that a filter does not take.
        """
        threads, chart_ids = _checked_parallel(self._request.parallel), self._chosen()
        acting = self._acting
        found: dict[int, DashboardChart] = {}
        with (
            self._queries.progress.bar("charts", total=len(chart_ids), unit="chart") as tell,
            closing(self._answered(chart_ids, threads)) as answered,
        ):
            for chart in answered:
                found[chart.chart_id] = chart
                tell(1)
                if on_chart is not None:
                    on_chart(chart)
        return DashboardData(
            dashboard_id=self._dashboard.id,
            charts=tuple(found[key] for key in chart_ids),
            filters=tuple(item.state for item in acting.filters),
            notes=acting.notes,
        )

    def requests(self) -> tuple[Sequence[ChartRequest], Sequence[FilterState]]:
        """Return what the charts in some tabs request, and what the filters are set to.

        Raises:
            AnalyticsError: what `answer` raises, and the errors of single charts.
        """
        acting = self._acting
        charts = tuple(self._queries.chart(key) for key in self._chosen())
        requests = tuple(self._queries.on_dashboard(chart, acting.on(chart)) for chart in charts)
        return requests, tuple(item.state for item in acting.filters)

    def answered(self) -> AnsweredDashboard:
        """Return the dashboard with its answers; errors are those of `answer`."""
        data, tabs = self.answer(), self._request.tabs
        ids = self._given.active_tabs or None
        if tabs is not None:
            ids = tabs_around(json_object(self._dashboard.position_json), self._layout.tab_ids(tabs, shape=SHAPE))
        return AnsweredDashboard(dashboard=self._dashboard, data=data, find_chart=self._queries.chart, visible_tabs=ids)

    def answered_in_job(self) -> tuple[AnsweredDashboard, str]:
        """Return the dashboard as `answered` does, and a digest of what bound its actor on all of it.

        Raises:
            StatementStoppedError: it was cancelled meanwhile.
        """
        bounds = self._bounds()
        answered = self.answered()
        if self._cancel.cancelled:
            raise StatementStoppedError("the job was cancelled while the charts of the dashboard were answered")
        charts = tuple(_unless(bounds[chart.chart_id], chart) for chart in answered.data)
        return replace(answered, data=replace(answered.data, charts=charts)), self._digest(bounds)

    def bound(self) -> str:
        """Return a digest of what binds the actor now on all that `answered_in_job` returns."""
        return self._digest(self._bounds())

    def _bounds(self) -> dict[int, str | AnalyticsError]:
        """Return for each chart what binds the actor on it, or why they have no answer to it."""
        return {chart_id: self._bound_on(chart_id) for chart_id in sorted(self._chosen())}

    def _bound_on(self, chart_id: int) -> str | AnalyticsError:
        try:
            chart = self._queries.chart(chart_id)
            return self._queries.bound_by(self._queries.on_dashboard(chart, self._acting.on(chart)))
        except AnalyticsError as error:
            return error

    def _digest(self, bounds: Mapping[int, str | AnalyticsError]) -> str:
        """Return a digest of what binds on charts, and of what filters tell of rows: first items, and notes."""
        charts = tuple((key, bound if isinstance(bound, str) else type(bound)) for key, bound in bounds.items())
        filters = tuple((item.asks.notes, _value_of_rows(item.state)) for item in self._acting.filters)
        return digest_of((charts, filters, self._acting.notes))

    def _chosen(self) -> tuple[int, ...]:
        """Return the charts to answer in the order of the page: in these tabs, or shown by the page of a permalink."""
        in_order, tabs = self._layout.in_order(self._dashboard.chart_ids), self._request.tabs
        if tabs is not None:
            if not isinstance(tabs, list | tuple) or not all(isinstance(tab, str) for tab in tabs):
                raise payload_error(SHAPE, "tabs", "must be a list of ids or titles of tabs")
            chosen = self._layout.within(tabs, shape=SHAPE)
        elif self._given.active_tabs:
            chosen = self._layout.visible_charts(self._given.active_tabs)
        else:
            return in_order
        return tuple(key for key in in_order if key in chosen)

    def _answered(self, chart_ids: Sequence[int], threads: int) -> Generator[DashboardChart]:
        """Yield the charts as they are answered; what still runs when the caller goes away is stopped."""
        waiting, calls = _Waiting(chart_ids), BoundedCalls("dashboard")
        try:
            started = _start(calls, partial(waiting.work, self._chart), min(threads, len(chart_ids)))
            if not started:
                yield from map(self._chart, chart_ids)
                return
            for _ in chart_ids:
                yield waiting.result()
        except BaseException:  # the caller goes away, which is no error of ours
            self._cancel.cancel()
            raise
        finally:
            waiting.clear()
            calls.close()

    def _chart(self, chart_id: int) -> DashboardChart:
        name, tabs = None, self._layout.tabs_of(chart_id)
        try:
            chart = self._queries.chart(chart_id)
            name = chart.slice_name
            request = self._queries.on_dashboard(chart, self._acting.on(chart))
            answer = self._queries.run(
                replace(request, force=self._request.force or request.force, cancel=self._cancel)
            )
        except AnalyticsError as error:
            return DashboardChart(chart_id=chart_id, name=name, tabs=tabs, failure=error)
        return DashboardChart(chart_id=chart_id, name=name, tabs=tabs, answer=answer)


def _unless(bound: str | AnalyticsError, chart: DashboardChart) -> DashboardChart:
    """Return a chart; without the answer to one of which nobody knew what binds on it."""
    return chart if isinstance(bound, str) or chart.answer is None else replace(chart, answer=None, failure=bound)


def _value_of_rows(state: FilterState) -> str | None:
    """Return the value of a filter that was read from rows; None: somebody gave it."""
    return repr(state.value) if state.set_by == FIRST_ITEM else None


class _Waiting:
    """The charts that nobody has begun yet, and what became of the others."""

    def __init__(self, chart_ids: Sequence[int]) -> None:
        self._pending = list(reversed(chart_ids))
        self._guard = Lock()
        self._done: queue.SimpleQueue[DashboardChart | BaseException] = queue.SimpleQueue()

    def work(self, answer: Answer) -> None:
        """Answer charts until none is left; in a thread of its own."""
        while (chart_id := self._next()) is not None:
            try:
                self._done.put(answer(chart_id))
            except BaseException as error:  # border of a thread: the caller waits for this chart, and raises it
                self._done.put(error)

    def clear(self) -> None:
        """Leave the charts that nobody has begun."""
        with self._guard:
            self._pending.clear()

    def result(self) -> DashboardChart:
        """Wait for the next chart, and return it."""
        found = self._done.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def _next(self) -> int | None:
        with self._guard:
            return self._pending.pop() if self._pending else None


def _start(calls: BoundedCalls, work: Callable[[], None], threads: int) -> int:
    """Start as many threads as there shall be and the system gives; return how many they are, none in place of one."""
    for number in range(threads if threads > 1 else 0):
        try:
            calls.start(work)
        except ThreadLimitError:
            return number
    return threads if threads > 1 else 0


def _checked_parallel(parallel: Any) -> int:
    """Return how many charts are answered at a time; PayloadSchemaError when it is no such number."""
    if type(parallel) is not int or not 1 <= parallel <= MOST_AT_A_TIME:
        raise payload_error(SHAPE, "parallel", f"must be a whole number from 1 to {MOST_AT_A_TIME}")
    return parallel


def params_of(given: Mapping[str, Any] | None, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the address: those that a permalink keeps, and those that are given.

    Raises:
        PayloadSchemaError: they are no mapping.
    """
    if not isinstance(given, Mapping | None):
        raise payload_error(SHAPE, "url_params", "must be an object")
    pairs = state.get("urlParams") or ()
    found = {name: value for pair in pairs for name, value in (pair.items() if isinstance(pair, Mapping) else (pair,))}
    return {**found, **(given or {})}


def dashboard_questions(
    runtime: ContentRuntime, actor: Actor, request: DashboardRequest, *, cancel: CancelToken | None = None
) -> DashboardQuestions:
    """Return what answers a dashboard to a user; errors are those of `core.dashboards.data`."""
    extra = given_filters(request.extra_filters, shape=SHAPE)
    with runtime.store.unit_of_work() as unit:
        reader = Reader(unit, runtime.policy, actor)
        dashboard = reader.dashboard(request.dashboard_id)
        state: Mapping[str, Any] = {}
        if request.permalink is not None:
            state = stored_state(reader, runtime.settings, request.permalink, dashboard.id)
    extra = extra.and_then(ExtraFilters(url_params=params_of(request.url_params, state)))
    given = given_state(filters=request.filters, cross_filters=request.cross_filters, state=state, extra=extra)
    return DashboardQuestions(ChartQueries(runtime, actor, cancel=cancel), dashboard, given, request)
