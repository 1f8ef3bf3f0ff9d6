"""What every operation says of columns that are not there, hold something else, hold nothing, or bear one label."""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.any_frames import COLUMN_KINDS, picture
from tests.support.cases import for_each

from analytics_core import postprocessing
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.errors.base import ErrorType

ROWS = pd.DataFrame(
    {
        "day": pd.date_range("2024-01-01", periods=3),
        "k": ["a", "b", "a"],
        "x": [1.0, 2.0, 3.0],
        "y": [1, 2, 3],
        "cell": ["u0", "u1", "u2"],
        "point": ["52.5, 13.4"] * 3,
    }
)
COLUMNS = "day, k, x, y, cell, point"
TOTAL = {"t": {"column": "x", "operator": "sum"}}
GOOD: dict[str, dict[str, Any]] = {
    "aggregate": {"groupby": ["k"], "aggregates": TOTAL},
    "boxplot": {"groupby": ["k"], "metrics": ["x"], "whisker_type": "tukey"},
    "compare": {"source_columns": ["x"], "compare_columns": ["y"]},
    "contribution": {"columns": ["x"]},
    "cum": {"columns": {"x": "x"}, "operator": "sum"},
    "diff": {"columns": {"x": "x"}},
    "escape_separator": {},
    "flatten": {},
    "forecast": {"time_grain": "P1D", "periods": 1, "confidence_interval": 0.8, "index": "day"},
    "geodetic_parse": {"geodetic": "point", "latitude": "new", "longitude": "newer"},
    "geohash_decode": {"geohash": "cell", "latitude": "new", "longitude": "newer"},
    "geohash_encode": {"geohash": "new", "latitude": "x", "longitude": "y"},
    "histogram": {"column": "x", "groupby": ["k"]},
    "pivot": {"index": ["day"], "columns": ["k"], "aggregates": TOTAL},
    "rank": {"metric": "x", "group_by": ["k"]},
    "rename": {"columns": {"x": "z"}},
    "resample": {"rule": "1D", "method": "sum"},
    "rolling": {"columns": {"x": "x"}, "rolling_type": "sum", "window": 2},
    "select": {"columns": ["x"]},
    "sort": {"by": ["x"]},
    "unescape_separator": {},
}
NEEDS_A_COLUMN = [
    *[("aggregate", "k", "groupby"), ("aggregate", "x", "aggregates.t.column"), ("boxplot", "k", "groupby")],
    *[("boxplot", "x", "metrics"), ("compare", "x", "source_columns"), ("compare", "y", "compare_columns")],
    *[("contribution", "x", "columns"), ("cum", "x", "columns"), ("diff", "x", "columns")],
    *[("forecast", "day", "index"), ("geodetic_parse", "point", "geodetic"), ("geohash_decode", "cell", "geohash")],
    *[("geohash_encode", "x", "latitude"), ("geohash_encode", "y", "longitude"), ("histogram", "x", "column")],
    *[("histogram", "k", "groupby"), ("pivot", "day", "index"), ("pivot", "k", "columns")],
    *[("pivot", "x", "aggregates.t.column"), ("rank", "x", "metric"), ("rank", "k", "group_by")],
    *[("rolling", "x", "columns"), ("select", "x", "columns"), ("sort", "x", "by")],
]
NEEDS_NUMBERS = [
    (name, column, option)
    for name, column, option in NEEDS_A_COLUMN
    if column in ("x", "y") and name not in ("select", "sort", "aggregate", "pivot")
]
KEEPS_ALL_COLUMNS = ("contribution", "cum", "diff", "escape_separator", "flatten", "rename", "rolling", "sort")


def run(name: str, frame: pd.DataFrame, options: dict[str, Any]) -> pd.DataFrame:
    result: pd.DataFrame = getattr(postprocessing, name)(frame, **options)
    return result


