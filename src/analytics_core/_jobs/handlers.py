"""What runs the jobs of one kind and reads what they left."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from analytics_core._execution.cancel import CancelToken
from analytics_core._records.shared_state import JobRecord, JobState
from analytics_core._security.actor import Actor


class JobKind(StrEnum):
    """What a job does; each kind has a handler in the composition root."""

    CHART_DATA = "chart-data"
    WARM_UP = "warm-up"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How a job ended that was not stopped by an error: its state, what it made, and what bound its actor then."""

    state: JobState
    data: bytes
    bound: str = ""


class JobHandler(Protocol):
    """The jobs of one kind."""

    def run(self, job: JobRecord, cancel: CancelToken) -> JobOutcome:
        """Do the work as the job's actor with the rights that they have now; AnalyticsError when it fails."""

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether an actor may read what the finished job made."""

    def read(self, job: JobRecord, data: bytes) -> Any:
        """Return what the job made; StoredDataError when the store holds something else."""
