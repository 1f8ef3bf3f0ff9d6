"""Jobs run by Celery's workers: none is lost silently, and none has its effect twice, whatever dies."""

from __future__ import annotations

import json
import os
import signal
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from kombu import Connection, Consumer, Queue
from tests.support.celery_world import (
    COUNT,
    ENDLESS,
    KEY,
    SHORT,
    SLOW_CHART,
    Worker,
    World,
    is_running,
    open_core,
    until,
)
from tests.support.missing import skip_or_fail
from tests.support.redis_server import RedisServer, redis_server
from tests.support.servers import ServerMissingError
from tests.support.shop import ORDERS

from analytics_core._core.adapters.celery_jobs import TASK
from analytics_core._core.command_line import main
from analytics_core.celery import QUEUES, CeleryJobRunner, celery_app
from analytics_core.errors import JobError, StatementStoppedError

pytestmark = [pytest.mark.slow, pytest.mark.server]

NUMBERS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000000000)"
TOTAL = [{"count": len(ORDERS)}]


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    try:
        with redis_server(tmp_path_factory.mktemp("redis")) as server:
            yield server
    except ServerMissingError as missing:
        skip_or_fail(str(missing))


@pytest.fixture(scope="module")
def world(redis: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("world"), redis.url)
    with made.core:
        yield made


@pytest.fixture(scope="module")
def worker(world: World) -> Iterator[Worker]:
    """A worker that the tests of this module share."""
    started = world.worker(concurrency=3)
    yield started.ready()
    started.stop()


@pytest.fixture
def lone(world: World, redis: RedisServer) -> Iterator[World]:
    """The same store with a broker whose workers a test starts itself."""
    beside = World(world.folder, redis.url[:-1] + "1", is_new=False)
    with beside.core:
        yield beside


@pytest.fixture
def start_worker(lone: World) -> Iterator[Callable[[], Worker]]:
    """Start workers of `lone`, which end with the test."""
    started: list[Worker] = []

    def start() -> Worker:
        started.append(lone.worker())
        return started[-1].ready()

    yield start
    for one in started:
        one.stop()


@dataclass(frozen=True, kw_only=True)
class Killed:
    """What became of a chart, and of the reports `before` and `while it sends`, whose processes were killed."""

    chart: Any
    before: Any
    sending: Any
    worker: Worker


@pytest.fixture(scope="module")
def killed(world: World, worker: Worker) -> Killed:
    """Kill the processes of three jobs at once, and wait for what becomes of them."""
    world.gate(is_closed=True)
    chart = world.admin.charts.submit(SLOW_CHART)
    before = world.start_report("before", chart=2)
    sending = world.start_report("while it sends")
    assert is_running(chart)
    assert until(lambda: world.run(before).start_dttm is not None)
    assert until(lambda: world.sent("while it sends") == 1)
    worker.kill_children()
    world.turn(SHORT)
    world.gate(is_closed=False)
    assert until(lambda: world.run(before).end_dttm and world.run(sending).end_dttm and chart.is_over)
    world.turn(ENDLESS)
    return Killed(chart=chart, before=world.run(before), sending=world.run(sending), worker=worker)


def test_a_message_that_redis_could_not_be_told_of_takes_no_place_of_a_worker(tmp_path: Path) -> None:
    with redis_server(tmp_path) as server:
        app, taken = celery_app(server.url), []
        for number in range(3):
            app.send_task(TASK, (str(number),), queue="one by one", ignore_result=True)
        with app.connection_for_read() as connection:
            channel, queue = connection.default_channel, Queue("one by one")
            channel.basic_qos(0, 2, False)
            with Consumer(channel, [queue], callbacks=[lambda _, message: taken.append(message)], accept=["json"]):
                assert until(lambda: drained(connection) and len(taken) == 2)
                server.kill()
                for give_back in (taken[0].ack, taken[1].requeue):
                    with pytest.raises(connection.connection_errors):
                        give_back()
                assert channel.qos.can_consume_max_estimate() == 2
        app.close()


def drained(connection: Connection) -> bool:
    """Take what the broker has within a moment."""
    with suppress(TimeoutError):
        connection.drain_events(timeout=1)
    return True


def test_only_the_id_travels_to_the_queue_of_its_kind_with_its_time_limit(world: World, redis: RedisServer) -> None:
    job = world.admin.charts.submit(COUNT)  # no worker is there yet
    message = json.loads(redis.ask("LINDEX", QUEUES["chart-data"], 0))
    assert json.loads(b64decode(message["body"]))[:2] == [[job.job_id], {}]
    assert (message["content-type"], message["headers"]["task"]) == ("application/json", "analytics_core.run_job")
    assert message["headers"]["timelimit"] == [360.0, None]
    assert "orders" not in str(message)


