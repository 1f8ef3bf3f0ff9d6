"""`resample`: the rows of a time index brought onto a regular grid."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, cast

import numpy as np
import pandas as pd
from pandas.tseries.frequencies import to_offset

from analytics_core._engine.frames.columns import Array, is_numeric, labels, listed, numbers, reject_column
from analytics_core._engine.frames.registry import FrameWithNotes
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.models.postprocessing import ResampleMethod, ResampleOptions

_RULE: Final = re.compile(r"\s*(?:\d+(?:\.\d+)?)?\s*[A-Za-z]+(?:-[A-Za-z0-9]+)?(?:\s*\d+(?:\.\d+)?\s*[A-Za-z]+)*\s*")
_UNIT: Final = re.compile(r"(?P<unit>[A-Za-z]+)(?P<anchor>-[A-Za-z0-9]+)?")
_SMALL: Final = frozenset({"h", "min", "s", "ms", "us", "ns", "bh", "cbh"})
"""Units that pandas writes in small letters; all others are capitals."""

_OLDER: Final[Mapping[str, str]] = MappingProxyType(
    {"M": "ME", "Q": "QE", "Y": "YE", "A": "YE", "AS": "YS", "SM": "SME"}
    | {"BM": "BME", "BQ": "BQE", "BY": "BYE", "BA": "BYE", "BAS": "BYS", "CBM": "CBME"}
    | {"H": "h", "BH": "bh", "CBH": "cbh", "T": "min", "MIN": "min", "S": "s"}
    | {"L": "ms", "U": "us", "US": "us", "N": "ns", "NS": "ns"}
)
"""Older names, in capitals, and those of today."""

_EXAMPLES: Final = "15min, 1h, 1D, 1W, 1MS (months by their first day), 1ME (by their last), 1QS, 1YS"


def parse_interval(rule: str) -> pd.offsets.BaseOffset:
    """Return the interval that a rule names, such as `15D`, `1min`, `1QS`, or in older words `1T`, `1M`, `1AS`.

    Capitals and small letters are alike, but for `ms` (milliseconds) and `MS` (months by their first day).

    Raises:
        PostProcessingError: the rule names no interval, or one that does not go forward.
    """
    try:
        offset = to_offset(_UNIT.sub(_unit_of_today, rule.strip())) if _RULE.fullmatch(rule) else None
    except (ValueError, OverflowError):
        offset = None
    if offset is None or offset.n < 1:
        raise PostProcessingError(f"rule: {rule!r} is no interval; use a count and a unit, such as {_EXAMPLES}")
    return offset


def _unit_of_today(found: re.Match[str]) -> str:
    unit, anchor = found["unit"], found["anchor"] or ""
    if unit not in _SMALL:
        unit = _OLDER.get(unit.upper(), unit.upper())
    return f"{unit}{anchor.upper()}"


MOST_CELLS: Final = 20_000_000
_UNITS: Final = ("s", "ms", "us", "ns")

Interval = pd.offsets.BaseOffset


def apply(frame: pd.DataFrame, options: ResampleOptions) -> FrameWithNotes:
    """Return the frame with one row for each moment of the grid.

    Rows without a moment are left out, and columns without numbers where the method needs them; notes tell it.
    `fill_value` takes the place of every null that is left in a column of numbers.

    Raises:
        PostProcessingError: the index holds no moments or repeats one, the rule is no interval, or no column holds
            numbers where the method needs them.
        LimitError: the grid would have more than 20,000,000 cells.
    """
    interval = parse_interval(options.rule)
    placed = _in_order(frame)
    table, notes = _of_numbers(placed, options.method)
    if len(placed) < len(frame):
        notes = (*notes, f"{len(frame) - len(placed)} rows without a moment are left out")
    if len(table):
        _require_moderate(table, interval, options.rule)
        try:
            table = _in_fine_units(table, interval)
            if options.method not in _TAKE_REPEATED:
                _require_distinct(table.index)
            with np.errstate(over="ignore", invalid="ignore"):
                table = _METHODS[options.method](table, interval)
        except (pd.errors.OutOfBoundsDatetime, pd.errors.OutOfBoundsTimedelta, OverflowError):
            raise PostProcessingError(f"rule: {options.rule!r} leads beyond the calendar") from None
    else:
        table = table.copy(deep=False)
    return FrameWithNotes(
        frame=table if options.fill_value is None else _filled(table, options.fill_value), notes=notes
    )


def _of_numbers(table: pd.DataFrame, method: ResampleMethod) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the columns that a method can work on, and a note of the others."""
    if method not in _NEED_NUMBERS:
        return table, ()
    fit = [is_numeric(table.iloc[:, place]) for place in range(len(table.columns))]
    if all(fit) or not any(fit):
        return table, ()
    omitted = [label for label, fits in zip(labels(table), fit, strict=True) if not fits]
    return table.loc[:, fit], (f"{method.value} needs numbers; left out: {listed(omitted)}",)


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    index = frame.index
    if not isinstance(index, pd.DatetimeIndex):
        raise PostProcessingError(
            "Resample operation requires DatetimeIndex: the index of the frame must hold moments; pivot with the time "
            f"column as index first. The columns are: {listed(labels(frame))}"
        )
    table = frame[index.notna()] if index.hasnans else frame
    return table if table.index.is_monotonic_increasing else table.sort_index(kind="stable")


