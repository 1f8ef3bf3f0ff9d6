"""One query of a context, answered in Arrow batches that are read from the database as they are asked for."""

from __future__ import annotations

from functools import partial
from typing import Final

from analytics_core._engine.execution.fetching import FetchLimits
from analytics_core._engine.gate.gate import DatasetAdmission, Gate
from analytics_core._engine.querying.chart_request import ChartRequest, RequestedQuery, reject_unused
from analytics_core._engine.querying.fetched_rows import naming_formats, with_moments
from analytics_core._engine.querying.observing import Stopwatch, observed
from analytics_core._engine.querying.ready_query import ReadyQueries, ReadyQuery
from analytics_core._engine.querying.runner import QueryRunner
from analytics_core._engine.results.answer import QueryResult, failed_result
from analytics_core._engine.results.batch_stream import BatchStream, Ended
from analytics_core._engine.tracing import tracer_of
from analytics_core._records.settings import Settings
from analytics_core._tools.forks import LivingObjects
from analytics_core.errors import AnalyticsError, QueryError, StatementStoppedError
from analytics_core.models.enums import ResultType
from analytics_core.ports import Observer

_WITH_ROWS: Final = (ResultType.FULL, ResultType.RESULTS, ResultType.SAMPLES, ResultType.DRILL_DETAIL)


class BatchQueries:
    """Answers requests of one query in batches; no cache is read or filled."""

    def __init__(
        self, *, runner: QueryRunner, ready: ReadyQueries, gate: Gate, settings: Settings, observer: Observer
    ) -> None:
        self._runner = runner
        self._ready = ready
        self._gate = gate
        self._settings = settings
        self._observer = observer
        self._tracer = tracer_of(observer)
        self._open: LivingObjects[BatchStream] = LivingObjects()

    def close(self) -> None:
        """End the streams that are open; who asks them for more is told why."""
        for stream in self._open:
            stream.stop(StatementStoppedError("the core was closed before the last row of the stream; open another"))

    def stream(self, request: ChartRequest) -> BatchStream:
        """Return the rows of the query; its first rows are there when this returns.

        Raises:
            QueryError: the context has several queries, or the query needs all of its rows at once.
            AnalyticsError: what the query fails with.
        """
        request, requested = self._runner.begun(request), _only_query(request)
        admission = self._runner.admit(request, requested, is_observed=True)
        watch = Stopwatch(request.budget, self._tracer)

        def ended(rows: int, error: AnalyticsError | None) -> None:
            result = failed_result(error) if error else QueryResult(rowcount=rows)
            self._observer.observe(observed(result, requested.result_type, admission.loaded, request, watch))

        try:
            ready = self._readied(request, requested, admission)
            watch.fingerprint = ready.fingerprint
            watch.begin("results")
            stream = self._begun(request, ready, ended)
        except AnalyticsError as error:
            ended(0, error)
            raise
        finally:
            if watch.work is not None:  # it ends later; what else begins here is no part of it
                watch.work.leave()
        self._open.add(stream)
        return stream

    def _readied(self, request: ChartRequest, requested: RequestedQuery, admission: DatasetAdmission) -> ReadyQuery:
        ready = self._ready.make(request, requested, admission, streams=True)
        _reject_what_needs_all_rows(ready)
        if request.strict:
            reject_unused(requested, ready.main.plan, ready.steps, admission.loaded.dataset)
        return ready

    def _begun(self, request: ChartRequest, ready: ReadyQuery, ended: Ended) -> BatchStream:
        plan, settings = ready.main.plan, self._settings
        limits = FetchLimits(
            max_rows=1 if plan.count_rows else plan.limit.rows,
            max_bytes=settings.max_result_bytes,
            timeout_s=settings.request_timeout_s,
        )
        frames = self._gate.statements.stream(
            ready.admission.to_run(ready.main.statement),
            limits=limits,
            wait_s=settings.statement_timeout_s,
            cancel=request.cancel,
            budget=request.budget,
        )
        return BatchStream(
            frames,
            shape=partial(with_moments, plan=plan),
            error_mapper=partial(naming_formats, plan=plan),
            row_limit=plan.limit.rows,
            declared=ready.layout().kinds,
            notes=(*plan.unused, *plan.notes, *ready.notes),
            ended=ended,
        )


def _only_query(request: ChartRequest) -> RequestedQuery:
    queries = request.queries
    if len(queries) != 1:
        raise QueryError(f"a stream has the rows of one query; this context has {len(queries)}: stream each by itself")
    if queries[0].result_type not in _WITH_ROWS:
        known = ", ".join(_WITH_ROWS)
        raise QueryError(f"result_type {queries[0].result_type.value!r} is no rows of a statement; stream {known}")
    return queries[0]


def _reject_what_needs_all_rows(ready: ReadyQuery) -> None:
    limit = ready.main.plan.series_limit
    needing = {
        "post_processing": bool(ready.steps),
        "time_offsets": bool(ready.shifted),
        "group_others_when_limit_reached": limit is not None and limit.group_others,
    }
    named = ", ".join(name for name, needs in needing.items() if needs)
    if named:
        raise QueryError(f"{named}: needs all rows at once, and a stream holds few; leave it out, or ask charts.data")
