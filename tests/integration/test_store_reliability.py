"""What was acknowledged is kept, whole, when writers are killed; and nobody's change is lost to somebody else's."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, event, make_url
from tests.support.killed_writers import COUNTED, KEY, TAGS_OF_EVEN, TAGS_OF_ODD, open_core

from analytics_core import AnalyticsCore, Settings
from analytics_core._records.chart import Chart
from analytics_core._records.repositories import ListQuery
from analytics_core.errors import AlreadyExistsError, StoreUnavailableError
from analytics_core.testing.store.records import a_database, a_dataset

WRITERS = Path(__file__).parents[1] / "support" / "killed_writers.py"
ROUNDS = 40
EVERYTHING = ListQuery(page_size=1_000_000)
LATER = (pytest.mark.server, pytest.mark.long)
FILE_AND_SERVERS = (
    "file",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=LATER),
)


@pytest.fixture(params=FILE_AND_SERVERS)
def url(request, tmp_path):
    """A store with two people, a dataset, three tags and the chart that is counted."""
    url = f"sqlite:///{tmp_path}/meta.db"
    if request.param != "file":
        url = request.getfixturevalue(f"make_{request.param}_database")()
    with open_core(url) as core:
        core.create_first_administrator("admin")
        core.users.create({"username": "second", "roles": [1]})
        with core._runtime.content.store.unit_of_work() as unit:
            database = unit.databases.add(a_database(), actor_id=None)
            unit.datasets.append(a_dataset(database.id), actor_id=None)
        for name in "abc":
            core.tags.create({"name": name})
        with core._runtime.content.store.unit_of_work() as unit:
            unit.charts.append(
                Chart(uuid="c", slice_name="counted", description="0", tag_ids=TAGS_OF_EVEN, owner_ids=(1,)), actor_id=1
            )
    return url


def run_writers(*arguments):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(WRITERS), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "url", ["file", *(pytest.param(kind, marks=LATER) for kind in ("postgres", "mariadb"))], indirect=True
)
def test_writers_killed_in_the_middle_lose_nothing_that_was_acknowledged(url, tmp_path):
    ledger = tmp_path / "ledger"
    ledger.touch()
    run_writers("kill", url, ledger, ROUNDS, 7)
    lines = [line.split(" ", 1) for line in ledger.read_text().splitlines()]
    acknowledged = {kind: [value for seen, value in lines if seen == kind] for kind in ("created", "counted")}
    assert len(lines) >= ROUNDS  # each writer finished at least one
    with open_core(url) as core, core._runtime.content.store.unit_of_work() as unit:
        charts = {chart.slice_name: chart for chart in unit.charts.list(EVERYTHING)[1] if chart.id != COUNTED}
        counted = unit.charts.get(COUNTED)
        logged = Counter((entry.action, entry.slice_id) for entry in unit.logs.list(EVERYTHING)[1])
    check_created(charts, set(acknowledged["created"]), logged)
    check_counted(counted, [int(value) for value in acknowledged["counted"]], logged)
    if url.startswith("sqlite"):
        check_file(url)


def check_created(charts, acknowledged, logged):
    assert acknowledged <= charts.keys()
    assert len(charts) - len(acknowledged) <= ROUNDS + 1  # a killed writer may have done one more than it could say
    assert all(chart.owner_ids == (1, 2) and chart.audit.version == 1 for chart in charts.values())
    entries = {slice_id: times for (action, slice_id), times in logged.items() if action == "chart.create"}
    assert entries == {chart.id: 1 for chart in charts.values()}


def check_counted(chart, acknowledged, logged):
    times = int(chart.description)
    assert acknowledged == sorted(set(acknowledged))
    assert times >= max(acknowledged, default=0)
    assert chart.tag_ids == (TAGS_OF_ODD if times % 2 else TAGS_OF_EVEN)
    assert chart.audit.version == times + 1
    assert logged[("chart.update", COUNTED)] == times


def check_file(url):
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.slow
@pytest.mark.parametrize("retry", ["retry", pytest.param("once", marks=pytest.mark.long)])
def test_eight_writers_of_one_record_lose_no_update(url, retry):
    accepted, rejected = map(int, run_writers("count", url, COUNTED, 8, 12, retry).split())
    assert accepted == 96 if retry == "retry" else accepted + rejected == 96
    assert rejected > 0
    with open_core(url) as core, core._runtime.content.store.unit_of_work() as unit:
        chart = unit.charts.get(COUNTED)
    assert (int(chart.description), chart.audit.version) == (accepted, accepted + 1)


@pytest.fixture
def stored(tmp_path):
    """A core on a file that has a tag, and the file."""
    with open_core(f"sqlite:///{tmp_path}/own.db") as core:
        core.create_first_administrator("admin")
        admin = core.as_user("admin")
        admin.tags.create({"name": "first"})
        yield admin, tmp_path / "own.db"


def test_a_write_into_a_deleted_file_is_not_acknowledged(stored):
    core, file = stored
    for path in file.parent.glob("own.db*"):
        path.unlink()
    with pytest.raises(StoreUnavailableError, match="deleted"):
        core.tags.create({"name": "second"})
    assert not file.exists()  # no empty store in its place


def test_a_file_that_is_deleted_while_a_unit_writes_is_told(stored):
    core, file = stored

    def write():
        with core._runtime.content.store.unit_of_work() as unit:
            unit.tags.delete(1)
            file.unlink()

    with pytest.raises(StoreUnavailableError, match="deleted"):
        write()


def replace_by_a_copy(file):
    """Put a copy in the place of a store's file, as somebody does who restores a backup."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    copy = file.with_name("copy.db")
    with closing(sqlite3.connect(file)) as old, closing(sqlite3.connect(copy)) as new:
        old.backup(new)
    for path in (*file.parent.glob("own.db-*"), *file.parent.glob("copy.db-*")):
        path.unlink()
    copy.rename(file)


