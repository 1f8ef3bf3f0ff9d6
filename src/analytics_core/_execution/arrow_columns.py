"""Batches of values <-> Arrow arrays by kind: conversion a column at a time, in C, with nothing rounded or cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from analytics_core._engines.types import ValueKind
from analytics_core._execution.conversion import values_by_kind
from analytics_core._frames.frame import FrameColumn

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
        return array.cast(wanted)
    if kind in (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIMESTAMPTZ):
        return _cast_moment(array, kind, wanted)
    if kind is ValueKind.TIME and pa.types.is_time(given):
        return array.cast(wanted, safe=False)
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
    for candidate in dict.fromkeys((kind, natural)):
        try:
            fitting = cast_array(data, candidate)
        except _MISFITS:
            continue
        if fitting is not None:
            return FrameColumn(name=name, kind=candidate, values=fitting)
    settled, values = values_by_kind(kind if kind is natural else natural, data.to_pylist())
    return FrameColumn(name=name, kind=settled, values=values)


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
