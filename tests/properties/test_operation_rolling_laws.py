"""Laws of rolling: each window gives what its rows alone give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.window_frames import cells

from analytics_core import postprocessing

NUMBERS = st.one_of(st.none(), st.integers(-20, 20).map(float))
SERIES = st.lists(NUMBERS, max_size=20)

OF_SOME: dict[str, Any] = {
    "sum": math.fsum,
    "mean": lambda retained: math.fsum(retained) / len(retained),
    "median": np.median,
    "min": min,
    "max": max,
    "prod": math.prod,
    "std": lambda retained: np.std(retained, ddof=1) if len(retained) > 1 else None,
    "var": lambda retained: np.var(retained, ddof=1) if len(retained) > 1 else None,
    "count": len,
    "percentile": lambda retained: np.percentile(retained, 30),
}
OF_NONE = {"sum": 0, "prod": 1, "count": 0}


def window_rows(row: int, rows: int, window: int, *, center: bool) -> range:
    end = row + 1 + ((window - 1) // 2 if center else 0)
    return range(max(end - window, 0), min(end, rows))


@pytest.mark.slow
@for_each("kind", list(OF_SOME))
@given(values=SERIES, window=st.integers(1, 25), needed=st.integers(0, 5), center=st.booleans())
def test_each_window_gives_what_its_rows_alone_give(
    kind: str, values: list[float | None], window: int, needed: int, *, center: bool
) -> None:
    needed = min(needed, window)
    result = postprocessing.rolling(
        pd.DataFrame({"x": pd.Series(values, dtype="float64")}), rolling_type=kind, window=window,
        min_periods=needed, center=center, rolling_type_options={"q": 30} if kind == "percentile" else {},
    )  # fmt: skip
    expected = []
    for row in range(len(values)):
        rows = window_rows(row, len(values), window, center=center)
        numbers = [value for value in (values[place] for place in rows) if value is not None]
        # A count is of the rows; pandas needs that many rows for it, not values.
        enough = (len(rows) if kind == "count" else len(numbers)) >= needed
        expected.append((OF_SOME[kind](numbers) if numbers else OF_NONE.get(kind)) if enough else None)
    made = cells(result["x"])
    for one, other in zip(made, expected[max(needed - 1, 0) :], strict=True):
        assert one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-7)


@pytest.mark.parametrize(("kind", "choose"), [("argmin", min), ("argmax", max)])
@given(values=SERIES, window=st.integers(1, 25), center=st.booleans())
def test_a_place_counts_from_the_first_row_of_the_window_to_the_first_extreme(
    kind: str, choose: Any, values: list[float | None], window: int, *, center: bool
) -> None:
    result = postprocessing.rolling(
        pd.DataFrame({"x": pd.Series(values, dtype="float64")}), rolling_type=kind, window=window, min_periods=0,
        center=center,
    )  # fmt: skip
    for row, made in enumerate(cells(result["x"])):
        row_values = [values[place] for place in window_rows(row, len(values), window, center=center)]
        known = [value for value in row_values if value is not None]
        assert made == (row_values.index(choose(known)) if known else None)


@pytest.mark.slow
@given(
    values=SERIES,
    window=st.integers(1, 12),
    center=st.booleans(),
    win_type=st.sampled_from(
        [("gaussian", {"std": 2}), ("kaiser", {"beta": 4}), ("slepian", {"width": 0.5}), ("exponential", {})]
    ),
)
def test_a_weighted_mean_of_equal_values_is_that_value_and_its_variance_is_nothing(
    values: list[float | None], window: int, win_type: tuple[str, dict[str, Any]], *, center: bool
) -> None:
    equal = pd.DataFrame({"x": pd.Series([None if value is None else 3.5 for value in values], dtype="float64")})
    for kind, expected in (("mean", 3.5), ("var", 0.0)):
        result = postprocessing.rolling(
            equal, rolling_type=kind, window=window, min_periods=1, center=center, win_type=win_type[0],
            rolling_type_options=win_type[1],
        )  # fmt: skip
        assert all(cell is None or math.isclose(cell, expected, abs_tol=1e-12) for cell in cells(result["x"]))


@given(values=st.lists(NUMBERS, min_size=1, max_size=20))
def test_a_window_over_all_rows_ends_as_the_running_sum_does(values: list[float | None]) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype="float64")})
    rolled = postprocessing.rolling(frame, rolling_type="sum", window=len(values), min_periods=0)
    assert cells(rolled["x"]) == cells(postprocessing.cum(frame, operator="sum")["x"])
