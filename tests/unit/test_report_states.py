"""The table of states: no way leaves Working for ever, and grace and notices as they are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.support.cases import for_each

from analytics_core._records.report import RunState
from analytics_core._reports.states import (
    NEXT,
    RunEvent,
    is_late,
    is_notice_due,
    is_within_grace,
    next_state,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_every_state_but_working_is_the_end_of_a_run() -> None:
    assert {state for state, following in NEXT.items() if not following} == set(RunState) - {RunState.WORKING}


def test_working_ends_by_time_and_by_failure() -> None:
    assert next_state(RunState.WORKING, RunEvent.TIMED_OUT) is RunState.ERROR
    assert next_state(RunState.WORKING, RunEvent.FAILED) is RunState.ERROR
    assert all(state is not RunState.WORKING for state in NEXT[RunState.WORKING].values())


def test_every_event_may_happen_somewhere() -> None:
    assert {event for following in NEXT.values() for event in following} == set(RunEvent)


def test_what_may_happen_to_a_run_and_what_follows_is_the_table_of_the_contract() -> None:
    working, claimed = RunState.WORKING, None
    table = {
        (claimed, "begun"): "Working",
        (claimed, "begun within grace"): "On Grace",
        (claimed, "an earlier run still works"): "Error",
        (claimed, "failed"): "Error",
        (claimed, "missed"): "Missed",
        (working, "not triggered"): "Not triggered",
        (working, "begun within grace"): "On Grace",
        (working, "an earlier run still works"): "Error",
        (working, "sent"): "Success",
        (working, "failed"): "Error",
        (working, "timed out"): "Error",
        (working, "deactivated"): "Not triggered",
    }
    assert {(state, event.value): end.value for state, ends in NEXT.items() for event, end in ends.items()} == table
    with pytest.raises(ValueError, match="a run that is not begun cannot be sent"):
        next_state(None, RunEvent.SENT)


@for_each("state", [state for state in RunState if state is not RunState.WORKING])
@for_each("event", RunEvent)
def test_nothing_happens_to_a_run_that_is_over(state: RunState, event: RunEvent) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        next_state(state, event)


@for_each(
    ("grace_s", "ended_ago_s", "holds"),
    [(60, 59, True), (60, 60, False), (60, 61, False), (0, 0, False), (None, 0, False)],
)
def test_grace_holds_strictly_until_its_end(grace_s: int | None, ended_ago_s: int, holds: bool) -> None:
    ended = NOW - timedelta(seconds=ended_ago_s)
    assert is_within_grace(grace_s=grace_s, last_success=ended, now=NOW) is holds


def test_without_a_success_there_is_no_grace() -> None:
    assert not is_within_grace(grace_s=60, last_success=None, now=NOW)


@pytest.mark.parametrize(("notice_age_s", "is_due"), [(None, True), (59, False), (60, True), (100, True)])
def test_owners_are_told_once_per_grace(notice_age_s: int | None, is_due: bool) -> None:
    last_notice = None if notice_age_s is None else NOW - timedelta(seconds=notice_age_s)
    assert is_notice_due(grace_s=60, last_notice=last_notice, now=NOW) is is_due


def test_a_run_is_late_from_its_timeout_on() -> None:
    assert not is_late(working_timeout_s=60, start=NOW - timedelta(seconds=59), now=NOW)
    assert is_late(working_timeout_s=60, start=NOW - timedelta(seconds=60), now=NOW)
    assert not is_late(working_timeout_s=None, start=NOW - timedelta(days=60), now=NOW)
