"""The codes of coltypes, against data of every kind and the recorded answers of real servers."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from tests.support.cases import for_each
from tests.support.frames import frame_of

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.results.rows import coltypes

NUMBER, TEXT, TEMPORAL, BOOLEAN = 0, 1, 2, 3


@for_each(
    ("values", "code"),
    [
        ([1, None], NUMBER),
        ([1.5], NUMBER),
        ([1, 2.5, Decimal(3)], NUMBER),
        ([True, None], BOOLEAN),
        ([True, 1], TEXT),
        ([date(2024, 1, 1)], TEMPORAL),
        ([datetime(2024, 1, 1), None, datetime(2024, 1, 1, tzinfo=UTC)], TEMPORAL),
        (["2024-01-01"], TEXT),
        (["1", 1], TEXT),
        ([time(1)], TEXT),
        ([timedelta(1)], TEXT),
        ([b"x"], TEXT),
        ([[1], {"a": 1}], TEXT),
    ],
)
def test_values_decide(values: list[Any], code: int) -> None:
    assert coltypes(frame_of({"x": values}), declared={"x": ValueKind.BYTES}) == (code,)


@for_each(
    ("kind", "code"),
    [
        (pa.int8(), NUMBER),
        (pa.uint64(), NUMBER),
        (pa.float32(), NUMBER),
        (pa.decimal128(5, 2), NUMBER),
        (pa.bool_(), BOOLEAN),
        (pa.date32(), TEMPORAL),
        (pa.timestamp("us"), TEMPORAL),
        (pa.timestamp("ns", "UTC"), TEMPORAL),
        (pa.time64("us"), TEXT),
        (pa.string(), TEXT),
        (pa.large_binary(), TEXT),
    ],
    ids=str,
)
def test_arrow_types_decide_when_there_is_a_value(kind: Any, code: int) -> None:
    values = (
        {"x": pa.chunked_array([pa.array([None, 1], pa.int32()).cast(pa.int64()).cast(kind)])}
        if (pa.types.is_integer(kind) or pa.types.is_floating(kind))
        else {"x": pa.chunked_array([pa.array([None, _value_of(kind)], kind)])}
    )
    assert coltypes(frame_of(values)) == (code,)


def _value_of(kind: Any) -> Any:
    values = {"decimal128(5, 2)": Decimal("1.00"), "bool": True, "date32[day]": date(2024, 1, 1), "time64[us]": time(1)}
    if pa.types.is_timestamp(kind):
        return datetime(2024, 1, 1, tzinfo=UTC if kind.tz else None)
    return values.get(str(kind), b"x" if pa.types.is_large_binary(kind) else "x")


@for_each("empty", [[], [None, None], pa.chunked_array([[None]], pa.int64()), pa.chunked_array([], pa.int64())])
@for_each(
    ("declared", "code"),
    [
        (ValueKind.BOOLEAN, BOOLEAN),  # x_filter_bool_eq, x_filter_is_false, x_type_raw_null_columns
        (ValueKind.TEXT, TEXT),  # x_filter_temporal_eq (product_line), x_type_samples_filtered (address_line2)
        (ValueKind.INTEGER, NUMBER),  # x_order_empty_result (count)
        (ValueKind.TIMESTAMP, TEMPORAL),  # x_range_last_year (order_date)
        (ValueKind.UNKNOWN, TEXT),
    ],
)
def test_a_column_without_a_value_is_what_its_label_was_declared_as(empty: Any, declared: ValueKind, code: int) -> None:
    assert coltypes(frame_of({"x": empty}), declared={"x": declared}) == (code,)


def test_a_comparison_column_without_a_value_is_text_though_its_metric_is_a_number() -> None:
    # x_offset_no_grain, x_offset_date_range_enabled: all recorded servers say so.
    frame = frame_of({"count": [1], "count__1 year ago": [None]}, **{"count__1 year ago": ValueKind.INTEGER})
    assert coltypes(frame, declared={"count": ValueKind.INTEGER}) == (NUMBER, TEXT)


@pytest.mark.parametrize("values", [[2003], ["2024-01-01 00:00:00"], [None], []])
def test_a_flagged_column_is_temporal_whatever_it_holds(values: list[Any]) -> None:
    assert coltypes(frame_of({"year": values}), temporal={"year"}) == (TEMPORAL,)
