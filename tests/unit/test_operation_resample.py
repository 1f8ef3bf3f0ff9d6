"""Rows brought onto a regular grid of time."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.window_frames import NUMERIC_DTYPES, cells, column, daily, pivoted

from analytics_core import postprocessing
from analytics_core.errors import LimitError, PostProcessingError


@pytest.fixture
def gaps() -> pd.DataFrame:
    """Return five days, of which the third and the fourth are missing."""
    return daily({"x": [1, 4, None, None, 10]}).iloc[[0, 1, 4]]


@for_each(
    ("method", "values"),
    [
        ("asfreq", [1, 4, None, None, 10]),
        ("ffill", [1, 4, 4, 4, 10]),
        ("bfill", [1, 4, 10, 10, 10]),
        ("linear", [1, 4, 6, 8, 10]),
        ("mean", [1, 4, None, None, 10]),
        ("median", [1, 4, None, None, 10]),
        ("sum", [1, 4, 0, 0, 10]),
    ],
)
def test_each_method_fills_the_days_between(gaps: pd.DataFrame, method: str, values: list[Any]) -> None:
    result = postprocessing.resample(gaps, rule="1D", method=method)
    assert cells(result) == values
    assert list(result.index) == list(pd.date_range("2024-01-01", periods=5))
    assert result.index.name == "day"


@pytest.mark.parametrize(("method", "values"), [("mean", [2.5, 7]), ("median", [2.5, 7]), ("sum", [5, 14])])
def test_a_longer_interval_gathers_rows(method: str, values: list[float]) -> None:
    frame = daily({"x": [1, 4, 4, 10]})
    assert cells(postprocessing.resample(frame, rule="2D", method=method)) == values


@pytest.mark.parametrize("method", ["mean", "sum"])
@pytest.mark.parametrize(("values", "expected"), [([math.inf, -math.inf], None), ([1e308, 1e308], math.inf)])
def test_values_beyond_the_numbers_are_gathered_without_a_warning(
    method: str, values: list[float], expected: float | None
) -> None:
    assert cells(postprocessing.resample(daily({"x": values}), rule="2D", method=method)) == [expected]


def test_mean_and_median_differ() -> None:
    frame = daily({"x": [1, 2, 9]})
    assert cells(postprocessing.resample(frame, rule="3D", method="mean")) == [4]
    assert cells(postprocessing.resample(frame, rule="3D", method="median")) == [2]


@pytest.mark.parametrize("method", ["asfreq", "mean", "median"])
def test_a_fill_value_takes_the_place_of_nulls(gaps: pd.DataFrame, method: str) -> None:
    assert cells(postprocessing.resample(gaps, rule="1D", method=method, fill_value=-1)) == [1, 4, -1, -1, 10]


def test_a_fill_value_takes_the_place_of_nulls_that_were_there_before() -> None:
    frame = daily({"x": [1, None, 3]})
    assert cells(postprocessing.resample(frame, rule="1D", method="asfreq", fill_value=0)) == [1, 0, 3]


def test_a_fill_value_leaves_text_alone(gaps: pd.DataFrame) -> None:
    gaps = gaps.assign(t=["a", "b", "c"])
    result = postprocessing.resample(gaps, rule="1D", method="asfreq", fill_value=0)
    assert cells(result["t"]) == ["a", "b", None, None, "c"]
    assert cells(result["x"]) == [1, 4, 0, 0, 10]


@pytest.mark.parametrize(("method", "values"), [("ffill", [None, 2, 2, 4]), ("bfill", [2, 2, 4, 4])])
def test_filling_fills_nulls_that_were_there_before(method: str, values: list[Any]) -> None:
    frame = daily({"x": [None, 2, None, 4]})
    assert cells(postprocessing.resample(frame, rule="1D", method=method)) == values


def test_filling_carries_the_last_value_that_is_not_null_also_from_between_the_moments_of_the_grid() -> None:
    moments = pd.to_datetime(["2024-01-01", "2024-01-01 12:00", "2024-01-01 18:00", "2024-01-02"], format="ISO8601")
    frame = pd.DataFrame({"x": [1.0, 2.0, None, None]}, index=moments)
    assert cells(postprocessing.resample(frame, rule="1D", method="ffill")) == [1, 2]


def test_straight_lines_pass_through_observations_between_the_moments_of_the_grid() -> None:
    moments = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-05 12:00", "2024-01-06"], format="ISO8601")
    frame = pd.DataFrame({"x": [0.0, 10.0, 80.0, 0.0]}, index=moments)
    result = postprocessing.resample(frame, rule="2D", method="linear")
    assert cells(result) == [0, 30, 70]


def test_before_the_first_observation_there_is_null_and_after_the_last_its_value_stays() -> None:
    frame = daily({"x": [None, 2, None, 4, None], "none": [None] * 5})
    result = postprocessing.resample(frame, rule="1D", method="linear")
    assert cells(result["x"]) == [None, 2, 3, 4, 4]
    assert cells(result["none"]) == [None] * 5


@pytest.mark.slow
@for_each(
    ("rule", "older"),
    [
        ("15min", "15T"), ("1h", "1H"), ("1D", "1d"), ("1W", "1w"), ("1ME", "1M"), ("2QE", "2Q"), ("1YE", "1A"),
        ("1YE", "1Y"), ("1YS", "1AS"), ("30s", "30S"), ("1YS-APR", "1AS-APR"), ("1QE-NOV", "1Q-NOV"),
        ("1BME", "1BM"), ("1D12h", "1D12H"), ("1MS", "1Ms"), ("7D", "7D"), ("ME", "M"), ("1SME", "1SM"),
        ("1W-MON", "1w-mon"), ("36h", " 36 H "),
    ],
)  # fmt: skip
def test_older_names_of_intervals_mean_what_they_meant(rule: str, older: str) -> None:
    moments = pd.to_datetime(["2024-01-10", "2024-01-10 02:00", "2024-04-01"], format="ISO8601")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=moments)
    today = frame.resample(rule).sum()
    pd.testing.assert_frame_equal(postprocessing.resample(frame, rule=rule, method="sum"), today)
    pd.testing.assert_frame_equal(postprocessing.resample(frame, rule=older, method="sum"), today)


@pytest.mark.parametrize(("rule", "milliseconds"), [("500ms", 500), ("500L", 500), ("250000us", 250), ("1s", 1000)])
def test_milliseconds_are_no_months(rule: str, milliseconds: int) -> None:
    frame = pd.DataFrame(
        {"x": [1.0, 2.0]}, index=pd.to_datetime(["2024-01-01", "2024-01-01 00:00:01"], format="ISO8601")
    )
    result = postprocessing.resample(frame, rule=rule, method="ffill")
    assert result.index[1] - result.index[0] == pd.Timedelta(milliseconds=milliseconds)


@for_each(
    "rule", ["", "1", "day", "0D", "-1D", "1D-", "1e3s", "P1D", "D; drop", "1D, 2D", "9" * 30 + "D", "1.5MS", "D" * 999]
)
def test_a_rule_that_is_no_interval_is_answered_with_examples(gaps: pd.DataFrame, rule: str) -> None:
    with pytest.raises(PostProcessingError, match=r"rule: .* is no interval; .* 15min, 1h, 1D, 1W, 1MS"):
        postprocessing.resample(gaps, rule=rule, method="sum")


def test_an_interval_longer_than_the_calendar_makes_one_row(gaps: pd.DataFrame) -> None:
    assert cells(postprocessing.resample(gaps, rule="100000D", method="sum")) == [15]


def test_a_grid_that_would_take_too_much_memory_is_refused_before_it_is_made() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.to_datetime(["1990-01-01", "2024-01-01"], format="ISO8601"))
    with pytest.raises(LimitError, match=r"resample: rule: '1s' would make 1,072,915,2\d\d rows"):
        postprocessing.resample(frame, rule="1s", method="ffill")


def test_a_frame_without_moments_as_index_is_refused() -> None:
    with pytest.raises(PostProcessingError, match=r"Resample operation requires DatetimeIndex.*pivot.*: x"):
        postprocessing.resample(pd.DataFrame({"x": [1]}), rule="1D", method="sum")


@pytest.mark.parametrize("method", ["asfreq", "ffill", "bfill", "linear"])
def test_a_moment_that_repeats_is_refused_where_one_row_must_be_chosen(method: str) -> None:
    frame = daily({"x": [1, 2, 3]}).iloc[[0, 1, 1, 2]]
    with pytest.raises(PostProcessingError, match="1 rows with the moment of another; use mean, median or sum"):
        postprocessing.resample(frame, rule="1D", method=method)


def test_a_moment_that_repeats_is_summed() -> None:
    frame = daily({"x": [1, 2, 3]}).iloc[[0, 1, 1, 2]]
    assert cells(postprocessing.resample(frame, rule="1D", method="sum")) == [1, 4, 3]


@pytest.mark.parametrize("method", ["linear", "mean", "median", "sum"])
def test_methods_that_reckon_leave_text_out_and_say_so(gaps: pd.DataFrame, method: str) -> None:
    made = postprocessing.resample(gaps.assign(t="a"), rule="1D", method=method)
    pd.testing.assert_frame_equal(made, postprocessing.resample(gaps, rule="1D", method=method))
    assert made.attrs["notes"] == (f"resample: {method} needs numbers; left out: t",)
    with pytest.raises(PostProcessingError, match=r"method: column 't' does not hold numbers"):
        postprocessing.resample(gaps.assign(t="a")[["t"]], rule="1D", method=method)


@for_each("method", ["linear", "mean", "sum", "ffill", "asfreq"])
def test_rows_without_a_moment_are_left_out_and_counted(gaps: pd.DataFrame, method: str) -> None:
    nowhen = pd.DatetimeIndex([pd.NaT, pd.NaT], name="day").astype(gaps.index.dtype)
    lost = pd.DataFrame({name: [7, 8] for name in gaps.columns}, index=nowhen)
    made = postprocessing.resample(pd.concat([lost, gaps]), rule="1D", method=method)
    pd.testing.assert_frame_equal(made, postprocessing.resample(gaps, rule="1D", method=method), check_dtype=False)
    assert made.attrs["notes"] == ("resample: 2 rows without a moment are left out",)


@pytest.mark.parametrize("method", ["ffill", "bfill", "asfreq"])
def test_methods_that_carry_values_take_text_too(gaps: pd.DataFrame, method: str) -> None:
    result = postprocessing.resample(gaps.assign(t=["a", "b", "c"]), rule="1D", method=method)
    assert cells(result["t"])[:2] == ["a", "b"]


def test_an_unknown_method_is_answered_with_the_known_ones(gaps: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match="method: 'fill' is not one of asfreq, bfill, ffill, linear"):
        postprocessing.resample(gaps, rule="1D", method="fill")


def test_rows_out_of_order_are_put_in_order(gaps: pd.DataFrame) -> None:
    result = postprocessing.resample(gaps.iloc[[2, 0, 1]], rule="1D", method="ffill")
    assert cells(result) == [1, 4, 4, 4, 10]


def test_rows_without_a_moment_are_left_out() -> None:
    frame = pd.DataFrame(
        {"x": [1.0, 5.0, 2.0]}, index=pd.to_datetime(["2024-01-01", None, "2024-01-02"], format="ISO8601")
    )
    assert cells(postprocessing.resample(frame, rule="1D", method="sum")) == [1, 2]
    nowhere = frame.iloc[[1]]
    assert len(postprocessing.resample(nowhere, rule="1D", method="sum")) == 0


def test_columns_of_several_levels_keep_their_labels() -> None:
    result = postprocessing.resample(pivoted(), rule="2D", method="sum")
    assert result.columns.equals(pivoted().columns)
    assert cells(result[("sales", "DE")]) == [10, 40]
    linear = postprocessing.resample(pivoted(), rule="1D", method="linear")
    assert linear.columns.equals(pivoted().columns)
    assert cells(linear[("sales", "DE")]) == [10, 25, 40]


def test_days_of_a_time_zone_follow_its_clock() -> None:
    moments = pd.DatetimeIndex(["2024-03-30", "2024-04-01"]).tz_localize("Europe/Berlin")
    frame = pd.DataFrame({"x": [0.0, 47.0]}, index=moments)
    result = postprocessing.resample(frame, rule="1D", method="linear")
    assert [str(moment) for moment in result.index] == [
        "2024-03-30 00:00:00+01:00",
        "2024-03-31 00:00:00+01:00",
        "2024-04-01 00:00:00+02:00",
    ]
    assert cells(result) == [0, 24, 47]


@for_each("dtype", NUMERIC_DTYPES)
@for_each("method", ["mean", "sum", "linear", "ffill"])
def test_every_dtype_of_numbers_is_brought_onto_the_grid(dtype: str, method: str) -> None:
    days = pd.date_range("2024-01-01", periods=3)
    frame = pd.DataFrame({"x": column([1.5, None, 2.5], dtype).set_axis(days)})
    expected = {"mean": [1.5, None, 2.5], "sum": [1.5, 0, 2.5], "linear": [1.5, 2, 2.5], "ffill": [1.5, 1.5, 2.5]}
    assert [
        None if cell is None else float(cell)
        for cell in cells(postprocessing.resample(frame, rule="1D", method=method))
    ] == expected[method]


def test_an_empty_frame_stays_empty(gaps: pd.DataFrame) -> None:
    result = postprocessing.resample(gaps.iloc[:0], rule="1D", method="mean", fill_value=0)
    assert (len(result), list(result.columns)) == (0, ["x"])


def test_a_single_row_stays_as_it_is(gaps: pd.DataFrame) -> None:
    for method in ("asfreq", "ffill", "bfill", "linear", "mean", "median", "sum"):
        assert cells(postprocessing.resample(gaps.iloc[:1], rule="1D", method=method)) == [1]


@pytest.mark.parametrize("method", ["asfreq", "ffill", "linear", "sum"])
def test_the_frame_that_is_given_never_changes(gaps: pd.DataFrame, method: str) -> None:
    before = gaps.copy()
    result = postprocessing.resample(gaps, rule="1D", method=method, fill_value=0)
    result.iloc[0, 0] = 99
    pd.testing.assert_frame_equal(gaps, before)
