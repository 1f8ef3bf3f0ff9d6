"""Who is handed jobs, what runs those of one kind, how they end, what is kept then and how much, and which are lost."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, Protocol

from analytics_core._content.jobs.heartbeat import is_dead
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.settings import Settings
from analytics_core._records.shared_state import JobRecord, JobResultPart
from analytics_core._tools.log import line_log
from analytics_core._tools.typed_json import error_to_json
from analytics_core.errors import (
    AnalyticsError,
    JobError,
    NotFoundError,
    StaleVersionError,
    StatementStoppedError,
    StatementTimeoutError,
)
from analytics_core.models.enums import JobState
from analytics_core.ports import JobRunner, RoutedJobRunner

_LOG = line_log(__name__)


class JobKind(StrEnum):
    """What a job does; the composition root has a handler for each kind."""

    CHART_DATA = "chart-data"
    DASHBOARD_DATA = "dashboard-data"
    PICTURE = "picture"
    WARM_UP = "warm-up"
    REPORT = "report"
    SQL = "sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How a job ended that was not stopped by an error: its state, what it made, and what bound its actor then.

    `record` is the job as it was stored with its end, where the work did so itself; None: it is to be stored. With it,
    who waits for the job in this process is given the `note`.
    """

    state: JobState
    data: bytes
    bound: str = ""
    record: JobRecord | None = None
    note: str = ""


Work = Callable[[CancelToken], JobOutcome]
"""What does a job as its actor, with the rights that they have by then; it raises AnalyticsError when it fails."""


