"""What an operator asks of a core: how its parts are, and that what is over goes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from analytics_core._content.batches import every_id, every_value
from analytics_core._content.jobs.heartbeat import WORKER_RETENTION
from analytics_core._content.lookups.guests import CUT_OFF_KIND
from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._core.runtime import CoreRuntime
from analytics_core._records.repositories import ExpendableRepository, ListFilter, ListQuery, Record, UnitOfWork
from analytics_core._tools.display.blocks import Blocks
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.objects import object_blocks
from analytics_core.errors import AnalyticsError
from analytics_core.models.enums import JobState

_PROBE_S: Final = 60
_BATCH: Final = 1_000
_BATCHES: Final = 10
_MOST: Final = _BATCH * _BATCHES
_MOST_CUT_OFFS: Final = timedelta(days=366)
"""Longer than any token lives: one that was revoked must not come back when the cut-off is forgotten."""

_PRUNE_S: Final = 600.0
PRUNE_LOCK: Final = "analytics_core.prune"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartHealth:
    """How one part of a core is: `ms` is how long it took to answer; `problem` says why it did not."""

    is_up: bool
    ms: float
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsHealth:
    """The jobs of a store: how many wait, run, and are told as lost; and how many processes hold a lease on jobs."""

    waiting: int
    running: int
    lost: int
    workers_alive: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a core is, without its databases, which are no reason to start a service anew.

    `revision` is that of the store's tables (None: a host's own store), `runs_jobs_here` whether the job runner's
    threads are in this process. `revision` and `jobs` are None while the store is away.
    """

    store: PartHealth
    cache: PartHealth
    revision: str | None
    jobs: JobsHealth | None
    runs_jobs_here: bool | None

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return object_blocks(self)

    @property
    def is_ready(self) -> bool:
        """Whether questions can be answered; no answer needs the cache."""
        return self.store.is_up


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneCounts:
    """How many records of each kind `core.prune` removed.

    `is_complete` is False when more are left for another call, or when another process prunes at the moment.
    """

    jobs: int = 0
    job_workers: int = 0
    key_values: int = 0
    guest_cut_offs: int = 0
    locks: int = 0
    oauth2_tokens: int = 0
    logs: int = 0
    report_executions: int = 0
    sql_queries: int = 0
    is_complete: bool = True

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return object_blocks(self)


def health(runtime: CoreRuntime) -> Health:
    """Return how the parts of a core are; one that is away is told, not raised."""
    found: list[JobsHealth] = []
    revisions: list[str | None] = []

    def ask_store() -> None:
        with runtime.content.store.unit_of_work() as unit:
            found.append(_jobs(unit))
        if isinstance(runtime.content.store, SqlMetadataStore):
            revisions.append(runtime.content.store.table_revision())

    def ask_cache() -> None:
        key, value = f"analytics_core-health-{secrets.token_hex(8)}", secrets.token_bytes(8)
        runtime.parts.cache.set(key, value, timeout_s=_PROBE_S)
        if runtime.parts.cache.get(key) != value:
            raise AnalyticsError("it does not give back what it was given")
        runtime.parts.cache.delete(key)

    here: list[bool] = []
    _probe(lambda: here.append(runtime.parts.jobs.is_local))
    return Health(
        store=_probe(ask_store),
        cache=_probe(ask_cache),
        revision=revisions[0] if revisions else None,
        jobs=found[0] if found else None,
        runs_jobs_here=here[0] if here else None,
    )


def _probe(ask: Callable[[], object]) -> PartHealth:
    began, problem = time.perf_counter(), None
    try:
        ask()
    except AnalyticsError as error:
        problem = error.message
    except Exception as error:  # border to a host's parts: their texts may hold addresses with passwords
        problem = f"raised {type(error).__name__}"
    return PartHealth(is_up=problem is None, ms=(time.perf_counter() - began) * 1_000, problem=problem)


def _jobs(unit: UnitOfWork) -> JobsHealth:
    counts = {
        state: unit.jobs.list(ListQuery(filters=(ListFilter(col="state", op="eq", val=state),), page_size=1))[0]
        for state in (JobState.PENDING, JobState.RUNNING, JobState.LOST)
    }
    alive = ListQuery(filters=(ListFilter(col="lease_until", op="gt", val=unit.now()),), page_size=1)
    return JobsHealth(
        waiting=counts[JobState.PENDING],
        running=counts[JobState.RUNNING],
        lost=counts[JobState.LOST],
        workers_alive=unit.job_workers.list(alive)[0],
    )


