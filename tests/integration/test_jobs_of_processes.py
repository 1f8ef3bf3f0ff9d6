"""Any process of a store finds, runs, reads and stops any job, and one that dies loses its jobs in the end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support import job_worker
from tests.support.job_worker import LEASE_S, open_core
from tests.support.shop import ORDERS, context, shop_url

from analytics_core._content.jobs.handlers import JobEnds
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.shared_state import JobRecord
from analytics_core.models.enums import JobState, QueryStatus

pytestmark = pytest.mark.slow

COUNT = context({"metrics": ["count"]})
SLOW = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000000000) SELECT x FROM n"
PATIENCE_S = 30
STORES = (
    "file",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=[pytest.mark.server, pytest.mark.long]),
)


class Process:
    """A process of the store, told by lines of JSON."""

    def __init__(self, url: str, root: Path) -> None:
        command = [sys.executable, job_worker.__file__, url, str(root)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._is_ready = False

    def tell(self, *line: Any) -> Any:
        if not self._is_ready:  # so that several begin at the same time
            self._is_ready = self._answer() == "ready"
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def wait_for(self, job_id: str, *states: str) -> str:
        end = time.monotonic() + PATIENCE_S
        while (state := self.tell("state", job_id)) not in states and time.monotonic() < end:
            time.sleep(0.05)
        return str(state)

    def wait_until(self, verb: str, wanted: Any) -> Any:
        end = time.monotonic() + PATIENCE_S
        while (found := self.tell(verb)) != wanted and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def kill(self) -> None:
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.wait()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process ended"
        return json.loads(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two processes of a store, and where it is."""

    url: str
    folder: Path
    host: Process
    reader: Process


@pytest.fixture(scope="module", params=["file"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A store, and two processes of it that no test kills."""
    kind, folder = request.param, tmp_path_factory.mktemp("jobs")
    url = f"sqlite:///{folder}/meta.db" if kind == "file" else request.getfixturevalue(f"make_{kind}_database")()
    with open_core(url, str(folder)) as core:
        core.create_first_administrator("admin")
        acting = core.as_user(1)
        acting.databases.create(
            {"database_name": "shop", "orm_uri": shop_url(folder), "expose_in_sqllab": True, "allow_run_async": True}
        )
        acting.datasets.create({"database": 1, "table_name": "orders"})
        acting.datasets.create({"database": 1, "table_name": "slow", "sql": SLOW})
    with ExitStack() as stack:
        made = Pair(url=url, folder=folder, host=Process(url, folder), reader=Process(url, folder))
        for process in (made.host, made.reader):
            stack.callback(process.kill)
        yield made


@pytest.fixture
def three(pair: Pair) -> Iterator[tuple[Process, Process, Process]]:
    """Three processes on one store, of which a test may kill the second."""
    worker = Process(pair.url, pair.folder)
    try:
        yield pair.host, worker, pair.reader
    finally:
        worker.kill()


def slow() -> dict[str, Any]:
    return context({"metrics": ["count"]}, dataset=2)


@pytest.mark.long
@pytest.mark.parametrize("pair", STORES, indirect=True, scope="module")
def test_three_processes_find_and_read_one_job_that_one_of_them_runs(three: tuple[Process, ...]) -> None:
    host = three[0]
    job = host.tell("submit", COUNT)
    assert [process.tell("state", job) for process in three] == ["pending"] * 3
    for process in three:  # a queue may hand an id out more than once
        process.tell("run", job)
    assert [process.tell("result", job) for process in three] == [[{"count": len(ORDERS)}]] * 3
    payloads = [process.tell("payload", job) for process in three]
    assert payloads[0] == payloads[1] == payloads[2]
    assert payloads[0]["status"] == QueryStatus.SUCCESS


def test_a_job_is_stopped_from_another_process(three: tuple[Process, ...]) -> None:
    host, worker, other = three
    job = host.tell("submit", slow())
    worker.tell("run", job)
    assert other.wait_for(job, "running") == "running"
    began = time.monotonic()
    other.tell("cancel", job)
    assert host.wait_for(job, "stopped") == "stopped"
    assert time.monotonic() - began < PATIENCE_S / 2
    assert worker.tell("result", job)[0] == "StatementStoppedError"
    assert worker.tell("run", job) is None  # it is over
    assert host.tell("state", job) == "stopped"


@pytest.mark.parametrize("how", ["runs elsewhere", pytest.param("runs where it was submitted", marks=pytest.mark.long)])
def test_a_job_whose_process_is_killed_is_lost_after_its_lease(three: tuple[Process, ...], how: str) -> None:
    host, worker, reader = three
    job = worker.tell("submit_here", slow()) if how.endswith("submitted") else host.tell("submit", slow())
    if how == "runs elsewhere":
        worker.tell("run", job)
    assert reader.wait_for(job, "running") == "running"
    time.sleep(LEASE_S * 1.5)
    assert reader.tell("state", job) == "running"  # its lease is renewed
    worker.kill()
    assert reader.wait_for(job, "lost") == "lost"
    assert reader.tell("result", job)[0] == "JobError"
    assert "lost" in host.tell("result", job)[1]
    assert host.tell("payload", job)["status"] == QueryStatus.FAILED


def test_executions_of_a_killed_process_fail_and_others_are_stopped_from_elsewhere(three: tuple[Process, ...]) -> None:
    host, worker, reader = three
    counted = SLOW.removesuffix("SELECT x FROM n") + "SELECT COUNT(*) AS c FROM n"
    worker.tell("execute", "here", counted)
    worker.tell("execute_in_background", "behind", counted)
    host.tell("execute", "stopped", counted)
    running = {"here": "running", "behind": "running", "stopped": "running"}
    assert reader.wait_until("executions", running) == running
    time.sleep(LEASE_S * 1.5)
    assert reader.tell("executions") == running  # their leases are renewed
    reader.tell("stop", "stopped")
    worker.kill()
    over = {"here": "failed", "behind": "failed", "stopped": "stopped"}
    assert reader.wait_until("executions", over) == over
    assert "the process that ran it ended" in reader.tell("error_message", "behind")


@pytest.mark.server
def test_jobs_end_while_another_process_makes_room(make_postgres_database: Callable[..., str], tmp_path: Path) -> None:
    with open_core(make_postgres_database(), str(tmp_path)) as core:
        store, settings = core._runtime.content.store, core._runtime.parts.settings
        with store.unit_of_work() as unit:
            old = JobRecord(job_id="old", kind="chart-data", payload="{}", user_id=0, expires_on=unit.now())
            unit.jobs.add(replace(old, state=JobState.SUCCESS, ended_on=unit.now()), actor_id=None)
            running = JobRecord(job_id="runs", kind="chart-data", payload="{}", user_id=0, state=JobState.RUNNING)
            unit.jobs.add(running, actor_id=None)
        with store.unit_of_work() as unit:
            job = unit.jobs.find(job_id="runs")
            with store.unit_of_work() as other:
                assert other.jobs.delete_matching([ListFilter(col="job_id", op="eq", val="old")]) == 1
            assert job is not None
            JobEnds(settings).record(unit, job, JobState.FAILED)
        with store.unit_of_work() as unit:
            assert [one.state for one in unit.jobs.list(ListQuery())[1]] == [JobState.FAILED]
