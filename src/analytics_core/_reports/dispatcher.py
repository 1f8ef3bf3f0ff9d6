"""Has runs of alerts and reports done by jobs: in fair turns, and those of one schedule one after the other."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from analytics_core._content.jobs.handlers import Ending, JobKind, new_job_id
from analytics_core._content.jobs.turns import BESIDE, OWNER, Turns
from analytics_core._records.report import ReportExecution, ReportProgress, ReportSchedule
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.shared_state import JobRecord
from analytics_core._reports.claims import Claims, DueRuns, begun_runs, first_open, schedule_without_owners
from analytics_core._reports.recipients import receivers
from analytics_core._reports.run_log import ALONE, DEACTIVATED, TOOK_TOO_LONG, RunLog
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._reports.states import RunEvent
from analytics_core._tools.log import line_log
from analytics_core.errors import (
    AnalyticsError,
    ErrorType,
    JobError,
    JobNotFoundError,
    NotFoundError,
    StaleVersionError,
    StoredDataError,
)
from analytics_core.models.report import RecipientType

_LOG = line_log(__name__)
RUN: Final = "execution"
NOTICE: Final = "notice"
FOLLOW: Final = "follow"
"""Keys of the payloads of jobs: the run that is done, the run of whose error owners are told, and whether the job has
the run done that waits behind."""

MOST_ATTEMPTS: Final = 5
_MOST_IN_FLIGHT: Final = 64
_LOOK_S: Final = 0.2
_MAIL: Final = RecipientType.EMAIL.value
_QUEUE: Final = "reports to "
_MOST_NAMES: Final = 3
_LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A run that waits for its turn, and as whom it runs; those of its schedule behind it wait in the store."""

    run: ReportExecution
    user_id: int
    queue: str
    time_limit_s: float | None


@dataclass(slots=True, kw_only=True)
class _Flight:
    """A job on its way; `turn` is what it does, None: it is a notice. `ending` is told where it runs here.

    `job` is the job as it was stored with the claim of its run.
    """

    job_id: str = field(default_factory=new_job_id)
    ending: Ending = field(default_factory=Ending)
    turn: _Turn | None = None
    job: JobRecord | None = None

    @property
    def limit_s(self) -> float | None:
        """How long the job may take in all; None: as long as its kind may."""
        return None if self.turn is None else self.turn.time_limit_s


@contextmanager
def _passing_over(run: ReportExecution) -> Iterator[None]:
    """Let others go on where what the store holds of one schedule cannot be read."""
    try:
        yield
    except StoredDataError as error:
        _LOG.error("a run of report schedule %s is passed over: %s", run.schedule_id, error.message)


