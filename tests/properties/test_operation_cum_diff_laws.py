"""Laws of cum and diff: they undo each other, and agree with plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.window_frames import NUMERIC_DTYPES, SERIES, cells, column

from analytics_core import postprocessing

INTEGERS = st.lists(st.integers(-(2**40), 2**40), max_size=20)
LABELS = st.sampled_from([("s", "a"), ("s", "b"), ("s", None), ("t", "a"), ("t", "")])


@given(values=INTEGERS)
def test_cum_then_diff_gives_the_column_back(values: list[int]) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype="int64")})
    running = postprocessing.cum(frame, columns={"x": "x"}, operator="sum")
    back = cells(postprocessing.diff(running, columns={"x": "x"})["x"])
    assert back[1:] == values[1:]
    assert back[:1] == [None] * min(len(values), 1)
    assert cells(running["x"])[:1] == values[:1]


@given(values=SERIES, dtype=st.sampled_from(NUMERIC_DTYPES))
@pytest.mark.parametrize(
    ("operator", "step"),
    [("sum", lambda a, b: a + b), ("prod", lambda a, b: a * b), ("min", min), ("max", max)],
)
def test_running_results_are_those_of_a_plain_loop(
    values: list[float | None], dtype: str, operator: str, step: Callable[[float, float], float]
) -> None:
    frame = pd.DataFrame({"x": column(values, dtype)})
    numbers = [0.0 if value is None else float(value) for value in cells(frame["x"])]
    made = cells(postprocessing.cum(frame, columns={"x": "y"}, operator=operator)["y"])
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for one, other in zip(made, accumulate(numbers, step), strict=True):
        assert (
            (one is None and math.isnan(other))
            or math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance * 1e5)
            or (dtype == "float32" and (math.isinf(one) or abs(other) < 1e-30))
        )


@given(values=SERIES, periods=st.integers(-30, 30))
def test_differences_are_those_of_a_plain_loop(values: list[float | None], periods: int) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype="float64")})
    made = cells(postprocessing.diff(frame, columns={"x": "x"}, periods=periods)["x"])
    for row, (value, difference) in enumerate(zip(values, made, strict=True)):
        before = values[row - periods] if 0 <= row - periods < len(values) else None
        assert difference == (None if value is None or before is None else value - before)


@given(values=SERIES, other=SERIES, periods=st.integers(-3, 3))
def test_across_columns_is_down_the_rows_of_the_turned_frame(
    values: list[float | None], other: list[float | None], periods: int
) -> None:
    rows = min(len(values), len(other))
    frame = pd.DataFrame({"x": values[:rows], "y": other[:rows], "z": values[:rows]}, dtype="float64")
    across = postprocessing.diff(frame, axis=1, periods=periods)
    pd.testing.assert_frame_equal(across, frame.diff(periods=periods, axis=1), check_dtype=False)


@given(
    labels=st.lists(LABELS, min_size=1, max_size=5, unique=True),
    numbers=st.lists(st.integers(-9, 9), min_size=5, max_size=5),
)
def test_each_column_under_a_name_runs_by_itself(labels: list[tuple[str, Any]], numbers: list[int]) -> None:
    frame = pd.DataFrame([numbers[: len(labels)]] * 3, columns=pd.MultiIndex.from_tuples(labels))
    first = labels[0][0]
    result = postprocessing.cum(frame, columns={first: first}, operator="sum")
    assert result.columns.equals(frame.columns)
    for place, label in enumerate(labels):
        factors = [1, 2, 3] if label[0] == first else [1, 1, 1]
        assert cells(result.iloc[:, place]) == [numbers[place] * factor for factor in factors]
