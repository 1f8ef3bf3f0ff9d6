"""Pivot: rows, columns, holes, totals, limits; every option does what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.cases import for_each

from analytics_core import postprocessing
from analytics_core.errors import LimitError, PostProcessingError

DAYS = pd.to_datetime(["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-03"])


@pytest.fixture
def sales() -> pd.DataFrame:
    return pd.DataFrame(
        {"day": DAYS, "country": ["NO", "SE", "NO", None], "sales": [1, 2, 3, 4], "cost": [np.nan, np.nan, 5.0, np.nan]}
    )


def pivot(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return postprocessing.pivot(frame, **{"index": "day", "aggregates": {"sales": {"operator": "sum"}}, **options})


def cells(table: pd.DataFrame) -> dict[Any, list[Any]]:
    return {label: [None if pd.isna(value) else value for value in table[label]] for label in table.columns}


def test_values_of_a_column_become_columns_in_order_metric_first(sales: pd.DataFrame) -> None:
    table = pivot(sales, columns=["country"])
    assert cells(table) == {
        ("sales", "<NULL>"): [None, None, 4],
        ("sales", "NO"): [1, 3, None],
        ("sales", "SE"): [2, None, None],
    }
    assert table.index.name == "day"
    assert list(table.columns.names) == [None, "country"]


def test_without_columns_the_metrics_are_the_columns_in_the_order_of_their_names(sales: pd.DataFrame) -> None:
    table = pivot(
        sales, aggregates={"z": {"operator": "max", "column": "cost"}, "a": {"operator": "sum", "column": "sales"}}
    )
    assert cells(table) == {"a": [3, 3, 4], "z": [None, 5, None]}


def test_two_aggregates_over_one_column_are_both_there(sales: pd.DataFrame) -> None:
    both = {"low": {"operator": "min", "column": "sales"}, "high": {"operator": "max", "column": "sales"}}
    assert cells(pivot(sales, aggregates=both)) == {"high": [2, 3, 4], "low": [1, 3, 4]}


def test_a_null_of_the_index_is_a_row_and_comes_last(sales: pd.DataFrame) -> None:
    sales.loc[0, "day"] = None
    table = pivot(sales)
    assert table.index.isna().tolist() == [False, False, False, True]
    assert table["sales"].tolist() == [2, 3, 4, 1]


def test_several_index_columns_keep_only_what_occurs_together(sales: pd.DataFrame) -> None:
    table = pivot(sales, index=["day", "country"], drop_missing_columns=False)
    assert len(table) == 4
    assert list(table.index.names) == ["day", "country"]


def test_column_fill_value_names_the_nulls_among_the_columns(sales: pd.DataFrame) -> None:
    assert ("sales", "none") in pivot(sales, columns="country", column_fill_value="none").columns


@pytest.mark.parametrize("nothing", [None, ""])
def test_without_column_fill_value_rows_with_such_nulls_are_left_out(sales: pd.DataFrame, nothing: str | None) -> None:
    table = pivot(sales, columns="country", column_fill_value=nothing)
    assert cells(table) == {("sales", "NO"): [1, 3], ("sales", "SE"): [2, None]}


def test_text_like_the_fill_value_and_nulls_share_a_column(sales: pd.DataFrame) -> None:
    sales.loc[0, "country"] = "<NULL>"
    assert cells(pivot(sales, columns="country"))[("sales", "<NULL>")] == [1, None, 4]


def test_metric_fill_value_fills_the_holes(sales: pd.DataFrame) -> None:
    table = pivot(sales, columns="country", metric_fill_value=-1)
    assert cells(table)[("sales", "SE")] == [2, -1, -1]


def test_columns_without_a_value_are_dropped_of_a_metric_that_has_others(sales: pd.DataFrame) -> None:
    cost = {"cost": {"operator": "mean"}}
    assert list(pivot(sales, columns="country", aggregates=cost).columns) == [("cost", "NO")]
    result = pivot(sales, columns="country", aggregates=cost, drop_missing_columns=False)
    assert list(result.columns) == [("cost", "<NULL>"), ("cost", "NO"), ("cost", "SE")]


def test_a_metric_without_any_value_keeps_its_columns(sales: pd.DataFrame) -> None:
    sales["cost"] = np.nan
    both = {"cost": {"operator": "mean"}, "sales": {"operator": "sum"}}
    table = pivot(sales, columns="country", aggregates=both)
    assert list(table.columns.get_level_values(0)) == ["cost"] * 3 + ["sales"] * 3


def test_combine_value_with_metric_puts_the_metric_innermost(sales: pd.DataFrame) -> None:
    both = {"cost": {"operator": "mean"}, "sales": {"operator": "sum"}}
    table = pivot(sales, columns="country", aggregates=both, combine_value_with_metric=True)
    assert list(table.columns) == [("<NULL>", "sales"), ("NO", "cost"), ("NO", "sales"), ("SE", "sales")]
    assert list(table.columns.names) == ["country", None]


def test_marginal_distributions_add_totals_over_all_rows(sales: pd.DataFrame) -> None:
    mean = {"sales": {"operator": "mean"}}
    table = pivot(sales, columns="country", aggregates=mean, marginal_distributions=True)
    assert table[("sales", "All")].tolist() == [1.5, 3, 4, 2.5]
    assert table.loc["All"].tolist() == [4, 2, 2, 2.5]


def test_marginal_distribution_name_names_the_totals(sales: pd.DataFrame) -> None:
    table = pivot(sales, columns="country", marginal_distributions=True, marginal_distribution_name="Σ")
    assert table.index[-1] == "Σ"
    assert table.columns[-1] == ("sales", "Σ")


def test_totals_of_several_levels_fill_the_others_with_nothing(sales: pd.DataFrame) -> None:
    sales["half"] = ["a", "b", "a", "b"]
    table = pivot(sales, index=["day", "half"], columns="country", marginal_distributions=True)
    assert table.index[-1] == ("All", "")


@pytest.mark.parametrize(("option", "label"), [("columns", "NO"), ("index", "NO")])
def test_a_total_named_like_a_value_is_refused(sales: pd.DataFrame, option: str, label: str) -> None:
    options = {"columns": "country"} if option == "columns" else {"index": "country"}
    with pytest.raises(PostProcessingError, match="marginal_distribution_name: 'NO' is a value"):
        pivot(sales, marginal_distributions=True, marginal_distribution_name=label, **options)


def test_whole_numbers_stay_exact_beside_holes() -> None:
    big = 2**60 + 1
    frame = pd.DataFrame({"day": [1, 2], "country": ["a", "b"], "sales": [big, 3]})
    table = pivot(frame, columns="country")
    assert table[("sales", "a")].iloc[0] == big


def test_sums_beyond_64_bits_are_floats_and_do_not_wrap() -> None:
    frame = pd.DataFrame({"day": [1, 1], "sales": [2**62, 2**62]})
    assert pivot(frame)["sales"].tolist() == [2.0**63]


def test_text_and_moments_have_extremes_and_keep_their_dtype(sales: pd.DataFrame) -> None:
    extremes = {"country": {"operator": "max"}, "last": {"operator": "max", "column": "day"}}
    table = pivot(sales, index="sales", aggregates=extremes)
    assert table["last"].dtype == sales["day"].dtype
    assert table["country"].tolist()[:3] == ["NO", "SE", "NO"]


def test_percentile_reads_q(sales: pd.DataFrame) -> None:
    for q, wanted in ((0, 1), (50, 1.5), (100, 2)):
        spec = {"sales": {"operator": "percentile", "options": {"q": q}}}
        assert pivot(sales, aggregates=spec)["sales"].iloc[0] == wanted


def test_a_table_of_a_million_columns_is_refused_before_it_is_made() -> None:
    frame = pd.DataFrame({"day": 0, "country": range(1_000_000), "sales": 1})
    with pytest.raises(LimitError, match=r"1,000,000 columns.*at most 100,000 columns"):
        pivot(frame, columns="country")


def test_a_table_of_too_many_cells_is_refused() -> None:
    frame = pd.DataFrame({"day": range(50_000), "country": range(50_000), "sales": 1})
    with pytest.raises(LimitError, match=r"2,500,000,000 cells"):
        pivot(frame, columns="country")


@for_each(
    ("options", "message"),
    [
        ({"index": []}, "index: give at least one column"),
        ({"aggregates": {}}, "aggregates: give at least one"),
        (
            {"index": ["dya"]},
            "index: there is no column 'dya'; did you mean 'day'.* The columns are: day, country",
        ),
        ({"columns": ["x"]}, "columns: there is no column 'x'"),
        ({"aggregates": {"q": {"operator": "sum"}}}, "aggregates.q.column: there is no column 'q'"),
        ({"aggregates": {"sales": {}}}, "aggregates.sales.operator is missing; it is one of: average"),
        (
            {"aggregates": {"sales": {"operator": "smu"}}},
            "aggregates.sales.operator: 'smu' is not one of .*did you",
        ),
        ({"aggregates": {"country": {"operator": "sum"}}}, "sum needs numbers, which column 'country' does not hold"),
        ({"aggregates": {"sales": {"operator": "percentile"}}}, "needs options.q, a number from 0 to 100"),
        ({"aggregates": {"sales": {"operator": "percentile", "options": {"q": 101}}}}, "needs options.q"),
        ({"columns": ["day"]}, "'day' is named twice"),
        ({"metric_fill_value": "nothing"}, "metric_fill_value: must be a number, not text"),
        ({"drop_missing_columns": "3"}, "drop_missing_columns: must be true or false"),
    ],
)
def test_what_cannot_be_honoured_is_told_with_operation_option_and_choices(
    sales: pd.DataFrame, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PostProcessingError, match=f"^pivot: .*{message}"):
        pivot(sales, **options)


def test_a_name_that_two_columns_share_is_refused() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=["day", "sales", "sales"])
    with pytest.raises(PostProcessingError, match="2 columns are called 'sales'"):
        pivot(frame)


def test_a_pivoted_frame_is_not_pivoted_again_before_it_is_flat(sales: pd.DataFrame) -> None:
    table = pivot(sales, columns="country")
    with pytest.raises(PostProcessingError, match="put the operation flatten before this one"):
        pivot(table)


def test_an_empty_frame_gives_an_empty_table(sales: pd.DataFrame) -> None:
    table = pivot(sales.iloc[:0], columns="country")
    assert table.shape == (0, 0)
    assert table.index.name == "day"


def test_keys_of_different_types_are_sorted_type_by_type() -> None:
    frame = pd.DataFrame({"day": ["b", 2, "a", 1, None], "sales": 1})
    assert pivot(frame).index.tolist()[:4] == [1, 2, "a", "b"]


def test_half_precision_numbers_are_labels_of_single_precision() -> None:
    frame = pd.DataFrame({"half": np.array([0.5, 1.5, 0.5], dtype=np.float16), "sales": [1, 2, 4]})
    table = pivot(frame, index="half")
    assert table.index.tolist() == [0.5, 1.5]
    assert table.index.dtype == np.float32
    assert cells(table) == {"sales": [5, 2]}
