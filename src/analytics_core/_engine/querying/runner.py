"""The road of a chart query: admit, make ready, look into the cache, run, compare, shape. One method a step."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import replace
from functools import partial

from analytics_core._engine.compile.plan import QueryPlan
from analytics_core._engine.compile.render import compile_plan
from analytics_core._engine.compile.series_limit import plan_of_series
from analytics_core._engine.execution.fetching import FetchedResult, FetchLimits
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.frames.pipeline import run_steps
from analytics_core._engine.gate.gate import DatasetAdmission, Gate
from analytics_core._engine.gate.loaded_datasets import DatasetSource, GivenDatasets, LoadedDataset
from analytics_core._engine.querying.annotations import AnnotatedQuery, Annotator, notes_of_layers
from analytics_core._engine.querying.chart_request import (
    ChartRequest,
    RequestedQuery,
    reject_unused,
    totals_of,
    totals_source,
    with_totals,
)
from analytics_core._engine.querying.explain import ExplainedQuery, Explanation, explained
from analytics_core._engine.querying.fetched_rows import (
    hides_series,
    naming_formats,
    notes_of_order,
    with_moments,
    with_others_named,
)
from analytics_core._engine.querying.observing import Stopwatch, observed, observed_rejection
from analytics_core._engine.querying.preparing import PreparedQuery
from analytics_core._engine.querying.process_runs import ProcessRuns
from analytics_core._engine.querying.ready_query import ReadyQueries, ReadyQuery
from analytics_core._engine.querying.result_cache import SharedRuns, StoredResults
from analytics_core._engine.querying.shaping import listed, query_text, shaped
from analytics_core._engine.querying.stored_statements import STATEMENT_TYPES, StoredStatements
from analytics_core._engine.querying.time_comparison import join_offset
from analytics_core._engine.results.answer import ChartData, QueryResult, failed_result
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.tracing import tracer_of
from analytics_core._records.chart import DATASET_TYPES
from analytics_core._records.datasource import Dataset
from analytics_core._records.repositories import Snapshot
from analytics_core._records.settings import Settings
from analytics_core.errors import AnalyticsError, DatabaseError, PayloadSchemaError, Problem
from analytics_core.models.enums import DatasourceType, ResultType
from analytics_core.models.query import ChartDataDatasource
from analytics_core.ports import Observer, Progress

_LISTED = (ResultType.COLUMNS, ResultType.TIMEGRAINS)
_ANNOTATED = (ResultType.FULL, ResultType.POST_PROCESSED)


class QueryRunner:
    """Answers query contexts."""

    def __init__(
        self,
        *,
        loader: DatasetSource,
        statements: StoredStatements,
        gate: Gate,
        ready: ReadyQueries,
        results: StoredResults,
        processes: ProcessRuns[QueryResult] | None,
        settings: Settings,
        annotator: Annotator,
        observer: Observer,
        progress: Progress,
    ) -> None:
        self._loader = loader
        self._statements = statements
        self._gate = gate
        self._ready = ready
        self._results = results
        self._settings = settings
        self._annotator = annotator
        self._observer = observer
        self._tracer = tracer_of(observer)
        self._progress = progress
        self._shared: SharedRuns[QueryResult] = SharedRuns(processes)

    def of_datasets(self, given: Mapping[int, LoadedDataset | AnalyticsError]) -> QueryRunner:
        """Return a runner that asks these datasets, by their ids, in place of the stored ones."""
        runner = copy(self)
        runner._loader, runner._shared = GivenDatasets(given, otherwise=self._loader), SharedRuns()
        return runner

    # ------------------------------------------------------------------------------------------------------- public
    def run(self, request: ChartRequest) -> ChartData:
        """Return the answer to every query of the request; what stops one query is told in its result.

        Raises:
            NotFoundError, AccessError, UnknownDatasourceTypeError: the datasource cannot be read at all.
        """
        request = self.begun(request)
        admissions = [self.admit(request, requested, is_observed=True) for requested in request.queries]
        results: dict[int, QueryResult] = {}
        first = totals_source(request.queries) if len(request.queries) > 1 else None
        if first is not None:
            results[first] = self._answer(request, first, admissions[first])
            queries = [with_totals(requested, totals_of(results[first])) for requested in request.queries]
            request = replace(request, queries=tuple(queries))
        waiting = [position for position in range(len(admissions)) if position not in results]
        with self._progress.bar("queries", total=len(waiting), unit="query") as tell:
            for position in waiting:
                results[position] = self._answer(request, position, admissions[position])
                tell(1)
        answers = tuple(map(results.__getitem__, range(len(admissions))))
        return ChartData(
            results=answers,
            result_type=request.context.result_type,
            result_format=request.context.result_format,
            form=request.form,
            extra_bundle=request.extra_bundle,
        )

    def explain(self, request: ChartRequest) -> Explanation:
        """Return why each query gives what it gives, without running anything."""
        request = self.begun(request)
        admissions = [self.admit(request, requested) for requested in request.queries]
        parts = zip(request.queries, admissions, strict=True)
        return Explanation(
            queries=tuple([self._explain(request, requested, admission) for requested, admission in parts])
        )

    def bound_by(self, request: ChartRequest) -> Hashable:
        """Return what binds the actor on all that answers the request; equal values mean the same permitted rows.

        That is each dataset, each relation inside the SQL of a virtual one, and the charts that annotation layers
        show. What stops one query, rather than the whole request, is a value too.

        Raises:
            NotFoundError, AccessError, UnknownDatasourceTypeError: a dataset cannot be read (any more).
            TemplateError, RowRuleError: a rule on a dataset cannot be evaluated.
        """
        request = self.begun(request)
        return tuple([self._bound(request, requested) for requested in request.queries])

    def begun(self, request: ChartRequest) -> ChartRequest:
        """Return the request with a budget that begins now, unless it has begun already."""
        return replace(request, budget=RequestBudget.of(self._settings)) if request.budget is None else request

    def load(self, request: ChartRequest, datasource: ChartDataDatasource) -> LoadedDataset:
        """Return what a datasource names: a dataset, or a stored statement that the actor of a request may run.

        Raises:
            NotFoundError, AccessError, UnknownDatasourceTypeError: it cannot be read at all.
            AnalyticsError: the columns of a stored statement cannot be found.
        """
        if datasource.type in STATEMENT_TYPES:
            return self._statements.load(self.begun(request), datasource)
        return self._loader.load(datasource)

    def dataset(self, dataset_id: int) -> Dataset | None:
        """Return a stored dataset as questions read it, whoever may; None: it cannot be asked."""
        try:
            return self._loader.load(ChartDataDatasource(id=dataset_id, type=DatasourceType.TABLE)).dataset
        except AnalyticsError:
            return None

    def read_ahead(self, actor: Actor, dataset_id: int, at: Snapshot) -> Dataset:
        """Read in a snapshot what a question to a dataset asks for, the rules too, and return the dataset.

        Raises:
            NotFoundError: there is no such dataset.
        """
        loaded = self._loader.load(ChartDataDatasource(id=dataset_id, type=DatasourceType.TABLE), at=at)
        self._gate.read_ahead(actor, loaded, at)
        return loaded.dataset

    def database_of(self, request: ChartRequest) -> str:
        """Return the uuid of the database that is asked, by the first query where they differ; "" for none."""
        datasource = request.context.datasource or next(
            (requested.query.datasource for requested in request.queries), None
        )
        try:
            return self.load(request, datasource).database.uuid if datasource is not None else ""
        except AnalyticsError:  # the answer will tell
            return ""

    def knows_name(self, datasource: ChartDataDatasource, name: str) -> bool:
        """Tell whether a dataset has a column or metric of this name; true where none is read: the answer will tell."""
        try:
            dataset = self._loader.load(datasource).dataset
        except AnalyticsError:
            return True
        is_column = any(name in (column.column_name, column.verbose_name) for column in dataset.columns)
        return is_column or any(name == metric.metric_name for metric in dataset.metrics)

    def holds(self, request: ChartRequest, text: str) -> bool:
        """Tell whether the column that a request asks holds a text in rows that the actor may see."""
        request = self.begun(request)
        requested = request.queries[0]
        admission = self.admit(request, requested)
        return self._ready.holds(request, requested, admission, requested.query.columns[0], text)

    def close(self) -> None:
        """End the wait of questions that other processes answer."""
        self._shared.close()

    # -------------------------------------------------------------------------------------------------------- steps
    def admit(self, request: ChartRequest, requested: RequestedQuery, *, is_observed: bool = False) -> DatasetAdmission:
        """Return the actor's admission to what a query asks; the observer hears of one that is refused, if it is to."""
        datasource = requested.query.datasource or request.context.datasource
        try:
            if datasource is None:
                problem = Problem(path="datasource", message='name what is queried: {"id": 1, "type": "table"}')
                raise PayloadSchemaError(shape="ChartDataQueryContextSchema", problems=[problem])
            loaded = self.load(request, datasource)
            return self._gate.admit(request.actor, loaded.database, on=loaded)
        except AnalyticsError as error:
            if is_observed:
                is_dataset = datasource is not None and datasource.type in DATASET_TYPES
                dataset_id = datasource.id if datasource is not None and is_dataset else None
                watch = Stopwatch(None, self._tracer)
                self._observer.observe(observed_rejection(error, dataset_id, requested.result_type, request, watch))
            raise

    def _bound(self, request: ChartRequest, requested: RequestedQuery) -> Hashable:
        admission = self.admit(request, requested)
        own = (admission.loaded.dataset.id, admission.row_filters, _inside(admission))
        if requested.result_type in _LISTED:
            return own
        try:
            ready = self._ready.get(request, requested, admission)
            query = _annotated_query(request, ready)
            return (*own, ready.sources, self._annotator.bound_by(query, ask=self.bound_by) if query else ())
        except AnalyticsError as error:
            return (*own, type(error), error.message)

    def _answer(self, request: ChartRequest, position: int, admission: DatasetAdmission) -> QueryResult:
        requested, watch = request.queries[position], Stopwatch(request.budget, self._tracer)
        try:
            try:
                result = self._result(request, position, admission, watch)
            except AnalyticsError as error:
                failure = request.rejection(error, position)
                result = failed_result(failure, result_type=requested.result_type, query=watch.statement)
            self._observer.observe(observed(result, requested.result_type, admission.loaded, request, watch))
        finally:
            if watch.work is not None:
                watch.work.leave()
        return result

    def _result(
        self, request: ChartRequest, position: int, admission: DatasetAdmission, watch: Stopwatch
    ) -> QueryResult:
        if request.budget:
            request.budget.check_time()
        requested, loaded = request.queries[position], admission.loaded
        if requested.result_type in _LISTED:
            return listed(requested.result_type, loaded.dataset, loaded.spec)
        ready = self._ready.get(request, requested, admission)
        watch.fingerprint = ready.fingerprint
        if request.strict:
            reject_unused(requested, ready.main.plan, ready.steps, loaded.dataset)
        if requested.result_type is ResultType.QUERY:
            return query_text(ready.main)
        watch.statement = ready.main.statement.display_sql
        watch.begin("results")
        force = ready.key is None or request.force
        result = self._run(request, ready) if force else self._stored_or_run(request, ready)
        result = _with_notes(result, ready, request.notes)
        if not requested.query.annotation_layers or (annotated := _annotated_query(request, ready)) is None:
            return result
        watch.begin("annotations")
        return self._annotator.annotated(result, annotated, ask=self._ask_chart)

    def _stored_or_run(self, request: ChartRequest, ready: ReadyQuery) -> QueryResult:
        assert ready.key is not None  # noqa: S101 - the caller looked; tells the type checker
        return self._shared.answer(
            ready.key.text,
            find=partial(self._results.find, ready.key, ready.timeout),
            run=partial(self._run, request, ready),
            cancel=request.cancel,
            budget=request.budget,
        )

    def _ask_chart(self, request: ChartRequest) -> QueryResult:
        """Return the answer to a chart that a layer shows; what it stores is not this caller's to mend."""
        return self.run(replace(request, strict=False)).results[0]

    def _run(self, request: ChartRequest, ready: ReadyQuery) -> QueryResult:
        """Return the result of the statements, compared, processed, shaped, and kept where it has a key."""
        plan, budget = ready.main.plan, request.budget
        fetched = self._fetch(request, ready, ready.main)
        frame, cut_offsets, notes = fetched.frame, [], list(fetched.notes)
        for comparison, prepared in ready.shifted:
            other = self._fetch(request, ready, prepared)
            if other.has_more:
                cut_offsets.append((comparison.text, prepared.plan.limit))
            notes += [f"{comparison.text}: {note}" for note in other.notes]
            frame = join_offset(frame, other.frame, plan, offset=comparison.text, compared=comparison.compared)
        series = self._series(request, ready) if hides_series(fetched, plan) else None
        named = with_others_named(frame, plan, series=series)
        steps = ready.steps if ready.steps and len(frame) else ()
        processed = run_steps(named.frame, steps, check=budget.check_time if budget else _nothing)
        if budget and ready.steps:
            budget.take_cells(processed.frame)
        result = shaped(
            ready.layout(),
            replace(processed, notes=(*notes, *named.notes, *processed.notes)),
            fetched=len(fetched.frame),
            was_cut=_count_was_cut(fetched.frame, plan) if plan.count_rows else fetched.has_more,
            cut_offsets=cut_offsets,
        )
        if ready.key is not None:
            self._results.keep(ready.key, ready.timeout, result)
        return result

    def _series(self, request: ChartRequest, ready: ReadyQuery) -> Frame | None:
        """Return the series that the limit of a query keeps, by a statement of its own."""
        plan, spec = ready.main.plan, ready.admission.spec
        if plan.series_limit is None:
            return None
        of_series = plan_of_series(plan, plan.series_limit)
        prepared = replace(ready.main, plan=of_series, statement=compile_plan(of_series, spec))
        return self._fetch(request, ready, prepared).frame

    def _fetch(self, request: ChartRequest, ready: ReadyQuery, prepared: PreparedQuery) -> FetchedResult:
        plan, settings = prepared.plan, self._settings
        limits = FetchLimits(
            max_rows=1 if plan.count_rows else plan.limit.rows,
            max_bytes=settings.max_result_bytes,
            timeout_s=settings.statement_timeout_s,
        )
        try:
            fetched = self._gate.statements.run(
                ready.admission.to_run(prepared.statement), limits=limits, cancel=request.cancel, budget=request.budget
            )
        except DatabaseError as error:
            raise naming_formats(error, plan) from None
        frame, notes = with_moments(fetched.frame, plan)
        if ready.admission.spec.compares_moments_as_text:
            notes += notes_of_order(frame, plan)
        return replace(fetched, frame=frame, notes=(*fetched.notes, *notes))

    def _explain(self, request: ChartRequest, requested: RequestedQuery, admission: DatasetAdmission) -> ExplainedQuery:
        if requested.result_type in _LISTED:
            return ExplainedQuery(notes=(f"{requested.result_type.value} are facts of the dataset; no statement runs",))
        loaded = admission.loaded
        try:
            ready = self._ready.make(request, requested, admission)
            if request.strict:
                reject_unused(requested, ready.main.plan, ready.steps, loaded.dataset)
        except AnalyticsError as error:
            return ExplainedQuery(failure=request.rejection(error, requested.position))
        explainer = partial(explained, spec=loaded.spec, key=ready.key, timeout=ready.timeout)
        offsets = {comparison.text: explainer(prepared, offsets={}, notes=()) for comparison, prepared in ready.shifted}
        notes = (*request.notes, *ready.notes, *notes_of_layers(requested.query))
        notes += self._gate.statements.budget_notes(admission)
        return explainer(ready.main, offsets=offsets, notes=notes, steps=ready.steps)


