"""Writes who did what into the log, in the unit of work of the act itself: both happen, or neither."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analytics_core._records.audit import LogEntry
from analytics_core._records.repositories import UnitOfWork
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.ports import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAction:
    """An act that has begun; `log` ends it. `actor_id` is None for a guest: no stored user did it."""

    action: str
    actor_id: int | None
    started_s: float
    clock: Clock

    def log(
        self,
        unit: UnitOfWork,
        *,
        chart_id: int | None = None,
        dashboard_id: int | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the act with what it was done to; `details` are JSON values, never secrets."""
        entry = LogEntry(
            action=self.action,
            user_id=self.actor_id,
            dashboard_id=dashboard_id,
            slice_id=chart_id,
            dttm=self.clock.now(),
            duration_ms=round((self.clock.monotonic() - self.started_s) * 1000),
            json=json.dumps(details, ensure_ascii=False) if details else None,
        )
        unit.logs.append(entry, actor_id=self.actor_id)


def begin_act(runtime: Runtime, actor: Actor, action: str) -> LoggedAction:
    """Return an act that begins now; `action` is `resource.verb`, for example `dashboard.update`."""
    return LoggedAction(
        action=action, actor_id=actor.stored_id, started_s=runtime.wall_clock.monotonic(), clock=runtime.wall_clock
    )
