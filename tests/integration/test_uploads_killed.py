"""A process that is killed in the middle of an upload leaves no table, and the next upload cleans up after it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.uploading import UploadTarget, driver_url, empty_file, upload_target

import analytics_core
from analytics_core import errors
from analytics_core._engine.files.names import RESERVED_PREFIX

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(
    params=[
        "sqlite",
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.server),
        pytest.param("mariadb", marks=[pytest.mark.server, pytest.mark.long]),
    ]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    engine: str = request.param
    if engine in ("sqlite", "duckdb"):
        return empty_file(engine, tmp_path)
    return driver_url(request.getfixturevalue(f"make_{engine}_database")())


@contextmanager
def half_way(url: str, if_exists: str, folder: Path) -> Iterator[None]:
    """Have a process that wrote half of its rows, and kill it."""
    program = [sys.executable, "-m", "tests.support.killed_uploads", url, if_exists, str(folder)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"half\n"
            yield
        finally:
            process.kill()


def tables_when_cleaned_up(target: UploadTarget) -> list[str]:
    """Upload until one finds the dead process's lock free: MariaDB rolls its rows back before it lets the lock go."""
    latest = time.monotonic() + 30
    while unfinished(target) and time.monotonic() < latest:
        target.upload(b"id\n3\n", table="cleaning", if_exists="replace")
    return [*unfinished(target), *(name for name in target.tables() if name != "cleaning")]


def unfinished(target: UploadTarget) -> list[str]:
    """Return the tables of unfinished uploads, which the library shows nobody; only MariaDB has such."""
    if not target.url.startswith("mysql"):
        return []
    return [name for (name,) in target.own("SHOW TABLES") if name.startswith(RESERVED_PREFIX)]


def test_a_killed_upload_leaves_no_table(url: str, tmp_path: Path) -> None:
    with half_way(url, "fail", tmp_path):
        pass
    with upload_target(url) as target:
        assert "uploaded" not in target.tables()
        target.upload(b"id\n1\n")
        assert target.rows() == [{"id": 1}]
        assert tables_when_cleaned_up(target) == ["uploaded"]


@pytest.mark.parametrize("if_exists", ["replace", pytest.param("append", marks=pytest.mark.long)])
def test_a_killed_upload_leaves_the_table_that_was_there(url: str, if_exists: str, tmp_path: Path) -> None:
    with upload_target(url) as target:
        target.upload(b"id,text\n1,first\n")
    with half_way(url, if_exists, tmp_path):
        pass
    with upload_target(url) as target:
        assert target.rows() == [{"id": 1, "text": "first"}]
        target.upload(b"id,text\n2,second\n", if_exists="append")
        assert len(target.rows()) == 2
        assert tables_when_cleaned_up(target) == ["uploaded"]


@pytest.mark.server
def test_the_rows_of_an_upload_that_goes_on_are_not_cleaned_up(
    make_mariadb_database: Callable[[], str], tmp_path: Path
) -> None:
    url = driver_url(make_mariadb_database())
    with upload_target(url) as target:
        with half_way(url, "fail", tmp_path):
            target.upload(b"id\n1\n", table="another")
            assert len(unfinished(target)) == 1
            assert target.tables() == ["another"]
        assert tables_when_cleaned_up(target) == ["another"]


@pytest.mark.server
def test_rows_of_an_upload_that_goes_on_are_read_by_nobody(
    make_mariadb_database: Callable[[], str], tmp_path: Path
) -> None:
    url = driver_url(make_mariadb_database())
    with upload_target(url) as target, half_way(url, "fail", tmp_path):
        name, databases = unfinished(target)[0], target.core.databases
        virtual = {"database": 1, "table_name": "v", "sql": f"SELECT * FROM {name.upper()}"}
        for ask in (
            lambda: databases.table(1, name),
            lambda: databases.samples(1, name),
            lambda: databases.select_star(1, name),
            lambda: target.core.datasets.create({"database": 1, "table_name": name}),
            lambda: target.core.datasets.create(virtual),
            lambda: target.upload(b"id\n1\n", table=name),
        ):
            with pytest.raises(errors.AnalyticsError, match=r"unfinished|not finished"):
                ask()


def test_a_pooled_connection_goes_on_after_another_process_died_while_it_wrote(tmp_path: Path) -> None:
    url = empty_file("sqlite", tmp_path)
    with upload_target(url) as target:
        target.upload(b"id,text\n1,first\n")
        assert len(target.rows()) == 1
        with half_way(url, "append", tmp_path):
            pass
        assert (tmp_path / "shop.sqlite-journal").stat().st_size > 0
        assert target.rows() == [{"id": 1, "text": "first"}]


def test_a_file_that_takes_no_writes_tells_that_a_write_was_cut_off(tmp_path: Path) -> None:
    url = empty_file("sqlite", tmp_path)
    with half_way(url, "fail", tmp_path):
        pass
    with pytest.raises(errors.DatabaseError, match="died while it wrote"):
        analytics_core.connect(url)