def _annotated_query(request: ChartRequest, ready: ReadyQuery) -> AnnotatedQuery | None:
    """Return the query as its annotation layers see it; None where it shows none."""
    requested, plan = ready.requested, ready.main.plan
    if requested.result_type not in _ANNOTATED or not requested.query.annotation_layers:
        return None
    return AnnotatedQuery(query=requested.query, since=plan.since, until=plan.until, request=request)


def _inside(admission: DatasetAdmission) -> Hashable:
    """Return what the rules inside the SQL of a virtual dataset depend on, beyond the SQL with its rules."""
    return (admission.actor.role_ids, admission.actor.user.attributes) if admission.loaded.dataset.sql else None


def _with_notes(result: QueryResult, ready: ReadyQuery, notes: tuple[str, ...]) -> QueryResult:
    """Return the result with the notes of this request and payload before those of its steps.

    A kept result may come from a payload with other unread keys: what they are is not part of its key.
    """
    plan = ready.main.plan
    all_notes = (*notes, *plan.unused, *plan.notes, *ready.notes, *result.notes)
    return replace(result, notes=all_notes, caveats=ready.caveats)


def _count_was_cut(counted: Frame, plan: QueryPlan) -> bool | None:
    """Tell whether a count of rows stopped at the limit; None: it reached it, and nobody counted further."""
    (row,) = counted.rows()
    return None if row[0] >= plan.limit.rows else False


def _nothing() -> None:
    """Check nothing: the request has no budget."""
