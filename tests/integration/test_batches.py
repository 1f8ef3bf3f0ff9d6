"""`charts.batches` and `datasets.batches` on four engines: the same values, the rows of the reader, little memory."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from tests.support.shop import add_reader, context, hosted_core
from tests.support.tenant_world import ENGINES, ROWS, TENANT_CLAUSE, url_on

import analytics_core
from analytics_core import AnalyticsCore, BatchStream
from analytics_core._records.datasource import Access
from analytics_core.errors import (
    DatasetAccessError,
    NotFoundError,
    QueryError,
    StatementStoppedError,
    UnknownColumnError,
)
from analytics_core.ports import Observation

COUNT = 20_000
"""More than a batch, of 16,384 rows; DuckDB gives larger ones."""
MANY = 250_000
PROCESS = Path(__file__).parents[1] / "support" / "streaming_process.py"
SERIES = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) SELECT i FROM n",
    "duckdb": "SELECT generate_series AS i FROM generate_series(1, {count})",
    "postgresql": "SELECT i FROM generate_series(1, {count}) AS n(i)",
    "mysql": "SELECT seq AS i FROM seq_1_to_{count}",
}
TYPES = {
    "sqlite": ("BOOLEAN", "DECIMAL(12, 2)", "DOUBLE", "TIMESTAMP", "TEXT"),
    "duckdb": ("BOOLEAN", "DECIMAL(12, 2)", "DOUBLE", "TIMESTAMP", "TEXT"),
    "postgresql": ("BOOLEAN", "NUMERIC", "DOUBLE PRECISION", "TIMESTAMP", "TEXT"),
    "mysql": ("BOOLEAN", "DECIMAL(12, 2)", "DOUBLE", "DATETIME", "VARCHAR(200)"),
}
FIRST_DAY = date(2020, 1, 1)


def row(number: int) -> tuple[Any, ...]:
    """A row as plain Python: the third of `price` has more digits the later it comes, `late` begins late."""
    moment = datetime(2020, 1, 1) + timedelta(minutes=number)
    return (
        number,
        f"name {number % 1000} Ärger",
        None if number % 7 == 0 else number % 2 == 0,
        None if number % 5 == 0 else Decimal(number) / 100,
        number / 3,
        FIRST_DAY + timedelta(days=number % 1000),
        moment,
        "x" * (number % 200),
        None if number < 17_000 else number,
    )


NAMES = ("id", "name", "flag", "price", "ratio", "day", "moment", "filler", "late")


def count_on(engine: str) -> int:
    return 2 * COUNT if engine == "duckdb" else COUNT


class Recorder:
    """Keeps what is observed."""

    def __init__(self) -> None:
        self.reported: list[Observation] = []

    def observe(self, observation: Observation) -> None:
        self.reported.append(observation)

    def close(self) -> None:
        pass

    def forget(self, last: int) -> None:
        """Forget all up to the question that gave `last` rows: observers are told by another thread, in order."""
        latest = time.monotonic() + 20
        while not (self.reported and self.reported[-1].rows == last) and time.monotonic() < latest:
            time.sleep(0.01)
        self.reported.clear()

    def take(self, count: int) -> list[Observation]:
        """Return what is observed, once there is so much of it."""
        latest = time.monotonic() + 20
        while len(self.reported) < count and time.monotonic() < latest:
            time.sleep(0.01)
        assert len(self.reported) == count
        return self.reported


class World:
    """A core over a table of many rows, with readers; `engine` as SQLAlchemy calls it."""

    def __init__(self, engine: str, url: str, recorder: Recorder, core: AnalyticsCore) -> None:
        self.engine, self.url, self.recorder, self.host = engine, url, recorder, core
        self.count = count_on(engine)
        self.admin = core.as_user("admin")

    @property
    def lent(self) -> int:
        with self.host._runtime.content.store.unit_of_work() as unit:
            database = unit.databases.get(1)
        engine: Any = self.host._runtime.parts.connector.engine(database, identity=None, access=Access.READ)
        return int(engine.pool.checkedout())


def fill(engine: str, url: str) -> None:
    flag, price, ratio, moment, text = TYPES[engine]
    owner = sa.create_engine(url, poolclass=sa.NullPool)
    with owner.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE TABLE many (id INTEGER, name {text}, flag {flag}, price {price}, ratio {ratio}, "
            f"day DATE, moment {moment}, filler {text}, late INTEGER)"
        )
        connection.exec_driver_sql("CREATE TABLE orders (id INTEGER, tenant VARCHAR(20))")
        for sold in ROWS:
            connection.execute(sa.text("INSERT INTO orders VALUES (:id, :tenant)"), {"id": sold[0], "tenant": sold[1]})
        if engine == "duckdb":
            table = pa.table(
                [pa.array(values) for values in zip(*map(row, range(count_on(engine))), strict=True)], names=NAMES
            )
            raw: Any = connection.connection.driver_connection
            raw.register("given", table)
            raw.execute("INSERT INTO many SELECT * FROM given")
            raw.unregister("given")
            return
        plain = [
            tuple(str(value) if engine == "sqlite" and isinstance(value, date) else value for value in row(number))
            for number in range(count_on(engine))
        ]
        if engine == "sqlite":
            plain = [tuple(float(v) if isinstance(v, Decimal) else v for v in values) for values in plain]
        marks = ", ".join(f":{name}" for name in NAMES)
        connection.execute(
            sa.text(f"INSERT INTO many VALUES ({marks})"), [dict(zip(NAMES, values, strict=True)) for values in plain]
        )
    owner.dispose()


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    url = url_on(request, tmp_path_factory.mktemp("many"))
    fill(request.param, url)
    recorder = Recorder()
    options = {"statement_timeout_s": 20.0, "metadata_freshness_s": 0, "max_row_limit": 20 * COUNT}
    with hosted_core(url, settings=options, observer=recorder) as core:
        core.as_user("admin").datasets.create({"database": 1, "table_name": "many"})
        yield World(request.param, url, recorder, core)


def table(stream: BatchStream) -> pa.Table:
    with stream:
        return pa.Table.from_batches(list(stream), stream.schema)


RAW = {"columns": list(NAMES), "metrics": None, "row_limit": 0, "orderby": [["id", True]]}


@pytest.mark.slow
def test_a_stream_has_the_values_of_the_answer(world: World) -> None:
    answer = world.admin.charts.data(context(RAW, dataset=2), force=True).results[0]
    streamed = table(world.admin.charts.batches(context(RAW, dataset=2)))
    assert streamed.num_rows == world.count
    assert streamed.column_names == list(NAMES)
    for name, column, expected in zip(NAMES, streamed.columns, answer.arrow().columns, strict=True):
        mine, theirs = column.to_pylist(), expected.to_pylist()
        assert mine == theirs, name
        assert {*map(type, mine)} == {*map(type, theirs)}, name
    assert world.lent == 0


@pytest.mark.slow
def test_a_stream_has_the_values_that_were_stored(world: World) -> None:
    streamed = table(world.admin.datasets.batches(2)).sort_by("id")
    expected = [row(number) for number in range(world.count)]
    for place, name in enumerate(NAMES):
        values, mine = [one[place] for one in expected], streamed[name].to_pylist()
        if world.engine == "sqlite" and name == "price":
            values = [None if value is None else float(value) for value in values]
        assert mine == values, name


@pytest.mark.slow
def test_batches_are_small_and_of_one_schema(world: World) -> None:
    with world.admin.datasets.batches(2, columns=["id", "late"]) as stream:
        assert [field.name for field in stream.schema] == ["id", "late"]
        sizes = [batch.num_rows for batch in stream]
    assert sum(sizes) == stream.rows == world.count
    assert len(sizes) > 1
    assert stream.was_cut is False


@pytest.mark.slow
def test_no_rows_have_a_schema_too(world: World) -> None:
    query = {**RAW, "filters": [{"col": "id", "op": "<", "val": 0}]}
    streamed = table(world.admin.charts.batches(context(query, dataset=2)))
    types = dict(zip(streamed.column_names, streamed.schema.types, strict=True))
    assert streamed.num_rows == 0
    assert (types["id"], types["name"], types["day"]) == (pa.int64(), pa.large_string(), pa.date32())


@pytest.mark.slow
def test_row_limits_hold(world: World) -> None:
    with world.admin.charts.batches(context({**RAW, "row_limit": 18_000}, dataset=2)) as stream:
        assert sum(batch.num_rows for batch in stream) == stream.row_limit == 18_000
        assert stream.was_cut


def test_each_reader_streams_their_own_rows(world: World) -> None:
    admin = world.admin
    made = admin.datasets.create({"database": 1, "table_name": "virtual", "sql": "SELECT id FROM orders"})
    admin.row_level_security.create(
        {"name": "tenants", "filter_type": "Base", "tables": [1], "roles": [], "clause": TENANT_CLAUSE}
    )
    try:
        for tenant in ("acme", "bolt", "o'hare"):
            core = add_reader(world.host, tenant)
            user = next(u for u in admin.users.list().result if u.username == tenant)
            admin.users.update(user.id, {"attributes": {"tenant": tenant}})
            own = {one[0] for one in ROWS if one[1] == tenant}
            assert {*table(core.datasets.batches(1))["id"].to_pylist()} == own
            assert {*table(core.datasets.batches(made.id))["id"].to_pylist()} == own
    finally:
        for rule in admin.row_level_security.list().result:
            admin.row_level_security.delete(rule.id)


def test_who_may_not_read_the_dataset_streams_nothing(world: World) -> None:
    stranger = add_reader(world.host, "nobody", on=None)
    with pytest.raises(DatasetAccessError):
        stranger.datasets.batches(2)
    with pytest.raises(NotFoundError):
        world.admin.datasets.batches(99)
    with pytest.raises(UnknownColumnError):
        world.admin.datasets.batches(2, columns=["nmae"])
    assert world.lent == 0


@pytest.mark.slow
def test_questions_that_need_all_rows_are_refused(world: World) -> None:
    for query in (
        {**RAW, "post_processing": [{"operation": "cum", "options": {"operator": "sum", "columns": {"id": "id"}}}]},
        {
            **RAW,
            "orderby": [],
            "columns": ["name"],
            "metrics": ["count"],
            "time_offsets": ["1 year ago"],
            "time_range": "2020 : 2021",
            "granularity": "moment",
        },
    ):
        with pytest.raises(QueryError, match="needs all rows at once"):
            world.admin.charts.batches(context(query, dataset=2))
    with pytest.raises(QueryError, match="one query"):
        world.admin.charts.batches(context(RAW, RAW, dataset=2))
    with pytest.raises(QueryError, match="no rows of a statement"):
        world.admin.charts.batches(context(RAW, dataset=2, result_type="query"))
    assert world.lent == 0


def test_groups_stream_too(world: World) -> None:
    query = {"columns": ["name"], "metrics": ["count"], "row_limit": 0, "orderby": [["name", True]]}
    streamed = table(world.admin.charts.batches(context(query, dataset=2)))
    assert streamed.num_rows == 1_000
    assert sum(streamed["count"].to_pylist()) == world.count


@pytest.mark.slow
def test_each_stream_is_observed_once(world: World) -> None:
    table(world.admin.charts.batches(context({**RAW, "row_limit": 7}, dataset=2)))
    world.recorder.forget(last=7)
    table(world.admin.datasets.batches(2))
    with world.admin.datasets.batches(2) as early:
        next(early)
    with pytest.raises(QueryError):
        world.admin.charts.batches(context({"metrics": ["nmae"]}, dataset=2))
    full, part, failed = world.recorder.take(3)
    assert (full.rows, full.dataset_id, full.is_cached, full.error_type) == (world.count, 2, False, None)
    assert part.rows == early.rows < world.count
    assert failed.error_type is not None
    assert set(full.steps_ms) >= {"prepare", "database", "results"}
    assert full.fingerprint == part.fingerprint


def test_other_libraries_take_a_stream(world: World) -> None:
    with world.admin.datasets.batches(2) as stream:
        assert pa.table(stream).num_rows == world.count
    with world.admin.datasets.batches(2) as stream:
        assert stream.reader().read_all().num_rows == world.count
    assert world.lent == 0


@pytest.mark.slow
def test_an_early_end_stops_the_statement_on_the_server(world: World) -> None:
    for _ in range(10):  # more often than there are connections
        with world.admin.datasets.batches(2) as stream:
            next(stream)
        assert world.lent == 0


@pytest.mark.slow
def test_a_stream_that_was_closed_early_does_not_look_read(world: World) -> None:
    with world.admin.datasets.batches(2) as stream:
        reader = stream.reader()
        first = next(stream)
    for rest in (lambda: list(stream), reader.read_all, lambda: pa.table(stream)):
        with pytest.raises(StatementStoppedError, match=rf"closed after {first.num_rows:,} rows, before its last"):
            rest()
    with world.admin.datasets.batches(2) as stream:
        list(stream)
    assert list(stream) == []


def test_threads_share_a_stream(world: World) -> None:
    taken: list[int] = []
    with world.admin.datasets.batches(2) as stream:
        threads = [
            threading.Thread(target=lambda: taken.extend(batch.num_rows for batch in stream), daemon=True)
            for _ in range(4)
        ]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(15)
        assert time.monotonic() - started < 10
    assert sum(taken) == world.count


def test_a_forked_child_is_told_that_the_stream_is_not_its_own(tmp_path: Path) -> None:
    with _over_a_file(tmp_path) as core, core.datasets.batches(1) as stream:
        next(stream)
        child = os.fork()
        if child == 0:
            try:
                next(stream)
            except StatementStoppedError as error:
                os._exit(0 if "forked" in str(error) else 1)
            finally:
                os._exit(2)
        latest = time.monotonic() + 10
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < latest:
            time.sleep(0.02)
        if not ended[0]:
            os.kill(child, 9)
        assert ended == (child, 0)
        assert sum(batch.num_rows for batch in stream) + 16_384 == COUNT


@pytest.mark.slow
def test_closing_the_core_ends_its_streams(tmp_path: Path) -> None:
    with _over_a_file(tmp_path) as core:
        streams = [core.datasets.batches(1) for _ in range(3)]
        next(streams[0])
    for stream in streams:
        with pytest.raises(StatementStoppedError, match="the core was closed before the last row"):
            next(stream)


def _over_a_file(folder: Path) -> AnalyticsCore:
    path = folder / "many.db"
    with closing(sqlite3.connect(path)) as owner, owner:
        owner.execute(f"CREATE TABLE many AS {SERIES['sqlite'].format(count=COUNT)}")
    core = analytics_core.connect(f"sqlite:///{path}")
    core.datasets.create({"database": 1, "table_name": "many"})
    return core


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        pytest.param("postgresql", marks=pytest.mark.server),
        pytest.param("mysql", marks=[pytest.mark.server, pytest.mark.long]),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("sqlite", "duckdb")),
    ],
    indirect=True,
    scope="module",
)
@pytest.mark.parametrize(("road", "many"), [("datasets", MANY), ("sql", 4 * MANY)])
def test_a_large_result_takes_little_memory(world: World, road: str, many: int) -> None:
    if world.engine == "duckdb":
        world.host._runtime.parts.connector.dispose(1)  # a file has one holder
    texts = {"mysql": "CONCAT('a text of some length ', i)"}.get(world.engine, "'a text of some length ' || i")
    both = [
        f"SELECT i, {texts} AS name, i / 3.0 AS ratio FROM ({SERIES[world.engine].format(count=count)}) AS q"
        for count in (60_000, many)
    ]
    command = [sys.executable, str(PROCESS), road, world.url, *both]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["rows"] == many
    assert report["batches"] > 10
    assert report["grown"] < 24_000_000, report
