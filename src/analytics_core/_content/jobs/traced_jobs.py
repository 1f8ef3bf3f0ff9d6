"""Jobs of which an observer of all work hears, each a part of what it was submitted in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from analytics_core._content.jobs.handlers import JobHandler, JobOutcome, Work
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.tracing import Tracer
from analytics_core._records.audit import ObservationKind
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.shared_state import JobRecord
from analytics_core.ports import Clock


def traced(make: Callable[[], JobHandler], tracer: Tracer, clock: Clock) -> Callable[[], JobHandler]:
    """Return what makes a handler as `make` does, whose jobs are observed; `clock` stamps records."""
    return lambda: _TracedJobs(make(), tracer, clock)


class _TracedJobs:
    def __init__(self, handler: JobHandler, tracer: Tracer, clock: Clock) -> None:
        self._handler = handler
        self._tracer = tracer
        self._clock = clock

    def begin(self, job: JobRecord, unit: UnitOfWork) -> Work:
        """Return what does the job; its work is observed, not its beginning."""
        work = self._handler.begin(job, unit)

        def traced_work(cancel: CancelToken) -> JobOutcome:
            submitted = job.audit.created_on
            waited = None if submitted is None else (self._clock.now() - submitted).total_seconds() * 1_000
            facts = {"actor_id": job.author_id, "result_type": job.kind, "waited_ms": waited and max(waited, 0.0)}
            with self._tracer.work(ObservationKind.JOB, facts, traceparent=job.traceparent) as doing:
                outcome = work(cancel)
                doing.facts["result_bytes"] = len(outcome.data)
                return outcome

        return traced_work

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether an actor may read what it made."""
        return self._handler.may_read(job, actor)

    def read(self, job: JobRecord, data: bytes) -> Any:
        """Return what it made."""
        return self._handler.read(job, data)
