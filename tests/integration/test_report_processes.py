"""Scheduler processes of one store that are killed while the clock changes: each due time is done once, and logged.

The session `faults` tries more of it (`tests/faults/reports.py`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.faults.servers import own_server, restart
from tests.support.report_judge import Judgement
from tests.support.scheduler_trial import Course, Trial

pytestmark = pytest.mark.slow

SPRING = datetime(2026, 3, 28, 22, tzinfo=UTC)
"""Three hours before clocks are put forward in Berlin."""


def assert_clean(found: Judgement) -> None:
    """Fail with the figures and the first cases of what is wrong."""
    assert not any(found.wrongs.values()), "\n".join((found.text(), *found.reported))


def test_processes_that_are_killed_on_a_file_lose_and_double_nothing(tmp_path: Path) -> None:
    course = Course(since=SPRING, until=SPRING + timedelta(hours=5), schedules=25, kills=4)
    found = Trial(course, f"sqlite:///{tmp_path}/meta.db", tmp_path).run()
    assert_clean(found)
    assert found.killed > course.kills
    assert found.states["Success"] > 10


@pytest.mark.long
def test_processes_that_are_killed_while_they_draw_lose_and_double_nothing(tmp_path: Path) -> None:
    course = Course(since=SPRING, until=SPRING + timedelta(hours=5), schedules=25, kills=5, draws=True)
    found = Trial(course, f"sqlite:///{tmp_path}/meta.db", tmp_path).run()
    assert_clean(found)
    assert found.states["Success"] > 10


@pytest.mark.long
@pytest.mark.server
def test_processes_that_are_killed_on_a_server_that_restarts_lose_and_double_nothing(tmp_path: Path) -> None:
    course = Course(since=SPRING, until=SPRING + timedelta(hours=9), schedules=75, kills=10, restarts=1)
    with own_server("postgresql") as server:
        found = Trial(course, server.make_database(), tmp_path, restart=lambda: restart(server)).run()  # type: ignore[attr-defined]
    assert_clean(found)
    assert found.states["Success"] > 50