class RunDispatcher:
    """Has claimed runs done by jobs, and finds those that nobody does; each look has one of its own.

    Args:
        runtime: of a core that nobody acts on.
        waits: whether `finish` waits for the jobs of this process.
    """

    def __init__(self, runtime: ReportsRuntime, *, waits: bool) -> None:
        self._runtime = runtime
        self._waits = waits and runtime.jobs.is_local
        self._jobs = runtime.content.job_registry
        self._lease = timedelta(seconds=runtime.content.settings.job_lease_s)
        self._log = RunLog(runtime)
        self._turns: Turns[_Turn] = Turns(_MOST_IN_FLIGHT)
        self._flying: deque[_Flight] = deque()
        self._is_any_over = threading.Event()
        self._has_room = True
        self._finished = 0

    # ------------------------------------------------------------------------------------------- what others left
    def abandoned_runs(self, first_runs: Sequence[ReportExecution]) -> Iterator[ReportExecution]:
        """Yield those of the first runs of schedules that nobody does any more; end those that take too long."""
        if not first_runs:
            return
        with self._runtime.content.store.unit_of_work() as unit:
            now = unit.now()
        for run in first_runs:
            if run.lease_until is not None and run.lease_until > now:
                continue
            if run.late_on is not None and run.late_on <= now:
                with _passing_over(run):
                    self._end(run, RunEvent.TIMED_OUT, TOOK_TOO_LONG, ErrorType.BACKEND_TIMEOUT_ERROR)
                if (following := self._behind(run)) is not None:
                    yield following
            elif run.job_id is None or not self._goes_on(run.job_id):
                yield run

    def stop(self, schedule_id: int) -> None:
        """End the runs of a schedule that have begun, but for those that somebody asked for: it was deactivated."""
        with self._runtime.content.store.unit_of_work() as unit:
            begun = begun_runs(unit, schedule_id)
        for run in begun:
            self._end(run, RunEvent.DEACTIVATED, DEACTIVATED)

    def _goes_on(self, job_id: str) -> bool:
        try:
            return not self._jobs.find(job_id).state.is_over
        except JobNotFoundError:
            return False

    def _end(
        self, run: ReportExecution, event: RunEvent, why: str, error_type: ErrorType = ErrorType.GENERIC_COMMAND_ERROR
    ) -> None:
        if run.job_id is not None:
            self._jobs.cancel(run.job_id)
        self._close(run, event, why, error_type)

    def _behind(self, run: ReportExecution) -> ReportExecution | None:
        """Return the run of a schedule that waits behind one that is over; None: there is none, or somebody does it."""
        with self._runtime.content.store.unit_of_work() as unit:
            following = first_open(unit, run.schedule_id)
        if following is None or following.id == run.id:
            return None
        return next(self.abandoned_runs((following,)), None)

    # ----------------------------------------------------------------------------------------------------- running
    def claim(self, due_runs: DueRuns, due: ReportProgress, now: datetime) -> Claims:
        """Claim the due times of a schedule, as `DueRuns.claim` does, and have the run done that is begun now.

        Where its turn comes at once, its job is stored in the transaction that claims it.
        """
        self._go_on()
        flight, claims = _Flight(), None

        def change() -> tuple[None, JobRecord | None]:
            nonlocal claims
            claims = due_runs.claim(due, now, partial(self._store_run, flight))
            if claims.run is None or claims.run.job_id is None or flight.turn is None:
                flight.turn = flight.job = None
            else:
                self._turns.add(flight.turn.queue, flight.turn)
                self._turns.take()
            return None, flight.job

        if self._has_room:
            try:
                self._jobs.submit_with(flight.job_id, change, ending=flight.ending, time_limit_s=lambda: flight.limit_s)
            except JobError as error:
                self._reject(flight, error)
        if claims is None:  # this process can hold no job now, or too many wait
            claims = due_runs.claim(due, now)
        if flight.turn is not None:
            self._fly(flight, flight.turn)
        elif claims.run is not None and claims.run.job_id is None:
            self.begin(claims.run, claims.schedule)
        return claims

    def _store_run(
        self, flight: _Flight, unit: UnitOfWork, schedule: ReportSchedule, run: ReportExecution, store_time: datetime
    ) -> ReportExecution:
        """Store a run that is begun now, with its job where its turn comes at once and there is room."""
        turn = _turn_of(run, schedule)
        if not self._turns.is_free(turn.queue):
            return unit.report_executions.add(run, actor_id=None)
        taken = unit.report_executions.add(replace(run, job_id=flight.job_id, attempts=1), actor_id=None)
        flight.turn = replace(turn, run=taken)
        try:
            flight.job = self._jobs.add(unit, self._job_of(flight.turn, flight.job_id), store_time)
        except JobError:
            return unit.report_executions.update(replace(taken, job_id=None, attempts=0), actor_id=None)
        return taken

    def _reject(self, flight: _Flight, error: JobError) -> None:
        """Leave a run to whoever looks next, whose job was stored and is not taken, and begin no more."""
        turn, flight.turn = flight.turn, None
        if turn is not None:
            self._turns.end(turn.queue)
            if error.retryable:
                self._give_back(replace(turn.run, attempts=turn.run.attempts - 1), flight.job_id)
            self._wait_for_room(turn.run, error)

    def begin(self, run: ReportExecution, schedule: ReportSchedule | None = None) -> None:
        """Have a run done as soon as it is its turn, and where this look waits those behind it, one after the other.

        `schedule` is that of the run, where it was read just now.
        """
        if not self._has_room:
            return
        with _passing_over(run), suppress(NotFoundError):
            turn = self._turn(run) if schedule is None else _turn_of(run, schedule)
            self._turns.add(turn.queue, turn)
        self._go_on()

    def follow(self, run_id: int) -> None:
        """Have the run done that waits behind one that is over; where jobs are done at once, all of them."""
        with suppress(NotFoundError):
            with self._runtime.content.store.unit_of_work() as unit:
                run = unit.report_executions.get(run_id)
            while (following := self._behind(run)) is not None and self.submit(following) is not None:
                run = following

    def finish(self) -> int:
        """Begin what waits, and return how many runs are over that this look began: where it waits for them, all."""
        self._go_on()
        looked = time.monotonic()
        while self._flying:
            self._is_any_over.wait(_LOOK_S)
            self._is_any_over.clear()
            if time.monotonic() - looked >= _LOOK_S:  # of some nobody tells
                looked = time.monotonic()
                flight = self._flying.popleft()
                if self._goes_on(flight.job_id):
                    self._flying.append(flight)
                else:
                    self._count(flight)
            self._go_on()
        return self._finished

    def submit(self, run: ReportExecution) -> str | None:
        """Have a run done by a job, and return its id; None where somebody else has, or there is no room now."""
        try:
            flight = self._submitted(self._turn(run))
        except JobError as error:
            _LOG.warning("the run of report schedule %s waits for room: %s", run.schedule_id, error.message)
            return None
        return None if flight is None else flight.job_id

    def wait_for(self, job_id: str) -> None:
        """Wait until a job of this process is over."""
        ending = self._jobs.ending(job_id)
        while ending is not None and not ending.is_reported and self._goes_on(job_id):
            ending.wait(_LOOK_S)

    def _turn(self, run: ReportExecution) -> _Turn:
        with self._runtime.content.store.unit_of_work() as unit:
            return _turn_of(run, schedule_without_owners(unit, run.schedule_id))

    def _go_on(self) -> None:
        """Begin all whose turn it is, after what is over gave its place back."""
        for flight in tuple(self._flying):
            if flight.ending.is_reported:
                self._flying.remove(flight)
                self._count(flight)
        while self._has_room and (turn := self._turns.take()) is not None:
            self._fly(self._begun(turn[1]), turn[1])

    def _fly(self, flight: _Flight | None, turn: _Turn) -> None:
        """Wait for the job of a turn later on, or give the place of the turn back at once."""
        if flight is None or not self._waits:
            self._turns.end(turn.queue)
        else:
            self._wait_later(flight)

    def _wait_later(self, flight: _Flight) -> None:
        self._flying.append(flight)
        flight.ending.tell_also(self._is_any_over)

    def _count(self, flight: _Flight) -> None:
        """Count a job that is over, and let the next run of its schedule wait for its turn."""
        turn = flight.turn
        if turn is None:
            return
        self._finished += 1
        self._turns.end(turn.queue)
        if flight.ending.note == ALONE:
            return
        if (following := self._behind(turn.run)) is not None:
            self._turns.add(turn.queue, replace(turn, run=following))

    def _begun(self, turn: _Turn) -> _Flight | None:
        """Have a run done, and return its job; None: others do, or later."""
        run = turn.run
        try:
            with _passing_over(run):
                return self._submitted(turn)
        except JobError as error:
            self._wait_for_room(run, error)
        return None

    def _wait_for_room(self, run: ReportExecution, error: JobError) -> None:
        _LOG.warning("runs wait for room, from that of schedule %s on: %s", run.schedule_id, error.message)
        self._has_room = False

    def _submitted(self, turn: _Turn) -> _Flight | None:
        """Have a run done by a job, and return it; None where somebody else has.

        Raises:
            JobError: it cannot be taken now; where there is no room, the run waits for whoever looks next, and has lost
                no attempt.
        """
        run = turn.run
        if run.attempts >= MOST_ATTEMPTS:
            message = f"each of {run.attempts} processes that tried it ended before it was done"
            self._close(run, RunEvent.FAILED, message, ErrorType.ASYNC_WORKERS_ERROR)
            return None
        flight = _Flight(turn=turn)
        job, take = self._job_of(turn, flight.job_id), partial(self._take, run, flight.job_id)
        try:
            self._jobs.submit(job, ending=flight.ending, time_limit_s=turn.time_limit_s, beside=take)
        except JobError as error:
            if error.retryable:
                self._give_back(run, flight.job_id)
            raise
        except (StaleVersionError, NotFoundError):
            return None
        return flight

    def _job_of(self, turn: _Turn, job_id: str) -> JobRecord:
        """Return the job that does a run, and where this look does not wait for it those behind it."""
        work = {RUN: turn.run.id} if self._waits else {RUN: turn.run.id, FOLLOW: 1}
        return _job(job_id, work, turn.run, turn.user_id, turn.queue)

    def _take(self, run: ReportExecution, job_id: str, unit: UnitOfWork, now: datetime) -> None:
        """Record which job does a run, with the job; StaleVersionError where others were faster."""
        taken = replace(run, job_id=job_id, attempts=run.attempts + 1, lease_until=now + self._lease)
        unit.report_executions.update(taken, actor_id=None)

    def _give_back(self, run: ReportExecution, job_id: str) -> None:
        """Let others take up a run at once, as if nobody had tried it; one that others have meanwhile is theirs."""
        with suppress(StaleVersionError, NotFoundError), self._runtime.content.store.unit_of_work() as unit:
            now = unit.report_executions.get(run.id)
            if now.job_id == job_id or now.audit.version == run.audit.version:
                free = replace(now, job_id=None, attempts=run.attempts, lease_until=None)
                unit.report_executions.update(free, actor_id=None)

    # ----------------------------------------------------------------------------------------------------- notices
    def _close(self, run: ReportExecution, event: RunEvent, message: str, error_type: ErrorType) -> None:
        """End a run that nobody does, and have its owners told by a job: a mail server may take its time."""
        schedule = self._log.close(run, event, message, error_type)
        if schedule is None:
            return
        flight = _Flight()
        job = _job(flight.job_id, {NOTICE: run.id}, run, schedule.executor_id or 0, _queue([_MAIL], schedule))
        try:
            self._jobs.submit(job, ending=flight.ending)
        except AnalyticsError as error:
            _LOG.error("the owners of report schedule %s are not told of an error: %s", schedule.id, error.message)
            return
        if self._waits:
            self._wait_later(flight)


