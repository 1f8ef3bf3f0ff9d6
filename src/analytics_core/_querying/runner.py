"""The road of a chart query: load, admit, plan, compile, cache, run, compare, shape. One method a step."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace

from analytics_core._compile.columns import axis_column
from analytics_core._compile.dataset_view import DatasetView, make_view
from analytics_core._compile.plan import QueryPlan, SqlSource, TableSource
from analytics_core._compile.planner import PlanRequest
from analytics_core._execution.request_budget import RequestBudget
from analytics_core._execution.statements import Executed, FetchLimits
from analytics_core._frames.frame import Frame
from analytics_core._frames.operations.base import Operation
from analytics_core._frames.pipeline import Step, read_steps, run_steps
from analytics_core._gate.gate import DatasetAdmission, Gate
from analytics_core._memo import Memo
from analytics_core._querying.annotations import Annotator, Host, notes_of_layers
from analytics_core._querying.answer import ChartData, QueryResult, failed_result
from analytics_core._querying.cache_rules import CacheKey, CacheTimeout, cache_key, cache_timeout
from analytics_core._querying.call import Call
from analytics_core._querying.comparison import Comparison, comparisons
from analytics_core._querying.explain import CacheFacts, ExplainedQuery, Explanation, explained
from analytics_core._querying.loading import DatasetLoader, LoadedDataset
from analytics_core._querying.observing import Stopwatch, fingerprint_of, observed, observed_refusal
from analytics_core._querying.offset_join import join_offset
from analytics_core._querying.others import with_others_named
from analytics_core._querying.payloads import (
    AskedQuery,
    asked_queries,
    effective_query,
    notes_of,
    notes_of_steps,
    refuse_unused,
)
from analytics_core._querying.preparing import PreparedQuery, Preparer
from analytics_core._querying.reading import ReadContext
from analytics_core._querying.shaping import Answered, listed, query_text, shaped, written_labels
from analytics_core._querying.shared_runs import SharedRuns
from analytics_core._querying.stored_moments import naming_formats, notes_of_order, with_moments
from analytics_core._querying.stored_results import StoredResults
from analytics_core._querying.templating import QueryTemplates
from analytics_core._querying.totals import totals_of, totals_source, with_totals
from analytics_core._security.row_rules import TableName
from analytics_core._settings import Settings
from analytics_core.errors import AnalyticsError, DatabaseError, PayloadSchemaError, Problem
from analytics_core.models.enums import ResultType
from analytics_core.models.query import ChartDataQueryContext, ChartDataQueryObject
from analytics_core.ports import Observer

_LISTED = (ResultType.COLUMNS, ResultType.TIMEGRAINS)
_ANNOTATED = (ResultType.FULL, ResultType.POST_PROCESSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """A dataset, and the actor's admission to it."""

    loaded: LoadedDataset
    admission: DatasetAdmission


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """One query, ready to run: its dataset, the actor's admission, the statements and the steps of post-processing.

    `tables` are read inside the SQL of a virtual dataset, under `rules` (`Gate.rules_on`).
    """

    loaded: LoadedDataset
    admission: DatasetAdmission
    view: DatasetView
    main: PreparedQuery
    shifted: tuple[tuple[Comparison, PreparedQuery], ...]
    steps: tuple[Step, ...]
    timeout: CacheTimeout
    key: CacheKey | None
    notes: tuple[str, ...]
    tables: frozenset[TableName]
    rules: str
    fingerprint: str


