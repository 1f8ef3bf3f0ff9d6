"""Comparisons with numbers that a column cannot hold, decimals bound exactly, and decimals in JSON and in the cache."""

from __future__ import annotations

import operator
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import orjson
import pyarrow as pa
import pytest
from tests.support.cases import for_each
from tests.support.planning import spec_of

from analytics_core._engine.compile.comparisons import can_equal, compare_number
from analytics_core._engine.compile.lowering.expressions import Binds
from analytics_core._engine.compile.plan import AnyOf, ColumnExpr, Compare, Comparison, IsNull, Predicate
from analytics_core._engine.compile.render import render
from analytics_core._engine.compile.values import as_moment, convert
from analytics_core._engine.engines.types import NumberRange, ValueKind
from analytics_core._engine.frames.arrow_frames import frame_from_bytes, frame_to_bytes
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import json_value
from analytics_core._engine.querying.shaping import notes_of_rounding
from analytics_core._engine.results.rows import record_chunks

RETAINED = (2**53 + 1, 2**53, 2**53 - 1, 2, 1, 0, -1, -(2**53) - 1, 2**63 - 1, -(2**63))
ASKING = (
    2,
    2.5,
    -0.5,
    Decimal(2**53) + Decimal("0.5"),
    Decimal(-(2**53)) - Decimal("0.5"),
    2**53 + 1,
    2**63,
    10**30,
    -(10**30),
    Decimal("1e-30"),
)
OPERATORS = {
    Comparison.EQUAL: operator.eq,
    Comparison.NOT_EQUAL: operator.ne,
    Comparison.LESS: operator.lt,
    Comparison.LESS_OR_EQUAL: operator.le,
    Comparison.GREATER: operator.gt,
    Comparison.GREATER_OR_EQUAL: operator.ge,
}
COLUMN = ColumnExpr("c", ValueKind.INTEGER)
BIGINT = NumberRange(low=-(2**63), high=2**63 - 1)


def holds(predicate: Predicate, value: Any) -> bool:
    match predicate:
        case AnyOf(members=()):
            return False
        case IsNull(negated=True):
            return True
        case Compare(op=op, value=bound):
            assert isinstance(bound, int | float | Decimal)
            return bool(OPERATORS[op](Fraction(value), Fraction(bound)))
    raise AssertionError(predicate)


@for_each("op", list(Comparison))
@for_each("bound", ASKING, ids=str)
def test_a_whole_column_is_compared_as_numbers_are(op: Comparison, bound: Any) -> None:
    found = compare_number(COLUMN, op, bound, ValueKind.INTEGER, BIGINT)
    assert [holds(found, cell) for cell in RETAINED] == [
        OPERATORS[op](Fraction(cell), Fraction(bound)) for cell in RETAINED
    ]
    assert not isinstance(found, Compare) or (isinstance(found.value, int | float) and found.value == int(found.value))


@for_each("op", list(Comparison))
@for_each("text", ["2.5", "-0.1", "9007199254740992.5", "-9007199254740992.5", "9007199254740993", "1e18"])
def test_a_text_is_compared_with_a_whole_column_as_the_number_that_it_says(op: Comparison, text: str) -> None:
    bound = convert(text, ValueKind.INTEGER, column="c")
    assert isinstance(bound, int | float | Decimal)
    found = compare_number(COLUMN, op, bound, ValueKind.INTEGER, BIGINT)
    assert [holds(found, cell) for cell in RETAINED] == [OPERATORS[op](cell, Fraction(text)) for cell in RETAINED]


@pytest.mark.parametrize("milliseconds", [1.001, -1.001, 1_706_697_000_000.5])
def test_a_part_of_a_millisecond_is_rounded_to_the_nearest_microsecond(milliseconds: float) -> None:
    moment = as_moment(milliseconds, column="c")
    assert (moment - datetime(1970, 1, 1)) / timedelta(microseconds=1) == round(milliseconds * 1000)


@for_each("op", list(Comparison))
@for_each("bound", [Decimal("0.125"), Decimal("-0.125"), 1000, -1000, Decimal("9.99"), 0.5], ids=str)
def test_a_decimal_column_is_compared_as_numbers_are(op: Comparison, bound: Any) -> None:
    hundredths = NumberRange(low=-999, high=999, scale=2)
    column = ColumnExpr("c", ValueKind.DECIMAL)
    found = compare_number(column, op, bound, ValueKind.DECIMAL, hundredths)
    for cell in (Decimal("0.12"), Decimal("0.13"), Decimal("-0.13"), Decimal("9.99"), Decimal("-9.99"), Decimal("0.5")):
        assert holds(found, cell) == OPERATORS[op](Fraction(cell), Fraction(bound))


def test_a_bound_of_forty_digits_keeps_them() -> None:
    wide = NumberRange(low=-(10**38) + 1, high=10**38 - 1, scale=9)
    bound = Decimal("12345678901234567890123456789.1234567891")
    found = compare_number(COLUMN, Comparison.GREATER, bound, ValueKind.DECIMAL, wide)
    assert found == Compare(COLUMN, Comparison.GREATER_OR_EQUAL, Decimal("12345678901234567890123456789.123456790"))


