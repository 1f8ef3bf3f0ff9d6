"""Bounds and equalities of every encoding find the rows that plain Python finds, on each engine with a driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlglot import exp
from tests.support.cases import for_each
from tests.support.engine_bench import BENCHES, Bench, Values, column, open_time_bench
from tests.support.time_reference import COLUMNS, EncodedColumn, awkward_moments

from analytics_core._engine.engines.registry import installed_engines

MOMENTS = [None, *awkward_moments(random_count=25)]
BOUNDS = [
    datetime(1900, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(1970, 1, 1),
    datetime(2000, 2, 29),
    datetime(2000, 2, 29, 12),
    datetime(2024, 1, 1),
    datetime(2024, 1, 31, 10, 20, 30),
    datetime(2024, 1, 31, 10, 20, 30, 400000),
    datetime(2024, 1, 31, 10, 20, 30, 400001),
    datetime(2024, 3, 31, 23, 59, 59, 500000),
    datetime(2024, 12, 31, 10),
    datetime(2024, 12, 31, 10, 0, 0, 1),
    datetime(2100, 12, 31, 23, 59, 59, 999999),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
]


@pytest.fixture(scope="module", params=BENCHES)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with open_time_bench(request.param, request, MOMENTS) as opened:
        yield opened


def found(bench: Bench, condition: Callable[[Values], exp.Expr]) -> set[int]:
    values = Values()
    where = condition(values)
    return {row[0] for row in bench.select("v", [column("id")], binds=values, where=where)}


def expected(encoded: EncodedColumn, holds: Callable[[datetime], bool]) -> set[int]:
    return {i for i, moment in enumerate(MOMENTS) if moment and holds(encoded.keep(moment))}


@for_each("encoded", COLUMNS, ids=lambda one: one.name)
def test_lower_and_upper_bounds_split_the_rows_as_python_does(bench: Bench, encoded: EncodedColumn) -> None:
    wrong = []
    for moment in BOUNDS:

        def compare(node: type[exp.Expr], moment: datetime = moment) -> Callable[[Values], exp.Expr]:
            bound = bench.spec.time_bound(column(encoded.name), encoded.time, moment)
            return lambda values: node(this=bound.left, expression=values(bound.value))

        if found(bench, compare(exp.GTE)) != expected(encoded, lambda instant, moment=moment: instant >= moment):
            wrong.append((">=", moment))
        if found(bench, compare(exp.LT)) != expected(encoded, lambda instant, moment=moment: instant < moment):
            wrong.append(("<", moment))
    assert wrong == []


@pytest.mark.slow
@for_each("encoded", COLUMNS, ids=lambda one: one.name)
def test_equality_finds_each_stored_moment_and_nothing_else(bench: Bench, encoded: EncodedColumn) -> None:
    stored = {encoded.keep(moment) for moment in MOMENTS if moment}
    near = {moment + timedelta(microseconds=1) for moment in list(stored)[:5]}
    wrong = []
    for moment in sorted({*stored, *near, *BOUNDS}):
        bound = bench.spec.time_equal(column(encoded.name), encoded.time, moment)
        wanted = expected(encoded, lambda instant, moment=moment: instant == moment)
        if bound.value is None:
            rows = set()
        else:
            rows = found(bench, lambda values, bound=bound: exp.EQ(this=bound.left, expression=values(bound.value)))
        if rows != wanted:
            wrong.append(moment)
    assert wrong == []


def test_equality_is_impossible_where_the_column_is_too_coarse(bench: Bench) -> None:
    coarse = {"day": datetime(2024, 1, 31, 1), "es": datetime(2024, 1, 31, 0, 0, 0, 1), "year": datetime(2024, 2, 1)}
    if bench.spec.name == "sqlite":
        del coarse["day"]  # its columns of days may hold moments
    for encoded in COLUMNS:
        if encoded.name in coarse:
            assert bench.spec.time_equal(column("x"), encoded.time, coarse[encoded.name]).value is None


def test_sqlite_binds_the_shortest_text_so_that_rows_of_every_precision_are_found() -> None:
    texts = [
        installed_engines(()).get("sqlite").time_bound(column("ts"), COLUMNS[0].time, moment).value
        for moment in (
            datetime(2024, 1, 31),
            datetime(2024, 1, 31, 10),
            datetime(2024, 1, 31, 10, 0, 0, 500000),
        )
    ]
    assert texts == ["2024-01-31", "2024-01-31 10:00", "2024-01-31 10:00:00.5"]


@pytest.mark.server
def test_timestamp_columns_of_mariadb_take_bounds_beyond_2038(make_mariadb_database: Callable[[], str]) -> None:
    """TIMESTAMP cannot hold such moments, yet a range may end there."""
    engine = sa.create_engine(make_mariadb_database(), connect_args={"init_command": "SET time_zone='+00:00'"})
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE t (ts TIMESTAMP(6) NULL)")
        connection.exec_driver_sql("INSERT INTO t VALUES ('2024-01-31 10:00:00.5'), (NULL)")
        count = "SELECT COUNT(*) FROM t WHERE ts >= %(since)s AND ts < %(until)s"
        bounds = {"since": datetime(1900, 1, 1), "until": datetime(2100, 1, 1)}
        assert connection.exec_driver_sql(count, bounds).scalar() == 1
    engine.dispose()
