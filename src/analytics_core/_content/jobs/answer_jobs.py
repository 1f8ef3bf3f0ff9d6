"""Jobs that answer a question as their owner: sealed, and read only while the rules bind that bound when they ran."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from analytics_core._content.jobs.handlers import JobOutcome, Work
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.shared_state import JobRecord


@dataclass(frozen=True, kw_only=True)
class AnswerJobs(ABC):
    """Runs and reads the questions of one kind (a `JobHandler`); a subclass says what they are and who answers them.

    Attributes:
        find_actor: tells who acts for a job, with the rights that they have now.
        seal: seals answers, so that whoever writes to the store makes none.
    """

    find_actor: Callable[[JobRecord], Actor]
    seal: EntrySeal

    def begin(self, job: JobRecord, _unit: UnitOfWork) -> Work:
        """Return what answers the question."""
        return partial(self._run, job)

    def _run(self, job: JobRecord, cancel: CancelToken) -> JobOutcome:
        return self.answer(job, self.find_actor(job), cancel)

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether the same binds the actor now as when the job ran."""
        return job.bound is None or self.bound(job, actor) == job.bound

    @abstractmethod
    def answer(self, job: JobRecord, actor: Actor, cancel: CancelToken) -> JobOutcome:
        """Return the sealed answer, with what bound the actor; errors are those of the question."""

    @abstractmethod
    def bound(self, job: JobRecord, actor: Actor) -> str:
        """Return a digest of what binds the actor now on all that the answer tells; AnalyticsError: it is closed."""

    @abstractmethod
    def read(self, job: JobRecord, data: bytes) -> Any:
        """Return the answer; StoredDataError when the store holds something else."""
