"""Options that only several names, or one model beside another, can show to be read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.support.any_frames import picture
from tests.support.cases import for_each
from tests.support.operation_reference import EVERY_OPERATOR, aggregate_of, plain, same_number

from analytics_core import postprocessing
from analytics_core._engine.frames.pipeline import read_options
from analytics_core._engine.frames.registry import Operations
from analytics_core.errors import PostProcessingError

WITHOUT = {
    "aggregate": ({"aggregates": {"x": {"operator": "sum"}}}, ["groupby"]),
    "boxplot": ({"whisker_type": "tukey"}, ["groupby", "metrics", "percentiles"]),
    "compare": ({"source_columns": "x", "compare_columns": "y"}, ["drop_original_columns"]),
    "contribution": ({}, ["orientation", "columns", "rename_columns", "time_shifts", "contribution_totals"]),
    "cum": ({"operator": "sum"}, ["columns"]),
    "diff": ({}, ["columns"]),
    "flatten": ({}, ["reset_index", "drop_levels"]),
    "histogram": ({"column": "x"}, ["groupby", "cumulative", "normalize"]),
    "pivot": (
        {"index": "a", "aggregates": {"x": {"operator": "sum"}}},
        [
            *["columns", "metric_fill_value", "drop_missing_columns", "combine_value_with_metric"],
            *["marginal_distributions", "marginal_distribution_name"],
        ],
    ),
    "rank": ({"metric": "x"}, ["group_by"]),
    "rename": ({"columns": {"x": "z"}}, ["level", "inplace"]),
    "rolling": (
        {"rolling_type": "sum", "window": 2},
        ["columns", "min_periods", "center", "win_type", "rolling_type_options"],
    ),
    "select": ({}, ["columns", "exclude", "rename"]),
    "sort": ({}, ["columns", "by", "ascending", "is_sort_index", "aggregates"]),
}
"""What operations need, and the options for which null means what leaving them out means."""

ROWS = pd.DataFrame(
    {"a": ["p", "p", "q", "q"], "b": ["u", "v", "u", "u"], "x": [1.0, 2.0, 4.0, 8.0], "y": [3.0, 0.0, 5.0, 7.0]}
)
TOTAL = {"total": {"column": "x", "operator": "sum"}}


@for_each(("name", "option"), [(name, option) for name in WITHOUT for option in WITHOUT[name][1]])
def test_null_means_what_leaving_an_option_out_means(name: str, option: str) -> None:
    operation, needed = Operations()[name], WITHOUT[name][0]
    omitted = operation.apply(ROWS, read_options(operation, needed, place=name))
    null = operation.apply(ROWS, read_options(operation, needed | {option: None}, place=name))
    assert picture(null) == picture(omitted)


def test_aggregate_groups_by_every_name() -> None:
    result = postprocessing.aggregate(ROWS, groupby=["a", "b"], aggregates=TOTAL)
    assert result.to_numpy().tolist() == [["p", "u", 1], ["p", "v", 2], ["q", "u", 12]]


def test_a_boxplot_groups_by_every_name() -> None:
    result = postprocessing.boxplot(ROWS, groupby=["a", "b"], metrics="x", whisker_type="min/max")
    assert result[["a", "b", "x__count"]].to_numpy().tolist() == [["p", "u", 1], ["p", "v", 1], ["q", "u", 2]]


def test_a_histogram_groups_by_every_name() -> None:
    result = postprocessing.histogram(ROWS, column="x", groupby=["a", "b"], bins=1)
    assert result.to_numpy().tolist() == [["p", "u", 1], ["p", "v", 1], ["q", "u", 2]]


def test_ranks_are_taken_within_groups_of_every_name() -> None:
    assert postprocessing.rank(ROWS, metric="x", group_by=["a", "b"])["rank"].tolist() == [1, 1, 0.5, 1]


def test_a_pivot_puts_every_column_across() -> None:
    result = postprocessing.pivot(ROWS, index="x", columns=["a", "b"], aggregates={"y": {"operator": "sum"}})
    assert list(result.columns) == [("y", "p", "u"), ("y", "p", "v"), ("y", "q", "u")]


@for_each("operator", EVERY_OPERATOR)
def test_a_pivot_runs_each_operator(operator: str) -> None:
    table = pd.DataFrame({"k": ["a"] * 5, "c": ["u"] * 5, "x": [3.0, 0.0, None, 8.0, 1.0]})
    spec = {"operator": operator, "options": {"q": 40}}
    result = postprocessing.pivot(
        table, index="k", columns="c", aggregates={"x": spec}, drop_missing_columns=False, metric_fill_value=None
    )
    assert same_number(result.iloc[0, 0], aggregate_of(operator, [plain(value) for value in table["x"]], 40))


def test_compare_sets_each_source_against_its_own_column() -> None:
    table = pd.DataFrame({"x": [5], "x__year": [3], "y": [7], "y__year": [6]})
    result = postprocessing.compare(table, source_columns=["x", "y"], compare_columns=["x__year", "y__year"])
    assert result.iloc[0].to_dict() == {
        **table.iloc[0].to_dict(),
        "difference__x__x__year": 2,
        "difference__y__y__year": 1,
    }


def test_rows_are_shared_for_each_time_shift_by_itself() -> None:
    table = pd.DataFrame({"x": [1.0], "y": [3.0], "x__1 day": [2.0], "y__1 day": [2.0], "x__1 week": [5.0]})
    result = postprocessing.contribution(table, orientation="row", time_shifts=["1 day", "1 week"])
    assert result.iloc[0].tolist() == [0.25, 0.75, 0.5, 0.5, 1.0]


def test_each_column_is_divided_by_its_own_given_total() -> None:
    result = postprocessing.contribution(ROWS[["x", "y"]], contribution_totals={"x": 16, "y": 30})
    assert result.iloc[2].tolist() == [4 / 16, 5 / 30]


def test_a_column_cannot_be_shared_twice_nor_two_shares_have_one_name() -> None:
    with pytest.raises(PostProcessingError, match="columns: x is named twice"):
        postprocessing.contribution(ROWS, columns=["x", "x"])
    with pytest.raises(PostProcessingError, match="rename_columns: s is named twice"):
        postprocessing.contribution(ROWS, columns=["x", "y"], rename_columns=["s", "s"])


def test_every_label_is_renamed() -> None:
    assert list(postprocessing.rename(ROWS, columns={"a": "A", "y": "Y"}).columns) == ["A", "b", "x", "Y"]


def test_every_excluded_column_is_left_out() -> None:
    assert list(postprocessing.select(ROWS, exclude=["a", "y"]).columns) == ["b", "x"]


def test_every_named_column_rolls() -> None:
    result = postprocessing.rolling(ROWS, rolling_type="sum", window=2, columns={"x": "x", "y": "z"}, min_periods=1)
    assert result[["x", "y", "z"]].iloc[-1].tolist() == [12, 7, 12]


@pytest.mark.slow
def test_each_model_forecasts_in_its_own_way() -> None:
    days = pd.date_range("2024-01-01", periods=42)
    noise = np.random.default_rng(1).normal(0, 3, 42)
    table = pd.DataFrame({"__timestamp": days, "x": np.arange(42) + [0, 4, 8, 2, 0, 9, 15] * 6 + noise})
    made = {
        model: tuple(
            postprocessing.forecast(table, time_grain="P1D", periods=5, confidence_interval=0.8, model=model)[
                "x__yhat"
            ].tail(5)
        )
        for model in ("auto", "ets", "theta", "mstl", "sarimax")
    }
    assert len(set(made.values())) == 5
