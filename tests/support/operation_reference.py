"""Aggregates and pivots as plain loops over Python values, and frames to try them on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

Values = Sequence[float | None]

EVERY_OPERATOR = (
    *("average", "argmin", "argmax", "count", "count_nonzero", "cumsum", "cumprod", "max", "mean", "median", "nansum"),
    *("nanmin", "nanmax", "nanmean", "nanmedian", "nanpercentile", "min", "percentile", "prod", "product", "std"),
    *("sum", "var"),
)


def aggregate_of(operator: str, rows: Values, q: float = 0) -> float | None:
    """Return the aggregate of one group, None for null; floats are added in the order of the rows."""
    values = [value for value in rows if value is not None]
    strict = operator in ("average", "median", "percentile")
    if operator == "count":
        return len(rows)
    if operator == "count_nonzero":
        return sum(1 for value in rows if value is None or value != 0)
    if operator in ("sum", "nansum", "cumsum"):
        return _folded(values, lambda total, value: total + value, 0)
    if operator in ("prod", "product", "cumprod"):
        return _folded(values, lambda total, value: total * value, 1)
    if not values or (strict and len(values) < len(rows)):
        return None
    return _OF_SOME[operator.removeprefix("nan")](rows, values, q)


def _folded(values: Sequence[float], step: Callable[[float, float], float], start: float) -> float:
    total = start
    for value in values:
        total = step(total, value)
    return total


def _mean(values: Sequence[float]) -> float:
    return _folded([float(value) for value in values], lambda total, value: total + value, 0.0) / len(values)


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return _folded([(value - mean) * (value - mean) for value in values], lambda a, b: a + b, 0.0) / len(values)


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (float(ordered[(len(values) - 1) // 2]) + float(ordered[len(values) // 2])) / 2


_OF_SOME: dict[str, Callable[[Values, Sequence[float], float], float]] = {
    "average": lambda rows, retained, q: _mean(retained),
    "mean": lambda rows, retained, q: _mean(retained),
    "median": lambda rows, retained, q: _median(retained),
    "percentile": lambda rows, retained, q: float(np.percentile(np.array(retained, dtype=float), q)),
    "min": lambda rows, retained, q: min(retained),
    "max": lambda rows, retained, q: max(retained),
    "std": lambda rows, retained, q: math.sqrt(_variance(retained)),
    "var": lambda rows, retained, q: _variance(retained),
    "argmin": lambda rows, retained, q: rows.index(min(retained)),
    "argmax": lambda rows, retained, q: rows.index(max(retained)),
}


def pivot_of(frame: pd.DataFrame, index: str, column: str, value: str, operator: str, q: float = 0) -> dict[Any, Any]:
    """Return the cells that hold something, by (index value, column label); nulls in `column` are `<NULL>`."""
    cells: dict[Any, list[Any]] = {}
    for row, across, number in zip(frame[index], frame[column], frame[value], strict=True):
        key = (None if pd.isna(row) else row, "<NULL>" if pd.isna(across) else across)
        cells.setdefault(key, []).append(plain(number))
    made = {key: aggregate_of(operator, rows, q) for key, rows in cells.items()}
    return {key: value for key, value in made.items() if value is not None}


NUMBERS = st.one_of(st.none(), st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_subnormal=False))
INTEGERS = st.one_of(st.none(), st.integers(-(2**31), 2**31))
KEYS = st.one_of(st.none(), st.sampled_from(["a", "b", "B", "a, b", "<NULL>", "", "é"]))
DAYS = st.one_of(st.none(), st.sampled_from(list(pd.date_range("2024-01-01", periods=4))))


@st.composite
def tables(draw: st.DrawFn, *, min_size: int = 0, numbers: st.SearchStrategy[Any] = NUMBERS) -> pd.DataFrame:
    """Return frames with text `k` (both string storages and objects), moments `d`, floats `x`, whole numbers `n`."""
    rows = draw(st.lists(st.tuples(KEYS, DAYS, numbers, INTEGERS), min_size=min_size, max_size=30))
    text = draw(
        st.sampled_from(
            [
                pd.StringDtype("python", na_value=np.nan),
                pd.StringDtype("pyarrow", na_value=np.nan),
                pd.StringDtype("pyarrow"),
                "object",
                "category",
            ]
        )
    )
    int_dtype = draw(st.sampled_from(["Int64", "float64", "object"]))
    return pd.DataFrame(
        {
            "k": pd.Series([row[0] for row in rows], dtype=text),
            "d": pd.Series([row[1] for row in rows], dtype="datetime64[us]"),
            "x": pd.Series([row[2] for row in rows], dtype=draw(st.sampled_from(["float64", "Float64", "object"]))),
            "n": pd.Series([row[3] for row in rows], dtype=int_dtype),
        }
    )


def plain(value: Any) -> Any:
    """Return None for every kind of null, other values as Python's own."""
    if pd.isna(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def same_number(one: Any, other: Any) -> bool:
    """Tell whether two numbers are equal but for the last two bits, or both null; 0.0 and -0.0 are equal.

    Whole numbers beyond the reach of floats may be exact on one side and rounded on the other.
    """
    one, other = plain(one), plain(other)
    if one is None or other is None:
        return one is None and other is None
    if math.isclose(float(one), float(other), rel_tol=5e-16):
        return True
    return float(one) == float(other) or (abs(one) > 2**53 and math.isclose(one, other, rel_tol=1e-13))
