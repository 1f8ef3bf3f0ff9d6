"""Jobs of kind `warm-up`: charts answered ahead, one after the other, in the background."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from analytics_core._execution.cancel import CancelToken
from analytics_core._jobs.handlers import JobOutcome
from analytics_core._records.shared_state import JobRecord, JobState
from analytics_core._resources.cache import CacheControl
from analytics_core._resources.namespace import live
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import StatementStoppedError, StoredDataError
from analytics_core.models.cache import CacheWarmUpResult


class WarmUpJobs:
    """Runs and reads warm-ups in the background (a `JobHandler`).

    Args:
        runtime_of: the job's moment -> the parts of a core for which that is now.
        find_actor: tells who acts for a job; each chart has the rights that they have then.
    """

    def __init__(self, *, runtime_of: Callable[[JobRecord], Runtime], find_actor: Callable[[JobRecord], Actor]) -> None:
        self._runtime_of = runtime_of
        self._find_actor = find_actor

    def run(self, job: JobRecord, cancel: CancelToken) -> JobOutcome:
        """Warm up the charts; a cancelled job stops the statement of the one that runs."""
        asked: dict[str, Any] = json.loads(job.payload)
        cache = live(lambda: CacheControl(self._runtime_of(job), self._find_actor(job), cancel=cancel))
        done = []
        for result in cache.warm_up_many(**asked):
            done.append(result.model_dump(mode="json"))
            if cancel.cancelled:
                raise StatementStoppedError(f"the warm-up was cancelled after {len(done)} charts")
        return JobOutcome(state=JobState.SUCCESS, data=json.dumps(done).encode())

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether it is the actor's own: what became of charts holds nothing of their rows."""
        return job.user_id == actor.id

    def read(self, job: JobRecord, data: bytes) -> tuple[CacheWarmUpResult, ...]:
        """Return what became of each chart."""
        try:
            return tuple(CacheWarmUpResult(**result) for result in json.loads(data))
        except (TypeError, ValueError):
            raise StoredDataError(f"the store holds no result of job {job.job_id!r} that this version reads") from None
