"""The runner on Celery: which queue a job goes to, what it refuses, and what the command line makes of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from tests.support.cases import for_each
from tests.support.small_core import KEY

from analytics_core import AnalyticsCore, Settings
from analytics_core._content.jobs.handlers import JobKind
from analytics_core._core.command_line import main
from analytics_core._core.worker import run_worker
from analytics_core.celery import QUEUES, CeleryJobRunner, celery_app, queue_of
from analytics_core.errors import JobError, SettingsError


@pytest.fixture
def core() -> Iterator[AnalyticsCore]:
    with AnalyticsCore(Settings(secret_key=KEY)) as made:
        yield made


def make_core() -> AnalyticsCore:
    return AnalyticsCore(Settings(secret_key=KEY))


def make_nothing() -> None:
    return None


def message(app: Celery, queue: str) -> Any:
    with app.connection_for_read() as connection:
        return connection.default_channel.basic_get(queue, no_ack=True)


def test_each_kind_of_job_has_a_queue_of_its_own() -> None:
    assert QUEUES.keys() == {kind.value for kind in JobKind}
    assert len({*QUEUES.values(), queue_of("of tomorrow", "")}) == len(JobKind) + 1


def test_a_route_names_the_queue_by_kind_and_database() -> None:
    runner = CeleryJobRunner("memory://", route=lambda kind, waits_for: f"{kind} on {waits_for}")
    runner.start(lambda _: None)
    runner.submit_routed("a job", kind="sql", queue="db", time_limit_s=5.0)
    found = message(runner.app, "sql on db")
    assert (found.decode()[:2], found.headers["timelimit"]) == ([["a job"], {}], [65.0, None])
    runner.close()


def test_a_task_of_a_runner_is_no_task_of_other_apps() -> None:
    runner, other = CeleryJobRunner("memory://"), celery_app("memory://other")
    runner.start(lambda _: None)
    assert "analytics_core.run_job" not in other.tasks
    task = runner.app.tasks["analytics_core.run_job"]
    assert (task.acks_late, task.reject_on_worker_lost, runner.app.conf.worker_prefetch_multiplier) == (True, True, 1)
    runner.close()


def test_a_runner_serves_one_core() -> None:
    runner = CeleryJobRunner(celery_app("memory://"))
    runner.start(lambda _: None)
    for one in (runner, CeleryJobRunner(runner.app)):
        with pytest.raises(JobError, match="serves another core already"):
            one.start(lambda _: None)


def test_an_app_that_accepts_pickle_is_refused() -> None:
    app = Celery("careless", broker="memory://", set_as_current=False)
    app.conf.accept_content = ["json", "pickle"]
    with pytest.raises(SettingsError, match="accepts pickle"):
        CeleryJobRunner(app)


@for_each(
    "url", ["nonsense", "nothing://user:s3same@host", "http://user:s3same@host", "redis://:s3same@h/0?password=s3same"]
)
def test_what_is_no_broker_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(SettingsError, match="the URL of the broker is none") as caught:
        CeleryJobRunner(url)
    assert "s3same" not in str(caught.value)


def test_a_worker_of_a_core_whose_jobs_go_elsewhere_says_what_it_needs(core: AnalyticsCore) -> None:
    with pytest.raises(SettingsError, match=r"a worker needs a broker.*the core hands its jobs to a ThreadJobRunner"):
        run_worker(core)


@for_each(
    ("path", "problem"),
    [
        ("tests.unit.test_celery_runner:make_core", "a worker needs a broker"),
        ("tests.unit.test_celery_runner:make_nothing", "returned no AnalyticsCore"),
        ("tests.unit.test_celery_runner:missing", "must name a function"),
        ("tests.unit.no_such_module:make_core", "there is no module 'tests.unit.no_such_module' in the working folder"),
        ("no_such_package.core:make_core", "there is no module 'no_such_package' in the working folder"),
        ("tests.unit.test_celery_runner", "must name a function"),
        (".test_celery_runner:make_core", "must name a function"),
        ("", "name the metadata store"),
    ],
)
def test_the_worker_of_the_command_line_says_what_is_wrong(
    path: str, problem: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("ANALYTICS_CORE_")}
    assert main(["worker", "--core", path], environment) == 2
    assert problem in capsys.readouterr().err
