"""`core.scheduler`: finds what is due, has it run, and takes up what processes that died left behind."""

from __future__ import annotations

import json
import logging
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from analytics_core._display.blocks import Blocks
from analytics_core._display.bundles import mime_bundle
from analytics_core._display.objects import object_blocks
from analytics_core._jobs.handlers import JobKind
from analytics_core._jobs.registry import new_job_id
from analytics_core._records.report import ReportExecution
from analytics_core._reporting.claims import Claims, DueRuns
from analytics_core._reporting.states import RunEvent
from analytics_core._resources.namespace import Namespace
from analytics_core._resources.reports.runner import TOOK_TOO_LONG, RunLog
from analytics_core._runtime import Runtime
from analytics_core.errors import (
    AccessError,
    ActorRequiredError,
    AnalyticsError,
    JobError,
    JobNotFoundError,
    NotFoundError,
    StaleVersionError,
    StoredDataError,
)
from analytics_core.models.parsing import payload_error

_LOG = logging.getLogger(__name__)
QUEUE: Final = "reports"
MOST_ATTEMPTS: Final = 5
_MOST_IN_FLIGHT: Final = 64
_LOOK_S: Final = 0.2
_SHORTEST_INTERVAL_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What came of one look for due runs.

    Attributes:
        due: schedules that were due.
        claimed: runs that this process claimed.
        taken_up: runs that somebody claimed before and did not end.
        missed: due times that were logged as missed.
        finished: runs that were over when the call returned, well or not.
    """

    due: int
    claimed: int
    taken_up: int
    missed: int
    finished: int

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return object_blocks(self)


@contextmanager
def _passing_over(run: ReportExecution) -> Iterator[None]:
    """Let others go on where what the store holds of one schedule cannot be read."""
    try:
        yield
    except StoredDataError as error:
        _LOG.error("a run of report schedule %s is passed over: %s", run.schedule_id, error.message)


class RunDispatcher:
    """Has claimed runs done by jobs, those of one schedule one after the other, and finds those that nobody does."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lease = timedelta(seconds=runtime.settings.job_lease_s)
        self._log = RunLog(runtime)

    # ------------------------------------------------------------------------------------------- what others left
    def left_behind(self, open_runs: Sequence[ReportExecution]) -> Iterator[ReportExecution]:
        """Yield runs that nobody does any more, the first of each schedule; end those that take too long."""
        if not open_runs:
            return
        with self._runtime.store.unit_of_work() as unit:
            now = unit.now()
        seen: set[int] = set()
        for run in open_runs:
            if run.schedule_id in seen:  # runs of one schedule go one after the other
                continue
            seen.add(run.schedule_id)
            if run.lease_until is not None and run.lease_until > now:
                continue
            if run.late_on is not None and run.late_on <= now:
                with _passing_over(run):
                    self._end_late(run)
            elif run.job_id is None or not self._goes_on(run.job_id):
                yield run

    def _goes_on(self, job_id: str) -> bool:
        try:
            return not self._runtime.job_registry.find(job_id).state.is_over
        except JobNotFoundError:
            return False

    def _end_late(self, run: ReportExecution) -> None:
        if run.job_id is not None:
            self._runtime.job_registry.cancel(run.job_id)
        self._log.close(run, RunEvent.TIMED_OUT, TOOK_TOO_LONG)

    # ----------------------------------------------------------------------------------------------------- running
    def run(self, runs: Iterable[ReportExecution], *, wait: bool) -> int:
        """Have runs done, those of one schedule one after the other; return how many are over."""
        waiting: defaultdict[int, deque[ReportExecution]] = defaultdict(deque)
        for run in runs:
            waiting[run.schedule_id].append(run)
        waits = wait and self._runtime.jobs.is_local
        ready, flying, finished = deque(waiting), deque[tuple[int, str]](), 0
        while ready or flying:
            if ready and len(flying) < _MOST_IN_FLIGHT:
                schedule_id = ready.popleft()
                job_id = self._begun(waiting[schedule_id].popleft(), ready)
                if job_id is not None and waits:
                    flying.append((schedule_id, job_id))
                continue
            if not flying:
                break
            schedule_id, job_id = flying.popleft()
            self.wait_for(job_id)
            finished += 1
            if waiting[schedule_id]:
                ready.append(schedule_id)
        return finished

    def _begun(self, run: ReportExecution, ready: deque[int]) -> str | None:
        """Have a run done and return the id of its job; where there is no room, what is `ready` is taken up later."""
        try:
            with _passing_over(run):
                return self._submitted(run)
        except JobError as error:
            _LOG.warning("runs of %s report schedules wait for room: %s", len(ready) + 1, error.message)
            ready.clear()
        return None

    def submit(self, run: ReportExecution) -> str | None:
        """Have a run done by a job, and return its id; None where somebody else has, or there is no room now."""
        try:
            return self._submitted(run)
        except JobError as error:
            _LOG.warning("the run of report schedule %s waits for room: %s", run.schedule_id, error.message)
            return None

    def _submitted(self, run: ReportExecution) -> str | None:
        """Have a run done by a job, and return its id; None where somebody else has.

        Raises:
            JobError: it cannot be taken now; where there is no room, the run waits for whoever looks next, and has lost
                no attempt.
        """
        if run.attempts >= MOST_ATTEMPTS:
            told = f"each of {run.attempts} processes that tried it ended before it was done"
            self._log.close(run, RunEvent.FAILED, told)
            return None
        job_id = new_job_id()
        try:
            taken, user_id = self._taken(run, job_id)
            self._hand_over(taken, job_id, user_id)
        except (StaleVersionError, NotFoundError):
            return None
        return job_id

    def _hand_over(self, taken: ReportExecution, job_id: str, user_id: int) -> None:
        try:
            self._runtime.job_registry.submit(
                JobKind.REPORT,
                json.dumps({"execution": taken.id}),
                user_id=user_id,
                moment=taken.scheduled_dttm,
                queue=QUEUE,
                job_id=job_id,
            )
        except JobError as error:
            if error.retryable:
                self._give_back(taken)
            raise

    def _give_back(self, taken: ReportExecution) -> None:
        """Let others take up a run at once, as if nobody had tried it."""
        free = replace(taken, job_id=None, attempts=taken.attempts - 1, lease_until=None)
        with suppress(StaleVersionError, NotFoundError), self._runtime.store.unit_of_work() as unit:
            unit.report_executions.update(free, actor_id=None)

    def _taken(self, run: ReportExecution, job_id: str) -> tuple[ReportExecution, int]:
        """Record which job does a run; return it and whose job it is; StaleVersionError where others were faster."""
        with self._runtime.store.unit_of_work() as unit:
            schedule = unit.report_schedules.get(run.schedule_id)
            taken = replace(run, job_id=job_id, attempts=run.attempts + 1, lease_until=unit.now() + self._lease)
            return unit.report_executions.update(taken, actor_id=None), schedule.executor_id or 0

    def wait_for(self, job_id: str) -> None:
        """Wait until a job of this process is over."""
        ending = self._runtime.job_registry.ending(job_id)
        while ending.record is None and self._goes_on(job_id):
            ending.wait(_LOOK_S)