def test_a_worker_runs_jobs_of_every_kind(world: World, worker: Worker) -> None:
    chart = world.admin.charts.submit(COUNT)
    warm_up = world.admin.cache.submit_warm_up([1])
    statement = {"database_id": 1, "sql": "SELECT COUNT(*) AS n FROM orders", "client_id": "one", "runAsync": True}
    query = world.admin.sql.execute(statement).query
    report = world.start_report("of every kind")
    layout = {"CHART-1": {"type": "CHART", "children": [], "meta": {"chartId": 1}}}
    dashboard = world.admin.dashboards.create({"dashboard_title": "shown", "position_json": json.dumps(layout)}).id
    data, picture = world.admin.dashboards.submit(dashboard), world.admin.dashboards.submit_picture(dashboard)
    assert data.result(timeout_s=60).charts[0].answer is not None
    assert picture.result(timeout_s=60).data.startswith(b"\x89PNG")
    assert chart.result(timeout_s=60).results[0].data == TOTAL
    assert [one.viz_status for one in warm_up.result(timeout_s=60)] == ["success"]
    assert until(lambda: world.admin.queries.get(query.id).status == "success")
    assert until(lambda: world.run(report).state == "Success")
    assert world.sent("of every kind") == 1


def test_a_statement_of_which_five_messages_come_at_once_changes_data_once(world: World, worker: Worker) -> None:
    class Copying(CeleryJobRunner):
        def submit_routed(self, job_id: str, *, kind: str, queue: str = "", time_limit_s: float | None = None) -> None:
            for _ in range(5):
                super().submit_routed(job_id, kind=kind, queue=queue, time_limit_s=time_limit_s)

    received = worker.log().count(" received")
    with open_core(**world.place, make_runner=Copying) as host:
        insert = {"database_id": 1, "sql": "INSERT INTO marks VALUES ('x')", "client_id": "five", "runAsync": True}
        query = host.as_user("admin").sql.execute(insert).query
    assert until(lambda: world.admin.queries.get(query.id).status == "success")
    assert until(lambda: worker.log().count(" received") == received + 5)
    assert world.marks() == 1


def test_a_job_is_stopped_with_its_statement_and_the_worker_goes_on(world: World, worker: Worker) -> None:
    jobs = [world.admin.charts.submit(SLOW_CHART) for _ in range(3)]
    waiting = world.admin.charts.submit(COUNT)
    assert all(map(is_running, jobs))
    assert waiting.state == "pending"  # three processes, and none takes more than it runs
    for job in jobs:
        world.admin.jobs.cancel(job.job_id)
    assert waiting.result(timeout_s=60).results[0].data == TOTAL
    for job in jobs:
        assert until(lambda job=job: job.is_over)  # type: ignore[misc]
        assert job.state == "stopped"


def test_a_statement_on_a_server_is_stopped(
    world: World, worker: Worker, make_postgres_database: Callable[..., str]
) -> None:
    url = make_postgres_database()
    database = world.admin.databases.create({"database_name": "server", "orm_uri": url})
    numbers = world.admin.datasets.create(
        {"database": database.id, "table_name": "s", "sql": f"{NUMBERS} SELECT x FROM n"}
    )

    def running() -> int:
        with psycopg.connect(url.replace("+psycopg", "")) as connection:
            found = "SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE '%RECURSIVE%' AND state = 'active'"
            counted = connection.execute(found + " AND pid <> pg_backend_pid()").fetchone()
        assert counted is not None
        return int(counted[0])

    question = {"datasource": {"id": numbers.id, "type": "table"}, "queries": [{"metrics": ["count"]}]}
    job = world.admin.charts.submit(question)
    assert until(running)
    world.admin.jobs.cancel(job.job_id)
    assert until(lambda: job.state == "stopped")
    assert until(lambda: not running())


def test_a_job_whose_process_is_killed_ends_as_lost_and_is_not_run_again(world: World, killed: Killed) -> None:
    with pytest.raises(JobError, match=r"is lost: the process that held it ended.*submit it again") as lost:
        killed.chart.result(timeout_s=0)
    assert lost.value.retryable
    done = f"[{killed.chart.job_id}] succeeded"
    assert until(lambda: killed.worker.log().count(done) == 1)  # its message came again, to no effect
    assert killed.chart.state == "lost"


def test_a_report_whose_process_is_killed_before_it_sends_is_taken_up_again(world: World, killed: Killed) -> None:
    assert (killed.before.state, world.sent("before")) == ("Success", 1)


