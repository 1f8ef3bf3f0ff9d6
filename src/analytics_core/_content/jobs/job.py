"""What whoever submitted a job holds in hand: its state, its result, and a way to stop it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

from analytics_core._content.jobs.handlers import Ending
from analytics_core._content.jobs.registry import JobRegistry
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.shared_state import JobRecord
from analytics_core._tools.display.blocks import Blocks, ErrorBlock, HeadingBlock, facts
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.values import value_text
from analytics_core._tools.typed_json import error_from_json
from analytics_core.errors import JobError, JobGoneError, JobNotFoundError
from analytics_core.models.enums import JobState, QueryStatus

Result = TypeVar("Result")
_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.5


class Job(Generic[Result]):
    """A question in the background: the contract's fields, and ways to wait, to read and to stop.

    Its state is in the store: any process finds the same job by its id.

    Attributes:
        channel_id: names the owner's jobs to a host that tells of their ends.
        result_url: where a host may serve the answer.
    """

    def __init__(
        self, book: JobRegistry, record: JobRecord, *, channel_id: str, result_url: str, find_actor: Callable[[], Actor]
    ) -> None:
        self.channel_id = channel_id
        self.result_url = result_url
        self._book = book
        self._record = record
        self._find_actor = find_actor
        self._ending = book.ending(record.job_id) or Ending()  # one that nobody tells of is a pause
        self._result: Result | None = None

    @property
    def job_id(self) -> str:
        """The id by which the owner finds the job; it cannot be guessed, and opens nothing to anybody else."""
        return self._record.job_id

    @property
    def user_id(self) -> str | None:
        """The owner's id as text; None for a guest."""
        return self._record.owner_text

    @property
    def state(self) -> JobState:
        """pending, running, success, failed, stopped, timed_out or lost."""
        return self._now().state

    @property
    def status(self) -> QueryStatus:
        """The state in the contract's words: a lost job failed."""
        state = self.state
        return QueryStatus.FAILED if state is JobState.LOST else QueryStatus(state.value)

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, well or not."""
        return self.state.is_over

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the job is over; False when `timeout_s` seconds passed before (None: no such bound)."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        pause = _FIRST_PAUSE_S
        while not self.is_over:
            remaining_s = _LONGEST_PAUSE_S if end is None else end - time.monotonic()
            if remaining_s <= 0:
                return False
            self._ending.wait(min(pause, remaining_s))
            pause = min(pause * 2, _LONGEST_PAUSE_S)
        return True

    def result(self, timeout_s: float | None = None) -> Result:
        """Return what the job made, waiting for it at most `timeout_s` seconds.

        Raises:
            JobError: the job is not over yet, or is lost.
            ActorRequiredError: who submitted it is not active any more.
            JobNotFoundError, AccessError: they may not see all that it read any more; JobGoneError: it expired.
            AnalyticsError: the job failed; it is the error itself. An answer may also tell errors of single queries.
        """
        self._find_actor()
        if not self.wait(timeout_s):
            said = f"job {self.job_id!r} is not over after {timeout_s} s; wait longer or cancel it"
            raise JobError(said, retryable=True)
        job = self._record
        if not self._book.handler(job).may_read(job, self._find_actor()):
            raise JobNotFoundError(job.job_id)
        if job.error is not None:
            raise error_from_json(json.loads(job.error))
        if self._result is None:
            self._result = cast("Result", self._book.result(job))
        return self._result

    def cancel(self) -> None:
        """Stop the job: one that waits never starts, one that runs has its statement stopped; else nothing happens."""
        if not self.is_over:
            self._book.cancel(self.job_id)

    def to_payload(self) -> dict[str, Any]:
        """Return the job as the contract writes it (ChartDataAsyncResponseSchema)."""
        return {
            "channel_id": self.channel_id,
            "job_id": self.job_id,
            "result_url": self.result_url,
            "status": self.status.value,
            "user_id": self.user_id,
        }

    def __repr__(self) -> str:
        return f"<Job {self.job_id}, {self._record.state}>"

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _job_blocks(self._now())

    def _now(self) -> JobRecord:
        """Return the record as it is now; one that is over stays so, also when the store is closed."""
        if not self._record.state.is_over:
            record = self._ending.record
            try:
                self._record = self._book.find(self.job_id) if record is None else record
            except JobNotFoundError:  # who holds the job submitted it
                raise JobGoneError(self.job_id) from None
        return self._record


def _job_blocks(job: JobRecord) -> Blocks:
    """Return what can be seen of a job; its result is asked for with `job.result()`."""
    values = {"job_id": job.job_id, "submitted": job.audit.created_on, "started": job.started_on, "ended": job.ended_on}
    texts = {name: None if value is None else value_text(value) for name, value in values.items()}
    blocks = [HeadingBlock(text=f"Job: {_spoken(job.kind)}", detail=job.state.value), *facts(texts)]
    if job.error is None:
        return blocks
    error = error_from_json(json.loads(job.error))
    return [*blocks, ErrorBlock(kind=type(error).__name__, message=error.message)]


def _spoken(kind: str) -> str:
    return str(kind).replace("_", " ")
