"""A forked child starts its connections, threads and locks anew; what lives in memory is refused by name."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.shop import context, hosted_core, shop_url

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core.errors import DatabaseError, StoreUnavailableError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here"),
    # Python 3.12 warns of forks beside threads, which is what these tests are about.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]

CHILD_S = 60.0
COUNT = {"metrics": ["count"]}


def in_child(work: Callable[[], object]) -> None:
    """Run `work` in a forked child, which must end well and in time."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + CHILD_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail(f"the child hung for {CHILD_S} s")


def count(core: AnalyticsCore) -> int:
    answer = core.as_user("admin").charts.data(context(COUNT), force=True).raise_for_error()
    return int(answer.results[0].frame.columns[0].to_list()[0])


@pytest.fixture(params=["sqlite", "duckdb"])
def on_files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnalyticsCore]:
    url = shop_url(tmp_path, request.param)
    with hosted_core(url, metadata_url=f"sqlite:///{tmp_path}/meta.db") as host:
        yield host


def test_parent_and_children_use_files_side_by_side(on_files: AnalyticsCore) -> None:
    orders = count(on_files)

    def use() -> None:
        for _ in range(5):
            assert count(on_files) == orders
            on_files.as_user("admin").tags.create({"name": uuid4().hex})

    for _ in range(3):
        in_child(use)
        use()
    assert on_files.as_user("admin").tags.list().count == 30


def test_locks_that_other_threads_hold_are_free_in_a_child(on_files: AnalyticsCore) -> None:
    orders, over, locked = count(on_files), threading.Event(), threading.Event()
    runtime = on_files._runtime

    def hold() -> None:
        with runtime.parts.cache._lock, runtime.actors._cached._guard, runtime.parts.store._counting:
            locked.set()
            over.wait(CHILD_S)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert locked.wait(5)
        in_child(lambda: count(on_files) == orders or sys.exit(1))
    finally:
        over.set()
        thread.join()


def test_a_child_runs_jobs_of_its_own_and_finds_those_of_its_parent(on_files: AnalyticsCore) -> None:
    core = on_files.as_user("admin")
    job = core.charts.submit(context(COUNT))
    data = job.result(timeout_s=30).results[0].data

    def use() -> None:
        assert job.result().results[0].data == data
        assert core.charts.job(job.job_id).result().results[0].data == data
        own = core.charts.submit(context(COUNT))
        assert own.result(timeout_s=30).results[0].data == data
        assert own.job_id in {item.job_id for item in core.jobs.list().result}

    in_child(use)
    assert core.jobs.list().count == 2


@pytest.mark.parametrize("url", ["sqlite://", "duckdb://"])
def test_a_database_in_memory_is_refused_in_a_child(tmp_path: Path, url: str) -> None:
    with hosted_core(shop_url(tmp_path), metadata_url=f"sqlite:///{tmp_path}/meta.db") as host:
        core = host.as_user("admin")
        memory = core.databases.create({"database_name": "memory", "orm_uri": url})

        def use() -> None:
            with pytest.raises(DatabaseError, match="forked"):
                core.databases.tables(memory.id)
            assert count(host) > 0

        assert core.databases.tables(memory.id) == ()
        in_child(use)
        assert core.databases.tables(memory.id) == ()


def test_a_store_in_memory_is_refused_in_a_child(tmp_path: Path) -> None:
    with analytics_core.connect(shop_url(tmp_path)) as core:

        def use() -> None:
            with pytest.raises(StoreUnavailableError, match="forked"):
                core.datasets.list()
            with analytics_core.connect(shop_url(tmp_path / "child")) as own:
                assert own.databases.tables(1)

        (tmp_path / "child").mkdir()
        in_child(use)
        assert core.databases.tables(1)


@pytest.fixture(params=["postgres", "mariadb"])
def on_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnalyticsCore]:
    url = request.getfixturevalue(f"make_{request.param}_database")()
    with hosted_core(shop_url(tmp_path), metadata_url=url) as host:
        core = host.as_user("admin")
        server = core.databases.create({"database_name": "server", "orm_uri": url})
        core.datasets.create({"database": server.id, "table_name": "v", "sql": "SELECT 1 AS one"})
        yield host


@pytest.mark.server
def test_parent_and_children_use_servers_side_by_side(on_server: AnalyticsCore) -> None:
    question = context({"columns": ["one"]}, dataset=2)

    def use() -> None:
        core = on_server.as_user("admin")
        for _ in range(5):
            answer = core.charts.data(question, force=True).raise_for_error()
            assert answer.results[0].data == [{"one": 1}]
            core.tags.create({"name": uuid4().hex})

    use()
    before = {tag.name for tag in on_server.as_user("admin").tags.list().result}
    for _ in range(2):
        in_child(use)
    on_server.as_user("admin").charts.data(question, force=True).raise_for_error()
    assert len(before) == 5
    assert on_server.as_user("admin").tags.list().count == 15
