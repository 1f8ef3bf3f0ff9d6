"""Numbers, Booleans and literals mean the same on each engine with a driver."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlglot import exp
from tests.support.cases import for_each
from tests.support.engine_bench import BENCHES, Bench, Values, column, open_bench
from tests.support.time_reference import as_datetime

from analytics_core._engine.engines.types import ValueKind
from analytics_core.errors import FilterValueError

ROWS = [(1, True, 3, 2.5), (2, False, 0, 0.0), (3, None, None, None), (4, True, 4, -1.25), (5, True, 4, 7.0)]


@pytest.fixture(scope="module", params=BENCHES)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with open_bench(request.param, request) as opened:
        double = "DOUBLE PRECISION" if opened.engine != "duckdb" else "DOUBLE"
        opened.create("v", {"id": "INTEGER", "b": "BOOLEAN", "i": "INTEGER", "f": double}, ROWS)
        yield opened


def single(bench: Bench, node: exp.Expr) -> Any:
    return bench.select("v", [node])[0][0]


def ids(bench: Bench, where: exp.Expr, values: Values | None = None) -> list[int]:
    return sorted(row[0] for row in bench.select("v", [column("id")], binds=values, where=where))


def test_average_of_integers_is_a_double_with_all_its_digits(bench: Bench) -> None:
    average = single(bench, bench.spec.average(column("i")))
    assert isinstance(average, float)
    assert average == 11 / 4


def test_average_of_thirds_keeps_more_than_four_digits(bench: Bench) -> None:
    rows = bench.select(
        "v", [bench.spec.average(column("id"))], where=exp.LTE(this=column("id"), expression=exp.Literal.number(2))
    )
    rows += bench.select("v", [bench.spec.average(column("i"))], where=exp.Is(this=column("b"), expression=exp.true()))
    assert [row[0] for row in rows] == [pytest.approx(1.5, rel=1e-12), pytest.approx(11 / 3, rel=1e-12)]


@for_each(("kind", "name", "total"), [(ValueKind.BOOLEAN, "b", 3), (ValueKind.INTEGER, "i", 11)])
def test_sums_count_true_as_one(bench: Bench, kind: ValueKind, name: str, total: int) -> None:
    assert int(single(bench, bench.spec.sum_(column(name), kind))) == total


def test_extremes_of_booleans(bench: Bench) -> None:
    lowest = single(bench, bench.spec.extreme(column("b"), ValueKind.BOOLEAN, False))
    highest = single(bench, bench.spec.extreme(column("b"), ValueKind.BOOLEAN, True))
    assert (bool(lowest), bool(highest)) == (False, True)


def test_extremes_of_numbers(bench: Bench) -> None:
    assert single(bench, bench.spec.extreme(column("f"), ValueKind.FLOAT, False)) == -1.25
    assert single(bench, bench.spec.extreme(column("f"), ValueKind.FLOAT, True)) == 7.0


def test_distinct_values_are_counted_without_null(bench: Bench) -> None:
    assert single(bench, bench.spec.count_distinct(column("i"), ValueKind.INTEGER)) == 3


@for_each(
    ("name", "kind", "truth", "wanted"),
    [
        ("b", ValueKind.BOOLEAN, True, [1, 4, 5]),
        ("b", ValueKind.BOOLEAN, False, [2]),
        ("i", ValueKind.INTEGER, True, [1, 4, 5]),
        ("i", ValueKind.INTEGER, False, [2]),
        ("f", ValueKind.FLOAT, True, [1, 4, 5]),
        ("f", ValueKind.FLOAT, False, [2]),
    ],
)
def test_truth_of_booleans_and_numbers(
    bench: Bench, name: str, kind: ValueKind, truth: bool, wanted: list[int]
) -> None:
    assert ids(bench, bench.spec.is_true(column(name), kind, truth)) == wanted


def test_text_is_neither_true_nor_false(bench: Bench) -> None:
    with pytest.raises(FilterValueError, match="IS TRUE"):
        bench.spec.is_true(column("s"), ValueKind.TEXT, True)


@for_each("count", [1, 3, 5000])
def test_membership_of_numbers(bench: Bench, count: int) -> None:
    values = Values()
    members = [4, *range(1000, 999 + count)]
    assert ids(bench, bench.spec.in_list(column("i"), members, ValueKind.INTEGER, values), values) == [4, 5]


def test_membership_of_mixed_numbers(bench: Bench) -> None:
    values = Values()
    members = [2.5, 7, *range(1000, 3000)]
    assert ids(bench, bench.spec.in_list(column("f"), members, ValueKind.FLOAT, values), values) == [1, 5]


def test_membership_of_exact_decimals(bench: Bench) -> None:
    values = Values()
    members = [Decimal("2.5"), Decimal(7)]
    assert ids(bench, bench.spec.in_list(column("f"), members, ValueKind.DECIMAL, values), values) == [1, 5]


LITERALS = [
    "plain",
    "it's",
    "back\\slash",
    "ends in \\",
    "50%",
    "two\nlines",
    "漢😀",
    ":x ? $1 {{ y }} -- /* */",
    0,
    -5,
    2**40,
    2.5,
    -1e-3,
    Decimal("12.50"),
    True,
    False,
    None,
    date(2024, 1, 31),
    datetime(2024, 1, 31, 10, 20, 30),
    datetime(2024, 1, 31, 10, 20, 30, 400000),
    b"\x00\xff'a",
]


@for_each("value", LITERALS, ids=repr)
def test_literals_read_back_as_the_value(bench: Bench, value: Any) -> None:
    text = f"SELECT {bench.spec.literal(value)}"
    escaped = text.replace("%", "%%") if bench.engine in ("postgresql", "mysql") else text
    got = bench.connection.exec_driver_sql(escaped).scalar()
    if isinstance(value, date):
        assert as_datetime(got) == as_datetime(value)
    elif isinstance(value, int | float | Decimal) and value is not None:
        assert float(got) == float(value)
    else:
        assert (bytes(got) if isinstance(value, bytes) else got) == value


def test_aware_literals_name_their_zone(bench: Bench) -> None:
    moment = datetime(2024, 1, 31, 10, tzinfo=UTC)
    if bench.engine in ("duckdb", "postgresql"):
        got = bench.connection.exec_driver_sql(f"SELECT {bench.spec.literal(moment)}").scalar()
        assert got.astimezone(UTC) == moment
    assert "2024-01-31 10:00:00+00:00" in bench.spec.literal(moment)


def test_lists_are_shown_with_their_members(bench: Bench) -> None:
    literal = bench.spec.literal(["it's", 1, None])
    assert "'it''s'" in literal
    assert literal.endswith(("1, NULL]", "1, NULL)"))