def _in_fine_units(table: pd.DataFrame, interval: Interval) -> pd.DataFrame:
    """Return the table with moments that can tell the steps of the grid apart."""
    if not isinstance(interval, pd.offsets.Tick):
        return table
    index, unit = cast("pd.DatetimeIndex", table.index), pd.Timedelta(interval).unit
    return table if _UNITS.index(index.unit) >= _UNITS.index(unit) else table.set_axis(index.as_unit(unit))


def _require_moderate(table: pd.DataFrame, interval: Interval, rule: str) -> None:
    """Check how large the grid becomes, before any memory is taken for it."""
    first, last = (table.index[place].tz_localize(None) for place in (0, -1))
    try:
        start = first + interval
        rows = (last - first) / ((start + interval) - start)
    except (ValueError, OverflowError):
        rows = 0.0  # one step leads beyond the calendar: the grid has a row or two
    if rows * max(len(table.columns), 1) > MOST_CELLS:
        raise LimitError(
            f"rule: {rule!r} would make {int(rows):,} rows of {len(table.columns):,} columns; at most {MOST_CELLS:,} "
            "cells are made: take a longer interval or a shorter time range"
        )


def _linear(table: pd.DataFrame, interval: Interval) -> pd.DataFrame:
    """Return the values on the straight lines between the observations, wherever in time these lie.

    Before the first observation of a column there is null, after the last its value stays.
    """
    columns = _numbers_of(table)
    # The first row and the last make the grid; pandas takes long to look at the others.
    grid = pd.Series(0, index=table.index[[0, -1]].unique()).resample(interval).asfreq().index
    known, wanted = pd.DatetimeIndex(table.index).asi8, pd.DatetimeIndex(grid).asi8
    known, wanted = known - known[0], wanted - known[0]
    made = {place: _interpolated(known, values, wanted) for place, values in enumerate(columns)}
    result = pd.DataFrame(made, index=grid, copy=False)
    result.columns = table.columns
    return result


def _interpolated(known: Array, values: Array, wanted: Array) -> Array:
    present = ~np.isnan(values)
    if not present.any():
        return np.full(len(wanted), np.nan)
    if not present.all():
        known, values = known[present], values[present]
    return np.interp(wanted, known, values, left=np.nan)


_METHODS: Final[Mapping[ResampleMethod, Callable[[pd.DataFrame, Interval], pd.DataFrame]]] = MappingProxyType(
    {
        ResampleMethod.ASFREQ: lambda table, interval: table.resample(interval).asfreq(),
        ResampleMethod.BFILL: lambda table, interval: _carried(table, "bfill").resample(interval).bfill(),
        ResampleMethod.FFILL: lambda table, interval: _carried(table, "ffill").resample(interval).ffill(),
        ResampleMethod.LINEAR: _linear,
        ResampleMethod.MEAN: lambda table, interval: _numeric(table).resample(interval).mean(),
        ResampleMethod.MEDIAN: lambda table, interval: _numeric(table).resample(interval).median(),
        ResampleMethod.SUM: lambda table, interval: _numeric(table).resample(interval).sum(),
    }
)


