"""Columns as Arrow arrays, where every value keeps its meaning; None where Arrow has no such column."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from analytics_core._frames.json_values import SURE_DIGITS, value_types


def is_arrow(values: Any) -> bool:
    """Say whether `values` is a pyarrow Array or ChunkedArray (without importing pyarrow)."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


def arrow_part(values: Any, start: int, rows: int) -> Any:
    """Return `rows` values from `start` on as one pyarrow Array, without copying where they lie in one chunk."""
    part = values.slice(start, rows)
    return part.combine_chunks() if hasattr(part, "combine_chunks") else part


def long_decimals(array: Any) -> Any:
    """Return the decimals of an Arrow column that have more digits than a double surely holds."""
    import pyarrow.compute as pc

    if array.type.precision <= SURE_DIGITS:
        return array.slice(0, 0)
    digits = pc.utf8_rtrim(pc.ascii_ltrim(array.cast("string"), "-0."), "0")
    return array.filter(pc.greater(pc.utf8_length(digits), SURE_DIGITS))


def list_as_arrow(values: list[Any]) -> Any | None:
    """Return the pyarrow Array that holds exactly `values`, or None: mixed types, numbers beyond 64 bits ...

    Moments become UTC; a column that has a moment with a time zone carries one.
    """
    import pyarrow as pa

    types = value_types(values)
    if not types:
        return pa.nulls(len(values))
    if len(types) > 1:
        return None
    (only,) = types
    try:
        return _typed_array(values, only)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None


def _typed_array(values: list[Any], only: type) -> Any | None:
    import pyarrow as pa

    if only is time and any(value is not None and value.tzinfo is not None for value in values):
        return None  # Arrow's times have no zone
    if only is datetime:
        zones = {value.tzinfo is None for value in values if value is not None}
        return None if len(zones) > 1 else pa.array(values, pa.timestamp("us", None if True in zones else "UTC"))
    plain = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        str: pa.large_string(),
        bytes: pa.large_binary(),
        date: pa.date32(),
        time: pa.time64("us"),
    }
    if only is Decimal:
        # Arrow's decimals have neither NaN nor infinity.
        return pa.array(values) if all(value is None or value.is_finite() for value in values) else None
    # pyarrow reads NaN in a list as a value, which is what it is; `from_pandas` would make it null.
    return pa.array(values, plain[only]) if only in plain else None
