"""Submits, runs, finds and stops jobs: all that is known of them stands in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from analytics_core._content.jobs.handlers import (
    Ending,
    JobEnds,
    JobHandler,
    JobKind,
    JobOutcome,
    LocalJob,
    Work,
    failing,
    hand_over,
    state_of,
)
from analytics_core._content.jobs.heartbeat import Heartbeat
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.tracing import Tracer
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.settings import Settings
from analytics_core._records.shared_state import NEXT_STATES, JobRecord
from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core._tools.log import line_log
from analytics_core.errors import (
    AnalyticsError,
    JobError,
    JobGoneError,
    JobNotFoundError,
    NotFoundError,
    StaleVersionError,
    StatementStoppedError,
    StoreOutdatedError,
    StoreUnavailableError,
)
from analytics_core.models.enums import JobState
from analytics_core.ports import JobRunner, MetadataStore, Sleeper

_LOG = line_log(__name__)
_Result = TypeVar("_Result")
_MOST_READ: Final = 10_000
_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.2


class JobRegistry:
    """The jobs of a store, as one process sees them.

    Args:
        store: keeps the jobs.
        runner: has them run.
        settings: how many jobs may wait, how long they are kept, and how many bytes their results may take.
        tracer: knows of what a job is a part that is submitted; None: nobody observes that.
    """

    def __init__(
        self, *, store: MetadataStore, runner: JobRunner, settings: Settings, sleeper: Sleeper, tracer: Tracer | None
    ) -> None:
        self._store = store
        self._runner = runner
        self._settings = settings
        self._sleeper = sleeper
        self._tracer = tracer
        self._ends = JobEnds(settings)
        self._handlers: Mapping[str, Callable[[], JobHandler]] = {}
        self._guard = forkable_rlock()
        self._jobs: dict[str, LocalJob] = {}
        self._taken: set[str] = set()
        self._is_closing = False
        self._heartbeat = Heartbeat(store, lease_s=settings.job_lease_s, stop=self._stop_here, settle=self._settle_own)
        tell_of_forks(self)

    def start(self, handlers: Mapping[JobKind, Callable[[], JobHandler]]) -> None:
        """Take what gives the handler of each kind of jobs; called once, by the composition root."""
        self._handlers = {kind.value: handler for kind, handler in handlers.items()}
        self._runner.start(self.run)

    # ----------------------------------------------------------------------------------------------------- submitting
    def submit(
        self,
        job: JobRecord,
        *,
        ending: Ending | None = None,
        time_limit_s: float | None = None,
        beside: Callable[[UnitOfWork, datetime], None] | None = None,
    ) -> JobRecord:
        """Store a job, hand it to the runner and return it.

        Args:
            job: a new one, of an id that no job has.
            ending: is told of its end, where this process runs it; None: nobody needs one beforehand.
            time_limit_s: how long it may take in all; None: as long as its kind may.
            beside: writes what is to be stored together with the job, or not at all; it is given the store's time.

        Raises:
            JobError: no more work can be taken.
            StoreUnavailableError: the job cannot be kept.
        """

        def change() -> tuple[JobRecord, JobRecord]:
            with self._store.unit_of_work() as unit:
                now = unit.now()
                if beside is not None:
                    beside(unit, now)
                record = self.add(unit, job, now)
                return record, record

        return self.submit_with(job.job_id, change, ending=ending, time_limit_s=lambda: time_limit_s)

    def submit_with(
        self,
        job_id: str,
        change: Callable[[], tuple[_Result, JobRecord | None]],
        *,
        ending: Ending | None = None,
        time_limit_s: Callable[[], float | None] = lambda: None,
    ) -> _Result:
        """Return the result of a change of the store, and hand over the job that was stored with it, by `add`, if any.

        Raises:
            JobError: no more work can be taken: nothing was changed, or the job has failed.
        """
        local = self._hold(job_id, ending) if self._runner.is_local else None
        try:
            result, record = change()
        except BaseException:  # whatever it is goes on upwards; nobody holds what is not stored
            self._drop(job_id)
            raise
        if record is None:
            self._drop(job_id)
        else:
            if local is not None:
                local.record = record
            self._hand_over(record, time_limit_s())
        return result

    def add(self, unit: UnitOfWork, job: JobRecord, now: datetime) -> JobRecord:
        """Store a job that `submit_with` hands over, at the store's time; JobError where no more work can be taken."""
        self._ends.require_room(unit, job, own=self._heartbeat.token)
        lease = now + timedelta(seconds=self._settings.job_wait_s)
        worker = self._heartbeat.token if self._runner.is_local else None
        trace = None if self._tracer is None else self._tracer.traceparent()
        new = replace(job, lease_until=lease, worker=worker)
        if trace is not None:
            with suppress(StoreOutdatedError):  # tables without a place for it: the job's trace stands alone
                return unit.jobs.add(replace(new, traceparent=trace), actor_id=job.author_id)
        return unit.jobs.add(new, actor_id=job.author_id)

    def run_here(self, kind: JobKind, *, user_id: int, work: Callable[[CancelToken], _Result], job_id: str) -> _Result:
        """Do work in the caller's thread, as a job that others find and stop meanwhile; nothing is left of it.

        Raises:
            StoreUnavailableError: the job cannot be kept, and nothing was done.
        """
        local_job = self._hold(job_id)
        try:
            job = JobRecord(job_id=job_id, kind=kind.value, payload="{}", user_id=user_id, state=JobState.RUNNING)
            with self._store.unit_of_work() as unit:
                running = replace(job, worker=self._heartbeat.token, started_on=unit.now())
                record_id = unit.jobs.add(running, actor_id=job.author_id).id
            local_job.is_claimed = True
            try:
                return work(local_job.cancel)
            finally:
                self._forget(record_id)
        finally:
            self._drop(job_id)

    def _forget(self, record_id: int) -> None:
        with suppress(StoreUnavailableError), self._store.unit_of_work() as unit:
            unit.jobs.delete_matching([ListFilter(col="id", op="eq", val=record_id)])

    def hand_over_again(self, now: datetime) -> None:
        """Hand jobs that wait for long to the runner again, as its queue may have lost them; end those that are lost.

        Nothing happens where jobs run in the process that submits them. `now` is by the clock that stamps records.
        """
        if not self._runner.is_local:
            from analytics_core._content.jobs.waiting import hand_over_again

            own = self._heartbeat.token
            hand_over_again(self._store, self._runner, self._settings, ends=self._ends, own=own, now=now)

    def _hand_over(self, job: JobRecord, time_limit_s: float | None) -> None:
        try:
            hand_over(self._runner, job, self._settings, time_limit_s=time_limit_s)
        except JobError as error:
            self._rejected(job, error)
            raise
        except BaseException:  # the caller is interrupted; the job may have run, in their own thread
            said = f"job {job.job_id!r} was interrupted before it was handed over"
            self._rejected(job, JobError(said, retryable=True))
            raise

    def _rejected(self, job: JobRecord, error: JobError) -> None:
        """Record that a job is not handed over; where the store cannot be told, it is lost with its lease."""
        try:
            ended = self._repeated(lambda: self._end_once(job.job_id, JobState.FAILED, error=error))
            self._tell(job.job_id, ended)
        except StoreUnavailableError as away:
            _LOG.error("job %s was not taken, which the store was not told: %s", job.job_id, away.message)
        finally:
            self._drop(job.job_id)

    # ------------------------------------------------------------------------------------------------------- running
    def run(self, job_id: str) -> None:
        """Run a job that waits, and record how it ends; not one that runs elsewhere or is over, nor once `close` began.

        Raises nothing but what interrupts the process, so that runners need not care.
        """
        with self._guard:
            if self._is_closing or job_id in self._taken:  # a queue may hand out an id more than once
                return
            self._taken.add(job_id)
        try:
            local_job = self._repeated(lambda: self._hold(job_id), also=StoreUnavailableError)
            begun = self._begun(job_id, local_job.record)
            if begun is not None:
                local_job.is_claimed = True
                self._work(*begun, local_job.cancel)
        except AnalyticsError as error:
            _LOG.error("job %s could not be run or recorded: %s", job_id, error.message)
        finally:
            self._drop(job_id)
            with self._guard:
                self._taken.discard(job_id)

    def _begun(self, job_id: str, known: JobRecord | None) -> tuple[JobRecord, Work] | None:
        """Make a waiting job one that this process runs; None when somebody else has it or it is over.

        `known` is how this process stored it: its version tells whether it is so still. Where its handler cannot begin,
        the work is to fail with that error.
        """
        try:
            return self._repeated(lambda: self._claim(job_id, known), also=StoreUnavailableError)
        except StoreUnavailableError:
            raise
        except Exception as error:  # whatever it is, the job ends by it
            failure = error
        return self._repeated(lambda: self._claim(job_id, known, failure))

    def _claim(
        self, job_id: str, known: JobRecord | None, failure: Exception | None = None
    ) -> tuple[JobRecord, Work] | None:
        """Claim a job with what its handler writes of it; after a failure the handler is asked no more."""
        with self._store.unit_of_work() as unit:
            job = unit.jobs.find(job_id=job_id) if known is None else known
            if job is None or job.state is not JobState.PENDING or job.cancel_requested:
                return None
            begin = self.handler(job).begin if failure is None else failing(failure)  # loaded before others must wait
            running = replace(
                job, state=JobState.RUNNING, worker=self._heartbeat.token, lease_until=None, started_on=unit.now()
            )
            claimed = None
            with suppress(StaleVersionError, NotFoundError):
                claimed = unit.jobs.update(running, actor_id=job.author_id)
            if claimed is not None:
                return claimed, begin(claimed, unit)
        return self._claim(job_id, None, failure)  # others have changed it: it is theirs, or was only handed over again

    def _work(self, job: JobRecord, work: Work, cancel: CancelToken) -> None:
        try:
            outcome = work(cancel)
        except AnalyticsError as error:
            self._end(job, state_of(error), error=error)
        except Exception as error:  # the border of a thread: nobody above could be told
            _LOG.error("job %s ended by an unexpected %s", job.job_id, type(error).__name__)
            failure = JobError(f"job {job.job_id!r} ended by an unexpected error")
            self._end(job, JobState.FAILED, error=failure)
        except BaseException:  # the process is interrupted, in a job that runs in its caller's thread
            self._end(job, JobState.STOPPED, error=StatementStoppedError("the process was interrupted"))
            raise
        else:
            if outcome.record is None:
                self._end(job, outcome.state, outcome=outcome)
            else:
                self._tell(job.job_id, outcome.record, outcome.note)

    def _end(
        self, job: JobRecord, state: JobState, *, outcome: JobOutcome | None = None, error: AnalyticsError | None = None
    ) -> None:
        """Record the end of a job that this process ran, also where the store is away for a while."""

        def end() -> JobRecord | None:
            with suppress(StaleVersionError, NotFoundError), self._store.unit_of_work() as unit:
                return self._ends.record(unit, job, state, outcome=outcome, error=error)
            return self._end_once(job.job_id, state, outcome=outcome, error=error)  # it is not what it was

        ended = self._repeated(end, also=StoreUnavailableError)
        if ended is None or ended.state is not state:
            _LOG.warning("job %s was taken from this process before its end was recorded", job.job_id)
        self._tell(job.job_id, ended)

    def ended(self, unit: UnitOfWork, job: JobRecord, outcome: JobOutcome) -> JobOutcome:
        """Record the end of a job together with what its work writes in this unit; return the outcome that says so.

        Raises:
            StaleVersionError, NotFoundError: the job is not what it was: its end is to be recorded by itself.
        """
        return replace(outcome, record=self._ends.record(unit, job, outcome.state, outcome=outcome))

    def _end_once(
        self, job_id: str, state: JobState, *, outcome: JobOutcome | None = None, error: AnalyticsError | None = None
    ) -> JobRecord | None:
        """Record the end of a job and return it; what others ended stays as it is, None: it is gone."""
        with self._store.unit_of_work() as unit:
            job = unit.jobs.find(job_id=job_id)
            if job is None or state not in NEXT_STATES[job.state]:
                return job
            return self._ends.record(unit, job, state, outcome=outcome, error=error)

    # ------------------------------------------------------------------------------------------- finding and stopping
    def find(self, job_id: object) -> JobRecord:
        """Return the job as it is now; one whose process died is lost.

        Raises:
            JobNotFoundError: there is none, or it is expired.
        """

        def find() -> JobRecord:
            with self._store.unit_of_work() as unit:
                job = unit.jobs.find(job_id=job_id) if isinstance(job_id, str) else None
                if job is None or (job.expires_on is not None and job.expires_on < unit.now()):
                    raise JobNotFoundError(job_id)
                if self._is_dropped(job):
                    return self._ends.lose(unit, job, "its end could not be recorded")
                return self._ends.settled(unit, job, own=self._heartbeat.token)

        return self._repeated(find)

    def _is_dropped(self, job: JobRecord) -> bool:
        """Tell whether the store says that this process has a job that it does not hold any more."""
        is_open = not job.state.is_over and job.worker == self._heartbeat.token
        return is_open and self.ending(job.job_id) is None

    def is_claimed(self, unit: UnitOfWork, job_id: str, ago: timedelta) -> bool | None:
        """Tell whether a job was held so long ago, or waits to be; None: its process was not heard of since."""
        job, now = unit.jobs.find(job_id=job_id), unit.now()
        if job is None or job.state.is_over:
            return False
        if job.worker in (None, self._heartbeat.token):
            return job.worker is not None or job.lease_until is None or job.lease_until >= now
        worker = unit.job_workers.find(token=job.worker)
        if worker is None or worker.lease_until < now:
            return False
        heard_of = worker.lease_until - timedelta(seconds=self._settings.job_lease_s)
        return True if now - heard_of <= ago else None

    def list(self, query: ListQuery) -> tuple[int, Sequence[JobRecord]]:
        """Return how many jobs match, and those of the page."""

        def read() -> tuple[int, Sequence[JobRecord]]:
            with self._store.unit_of_work() as unit:
                count, jobs = unit.jobs.list(query)
                return count, [self._ends.settled(unit, job, own=self._heartbeat.token) for job in jobs]

        return self._repeated(read)

    def ending(self, job_id: str) -> Ending | None:
        """Return what tells that a job of this process is over; None: it is not held here, or not any more."""
        with self._guard:
            local_job = self._jobs.get(job_id)
        return None if local_job is None else local_job.ending

    def _tell(self, job_id: str, ended: JobRecord | None, note: str = "") -> None:
        ending = self.ending(job_id)
        if ending is not None:
            ending.tell(ended, note)

    def result(self, job: JobRecord) -> Any:
        """Return what a job that ended well made.

        Raises:
            JobGoneError: it is expired, or made room for others.
            StoredDataError: the store holds something else.
        """
        ofthis = (ListFilter(col="job_record_id", op="eq", val=job.id),)
        query = ListQuery(filters=ofthis, order_by=(("position", False),), page_size=_MOST_READ)
        with self._store.unit_of_work() as unit:
            parts = unit.job_results.list(query)[1]
        data = b"".join(part.data for part in parts)
        if len(data) != job.result_bytes:
            raise JobGoneError(job.job_id)
        return self.handler(job).read(job, data)

    def handler(self, job: JobRecord) -> JobHandler:
        """Return what runs jobs of this kind; JobError where this version of the library has none."""
        handler_of = self._handlers.get(job.kind)
        if handler_of is None:
            said = f"job {job.job_id!r} is of kind {job.kind!r}, which this version of analytics_core cannot run"
            raise JobError(said)
        return handler_of()

    def cancel(self, job_id: str) -> None:
        """Stop a job: one that waits never starts, one that runs has its statement stopped, in any process."""
        with self._guard:
            local_job = self._jobs.get(job_id)
        if local_job is not None:
            local_job.cancel.cancel()
        stopped = self._repeated(lambda: self._cancelled(job_id))
        if local_job is not None and stopped is not None:
            local_job.ending.tell(stopped)

    def _cancelled(self, job_id: str) -> JobRecord | None:
        """Record that a job is to stop; return it if that ended it."""
        with self._store.unit_of_work() as unit:
            job = unit.jobs.find(job_id=job_id)
            if job is None or job.state.is_over:
                return None
            if job.state is JobState.PENDING:
                failure = StatementStoppedError("the job was cancelled before it ran")
                return self._ends.record(unit, job, JobState.STOPPED, error=failure)
            if not job.cancel_requested:
                unit.jobs.update(replace(job, cancel_requested=True), actor_id=job.author_id)
            return None

    def _settle_own(self) -> None:
        """End as lost what the store says that this process holds, and does not; stop what it runs, and should not.

        The first could not be recorded when it ended. The second was lost, or deleted, while this process was not
        heard of: it was claimed before the store is asked, as one that is claimed meanwhile may not be there yet.
        """
        with self._guard:
            claimed = {job_id for job_id, local_job in self._jobs.items() if local_job.is_claimed}
        mine = (
            ListFilter(col="worker", op="eq", val=self._heartbeat.token),
            ListFilter(col="ended_on", op="is_null", val=True),
        )
        with self._store.unit_of_work() as unit:
            _, jobs = unit.jobs.list(ListQuery(filters=mine, page_size=_MOST_READ))
            for job in jobs:
                if self._is_dropped(job):  # by now, as jobs are held before they are claimed
                    self._ends.lose(unit, job, "its end could not be recorded")
        self._stop_here(claimed - {job.job_id for job in jobs})

    def _stop_here(self, job_ids: Iterable[str]) -> None:
        for job_id in job_ids:
            with self._guard:
                local_job = self._jobs.get(job_id)
            if local_job is not None:
                local_job.cancel.cancel()

    @property
    def is_closing(self) -> bool:
        """Whether jobs of this process are stopped because it ends, not because somebody wants them to."""
        return self._is_closing

    def close(self) -> None:
        """Stop the jobs of this process that are not over, then close the runner."""
        self._is_closing = True
        with self._guard:
            job_ids = tuple(self._jobs)
        for job_id in job_ids:
            try:
                self.cancel(job_id)
            except AnalyticsError as error:  # its statement is told to stop all the same
                _LOG.error("job %s was stopped, which the store was not told: %s", job_id, error.message)
        self._runner.close()
        self._heartbeat.close()

    # ------------------------------------------------------------------------------------------------- what is held
    def before_fork(self) -> None:
        """Go on: jobs run in the process that took them."""

    def after_fork(self) -> None:
        """Hold nothing: what the parent holds, the parent ends."""
        self._jobs, self._taken = {}, set()

    def _hold(self, job_id: str, ending: Ending | None = None) -> LocalJob:
        """Hold a job in this process until `_drop`; outside of any unit of work."""
        with self._guard:
            local_job = self._jobs.get(job_id)
        if local_job is None:
            self._heartbeat.hold()
            with self._guard:
                local_job = self._jobs.setdefault(job_id, LocalJob(ending=ending or Ending()))
        return local_job

    def _drop(self, job_id: str) -> None:
        with self._guard:
            local_job = self._jobs.pop(job_id, None)
        if local_job is not None:
            self._heartbeat.release()

    def _repeated(self, change: Callable[[], _Result], *, also: type[AnalyticsError] = StaleVersionError) -> _Result:
        """Return the result of a change that is repeated where others were faster, or it raised the other error."""
        for attempt in range(1, _ATTEMPTS):
            try:
                return change()
            except (StaleVersionError, also):
                self._sleeper.sleep(_PAUSE_S * attempt)
        return change()