class Scheduler(Namespace):
    """Runs alerts and reports when they are due; call it from as many processes as there are."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        settings = runtime.settings
        self._due = DueRuns(runtime.store, on_time_s=settings.report_on_time_s, lease_s=settings.job_lease_s)
        self._dispatcher = RunDispatcher(runtime)

    def tick(self, now: datetime | None = None, *, wait: bool = True) -> Tick:
        """Claim what is due, have it run, and take up what a process that died left behind.

        It may be called by anybody, anywhere, as often as they like: a due time is run once. With nothing to do it
        costs two statements. Where jobs run in this process it returns when they are over.

        Args:
            now: what is due by then; None: by now. A naive moment is UTC.
            wait: whether runs that this process does are waited for.

        Raises:
            PayloadSchemaError: `now` is no moment.
            StoreUnavailableError: nothing can be claimed; call it again.
        """
        moment = self._moment(now)
        found = self._claimed(moment)
        own = {run.id for run in found.runs}
        left = [run for run in self._due.open_runs() if run.id not in own]
        taken_up = tuple(self._dispatcher.left_behind(left))
        finished = self._dispatcher.run((*taken_up, *found.runs), wait=wait)
        return Tick(
            due=found.schedules,
            claimed=len(found.runs),
            taken_up=len(taken_up),
            missed=found.missed,
            finished=finished,
        )

    def serve(self, interval_s: float = 30.0, *, stop: threading.Event | None = None) -> None:
        """Look for due runs every `interval_s` seconds until `stop` is set: for a thread or a process of its own.

        A store that is away, or a look that fails, is logged and tried again. When it returns, what runs in this
        process goes on; `core.close()` waits for it.

        Raises:
            AccessError, ActorRequiredError: whoever acts is no administrator any more.
            PayloadSchemaError: `interval_s` is no number of at least 0.05.
        """
        if not interval_s >= _SHORTEST_INTERVAL_S:
            raise payload_error("serve", "interval_s", f"must be a number of at least {_SHORTEST_INTERVAL_S} seconds")
        ended = threading.Event() if stop is None else stop
        while not ended.is_set():
            try:
                self._anew().tick(wait=False)
            except (AccessError, ActorRequiredError):
                raise
            except AnalyticsError as error:
                _LOG.error("a look for due reports failed, and comes again: %s", error.message)
            except Exception as error:  # the border of a thread: nobody above could be told
                _LOG.error("a look for due reports ended by an unexpected %s, and comes again", type(error).__name__)
            ended.wait(interval_s)

    def _claimed(self, moment: datetime) -> Claims:
        """Claim what is due; schedules that cannot be read stay due, and keep nobody from theirs."""
        found, unread = Claims(), set[int]()
        while due := [one for one in self._due.due(moment) if one.schedule_id not in unread]:
            for progress in due:
                try:
                    found += self._due.claim(progress, moment)
                except StoredDataError as error:
                    _LOG.error("a report schedule is passed over: %s", error.message)
                    unread.add(progress.schedule_id)
        return found

    def _moment(self, now: datetime | None) -> datetime:
        if now is None:
            return self._runtime.clock.now()
        if not isinstance(now, datetime):
            raise payload_error("tick", "now", "must be a datetime")
        return now.replace(tzinfo=UTC) if now.utcoffset() is None else now.astimezone(UTC)
