"""Reading in batches: the row limit, the byte budget, and what a column becomes on its way."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain, repeat
from sys import getsizeof
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.execution import limits

from analytics_core._engine.engines.types import ValueKind as K
from analytics_core._engine.execution.fetching import (
    ROWS_UNWEIGHED,
    SMALL_RESULT_ROWS,
    FetchedResult,
    WeighedRows,
    fetch_arrow,
    fetch_rows,
)
from analytics_core._engine.execution.sessions.postgresql import _known_kind
from analytics_core.errors import ResultTooLargeError


class FakeCursor:
    """Gives rows, and remembers how many it gave."""

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self._rows = iter(rows)
        self.given = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = next(self._rows)
        self.given += 1
        return row


def read(rows: Iterable[tuple[Any, ...]], *kinds: K, **changes: Any) -> tuple[FetchedResult, FakeCursor]:
    cursor = FakeCursor(rows)
    fetched = fetch_rows(
        cursor,
        labels=[f"c{place}" for place in range(len(kinds))],
        kinds=kinds,
        limits=limits(**changes),
        check=lambda: None,
    )
    return fetched, cursor


def test_no_rows_give_columns_without_values() -> None:
    fetched, _ = read([], K.INTEGER, K.TEXT)
    assert fetched.frame.names == ("c0", "c1")
    assert [column.kind for column in fetched.frame.columns] == [K.INTEGER, K.TEXT]
    assert (len(fetched.frame), fetched.has_more) == (0, False)


@pytest.mark.parametrize(("available", "most", "expected"), [(9, 10, False), (10, 10, False), (11, 10, True)])
def test_more_rows_are_known_by_reading_one_beyond_the_limit(available: int, most: int, expected: bool) -> None:
    fetched, cursor = read([(place,) for place in range(available)], K.INTEGER, max_rows=most)
    assert (len(fetched.frame), fetched.has_more) == (min(available, most), expected)
    assert cursor.given <= most + 1


def test_a_limit_of_no_rows_still_tells_whether_there_are_any() -> None:
    fetched, _ = read([(1,)], K.INTEGER, max_rows=0)
    assert (len(fetched.frame), fetched.has_more) == (0, True)


def test_dates_and_times_of_postgresql_that_no_plan_knows_are_told_by_their_type() -> None:
    kinds = {
        "date": K.DATE,
        "time(3)": K.TIME,
        "timestamp": K.TIMESTAMP,
        "timestamp(6)": K.TIMESTAMP,
        "timestamptz": K.TIMESTAMPTZ,
        "interval": K.UNKNOWN,
        "text": K.UNKNOWN,
    }
    for name, kind in kinds.items():
        column = SimpleNamespace(type_display=name)
        assert _known_kind(K.UNKNOWN, column) is kind, name
        assert _known_kind(K.TEXT, column) is K.TEXT, name


def test_a_small_result_stays_in_lists() -> None:
    fetched, _ = read([(place,) for place in range(SMALL_RESULT_ROWS)], K.INTEGER)
    assert isinstance(fetched.frame.columns[0].values, list)


@pytest.mark.slow
def test_a_large_result_becomes_arrow_columns() -> None:
    rows = [(str(datetime(2024, 1, 1) + timedelta(minutes=i)), f"s{i}", i, i / 3) for i in range(30_000)]
    fetched, _ = read(rows, K.TIMESTAMP, K.TEXT, K.INTEGER, K.FLOAT)
    types = [column.values.type for column in fetched.frame.columns]
    assert types == [pa.timestamp("us"), pa.string(), pa.int64(), pa.float64()]
    assert list(fetched.frame.rows())[-1] == (
        datetime(2024, 1, 1) + timedelta(minutes=29_999),
        "s29999",
        29_999,
        29_999 / 3,
    )


def test_a_value_that_does_not_fit_late_in_a_large_result_turns_the_column_into_a_list() -> None:
    rows: list[tuple[Any, ...]] = [(place,) for place in range(10_000)] + [(2**70,)]
    fetched, _ = read(rows, K.INTEGER)
    column = fetched.frame.columns[0]
    assert isinstance(column.values, list)
    assert (column.kind, column.values[:2], column.values[-1]) == (K.INTEGER, [0, 1], 2**70)


def test_integers_with_fractions_late_in_a_large_result_come_out_as_floats() -> None:
    fetched, _ = read([*((place,) for place in range(10_000)), (0.5,)], K.UNKNOWN)
    column = fetched.frame.columns[0]
    assert (column.kind, column.to_list()[9_999:]) == (K.FLOAT, [9999.0, 0.5])


def test_a_text_that_is_no_moment_late_in_a_large_result_keeps_all_as_text() -> None:
    rows = [("2024-01-31 10:00:00",)] * 5_000 + [("soon",)]
    column = read(rows, K.TIMESTAMP)[0].frame.columns[0]
    assert (column.kind, column.to_list()[-2:]) == (K.TEXT, ["2024-01-31 10:00:00", "soon"])


@for_each("kind", [K.UNKNOWN, K.INTEGER, K.DECIMAL, K.TEXT, K.TIMESTAMPTZ])
def test_a_large_column_of_nulls_stays_null(kind: K) -> None:
    column = read([(None,)] * 9_000, kind)[0].frame.columns[0]
    assert (column.kind, column.to_list()) == (kind, [None] * 9_000)


def test_a_kind_that_only_shows_after_many_nulls_is_found() -> None:
    column = read([(None,)] * 9_000 + [("late",)], K.UNKNOWN)[0].frame.columns[0]
    assert (column.kind, column.to_list()[-2:]) == (K.TEXT, [None, "late"])


@given(rows=st.integers(0, 6_000), most=st.integers(0, 6_000))
def test_rows_come_out_in_order_and_complete(rows: int, most: int) -> None:
    fetched, _ = read([(place, str(place)) for place in range(rows)], K.INTEGER, K.TEXT, max_rows=most)
    assert list(fetched.frame.rows()) == [(place, str(place)) for place in range(min(rows, most))]
    assert fetched.has_more is (rows > most)


def test_crossing_the_byte_budget_stops_the_reading_early() -> None:
    cursor = FakeCursor([("x" * 10_000,)] * 100_000)
    with pytest.raises(ResultTooLargeError, match="larger than 5,000,000 bytes") as caught:
        fetch_rows(cursor, labels=["c"], kinds=[K.TEXT], limits=limits(max_bytes=5_000_000), check=lambda: None)
    assert cursor.given < 1_200
    assert caught.value.extra["max_bytes"] == 5_000_000


@pytest.mark.parametrize("value", ["x" * 1_000, b"x" * 1_000, {"a": "x" * 1_000}, ["x" * 1_000]])
def test_long_values_of_every_type_count(value: Any) -> None:
    with pytest.raises(ResultTooLargeError):
        read([(value,)] * 5_000, K.UNKNOWN, max_bytes=2_000_000)


@pytest.mark.parametrize("rows", [64, 100, 600])
def test_a_result_is_complete_or_refused_whatever_the_budget(rows: int) -> None:
    complete = []
    for most in range(500, 40_000, 500):
        try:
            fetched, _ = read([(1_000 + place,) for place in range(rows)], K.INTEGER, max_bytes=most)
        except ResultTooLargeError:
            complete.append(False)
        else:
            assert (len(fetched.frame), fetched.has_more) == (rows, False)
            assert fetched.fetched_bytes <= most
            complete.append(True)
    assert complete == sorted(complete)
    assert set(complete) == {False, True}


VALUES = (
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.decimals(),
    st.text(),
    st.text("añ中😀", min_size=1_000).map(lambda text: text * 100),
    st.binary(),
    st.datetimes(),
    st.dates(),
    st.lists(st.integers()),
)


@given(st.lists(st.one_of(*VALUES), min_size=1) | st.one_of(*(st.lists(one, min_size=1) for one in VALUES)))
def test_values_weigh_at_least_a_quarter_of_what_they_take_and_little_more(values: list[Any]) -> None:
    weight = WeighedRows([(value,) for value in values]).read(1_000, most_bytes=10**9)[1]
    exact = sum(map(getsizeof, values))
    assert exact / 4 <= weight <= exact + 56 * len(values)


def test_a_result_inside_its_budget_passes() -> None:
    fetched, _ = read([("x" * 100,)] * 10_000, K.TEXT, max_bytes=2_000_000)
    assert 1_000_000 < fetched.fetched_bytes < 2_000_000


@for_each("narrow", [0, 1, 63, 64, 5_000])
def test_rows_that_suddenly_grow_stop_the_reading_at_once(narrow: int) -> None:
    cursor = FakeCursor(chain(repeat((1, "x"), narrow), repeat((1, "x" * 1_000_000), 1_000)))
    with pytest.raises(ResultTooLargeError):
        fetch_rows(
            cursor, labels="ab", kinds=[K.INTEGER, K.TEXT], limits=limits(max_bytes=3_000_000), check=lambda: None
        )
    assert cursor.given <= narrow + 4 + ROWS_UNWEIGHED


@pytest.mark.slow
@for_each(
    ("kind", "make"),
    [
        (K.INTEGER, lambda i: i + 1_000_000),
        (K.FLOAT, lambda i: i / 3),
        (K.DECIMAL, lambda i: Decimal(i) / 7),
        (K.OTHER, lambda i: Decimal(i) / 7),
        (K.TEXT, lambda i: f"text {i}"),
        (K.UNKNOWN, lambda i: [i + 1_000_000, f"text {i}"]),
        (K.INTEGER, lambda i: i if i < 8_000 else f"text {i}"),
        (K.TEXT, lambda i: "x" * (10 if i < 9_000 else 30_000)),
    ],
    ids=["integers", "floats", "decimals", "kept as they are", "texts", "lists", "late misfit", "late growth"],
)
def test_memory_stays_near_the_byte_budget(kind: K, make: Callable[[int], Any]) -> None:
    budget = 1_000_000
    rows = FakeCursor((make(place),) for place in range(1_000_000))
    read([(place,) for place in range(5_000)], kind)  # imports are no part of the reading
    tracemalloc.start()
    arrow_before = pa.total_allocated_bytes()
    try:
        with pytest.raises(ResultTooLargeError):
            fetch_rows(
                rows, labels="a", kinds=[kind], limits=limits(max_rows=10**9, max_bytes=budget), check=lambda: None
            )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * budget
    assert pa.total_allocated_bytes() - arrow_before < budget


def test_arrow_batches_are_cut_at_the_row_limit() -> None:
    table = pa.table({"n": list(range(100))})
    batches = iter(table.to_batches(max_chunksize=30))
    fetched = fetch_arrow(
        lambda: next(batches, None),
        schema=table.schema,
        labels=["total"],
        kinds=[K.INTEGER],
        limits=limits(max_rows=50),
        check=lambda: None,
    )
    assert (fetched.frame.names, len(fetched.frame), fetched.has_more) == (("total",), 50, True)
    assert next(batches).num_rows == 30  # the third batch was not read


def test_arrow_batches_count_against_the_byte_budget() -> None:
    batches = iter(pa.table({"n": ["x" * 1_000] * 1_000}).to_batches(max_chunksize=100))
    with pytest.raises(ResultTooLargeError):
        fetch_arrow(
            lambda: next(batches, None),
            schema=pa.schema([("n", pa.string())]),
            labels=["n"],
            kinds=[K.TEXT],
            limits=limits(max_bytes=200_000),
            check=lambda: None,
        )