def test_a_report_whose_process_is_killed_while_it_sends_is_not_sent_again(world: World, killed: Killed) -> None:
    assert (killed.sending.state, world.sent("while it sends")) == ("Error", 1)


def test_a_worker_goes_on_after_its_processes_were_killed(world: World, killed: Killed) -> None:
    assert world.admin.charts.submit(COUNT).result(timeout_s=60).results[0].data == TOTAL


def test_a_job_that_hangs_is_killed_after_its_time_limit(world: World, worker: Worker) -> None:
    class Impatient(CeleryJobRunner):
        def submit_routed(self, job_id: str, *, kind: str, queue: str = "", time_limit_s: float | None = None) -> None:
            super().submit_routed(job_id, kind=kind, queue=queue, time_limit_s=1.0 - 60.0)

    with open_core(**world.place, make_runner=Impatient) as host:
        job = host.as_user("admin").charts.submit(SLOW_CHART)
        with pytest.raises(StatementStoppedError, match="the process was interrupted"):  # it gets a SIGTERM first
            job.result(timeout_s=60)
    assert f"Hard time limit (1.0s) exceeded for analytics_core.run_job[{job.job_id}]" in worker.log()


def test_a_report_whose_message_comes_again_while_it_is_sent_is_sent_once(world: World, worker: Worker) -> None:
    world.gate(is_closed=True)
    received = worker.log().count(" received")
    report = world.start_report("redelivered")
    assert until(lambda: world.sent("redelivered") == 1)
    assert until(lambda: worker.log().count(" received") > received + 1)  # it was not acknowledged for a second
    world.gate(is_closed=False)
    assert until(lambda: world.run(report).state == "Success")
    assert world.sent("redelivered") == 1


def test_a_broker_that_is_away_refuses_jobs_and_what_it_lost_is_handed_to_it_again(
    lone: World, redis: RedisServer, start_worker: Callable[[], Worker]
) -> None:
    waiting = lone.admin.charts.submit(COUNT)
    redis.kill()
    with pytest.raises(JobError, match="the broker cannot be reached; try again later") as away:
        lone.admin.charts.submit(COUNT)
    assert away.value.retryable
    redis.start()
    start_worker()
    assert waiting.state == "pending"
    assert until(lambda: lone.core.scheduler.tick() and waiting.state == "success")


def test_a_worker_comes_back_to_a_broker_that_was_restarted(world: World, worker: Worker, redis: RedisServer) -> None:
    redis.kill()
    redis.start()
    assert world.admin.charts.submit(COUNT).result(timeout_s=60).results[0].data == TOTAL


def test_what_a_killed_worker_ran_is_lost_and_what_it_did_not_begin_runs_elsewhere(
    lone: World, start_worker: Callable[[], Worker]
) -> None:
    dies = start_worker()
    running = [lone.admin.charts.submit(SLOW_CHART) for _ in range(2)]
    waiting = lone.admin.charts.submit(COUNT)
    assert all(map(is_running, running))
    dies.stop()
    start_worker()
    assert waiting.result(timeout_s=60).results[0].data == TOTAL
    assert until(lambda: all(job.is_over for job in running))
    assert [job.state for job in running] == ["lost", "lost"]


def test_sigterm_lets_a_job_end(lone: World, start_worker: Callable[[], Worker]) -> None:
    worker = start_worker()
    lone.gate(is_closed=True)
    report = lone.start_report("at the end")
    assert until(lambda: lone.sent("at the end") == 1)
    worker.process.send_signal(signal.SIGTERM)
    assert until(lambda: "Warm shutdown" in worker.log())
    lone.gate(is_closed=False)
    assert worker.process.wait(60) == 0
    assert lone.run(report).state == "Success"


def test_tick_hands_what_is_due_to_the_broker_of_the_variable(lone: World, redis: RedisServer) -> None:
    schedule = lone.create_report("by cron", crontab="* * * * *")
    with lone.core._runtime.content.store.unit_of_work() as unit:
        progress = unit.report_progress.find(schedule_id=schedule)
        assert progress is not None
        past = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=1)
        unit.report_progress.update(replace(progress, next_due_on=past), actor_id=None)
    place = {"ANALYTICS_CORE_STORE": lone.place["store"], "ANALYTICS_CORE_BROKER": lone.place["broker"]}
    waiting = ("EVAL", "redis.call('SELECT', 1) return redis.call('LLEN', ARGV[1])", 0, QUEUES["report"])
    assert redis.ask(*waiting) == 0
    assert main(["tick"], {**os.environ, "ANALYTICS_CORE_SECRET_KEY": KEY, **place}) == 0
    assert redis.ask(*waiting) == 1
    lone.admin.reports.delete(schedule)