def test_a_file_that_was_replaced_is_read_anew(stored):
    core, file = stored
    replace_by_a_copy(file)
    assert [tag.name for tag in core.tags.list().result] == ["first"]
    core.tags.create({"name": "third"})
    assert core.tags.list().count == 2


@pytest.mark.slow
def test_a_file_that_is_replaced_while_a_unit_writes_is_told_though_others_read_the_new_one(stored):
    core, file = stored

    def write():
        with core._runtime.content.store.unit_of_work() as unit:
            unit.tags.delete(1)
            replace_by_a_copy(file)
            assert core.tags.list().count == 1

    with pytest.raises(StoreUnavailableError, match="replaced"):
        write()


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        ("damage", "no SQLite database or is damaged"),
        ("replace by a folder", "cannot be opened"),
        ("lock", "locked by another program"),
        ("drop a table", "lacks a table"),
        ("fill", "no room on its disk"),
    ],
)
def test_the_error_of_a_file_tells_what_is_wrong_with_it(tmp_path, spoil, cause):
    file = tmp_path / "spoilt.db"
    with a_store_of(f"sqlite:///{file}") as core, closing(sqlite3.connect(file, isolation_level=None)) as other:
        if spoil == "damage":
            core.close()
            file.write_bytes(b"no database at all" * 1000)
        elif spoil == "replace by a folder":
            core.close()
            file.unlink()
            file.mkdir()
        elif spoil == "lock":
            other.execute("BEGIN IMMEDIATE")
        elif spoil == "drop a table":
            other.execute("DROP TABLE ac_tags")
        else:
            event.listen(core._runtime.content.store._engine, "checkout", leave_no_room)
        with pytest.raises(StoreUnavailableError, match=cause) as rejection, a_store_of(f"sqlite:///{file}") as again:
            (core if spoil == "fill" else again).tags.create({"name": "x", "description": "y" * 100_000})
    assert str(tmp_path) not in str(rejection.value)


def leave_no_room(connection, *_):
    connection.execute("PRAGMA max_page_count = 1").close()  # no less than there are now


def a_store_of(url):
    """Return the core of a store, made when it is new, that waits for nothing long."""
    with AnalyticsCore(Settings(secret_key=KEY), metadata_url=url) as core, suppress(AlreadyExistsError):
        core.create_first_administrator("admin")
    return AnalyticsCore(Settings(secret_key=KEY, store_timeout_s=0.5), metadata_url=url, acting_as=1)


@pytest.mark.server
@pytest.mark.parametrize(
    ("kind", "change", "cause"),
    [
        ("postgres", {"database": "not_there"}, "no database of the name"),
        ("postgres", {"username": "n0body"}, "does not accept the user"),
        ("postgres", {"port": 1}, "cannot be reached"),
        ("mariadb", {"database": "not_there"}, "no database of the name"),
        ("mariadb", {"username": "n0body", "password": "hunter2"}, "does not accept the user"),
        ("mariadb", {"port": 1}, "cannot be reached"),
    ],
)
def test_the_error_of_a_server_tells_why_it_gives_no_store(request, kind, change, cause):
    url = make_url(request.getfixturevalue(f"make_{kind}_database")()).set(**change)
    with pytest.raises(StoreUnavailableError, match=cause) as rejection, a_store_of(url.render_as_string(False)):
        pass
    assert not any(name in str(rejection.value) for name in ("not_there", "n0body", "hunter2", "127.0.0.1"))


@pytest.mark.server
@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_the_error_of_a_server_tells_why_it_takes_no_write(request, kind):
    url = request.getfixturevalue(f"make_{kind}_database")()
    with a_store_of(url) as core, create_engine(url, poolclass=NullPool).connect() as other:
        read_only = "BEGIN READ ONLY" if kind == "postgres" else "START TRANSACTION READ ONLY"
        event.listen(core._runtime.content.store._engine, "begin", lambda used: used.exec_driver_sql(read_only))
        with pytest.raises(StoreUnavailableError, match="may only be read"):
            core.tags.create({"name": "x"})
        other.exec_driver_sql("DROP TABLE ac_favourites")
        other.commit()
        with (
            pytest.raises(StoreUnavailableError, match="lacks a table"),
            core._runtime.content.store.unit_of_work() as unit,
        ):
            unit.favourites.list(EVERYTHING)
