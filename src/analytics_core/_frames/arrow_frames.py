"""Frames as Arrow tables; pyarrow is loaded only when one is asked for."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engines.types import ValueKind
from analytics_core._frames.arrow_columns import is_arrow, list_as_arrow
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._frames.json_values import LARGEST_NUMBER, clean_text, value_types
from analytics_core._frames.text_values import text_value

if TYPE_CHECKING:
    import pyarrow as pa

_DIGITS: Final = (38, 76)
"""How many digits Arrow's two types of decimals hold."""


def to_arrow(frame: Frame) -> pa.Table:
    """Return the frame as an Arrow table, every number exact: integers beyond 64 bits are decimals.

    A column of values that Arrow has no one type for (lists, objects, text among numbers) is text.
    """
    import pyarrow as pa

    return pa.table([_array(column) for column in frame.columns], names=[clean_text(name) for name in frame.names])


def _array(column: FrameColumn) -> Any:
    import pyarrow as pa

    if is_arrow(column.values):
        return column.values
    values = column.to_list()
    types = value_types(values)
    if not types:
        return pa.nulls(len(values), _type_of_nulls(column.kind))
    if column.kind is ValueKind.NUMBERS:
        return pa.array(values, pa.list_(pa.float64()))
    array = _numbers(values, types) if types <= {int, float, Decimal} and types != {float} else None
    array = list_as_arrow(values) if array is None else array
    texts = None if array is not None else [None if value is None else text_value(value) for value in values]
    return array if texts is None else pa.array(texts, pa.large_string())


def _numbers(values: list[Any], types: frozenset[type]) -> Any | None:
    """Return whole numbers that pass 64 bits, or numbers of several types, as one type that holds them exactly."""
    import pyarrow as pa

    if float in types:
        exact = Decimal not in types and all(isinstance(v, float) or abs(v or 0) <= LARGEST_NUMBER for v in values)
        return pa.array([None if v is None else float(v) for v in values], pa.float64()) if exact else None
    whole = [v for v in values if type(v) is int]
    if types == {int} and max(whole) < 2**63 and min(whole) >= -(2**63):
        return None
    decimals = [None if value is None else Decimal(value) for value in values]
    if types != {int}:
        return list_as_arrow(decimals)
    digits = max(len(str(abs(value))) for value in whole)
    if digits > _DIGITS[1]:
        return None
    return pa.array(decimals, pa.decimal128(_DIGITS[0]) if digits <= _DIGITS[0] else pa.decimal256(_DIGITS[1]))


def _type_of_nulls(kind: ValueKind) -> Any:
    """Return the type of a column that has no value."""
    import pyarrow as pa

    types = {
        ValueKind.INTEGER: pa.int64(),
        ValueKind.FLOAT: pa.float64(),
        ValueKind.DECIMAL: pa.decimal128(_DIGITS[0], 9),
        ValueKind.BOOLEAN: pa.bool_(),
        ValueKind.TEXT: pa.large_string(),
        ValueKind.DATE: pa.date32(),
        ValueKind.TIME: pa.time64("us"),
        ValueKind.TIMESTAMP: pa.timestamp("us"),
        ValueKind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
        ValueKind.BYTES: pa.large_binary(),
        ValueKind.NUMBERS: pa.list_(pa.float64()),
    }
    return types.get(kind, pa.null())
