"""Runners of background work inside this process: threads, or at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from analytics_core.errors import JobError


class InlineJobRunner:
    """Runs work at once, in the caller's thread: for tests and scripts."""

    def __init__(self) -> None:
        self._is_closed = False

    def submit(self, job_id: str, run: Callable[[], None]) -> None:
        """Run `run` and return when it is done; JobError after `close`."""
        if self._is_closed:
            raise JobError(f"job {job_id!r} was not taken: the runner is closed")
        run()

    def close(self) -> None:
        """Take no more work."""
        self._is_closed = True


class ThreadJobRunner:
    """Runs work in a fixed number of threads, first come, first served.

    Args:
        workers: threads, at least 1.
        max_waiting: work that may wait for a thread; what comes beyond is refused.
    """

    def __init__(self, *, workers: int = 4, max_waiting: int = 1_000) -> None:
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="analytics-core-job")
        self._room = threading.BoundedSemaphore(workers + max_waiting)

    def submit(self, job_id: str, run: Callable[[], None]) -> None:
        """Start `run` when a thread is free; JobError when too much waits already, or after `close`."""
        if not self._room.acquire(blocking=False):
            raise JobError(f"job {job_id!r} was not taken: too many jobs wait already; try again later")
        try:
            self._pool.submit(self._run, run)
        except RuntimeError:
            self._room.release()
            raise JobError(f"job {job_id!r} was not taken: the runner is closed") from None

    def _run(self, run: Callable[[], None]) -> None:
        try:
            run()
        finally:
            self._room.release()

    def close(self) -> None:
        """Take no more work and wait for what runs and what waits."""
        self._pool.shutdown(wait=True)
