"""Windows that move down the rows: every type, every window type, every option."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.window_frames import NUMERIC_DTYPES, cells, column, daily, pivoted

from analytics_core import postprocessing
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.models.postprocessing import RollingType, WindowType

VALUES = [4.0, 1.0, None, 3.0, 8.0, 2.0]


@pytest.fixture
def frame() -> pd.DataFrame:
    return daily({"x": VALUES, "y": [1, 2, 3, 4, 5, 9]})


def rolled(frame: pd.DataFrame, rolling_type: str, window: int = 3, **options: Any) -> list[Any]:
    options.setdefault("min_periods", 0)
    result = postprocessing.rolling(frame, columns={"x": "x"}, rolling_type=rolling_type, window=window, **options)
    return [None if cell is None else round(cell, 9) for cell in cells(result["x"])]


@pytest.mark.parametrize(
    ("rolling_type", "options", "values"),
    [
        ("sum", {}, [4, 5, 5, 4, 11, 13]),
        ("nansum", {}, [4, 5, 5, 4, 11, 13]),
        ("cumsum", {}, [4, 5, 5, 4, 11, 13]),
        ("mean", {}, [4, 2.5, 2.5, 2, 5.5, 13 / 3]),
        ("average", {}, [4, 2.5, 2.5, 2, 5.5, 13 / 3]),
        ("nanmean", {}, [4, 2.5, 2.5, 2, 5.5, 13 / 3]),
        ("median", {}, [4, 2.5, 2.5, 2, 5.5, 3]),
        ("nanmedian", {}, [4, 2.5, 2.5, 2, 5.5, 3]),
        ("min", {}, [4, 1, 1, 1, 3, 2]),
        ("nanmin", {}, [4, 1, 1, 1, 3, 2]),
        ("max", {}, [4, 4, 4, 3, 8, 8]),
        ("nanmax", {}, [4, 4, 4, 3, 8, 8]),
        ("prod", {}, [4, 4, 4, 3, 24, 48]),
        ("product", {}, [4, 4, 4, 3, 24, 48]),
        ("cumprod", {}, [4, 4, 4, 3, 24, 48]),
        ("argmin", {}, [0, 1, 1, 0, 1, 2]),
        ("argmax", {}, [0, 0, 0, 2, 2, 1]),
        ("std", {}, [None, math.sqrt(4.5), math.sqrt(4.5), math.sqrt(2), math.sqrt(12.5), math.sqrt(31 / 3)]),
        ("var", {}, [None, 4.5, 4.5, 2, 12.5, 31 / 3]),
        ("percentile", {"q": 50}, [4, 2.5, 2.5, 2, 5.5, 3]),
        ("nanpercentile", {"q": 100}, [4, 4, 4, 3, 8, 8]),
        ("quantile", {"quantile": 0}, [4, 1, 1, 1, 3, 2]),
        ("count", {}, [1, 2, 2, 2, 2, 3]),
        ("cov", {"other": "y"}, [None, -1.5, -1.5, 2, 2.5, -4]),
        ("corr", {"other": "y"}, [None, -1, -1, 1, 1, -4 / math.sqrt(31 / 3 * 7)]),
        ("skew", {}, [None, None, None, None, None, pd.Series([3, 8, 2]).skew()]),
        ("kurt", {}, [None] * 6),
    ],
)
def test_each_type_leaves_nulls_out_of_the_window(
    frame: pd.DataFrame, rolling_type: str, options: dict[str, Any], values: list[Any]
) -> None:
    expected = [None if value is None else round(value, 9) for value in values]
    assert rolled(frame, rolling_type, rolling_type_options=options) == expected


def test_every_type_is_tried_here() -> None:
    tried = test_each_type_leaves_nulls_out_of_the_window.pytestmark[0].args[1]
    assert sorted(case[0] for case in tried) == sorted(RollingType)


def test_the_excess_of_a_longer_window(frame: pd.DataFrame) -> None:
    assert rolled(frame, "kurt", window=6)[-1] == round(frame["x"].kurt(), 9)


def test_the_window_counts_rows_not_days(frame: pd.DataFrame) -> None:
    assert rolled(frame.iloc[[0, 1, 5]], "sum", window=2) == [4, 5, 3]


def test_the_window_may_be_longer_than_the_frame(frame: pd.DataFrame) -> None:
    for window in (6, 7, 100, 2**40):
        assert rolled(frame, "sum", window=window)[-1] == 18
        assert rolled(frame, "prod", window=window)[-1] == 192
        assert rolled(frame, "argmax", window=window)[-1] == 4


def test_without_min_periods_a_window_must_be_full_and_no_row_is_cut_off(frame: pd.DataFrame) -> None:
    assert rolled(frame, "sum", min_periods=None) == [None] * 5 + [13]
    assert rolled(frame, "prod", min_periods=None) == [None] * 5 + [48]
    assert rolled(frame, "count", min_periods=None) == [1, 2, 2, 2, 2, 3]


def test_min_periods_cuts_the_first_rows_off_and_says_how_many_values_are_needed(frame: pd.DataFrame) -> None:
    result = postprocessing.rolling(frame, columns={"x": "x"}, rolling_type="sum", window=3, min_periods=2)
    assert cells(result["x"]) == [5, 5, 4, 11, 13]
    assert result.index[0] == pd.Timestamp("2024-01-02")
    assert rolled(frame, "prod", min_periods=3) == [None, None, None, 48]
    assert rolled(frame, "sum", min_periods=1) == [4, 5, 5, 4, 11, 13]


@pytest.mark.parametrize("rolling_type", ["sum", "prod", "argmin"])
def test_with_min_periods_0_an_empty_window_has_the_value_of_nothing(rolling_type: str) -> None:
    frame = daily({"x": [None, 5]})
    first = {"sum": 0, "prod": 1, "argmin": None}[rolling_type]
    assert rolled(frame, rolling_type, window=1)[0] == first


@pytest.mark.slow
def test_a_centred_window_looks_ahead(frame: pd.DataFrame) -> None:
    assert rolled(frame, "sum", center=True) == [5, 5, 4, 11, 13, 10]
    assert rolled(frame, "prod", center=True) == [4, 4, 3, 24, 48, 16]
    assert rolled(frame, "argmin", center=True) == [1, 1, 0, 1, 2, 1]
    assert rolled(frame, "max", center=True) == [4, 4, 3, 8, 8, 8]
    assert rolled(frame, "sum", center=True, win_type="boxcar") == [5, 5, 4, 11, 13, 10]


def test_a_centred_window_of_an_even_number_looks_further_back_than_ahead(frame: pd.DataFrame) -> None:
    assert rolled(frame, "prod", window=4, center=True) == [4, 4, 12, 24, 48, 48]
    assert rolled(frame, "sum", window=4, center=True) == [5, 5, 8, 12, 13, 13]
    assert rolled(frame, "sum", window=4, center=True, win_type="boxcar") == [5, 5, 8, 12, 13, 13]


@for_each(
    ("rolling_type", "options", "last"),
    [
        ("std", {"ddof": 0}, math.sqrt(62 / 9)),
        ("var", {"ddof": 0}, 62 / 9),
        ("var", {"ddof": 1}, 31 / 3),
        ("cov", {"other": "y", "ddof": 0}, -8 / 3),
        ("cov", {"other": "x"}, 31 / 3),
        ("percentile", {"q": 25}, 2.5),
        ("percentile", {"q": 25, "interpolation": "lower"}, 2),
        ("percentile", {"q": 25, "interpolation": "higher"}, 3),
        ("percentile", {"q": 20, "interpolation": "nearest"}, 2),
        ("percentile", {"q": 20, "interpolation": "midpoint"}, 2.5),
        ("quantile", {"quantile": 0.25}, 2.5),
        ("quantile", {"q": 0.75}, 5.5),
        ("quantile", {"quantile": 0.25, "interpolation": "lower"}, 2),
    ],
)
def test_each_option_of_a_type_changes_its_result(
    frame: pd.DataFrame, rolling_type: str, options: dict[str, Any], last: float
) -> None:
    assert rolled(frame, rolling_type, rolling_type_options=options)[-1] == round(last, 9)


NEEDED: dict[str, dict[str, float]] = {
    "kaiser": {"beta": 3},
    "gaussian": {"std": 1.5},
    "general_gaussian": {"p": 1.5, "sig": 2},
    "slepian": {"width": 0.6},
}


@for_each("win_type", list(WindowType))
@for_each("rolling_type", ["sum", "mean", "average", "nansum", "nanmean", "cumsum"])
@for_each("center", [False, True])
def test_each_window_type_weighs_as_pandas_does(
    frame: pd.DataFrame, win_type: str, rolling_type: str, *, center: bool
) -> None:
    options: dict[str, Any] = NEEDED.get(win_type, {})
    function = "sum" if "sum" in rolling_type else "mean"
    if win_type == "slepian":
        win_type_of_pandas, theirs = "dpss", {"NW": 5 * 0.6 / 4}
    else:
        win_type_of_pandas, theirs = win_type, options
    rolls = frame["x"].rolling(5, win_type=win_type_of_pandas, min_periods=0, center=center)
    expected = getattr(rolls, function)(**theirs)
    made = postprocessing.rolling(
        frame, columns={"x": "x"}, rolling_type=rolling_type, window=5, min_periods=0, center=center,
        win_type=win_type, rolling_type_options=options,
    )  # fmt: skip
    np.testing.assert_allclose(made["x"], expected, rtol=1e-12)


@for_each("win_type", list(WindowType))
def test_each_window_type_weighs_squares_about_the_weighted_mean(win_type: str) -> None:
    frame = daily({"x": [4, 1, 7, 3, 8]})
    options: dict[str, Any] = NEEDED.get(win_type, {})
    ones = [rolled(daily({"x": [0.0] * row + [1.0] + [0.0] * (4 - row)}), "sum", 5, win_type=win_type,
                   rolling_type_options=options)[-1] for row in range(5)]  # fmt: skip
    values = frame["x"].to_numpy()
    mean = np.average(values, weights=ones)
    for ddof in (0, 1, 2):
        expected = np.average((values - mean) ** 2, weights=ones) * 5 / (5 - ddof)
        found = {
            kind: rolled(frame, kind, 5, win_type=win_type, rolling_type_options={**options, "ddof": ddof})[-1]
            for kind in ("var", "std")
        }
        assert found["var"] == pytest.approx(expected, rel=1e-6)
        assert found["std"] == pytest.approx(math.sqrt(expected), rel=1e-6)


def test_equal_weights_are_as_no_weights(frame: pd.DataFrame) -> None:
    for kind in ("sum", "mean", "std", "var"):
        assert rolled(frame, kind, win_type="boxcar", min_periods=1) == rolled(frame, kind, min_periods=1)


@for_each(
    ("win_type", "options", "others"),
    [
        ("gaussian", {"std": 1}, {"std": 2}),
        ("kaiser", {"beta": 1}, {"beta": 5}),
        ("general_gaussian", {"p": 1, "sig": 1}, {"p": 2, "sig": 1}),
        ("general_gaussian", {"p": 1, "sig": 1}, {"p": 1, "sig": 2}),
        ("slepian", {"width": 0.3}, {"width": 0.9}),
        ("exponential", {}, {"tau": 3}),
        ("exponential", {"tau": 3}, {"tau": 3, "center": 0}),
        ("triang", {}, {"sym": False}),
        ("slepian", {"width": 0.9}, {"width": 0.9, "sym": False}),
    ],
)
def test_each_parameter_of_a_window_type_changes_its_weights(
    frame: pd.DataFrame, win_type: str, options: dict[str, Any], others: dict[str, Any]
) -> None:
    one = rolled(frame, "sum", 4, win_type=win_type, rolling_type_options=options)
    assert one != rolled(frame, "sum", 4, win_type=win_type, rolling_type_options=others)


@for_each(("window", "width"), [(1, 0.3), (2, 0.01), (5, 0.3), (6, 0.3), (7, 1.99), (40, 1.0)])
def test_slepian_has_the_weights_that_it_had_in_scipy(window: int, width: float) -> None:
    """The former function: the eigenvector of the greatest eigenvalue of a tridiagonal matrix, its maximum 1."""
    rows = np.arange(window)
    diagonal = ((window - 1 - 2 * rows) / 2) ** 2 * np.cos(2 * np.pi * (width / 2 / 2))
    beside = rows[1:] * (window - rows[1:]) / 2
    _, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    former = np.abs(vectors[:, -1]) / np.abs(vectors[:, -1]).max()
    ones = [rolled(daily({"x": np.eye(window)[row]}), "sum", window, win_type="slepian",
                   rolling_type_options={"width": width})[-1] for row in range(window)]  # fmt: skip
    np.testing.assert_allclose(ones, former, atol=2e-9)


@for_each(
    ("win_type", "options", "message"),
    [
        ("gaussian", {}, "a gaussian window needs std, a number above 0"),
        ("gaussian", {"std": "1"}, "needs std, a number"),
        ("gaussian", {"std": True}, "needs std, a number"),
        ("gaussian", {"std": 0}, "std of a gaussian window must be above 0, not 0"),
        ("gaussian", {"std": float("nan")}, "needs std, a number"),
        ("kaiser", {}, "needs beta"),
        ("general_gaussian", {"p": 1}, "needs sig"),
        ("slepian", {}, "needs width"),
        ("slepian", {"width": 2}, "width of slepian must be below 2"),
        ("exponential", {"tau": -1}, "tau of a exponential window must be above 0"),
        ("exponential", {"center": "x"}, "needs center, a number"),
        ("triang", {"sym": 1}, "sym of triang must be true or false"),
        ("triang", {"std": 1}, "Invalid options for sum with win_type triang: std; it takes: sym"),
    ],
)
def test_a_parameter_that_does_not_fit_is_refused(
    frame: pd.DataFrame, win_type: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PostProcessingError, match=f"rolling: rolling_type_options: .*{message}"):
        rolled(frame, "sum", win_type=win_type, rolling_type_options=options)


@for_each(
    ("rolling_type", "options", "message"),
    [
        ("sum", {"ddof": 1}, "Invalid options for sum: ddof; it takes: none"),
        ("std", {"dof": 1}, "Invalid options for std: dof; it takes: ddof"),
        ("std", {"ddof": -1}, "ddof must be a whole number"),
        ("std", {"ddof": 1.5}, "ddof must be a whole number"),
        ("percentile", {}, "percentile needs q, a number from 0 to 100"),
        ("percentile", {"q": 101}, "from 0 to 100"),
        ("percentile", {"q": True}, "from 0 to 100"),
        ("quantile", {"quantile": 50}, "quantile needs quantile, a number from 0 to 1"),
        ("quantile", {"quantile": 0.5, "interpolation": "cubic"}, "interpolation must be one of: linear, lower"),
        ("corr", {}, "corr needs other"),
        ("cov", {"other": "z"}, "there is no column 'z'"),
    ],
)
def test_an_option_of_a_type_that_does_not_fit_is_refused(
    frame: pd.DataFrame, rolling_type: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PostProcessingError, match=f"rolling: .*{message}"):
        rolled(frame, rolling_type, rolling_type_options=options)


def test_types_without_weights_say_which_types_have_some(frame: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match=r"win_type: median knows no weights; .*average, cumsum, mean"):
        rolled(frame, "median", win_type="triang")


@for_each(
    ("options", "message"),
    [
        ({"window": 0}, "window: must be 1 or more"),
        ({"window": -3}, "window: must be 1 or more"),
        ({"window": 1.5}, "window: must be an integer"),
        ({"window": None}, "window: must be an integer, not null"),
        ({"min_periods": -1}, "min_periods: must be 0 or more"),
        ({"min_periods": 4}, "min_periods: a window of 3 rows never holds 4 values"),
        ({"rolling_type": "avg"}, "rolling_type: 'avg' is not one of average, argmin.*did you mean"),
        ({"win_type": "hann"}, "win_type: 'hann' is not one of boxcar.*did you mean"),
        ({"columns": {"z": "z"}}, "columns: there is no column 'z'"),
    ],
)
def test_an_option_that_does_not_fit_is_answered_with_what_does(
    frame: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    good: dict[str, Any] = {"columns": {"x": "x"}, "rolling_type": "sum", "window": 3}
    with pytest.raises(PostProcessingError, match=f"rolling: .*{message}"):
        postprocessing.rolling(frame, **(good | options))


@pytest.mark.parametrize("window", [100_001, 2**40])
def test_weights_without_end_are_refused_before_they_are_made(frame: pd.DataFrame, window: int) -> None:
    with pytest.raises(LimitError, match="rolling: window: weighing"):
        rolled(frame, "sum", window=window, win_type="triang")


def test_without_columns_every_column_of_numbers_rolls(frame: pd.DataFrame) -> None:
    result = postprocessing.rolling(frame.assign(t="a"), rolling_type="sum", window=2, min_periods=0)
    assert (cells(result["x"]), cells(result["y"])) == ([4, 5, 1, 3, 11, 10], [1, 3, 5, 7, 9, 14])
    assert cells(result["t"]) == ["a"] * 6


def test_a_new_name_keeps_the_source(frame: pd.DataFrame) -> None:
    result = postprocessing.rolling(frame, columns={"y": "z"}, rolling_type="sum", window=2, min_periods=2)
    assert list(result.columns) == ["x", "y", "z"]
    assert (cells(result["y"]), cells(result["z"])) == ([2, 3, 4, 5, 9], [3, 5, 7, 9, 14])


@pytest.mark.parametrize("rolling_type", ["sum", "prod"])
def test_columns_of_several_levels_are_found_by_the_first(rolling_type: str) -> None:
    result = postprocessing.rolling(
        pivoted(), columns={"cost": "cost"}, rolling_type=rolling_type, window=2, min_periods=0
    )
    assert cells(result[("cost", "AT")]) == ([5, 11, 14] if rolling_type == "sum" else [5, 30, 48])
    assert result[["sales"]].equals(pivoted()[["sales"]])


@for_each("dtype", NUMERIC_DTYPES)
def test_every_dtype_of_numbers_rolls(dtype: str) -> None:
    frame = pd.DataFrame({"x": column([1.5, None, 2.5], dtype)})
    assert rolled(frame, "sum", window=3) == [1.5, 1.5, 4]
    assert rolled(frame, "prod", window=3) == [1.5, 1.5, 3.75]


def test_infinite_values_count_as_null() -> None:
    frame = daily({"x": [1, float("inf"), 2]})
    for kind, value in {"sum": 3, "prod": 2, "argmax": 2, "count": 2}.items():
        assert rolled(frame, kind)[-1] == value
    assert rolled(frame, "sum", win_type="boxcar")[-1] == 3


@pytest.mark.parametrize("rolling_type", ["sum", "prod", "argmin", "std"])
def test_an_empty_frame_and_an_all_null_column_are_no_errors(rolling_type: str) -> None:
    empty = daily({"x": [1.0]}).iloc[:0]
    assert rolled(empty, rolling_type, min_periods=2) == []
    assert rolled(daily({"x": [None] * 3}), rolling_type, min_periods=1) == [None] * 3
    assert rolled(empty, "sum", min_periods=2, win_type="triang") == []


def test_large_values_beside_small_ones_do_not_disturb_products() -> None:
    frame = daily({"x": [1e300, 1e300, 2, 3, 5]})
    assert rolled(frame, "prod", window=2) == [1e300, math.inf, 2e300, 6, 15]


def test_the_frame_that_is_given_never_changes(frame: pd.DataFrame) -> None:
    before = frame.copy()
    for kind in ("sum", "prod"):
        result = postprocessing.rolling(frame, rolling_type=kind, window=2, min_periods=2)
        result.iloc[0, 0] = 99
    pd.testing.assert_frame_equal(frame, before)