def frame_for(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index("day")[["x", "y"]] if name == "resample" else frame


def swapped(options: Any, old: str, new: str) -> Any:
    """Return options in which one column takes the place of another."""
    if isinstance(options, dict):
        return {new if key == old else key: swapped(value, old, new) for key, value in options.items()}
    if isinstance(options, list):
        return [swapped(value, old, new) for value in options]
    return new if options == old else options


@for_each(("name", "column", "option"), NEEDS_A_COLUMN)
def test_a_missing_column_is_told_with_option_and_the_columns_there_are(name: str, column: str, option: str) -> None:
    message = f"^{name}: {re.escape(option)}: there is no column 'missing'\\. The columns are: {COLUMNS}$"
    with pytest.raises(PostProcessingError, match=message) as found:
        run(name, ROWS, swapped(GOOD[name], column, "missing"))
    assert (found.value.status, found.value.error_type) == (400, ErrorType.GENERIC_COMMAND_ERROR)


def test_a_name_that_is_nearly_right_is_told() -> None:
    with pytest.raises(PostProcessingError, match=r"no column 'dey'; did you mean 'day'\? The columns are: day"):
        postprocessing.sort(ROWS, by="dey")
    with pytest.raises(PostProcessingError, match=r"^rename: columns: there is no label 'q'\. The labels are: day, k"):
        postprocessing.rename(ROWS, columns={"q": "z"})


@for_each(("name", "column", "option"), NEEDS_NUMBERS)
@for_each("other", ["k", "day"])
def test_a_column_without_numbers_is_told_with_those_that_hold_them(
    name: str, column: str, option: str, other: str
) -> None:
    message = f"^{name}: {option}: column '{other}' does not hold numbers; the numeric columns are: x, y$"
    with pytest.raises(PostProcessingError, match=message):
        run(name, ROWS, swapped(GOOD[name], column, other))


@pytest.mark.parametrize("name", ["aggregate", "pivot"])
def test_an_operator_that_needs_numbers_is_told_with_those_that_do_not(name: str) -> None:
    message = rf"^{name}: aggregates.t.operator: sum needs numbers, which column 'cell' does not hold; .* min, count$"
    with pytest.raises(PostProcessingError, match=message):
        run(name, ROWS, swapped(GOOD[name], "x", "cell"))


@for_each(("name", "column"), [("geodetic_parse", "point"), ("geohash_decode", "cell")])
@for_each("dtype", ["int64", "float64", "category", "int64[pyarrow]", "Int64"])
def test_a_column_without_text_is_told_with_those_that_hold_it(name: str, column: str, dtype: str) -> None:
    frame = ROWS.assign(y=ROWS["y"].astype(dtype))
    with pytest.raises(PostProcessingError, match="column 'y' does not hold text; the columns of text are: k, cell"):
        run(name, frame, swapped(GOOD[name], column, "y"))


def test_the_column_of_a_forecast_must_hold_moments() -> None:
    with pytest.raises(PostProcessingError, match="index: column 'k' holds no moments; those that do: day"):
        run("forecast", ROWS, swapped(GOOD["forecast"], "day", "k"))


@for_each("name", GOOD)
def test_without_rows_there_are_none_in_the_result(name: str) -> None:
    result = run(name, frame_for(name, ROWS.iloc[:0]), GOOD[name])
    assert len(result) == 0
    if name in KEEPS_ALL_COLUMNS:
        assert len(result.columns) == len(ROWS.columns)


@for_each("name", GOOD)
def test_without_columns_the_missing_one_is_told(name: str) -> None:
    if name in ("escape_separator", "unescape_separator", "flatten"):
        assert run(name, pd.DataFrame(), GOOD[name]).empty
        return
    with pytest.raises(PostProcessingError, match=rf"^{name}: .*(columns|labels) are: none$"):
        run(name, pd.DataFrame(), GOOD[name])


@for_each(("null", "dtype"), [(np.nan, "float64"), (None, object), (pd.NA, object)])
@for_each("name", GOOD)
def test_columns_of_nulls_alone_give_a_result(name: str, null: Any, dtype: Any) -> None:
    nothing = pd.Series([null] * 3, dtype=dtype)
    frame = ROWS.assign(x=nothing, cell=nothing, point=nothing, k=nothing)
    result = run(name, frame_for(name, frame), GOOD[name])
    row_counts = {"aggregate": 1, "boxplot": 1, "histogram": 0, "forecast": 4, "rolling": 3}
    assert len(result) == row_counts.get(name, 3)


@for_each(("name", "column", "option"), NEEDS_A_COLUMN)
def test_a_label_that_two_columns_bear_is_told(name: str, column: str, option: str) -> None:
    frame = pd.concat([ROWS, ROWS[[column]]], axis="columns")
    with pytest.raises(PostProcessingError, match=rf"^{name}: .*columns are called '?{column}'?; rename one"):
        run(name, frame, GOOD[name])


@pytest.mark.parametrize("name", ["escape_separator", "unescape_separator", "flatten", "resample"])
def test_equal_labels_stay_where_no_column_is_named(name: str) -> None:
    frame = frame_for(name, ROWS)
    result = run(name, pd.concat([frame, frame], axis="columns"), GOOD[name])
    assert list(result.columns) == [*frame.columns] * 2


@for_each(("name", "option"), [(name, option) for name in GOOD for option in GOOD[name]])
def test_an_option_of_the_wrong_type_is_told_by_its_name(name: str, option: str) -> None:
    with pytest.raises(PostProcessingError, match=rf"^{name}: {option}(\.0)?: must be .*array"):
        run(name, ROWS, GOOD[name] | {option: [[1]] if isinstance(GOOD[name][option], list) else [1]})


@for_each(
    ("name", "option", "value", "message"),
    [
        ("aggregate", "aggregates", {"t": {"operator": "sun"}}, "'sun' is not one of average, .*did you mean 'sum'"),
        ("boxplot", "whisker_type", "tuckey", "'tuckey' is not one of tukey, min/max, percentile"),
        ("compare", "compare_type", "ration", "'ration' is not one of difference, percentage, ratio"),
        ("contribution", "orientation", "rows", "'rows' is not one of row, column"),
        ("cum", "operator", "add", "'add' is not one of sum, prod, min, max"),
        ("compare", "precision", 16, "must be 15 or less"),
        ("compare", "precision", -1, "must be 0 or more"),
        ("diff", "axis", 2, "must be 1 or less"),
        ("diff", "axis", -1, "must be 0 or more"),
        ("flatten", "drop_levels", [4], "the labels have no level 4; they have: 0"),
        ("forecast", "time_grain", "P1X", "'P1X' is not one of PT1S, .*P1D"),
        ("forecast", "confidence_interval", 1.5, "must be 1"),
        ("forecast", "periods", -1, "must be 0 or more"),
        ("forecast", "confidence_interval", -1, "must be 0"),
        ("histogram", "bins", 0, "must be 1 or more"),
        ("histogram", "bins", 10_001, "must be 10000 or less"),
        ("rename", "level", "q", "the labels have no level 'q'; they have: 0"),
        ("resample", "rule", "fortnight", "'fortnight' is no interval; use a count and a unit, such as 15min"),
        ("resample", "method", "mena", "'mena' is not one of asfreq, .*did you mean 'mean'"),
        ("rolling", "window", 0, "must be 1 or more"),
        ("rolling", "window", -3, "must be 1 or more"),
        ("rolling", "window", 1.5, "must be an integer"),
        ("rolling", "min_periods", -1, "must be 0 or more"),
        ("rolling", "min_periods", 5, "a window of 2 rows never holds 5 values"),
        ("rolling", "rolling_type", "summ", "'summ' is not one of average, .*did you mean 'sum'"),
        ("rolling", "win_type", "box", "'box' is not one of boxcar, triang"),
        ("resample", "rule", "99999999999D", "'99999999999D' leads beyond the calendar"),
        ("boxplot", "percentiles", ["low", 90], "must be a number, not text"),
        ("flatten", "drop_levels", [1.5], "must be the name of a level, or its position as an integer"),
        ("rename", "level", True, "must be the name of a level, or its position as an integer"),
        ("forecast", "weekly_seasonality", "often", "must be true, false, a Fourier order"),
        ("forecast", "yearly_seasonality", -1, "must be true, false, a Fourier order"),
    ],
)
def test_a_value_out_of_bounds_is_told_with_what_would_work(name: str, option: str, value: Any, message: str) -> None:
    with pytest.raises(PostProcessingError, match=rf"^{name}: {option}[.\w]*: {message}"):
        run(name, frame_for(name, ROWS), GOOD[name] | {option: value})


@for_each("operator", ["percentile", "nanpercentile"])
@for_each("given", [{}, {"q": -1}, {"q": 101}, {"q": "90"}, {"q": True}])
@for_each("name", ["aggregate", "pivot"])
def test_a_percentile_needs_a_number_from_0_to_100(name: str, given: dict[str, Any], operator: str) -> None:
    spec = {"t": {"column": "x", "operator": operator, "options": given}}
    with pytest.raises(
        PostProcessingError, match=rf"^{name}: aggregates.t: {operator} needs options.q, a number from 0"
    ):
        run(name, ROWS, GOOD[name] | {"aggregates": spec})


def test_a_window_that_no_machine_weighs_is_a_limit() -> None:
    with pytest.raises(LimitError, match=r"^rolling: window: weighing 1,000,000,000 rows around each of 3 takes too"):
        postprocessing.rolling(ROWS, rolling_type="mean", window=10**9, win_type="boxcar")


@pytest.mark.parametrize("index", ["same", "number"])
def test_a_pivot_of_a_million_columns_is_a_limit_before_memory_goes(index: str) -> None:
    frame = pd.DataFrame({"number": np.arange(1_000_000), "across": np.arange(1_000_000), "x": 1.0, "same": "a"})
    tracemalloc.start()
    try:
        with pytest.raises(LimitError, match=r"^pivot: the table would have 1,000,000 columns .* at most 100,000 "):
            postprocessing.pivot(frame, index=index, columns="across", aggregates=TOTAL)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * 8 * len(frame)


@for_each(
    ("name", "options"),
    [
        *GOOD.items(),
        ("boxplot", {"groupby": ["x"], "metrics": ["y"], "whisker_type": "min/max"}),
        ("contribution", {"columns": ["x"], "rename_columns": ["share"]}),
        ("cum", {"columns": {"x": "new"}, "operator": "max"}),
        ("rename", {"columns": {}}),
        ("resample", {"rule": "1D", "method": "asfreq"}),
        ("resample", {"rule": "1D", "method": "ffill"}),
        ("rolling", {"columns": {"x": "new"}, "rolling_type": "max", "window": 1}),
        ("select", {}),
        ("sort", {}),
    ],
)
def test_who_writes_into_a_result_does_not_write_into_the_input(name: str, options: dict[str, Any]) -> None:
    frame = frame_for(name, ROWS).copy()
    before = picture(frame)
    result = run(name, frame, options)
    assert result is not frame
    for place, dtype in enumerate(result.dtypes):
        if dtype.kind in "if" and len(result):
            result.iloc[0, place] = 77
    assert picture(frame) == before


def test_lists_are_keys_of_groups_and_of_sorting() -> None:
    frame = pd.DataFrame({"k": [[2], [1, 2], None, [2]], "x": [1, 2, 4, 8]})
    result = postprocessing.aggregate(frame, groupby="k", aggregates={"x": {"operator": "sum"}})
    assert [(key, total) for key, total in zip(result["k"], result["x"], strict=True)] == [
        ([1, 2], 2),
        ([2], 9),
        (None, 4),
    ]
    assert postprocessing.sort(frame, by="k")["x"].tolist() == [2, 1, 8, 4]


@pytest.mark.parametrize(("unit", "rule", "rows"), [("s", "500ms", 3), ("us", "1ns", 1001), ("s", "1us", 1_000_001)])
def test_an_interval_may_be_finer_than_the_moments_of_the_index(unit: str, rule: str, rows: int) -> None:
    index = pd.DatetimeIndex(["2024-01-01 00:00:00", "2024-01-01 00:00:01"]).as_unit(unit)
    if unit == "us":
        index = pd.DatetimeIndex(["2024-01-01 00:00:00", "2024-01-01 00:00:00.000001"]).as_unit(unit)
    result = postprocessing.resample(pd.DataFrame({"x": [1.0, 2.0]}, index=index), rule=rule, method="ffill")
    assert len(result) == rows
    assert result["x"].iloc[[0, -1]].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(("dtype", "fill"), [("Int64", 0.5), ("UInt8", -1), ("uint8[pyarrow]", -1), ("Int8", 300)])
def test_a_fill_value_that_the_dtype_cannot_hold_makes_floats(dtype: str, fill: float) -> None:
    index = pd.DatetimeIndex(["2024-01-01", "2024-01-03"])
    frame = pd.DataFrame({"x": pd.Series([1, 2], dtype=dtype).set_axis(index)})
    result = postprocessing.resample(frame, rule="1D", method="asfreq", fill_value=fill)
    assert result["x"].tolist() == [1, fill, 2]


def test_complex_numbers_are_not_filled() -> None:
    frame = pd.DataFrame({"x": [1j, None]}, index=pd.DatetimeIndex(["2024-01-01", "2024-01-02"]), dtype="complex128")
    with pytest.raises(PostProcessingError, match=r"^resample: method: column 'x' does not hold numbers"):
        postprocessing.resample(frame, rule="1D", method="ffill")


@pytest.mark.parametrize("option", ["index", "columns"])
@pytest.mark.parametrize("dtype", ["object", "arrow list"])
def test_lists_are_no_labels_of_a_pivot(option: str, dtype: str) -> None:
    lists = [[1], [2, 3], [1]]
    frame = ROWS.assign(k=pd.Series(lists) if dtype == "object" else COLUMN_KINDS[dtype][2](lists))
    options = GOOD["pivot"] | {"index": ["day"], "columns": []} | {option: ["k"]}
    with pytest.raises(PostProcessingError, match=rf"^pivot: {option}: column 'k' holds lists or objects; pivot takes"):
        run("pivot", frame, options)


@for_each(
    ("operation", "options"),
    [
        ("geohash_decode", {"geohash": "x", "latitude": "k", "longitude": "other"}),
        ("geohash_decode", {"geohash": "x", "latitude": "other", "longitude": "k"}),
        ("geohash_encode", {"latitude": "y", "longitude": "y", "geohash": "k"}),
        ("geodetic_parse", {"geodetic": "point", "latitude": "k", "longitude": "other"}),
        ("cum", {"columns": {"y": "k"}, "operator": "sum"}),
    ],
)
def test_a_new_column_that_would_replace_several_is_refused(operation: str, options: dict[str, Any]) -> None:
    frame = pd.DataFrame([["u", "v", "u4pruydqqvj8", 1.5, "52.5, 13.4"]], columns=["k", "k", "x", "y", "point"])
    with pytest.raises(PostProcessingError, match="the new column 'k' would replace 2 columns"):
        getattr(postprocessing, operation)(frame, **options)
