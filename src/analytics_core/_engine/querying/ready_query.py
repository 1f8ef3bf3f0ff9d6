"""From one query of a request to all that running it needs; what was made for the same in this minute is recalled."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from analytics_core._engine.compile.columns import axis_column
from analytics_core._engine.compile.filters import filter_name
from analytics_core._engine.compile.plan import SqlSource, TableSource
from analytics_core._engine.compile.planner import PlanRequest, steps_on_granularity
from analytics_core._engine.compile.planning_context import DatasetView, make_view
from analytics_core._engine.execution.fetching import FetchLimits
from analytics_core._engine.frames.pipeline import Step, read_steps
from analytics_core._engine.frames.registry import Operation
from analytics_core._engine.gate.gate import DatasetAdmission, Gate
from analytics_core._engine.querying.answer_notes import notes_of_cut_buckets, notes_of_sums
from analytics_core._engine.querying.chart_request import (
    ChartRequest,
    RequestedQuery,
    effective_query,
    notes_of,
    notes_of_steps,
)
from analytics_core._engine.querying.observing import fingerprint_of
from analytics_core._engine.querying.placeholder_values import meant, note_of
from analytics_core._engine.querying.preparing import PreparedQuery, Preparer
from analytics_core._engine.querying.result_cache import CacheKey, CacheTimeout, cache_key, cache_timeout
from analytics_core._engine.querying.shaping import ResultLayout, result_layout, written_labels
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.querying.time_comparison import TimeComparison, comparisons
from analytics_core._engine.rights.row_rules import TableName
from analytics_core._records.datasource import Database
from analytics_core._records.settings import Settings
from analytics_core._tools.memo import Memo
from analytics_core.errors import DatabaseAccessError, FilterValueError, UnknownColumnError
from analytics_core.models.enums import FilterOperator, ResultType
from analytics_core.models.query import ChartDataFilter, ChartDataQueryObject, QueryColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyQuery:
    """One query, ready to run: the actor's admission, the statements, the steps of post-processing, and the answer.

    `layout` gives the answer but for its rows, made once they are there. `tables` are read inside the SQL of a virtual
    dataset, under `rules` (`Gate.rules_on`). `notes` are those of this payload, beside those of the plan; `caveats` are
    those among them that tell what the numbers are not.
    """

    requested: RequestedQuery
    admission: DatasetAdmission
    main: PreparedQuery
    shifted: tuple[tuple[TimeComparison, PreparedQuery], ...]
    steps: tuple[Step, ...]
    layout: Callable[[], ResultLayout]
    timeout: CacheTimeout
    key: CacheKey | None
    notes: tuple[str, ...]
    caveats: tuple[str, ...]
    tables: frozenset[TableName]
    rules: str
    fingerprint: str

    @property
    def prepared(self) -> tuple[PreparedQuery, ...]:
        """The query and its comparisons."""
        return self.main, *(other for _, other in self.shifted)

    @property
    def sources(self) -> tuple[TableSource | SqlSource, ...]:
        """What the statements read."""
        return tuple(one.plan.source for one in self.prepared)

    @property
    def moves(self) -> bool:
        """Whether the same payload may give other statements in the same minute."""
        return any(one.plan.counts_seconds or one.looks_up for one in self.prepared)


class ReadyQueries:
    """Makes queries ready to run."""

    def __init__(
        self,
        *,
        gate: Gate,
        preparer: Preparer,
        templates: QueryTemplates,
        settings: Settings,
        operations: Mapping[str, Operation],
    ) -> None:
        self._gate = gate
        self._preparer = preparer
        self._templates = templates
        self._settings = settings
        self._operations = operations
        self._ready: Memo[Hashable, ReadyQuery] = Memo()
        self._views: Memo[Hashable, DatasetView] = Memo(capacity=500)

    def get(self, request: ChartRequest, requested: RequestedQuery, admission: DatasetAdmission) -> ReadyQuery:
        """Return what the same payload of the same actor on the same versions gave in this minute, or make it anew."""
        if request.digest is None or admission.recall_key is None:
            return self.make(request, requested, admission)
        minute, timeout = request.now.replace(second=0, microsecond=0), request.chart_cache_timeout
        key = (request.digest, requested.position, requested.totals, admission.recall_key, minute, timeout)
        ready = self._ready.get(key)
        if ready is None or (ready.tables and self._gate.rules_on(admission, ready.tables) != ready.rules):
            ready = self.make(request, requested, admission)
            # A rule may have changed after the SQL got its rules and before `ready.rules` was read.
            if not ready.moves and self._gate.still_ruled(admission, ready.sources):
                self._ready.put(key, ready)
        return ready

    def make(
        self, request: ChartRequest, requested: RequestedQuery, admission: DatasetAdmission, *, streams: bool = False
    ) -> ReadyQuery:
        """Return a query ready to run; `streams`: its rows will be read in batches.

        Raises:
            QueryError: it cannot be planned or compiled as it is.
            DatabaseAccessError: the database shows no rows behind charts.
        """
        context, loaded = request.context, admission.loaded
        _reject_hidden_detail(requested, loaded.database)
        plan_request = _plan_request(requested, admission, streams=streams)
        query, meanings = self._as_meant(effective_query(requested, loaded.dataset), request, requested, admission)
        view, main = self._main(query, request, admission, plan_request)
        steps = read_steps(steps_on_granularity(query, view), self._operations)
        shifted = self._compared(query, main, request, admission, plan_request)
        timeout = cache_timeout(
            custom=context.custom_cache_timeout,
            chart=request.chart_cache_timeout,
            loaded=loaded,
            default=self._settings.cache_timeout_s,
        )
        prepared = (main, *(other for _, other in shifted))
        plans = [one.plan for one in prepared]
        tables = self._gate.tables_in(admission, (plan.source for plan in plans))
        cut = notes_of_cut_buckets([item for item, _ in shifted], main.plan)
        caveats = (*cut, *notes_of_sums(query, steps, loaded.dataset, context.form_data))
        key = None
        if _keeps(requested, timeout):
            options = _options(request, requested, query, prepared)
            key = cache_key(plans, loaded, identity=admission.identity, options=options)
        return ReadyQuery(
            requested=requested,
            admission=admission,
            main=main,
            shifted=shifted,
            steps=steps,
            layout=cache(partial(result_layout, requested, main, view, context.form_data, key=key, timeout=timeout)),
            timeout=timeout,
            key=key,
            notes=(*meanings, *notes_of(context, requested), *notes_of_steps(steps), *caveats),
            caveats=caveats,
            tables=tables,
            rules=self._gate.rules_on(admission, tables),
            fingerprint=fingerprint_of([one.statement for one in prepared]),
        )

    def _as_meant(
        self,
        query: ChartDataQueryObject,
        request: ChartRequest,
        requested: RequestedQuery,
        admission: DatasetAdmission,
    ) -> tuple[ChartDataQueryObject, tuple[str, ...]]:
        """Return a query with the values that the filters of its form mean, and notes of those that are other texts.

        Filters that were added to the form are no part of it.
        """
        if not request.context.form_data:
            return query, ()
        filters, notes = list(query.filters), []
        for position, item in enumerate(query.filters):
            if item.is_extra:
                continue
            holds = partial(self.holds, request, requested, admission, item.col)
            value, texts = meant(item.op.value, item.val, holds)
            if texts:
                filters[position] = item.model_copy(update={"val": value})
                notes.append(note_of(f"filters[{position}] on {filter_name(item)!r}", texts))
        return (query.model_copy(update={"filters": tuple(filters)}), tuple(notes)) if notes else (query, ())

    def holds(
        self,
        request: ChartRequest,
        requested: RequestedQuery,
        admission: DatasetAdmission,
        column: QueryColumn,
        text: str,
    ) -> bool:
        """Tell whether a column of what a query asks holds a text in rows that the actor may see."""
        same = ChartDataFilter(col=column, op=FilterOperator.EQUALS, val=text)
        probe = ChartDataQueryObject(columns=(column,), metrics=(), filters=(same,), row_limit=1)
        try:
            _, prepared = self._main(probe, request, admission, _plan_request(requested, admission, streams=False))
        except (FilterValueError, UnknownColumnError):
            return False
        settings = self._settings
        limits = FetchLimits(max_rows=1, max_bytes=settings.max_result_bytes, timeout_s=settings.statement_timeout_s)
        statement = admission.to_run(prepared.statement)
        found = self._gate.statements.run(statement, limits=limits, cancel=request.cancel, budget=request.budget)
        return bool(len(found.frame))

    def _compared(
        self,
        query: ChartDataQueryObject,
        main: PreparedQuery,
        request: ChartRequest,
        admission: DatasetAdmission,
        plan_request: PlanRequest,
    ) -> tuple[tuple[TimeComparison, PreparedQuery], ...]:
        """Return the comparisons of a query, each with its own query."""
        settings = self._settings
        found = comparisons(
            main.query,
            main.plan,
            plan_request,
            date_ranges=settings.date_range_offsets,
            most=settings.max_time_offsets,
        )
        return tuple((item, self._shifted(query, item, request, admission)) for item in found)

    def _main(
        self,
        query: ChartDataQueryObject,
        request: ChartRequest,
        admission: DatasetAdmission,
        plan_request: PlanRequest,
    ) -> tuple[DatasetView, PreparedQuery]:
        loaded = admission.loaded
        templates = self._templates.for_query(query, loaded.dataset, loaded.spec, request, request=plan_request)
        view = self._view(admission, templates.render_source())
        remaining, taken_over = templates.without_removed_filters(query), templates.taken_over(query)
        main = self._preparer.prepare(remaining, view, plan_request, request, templates=templates)
        if not taken_over:
            return view, main
        plan = replace(main.plan, applied_filters=(*main.plan.applied_filters, *taken_over))
        return view, replace(main, plan=plan)

    def _shifted(
        self,
        query: ChartDataQueryObject,
        comparison: TimeComparison,
        request: ChartRequest,
        admission: DatasetAdmission,
    ) -> PreparedQuery:
        """Return the query of a comparison; templates see its range, and all filters of the query asked."""
        loaded, plan_request = admission.loaded, comparison.request
        templates = self._templates.for_query(query, loaded.dataset, loaded.spec, request, request=plan_request)
        view = self._view(admission, templates.render_source())
        return self._preparer.prepare(comparison.query, view, plan_request, request, templates=templates)

    def _view(self, admission: DatasetAdmission, sql: str | None) -> DatasetView:
        """Return the dataset as the planner sees it; it is made once per version, SQL and rules inside it."""
        loaded = admission.loaded
        source = self._gate.source(admission, sql)
        key = (loaded.versions, source)
        view = self._views.get(key)
        if view is None:
            view = make_view(loaded.dataset, loaded.spec, source)
            self._views.put(key, view)
        return view


def _plan_request(requested: RequestedQuery, admission: DatasetAdmission, *, streams: bool) -> PlanRequest:
    return PlanRequest(
        row_filters=admission.row_filters,
        samples=requested.result_type is ResultType.SAMPLES,
        writes_sql=admission.writes_sql,
        axis=axis_column(requested.query.columns) if requested.result_type is ResultType.DRILL_DETAIL else None,
        streams=streams,
    )


def _reject_hidden_detail(requested: RequestedQuery, database: Database) -> None:
    if requested.result_type is ResultType.DRILL_DETAIL and database.sets("disable_drill_to_detail"):
        raise DatabaseAccessError(
            "the rows behind a chart are not shown: disable_drill_to_detail is set in the extra of their database"
        )


def _keeps(requested: RequestedQuery, timeout: CacheTimeout) -> bool:
    """Tell whether the result of a query is kept; a statement alone is quicker to make than to find."""
    return requested.result_type is not ResultType.QUERY and timeout.keeps


def _options(
    request: ChartRequest, requested: RequestedQuery, query: ChartDataQueryObject, prepared: Sequence[PreparedQuery]
) -> dict[str, str]:
    """Return what else a result depends on, beyond its plans."""
    taken_in = tuple(version for one in prepared for version in one.taken_in)
    options = {
        "result_type": requested.result_type.value,
        "offsets": repr(query.time_offsets),
        "operations": repr(query.post_processing),
        "time_extras": repr(query.applied_time_extras),
        "labels": repr(written_labels(query)),
        **({"taken_in": repr(taken_in)} if taken_in else {}),
    }
    if requested.result_type is ResultType.POST_PROCESSED:
        options["form_data"] = repr(request.context.form_data)
    return options