class QueryRunner:
    """Answers query contexts."""

    def __init__(
        self,
        *,
        loader: DatasetLoader,
        gate: Gate,
        preparer: Preparer,
        templates: QueryTemplates,
        results: StoredResults,
        settings: Settings,
        operations: Mapping[str, Operation],
        annotator: Annotator,
        observer: Observer,
    ) -> None:
        self._loader = loader
        self._gate = gate
        self._preparer = preparer
        self._templates = templates
        self._results = results
        self._settings = settings
        self._operations = operations
        self._annotator = annotator
        self._observer = observer
        self._ready: Memo[Hashable, Ready] = Memo()
        self._shared: SharedRuns[QueryResult] = SharedRuns()
        self._views: Memo[Hashable, DatasetView] = Memo(capacity=500)

    # ------------------------------------------------------------------------------------------------------- public
    def run(self, read: ReadContext, call: Call) -> ChartData:
        """Return the answer to every query of the context; what stops one query is told in its result.

        Raises:
            NotFoundError, AccessError, UnknownDatasourceTypeError: the datasource cannot be read at all.
        """
        context, call = read.context, self.begun(call)
        asked = asked_queries(context)
        admitted = [self._admit_or_tell(context, query, call) for query in asked]
        first = totals_source(asked)
        done: dict[int, QueryResult] = {}
        if first is not None:
            done[first] = self._answer(read, asked[first], admitted[first], call)
            asked = tuple(with_totals(a, totals_of(done[first])) for a in asked)
        for a, where in zip(asked, admitted, strict=True):
            if a.position not in done:
                done[a.position] = self._answer(read, a, where, call)
        results = tuple(done[a.position] for a in asked)
        return ChartData(results=results, result_type=context.result_type, result_format=context.result_format)

    def explain(self, read: ReadContext, call: Call) -> Explanation:
        """Return why each query gives what it gives, without running anything."""
        context, call = read.context, self.begun(call)
        asked = asked_queries(context)
        admitted = [self._admit(context, query.query, call) for query in asked]
        parts = [self._explain(context, a, where, call) for a, where in zip(asked, admitted, strict=True)]
        return Explanation(queries=tuple(parts))

    def bound_by(self, read: ReadContext, call: Call) -> Hashable:
        """Return what binds the actor on all that answers the context; equal values mean the same permitted rows.

        That is each dataset, each relation inside the SQL of a virtual one, and the charts that annotation layers
        show. What stops one query, rather than the whole context, is a value too.

        Raises:
            NotFoundError, AccessError, UnknownDatasourceTypeError: a dataset cannot be read (any more).
            TemplateError, RowRuleError: a rule on a dataset cannot be evaluated.
        """
        call = self.begun(call)
        return tuple(self._bound(read, asked, call) for asked in asked_queries(read.context))

    def begun(self, call: Call) -> Call:
        """Return the call with the budget of a request that begins now, unless its request has begun already."""
        return replace(call, budget=RequestBudget.of(self._settings)) if call.budget is None else call

    def database_of(self, read: ReadContext) -> str:
        """Return the uuid of the database that the context asks, of its first query where they differ; "" for none."""
        datasource = read.context.datasource or next((query.datasource for query in read.context.queries), None)
        try:
            return self._loader.load(datasource).database.uuid if datasource is not None else ""
        except AnalyticsError:  # the answer will tell
            return ""

    # -------------------------------------------------------------------------------------------------------- steps
    def _admit(self, context: ChartDataQueryContext, query: ChartDataQueryObject, call: Call) -> Admitted:
        datasource = query.datasource or context.datasource
        if datasource is None:
            problem = Problem(path="datasource", message='name what is queried: {"id": 1, "type": "table"}')
            raise PayloadSchemaError(shape="ChartDataQueryContextSchema", problems=[problem])
        loaded = self._loader.load(datasource)
        admission = self._gate.admit(call.actor, loaded.database, on=loaded.dataset)
        return Admitted(loaded=loaded, admission=admission)

    def _admit_or_tell(self, context: ChartDataQueryContext, asked: AskedQuery, call: Call) -> Admitted:
        try:
            return self._admit(context, asked.query, call)
        except AnalyticsError as error:
            datasource = asked.query.datasource or context.datasource
            dataset_id = None if datasource is None else datasource.id
            self._observer.observe(observed_refusal(error, dataset_id, asked.result_type, call))
            raise

    def _bound(self, read: ReadContext, asked: AskedQuery, call: Call) -> Hashable:
        where = self._admit(read.context, asked.query, call)
        admission = where.admission
        own = (admission.dataset.id, admission.row_filters, _inside(admission))
        if asked.result_type in _LISTED:
            return own
        try:
            ready = self._recall_or_prepare(read, asked, where, call)
            sources = _sources(ready)
            host = _host(read.context, asked, ready, call)
            return (*own, sources, self._annotator.bound_by(host, ask=self._bound_of_chart) if host else ())
        except AnalyticsError as error:
            return (*own, type(error), error.message)

    def _answer(self, read: ReadContext, asked: AskedQuery, where: Admitted, call: Call) -> QueryResult:
        watch = Stopwatch(call.budget)
        try:
            result = self._result(read, asked, where, call, watch)
        except AnalyticsError as error:
            result = failed_result(error, result_type=asked.result_type, query=watch.statement)
        self._observer.observe(observed(result, asked.result_type, where.loaded, call, watch))
        return result

    def _result(
        self, read: ReadContext, asked: AskedQuery, where: Admitted, call: Call, watch: Stopwatch
    ) -> QueryResult:
        if call.budget:
            call.budget.check_time()
        if asked.result_type in _LISTED:
            return listed(asked.result_type, where.loaded.dataset, where.loaded.spec)
        ready = self._recall_or_prepare(read, asked, where, call)
        watch.fingerprint = ready.fingerprint
        if call.strict:
            refuse_unused(asked, ready.main.plan, ready.steps, where.loaded.dataset)
        if asked.result_type is ResultType.QUERY:
            return query_text(ready.main)
        watch.statement = ready.main.statement.display_sql
        watch.begin("results")
        result = self._stored_or_run(read.context, asked, ready, call)
        host = _host(read.context, asked, ready, call)
        if host is None:
            return result
        watch.begin("annotations")
        return self._annotator.annotated(result, host, ask=self._ask_chart)

    def _recall_or_prepare(self, read: ReadContext, asked: AskedQuery, where: Admitted, call: Call) -> Ready:
        """Return what the same payload of the same actor on the same versions gave in this minute, or prepare anew."""
        rules = self._gate.recall_key(where.admission)
        if read.digest is None or rules is None:
            return self._prepare(read.context, asked, where, call)
        minute = call.now.replace(second=0, microsecond=0)
        timeout = call.chart_cache_timeout
        key = (read.digest, asked.position, asked.totals, where.loaded.versions, call.actor, rules, minute, timeout)
        ready = self._ready.get(key)
        if ready is None or self._gate.rules_on(where.admission, ready.tables) != ready.rules:
            ready = self._prepare(read.context, asked, where, call)
            moves = ready.main.plan.counts_seconds or ready.main.looks_up
            # A rule may have changed after the SQL got its rules and before `ready.rules` was read.
            if not moves and self._gate.still_ruled(where.admission, _sources(ready)):
                self._ready.put(key, ready)
        return ready

    def _prepare(self, context: ChartDataQueryContext, asked: AskedQuery, where: Admitted, call: Call) -> Ready:
        query = effective_query(asked, where.loaded.dataset)
        steps = read_steps(query.post_processing, self._operations)
        request = PlanRequest(
            row_filters=where.admission.row_filters,
            samples=asked.result_type is ResultType.SAMPLES,
            writes_sql=where.admission.writes_sql,
            axis=axis_column(asked.query.columns) if asked.result_type is ResultType.DRILL_DETAIL else None,
        )
        view, main = self._prepare_main(query, where, request, call)
        shifted = tuple(
            (item, self._prepare_shifted(query, item, where, call)) for item in self._comparisons(main, request)
        )
        timeout = cache_timeout(
            custom=context.custom_cache_timeout,
            chart=call.chart_cache_timeout,
            loaded=where.loaded,
            default=self._settings.cache_timeout_s,
        )
        plans = [main.plan, *(prepared.plan for _, prepared in shifted)]
        tables = self._gate.tables_in(where.admission, (plan.source for plan in plans))
        return Ready(
            loaded=where.loaded,
            admission=where.admission,
            view=view,
            main=main,
            shifted=shifted,
            steps=steps,
            timeout=timeout,
            key=_key(where, plans, options=_options(context, asked, query, main)) if _keeps(asked, timeout) else None,
            notes=(*notes_of(context, asked), *notes_of_steps(steps)),
            tables=tables,
            rules=self._gate.rules_on(where.admission, tables),
            fingerprint=fingerprint_of((main.statement, *(prepared.statement for _, prepared in shifted))),
        )

    def _comparisons(self, main: PreparedQuery, request: PlanRequest) -> tuple[Comparison, ...]:
        settings = self._settings
        return comparisons(
            main.query,
            main.plan,
            request,
            date_ranges=settings.date_range_offsets,
            most=settings.max_time_offsets,
        )

    def _prepare_main(
        self, query: ChartDataQueryObject, where: Admitted, request: PlanRequest, call: Call
    ) -> tuple[DatasetView, PreparedQuery]:
        templates = self._templates.for_query(query, where.loaded.dataset, where.loaded.spec, call, request=request)
        view = self._view(where, templates.render_source())
        left = templates.without_removed_filters(query)
        main = self._preparer.prepare(left, view, request, call, templates=templates)
        taken_over = templates.taken_over(query)
        if not taken_over and not templates.counts_seconds:
            return view, main
        plan = replace(
            main.plan,
            applied_filters=(*main.plan.applied_filters, *taken_over),
            counts_seconds=main.plan.counts_seconds or templates.counts_seconds,
        )
        return view, replace(main, plan=plan)

    def _prepare_shifted(
        self, query: ChartDataQueryObject, comparison: Comparison, where: Admitted, call: Call
    ) -> PreparedQuery:
        """Return the query of a comparison; templates see its range, and all filters of the query asked."""
        loaded, request = where.loaded, comparison.request
        templates = self._templates.for_query(query, loaded.dataset, loaded.spec, call, request=request)
        view = self._view(where, templates.render_source())
        return self._preparer.prepare(comparison.query, view, request, call, templates=templates)

    def _view(self, where: Admitted, sql: str | None) -> DatasetView:
        """Return the dataset as the planner sees it; it is made once per version, SQL and rules inside it."""
        source = self._gate.source(where.admission, sql)
        key = (where.loaded.versions, source)
        view = self._views.get(key)
        if view is None:
            view = make_view(where.loaded.dataset, where.loaded.spec, source)
            self._views.put(key, view)
        return view

    def _stored_or_run(
        self, context: ChartDataQueryContext, asked: AskedQuery, ready: Ready, call: Call
    ) -> QueryResult:
        key, timeout = ready.key, ready.timeout

        def run() -> QueryResult:
            answered = self._run(ready, call)
            result = shaped(answered, context=context, asked=asked, prepared=ready.main, view=ready.view)
            return result if key is None else self._results.keep(key, timeout, result)

        if key is None or context.force:
            return _with_notes(run(), ready)
        result = self._shared.answer(
            key.text, find=lambda: self._results.find(key, timeout), run=run, cancel=call.cancel, budget=call.budget
        )
        return _with_notes(result, ready)

    def _ask_chart(self, context: ChartDataQueryContext, call: Call) -> QueryResult:
        """Return the answer to a chart that a layer shows; what it stores is not this caller's to mend."""
        return self.run(ReadContext(context=context, digest=None), replace(call, strict=False)).results[0]

    def _bound_of_chart(self, context: ChartDataQueryContext, call: Call) -> Hashable:
        return self.bound_by(ReadContext(context=context, digest=None), call)

    def _run(self, ready: Ready, call: Call) -> Answered:
        executed = self._execute(ready, ready.main, call)
        frame, fetched = executed.frame, len(executed.frame)
        cut_offsets, notes = [], list(executed.notes)
        for comparison, prepared in ready.shifted:
            other = self._execute(ready, prepared, call)
            if other.has_more:
                cut_offsets.append((comparison.text, prepared.plan.limit))
            notes += [f"{comparison.text}: {note}" for note in other.notes]
            frame = join_offset(
                frame, other.frame, ready.main.plan, offset=comparison.text, compared=comparison.compared
            )
        named = with_others_named(frame, ready.main.plan)
        processed = run_steps(named.frame, ready.steps if len(frame) else (), check=_time_of(call))
        if call.budget and ready.steps:
            call.budget.take_cells(processed.frame)
        was_cut = _count_was_cut(executed.frame, ready.main.plan) if ready.main.plan.count_rows else executed.has_more
        return Answered(
            frame=processed.frame,
            parts=processed.parts,
            fetched=fetched,
            was_cut=was_cut,
            cut_offsets=tuple(cut_offsets),
            notes=(*notes, *named.notes, *processed.notes),
        )

    def _execute(self, ready: Ready, prepared: PreparedQuery, call: Call) -> Executed:
        limits = FetchLimits(
            max_rows=1 if prepared.plan.count_rows else prepared.plan.limit.rows,
            max_bytes=self._settings.max_result_bytes,
            timeout_s=self._settings.statement_timeout_s,
        )
        try:
            executed = self._gate.run(
                ready.admission, prepared.statement, limits=limits, cancel=call.cancel, budget=call.budget
            )
        except DatabaseError as error:
            raise naming_formats(error, prepared.plan) from None
        frame, notes = with_moments(executed.frame, prepared.plan)
        if ready.admission.spec.compares_moments_as_text:
            notes += notes_of_order(frame, prepared.plan)
        return replace(executed, frame=frame, notes=(*executed.notes, *notes))

    def _explain(
        self, context: ChartDataQueryContext, asked: AskedQuery, where: Admitted, call: Call
    ) -> ExplainedQuery:
        if asked.result_type in _LISTED:
            return ExplainedQuery(notes=(f"{asked.result_type.value} are facts of the dataset; no statement runs",))
        try:
            ready = self._prepare(context, asked, where, call)
            if call.strict:
                refuse_unused(asked, ready.main.plan, ready.steps, where.loaded.dataset)
        except AnalyticsError as error:
            return ExplainedQuery(failure=error)
        facts = CacheFacts(
            key=ready.key.text if ready.key else None,
            parts=ready.key.parts if ready.key else {},
            timeout=str(ready.timeout),
        )
        offsets = {
            comparison.text: explained(prepared, ready.loaded.spec, cache=facts, offsets={}, notes=())
            for comparison, prepared in ready.shifted
        }
        notes = (*ready.notes, *notes_of_layers(asked.query))
        return explained(
            ready.main,
            ready.loaded.spec,
            cache=facts,
            offsets=offsets,
            notes=notes,
            steps=ready.steps,
        )


