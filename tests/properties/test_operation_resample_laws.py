"""Laws of resample: totals are kept, moments lie on the grid, values lie where they were."""

from __future__ import annotations

import math
from datetime import datetime

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.window_frames import cells

from analytics_core import postprocessing

MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2021, 12, 31))
RULES = st.sampled_from(["1D", "7D", "15D", "1W", "1MS", "1ME", "1QS", "1YS", "36h", "1M", "1AS", "2W-WED"])
NUMBERS = st.one_of(st.none(), st.integers(-1000, 1000).map(float))
ROWS = st.dictionaries(MOMENTS, st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=25)


def table(rows: dict[datetime, tuple[float | None, float | None]]) -> pd.DataFrame:
    return pd.DataFrame(
        list(rows.values()), columns=["x", "y"], index=pd.DatetimeIndex(list(rows), name="t"), dtype="float64"
    )


@given(rows=ROWS, rule=RULES)
def test_sums_keep_the_total(rows: dict[datetime, tuple[float | None, float | None]], rule: str) -> None:
    frame = table(rows)
    result = postprocessing.resample(frame, rule=rule, method="sum")
    assert result["x"].sum() == frame["x"].sum()
    assert result["y"].sum() == frame["y"].sum()
    assert result.index.is_monotonic_increasing


@pytest.mark.slow
@given(rows=ROWS, rule=RULES)
def test_filling_forward_takes_the_last_value_before(
    rows: dict[datetime, tuple[float | None, float | None]], rule: str
) -> None:
    frame = table(rows).sort_index()
    result = postprocessing.resample(frame, rule=rule, method="ffill")
    for moment, value in zip(result.index, cells(result["x"]), strict=True):
        before = frame["x"][frame.index <= moment].dropna()
        assert value == (before.iloc[-1] if len(before) else None)


@pytest.mark.slow
@given(rows=ROWS, rule=RULES)
def test_straight_lines_lie_between_the_neighbours(
    rows: dict[datetime, tuple[float | None, float | None]], rule: str
) -> None:
    frame = table(rows).sort_index()
    result = postprocessing.resample(frame, rule=rule, method="linear")
    known = frame["x"].dropna()
    for moment, value in zip(result.index, cells(result["x"]), strict=True):
        before, after = known[known.index <= moment], known[known.index >= moment]
        if not len(before):
            assert value is None
        elif not len(after):
            assert value == before.iloc[-1]
        else:
            (start, low), (end, high) = (before.index[-1], before.iloc[-1]), (after.index[0], after.iloc[0])
            share = (moment - start) / (end - start) if end > start else 0
            assert math.isclose(value, low + (high - low) * share, rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.slow
@given(rows=ROWS, rule=RULES, method=st.sampled_from(["asfreq", "bfill", "ffill", "linear", "mean", "median", "sum"]))
def test_all_methods_give_one_grid_and_the_order_of_the_rows_does_not_matter(
    rows: dict[datetime, tuple[float | None, float | None]], rule: str, method: str
) -> None:
    frame = table(rows)
    result = postprocessing.resample(frame, rule=rule, method=method)
    assert result.index.equals(postprocessing.resample(frame, rule=rule, method="asfreq").index)
    pd.testing.assert_frame_equal(result, postprocessing.resample(frame.iloc[::-1], rule=rule, method=method))


@given(rows=ROWS, rule=RULES, method=st.sampled_from(["asfreq", "bfill", "ffill", "linear", "mean"]))
def test_a_fill_value_leaves_no_null(
    rows: dict[datetime, tuple[float | None, float | None]], rule: str, method: str
) -> None:
    result = postprocessing.resample(table(rows), rule=rule, method=method, fill_value=7)
    assert not result.isna().to_numpy().any()
