"""The states of an alert or a report and what leads from one to the next, as a table; pure.

A run starts in Working and ends in one of the other states. What a schedule shows is the state of its last run.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from analytics_core._records.report import RunState


class RunEvent(StrEnum):
    """What happens to a run."""

    BEGUN = "begun"
    BEGUN_WITHIN_GRACE = "begun within grace"
    NOT_TRIGGERED = "not triggered"
    SENT = "sent"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    STILL_WORKING = "an earlier run still works"
    MISSED = "missed"
    DEACTIVATED = "deactivated"


NEXT: Final[Mapping[RunState | None, Mapping[RunEvent, RunState]]] = {
    None: {
        RunEvent.BEGUN: RunState.WORKING,
        RunEvent.BEGUN_WITHIN_GRACE: RunState.ON_GRACE,
        RunEvent.STILL_WORKING: RunState.ERROR,
        RunEvent.FAILED: RunState.ERROR,
        RunEvent.MISSED: RunState.MISSED,
    },
    RunState.WORKING: {
        RunEvent.NOT_TRIGGERED: RunState.NOT_TRIGGERED,
        RunEvent.BEGUN_WITHIN_GRACE: RunState.ON_GRACE,
        RunEvent.STILL_WORKING: RunState.ERROR,
        RunEvent.SENT: RunState.SUCCESS,
        RunEvent.FAILED: RunState.ERROR,
        RunEvent.TIMED_OUT: RunState.ERROR,
        RunEvent.DEACTIVATED: RunState.NOT_TRIGGERED,
    },
    RunState.SUCCESS: {},
    RunState.ERROR: {},
    RunState.NOT_TRIGGERED: {},
    RunState.ON_GRACE: {},
    RunState.MISSED: {},
}
"""For each state of a run (None: it was claimed and nobody began it) what may happen, and the state that follows."""


def next_state(state: RunState | None, event: RunEvent) -> RunState:
    """Return the state that follows; ValueError where this cannot happen in it."""
    following = NEXT[state].get(event)
    if following is None:
        raise ValueError(f"a run that is {state or 'not begun'} cannot be {event}")
    return following


def is_within_grace(*, grace_s: int | None, last_success: datetime | None, now: datetime) -> bool:
    """Tell whether an alert keeps still: its last success ended less than the grace period ago; 0 and None are none."""
    return last_success is not None and bool(grace_s) and last_success + timedelta(seconds=grace_s or 0) > now


def is_notice_due(*, grace_s: int | None, last_notice: datetime | None, now: datetime) -> bool:
    """Tell whether the owners are told of an error.

    `last_notice` is when they were last told since a run that ended without one; None: they were not.
    """
    return last_notice is None or last_notice + timedelta(seconds=grace_s or 0) <= now


def is_late(*, working_timeout_s: int | None, start: datetime, now: datetime) -> bool:
    """Tell whether a run takes longer than its schedule allows; None allows any time."""
    return working_timeout_s is not None and start + timedelta(seconds=working_timeout_s) <= now
