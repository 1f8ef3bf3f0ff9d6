"""What reading a chart and running a report cost: calls of our functions, statements and transactions of the store.

The bounds are what it took when they were set, with a little room for frames: what a change adds must be worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.reports import HOUR, ReportWorld, filtered_dashboard, mail, report_world
from tests.support.steps import Work, work_of

from analytics_core.testing import InlineJobRunner


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ReportWorld]:
    """A world in a file, whose jobs are done at once and which believes for a second what it read.

    Its process holds a lease on jobs all the time; one that holds none renews it first, in a transaction of its own.
    """
    with report_world(
        tmp_path,
        jobs=InlineJobRunner(),
        url=f"sqlite:///{tmp_path}/meta.db",
        settings={"metadata_freshness_s": 1},
    ) as made:
        heartbeat = made.host._runtime.content.job_registry._heartbeat
        heartbeat.hold()
        yield made
        heartbeat.release()


def third(world: ReportWorld, act: Callable[[], object], *, an_hour_later: bool = False) -> Work:
    """Return what an act costs once all that it needs is made and loaded."""
    for _ in range(3):
        if an_hour_later:
            world.clock.advance(HOUR)
        work = work_of(world.host, act)
    return work


def test_a_chart_is_read_by_four_statements_in_one_transaction(world: ReportWorld) -> None:
    filtered_dashboard(world.admin)
    charts = world.admin.charts
    work = third(world, lambda: charts.get(1))
    assert (work.transactions, len(work.statements)) == (1, 4), work
    assert work.frames <= 120


def test_a_report_is_run_by_so_many_statements_transactions_and_calls(world: ReportWorld) -> None:
    made = world.report()
    work = third(world, world.host.scheduler.tick, an_hour_later=True)
    assert (work.transactions, len(work.statements)) == (6, 43), work
    assert work.frames <= 1_820
    assert world.states(made) == ["Success"] * 3


def test_each_message_of_a_report_is_recorded_before_and_after_it_is_sent(world: ReportWorld) -> None:
    one = world.report(recipients=[mail("a@example.com")])
    alone = third(world, world.host.scheduler.tick, an_hour_later=True)
    world.admin.reports.delete(one.id)
    world.report(recipients=[mail(f"{name}@example.com") for name in "abc"])
    three = third(world, world.host.scheduler.tick, an_hour_later=True)
    assert three.transactions - alone.transactions == 2 * 2
    assert len(three.statements) - len(alone.statements) == 2 * 5
    assert len(world.outbox.sent) == 3 + 9
