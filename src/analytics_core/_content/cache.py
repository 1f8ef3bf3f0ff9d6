"""`core.cache`: cached answers made unreachable, and computed ahead."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any

from analytics_core._content.background_jobs import submit_job
from analytics_core._content.batches import every_id
from analytics_core._content.changes import LoggedAction, begin_act, until_accepted
from analytics_core._content.datasets.sources import (
    QualifiedDatasetName,
    datasets_by_name,
    datasets_of_sources,
    datasets_of_table,
    parse_source,
)
from analytics_core._content.jobs.handlers import JobKind, JobOutcome, Work
from analytics_core._content.jobs.job import Job
from analytics_core._content.lookups.loading import next_generation
from analytics_core._content.namespace import Namespace, live
from analytics_core._content.questions.chart_contexts import ActorChartContexts
from analytics_core._content.questions.extra_filters import GivenFilters, given_filters, plain_filters
from analytics_core._content.questions.queries import ChartQueries
from analytics_core._content.related_names import charts_drawn_from
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import DATASET_TYPES
from analytics_core._records.datasource import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.shared_state import JobRecord
from analytics_core._tools.log import line_log
from analytics_core.errors import (
    AnalyticsError,
    NotFoundError,
    StatementStoppedError,
    StoredDataError,
)
from analytics_core.models.cache import (
    CacheInvalidationRequest,
    CacheWarmUpResult,
    ChartCacheWarmUpRequest,
    ChartCacheWarmUpResponse,
    DatasetCacheWarmUpRequest,
    DatasetCacheWarmUpResponse,
    DatasourceName,
)
from analytics_core.models.enums import JobState, QueryStatus
from analytics_core.models.parsing import Payload, parse, payload_error
from analytics_core.models.strict_json import json_text

_LOG = line_log(__name__)
_INVALIDATION = "CacheInvalidationRequestSchema"
_WARM_UP = "ChartCacheWarmUpRequestSchema"
_MOST_DATASETS = 1_000


class CacheControl(Namespace):
    """The cache of answers, as one actor may empty and fill it; `cancel` stops a warm-up from another thread."""

    def __init__(self, runtime: ContentRuntime, actor: Actor, *, cancel: CancelToken | None = None) -> None:
        super().__init__(runtime, actor)
        self._cancel = cancel

    def invalidate(self, payload: CacheInvalidationRequest | Payload) -> int:
        """Make all cached answers of datasets unreachable and return how many datasets they were.

        The datasets are named by uid (`1__table`) or by database, schema and name; all of them are done, or none
        (contract, `CacheInvalidationRequestSchema`). Other processes follow after `Settings.metadata_freshness_s`.

        Raises:
            PayloadError: the payload breaks the shape, or names more than 1,000 datasets.
            NotFoundError: there is no such dataset.
            DatasetAccessError, OwnershipError: the actor does not own a dataset and is no administrator. Who may not
                read the datasets of a database is not told which names there are in it.

        Examples:
            >>> core.cache.invalidate({"datasource_uids": ["1__table"]})
            1
        """
        request = parse(CacheInvalidationRequest, payload, shape=_INVALIDATION)
        act = begin_act(self._runtime, self._actor, "cache.invalidate")
        return until_accepted(lambda: self._invalidated(request, act))

    def warm_up_chart(self, payload: ChartCacheWarmUpRequest | Payload) -> ChartCacheWarmUpResponse:
        """Compute the answer of a chart anew and keep it where its readers look (`ChartCacheWarmUpRequestSchema`).

        The question is that of `charts.question` with the same arguments. What stops it is told in the result.

        Raises:
            PayloadError: the payload breaks the shape.
            NotFoundError, ChartAccessError, DashboardAccessError: unknown, or not for this actor.

        Examples:
            >>> core.cache.warm_up_chart({"chart_id": 1}).result[0].viz_status
            'success'
            >>> core.charts.data(1)[0].is_cached
            True
        """
        requested = parse(ChartCacheWarmUpRequest, payload, shape=_WARM_UP)
        given_filters(requested.extra_filters, shape=_WARM_UP)
        with self._runtime.store.unit_of_work() as unit:
            self._reader(unit).chart(requested.chart_id)
            self._check_dashboard(unit, requested.dashboard_id)
        result = self._warmed(requested.chart_id, requested.dashboard_id, requested.extra_filters)
        return ChartCacheWarmUpResponse(result=(result,))

    def warm_up_dataset(self, payload: DatasetCacheWarmUpRequest | Payload) -> DatasetCacheWarmUpResponse:
        """Compute the answers of a dataset's charts anew (contract, `DatasetCacheWarmUpRequestSchema`).

        They are the charts that the actor may read; with `dashboard_id` those that the dashboard shows.

        Raises:
            PayloadError: the payload breaks the shape.
            NotFoundError: there is no such dataset or dashboard.
            DatasetAccessError, DashboardAccessError: it is not for this actor; by name, or it is not there.

        Examples:
            >>> [one.chart_id for one in core.cache.warm_up_dataset({"db_name": "shop", "table_name": "orders"}).result]
            [1, 2]
        """
        requested = parse(DatasetCacheWarmUpRequest, payload, shape="DatasetCacheWarmUpRequestSchema")
        with self._runtime.store.unit_of_work() as unit:
            named = {"database": requested.db_name, "table": requested.table_name}
            datasets = datasets_of_table(self._reader(unit), **named)
            chart_ids = set(every_id(unit.charts, charts_drawn_from(dataset.id for dataset in datasets)))
            if requested.dashboard_id is not None:
                chart_ids &= set(self._reader(unit).dashboard(requested.dashboard_id).chart_ids)
            readable = sorted(self._reader(unit).charts(chart_ids))
        results = self.warm_up_many(
            readable, dashboard_id=requested.dashboard_id, extra_filters=requested.extra_filters
        )
        return DatasetCacheWarmUpResponse(result=tuple(results))

    def warm_up_many(
        self,
        chart_ids: Iterable[int] | None = None,
        *,
        dashboard_id: int | None = None,
        extra_filters: GivenFilters = None,
    ) -> Iterator[CacheWarmUpResult]:
        """Return an iterator that warms up one chart a step and yields what became of it.

        A chart that fails does not stop the others. Each step has the rights that the actor has then.

        Args:
            chart_ids: None for all charts of the dashboard, or without a dashboard all that the actor may read.
            dashboard_id: the dashboard whose filters count.
            extra_filters: as in `charts.question`.

        Raises:
            PayloadSchemaError, NotFoundError, DashboardAccessError: at once, before anything is computed.

        Examples:
            >>> for one in core.cache.warm_up_many(dashboard_id=1):
            ...     print(one.chart_id, one.viz_status)
            1 success
            2 success
        """
        given_filters(extra_filters, shape=_WARM_UP)
        named = None if chart_ids is None else _checked_ids(chart_ids)
        with self._runtime.store.unit_of_work() as unit:
            self._check_dashboard(unit, dashboard_id)
            wanted = self._all_charts(unit, dashboard_id) if named is None else named
        return self._warming(wanted, dashboard_id, extra_filters)

    def submit_warm_up(
        self,
        chart_ids: Iterable[int] | None = None,
        *,
        dashboard_id: int | None = None,
        extra_filters: GivenFilters = None,
    ) -> Job[tuple[CacheWarmUpResult, ...]]:
        """Warm up charts in the background and return the job, whose result tells what became of each.

        The arguments are those of `warm_up_many`.

        Raises:
            PayloadSchemaError, NotFoundError, DashboardAccessError: at once, before anything is computed.
            JobError: no more work can be taken.

        Examples:
            >>> job = core.cache.submit_warm_up([1, 2])
            >>> [one.viz_status for one in job.result()]
            ['success', 'success']
        """
        named = None if chart_ids is None else list(_checked_ids(chart_ids))
        self.warm_up_many(named, dashboard_id=dashboard_id, extra_filters=extra_filters)  # checks; nothing runs yet
        requested = {"chart_ids": named, "dashboard_id": dashboard_id, "extra_filters": plain_filters(extra_filters)}
        return submit_job(
            self._runtime,
            self._actor,
            JobKind.WARM_UP,
            json_text(requested, shape=_WARM_UP),
            find_actor=lambda: self._anew()._actor,
        )

    # ----------------------------------------------------------------------------------------------- invalidation
    def _invalidated(self, request: CacheInvalidationRequest, act: LoggedAction) -> int:
        with self._runtime.store.unit_of_work() as unit:
            datasets = {dataset.id: dataset for dataset in self._named(unit, request)}
            for dataset in datasets.values():
                self._runtime.policy.require_empty_cache(self._actor, dataset)
            for _, dataset in sorted(datasets.items()):  # one order for all, so that nobody waits in a circle
                next_generation(unit, dataset, actor_id=self._actor.id)
            if datasets:
                act.log(unit, details={"dataset_ids": sorted(datasets)})
        return len(datasets)

    def _named(self, unit: UnitOfWork, request: CacheInvalidationRequest) -> tuple[Dataset, ...]:
        """Return the datasets that a request names, read together however many they are."""
        uids, names = request.datasource_uids or (), request.datasources or ()
        if len(uids) + len(names) > _MOST_DATASETS:
            raise payload_error(_INVALIDATION, "", f"may name {_MOST_DATASETS} datasets at most")
        sources = [parse_source(uid, shape=_INVALIDATION, place=f"datasource_uids.{i}") for i, uid in enumerate(uids)]
        full = [_dataset_name(name, place=f"datasources.{i}") for i, name in enumerate(names)]
        reader = self._reader(unit)
        return (*datasets_of_sources(reader, sources), *datasets_by_name(reader, full))

    # ---------------------------------------------------------------------------------------------------- warm-up
    def _check_dashboard(self, unit: UnitOfWork, dashboard_id: int | None) -> None:
        if dashboard_id is not None:
            self._reader(unit).dashboard(dashboard_id)

    def _all_charts(self, unit: UnitOfWork, dashboard_id: int | None) -> tuple[int, ...]:
        reader = self._reader(unit)
        if dashboard_id is not None:
            return tuple(reader.charts(unit.dashboards.get(dashboard_id).chart_ids))
        return tuple(every_id(unit.charts, ids=reader.scope("charts")))

    def _warming(
        self, chart_ids: Collection[int], dashboard_id: int | None, extra_filters: GivenFilters
    ) -> Iterator[CacheWarmUpResult]:
        with self._runtime.progress.bar("warm-up", total=len(chart_ids), unit="chart") as tell:
            for chart_id in chart_ids:
                yield self._anew()._warmed(chart_id, dashboard_id, extra_filters)
                tell(1)

    def _warmed(self, chart_id: int, dashboard_id: int | None, extra_filters: GivenFilters) -> CacheWarmUpResult:
        try:
            charts = ActorChartContexts(self._runtime, self._actor)
            chart, around = charts.around(chart_id, dashboard_id=dashboard_id, extra_filters=extra_filters)
            return _outcome(chart_id, ChartQueries(self._runtime, self._actor).fill(chart, around, self._cancel))
        except AnalyticsError as failure:
            return _failed(chart_id, failure.message)
        except Exception as error:  # a fault in one chart must not stop the others; its text may hold anything
            _LOG.error("the warm-up of chart %s ended by an unexpected %s", chart_id, type(error).__name__)
            return _failed(chart_id, "the answer could not be computed")


def _dataset_name(name: DatasourceName, *, place: str) -> QualifiedDatasetName:
    """Return the name of a dataset; PayloadSchemaError when that of its table is missing."""
    database, table = name.database_name or None, name.datasource_name
    if not table:
        raise payload_error(_INVALIDATION, f"{place}.datasource_name", "is required to find a datasource by name")
    named = QualifiedDatasetName(database=database, schema=name.schema_name or None, table=table)
    if name.datasource_type.value not in DATASET_TYPES:
        raise NotFoundError(f"{name.datasource_type.value} datasource", str(named))
    return named


def _checked_ids(chart_ids: Any) -> tuple[int, ...]:
    """Return the ids of charts; PayloadSchemaError when they are none."""
    ids = tuple(chart_ids) if isinstance(chart_ids, Iterable) and not isinstance(chart_ids, str | bytes) else None
    if ids is None or any(type(chart_id) is not int for chart_id in ids):
        raise payload_error(_WARM_UP, "chart_ids", "must be ids of charts")
    return ids


def _outcome(chart_id: int, data: ChartData) -> CacheWarmUpResult:
    """Return what became of a chart: the first error of its queries, or that all went well."""
    failed = next((result for result in data.results if result.error), None)
    status = failed.status if failed is not None else QueryStatus.SUCCESS
    return CacheWarmUpResult(
        chart_id=chart_id, viz_error=failed.error if failed is not None else None, viz_status=str(status)
    )


def _failed(chart_id: int, message: str) -> CacheWarmUpResult:
    return CacheWarmUpResult(chart_id=chart_id, viz_error=message, viz_status=QueryStatus.FAILED.value)


class WarmUpJobs:
    """Runs and reads warm-ups in the background (a `JobHandler`).

    Args:
        runtime_of: the job's moment -> the parts of a core for which that is now.
        find_actor: tells who acts for a job; each chart has the rights that they have then.
    """

    def __init__(
        self, *, runtime_of: Callable[[JobRecord], ContentRuntime], find_actor: Callable[[JobRecord], Actor]
    ) -> None:
        self._runtime_of = runtime_of
        self._find_actor = find_actor

    def begin(self, job: JobRecord, _unit: UnitOfWork) -> Work:
        """Return what warms up the charts; a cancelled job stops the statement of the one that runs."""
        return partial(self._run, job)

    def _run(self, job: JobRecord, cancel: CancelToken) -> JobOutcome:
        requested: dict[str, Any] = json.loads(job.payload)
        cache = live(lambda: CacheControl(self._runtime_of(job), self._find_actor(job), cancel=cancel))
        done = []
        for result in cache.warm_up_many(**requested):
            done.append(result.model_dump(mode="json"))
            if cancel.cancelled:
                raise StatementStoppedError(f"the warm-up was cancelled after {len(done)} charts")
        return JobOutcome(state=JobState.SUCCESS, data=json.dumps(done).encode())

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether it is the actor's own: what became of charts holds nothing of their rows."""
        return job.user_id == actor.id

    def read(self, job: JobRecord, data: bytes) -> tuple[CacheWarmUpResult, ...]:
        """Return what became of each chart."""
        try:
            return tuple(CacheWarmUpResult(**result) for result in json.loads(data))
        except (TypeError, ValueError):
            raise StoredDataError(f"the store holds no result of job {job.job_id!r} that this version reads") from None