def test_members_that_a_column_cannot_hold_are_told() -> None:
    assert [can_equal(value, ValueKind.INTEGER, BIGINT) for value in (1, 2.5, 2**63, None, "x", True)] == [
        *(True, False, False, True, True, True)
    ]
    assert not can_equal(Decimal("9007199254740992.5"), ValueKind.INTEGER, None)


@for_each(
    ("engine", "type_text", "expected"),
    [
        ("duckdb", "DECIMAL(18,2)", NumberRange(low=1 - 10**18, high=10**18 - 1, scale=2)),
        ("duckdb", "UHUGEINT", NumberRange(low=0, high=2**128 - 1)),
        ("postgresql", "NUMERIC(38, 9)", NumberRange(low=1 - 10**38, high=10**38 - 1, scale=9)),
        ("postgresql", "NUMERIC", None),
        ("mysql", "BIGINT(20) UNSIGNED", NumberRange(low=0, high=2**64 - 1)),
        ("mysql", "TINYINT(4)", NumberRange(low=-128, high=127)),
        ("sqlite", "INTEGER", None),
        ("sqlite", "DECIMAL(10,2)", None),
        ("duckdb", "INTEGER[]", None),
    ],
)
def test_a_type_says_which_numbers_it_holds(engine: str, type_text: str, expected: NumberRange | None) -> None:
    assert spec_of(engine).number_range(type_text) == expected


@for_each(
    ("engine", "given", "taken"),
    [
        ("sqlite", Decimal("0.5"), 0.5),
        ("sqlite", Decimal(7), 7),
        ("sqlite", 2**63, float(2**63)),
        ("sqlite", True, True),
        ("duckdb", 10**60, 1e60),
        ("duckdb", 2**128 - 1, 2**128 - 1),
        ("postgresql", Decimal("1e-30"), Decimal("1e-30")),
    ],
)
def test_every_bound_number_is_one_that_the_driver_takes(engine: str, given: Any, taken: Any) -> None:
    binds = Binds()
    statement = render(binds(given), binds, spec_of(engine), labels=(), kinds=())
    values = statement.parameters
    (value,) = values.values() if isinstance(values, dict) else values
    assert (value, type(value)) == (taken, type(taken))


def test_a_decimal_is_written_without_an_exponent_for_people() -> None:
    assert spec_of("duckdb").literal(Decimal("1E-7")) == "0.0000001"


# ----------------------------------------------------------------------------------------------------------- answers
@for_each(
    ("text", "expected"),
    [
        ("0.10", 0.1),
        ("-2.00", -2),
        ("12345678901234567.123456789", "12345678901234567.123456789"),
        ("90071992547409.93", "90071992547409.93"),
        ("9007199254740993", "9007199254740993"),
        ("1E+400", "1E+400"),
        ("0.33333333333333333333", 0.3333333333333333),
        ("12345678901234567890.33333333333333333333", "12345678901234567890.33333333333333333333"),
        ("1E-30", 1e-30),
        ("NaN", None),
    ],
)
def test_a_decimal_in_json_keeps_its_digits(text: str, expected: Any) -> None:
    value = json_value(Decimal(text))
    assert (value, type(value)) == (expected, type(expected))


LONG = [Decimal("90071992547409.93"), Decimal("0.5"), None, Decimal("0.333333333333333333")]


@pytest.mark.parametrize("small_rows", [0, 100], ids=["columns", "dicts"])
@pytest.mark.parametrize("values", [LONG, pa.chunked_array([pa.array(LONG)])], ids=["list", "arrow"])
def test_both_ways_to_write_json_agree_on_decimals_and_rounding_is_told(values: Any, small_rows: int) -> None:
    frame = Frame(columns=(FrameColumn(name="x", kind=ValueKind.DECIMAL, values=values),))
    written = orjson.loads(b"".join(record_chunks(frame, small_rows=small_rows)))
    assert [row["x"] for row in written] == ["90071992547409.93", 0.5, None, 0.3333333333333333]
    (note,) = notes_of_rounding(frame)
    assert note.startswith("column 'x': 1 decimals")


def test_values_that_no_arrow_column_holds_come_back_from_bytes_as_they_were() -> None:
    from datetime import UTC, date, datetime, time

    values: list[Any] = [
        *(Decimal("1" * 80 + ".5"), Decimal("1E-30"), 2**100, -(2**64), 7, 1.5, True, None, "D2024", b"\x00\xff"),
        *(date(2024, 1, 31), datetime(2024, 1, 31, 10, 0, 0, 5), datetime(2024, 1, 31, tzinfo=UTC), time(10, 0, 0, 5)),
        time(10, tzinfo=UTC),
    ]
    for cells in (values, [Decimal("1" * 80 + ".5"), Decimal("1E-30")], [2**100, None], [time(10, tzinfo=UTC)]):
        frame = Frame(columns=(FrameColumn(name="x", kind=ValueKind.OTHER, values=cells),))
        back = frame_from_bytes(frame_to_bytes(frame)).columns[0].to_list()
        assert [(value, type(value)) for value in back] == [(value, type(value)) for value in cells]