def _host(context: ChartDataQueryContext, asked: AskedQuery, ready: Ready, call: Call) -> Host | None:
    """Return the query as its annotation layers see it; None where it shows none."""
    if asked.result_type not in _ANNOTATED or not asked.query.annotation_layers:
        return None
    plan = ready.main.plan
    return Host(query=asked.query, since=plan.since, until=plan.until, force=context.force, call=call)


def _time_of(call: Call) -> Callable[[], None]:
    return call.budget.check_time if call.budget else lambda: None


def _sources(ready: Ready) -> tuple[TableSource | SqlSource, ...]:
    return tuple(prepared.plan.source for prepared in (ready.main, *(other for _, other in ready.shifted)))


def _inside(admission: DatasetAdmission) -> Hashable:
    """Return what the rules inside the SQL of a virtual dataset depend on, beyond the SQL with its rules."""
    return (admission.actor.role_ids, admission.actor.user.attributes) if admission.dataset.sql else None


def _with_notes(result: QueryResult, ready: Ready) -> QueryResult:
    """Return the result with the notes of this payload before those of its steps.

    A kept result may come from a payload with other unread keys: what they are is not part of its key.
    """
    plan = ready.main.plan
    return replace(result, notes=(*plan.unused, *plan.notes, *ready.notes, *result.notes))


