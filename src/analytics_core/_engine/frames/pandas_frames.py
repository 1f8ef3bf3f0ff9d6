"""Frames to pandas and back; the module loads pandas, so functions import it that need it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.types as kinds
from pandas.api import types

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import is_arrow
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import value_types

_DTYPES: Final[Mapping[ValueKind, tuple[str, str]]] = {
    ValueKind.INTEGER: ("int64", "Int64"),
    ValueKind.FLOAT: ("float64", "float64"),
    ValueKind.BOOLEAN: ("bool", "boolean"),
    ValueKind.DATE: ("datetime64[us]", "datetime64[us]"),
    ValueKind.TIMESTAMP: ("datetime64[us]", "datetime64[us]"),
    ValueKind.TIMESTAMPTZ: ("datetime64[us, UTC]", "datetime64[us, UTC]"),
}
"""The dtype of a column without nulls, and of one with nulls; text has that of pandas, other kinds are objects."""


def to_pandas(frame: Frame, *, decimals_as_floats: bool = False) -> pd.DataFrame:
    """Return the frame as a DataFrame; whole numbers and Booleans with nulls are nullable dtypes, days midnights.

    Columns of decimals are objects, or floats with `decimals_as_floats`: the nearest ones.
    """
    columns = map(_with_floats, frame.columns) if decimals_as_floats else frame.columns
    series = {position: _series(column) for position, column in enumerate(columns)}
    table = pd.DataFrame(series, index=pd.RangeIndex(len(frame)))
    table.columns = pd.Index(frame.names, dtype=object)
    return table


def _with_floats(column: FrameColumn) -> FrameColumn:
    """Return a column of numbers, decimals among them, as floats; any other column as it is."""
    arrow: Any = column.values
    if is_arrow(arrow):
        if not kinds.is_decimal(arrow.type):
            return column
        # By way of their text: Arrow's own cast misses the nearest double now and then.
        return replace(column, kind=ValueKind.FLOAT, values=arrow.cast(pa.string()).cast(pa.float64()))
    values = column.to_list()
    types = value_types(values)
    if Decimal not in types or not types <= {int, float, Decimal}:
        return column
    return replace(column, kind=ValueKind.FLOAT, values=[None if value is None else float(value) for value in values])


def _series(column: FrameColumn) -> pd.Series[Any]:
    if is_arrow(column.values) and (ready := _series_of_arrow(column)) is not None:
        return ready
    values = column.to_list()
    dtypes = (_text_dtype(),) * 2 if column.kind is ValueKind.TEXT else _DTYPES.get(column.kind)
    if dtypes is None:
        return pd.Series(values, dtype=object)
    try:
        return pd.Series(values, dtype=dtypes[any(value is None for value in values)])
    except (TypeError, ValueError, OverflowError):
        # SQLite stores any value in any column; and whole numbers may pass 64 bits.
        return pd.Series(values, dtype=object)


def _series_of_arrow(column: FrameColumn) -> pd.Series[Any] | None:
    """Return what `_series` makes of the values one by one, at once; None where Arrow's type says too little."""
    values: Any = column.values
    kind = values.type
    if column.kind is ValueKind.FLOAT and kinds.is_float64(kind):
        return pd.Series(values.to_numpy(zero_copy_only=False), dtype="float64")
    if column.kind is ValueKind.INTEGER and kinds.is_int64(kind) and not values.null_count:
        return pd.Series(values.to_numpy(zero_copy_only=False), dtype="int64")
    if column.kind is ValueKind.TIMESTAMP and kinds.is_timestamp(kind) and kind.unit == "us" and kind.tz is None:
        return pd.Series(values.to_numpy(zero_copy_only=False), dtype="datetime64[us]")
    if column.kind is ValueKind.TEXT and (kinds.is_string(kind) or kinds.is_large_string(kind)):
        texts: pd.Series[Any] = pd.Series(values.to_pandas(), dtype=_text_dtype())
        return texts
    return None


def _text_dtype() -> Any:
    """Return the dtype that pandas gives text; the "str" of pandas 2 would write a null as the text "None"."""
    return "str" if pd.__version__ >= "3" or pd.get_option("future.infer_string") else object


def unshared(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table that may share memory with what is made of it; pandas 2 copies nothing when somebody writes."""
    return table.copy() if pd.__version__.startswith("2.") else table


def from_pandas(table: pd.DataFrame) -> Frame:
    """Return the columns of a DataFrame as a frame of Python values; the index is dropped.

    NaN, NaT, NA and infinities become null.
    """
    columns = [_column(str(name), table.iloc[:, position]) for position, name in enumerate(table.columns)]
    return Frame(columns=tuple(columns))


def _column(name: str, series: pd.Series[Any]) -> FrameColumn:
    kind, convert = _kind_of(series)
    if kind is ValueKind.FLOAT:
        return FrameColumn(name=name, kind=kind, values=_floats(series))
    if str(series.dtype) in ("int64", "datetime64[us]"):
        # NumPy makes Python's values of these by itself, and null of NaT.
        return FrameColumn(name=name, kind=kind, values=series.to_numpy().tolist())
    missing = series.isna().to_numpy()
    objects = series.astype(object).to_list()
    values = [None if absent else convert(value) for value, absent in zip(objects, missing, strict=True)]
    return FrameColumn(name=name, kind=kind, values=values)


def _floats(series: pd.Series[Any]) -> list[float | None]:
    numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
    values: list[float | None] = numbers.tolist()
    for position in np.flatnonzero(~np.isfinite(numbers)).tolist():
        values[position] = None
    return values


def _kind_of(series: pd.Series[Any]) -> tuple[ValueKind, Callable[[Any], Any]]:
    dtype = series.dtype
    if types.is_object_dtype(dtype):
        return _kind_of_objects(series), _python_value
    if types.is_bool_dtype(dtype):
        return ValueKind.BOOLEAN, bool
    if types.is_integer_dtype(dtype):
        return ValueKind.INTEGER, int
    if types.is_float_dtype(dtype):
        return ValueKind.FLOAT, float
    if types.is_datetime64_any_dtype(dtype):
        zoned = isinstance(dtype, pd.DatetimeTZDtype)
        return (ValueKind.TIMESTAMPTZ if zoned else ValueKind.TIMESTAMP), _python_value
    return (ValueKind.TEXT if types.is_string_dtype(dtype) else ValueKind.OTHER), _python_value


def _kind_of_objects(series: pd.Series[Any]) -> ValueKind:
    """Return TEXT, DECIMAL or NUMBERS for objects that are all one of these, else OTHER."""
    found = types.infer_dtype(series, skipna=True)
    if found == "mixed" and all(map(_is_list_of_numbers, series)):
        return ValueKind.NUMBERS
    return {"string": ValueKind.TEXT, "decimal": ValueKind.DECIMAL}.get(found, ValueKind.OTHER)


def _is_list_of_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, int | float) for item in value)


def _python_value(value: Any) -> Any:
    """Return a value of NumPy or pandas as Python's own, others as they are; nanoseconds are cut to microseconds."""
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime(warn=False)
    if isinstance(value, pd.Timedelta):
        return value.to_pytimedelta()
    plain = getattr(value, "tolist", None)  # of a scalar, and of an array of a column of lists
    return plain() if callable(plain) else value
