"""Boxes: statistics, whiskers, outliers, groups."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.window_frames import NUMERIC_DTYPES, cells, column, pivoted

from analytics_core import postprocessing
from analytics_core.errors import PostProcessingError

STATISTICS = ("mean", "median", "max", "min", "q1", "q3", "count", "outliers")


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "g": ["b"] * 9 + ["a", "a"],
            "x": [100.0, 4, 2, -90, 3, 5, None, 120, 3, 7, 9],
            "n": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20],
        }
    )


def box(frame: pd.DataFrame, whisker_type: str = "tukey", **options: Any) -> list[dict[str, Any]]:
    options = {"groupby": ["g"], "metrics": ["x"]} | options
    result = postprocessing.boxplot(frame, whisker_type=whisker_type, **options)
    return result.rename(columns=lambda name: name.removeprefix("x__")).to_dict("records")


def test_tukey_whiskers_end_at_the_outermost_values_within_one_and_a_half_boxes() -> None:
    frame = pd.DataFrame({"g": "b", "x": [50.0, 4, 2, -40, 3, 5, None, 60, 3, 1, 6, 4]})
    made = box(frame)[0]
    assert made == {
        "g": "b", "mean": 98 / 11, "median": 4.0, "max": 6.0, "min": 1.0, "q1": 2.5, "q3": 5.5, "count": 11,
        "outliers": [50.0, 60.0, -40.0],
    }  # fmt: skip


def test_outliers_above_come_first_each_in_the_order_of_the_rows() -> None:
    frame = pd.DataFrame({"g": "b", "x": [-50.0, 60, 1, 2, 3, 4, 5, 6, 7, -60, 55]})
    assert box(frame, whisker_type="percentile", percentiles=[20, 80])[0]["outliers"] == [60, 55, -50, -60]


def test_whiskers_from_the_least_to_the_greatest_leave_no_outliers(frame: pd.DataFrame) -> None:
    made = box(frame, whisker_type="min/max")[1]
    assert (made["min"], made["max"], made["outliers"]) == (-90, 120, [])


def test_percentile_whiskers_lie_on_the_line_between_values() -> None:
    frame = pd.DataFrame({"g": "b", "x": [1.0, 2, 3, 4, 5, 6]})
    made = box(frame, whisker_type="percentile", percentiles=[10, 90])[0]
    assert (made["min"], made["max"], made["outliers"]) == (1.5, 5.5, [6, 1])
    full = box(frame, whisker_type="percentile", percentiles=[0, 100])[0]
    assert (full["min"], full["max"], full["outliers"]) == (1, 6, [])


def test_quartiles_lie_midway_between_values() -> None:
    frame = pd.DataFrame({"g": "b", "x": [1.0, 2, 4, 8]})
    made = box(frame)[0]
    assert (made["q1"], made["median"], made["q3"]) == (1.5, 3, 6)


PAIRS = [(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (-5.0, 5.0), (0.0, 1e9), (-1.5, -0.5), (7.0, None)]


@for_each("pair", [*PAIRS, (4.0,), (1.0, 2.0, 9.0), (9.0, 2.0, 1.0), (1.0, 1.0, 50.0)], ids=str)
@for_each("whisker_type", ["tukey", "min/max", "percentile"])
def test_boxes_of_few_values_are_in_order(pair: tuple[float | None, ...], whisker_type: str) -> None:
    """The reference is plain Python: quartiles midway, whiskers to what is within reach, never inside the box."""
    ordered = sorted(value for value in pair if value is not None)

    def at(share: float, *, midway: bool) -> float:
        place = share * (len(ordered) - 1)
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        return (low + high) / 2 if midway else low + (high - low) * (place - math.floor(place))

    q1, middle, q3 = (at(share, midway=True) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (q3 - q1)
    within = [value for value in ordered if q1 - reach <= value <= q3 + reach]
    low, high = {
        "tukey": (min([*within, q1]), max([*within, q3])),
        "min/max": (ordered[0], ordered[-1]),
        "percentile": (at(0.1, midway=False), at(0.9, midway=False)),
    }[whisker_type]
    options = {"percentiles": [10, 90]} if whisker_type == "percentile" else {}
    (made,) = box(pd.DataFrame({"g": "b", "x": pair}), whisker_type, **options)
    found = [made[name] for name in ("min", "q1", "median", "q3", "max")]
    assert found == pytest.approx([low, q1, middle, q3, high])
    assert made["count"] == len(ordered)
    assert sorted(made["outliers"]) == [value for value in ordered if not low <= value <= high]
    if whisker_type != "percentile":
        assert found == sorted(found)


def test_columns_come_statistic_by_statistic_and_metric_by_metric_inside(frame: pd.DataFrame) -> None:
    result = postprocessing.boxplot(frame, groupby="g", metrics=["n", "x"], whisker_type="tukey")
    assert list(result.columns) == ["g"] + [f"{metric}__{name}" for name in STATISTICS for metric in ("n", "x")]
    assert list(result.index) == [0, 1]


def test_groups_come_sorted_and_a_null_key_is_a_group_of_its_own_the_last() -> None:
    frame = pd.DataFrame({"g": ["b", None, "a", None], "x": [1.0, 2, 3, 4]})
    assert [(made["g"], made["count"]) for made in box(frame)][:2] == [("a", 1), ("b", 1)]
    assert (cells(pd.Series([box(frame)[2]["g"]])), box(frame)[2]["mean"]) == ([None], 3)


def test_several_keys_make_a_group_of_each_combination_that_occurs() -> None:
    frame = pd.DataFrame({"g": ["b", "a", "b"], "h": [2, 1, 1], "x": [1.0, 2, 3]})
    made = box(frame, groupby=["g", "h"])
    assert [(row["g"], row["h"], row["mean"]) for row in made] == [("a", 1, 2), ("b", 1, 3), ("b", 2, 1)]


@pytest.mark.parametrize("groupby", [None, []])
def test_without_groups_there_is_one_box(frame: pd.DataFrame, groupby: list[str] | None) -> None:
    made = box(frame, groupby=groupby)
    assert len(made) == 1
    assert (made[0]["count"], list(made[0])) == (10, list(STATISTICS))


def test_without_metrics_every_column_of_numbers_but_the_groups_has_a_box(frame: pd.DataFrame) -> None:
    result = postprocessing.boxplot(frame, groupby="g", whisker_type="tukey")
    assert [name for name in result.columns if name.endswith("__mean")] == ["x__mean", "n__mean"]
    assert list(postprocessing.boxplot(frame, groupby="g", metrics=[], whisker_type="tukey").columns) == ["g"]
    by_number = postprocessing.boxplot(frame, groupby="n", whisker_type="tukey")
    assert [name for name in by_number.columns if name.endswith("__mean")] == ["x__mean"]


def test_whole_numbers_stay_whole_in_whiskers_and_outliers() -> None:
    frame = pd.DataFrame({"g": "a", "x": [1, 2, 3, 4, 100]})
    made = box(frame)[0]
    assert [type(value) for value in (made["max"], made["min"], made["outliers"][0], made["count"])] == [int] * 4


@for_each("dtype", NUMERIC_DTYPES)
def test_every_dtype_of_numbers_has_boxes(dtype: str) -> None:
    frame = pd.DataFrame({"g": "a", "x": column([1.5, None, 2.5], dtype)})
    assert (box(frame)[0]["mean"], box(frame)[0]["count"]) == (2, 2)


@pytest.mark.parametrize("dtype", ["str", "object"])
def test_text_that_reads_as_a_number_counts_as_one_and_other_text_as_null(dtype: str) -> None:
    frame = pd.DataFrame({"g": "a", "x": pd.Series(["1.5", "two", None, "2.5"], dtype=dtype)})
    assert (box(frame)[0]["mean"], box(frame)[0]["count"]) == (2, 2)


@pytest.mark.parametrize("whisker_type", ["tukey", "min/max", "percentile"])
def test_a_group_of_nulls_has_null_statistics_and_count_0(whisker_type: str) -> None:
    frame = pd.DataFrame({"g": ["a", "a", "b"], "x": [None, None, 5.0]})
    empty, other = box(frame, whisker_type=whisker_type, percentiles=[1, 2])
    assert cells(pd.Series([empty[name] for name in STATISTICS[:6]])) == [None] * 6
    assert (empty["count"], empty["outliers"]) == (0, [])
    assert (other["max"], other["min"], other["count"]) == (5, 5, 1)


@pytest.mark.parametrize("whisker_type", ["tukey", "min/max"])
def test_a_frame_without_rows_has_no_groups_and_without_groupby_one_empty_box(whisker_type: str) -> None:
    frame = pd.DataFrame({"g": pd.Series(dtype="str"), "x": pd.Series(dtype="float64")})
    assert box(frame, whisker_type=whisker_type) == []
    assert box(frame, whisker_type=whisker_type, groupby=None)[0]["count"] == 0


def test_infinite_values_are_outliers_and_no_warning() -> None:
    frame = pd.DataFrame({"g": "a", "x": [1.0, 2, 3, 4, 5, float("inf")]})
    assert box(frame)[0]["max"] == 5
    assert box(frame)[0]["outliers"] == [float("inf")]


@for_each("percentiles", [None, [10], [90, 10], [10, 10], [-1, 50], [50, 101], [1, 2, 3], ["a", "b"]])
def test_percentiles_must_be_two_in_order(frame: pd.DataFrame, percentiles: Any) -> None:
    with pytest.raises(PostProcessingError, match="boxplot: percentiles"):
        box(frame, whisker_type="percentile", percentiles=percentiles)


def test_an_unknown_whisker_type_is_answered_with_the_known_ones(frame: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match="whisker_type: 'tuckey' is not one of tukey, min/max, percentile"):
        box(frame, whisker_type="tuckey")


def test_columns_that_are_missing_or_hold_moments_are_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match="metrics: there is no column 'y'"):
        box(frame, metrics=["y"])
    with pytest.raises(PostProcessingError, match="groupby: there is no column 'h'"):
        box(frame, groupby=["h"])
    with pytest.raises(PostProcessingError, match="metrics: column 'day' does not hold numbers"):
        box(frame.assign(day=pd.Timestamp("2024-01-01")), metrics=["day"])
    with pytest.raises(PostProcessingError, match="metrics: 2 columns are called 'sales'"):
        postprocessing.boxplot(pivoted(), metrics=["sales"], whisker_type="tukey")


def test_the_frame_that_is_given_never_changes(frame: pd.DataFrame) -> None:
    before = frame.copy()
    result = postprocessing.boxplot(frame, groupby="g", metrics=["n"], whisker_type="tukey")
    result.iloc[0, [1, 3]] = 99
    pd.testing.assert_frame_equal(frame, before)


def test_a_group_column_with_the_name_of_a_statistic_is_refused() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "x__mean": ["a", "b"]})
    with pytest.raises(PostProcessingError, match="groupby: 'x__mean' is the name of a statistic too"):
        postprocessing.boxplot(frame, groupby=["x__mean"], metrics=["x"], whisker_type="tukey")


def test_percentiles_without_percentile_whiskers_are_told_to_be_unread() -> None:
    result = postprocessing.boxplot(pd.DataFrame({"x": [1.0]}), whisker_type="tukey", percentiles=[10, 90])
    assert result.attrs["notes"] == ("boxplot: kept but not read: percentiles",)
