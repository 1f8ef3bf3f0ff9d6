"""Frames of every dtype of pandas 3, with nulls, labels that occur twice, several levels, and every kind of index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

_DAYS = [datetime(2024, 1, 1), datetime(2024, 1, 2, 13, 30), datetime(1969, 12, 31, 23), datetime(2024, 3, 31, 1)]
_TEXTS = ["a", "b", "a, b", "", "é", "3", "52.5, 13.4", "u33dc0", "<NULL>", "All", "All, a"]
_FLOATS = [0.0, -0.0, 1.5, -2.0, 3.0, float("inf"), float("-inf"), 1e308, 5e-324]
_DECIMALS = [Decimal("1.10"), Decimal(-2), Decimal("1E+30"), Decimal("NaN"), Decimal("Infinity")]
_MIXED: list[Any] = [1, "a", 2.5, True, date(2024, 1, 1), Decimal(1), b"x", time(1), timedelta(1), (1, 2)]
_UNHASHABLE: list[Any] = [[1, 2], {"a": 1}, [], {"b"}]
_INTEGER = [0, 1, 2, 3, 100]
_INTERVALS = list(pd.interval_range(0.0, 3.0))


def _dtype(name: Any) -> Callable[[Sequence[Any]], pd.Series[Any]]:
    return lambda values: pd.Series(list(values), dtype=name)


def _arrow(kind: pa.DataType) -> Callable[[Sequence[Any]], pd.Series[Any]]:
    return lambda values: pd.Series(pd.array(list(values), dtype=pd.ArrowDtype(kind)))


def _text(storage: str, null: Any) -> Callable[[Sequence[Any]], pd.Series[Any]]:
    return _dtype(pd.StringDtype(storage, na_value=null))


def _zoned(zone: str, unit: str) -> Callable[[Sequence[Any]], pd.Series[Any]]:
    return lambda values: pd.Series(pd.to_datetime(list(values), utc=True)).astype(f"datetime64[{unit}, {zone}]")


def _periods(values: Sequence[Any]) -> pd.Series[Any]:
    return pd.Series(pd.PeriodIndex([None if value is None else value.date() for value in values], freq="D"))


def _intervals(values: Sequence[Any]) -> pd.Series[Any]:
    return pd.Series(pd.arrays.IntervalArray(list(values), dtype="interval[float64, right]"))


_SPANS = [timedelta(0), timedelta(days=1), timedelta(seconds=-1)]
_SMALL_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_WITH_NULLS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")

Kind = tuple[Sequence[Any], bool, Callable[[Sequence[Any]], "pd.Series[Any]"]]
"""The values that a column may hold, whether it may hold nulls, and what makes a column of them."""

COLUMN_KINDS: dict[str, Kind] = (
    {name: (_INTEGER, False, _dtype(name)) for name in _SMALL_INTEGERS}
    | {name: (_INTEGER, True, _dtype(name)) for name in _WITH_NULLS}
    | {name: (_FLOATS, True, _dtype(name)) for name in ("float64", "Float64")}
    | {name: (_FLOATS[:7], True, _dtype(name)) for name in ("float16", "float32", "Float32")}
    | {f"datetime64[{unit}]": (_DAYS, True, _dtype(f"datetime64[{unit}]")) for unit in ("s", "ms", "us", "ns")}
    | {f"timedelta64[{unit}]": (_SPANS, True, _dtype(f"timedelta64[{unit}]")) for unit in ("s", "ms", "us", "ns")}
    | {
        "large int64": ([2**63 - 1, -(2**63), 2**53 + 1, 0], False, _dtype("int64")),
        "large uint64": ([2**64 - 1, 2**63, 0], False, _dtype("uint64")),
        "large UInt64": ([2**64 - 1, 2**63, 0], True, _dtype("UInt64")),
        "large objects": ([2**64, -(2**70), 1], True, _dtype(object)),
        "complex128": ([1j, 2 + 0j], True, _dtype("complex128")),
        "bool": ([True, False], False, _dtype("bool")),
        "boolean": ([True, False], True, _dtype("boolean")),
        "objects": (_MIXED, True, _dtype(object)),
        "objects of text": (_TEXTS, True, _dtype(object)),
        "objects of numbers": ([1, 2.5, -3], True, _dtype(object)),
        "objects of Booleans": ([True, False], True, _dtype(object)),
        "objects of days": ([date(2024, 1, 1), date(2023, 5, 5)], True, _dtype(object)),
        "decimals": (_DECIMALS, True, _dtype(object)),
        "unhashable objects": (_UNHASHABLE, True, _dtype(object)),
        "str python": (_TEXTS, True, _text("python", np.nan)),
        "str pyarrow": (_TEXTS, True, _text("pyarrow", np.nan)),
        "string python": (_TEXTS, True, _text("python", pd.NA)),
        "string pyarrow": (_TEXTS, True, _text("pyarrow", pd.NA)),
        "category of text": (_TEXTS, True, _dtype("category")),
        "category of numbers": (_INTEGER, True, _dtype("category")),
        "ordered category": (["b", "a"], True, _dtype(pd.CategoricalDtype(["b", "a", "c"], ordered=True))),
        "datetime64 of Berlin": (_DAYS[:3], True, _zoned("Europe/Berlin", "us")),
        "datetime64 in UTC": (_DAYS, True, _zoned("UTC", "ns")),
        "period": (_DAYS, True, _periods),
        "interval": (_INTERVALS, True, _intervals),
        "sparse": ([0.0, 1.5, 2.0], True, _dtype(pd.SparseDtype("float64"))),
        "arrow int64": ([2**63 - 1, 2, 3], True, _arrow(pa.int64())),
        "arrow uint8": (_INTEGER, True, _arrow(pa.uint8())),
        "arrow double": (_FLOATS, True, _arrow(pa.float64())),
        "arrow bool": ([True, False], True, _arrow(pa.bool_())),
        "arrow string": (_TEXTS, True, _arrow(pa.string())),
        "arrow large_string": (_TEXTS, True, _arrow(pa.large_string())),
        "arrow binary": ([b"a", b""], True, _arrow(pa.binary())),
        "arrow timestamp": (_DAYS, True, _arrow(pa.timestamp("us"))),
        "arrow zoned timestamp": (_DAYS, True, _arrow(pa.timestamp("us", "UTC"))),
        "arrow date32": ([date(2024, 1, 1)], True, _arrow(pa.date32())),
        "arrow time64": ([time(1, 2)], True, _arrow(pa.time64("us"))),
        "arrow duration": (_SPANS, True, _arrow(pa.duration("us"))),
        "arrow decimal128": ([Decimal("1.10"), Decimal("-2.00")], True, _arrow(pa.decimal128(10, 2))),
        "arrow list": ([[1], [2, 3]], True, _arrow(pa.list_(pa.int64()))),
        "arrow null": ([None], True, _arrow(pa.null())),
    }
)
"""Every dtype of pandas 3, by a name for messages."""

LABELS = ("k", "x", "y", "a, b", "index", "rank")
_ROWS = st.integers(0, 6)


@st.composite
def columns_of_any_dtype(draw: st.DrawFn, rows: int, kind: str | None = None) -> pd.Series[Any]:
    """Return a column of the kind, or of any; sometimes all null, where its dtype can."""
    values, nulls, make = COLUMN_KINDS[kind or draw(st.sampled_from(sorted(COLUMN_KINDS)))]
    if nulls and draw(st.integers(0, 5)) == 0:
        return make([None] * rows)
    elements = st.sampled_from([*values, None] if nulls and None not in values else list(values))
    return make(draw(st.lists(elements, min_size=rows, max_size=rows)))


NUMERIC_KINDS = (*_SMALL_INTEGERS, *_WITH_NULLS, "float64", "Float64", "float16", "float32", "Float32", "large int64")
"""The kinds of numbers; the others are `COLUMN_KINDS` without these."""


@st.composite
def frames_of_k_x_y(draw: st.DrawFn) -> pd.DataFrame:
    """Return frames with columns `k` of any dtype, `x` and `y` of numbers, and an index that may hold moments."""
    rows = draw(_ROWS)
    numeric = st.sampled_from([*NUMERIC_KINDS, "objects of numbers", "decimals", "arrow double", "arrow int64", "bool"])
    kinds = {"k": draw(st.sampled_from(sorted(COLUMN_KINDS))), "x": draw(numeric), "y": draw(numeric)}
    table = pd.DataFrame({name: draw(columns_of_any_dtype(rows, kind)) for name, kind in kinds.items()})
    return table.set_axis(draw(_indexes(rows)))


@st.composite
def any_frames(draw: st.DrawFn) -> pd.DataFrame:
    """Return frames of up to 6 rows and 5 columns of any dtype, labels and index."""
    rows = draw(_ROWS)
    count = draw(st.integers(0, 5))
    table = pd.DataFrame({place: draw(columns_of_any_dtype(rows)) for place in range(count)}, index=range(rows))
    table.columns = draw(_labels(count))
    table.index = draw(_indexes(rows))
    return table


@st.composite
def _labels(draw: st.DrawFn, count: int) -> pd.Index[Any]:
    """Return labels: most often different texts, also equal ones, numbers, moments, nulls, and several levels."""
    plain = st.sampled_from(LABELS)
    strange: st.SearchStrategy[Any] = st.sampled_from([*LABELS, 0, 1, None, pd.Timestamp("2024-01-01")])
    form = draw(st.sampled_from(["different", "different", "different", "any", "strange", "levels", "levels"]))
    if form == "levels":
        second = st.sampled_from(["a", "b", "", None, 1])
        pairs = draw(st.lists(st.tuples(plain, second), min_size=count, max_size=count))
        names = draw(st.sampled_from([[None, "k"], ["metric", "k"], [None, None]]))
        return pd.MultiIndex.from_tuples(pairs, names=names) if pairs else pd.MultiIndex.from_arrays([[], []])
    labels = strange if form == "strange" else plain
    made = draw(st.lists(labels, min_size=count, max_size=count, unique=form == "different"))
    return pd.Index(made, dtype=object, name=draw(st.sampled_from([None, "k"])))


@st.composite
def _indexes(draw: st.DrawFn, rows: int) -> pd.Index[Any]:
    """Return an index: a count, text, moments (also equal ones, null, in a zone), or two levels."""
    form = draw(st.sampled_from(["count", "count", "text", "moments", "moments", "zone", "levels"]))
    name = draw(st.sampled_from([None, "x", "day"]))
    if form == "count":
        return pd.RangeIndex(rows, name=name)
    if form == "text":
        return pd.Index(draw(st.lists(st.sampled_from(["a", "b", None]), min_size=rows, max_size=rows)), name=name)
    moments = pd.DatetimeIndex(
        draw(st.lists(st.sampled_from([*_DAYS, None]), min_size=rows, max_size=rows, unique=rows < 5)), name=name
    )
    if form == "moments":
        return moments.as_unit(draw(st.sampled_from(["s", "ms", "us", "ns"])))
    if form == "zone":
        return moments.tz_localize("UTC").tz_convert("Europe/Berlin")
    return pd.MultiIndex.from_arrays([moments, list(range(rows))], names=[name, None])


def picture(frame: pd.DataFrame) -> object:
    """Return all there is to see of a frame: two pictures are equal if nothing changed, to the last bit."""
    columns = [frame.iloc[:, place] for place in range(len(frame.columns))]
    cells = [(str(column.dtype), [(type(value), repr(value)) for value in column.tolist()]) for column in columns]
    axes = [(type(axis), list(axis.names), repr(axis.tolist())) for axis in (frame.columns, frame.index)]
    return cells, axes
