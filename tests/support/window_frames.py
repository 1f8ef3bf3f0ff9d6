"""Frames with a time index for the operations that look along it, and columns of every numeric dtype."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

NUMERIC_DTYPES = ("float64", "float32", "Float64", "double[pyarrow]", "object", "decimal")
INTEGERS_DTYPES = ("Int64", "int64[pyarrow]", "object", "float64")


def column(values: Sequence[float | None], dtype: str) -> pd.Series[Any]:
    """Return a column of numbers of a dtype; `decimal` is a column of objects that are decimals."""
    if dtype == "decimal":
        return pd.Series([None if value is None else Decimal(repr(value)) for value in values], dtype=object)
    return pd.Series(list(values), dtype=dtype)


def daily(values: dict[str, Sequence[float | None]], *, start: str = "2024-01-01") -> pd.DataFrame:
    """Return columns of floats with a row for each day."""
    length = len(next(iter(values.values())))
    return pd.DataFrame(
        {name: pd.Series(list(numbers), dtype="float64").to_numpy() for name, numbers in values.items()},
        index=pd.date_range(start, periods=length, name="day", unit="us"),
    )


def pivoted() -> pd.DataFrame:
    """Return what `pivot` gives for two metrics and two countries."""
    columns = pd.MultiIndex.from_product([["sales", "cost"], ["AT", "DE"]], names=[None, "country"])
    cells = np.array([[1.0, 10.0, 5.0, 50.0], [2.0, np.nan, 6.0, 60.0], [4.0, 40.0, 8.0, 80.0]])
    return pd.DataFrame(cells, index=pd.date_range("2024-01-01", periods=3, name="day", unit="us"), columns=columns)


def cells(result: pd.Series[Any] | pd.DataFrame) -> list[Any]:
    """Return the values of a column as Python's own, None for every kind of null."""
    series = result.iloc[:, 0] if isinstance(result, pd.DataFrame) else result
    items = (value.item() if isinstance(value, np.generic) else value for value in series.array)
    return [None if not isinstance(value, list) and pd.isna(value) else value for value in items]


SMALL = st.one_of(st.none(), st.integers(-1000, 1000).map(float), st.floats(-1e4, 1e4, allow_subnormal=False))
SERIES = st.lists(SMALL, min_size=0, max_size=25)
