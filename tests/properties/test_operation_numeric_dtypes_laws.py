"""The dtype of a column of numbers does not change what an operation makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.any_frames import COLUMN_KINDS
from tests.support.cases import for_each
from tests.support.operation_reference import EVERY_OPERATOR

from analytics_core import postprocessing

SIGNED = ("int8", "int16", "int32", "Int8", "Int16", "Int32", "Int64", "arrow int64", "objects of numbers", "decimals")
FLOATS = ("float16", "float32", "float64", "Float32", "Float64", "arrow double", "sparse")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64", "UInt8", "UInt16", "UInt32", "UInt64", "arrow uint8")
CALLS: dict[str, dict[str, Any]] = {
    "aggregate": {
        "groupby": "k",
        "aggregates": {name: {"column": "x", "operator": name, "options": {"q": 30}} for name in EVERY_OPERATOR},
    },
    "boxplot": {"groupby": "k", "metrics": ["x", "y"], "whisker_type": "tukey"},
    "compare": {"source_columns": "x", "compare_columns": "y"},
    "contribution": {"columns": ["x", "y"], "orientation": "row"},
    "cum": {"columns": {"x": "x", "y": "new"}, "operator": "prod"},
    "diff": {"columns": {"x": "x", "y": "new"}},
    "histogram": {"column": "x", "groupby": "k", "bins": 3},
    "pivot": {"index": "k", "aggregates": {name: {"operator": "sum"} for name in ("x", "y")}},
    "rank": {"metric": "x", "group_by": "k"},
    "rolling": {"columns": {"x": "x", "y": "new"}, "rolling_type": "sum", "window": 2, "min_periods": 0},
    "sort": {"columns": {"x": False, "y": True}},
}


@pytest.mark.long
@pytest.mark.slow
@for_each("kind", [*SIGNED, *FLOATS, *UNSIGNED])
@settings(max_examples=15)
@given(rows=st.lists(st.tuples(st.sampled_from("ab"), st.integers(-128, 127), st.integers(-128, 127)), max_size=8))
def test_every_dtype_of_numbers_gives_what_int64_gives(kind: str, rows: list[tuple[str, int, int]]) -> None:
    make = COLUMN_KINDS[kind][2]
    keys, x, y = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    if kind in UNSIGNED:
        x, y = [value + 128 for value in x], [value + 128 for value in y]
    given_ = pd.DataFrame({"k": pd.Series(keys, dtype="str"), "x": make(x), "y": make(y)})
    expected = given_.assign(x=pd.Series(x, dtype="int64"), y=pd.Series(y, dtype="int64"))
    for name, options in CALLS.items():
        made = getattr(postprocessing, name)(given_, **options)
        wanted = getattr(postprocessing, name)(expected, **options)
        assert pictured(made) == pictured(wanted), name


@pytest.mark.slow
@for_each("kind", ["int8", "Int16", "uint32", "float16", "float32", "Float32", "decimals", "arrow uint8"])
@for_each("method", ["asfreq", "bfill", "ffill", "linear", "mean", "median", "sum"])
def test_resample_gives_of_every_dtype_what_it_gives_of_int64(kind: str, method: str) -> None:
    days = pd.DatetimeIndex(["2024-01-01", "2024-01-02", "2024-01-04"])
    values = [100, 120, 90]
    given_ = pd.DataFrame({"x": COLUMN_KINDS[kind][2](values).set_axis(days)})
    expected = pd.DataFrame({"x": values}, index=days, dtype="int64")
    for rule in ("1D", "2D", "12h"):
        made = postprocessing.resample(given_, rule=rule, method=method)
        wanted = postprocessing.resample(expected, rule=rule, method=method)
        assert pictured(made) == pictured(wanted)
        assert list(made.index) == list(wanted.index)


def pictured(frame: pd.DataFrame) -> list[tuple[str, list[Any]]]:
    return [(str(label), [pictured_value(value) for value in frame.iloc[:, n]]) for n, label in enumerate(frame)]


def pictured_value(value: Any) -> Any:
    if isinstance(value, str | Sequence):
        return value if isinstance(value, str) else [float(item) for item in value]
    return None if pd.isna(value) else float(np.float64(value))
