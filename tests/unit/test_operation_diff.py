"""Differences down the rows and across the columns."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.window_frames import NUMERIC_DTYPES, cells, column, pivoted

from analytics_core import postprocessing
from analytics_core.errors import PostProcessingError


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1.0, 4.0, None, 16.0], "b": [1, 2, 4, 8], "t": ["w", "x", "y", "z"]})


@for_each(
    ("periods", "differences"),
    [
        (1, [None, 1, 2, 4]),
        (2, [None, None, 3, 6]),
        (-1, [-1, -2, -4, None]),
        (0, [0, 0, 0, 0]),
        (4, [None] * 4),
        (-9, [None] * 4),
    ],
)
def test_periods_says_which_row_a_value_is_set_against(
    frame: pd.DataFrame, periods: int, differences: list[Any]
) -> None:
    assert cells(postprocessing.diff(frame, columns={"b": "b"}, periods=periods)["b"]) == differences


def test_one_period_is_the_default_and_a_null_makes_null(frame: pd.DataFrame) -> None:
    assert cells(postprocessing.diff(frame, columns={"a": "a"})["a"]) == [None, 3, None, None]


@pytest.mark.parametrize("axis", [1, "column"])
def test_axis_1_sets_the_named_columns_against_each_other(frame: pd.DataFrame, axis: int | str) -> None:
    result = postprocessing.diff(frame, columns={"a": "a", "b": "b"}, axis=axis)
    assert cells(result["a"]) == [None] * 4
    assert cells(result["b"]) == [0, -2, None, -8]


def test_axis_1_reads_periods_as_columns_and_the_order_of_the_names(frame: pd.DataFrame) -> None:
    result = postprocessing.diff(frame, columns={"b": "b", "a": "a"}, periods=-1, axis=1)
    assert cells(result["b"]) == [0, -2, None, -8]
    assert cells(result["a"]) == [None] * 4


def test_axis_0_has_a_name_too(frame: pd.DataFrame) -> None:
    assert cells(postprocessing.diff(frame, columns={"b": "b"}, axis="row")["b"]) == [None, 1, 2, 4]


def test_a_new_name_keeps_the_source(frame: pd.DataFrame) -> None:
    result = postprocessing.diff(frame, columns={"b": "step"})
    assert list(result.columns) == ["a", "b", "t", "step"]
    assert cells(result["step"]) == [None, 1, 2, 4]


def test_columns_of_several_levels_are_found_by_the_first() -> None:
    result = postprocessing.diff(pivoted(), columns={"cost": "cost"})
    assert cells(result[("cost", "DE")]) == [None, 10, 20]
    assert cells(result[("sales", "AT")]) == [1, 2, 4]


@for_each("dtype", NUMERIC_DTYPES)
def test_every_dtype_of_numbers_has_differences(dtype: str) -> None:
    frame = pd.DataFrame({"x": column([1.5, 2.0, None], dtype)})
    assert cells(postprocessing.diff(frame, columns={"x": "x"})) == [None, 0.5, None]


def test_large_whole_numbers_keep_their_last_digits() -> None:
    frame = pd.DataFrame({"x": [2**60, 2**60 + 1, 2**60 + 4]})
    assert cells(postprocessing.diff(frame, columns={"x": "x"})) == [None, 1, 3]


def test_a_difference_beyond_64_bits_does_not_wrap_around() -> None:
    frame = pd.DataFrame({"x": [-(2**62) - 5, 2**62 + 5]})
    assert cells(postprocessing.diff(frame, columns={"x": "x"})) == [None, 2.0**63]


def test_an_empty_frame_stays_empty() -> None:
    frame = pd.DataFrame({"x": pd.Series([], dtype="float64")})
    assert len(postprocessing.diff(frame, columns={"x": "x"})) == 0
    assert len(postprocessing.diff(frame, columns={"x": "x"}, axis=1)) == 0


def test_the_frame_that_is_given_never_changes(frame: pd.DataFrame) -> None:
    before = frame.copy()
    result = postprocessing.diff(frame, columns={"a": "a", "b": "c"})
    result.iloc[0, :2] = 99
    pd.testing.assert_frame_equal(frame, before)


def test_text_and_moments_are_refused(frame: pd.DataFrame) -> None:
    frame["day"] = pd.Timestamp("2024-01-01")
    for name in ("t", "day"):
        with pytest.raises(PostProcessingError, match=f"'{name}' does not hold numbers"):
            postprocessing.diff(frame, columns={name: name})


@pytest.mark.parametrize("options", [{"axis": 2}, {"axis": "rows"}, {"periods": "1"}, {"periods": 1.5}])
def test_an_axis_or_a_number_of_periods_that_is_none_is_refused(frame: pd.DataFrame, options: dict[str, Any]) -> None:
    with pytest.raises(PostProcessingError, match=f"diff.*{next(iter(options))}"):
        postprocessing.diff(frame, columns={"b": "b"}, **options)
