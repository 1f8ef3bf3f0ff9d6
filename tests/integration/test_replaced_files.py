"""A database file that somebody puts a new one in place of, as nightly exports do, is read anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import duckdb
import pytest

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import DatabaseError

KEY = "a-test-key-that-is-long-enough-9f3a"
OPEN = {"sqlite": sqlite3.connect, "duckdb": duckdb.connect}


def write(engine: str, file: Path, country: str) -> None:
    with closing(OPEN[engine](file)) as connection:
        connection.execute("CREATE TABLE orders (country VARCHAR)")
        connection.execute(f"INSERT INTO orders VALUES ('{country}')")
        connection.commit()


@pytest.fixture(params=sorted(OPEN))
def engine(request) -> str:
    return request.param


@pytest.fixture
def core(engine, tmp_path) -> Iterator[AnalyticsCore]:
    """A core over `shop`, which leads to `first`."""
    write(engine, tmp_path / "first", "old")
    (tmp_path / "shop").symlink_to(tmp_path / "first")
    with AnalyticsCore(Settings(secret_key=KEY, data_roots=(tmp_path,))) as host:
        core = host.as_user(host.create_first_administrator("ada"))
        core.databases.create({"database_name": "shop", "orm_uri": f"{engine}:///{tmp_path}/shop"})
        core.datasets.create({"database": 1, "table_name": "orders"})
        yield core


def answer(core: AnalyticsCore) -> list[str]:
    payload = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["country"]}], "force": True}
    return [row["country"] for row in core.charts.data(payload).raise_for_error().results[0].data]


def put_in_place(engine: str, folder: Path) -> None:
    write(engine, folder / "second", "new")
    (folder / "second").replace(folder / "first")


def lead_elsewhere(engine: str, folder: Path) -> None:
    write(engine, folder / "second", "new")
    (folder / "link").symlink_to(folder / "second")
    (folder / "link").replace(folder / "shop")


@pytest.mark.parametrize("replace", [put_in_place, lead_elsewhere])
def test_the_new_file_is_read(core: AnalyticsCore, engine: str, tmp_path: Path, replace: Callable[..., None]) -> None:
    assert answer(core) == ["old"]
    replace(engine, tmp_path)
    assert answer(core) == ["new"]


def test_a_file_that_is_gone_is_an_error_until_one_is_there(core: AnalyticsCore, engine: str, tmp_path: Path) -> None:
    assert answer(core) == ["old"]
    (tmp_path / "first").unlink()
    with pytest.raises(DatabaseError, match="there is no file"):
        answer(core)
    write(engine, tmp_path / "first", "new")
    assert answer(core) == ["new"]


def test_a_statement_that_runs_meanwhile_is_left_alone(core: AnalyticsCore, engine: str, tmp_path: Path) -> None:
    with core._runtime.content.store.unit_of_work() as unit:
        connect = partial(core._runtime.parts.connector.engine, unit.databases.get(1))
    with connect().connect() as running:
        put_in_place(engine, tmp_path)
        meanwhile = [answer(core) for _ in range(3)]
        assert meanwhile == [["old" if engine == "duckdb" else "new"]] * 3  # DuckDB opens a file once per process
        assert running.exec_driver_sql("SELECT country FROM orders").scalar() == "old"
    assert answer(core) == ["new"]