def _job(job_id: str, work: Mapping[str, Any], run: ReportExecution, user_id: int, queue: str) -> JobRecord:
    """Return a new job that does something about a run, as of its due time."""
    return JobRecord(
        job_id=job_id,
        kind=JobKind.REPORT.value,
        payload=json.dumps(work),
        user_id=user_id,
        moment=run.scheduled_dttm,
        queue=queue,
    )


def _turn_of(run: ReportExecution, schedule: ReportSchedule) -> _Turn:
    return _Turn(
        run=run,
        user_id=schedule.executor_id or 0,
        queue=queue_of(schedule),
        time_limit_s=schedule.working_timeout,
    )


def queue_of(schedule: ReportSchedule) -> str:
    """Return in which queue runs of a schedule wait: for the receivers that they go to, and as whose they count.

    E-mail is one receiver, and each host of web hooks.
    """
    try:
        named = [one.receiver for one in receivers(schedule)]
    except AnalyticsError:  # the run tells
        named = []
    return _queue(list(dict.fromkeys(named)) or [_MAIL], schedule)


def _queue(names: Sequence[str], schedule: ReportSchedule) -> str:
    prefix = BESIDE.join(f"{_QUEUE}{name[:_LONGEST_NAME]}" for name in names[:_MOST_NAMES])
    return f"{prefix}{OWNER}user {schedule.executor_id}"