class JobHandler(Protocol):
    """The jobs of one kind."""

    def begin(self, job: JobRecord, unit: UnitOfWork) -> Work:
        """Return what does a job that this process has just claimed.

        What is stored of its beginning is written in `unit`, which claims the job: both are stored, or neither. Where
        others were faster, it is begun anew; what else it raises ends the job.
        """

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether an actor may read what the finished job made."""

    def read(self, job: JobRecord, data: bytes) -> Any:
        """Return what the job made; StoredDataError when the store holds something else."""


def new_job_id() -> str:
    """Return an id that no job has, and that nobody can guess."""
    return secrets.token_urlsafe(24)


def hand_over(runner: JobRunner, job: JobRecord, settings: Settings, *, time_limit_s: float | None = None) -> None:
    """Hand a job to the runner; `time_limit_s` is how long it may take in all, None: as long as its kind may.

    Raises:
        JobError: the runner does not take it.
    """
    if time_limit_s is None and job.kind == JobKind.CHART_DATA:
        time_limit_s = settings.request_timeout_s
    try:
        if isinstance(runner, RoutedJobRunner):
            runner.submit_routed(job.job_id, kind=job.kind, queue=job.queue, time_limit_s=time_limit_s)
        else:
            runner.submit(job.job_id, queue=job.queue)
        return
    except JobError:
        raise
    except Exception as error:  # border to a host's runner: its queue may be away
        _LOG.error("the job runner did not take a job: it raised %s", type(error).__name__)
    said = f"job {job.job_id!r} was not taken: the job runner failed; try again later"
    raise JobError(said, retryable=True)


_PART_BYTES: Final = 4 * 1024 * 1024
_MORE_READ: Final = 100


class Ending:
    """Tells in one process that a job is over, and how."""

    def __init__(self) -> None:
        self._is_reported = threading.Event()
        self._others: list[threading.Event] = []
        self.record: JobRecord | None = None
        self.note = ""

    @property
    def is_reported(self) -> bool:
        """Whether the end was told; `record` is None where nobody knows how it ended, `note` is that of its outcome."""
        return self._is_reported.is_set()

    def tell(self, record: JobRecord | None, note: str = "") -> None:
        """Let go on who waits."""
        self.record, self.note = record, note
        self._is_reported.set()
        for other in self._others:
            other.set()

    def tell_also(self, other: threading.Event) -> None:
        """Set an event of somebody who waits for several jobs when this one is over, too."""
        self._others.append(other)
        if self.is_reported:
            other.set()

    def wait(self, seconds: float) -> None:
        """Wait until the end is told, or so long."""
        self._is_reported.wait(seconds)


@dataclass(slots=True)
class LocalJob:
    """A job that this process waits for or runs, as it was stored here last; None: by others.

    `is_claimed`: the store says that this process runs it.
    """

    ending: Ending
    cancel: CancelToken = field(default_factory=CancelToken)
    is_claimed: bool = False
    record: JobRecord | None = None


class JobEnds:
    """Records ends of jobs; `settings` say how long they are kept, and what their results may take together."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def record(
        self,
        unit: UnitOfWork,
        job: JobRecord,
        state: JobState,
        *,
        outcome: JobOutcome | None = None,
        error: AnalyticsError | None = None,
    ) -> JobRecord:
        """Store the end of a job with its result, and let what is too old or too much go."""
        now = unit.now()
        done = replace(
            job,
            state=state,
            ended_on=now,
            lease_until=None,
            bound=None if outcome is None else outcome.bound,
            error=None if error is None else json.dumps(error_to_json(error)),
            result_bytes=None if outcome is None else len(outcome.data),
            expires_on=now + timedelta(seconds=self._settings.job_expiry_s),
        )
        stored = unit.jobs.update(done, actor_id=job.author_id)
        data = b"" if outcome is None else outcome.data
        for position, start in enumerate(range(0, len(data), _PART_BYTES)):
            part = JobResultPart(job_record_id=job.id, position=position, data=data[start : start + _PART_BYTES])
            unit.job_results.append(part, actor_id=job.author_id)
        with suppress(StaleVersionError):  # another process makes room at this moment
            self._make_room(unit, now, but=job.job_id)
        return stored

    def settled(self, unit: UnitOfWork, job: JobRecord, *, own: str) -> JobRecord:
        """Return the job; one that nobody can end any more is lost. `own` names the process that asks."""
        if job.state.is_over or job.worker == own:
            return job
        if job.worker is not None:
            is_lost, why = is_dead(unit, job.worker), "the process that held it ended, or lost the metadata store"
        else:
            is_lost = job.lease_until is not None and job.lease_until < unit.now()
            why = f"nobody began it within {self._settings.job_wait_s:g} seconds (Settings.job_wait_s)"
        return self.lose(unit, job, why) if is_lost else job

    def lose(self, unit: UnitOfWork, job: JobRecord, why: str) -> JobRecord:
        """Record that a job is lost and return it, unless somebody was faster."""
        failure = JobError(f"job {job.job_id!r} is lost: {why}; submit it again", retryable=True)
        try:
            return self.record(unit, job, JobState.LOST, error=failure)
        except (StaleVersionError, NotFoundError):  # alive after all, or over, or gone by now: the next look tells
            return job

    def require_room(self, unit: UnitOfWork, job: JobRecord, *, own: str) -> None:
        """Refuse a new job when so many wait or run already, those that are lost aside; JobError then.

        `own` names the process that asks.
        """
        most = self._settings.max_jobs
        self._require(unit, most, own=own)
        if not job.user_id:  # guests must not keep people from submitting
            guests = ListFilter(col="user_id", op="eq", val=0)
            self._require(unit, -(-most // 2), guests, own=own, whose="of guests ")

    def _require(self, unit: UnitOfWork, most: int, *of: ListFilter, own: str, whose: str = "") -> None:
        if _count_unfinished(unit, *of) >= most:
            for unfinished in unit.jobs.list(_unfinished(most, *of))[1]:
                self.settled(unit, unfinished, own=own)
            if _count_unfinished(unit, *of) >= most:
                said = f"{most} jobs {whose}wait or run already (Settings.max_jobs); try again later"
                raise JobError(said, retryable=True)

    def _make_room(self, unit: UnitOfWork, now: datetime, *, but: str) -> None:
        """Forget jobs that are expired, and the oldest beyond as many and as many bytes as may be; the latest stays."""
        most = self._settings.max_jobs
        over = (ListFilter(col="ended_on", op="is_null", val=False),)
        query = ListQuery(filters=over, page_size=most + _MORE_READ)
        found = unit.jobs.newest(("job_id", "result_bytes", "expires_on"), "ended_on", query)
        count, total_bytes, gone = 0, 0, []
        for (job_id, size, expires_on), _, record_id in found:
            is_expired = expires_on is not None and expires_on < now
            if not is_expired:
                count, total_bytes = count + 1, total_bytes + (size or 0)
            if job_id != but and (is_expired or count > most or total_bytes > self._settings.jobs_max_bytes):
                gone.append(record_id)
        if gone:
            unit.jobs.delete_matching([ListFilter(col="id", op="in", val=gone)])
        if len(found) == query.page_size:  # there may be more
            unit.jobs.delete_matching([ListFilter(col="expires_on", op="lt", val=now)])


def _unfinished(most: int, *of: ListFilter) -> ListQuery:
    return ListQuery(filters=(ListFilter(col="ended_on", op="is_null", val=True), *of), page_size=most)


def _count_unfinished(unit: UnitOfWork, *of: ListFilter) -> int:
    return unit.jobs.list(_unfinished(1, *of))[0]


def failing(failure: Exception) -> Callable[[JobRecord, UnitOfWork], Work]:
    """Return what begins a job that is to fail."""

    def fail(_: CancelToken) -> JobOutcome:
        raise failure

    return lambda *_: fail


def state_of(error: AnalyticsError) -> JobState:
    """Return how a job ends by an error."""
    if isinstance(error, StatementTimeoutError):
        return JobState.TIMED_OUT
    return JobState.STOPPED if isinstance(error, StatementStoppedError) else JobState.FAILED
