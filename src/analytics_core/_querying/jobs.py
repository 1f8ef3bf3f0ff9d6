"""Chart queries in the background: jobs with a state, an owner and a way to stop them."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Protocol

from analytics_core._forks import forkable_lock, tell_of_forks
from analytics_core._querying.answer import ChartData
from analytics_core._security.actor import Actor
from analytics_core.errors import (
    AnalyticsError,
    JobError,
    JobNotFoundError,
    StatementStoppedError,
    StatementTimeoutError,
)
from analytics_core.models.enums import QueryStatus
from analytics_core.ports import JobRunner

_LOG = logging.getLogger(__name__)
_OVER: Final = frozenset({QueryStatus.SUCCESS, QueryStatus.FAILED, QueryStatus.STOPPED, QueryStatus.TIMED_OUT})
_WORST_FIRST: Final = (QueryStatus.STOPPED, QueryStatus.TIMED_OUT, QueryStatus.FAILED)


class Cancellable(Protocol):
    """What stops the statements of a job."""

    def cancel(self) -> None:
        """Stop what runs, and let nothing start any more."""


class Job:
    """A chart query in the background: the contract's fields, and ways to wait, to read and to stop.

    Attributes:
        channel_id: names the book that keeps the job (one for each core).
        job_id: names the job; it cannot be guessed, and reading still needs its owner.
        result_url: where a host may serve the answer.
        user_id: the owner's id as text; None for a guest.
        is_readable: tells whether an actor may still read what the job read.
        find_actor: tells who reads the result when it is read; None: nobody is asked.
    """

    def __init__(
        self,
        *,
        channel_id: str,
        job_id: str,
        result_url: str,
        user_id: str | None,
        cancel: Cancellable,
        is_readable: Callable[[Actor], bool] = lambda _actor: True,
        find_actor: Callable[[], Actor] | None = None,
    ) -> None:
        self.channel_id = channel_id
        self.job_id = job_id
        self.result_url = result_url
        self.user_id = user_id
        self.is_readable = is_readable
        self._find_actor = find_actor
        self._cancel = cancel
        self._lock = forkable_lock()
        self._is_over = threading.Event()
        self._status = QueryStatus.PENDING
        self._answer: ChartData | None = None
        self._failure: AnalyticsError | None = None

    @property
    def status(self) -> QueryStatus:
        """pending, running, success, failed, stopped or timed_out."""
        return self._status

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the job is over; False when `timeout_s` seconds passed before (None: no such bound)."""
        return self._is_over.wait(timeout_s)

    def result(self, timeout_s: float | None = None) -> ChartData:
        """Return the answer, waiting for it at most `timeout_s` seconds.

        Raises:
            JobError: the job is not over yet.
            ActorRequiredError: who submitted it is not active any more.
            JobNotFoundError, AccessError: they may not see all that it read any more.
            AnalyticsError: the job failed; it is the error itself. An answer may also tell errors of single queries.
        """
        if not self.wait(timeout_s):
            raise JobError(f"job {self.job_id!r} is not over after {timeout_s} s; wait longer or cancel it")
        if self._find_actor is not None and not self.is_readable(self._find_actor()):
            raise JobNotFoundError(self.job_id)
        if self._failure is not None:
            raise self._failure
        assert self._answer is not None  # noqa: S101 - over without a failure; tells the type checker
        return self._answer

    def cancel(self) -> None:
        """Stop the job: one that waits never starts, one that runs has its statement stopped; else nothing happens."""
        with self._lock:
            if self._status is QueryStatus.PENDING:
                self._finish(QueryStatus.STOPPED, failure=StatementStoppedError("the job was cancelled before it ran"))
        self._cancel.cancel()

    def to_payload(self) -> dict[str, Any]:
        """Return the job as the contract writes it (ChartDataAsyncResponseSchema)."""
        return {
            "channel_id": self.channel_id,
            "job_id": self.job_id,
            "result_url": self.result_url,
            "status": self._status.value,
            "user_id": self.user_id,
        }

    @property
    def held_bytes(self) -> int:
        """Roughly how many bytes of memory the answer takes; 0 without one."""
        answer = self._answer
        return answer.held_bytes if answer is not None else 0

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, well or not."""
        return self._status in _OVER

    def run(self, work: Callable[[], ChartData]) -> None:
        """Do the work and record its outcome; raises nothing, as the JobRunner port asks."""
        with self._lock:
            if self._status is not QueryStatus.PENDING:
                return
            self._status = QueryStatus.RUNNING
        try:
            answer = work()
        except AnalyticsError as error:
            self._end(_status_of(error), failure=error)
        except Exception as error:  # the border of a thread: nobody above could be told
            _LOG.error("job %s ended by an unexpected %s", self.job_id, type(error).__name__)
            self._end(QueryStatus.FAILED, failure=JobError(f"job {self.job_id!r} ended by an unexpected error"))
        else:
            self._end(_status_of_answer(answer), answer=answer)

    def refuse(self, error: AnalyticsError) -> None:
        """Record that no runner took the job."""
        self._end(QueryStatus.FAILED, failure=error)

    def _end(
        self, status: QueryStatus, *, answer: ChartData | None = None, failure: AnalyticsError | None = None
    ) -> None:
        with self._lock:
            self._finish(status, answer=answer, failure=failure)

    def _finish(
        self, status: QueryStatus, *, answer: ChartData | None = None, failure: AnalyticsError | None = None
    ) -> None:
        self._answer, self._failure, self._status = answer, failure, status
        self._is_over.set()


def _status_of(error: AnalyticsError) -> QueryStatus:
    if isinstance(error, StatementTimeoutError):
        return QueryStatus.TIMED_OUT
    return QueryStatus.STOPPED if isinstance(error, StatementStoppedError) else QueryStatus.FAILED


def _status_of_answer(answer: ChartData) -> QueryStatus:
    statuses = {result.status for result in answer.results}
    return next((status for status in _WORST_FIRST if status in statuses), QueryStatus.SUCCESS)


class JobBook:
    """The jobs of one core, in memory: at most `max_jobs` and `max_bytes`, the oldest finished ones go first.

    Args:
        runner: does the work.
        max_jobs: jobs that are remembered.
        max_bytes: what the answers of finished jobs may take together; the latest is kept however large it is.
        result_url: makes the address of a job's answer from its id.
    """

    def __init__(
        self,
        *,
        runner: JobRunner,
        max_jobs: int = 1_000,
        max_bytes: int = 256 * 1024 * 1024,
        result_url: Callable[[str], str] | None = None,
    ) -> None:
        self._runner = runner
        self._max_jobs = max_jobs
        self._max_bytes = max_bytes
        self._result_url = "/api/v1/chart/data/{}".format if result_url is None else result_url
        self._channel_id = secrets.token_urlsafe(16)
        self._lock = forkable_lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        tell_of_forks(self)

    def submit(
        self,
        work: Callable[[], ChartData],
        *,
        user_id: int | str | None,
        cancel: Cancellable,
        is_readable: Callable[[Actor], bool] = lambda _actor: True,
        find_actor: Callable[[], Actor] | None = None,
        queue: str = "",
    ) -> Job:
        """Start `work` in the background and return its job.

        Args:
            work: makes the answer; it reads `cancel` itself.
            user_id: the owner; only they may find the job again.
            cancel: stops the statements of `work`.
            is_readable: tells whether somebody may still read what the job read.
            find_actor: tells who that is when the result is read.
            queue: names the database that the work waits for.

        Raises:
            JobError: no more work can be taken.
        """
        job_id = secrets.token_urlsafe(24)
        job = Job(
            channel_id=self._channel_id,
            job_id=job_id,
            result_url=self._result_url(job_id),
            user_id=_owner(user_id),
            cancel=cancel,
            is_readable=is_readable,
            find_actor=find_actor,
        )
        self._add(job)
        try:
            self._runner.submit(job_id, lambda: self._run(job, work), queue=queue)
        except JobError as error:
            job.refuse(error)
            raise
        except Exception as error:  # border to a host's runner: its queue may be away
            _LOG.error("the job runner did not take a job: it raised %s", type(error).__name__)
            refusal = JobError(f"job {job_id!r} was not taken: the job runner failed; try again later")
            job.refuse(refusal)
            raise refusal from None
        return job

    def get(self, job_id: str, *, user_id: int | str | None) -> Job:
        """Return the job; JobNotFoundError when there is none, or it is another user's."""
        if not isinstance(job_id, str):  # what a host passes on from an address
            raise JobNotFoundError(job_id)
        with self._lock:
            job = self._jobs.get(job_id)
        if job is None or job.user_id is None or job.user_id != _owner(user_id):
            raise JobNotFoundError(job_id)
        return job

    def close(self) -> None:
        """Stop every job that is not over, then close the runner."""
        with self._lock:
            jobs = tuple(self._jobs.values())
        for job in jobs:
            if not job.is_over:
                job.cancel()
        self._runner.close()

    def _run(self, job: Job, work: Callable[[], ChartData]) -> None:
        job.run(work)
        with self._lock:
            finished = [held for held in self._jobs.values() if held.is_over and held is not job]
            excess = sum(held.held_bytes for held in finished) + job.held_bytes - self._max_bytes
            for oldest in finished:
                if excess <= 0:
                    break
                excess -= oldest.held_bytes
                del self._jobs[oldest.job_id]

    def before_fork(self) -> None:
        """Go on: jobs run in the process that they were submitted to."""

    def after_fork(self) -> None:
        """End the jobs that are not over: nobody in a child runs them."""
        for job in self._jobs.values():
            if not job.is_over:
                job.refuse(JobError(f"job {job.job_id!r} runs in the process that this one was forked from"))

    def _add(self, job: Job) -> None:
        with self._lock:
            if len(self._jobs) >= self._max_jobs:
                oldest = next((key for key, held in self._jobs.items() if held.is_over), None)
                if oldest is None:
                    raise JobError(f"{self._max_jobs} jobs wait or run already; try again later")
                del self._jobs[oldest]
            self._jobs[job.job_id] = job


def _owner(user_id: int | str | None) -> str | None:
    return None if user_id is None else str(user_id)
