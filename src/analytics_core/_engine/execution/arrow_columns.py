"""Batches of values <-> Arrow arrays by kind: conversion a column at a time, in C, with nothing rounded or cut."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.conversion import value_types, values_by_kind
from analytics_core._engine.frames.arrow_frames import decimals_as_arrow
from analytics_core._engine.frames.frame import FrameColumn

ARROW_TYPES: dict[ValueKind, pa.DataType] = {
    ValueKind.INTEGER: pa.int64(),
    ValueKind.FLOAT: pa.float64(),
    ValueKind.TEXT: pa.string(),
    ValueKind.BOOLEAN: pa.bool_(),
    ValueKind.DATE: pa.date32(),
    ValueKind.TIMESTAMP: pa.timestamp("us"),
    ValueKind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    ValueKind.TIME: pa.time64("us"),
    ValueKind.BYTES: pa.binary(),
}
_MISFITS = (pa.ArrowException, TypeError, ValueError, ArithmeticError)
# What Arrow raises for values of another type, out of range or not encodable.


# ----------------------------------------------------------------------------------------------- from Python values
def array_of_values(kind: ValueKind, values: Sequence[Any]) -> Any | None:
    """Return one batch as an Arrow array of `kind`, or None when a value does not fit."""
    try:
        array = _fast_array(kind, values)
    except _MISFITS:
        array = None
    return array if array is not None else _careful_array(kind, values)


def _fast_array(kind: ValueKind, values: Sequence[Any]) -> Any | None:
    """Let Arrow read the values; its type inference is used where a given type would silently cut (1.5 -> 1)."""
    if kind in (ValueKind.TEXT, ValueKind.BYTES):
        return pa.array(values, ARROW_TYPES[kind])
    if kind is ValueKind.FLOAT:
        return finite(pa.array(values, pa.float64()))
    if kind is ValueKind.DECIMAL and value_types(values) == {Decimal}:
        return decimals_as_arrow(values)
    return cast_array(pa.array(values), kind)


def _careful_array(kind: ValueKind, values: Sequence[Any]) -> Any | None:
    """Go through Python values; None when they come out as another kind or have no Arrow type."""
    fitting, plain = values_by_kind(kind, values)
    if fitting is not kind or kind not in (*ARROW_TYPES, ValueKind.DECIMAL):
        return None
    try:
        return pa.array(plain, ARROW_TYPES.get(kind))
    except _MISFITS:
        return None


def finite(array: Any) -> Any:
    """Return a float array whose NaN and infinite values are null."""
    is_finite = pc.is_finite(array)
    if pc.all(is_finite, skip_nulls=True).as_py() is not False:
        return array
    return pc.if_else(is_finite, array, pa.scalar(None, array.type))


def cast_array(array: Any, kind: ValueKind) -> Any | None:
    """Return an array (or chunked array) of any type as the type of `kind`; None when that has no meaning.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit (too large, not whole, not a moment).
    """
    array = _in_calendar(array)
    given, wanted = array.type, ARROW_TYPES.get(kind)
    if pa.types.is_null(given):
        return array
    if kind is ValueKind.DECIMAL:
        return array if pa.types.is_decimal(given) else None
    if wanted is None:
        return None
    if kind is ValueKind.FLOAT and _is_number(given):
        return finite(array.cast(wanted))
    if given == wanted:
        return array
    return _cast_between(array, kind, wanted)


def _cast_between(array: Any, kind: ValueKind, wanted: pa.DataType) -> Any | None:
    given = array.type
    if kind is ValueKind.INTEGER and _is_number(given):
        return array.cast(wanted)
    if kind is ValueKind.BOOLEAN and pa.types.is_integer(given):
        bounds = pc.min_max(array).as_py()
        return array.cast(wanted) if bounds["min"] is None or {*bounds.values()} <= {0, 1} else None
    if kind in (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIMESTAMPTZ):
        return _cast_moment(array, kind, wanted)
    if kind is ValueKind.TIME and pa.types.is_time(given):
        return array.cast(wanted, safe=False) if _is_within_a_day(array) else None
    if kind is ValueKind.TEXT and (pa.types.is_large_string(given) or pa.types.is_dictionary(given)):
        return array.cast(wanted)
    return array.cast(wanted) if kind is ValueKind.BYTES and pa.types.is_large_binary(given) else None


def _cast_moment(array: Any, kind: ValueKind, wanted: pa.DataType) -> Any | None:
    given = array.type
    if pa.types.is_string(given):
        # A text with a zone offset makes Arrow raise; the careful way reads it.
        return array.cast(wanted) if kind is not ValueKind.TIMESTAMPTZ else None
    if pa.types.is_timestamp(given):
        moved = array.cast(wanted, safe=False)  # finer than a microsecond is cut
        return moved if kind is not ValueKind.DATE or _is_midnight(array, moved) else None
    return array.cast(wanted) if pa.types.is_date(given) else None


_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}
_MOST = 2**63 - 2


def _in_calendar(array: Any) -> Any:
    """Return moments or days with null where they are infinite or outside the years 1 to 9999."""
    given = array.type
    if pa.types.is_date32(given):
        first, last, counts = _FIRST_SECOND // 86_400, _LAST_SECOND // 86_400, array.cast(pa.int32())
    elif pa.types.is_timestamp(given):
        size = _PER_SECOND.get(given.unit)
        first, last = (-_MOST, _MOST) if size is None else (_FIRST_SECOND * size, (_LAST_SECOND + 1) * size - 1)
        counts = array.cast(pa.int64())
    else:
        return array
    bounds = pc.min_max(counts).as_py()
    if bounds["min"] is None or (bounds["min"] >= first and bounds["max"] <= last):
        return array
    inside = pc.and_(pc.greater_equal(counts, first), pc.less_equal(counts, last))
    return pc.if_else(inside, array, pa.scalar(None, given))


def notes_of_cut_moments(labels: Sequence[str], columns: Sequence[Any]) -> tuple[str, ...]:
    """Return a note on each column with moments finer than a microsecond, which are cut."""
    fine = [
        label
        for label, data in zip(labels, columns, strict=True)
        if pa.types.is_timestamp(data.type) and data.type.unit == "ns" and _has_nanoseconds(data)
    ]
    return tuple(f"column {label!r}: moments are cut to microseconds" for label in fine)


def _has_nanoseconds(data: Any) -> bool:
    counts = data.cast(pa.int64())
    cut = pc.multiply(pc.divide(counts, 1_000), 1_000)
    return pc.all(pc.equal(counts, cut), skip_nulls=True).as_py() is False


_TICKS_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def _is_within_a_day(times: Any) -> bool:
    """Tell whether all are times of day: 24:00 is none that Python has."""
    most = pc.max(times.cast(pa.int32() if pa.types.is_time32(times.type) else pa.int64())).as_py()
    return most is None or most < _TICKS_PER_DAY[times.type.unit]


def _is_midnight(moments: Any, dates: Any) -> bool:
    """Whether no time of day is lost when these moments become dates."""
    same = pc.equal(dates.cast(moments.type), moments)
    return pc.all(same, skip_nulls=True).as_py() is not False


def _is_number(given: pa.DataType) -> bool:
    return bool(pa.types.is_integer(given) or pa.types.is_floating(given) or pa.types.is_decimal(given))


# ---------------------------------------------------------------------------------------------------- from Arrow data
def kind_of_arrow(given: pa.DataType) -> ValueKind:
    """Return the kind of an Arrow type; a decimal of 38 digits without fraction is how DuckDB sends HUGEINT."""
    if pa.types.is_decimal(given) and given.precision == 38 and given.scale == 0:
        return ValueKind.INTEGER
    for test, kind in _KIND_TESTS:
        if test(given):
            return kind
    if pa.types.is_timestamp(given):
        return ValueKind.TIMESTAMPTZ if given.tz else ValueKind.TIMESTAMP
    return ValueKind.UNKNOWN if pa.types.is_null(given) else ValueKind.OTHER


_KIND_TESTS = (
    (pa.types.is_boolean, ValueKind.BOOLEAN),
    (pa.types.is_integer, ValueKind.INTEGER),
    (pa.types.is_floating, ValueKind.FLOAT),
    (pa.types.is_decimal, ValueKind.DECIMAL),
    (pa.types.is_string, ValueKind.TEXT),
    (pa.types.is_large_string, ValueKind.TEXT),
    (pa.types.is_dictionary, ValueKind.TEXT),
    (pa.types.is_date, ValueKind.DATE),
    (pa.types.is_time, ValueKind.TIME),
    (pa.types.is_binary, ValueKind.BYTES),
    (pa.types.is_large_binary, ValueKind.BYTES),
)


def column_of_arrow(name: str, kind: ValueKind, data: Any) -> FrameColumn:
    """Return a column from a chunked array of any type: as `kind` where it fits, else as what it is."""
    natural = kind_of_arrow(data.type)
    if natural is ValueKind.TIME and not _is_within_a_day(data):
        return FrameColumn(
            name=name, kind=ValueKind.TEXT, values=[*map(_clock_text, data.cast(pa.int64()).to_pylist())]
        )
    if natural is ValueKind.TEXT and kind is ValueKind.INTEGER:
        # Whole numbers that came as text: Arrow has none beyond 38 digits.
        numbers = [None if text is None else int(text) for text in data.to_pylist()]
        return FrameColumn(name=name, kind=kind, values=numbers)
    for candidate in dict.fromkeys((kind, natural)):
        try:
            fitting = cast_array(data, candidate)
        except _MISFITS:
            continue
        if fitting is not None:
            return FrameColumn(name=name, kind=candidate, values=fitting)
    settled, values = values_by_kind(kind if kind is natural else natural, data.to_pylist())
    return FrameColumn(name=name, kind=settled, values=values)


def _clock_text(micros: int | None) -> str | None:
    if micros is None:
        return None
    seconds, rest = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{rest:06}" if rest else text


def joined(chunks: Sequence[Any], kind: ValueKind) -> Any:
    """Return one chunked array; chunks of nulls and decimals of different sizes get one type first.

    Raises:
        pyarrow.ArrowInvalid: decimals that together need more than 76 digits.
    """
    wanted = ARROW_TYPES.get(kind) or _widest_decimal(chunks)
    return pa.chunked_array([chunk if chunk.type == wanted else chunk.cast(wanted) for chunk in chunks], wanted)


def _widest_decimal(chunks: Sequence[Any]) -> pa.DataType:
    decimals = [chunk.type for chunk in chunks if pa.types.is_decimal(chunk.type)]
    scale = max((given.scale for given in decimals), default=0)
    digits = scale + max((given.precision - given.scale for given in decimals), default=1)
    return pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)
