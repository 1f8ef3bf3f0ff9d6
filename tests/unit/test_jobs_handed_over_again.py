"""Jobs that others run are handed over again by a look for due reports, since a queue may lose what it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.reports import report_world
from tests.support.shop import context, hosted_core, shop_url

from analytics_core import AnalyticsCore
from analytics_core.errors import JobError
from analytics_core.models.enums import JobState
from analytics_core.testing.clock import FixedClock

COUNT = context({"metrics": ["count"]})
AN_HOUR = timedelta(hours=1)


class Queue:
    """A queue of workers elsewhere; `fails` while it is away."""

    is_local = False

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.fails = False
        self.run: Callable[[str], None] = lambda _: None

    def start(self, run_job: Callable[[str], None]) -> None:
        self.run = run_job

    def submit(self, job_id: str, *, queue: str = "") -> None:
        if self.fails:
            raise ConnectionError("amqp://user:s3same@broker is away")
        self.ids.append(job_id)

    def close(self) -> None:
        return


class RoutedQueue(Queue):
    """A queue that is told of what kind jobs are, and how long they may take."""

    def __init__(self) -> None:
        super().__init__()
        self.routed: list[tuple[str, str, float | None]] = []

    def submit_routed(self, job_id: str, *, kind: str, queue: str = "", time_limit_s: float | None = None) -> None:
        self.submit(job_id, queue=queue)
        self.routed.append((kind, queue, time_limit_s))


class World:
    """A host whose jobs go to a queue; its clock is the store's but for what a test puts it ahead or back."""

    def __init__(self, folder: Path, queue: Queue) -> None:
        self.queue = queue
        self.clock = FixedClock(datetime.now(UTC))
        url = shop_url(folder)
        self.host: AnalyticsCore = hosted_core(url, jobs=queue, clock=self.clock, settings={"job_wait_s": 86_400.0})
        self.admin = self.host.as_user("admin")

    def submit(self, *, ago: timedelta = timedelta()) -> Any:
        self.clock.move_to(datetime.now(UTC) - ago)
        job = self.admin.charts.submit(COUNT)
        self.clock.move_to(datetime.now(UTC))
        return job

    def handed_over(self, job: Any, *, ago: timedelta) -> None:
        """Have it count as handed over so long ago."""
        self.clock.move_to(datetime.now(UTC) - ago)
        with self.host._runtime.content.store.unit_of_work() as unit:
            record = unit.jobs.find(job_id=job.job_id)
            assert record is not None
            unit.jobs.update(record, actor_id=None)
        self.clock.move_to(datetime.now(UTC))

    def again(self) -> list[str]:
        """Look, and return what was handed over."""
        before = len(self.queue.ids)
        self.host.scheduler.tick()
        return self.queue.ids[before:]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, RoutedQueue())
    with made.host:
        yield made


def test_a_job_that_waits_for_two_leases_is_handed_over_again_and_runs_once(world: World) -> None:
    lost, new = world.submit(ago=timedelta(seconds=61)), world.submit(ago=timedelta(seconds=50))
    assert world.again() == [lost.job_id]
    assert world.again() == []
    for job_id in [*world.queue.ids, lost.job_id]:
        world.queue.run(job_id)
    assert [job.result(timeout_s=0).results[0].rowcount for job in (lost, new)] == [1, 1]
    assert world.again() == []


def test_the_pauses_between_two_copies_double(world: World) -> None:
    job = world.submit(ago=timedelta(seconds=300))
    world.handed_over(job, ago=timedelta(seconds=100))
    assert world.again() == []
    other = world.submit(ago=timedelta(seconds=300))
    world.handed_over(other, ago=timedelta(seconds=200))
    assert world.again() == [other.job_id]


def test_a_queue_that_is_away_leaves_jobs_waiting(world: World, caplog: pytest.LogCaptureFixture) -> None:
    job = world.submit(ago=AN_HOUR)
    world.queue.fails = True
    assert world.again() == []
    assert job.state is JobState.PENDING
    assert "ConnectionError" in caplog.text
    assert "s3same" not in caplog.text
    world.queue.fails = False
    assert world.again() == [job.job_id]


def test_a_job_of_a_process_that_died_ends_without_a_question_for_it(world: World) -> None:
    job = world.submit()
    with world.host._runtime.content.store.unit_of_work() as unit:
        record = unit.jobs.find(job_id=job.job_id)
        assert record is not None
        unit.jobs.update(replace(record, state=JobState.RUNNING, worker="dead", lease_until=None), actor_id=None)
    assert world.again() == []
    assert world.host.health().jobs.lost == 1  # type: ignore[union-attr]
    with pytest.raises(JobError, match="submit it again"):
        job.result(timeout_s=0)


def test_jobs_of_this_process_are_not_handed_over_again(tmp_path: Path) -> None:
    queue = Queue()
    queue.is_local = True
    world = World(tmp_path, queue)
    with world.host:
        world.submit(ago=AN_HOUR)
        assert world.again() == []


def test_a_job_whose_record_changed_before_it_is_claimed_is_run_all_the_same(tmp_path: Path) -> None:
    queue = Queue()
    queue.is_local = True  # claims the record as it was submitted
    world = World(tmp_path, queue)
    with world.host:
        job = world.submit()
        world.handed_over(job, ago=timedelta())
        queue.run(job.job_id)
        assert job.result(timeout_s=0).results[0].rowcount == 1


@for_each("kind", ["chart-data", "warm-up"])
def test_a_routed_runner_is_told_the_kind_and_how_long_it_may_take(kind: str, tmp_path: Path) -> None:
    queue = RoutedQueue()
    with hosted_core(shop_url(tmp_path), jobs=queue, settings={"request_timeout_s": 77.0}) as host:
        admin = host.as_user("admin")
        if kind == "warm-up":
            admin.cache.submit_warm_up([])
            assert queue.routed == [(kind, "", None)]
        else:
            admin.charts.submit(COUNT)
            assert queue.routed == [(kind, admin.databases.get(1).uuid, 77.0)]


def test_a_routed_runner_is_told_the_time_of_a_report(tmp_path: Path) -> None:
    queue = RoutedQueue()
    with report_world(tmp_path, jobs=queue) as world:
        world.report(working_timeout=90)
        world.pass_time()
        assert queue.routed == [("report", "reports to Email / user 1", 90)]