_TAKE_REPEATED: Final = frozenset({ResampleMethod.MEAN, ResampleMethod.MEDIAN, ResampleMethod.SUM})
"""The methods that make one value of rows with one moment."""

_NEED_NUMBERS: Final = _TAKE_REPEATED | {ResampleMethod.LINEAR}


def _require_distinct(index: pd.Index[Any]) -> None:
    if not index.is_unique:
        raise PostProcessingError(
            f"method: the index has {int(index.duplicated().sum())} rows with the moment of another; "
            "use mean, median or sum, or aggregate them first"
        )


def _fillable(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table as pandas can fill it: numbers of 16 bits in 32, and no complex ones.

    Raises:
        PostProcessingError: a column holds complex numbers.
    """
    unfit = [(place, dtype) for place, dtype in enumerate(table.dtypes) if dtype.kind == "c" or dtype == np.float16]
    result = table.copy(deep=False) if unfit else table
    for place, dtype in unfit:
        if dtype.kind == "c":
            reject_column(table, labels(table)[place], option="method")
        column: Any = table.iloc[:, place].astype(np.float32)
        result.isetitem(place, column)
    return result


def _carried(table: pd.DataFrame, method: Literal["ffill", "bfill"]) -> pd.DataFrame:
    """Return the table with the last value, or the next one, in place of nulls; objects stay objects."""
    table = _fillable(table)
    if not any(pd.api.types.is_object_dtype(dtype) for dtype in table.dtypes):
        return table.ffill() if method == "ffill" else table.bfill()
    result = table.copy(deep=False)
    for place, dtype in enumerate(table.dtypes):
        column: Any = table.iloc[:, place]
        # pandas 2 makes numbers of objects that it fills, and warns of it.
        filled: Any = (
            _carried_objects(column, method) if pd.api.types.is_object_dtype(dtype) else getattr(column, method)()
        )
        result.isetitem(place, filled)
    return result


def _carried_objects(column: pd.Series[Any], method: Literal["ffill", "bfill"]) -> pd.Series[Any]:
    places, known, last = np.arange(len(column)), column.notna().to_numpy(), len(column) - 1
    if method == "ffill":
        places = np.maximum.accumulate(np.where(known, places, 0))
    else:
        places = np.minimum.accumulate(np.where(known, places, last)[::-1])[::-1]
    return column.iloc[places].set_axis(column.index)


def _numeric(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with columns of int64 and float64 only."""
    if all(dtype in (np.int64, np.float64) for dtype in table.dtypes):
        return table
    result = pd.DataFrame(dict(enumerate(_numbers_of(table))), index=table.index)
    result.columns = table.columns
    return result


def _numbers_of(table: pd.DataFrame) -> list[Array]:
    columns = [table.iloc[:, place] for place in range(len(table.columns))]
    for column, label in zip(columns, labels(table), strict=True):
        if not is_numeric(column):
            reject_column(table, label, option="method")
    return [numbers(column) for column in columns]


def _filled(table: pd.DataFrame, fill_value: float) -> pd.DataFrame:
    """Return the table without nulls in its columns of numbers."""
    result = table.copy(deep=False)
    for place in range(len(table.columns)):
        column = table.iloc[:, place]
        if column.hasnans and is_numeric(column, booleans=False):
            filled: Any = _filled_column(column, fill_value)
            result.isetitem(place, filled)
    return result


def _filled_column(column: pd.Series[Any], fill_value: float) -> pd.Series[Any]:
    """Return the column without nulls; as floats where its dtype cannot hold the value, such as 0.5 or -1."""
    try:
        return column.fillna(fill_value)
    except (TypeError, ValueError, OverflowError):  # the Arrow errors are among these
        return pd.Series(numbers(column), index=column.index).fillna(fill_value)
