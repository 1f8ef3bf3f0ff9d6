"""The lease of a process on the jobs that it holds: renewed while it lives, and its look-out for what others ask."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import JobWorker
from analytics_core._tools.bounded_calls import start_thread
from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core._tools.log import line_log
from analytics_core.errors import AnalyticsError, JobError, StaleVersionError, ThreadLimitError
from analytics_core.ports import MetadataStore

_LOG = line_log(__name__)
LOOK_S: Final = 0.5
"""How often a process looks whether somebody cancelled one of its jobs."""

WORKER_RETENTION: Final = timedelta(days=1)
"""For how long a lease that is over is remembered."""

_END_S: Final = 2.0


class Heartbeat:
    """Holds a lease in the store while this process holds jobs; a thread renews it and looks for cancelled ones.

    Leases end by the store's own clock. A process that is killed, or cut off from the store, loses its jobs then.

    Args:
        store: keeps the lease.
        lease_s: how long it holds without being renewed.
        stop: is called with the ids of jobs that somebody cancelled.
        settle: is called at each renewal, to compare what is held with what the store says.
        look_s: how long it pauses between two looks.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        lease_s: float,
        stop: Callable[[list[str]], None],
        settle: Callable[[], None],
        look_s: float = LOOK_S,
    ) -> None:
        self._store = store
        self._lease_s = lease_s
        self._look_s = look_s
        self._stop = stop
        self._settle = settle
        self._guard = forkable_rlock()
        self._thread: threading.Thread | None = None
        self._start_anew()
        tell_of_forks(self)

    @property
    def token(self) -> str:
        """The name under which this process holds jobs."""
        return self._token

    def hold(self) -> None:
        """Count a job that this process is about to hold; outside of any unit of work.

        Raises:
            JobError: the system gives no thread.
            StoreUnavailableError: the lease cannot be kept.
        """
        with self._guard:
            if self._thread is None:
                self._renew()
                try:
                    self._thread = start_thread(self._run, name="analytics-core-heartbeat")
                except ThreadLimitError as error:
                    raise JobError(f"no job can be taken: {error}", retryable=True) from None
            self._leases += 1

    def release(self) -> None:
        """Count a job that is over; without any, the thread ends."""
        with self._guard:
            self._leases -= 1

    def close(self) -> None:
        """End the thread; what this process still holds is lost when the lease ends."""
        with self._guard:
            thread, self._leases = self._thread, 0
            self._wake.set()
        if thread is not None:
            thread.join(_END_S)

    def before_fork(self) -> None:
        """Go on: threads are not inherited."""

    def after_fork(self) -> None:
        """Be another process: jobs of the parent are the parent's."""
        self._start_anew()

    def _start_anew(self) -> None:
        self._token = secrets.token_urlsafe(16)
        self._leases = 0
        self._wake = threading.Event()
        self._thread = None

    def _run(self) -> None:
        renewed, is_logged = time.monotonic(), False
        while self._goes_on_after_a_pause():
            now = time.monotonic()
            try:
                if now - renewed >= self._lease_s / 3:
                    self._renew()
                    renewed = now
                    self._settle()
                self._stop(self._cancelled())
                is_logged = False
            except AnalyticsError as error:  # the lease may hold until the store is back
                if not is_logged:
                    _LOG.warning("the lease on the jobs of this process is not renewed: %s", error.message)
                is_logged = True

    def _goes_on_after_a_pause(self) -> bool:
        self._wake.wait(self._look_s)
        with self._guard:
            if self._leases <= 0:
                self._thread = None
            return self._leases > 0

    def _renew(self) -> None:
        with self._store.unit_of_work() as unit:
            until = unit.now() + timedelta(seconds=self._lease_s)
            known = unit.job_workers.find(token=self._token)
            if known is None:
                unit.job_workers.append(JobWorker(token=self._token, lease_until=until), actor_id=None)
            else:
                unit.job_workers.update(replace(known, lease_until=until), actor_id=None)
        if known is None:
            self._forget_others(until - WORKER_RETENTION)

    def _forget_others(self, before: datetime) -> None:
        """Forget processes whose leases were over by then; a process does so once, as it adds one."""
        with suppress(StaleVersionError), self._store.unit_of_work() as unit:
            unit.job_workers.delete_matching([ListFilter(col="lease_until", op="lt", val=before)])

    def _cancelled(self) -> list[str]:
        with self._store.unit_of_work() as unit:
            return [job.job_id for job in unit.jobs.list(cancelled_by_others(self._token))[1]]


def cancelled_by_others(token: str) -> ListQuery:
    """Return what lists the jobs of a worker that somebody wants to stop."""
    filters = (
        ListFilter(col="worker", op="eq", val=token),
        ListFilter(col="cancel_requested", op="eq", val=True),
        ListFilter(col="ended_on", op="is_null", val=True),
    )
    return ListQuery(filters=filters, page_size=1_000)


def is_dead(unit: UnitOfWork, token: str) -> bool:
    """Tell whether the lease of a worker is over, by the store's own clock."""
    worker = unit.job_workers.find(token=token)
    return worker is None or worker.lease_until < unit.now()
