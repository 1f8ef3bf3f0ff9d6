"""Due times are claimed once, in their order, and what is made up for is what the schedule's owner chose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any

import pytest
from tests.support.stores import open_store

from analytics_core._records.report import ReportExecution, ReportProgress, ReportSchedule, RunCause, RunState
from analytics_core._records.repositories import ListQuery
from analytics_core._records.secret import Secret
from analytics_core._reports.claims import MISSED, MOST_AT_A_TIME, STILL_WORKING, Claims, DueRuns, retention_of
from analytics_core.errors import StoredDataError
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


class World:
    """A store with schedules, and who looks for what is due."""

    def __init__(self, store: MetadataStore) -> None:
        self.store = store
        self.due_runs = DueRuns(store, on_time_s=300.0, lease_s=30.0, is_claimed=lambda *_: self.is_retained)
        self.is_retained: bool | None = True
        self.made = 0

    def add(self, *, next_due_on: datetime | None = NOON, missed: str | None = None, **facts: Any) -> ReportProgress:
        """Store a schedule of every hour, and return where it stands."""
        self.made += 1
        extra = None if missed is None else json.dumps({"missed": missed})
        fields: dict[str, Any] = {"crontab": "0 * * * *", "extra": extra, **facts}
        schedule = ReportSchedule(
            uuid=f"{self.made}",
            name=f"{self.made}",
            type="Report",
            report_format="CSV",
            recipients=Secret("[]"),
            **fields,
        )
        with self.store.unit_of_work() as unit:
            made = unit.report_schedules.add(schedule, actor_id=None)
            return unit.report_progress.add(ReportProgress(schedule_id=made.id, next_due_on=next_due_on), actor_id=None)

    def progress(self, progress: ReportProgress) -> ReportProgress:
        with self.store.unit_of_work() as unit:
            return unit.report_progress.get(progress.id)

    def rows(self) -> list[ReportExecution]:
        with self.store.unit_of_work() as unit:
            query = ListQuery(order_by=(("scheduled_dttm", False),), page_size=5_000)
            return list(unit.report_executions.list(query)[1])


@contextmanager
def world(now: datetime = NOON) -> Iterator[World]:
    with open_store("sqlite://", FixedClock(now)) as store:
        yield World(store)


def test_what_is_due_now_is_found_longest_wait_first() -> None:
    with world() as w:
        now, later = w.add(), w.add(next_due_on=NOON + timedelta(microseconds=1))
        before, never = w.add(next_due_on=NOON - HOUR), w.add(next_due_on=None)
        assert [one.id for one in w.due_runs.due(NOON)] == [before.id, now.id]
        assert {later.id, never.id}.isdisjoint(one.id for one in w.due_runs.due(NOON))


def test_a_due_time_is_claimed_once_with_a_lease_and_moves_the_schedule_on() -> None:
    with world() as w:
        progress = w.add()
        claims = w.due_runs.claim(progress, NOON)
        run = claims.run
        assert run is not None
        assert (run.scheduled_dttm, run.cause, run.state) == (NOON, RunCause.DUE, RunState.WORKING)
        assert (claims.claimed, claims.missed, claims.schedules) == (1, 0, 1)
        with w.store.unit_of_work() as unit:
            assert run.lease_until is not None
            assert timedelta() < run.lease_until - unit.now() + timedelta(seconds=5) < timedelta(seconds=36)
        assert w.progress(progress).next_due_on == NOON + HOUR
        assert w.due_runs.claim(progress, NOON) == Claims()  # of what was read before: others were faster
        assert [row.uuid for row in w.rows()] == [run.uuid]
        assert list(w.due_runs.open_runs()) == [run]


def test_of_several_missed_times_those_are_run_that_the_owner_chose() -> None:
    hours = [NOON - 2 * HOUR, NOON - HOUR, NOON]
    late = NOON + timedelta(seconds=301)
    cases = (
        (None, NOON, hours[2:], 2),
        ("latest", NOON, hours[2:], 2),
        ("all", NOON, hours, 0),
        ("skip", NOON, hours[2:], 2),
        ("skip", NOON + timedelta(seconds=300), hours[2:], 2),
        ("skip", late, [], 3),
        ("latest", late, hours[2:], 2),
    )
    for missed, now, run, count in cases:
        with world(now) as w:
            claims = w.due_runs.claim(w.add(next_due_on=hours[0], missed=missed), now)
            over = [row for row in w.rows() if row.end_dttm is not None]
            remaining = [row for row in w.rows() if row.end_dttm is None]
            assert [one.scheduled_dttm for one in remaining] == run, (missed, now)
            assert (claims.run, claims.claimed) == (next(iter(remaining), None), len(run))
            assert (claims.missed, [one.scheduled_dttm for one in over]) == (count, [h for h in hours if h not in run])
            for row in over:
                assert (row.state, row.cause) == (RunState.MISSED, RunCause.MISSED)
                assert (row.error_message, row.start_dttm, row.end_dttm) == (MISSED, now, now)
            leases = [one.lease_until is not None for one in remaining]
            assert leases == [number == 0 for number in range(len(run))], missed


def test_while_a_run_works_the_next_one_is_written_as_not_begun_or_waits() -> None:
    for missed in (None, "all"):
        with world(NOON + HOUR) as w:
            progress = w.add(missed=missed)
            assert w.due_runs.claim(progress, NOON).run is not None
            claims = w.due_runs.claim(w.progress(progress), NOON + HOUR)
            first, second = w.rows()
            assert (claims.run, claims.claimed, claims.missed, claims.schedules) == (None, int(bool(missed)), 0, 1)
            assert list(w.due_runs.open_runs()) == [first]
            if missed:
                assert (second.state, second.lease_until, second.end_dttm) == (RunState.WORKING, None, None)
            else:
                assert (second.state, second.cause) == (RunState.ERROR, RunCause.DUE)
                assert second.error_message == STILL_WORKING


def test_a_due_time_is_refused_only_where_somebody_is_known_to_have_worked_at_it() -> None:
    cases: tuple[tuple[bool | None, dict[str, Any], str], ...] = (
        (True, {"job_id": "j"}, "refused"),
        (False, {"job_id": "j"}, "waits"),  # it was killed
        (None, {"job_id": "j"}, "put off"),  # it may have been killed since it was last heard of
        (True, {"job_id": None}, "waits"),  # nobody was asked yet
        (True, {"job_id": "j", "late_on": NOON - HOUR}, "waits"),  # it is about to be ended
        (False, {"job_id": "j", "lease_until": datetime(2999, 1, 1, tzinfo=UTC)}, "refused"),  # it is about to begin
    )
    for policy, (is_locked, run, what) in zip(cycle((None, "skip")), cases, strict=False):
        with world(NOON + HOUR) as w:
            w.is_retained = is_locked
            progress = w.add(missed=policy)
            first = w.due_runs.claim(progress, NOON).run
            assert first is not None
            with w.store.unit_of_work() as unit:
                unit.report_executions.update(replace(first, **{"lease_until": None, **run}), actor_id=None)
            claims = w.due_runs.claim(w.progress(progress), NOON + HOUR)
            is_put_off, waits = what == "put off", what == "waits"
            assert (claims.run, claims.claimed, claims.schedules) == (None, waits, not is_put_off), run
            assert claims.is_put_off is is_put_off, run
            assert w.progress(progress).next_due_on == NOON + (HOUR if is_put_off else 2 * HOUR)
            rest = {"refused": ["Error"], "waits": ["Working"], "put off": []}
            assert [row.state.value for row in w.rows()[1:]] == rest[what], run
            if waits:  # one at a time
                assert w.due_runs.claim(w.progress(progress), NOON + 2 * HOUR).claimed == 0
                assert w.rows()[2].error_message == STILL_WORKING


@pytest.mark.slow
def test_no_schedule_hides_the_runs_of_another() -> None:
    with world() as w:
        many = [w.add().schedule_id for _ in range(3)]
        few = [w.add().schedule_id for _ in range(2)]
        with w.store.unit_of_work() as unit:
            for position, schedule_id in enumerate(many):
                first = NOON - timedelta(days=position)
                rows = [
                    _run(schedule_id, number, first + timedelta(seconds=number))
                    for number in range(MOST_AT_A_TIME + 100)
                ]
                unit.report_executions.append_all(rows, actor_id=None)
            for schedule_id in few:
                unit.report_executions.append_all([_run(schedule_id, 0, NOON + HOUR)], actor_id=None)
        found = w.due_runs.open_runs()
        assert [run.schedule_id for run in found] == [*reversed(many), *few]
        assert [run.uuid for run in found] == [f"{one} 0" for one in (*reversed(many), *few)]


def _run(schedule_id: int, number: int, moment: datetime) -> ReportExecution:
    return ReportExecution(
        uuid=f"{schedule_id} {number}", schedule_id=schedule_id, scheduled_dttm=moment, cause=RunCause.DUE
    )


@pytest.mark.slow
def test_schedules_that_cannot_be_claimed_hide_none_that_can() -> None:
    with world() as w:
        passed = {w.add(next_due_on=NOON - HOUR).schedule_id for _ in range(MOST_AT_A_TIME + 1)}
        last = w.add()
        assert len(w.due_runs.due(NOON)) == MOST_AT_A_TIME
        assert list(w.due_runs.due(NOON, but=passed)) == [last]
        assert not w.due_runs.due(NOON, but={*passed, last.schedule_id})


def test_one_look_takes_so_many_times_and_the_next_one_goes_on_behind_them() -> None:
    first = NOON - timedelta(minutes=MOST_AT_A_TIME + 1)
    with world() as w:
        progress = w.add(crontab="* * * * *", next_due_on=first)
        claims = w.due_runs.claim(progress, NOON)
        assert (claims.run, claims.claimed, claims.missed) == (None, 0, 1_000)
        assert w.progress(progress).next_due_on == first + timedelta(minutes=MOST_AT_A_TIME)
        claims = w.due_runs.claim(w.progress(progress), NOON)
        assert claims.run is not None
        assert claims.run.scheduled_dttm == NOON
        assert (claims.missed, w.progress(progress).next_due_on) == (1, NOON + timedelta(minutes=1))


def test_times_that_have_a_row_get_no_second_one() -> None:
    with world() as w:
        progress = w.add(missed="all")
        w.due_runs.claim(progress, NOON)
        with w.store.unit_of_work() as unit:  # its clock was put back
            back = replace(w.progress(progress), next_due_on=NOON - HOUR)
            again = unit.report_progress.update(back, actor_id=None)
        w.due_runs.claim(again, NOON)
        assert [row.scheduled_dttm for row in w.rows()] == [NOON - HOUR, NOON]


def test_times_of_which_no_log_is_kept_are_not_written() -> None:
    for days, count in ((2, 3), (None, 91), (0, 91)):
        with world() as w:
            progress = w.add(log_retention=days, crontab="0 12 * * *", next_due_on=NOON - timedelta(days=95))
            claims = w.due_runs.claim(progress, NOON)
            assert claims.missed + claims.claimed == len(w.rows()) == count, days


def test_a_schedule_that_is_not_active_or_cannot_be_read_is_not_due_any_more() -> None:
    for facts in ({"active": False}, {"crontab": "nonsense"}):
        with world() as w:
            progress = w.add(**facts)
            assert w.due_runs.claim(progress, NOON) == Claims()
            assert w.progress(progress).next_due_on is None
            assert w.rows() == []


def test_a_zone_that_this_machine_does_not_know_is_left_to_others() -> None:
    for facts in ({"timezone": "Mars/Olympus"}, {"timezone": "Mars/Olympus", "crontab": "nonsense"}):
        with world() as w:
            progress = w.add(**facts)
            with pytest.raises(StoredDataError, match="Mars/Olympus"):
                w.due_runs.claim(progress, NOON)
            assert w.progress(progress) == progress


def test_options_that_cannot_be_read_make_up_for_the_latest() -> None:
    with world() as w:
        claims = w.due_runs.claim(w.add(next_due_on=NOON - HOUR, extra='{"missed": "sometimes"}'), NOON)
        assert claims.run is not None
        assert (claims.run.scheduled_dttm, claims.missed) == (NOON, 1)


def test_a_schedule_that_is_gone_is_claimed_as_nothing() -> None:
    with world() as w:
        progress = w.add()
        with w.store.unit_of_work() as unit:
            unit.report_progress.delete(progress.id)
            unit.report_schedules.delete(progress.schedule_id)
        assert w.due_runs.claim(progress, NOON) == Claims()


def test_a_log_is_kept_for_days_a_century_at_most_or_for_ever() -> None:
    days = {None: None, 0: None, -1: None, 1: 1, 30: 30, 36_500: 36_500, 36_501: 36_500, 10**9: 36_500}
    for retention, expected in days.items():
        assert retention_of(retention) == (None if expected is None else timedelta(days=expected)), retention
