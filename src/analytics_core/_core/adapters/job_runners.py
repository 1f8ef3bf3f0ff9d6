"""Runners of jobs inside this process: threads, or at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from analytics_core._content.jobs.turns import Turns
from analytics_core._tools.forks import tell_of_forks
from analytics_core.errors import JobError, ThreadLimitError

RunJob = Callable[[str], None]


class _Ticket:
    """A job that was handed over to a thread, and may be taken back before it began."""

    def __init__(self, job_id: str) -> None:
        self.job_id: str | None = job_id
        self.has_no_thread = False


class _LocalRunner:
    """What both runners are told when they start."""

    is_local = True
    _run_job: RunJob | None = None

    def start(self, run_job: RunJob) -> None:
        """Take what runs a job; JobError when the runner serves another core already."""
        if self._run_job is not None:
            raise JobError("this job runner serves another core already; give each core one of its own")
        self._run_job = run_job

    def _runs(self, job_id: str) -> RunJob:
        if self._run_job is None:
            raise JobError(f"job {job_id!r} was not taken: the runner belongs to no core")
        return self._run_job


class InlineJobRunner(_LocalRunner):
    """Runs jobs at once, in the caller's thread: for tests and scripts."""

    def __init__(self) -> None:
        self._is_closed = False

    def submit(self, job_id: str, *, queue: str = "") -> None:  # noqa: ARG002 - one job at a time
        """Run the job and return when it is done; JobError after `close`."""
        if self._is_closed:
            raise JobError(f"job {job_id!r} was not taken: the runner is closed")
        self._runs(job_id)(job_id)

    def close(self) -> None:
        """Take no more work."""
        self._is_closed = True


class ThreadJobRunner(_LocalRunner):
    """Runs jobs in a fixed number of threads; first come, first served within a queue, and no queue takes them all.

    So work on a database, or for a receiver, that hangs leaves threads to the others.

    Args:
        workers: threads, at least 1.
        workers_per_queue: threads that one queue may take at a time; None: as many as it leaves to the others (of 8 the
            first queue 4, a second one 2).
        max_waiting: work that may wait for a thread; what comes beyond is refused.
    """

    def __init__(self, *, workers: int = 8, workers_per_queue: int | None = None, max_waiting: int = 1_000) -> None:
        self._workers = workers
        self._most_per_queue = workers_per_queue
        self._room = workers + max_waiting
        self._is_closed = False
        self._start_anew()
        tell_of_forks(self)

    def submit(self, job_id: str, *, queue: str = "") -> None:
        """Run the job when a thread is free for its queue.

        Raises:
            JobError: too much waits already, the system gives no thread, or the runner is closed; it never begins.
        """
        self._runs(job_id)
        with self._changed:
            if self._is_closed:
                raise JobError(f"job {job_id!r} was not taken: the runner is closed")
            if self._running >= self._room:
                said = f"job {job_id!r} was not taken: too many jobs wait already; try again later"
                raise JobError(said, retryable=True)
            self._running += 1
            ticket = _Ticket(job_id)
            self._turns.add(queue, ticket)
            self._start_next()
            if ticket.has_no_thread:  # the pool keeps it for a thread that may never come
                ticket.job_id = None
                self._end(queue)
                raise JobError(f"job {job_id!r} was not taken: {ThreadLimitError()}", retryable=True)

    def close(self) -> None:
        """Take no more work and wait for what runs and what waits."""
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._running)
        self._pool.shutdown(wait=True)

    def before_fork(self) -> None:
        """Go on: threads are not inherited."""

    def after_fork(self) -> None:
        """Forget the threads and the work of the parent."""
        self._start_anew()

    def _start_anew(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=self._workers, thread_name_prefix="analytics-core-job")
        self._changed = threading.Condition()
        self._turns: Turns[_Ticket] = Turns(self._workers, most_per_queue=self._most_per_queue)
        self._running = 0

    def _start_next(self) -> None:
        """Hand over the work whose turn it is; whoever calls holds the lock."""
        while (turn := self._turns.take()) is not None:
            queue, ticket = turn
            try:
                self._pool.submit(self._run, queue, ticket)
            except RuntimeError:  # the system gives no thread; one that there is may do it
                ticket.has_no_thread = True
                return

    def _run(self, queue: str, ticket: _Ticket) -> None:
        with self._changed:
            job_id = ticket.job_id
        if job_id is None:
            return
        try:
            self._runs(job_id)(job_id)
        finally:
            with self._changed:
                self._end(queue)

    def _end(self, queue: str) -> None:
        """Count work that is over and hand over the next; whoever calls holds the lock."""
        self._running -= 1
        self._turns.end(queue)
        self._start_next()
        self._changed.notify_all()