def prune(runtime: CoreRuntime, *, logs_older_than_days: int | None) -> PruneCounts:
    """Remove what is over, at most 10,000 records of a kind; one process at a time does it."""
    from analytics_core._content.logs import oldest_after_pruning

    now = runtime.content.wall_clock.now()
    oldest = None
    if logs_older_than_days is not None:
        oldest = oldest_after_pruning(logs_older_than_days, now=now, shape="prune")
    lease = runtime.parts.lock.acquire(PRUNE_LOCK, ttl_s=_PRUNE_S)
    if lease is None:
        return PruneCounts(is_complete=False)
    try:
        with runtime.content.store.unit_of_work() as unit:
            stores_now = unit.now()
        cut_offs_before = now - max(_MOST_CUT_OFFS, timedelta(seconds=runtime.parts.settings.guest_token_max_life_s))
        of_cut_offs = ListFilter(col="kind", op="eq", val=CUT_OFF_KIND)
        removed = {
            "jobs": _remove(runtime, lambda unit: unit.jobs, _before("expires_on", stores_now)),
            "job_workers": _remove(
                runtime, lambda unit: unit.job_workers, _before("lease_until", stores_now - WORKER_RETENTION)
            ),
            "key_values": _remove(runtime, lambda unit: unit.key_values, _before("expires_on", now)),
            "guest_cut_offs": _remove(
                runtime, lambda unit: unit.key_values, of_cut_offs, _before("changed_on", cut_offs_before)
            ),
            "locks": _remove(runtime, lambda unit: unit.locks, _before("ends_on", stores_now)),
            "oauth2_tokens": _remove(runtime, lambda unit: unit.oauth2_tokens, _before("useless_after", now)),
            "logs": 0 if oldest is None else _remove(runtime, lambda unit: unit.logs, _before("dttm", oldest)),
            "report_executions": _remove_runs(runtime, now),
            "sql_queries": _remove(
                runtime, lambda unit: unit.sql_queries, _before("start_time", _too_old_ms(runtime, now))
            ),
        }
    finally:
        with suppress(AnalyticsError):  # of a lock that is away by now: it ends by itself
            runtime.parts.lock.release(lease)
    return PruneCounts(**removed, is_complete=max(removed.values()) < _MOST)


def _too_old_ms(runtime: CoreRuntime, now: datetime) -> float:
    """Return the time in milliseconds since 1970 before which executions of the SQL editor began that may go."""
    return (now - timedelta(seconds=runtime.parts.settings.sql_query_keep_s)).timestamp() * 1_000


def _before(column: str, moment: object) -> ListFilter:
    return ListFilter(col=column, op="lt", val=moment)


def _remove(
    runtime: CoreRuntime, repository: Callable[[UnitOfWork], ExpendableRepository[Record]], *over: ListFilter
) -> int:
    """Remove the records that match, in small transactions, so that nobody waits long for them."""
    removed = 0
    for _ in range(_BATCHES):
        with runtime.content.store.unit_of_work() as unit:
            records = repository(unit)
            _, ids = records.distinct("id", ListQuery(filters=over, page_size=_BATCH))
            removed += records.delete_matching([ListFilter(col="id", op="in", val=list(ids)), *over]) if ids else 0
        if len(ids) < _BATCH:
            break
    return removed


def _remove_runs(runtime: CoreRuntime, now: datetime) -> int:
    """Remove runs of alerts and reports that ended longer ago than `log_retention`.

    A run that ends forgets those before it; this is for schedules of which none ends any more.
    """
    from analytics_core._reports.claims import retention_of

    removed = 0
    for days, schedule_ids in _by_retention(runtime):
        age = retention_of(days)
        if age is not None and removed < _MOST:
            of_these = ListFilter(col="schedule_id", op="in", val=schedule_ids)
            removed += _remove(runtime, lambda unit: unit.report_executions, of_these, _before("end_dttm", now - age))
    return removed


def _by_retention(runtime: CoreRuntime) -> Sequence[tuple[int, Sequence[int]]]:
    """Return the days of each `log_retention`, with the ids of schedules that have it, so many at a time."""
    found = []
    with runtime.content.store.unit_of_work() as unit:
        schedules = unit.report_schedules
        for days in every_value(schedules, "log_retention", ListQuery(), batch=_BATCH):
            ids = tuple(every_id(schedules, (ListFilter(col="log_retention", op="eq", val=days),)))
            found += [(days, ids[start : start + _BATCH]) for start in range(0, len(ids), _BATCH)]
    return found