def _count_was_cut(counted: Frame, plan: QueryPlan) -> bool | None:
    """Tell whether a count of rows stopped at the limit; None: it reached it, and nobody counted further."""
    (row,) = counted.rows()
    return None if row[0] >= plan.limit.rows else False


def _keeps(asked: AskedQuery, timeout: CacheTimeout) -> bool:
    """Tell whether the result of a query is kept; a statement alone is quicker to make than to find."""
    return asked.result_type is not ResultType.QUERY and timeout.keeps


def _key(where: Admitted, plans: list[QueryPlan], *, options: Mapping[str, str]) -> CacheKey:
    return cache_key(plans, where.loaded, identity=where.admission.identity, options=options)


def _options(
    context: ChartDataQueryContext, asked: AskedQuery, query: ChartDataQueryObject, main: PreparedQuery
) -> dict[str, str]:
    """Return what else a result depends on, beyond its plans."""
    options = {
        "result_type": asked.result_type.value,
        "offsets": repr(query.time_offsets),
        "operations": repr(query.post_processing),
        "time_extras": repr(query.applied_time_extras),
        "labels": repr(written_labels(query)),
        **({"taken_in": repr(main.taken_in)} if main.taken_in else {}),
    }
    if asked.result_type is ResultType.POST_PROCESSED:
        options["form_data"] = repr(context.form_data)
    return options
