"""Alerts and reports as they are wired: what their schedules and runs are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from analytics_core._content.runtime import ContentRuntime
from analytics_core._reports.delivery import Deliveries
from analytics_core.ports import JobRunner, Sleeper


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsRuntime:
    """What alerts and reports are given; `_core` alone builds it, nothing changes it."""

    content: ContentRuntime
    deliveries: Deliveries
    jobs: JobRunner
    sleeper: Sleeper

    def pinned_at(self, moment: Any, *, shape: str = "as_of", name: str = "moment") -> ReportsRuntime:
        """Return the runtime for runs as of a moment; PayloadSchemaError for what is none, at `shape` and `name`."""
        return replace(self, content=self.content.pinned_at(moment, shape=shape, name=name))
