"""Values by kind: what each driver gives, in a small result (lists) and in a large one (Arrow)."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._engine.engines.types import ValueKind as K
from analytics_core._engine.execution.arrow_columns import array_of_values, column_of_arrow, joined
from analytics_core._engine.execution.conversion import values_by_kind
from analytics_core._engine.frames.arrow_frames import decimals_as_arrow
from analytics_core._engine.frames.values import json_value, json_values

EAST = timezone(timedelta(hours=2))
MOMENT = datetime(2024, 1, 31, 10, 0, 0, 5)

# planned kind, values of a driver, kind and values that come out
CASES: list[tuple[K, list[Any], K, list[Any]]] = [
    (K.INTEGER, [1, None, 2], K.INTEGER, [1, None, 2]),
    (K.INTEGER, [Decimal(6), Decimal("7.00")], K.INTEGER, [6, 7]),  # SUM of integers on MariaDB
    (K.INTEGER, [2.0, None], K.INTEGER, [2, None]),
    (K.INTEGER, [1.5, 2], K.FLOAT, [1.5, 2.0]),
    (K.INTEGER, [Decimal("1.5"), 2], K.DECIMAL, [Decimal("1.5"), Decimal(2)]),
    (K.INTEGER, [2**70], K.INTEGER, [2**70]),
    (K.FLOAT, [1, 2.5, None], K.FLOAT, [1.0, 2.5, None]),
    (K.FLOAT, [Decimal("2.1429"), None], K.FLOAT, [2.1429, None]),
    (K.FLOAT, [math.nan, math.inf, -math.inf, 0.0], K.FLOAT, [None, None, None, 0.0]),
    (K.DECIMAL, [Decimal("1.10"), Decimal("22.5")], K.DECIMAL, [Decimal("1.10"), Decimal("22.5")]),
    (K.DECIMAL, [Decimal("NaN"), Decimal(1)], K.DECIMAL, [None, Decimal(1)]),
    (K.TEXT, ["a", None, "é漢😀"], K.TEXT, ["a", None, "é漢😀"]),
    (K.TEXT, [UUID(int=1)], K.TEXT, [str(UUID(int=1))]),
    (K.TEXT, [1, 2], K.INTEGER, [1, 2]),
    (K.BOOLEAN, [0, 1, None], K.BOOLEAN, [False, True, None]),
    (K.BOOLEAN, [b"\x00", b"\x01"], K.BOOLEAN, [False, True]),
    (K.BOOLEAN, [True, None], K.BOOLEAN, [True, None]),
    (K.DATE, ["2024-01-31", None], K.DATE, [date(2024, 1, 31), None]),
    (K.DATE, ["2024-01-31 00:00:00"], K.DATE, [date(2024, 1, 31)]),
    (K.DATE, [datetime(2024, 1, 31)], K.DATE, [date(2024, 1, 31)]),
    (K.DATE, [datetime(2024, 1, 31, 5)], K.TIMESTAMP, [datetime(2024, 1, 31, 5)]),
    (K.TIMESTAMP, ["2024-01-31 10:00:00", "2024-01-31T10:00:00.000005", "2024-01-31"], K.TIMESTAMP,
     [datetime(2024, 1, 31, 10), MOMENT, datetime(2024, 1, 31)]),
    (K.TIMESTAMP, ["2024-01-31 10:00:00+02:00"], K.TIMESTAMP, [datetime(2024, 1, 31, 8)]),
    (K.TIMESTAMP, [MOMENT, None], K.TIMESTAMP, [MOMENT, None]),
    (K.TIMESTAMP, [date(2024, 1, 31)], K.TIMESTAMP, [datetime(2024, 1, 31)]),
    (K.TIMESTAMP, ["0000-00-00 00:00:00", "2024-01-31"], K.TIMESTAMP, [None, datetime(2024, 1, 31)]),
    (K.TIMESTAMP, ["not a time", "2024-01-31"], K.TEXT, ["not a time", "2024-01-31"]),
    (K.TIMESTAMP, [1706695200], K.INTEGER, [1706695200]),
    (K.TIMESTAMPTZ, [MOMENT.replace(tzinfo=EAST)], K.TIMESTAMPTZ,
     [(MOMENT - timedelta(hours=2)).replace(tzinfo=UTC)]),
    (K.TIMESTAMPTZ, ["2024-01-31 10:00:00+02:00", "2024-01-31 10:00:00"], K.TIMESTAMPTZ,
     [datetime(2024, 1, 31, 8, tzinfo=UTC), datetime(2024, 1, 31, 10, tzinfo=UTC)]),
    (K.TIME, [timedelta(hours=1, seconds=2)], K.TIME, [time(1, 0, 2)]),
    (K.TIME, ["10:30:00", time(1)], K.TIME, [time(10, 30), time(1)]),
    (K.BYTES, [memoryview(b"ab"), b"c"], K.BYTES, [b"ab", b"c"]),
    (K.INTEGER, [1, True, 2.0, Decimal(3)], K.INTEGER, [1, 1, 2, 3]),
    (K.FLOAT, [1, True, 2.5, Decimal("0.5")], K.FLOAT, [1.0, 1.0, 2.5, 0.5]),
    (K.DECIMAL, [1, True, Decimal("2.5")], K.DECIMAL, [Decimal(1), Decimal(1), Decimal("2.5")]),
    (K.BOOLEAN, [True, 0, Decimal(1)], K.BOOLEAN, [True, False, True]),
    (K.UNKNOWN, [None, None], K.UNKNOWN, [None, None]),
    (K.UNKNOWN, [True, None], K.BOOLEAN, [True, None]),
    (K.UNKNOWN, [1, 2.5], K.FLOAT, [1.0, 2.5]),
    (K.UNKNOWN, [1, Decimal("2.5")], K.DECIMAL, [Decimal(1), Decimal("2.5")]),
    (K.UNKNOWN, ["a"], K.TEXT, ["a"]),
    (K.UNKNOWN, [MOMENT], K.TIMESTAMP, [MOMENT]),
    (K.UNKNOWN, [MOMENT.replace(tzinfo=UTC)], K.TIMESTAMPTZ, [MOMENT.replace(tzinfo=UTC)]),
    (K.UNKNOWN, [date(2024, 1, 31)], K.DATE, [date(2024, 1, 31)]),
    (K.UNKNOWN, [1, "a", b"b"], K.OTHER, [1, "a", b"b"]),
    (K.UNKNOWN, [{"a": 1}, [1]], K.OTHER, [{"a": 1}, [1]]),
    (K.OTHER, [timedelta(days=2), math.nan], K.OTHER, ["48:00:00", None]),
]  # fmt: skip


@for_each(("planned", "given_values", "kind", "expected"), CASES)
def test_values_come_out_by_their_kind(planned: K, given_values: list[Any], kind: K, expected: list[Any]) -> None:
    found_kind, values = values_by_kind(planned, given_values)
    assert (found_kind, values) == (kind, expected)
    assert list(map(type, values)) == list(map(type, expected))


@for_each(("planned", "given_values", "kind", "expected"), CASES)
def test_an_arrow_batch_holds_the_same_values_or_none_at_all(
    planned: K, given_values: list[Any], kind: K, expected: list[Any]
) -> None:
    array = array_of_values(planned, given_values)
    if array is None:
        assert kind is not planned or planned in (K.OTHER, K.UNKNOWN) or expected == [2**70]
    else:
        assert array.to_pylist() == expected


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=3), st.booleans()))
)
def test_no_mixture_of_values_is_changed_silently_on_its_way_into_arrow(values: list[Any]) -> None:
    for kind in (K.INTEGER, K.FLOAT, K.DECIMAL, K.TEXT, K.BOOLEAN, K.DATE, K.TIMESTAMP, K.TIMESTAMPTZ):
        array = array_of_values(kind, values)
        if array is not None:
            settled, expected = values_by_kind(kind, values)
            assert settled is kind
            assert array.to_pylist() == expected


def test_decimal_chunks_of_different_sizes_join_without_loss() -> None:
    chunks = [pa.array([Decimal("1.5")]), pa.nulls(1), pa.array([Decimal("12345.678")])]
    assert joined(chunks, K.DECIMAL).to_pylist() == [Decimal("1.500"), None, Decimal("12345.678")]


def test_huge_integers_from_arrow_stay_exact() -> None:
    data = pa.chunked_array([pa.array([Decimal(2**53 + 1), Decimal(10**30)], pa.decimal128(38, 0))])
    column = column_of_arrow("total", K.INTEGER, data)
    assert (column.kind, column.to_list()) == (K.INTEGER, [2**53 + 1, 10**30])


def test_small_huge_integers_become_plain_integers_in_arrow() -> None:
    data = pa.chunked_array([pa.array([Decimal(2**53 + 1), None], pa.decimal128(38, 0))])
    column = column_of_arrow("total", K.UNKNOWN, data)
    assert (column.kind, column.values.type, column.to_list()) == (K.INTEGER, pa.int64(), [2**53 + 1, None])


@for_each(
    ("planned", "array", "kind", "expected"),
    [
        (K.TIMESTAMP, pa.array([date(2024, 1, 31)]), K.TIMESTAMP, [datetime(2024, 1, 31)]),
        (K.DATE, pa.array([datetime(2024, 1, 31)], pa.timestamp("us")), K.DATE, [date(2024, 1, 31)]),
        (K.DATE, pa.array([MOMENT], pa.timestamp("us")), K.TIMESTAMP, [MOMENT]),
        (K.UNKNOWN, pa.array([1], pa.timestamp("ns")), K.TIMESTAMP, [datetime(1970, 1, 1)]),
        (K.FLOAT, pa.array([math.nan, 1.0]), K.FLOAT, [None, 1.0]),
        (K.UNKNOWN, pa.array(["a", "b"]).dictionary_encode(), K.TEXT, ["a", "b"]),
        (K.TEXT, pa.array([1]), K.INTEGER, [1]),
        (K.UNKNOWN, pa.array([[1, 2]]), K.OTHER, [[1, 2]]),
        (K.UNKNOWN, pa.array([None]), K.UNKNOWN, [None]),
        (K.UNKNOWN, pa.array([2**63], pa.uint64()), K.INTEGER, [2**63]),
        (K.DECIMAL, pa.array([Decimal("1.5")]), K.DECIMAL, [Decimal("1.5")]),
        (K.BOOLEAN, pa.array([True, None]), K.BOOLEAN, [True, None]),
        (K.TIME, pa.array([None, 86_399], pa.time32("s")), K.TIME, [None, time(23, 59, 59)]),
        (K.UNKNOWN, pa.array([86_399_999], pa.time32("ms")), K.TIME, [time(23, 59, 59, 999_000)]),
        (K.TIME, pa.array([None], pa.time64("us")), K.TIME, [None]),
        (K.TIME, pa.array([0, 86_400_000_000], pa.time64("us")), K.TEXT, ["00:00:00", "24:00:00"]),
    ],
)
def test_arrow_columns_of_the_engine_keep_what_they_hold(planned: K, array: Any, kind: K, expected: list[Any]) -> None:
    column = column_of_arrow("c", planned, pa.chunked_array([array]))
    assert (column.kind, column.to_list()) == (kind, expected)


@for_each(
    ("texts", "kind", "values"),
    [
        (["2024-01-31 10:20:30", "2024-01-31T10:20:30.000001"], K.TIMESTAMP, None),
        (["2024-01-31 10:20:30", "2024-00-10 00:00:00"], K.TIMESTAMP, [datetime(2024, 1, 31, 10, 20, 30), None]),
        (["2024-01-31 10:20:30", "2024-10-00 00:00:00"], K.TIMESTAMP, [datetime(2024, 1, 31, 10, 20, 30), None]),
        (["2024-01-31 10:20:30", "infinity"], K.TIMESTAMP, [datetime(2024, 1, 31, 10, 20, 30), None]),
        (["2024-01-31 10:20:30\n2024-01-31 10:20:30"], K.TEXT, None),
        (["2024-01-31 10:20:30\n"], K.TEXT, None),
        (["2024-W05-3T10:20:30"], K.TEXT, None),
        (["2024-13-01 10:20:30"], K.TEXT, None),
    ],
)
def test_texts_of_moments_are_read_together_as_they_are_one_by_one(
    texts: list[str], kind: K, values: list[Any] | None
) -> None:
    if values is None:
        values = [datetime.fromisoformat(text) for text in texts] if kind is K.TIMESTAMP else texts
    assert values_by_kind(K.TIMESTAMP, texts) == (kind, values)


PLACES = st.integers(-22, 3)


@given(st.lists(st.none() | st.decimals(allow_nan=False, allow_infinity=False), min_size=1, max_size=5), PLACES)
def test_decimals_have_the_type_that_arrow_would_find(decimals: list[Decimal | None], exponent: int) -> None:
    same = [value and Decimal((*value.as_tuple()[:2], exponent)) for value in decimals]
    for values in (decimals, same):
        try:
            expected = pa.array(values)
        except pa.ArrowInvalid:
            continue
        array = decimals_as_arrow(values)
        assert array is not None
        assert (array.type, array.to_pylist()) == (expected.type, expected.to_pylist())


def test_decimals_without_an_end_are_none_of_arrow() -> None:
    assert decimals_as_arrow([Decimal(1), Decimal("NaN")]) is None
    assert decimals_as_arrow([Decimal("-Infinity"), None]) is None


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_a_short_decimal_is_the_number_that_a_longer_one_would_be(value: Decimal) -> None:
    result = json_value(value)
    if isinstance(result, int):
        assert result == value
    if isinstance(result, float):
        assert value != value.to_integral_value()
        assert result == float(value)


FLOATS = st.floats() | st.sampled_from([1e308, -1e308, -0.0])
COLUMNS = st.one_of(
    *map(
        st.lists,
        (
            st.none() | FLOATS,
            st.none() | st.text(max_size=3) | st.sampled_from(["\ud83d", "\ude00", "é"]),
            st.none() | st.datetimes(),
            st.none() | st.datetimes(timezones=st.timezones()),
            st.none() | st.datetimes(timezones=st.none() | st.just(UTC)),
            st.none() | FLOATS | st.text(max_size=3) | st.datetimes() | st.integers(),
        ),
    )
)


@given(COLUMNS)
def test_columns_become_json_values_as_their_values_do_one_by_one(values: list[Any]) -> None:
    assert list(map(repr, json_values(values))) == [repr(json_value(value)) for value in values]


@given(st.lists(st.none() | FLOATS))
def test_floats_that_no_json_holds_are_null_whatever_stands_beside_them(values: list[float | None]) -> None:
    finite = [value if value is not None and math.isfinite(value) else None for value in values]
    assert list(map(repr, values_by_kind(K.FLOAT, values)[1])) == list(map(repr, finite))
