"""Running sums, products, least and greatest values."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.window_frames import NUMERIC_DTYPES, cells, column, pivoted

from analytics_core import postprocessing
from analytics_core.errors import PostProcessingError


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"x": [3.0, None, 2.0, -1.0], "n": [1, 2, 3, 4], "t": ["a", "b", "c", "d"]})


@pytest.mark.parametrize(
    ("operator", "running"),
    [("sum", [3, 3, 5, 4]), ("prod", [3, 0, 0, 0]), ("min", [3, 0, 0, -1]), ("max", [3, 3, 3, 3])],
)
def test_each_operator_runs_down_the_rows_and_counts_a_null_as_zero(
    frame: pd.DataFrame, operator: str, running: list[float]
) -> None:
    assert cells(postprocessing.cum(frame, columns={"x": "x"}, operator=operator)["x"]) == running


def test_a_source_that_is_its_own_target_is_replaced_in_its_place(frame: pd.DataFrame) -> None:
    assert list(postprocessing.cum(frame, columns={"n": "n"}, operator="sum").columns) == ["x", "n", "t"]


def test_another_target_is_added_on_the_right_and_the_source_stays(frame: pd.DataFrame) -> None:
    result = postprocessing.cum(frame, columns={"n": "running"}, operator="sum")
    assert list(result.columns) == ["x", "n", "t", "running"]
    assert (cells(result["n"]), cells(result["running"])) == ([1, 2, 3, 4], [1, 3, 6, 10])


def test_sources_that_stay_and_sources_that_are_renamed_can_be_mixed_without_a_second_column_of_a_name() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    result = postprocessing.cum(frame, columns={"a": "a", "b": "c"}, operator="sum")
    assert result.to_dict("list") == {"a": [1, 3], "b": [3, 4], "c": [3, 7]}


def test_a_target_that_is_another_column_replaces_that_column() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    assert postprocessing.cum(frame, columns={"a": "b"}, operator="sum").to_dict("list") == {"a": [1, 2], "b": [1, 3]}


def test_without_columns_every_column_of_numbers_runs(frame: pd.DataFrame) -> None:
    result = postprocessing.cum(frame, operator="sum")
    assert (cells(result["x"]), cells(result["n"]), cells(result["t"])) == (
        [3, 3, 5, 4],
        [1, 3, 6, 10],
        ["a", "b", "c", "d"],
    )


def test_a_name_of_the_first_level_means_all_columns_under_it() -> None:
    result = postprocessing.cum(pivoted(), columns={"sales": "sales"}, operator="sum")
    assert cells(result[("sales", "DE")]) == [10, 10, 50]
    assert cells(result[("cost", "DE")]) == [50, 60, 80]
    assert list(result.columns.names) == [None, "country"]


def test_a_new_name_of_several_levels_is_the_first_level() -> None:
    result = postprocessing.cum(pivoted(), columns={"sales": "running"}, operator="sum")
    assert list(result.columns)[-2:] == [("running", "AT"), ("running", "DE")]
    assert cells(result[("running", "AT")]) == [1, 3, 7]
    assert list(result.columns.names) == [None, "country"]
    assert result.index.equals(pivoted().index)


def test_rows_stay_where_they_are_when_the_index_is_unsorted_and_repeats() -> None:
    frame = pivoted().iloc[[2, 0, 0]]
    result = postprocessing.cum(frame, columns={"sales": "running"}, operator="sum")
    assert result.index.equals(frame.index)
    assert cells(result[("running", "AT")]) == [4, 5, 6]


@for_each("dtype", NUMERIC_DTYPES)
def test_every_dtype_of_numbers_runs(dtype: str) -> None:
    frame = pd.DataFrame({"x": column([1.5, None, 2.0], dtype)})
    assert cells(postprocessing.cum(frame, columns={"x": "x"}, operator="sum")) == [1.5, 1.5, 3.5]


def test_booleans_count_as_one_and_zero() -> None:
    frame = pd.DataFrame({"x": [True, False, True]})
    assert cells(postprocessing.cum(frame, columns={"x": "x"}, operator="sum")) == [1, 1, 2]


def test_whole_numbers_that_would_wrap_around_become_floats() -> None:
    frame = pd.DataFrame({"x": [2**62, 2**62, 2**62]})
    assert cells(postprocessing.cum(frame, columns={"x": "x"}, operator="sum")) == [2.0**62, 2.0**63, 3 * 2.0**62]
    assert cells(postprocessing.cum(frame, columns={"x": "x"}, operator="prod"))[-1] == 2.0**186


def test_whole_numbers_that_fit_stay_exact() -> None:
    frame = pd.DataFrame({"x": [2**60, 1, 1]})
    assert cells(postprocessing.cum(frame, columns={"x": "x"}, operator="sum")) == [2**60, 2**60 + 1, 2**60 + 2]


def test_infinite_values_run_on_without_a_warning() -> None:
    frame = pd.DataFrame({"x": [float("inf"), -float("inf"), 1.0]})
    assert cells(postprocessing.cum(frame, columns={"x": "x"}, operator="sum")) == [float("inf"), None, None]


def test_an_empty_frame_and_an_all_null_column_are_no_errors() -> None:
    empty = pd.DataFrame({"x": pd.Series([], dtype="int64")})
    assert len(postprocessing.cum(empty, columns={"x": "x"}, operator="prod")) == 0
    nulls = pd.DataFrame({"x": pd.Series([None, None], dtype="float64")})
    assert cells(postprocessing.cum(nulls, columns={"x": "x"}, operator="sum")) == [0, 0]


def test_the_frame_that_is_given_never_changes(frame: pd.DataFrame) -> None:
    before = frame.copy()
    result = postprocessing.cum(frame, columns={"x": "x", "n": "m"}, operator="sum")
    result.iloc[0, 0] = 99
    result.iloc[0, 3] = 99
    pd.testing.assert_frame_equal(frame, before)


def test_a_missing_column_is_named_with_the_nearest_and_those_there_are(frame: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match=r"cum.*columns: there is no column 'y'.*x, n, t"):
        postprocessing.cum(frame, columns={"y": "y"}, operator="sum")


def test_text_is_refused_with_the_columns_of_numbers(frame: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match=r"'t' does not hold numbers; the numeric columns are: x, n"):
        postprocessing.cum(frame, columns={"t": "t"}, operator="sum")


def test_an_unknown_operator_is_answered_with_the_known_ones(frame: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match=r"operator: 'summ' is not one of sum, prod, min.*did you mean 'sum'"):
        postprocessing.cum(frame, columns={"x": "x"}, operator="summ")


def test_two_results_of_one_name_are_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match="several columns would be called z"):
        postprocessing.cum(frame, columns={"x": "z", "n": "z"}, operator="sum")


def test_a_name_that_two_columns_bear_is_refused() -> None:
    frame = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(PostProcessingError, match="2 columns are called 'x'"):
        postprocessing.cum(frame, columns={"x": "x"}, operator="sum")


@pytest.mark.parametrize("target", ["t", "c"])
def test_columns_of_one_label_do_not_become_one_result(target: str) -> None:
    columns = pd.MultiIndex.from_tuples([("s", "x"), ("s", "x"), ("c", "x")])
    with pytest.raises(PostProcessingError, match=rf"several columns would be called \('{target}', 'x'\)"):
        postprocessing.cum(pd.DataFrame([[1, 2, 3]], columns=columns), operator="sum", columns={"s": target})
