"""Flatten, rename, select, sort, compare, contribution, rank, histogram and the separators, option by option."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.cases import for_each

from analytics_core import postprocessing
from analytics_core.errors import LimitError, PostProcessingError


def pivoted() -> pd.DataFrame:
    columns = pd.MultiIndex.from_tuples(
        [("sales", "a, b", "x"), ("sales", "c", None), ("cost", "c", "x")], names=[None, "country", "kind"]
    )
    index = pd.Index(pd.to_datetime(["2024-01-01", "2024-01-02"]), name="day")
    return pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=columns, index=index)


def values(series: pd.Series[Any]) -> list[Any]:
    return [None if pd.isna(value) else value for value in series]


# ------------------------------------------------------------------------------------------------------------ flatten
def test_flatten_joins_the_parts_of_labels_escaped_and_without_nulls() -> None:
    flat = postprocessing.flatten(pivoted())
    assert list(flat.columns) == ["day", "sales, a\\, b, x", "sales, c", "cost, c, x"]
    assert list(flat.index) == [0, 1]


def test_flatten_drops_levels_by_name_or_position() -> None:
    columns = pivoted().iloc[:, :2]
    assert list(postprocessing.flatten(columns, drop_levels=["kind", 0]).columns) == ["day", "a\\, b", "c"]
    assert list(postprocessing.flatten(columns, drop_levels=[-1]).columns) == ["day", "sales, a\\, b", "sales, c"]


def test_flatten_leaves_labels_of_one_level_as_they_are() -> None:
    frame = pd.DataFrame({"a, b": [1], 7: [2]})
    for levels in ([0], [-1], []):
        assert list(postprocessing.flatten(frame, drop_levels=levels).columns) == ["a, b", 7]
    with pytest.raises(PostProcessingError, match="drop_levels: the labels have no level 1"):
        postprocessing.flatten(frame, drop_levels=[1])


def test_flatten_keeps_the_index_when_asked_to() -> None:
    flat = postprocessing.flatten(pivoted(), reset_index=False)
    assert flat.index.name == "day"
    assert "day" not in flat.columns


def test_flatten_makes_every_level_of_the_index_a_column() -> None:
    index = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "n"])
    assert postprocessing.flatten(pd.DataFrame({"x": [1, 2]}, index=index)).to_dict("list") == {
        "k": ["a", "b"],
        "n": [1, 2],
        "x": [1, 2],
    }


def test_flatten_writes_moments_and_numbers_as_text() -> None:
    columns = pd.MultiIndex.from_tuples([("x", pd.Timestamp("2024-01-01")), ("x", 1.5), ("x", True)])
    flat = postprocessing.flatten(pd.DataFrame([[1, 2, 3]], columns=columns))
    assert list(flat.columns) == ["x, 2024-01-01 00:00:00", "x, 1.5", "x, True"]


@pytest.mark.parametrize(
    ("levels", "message"),
    [([7], r"no level 7; they have: 0, 1 \(country\), 2 \(kind\)"), ([0, 1, 2], "one level .* must be left")],
)
def test_flatten_refuses_levels_that_cannot_go(levels: list[int], message: str) -> None:
    with pytest.raises(PostProcessingError, match=message):
        postprocessing.flatten(pivoted(), drop_levels=levels)


def test_flatten_refuses_labels_that_would_read_alike() -> None:
    with pytest.raises(PostProcessingError, match="several columns would be called c"):
        postprocessing.flatten(pivoted().iloc[:, 1:], drop_levels=[0, 2])


def test_flatten_refuses_an_index_named_like_a_column() -> None:
    frame = pd.DataFrame({"day": [1]}, index=pd.Index([7], name="day"))
    with pytest.raises(PostProcessingError, match="a column is called 'day' like the index"):
        postprocessing.flatten(frame)


def test_flatten_refuses_levels_of_the_index_with_one_name() -> None:
    frame = pd.DataFrame({"x": [1]}, index=pd.MultiIndex.from_arrays([[1], [2]], names=["day", "day"]))
    with pytest.raises(PostProcessingError, match="several levels of the index are called day"):
        postprocessing.flatten(frame)


# ------------------------------------------------------------------------------------------------------------- rename
def test_rename_at_a_level_with_null_leaves_the_metric_out_of_joined_labels() -> None:
    renamed = postprocessing.rename(pivoted().iloc[:, :2], columns={"sales": None}, level=0, inplace=True)
    assert list(postprocessing.flatten(renamed).columns) == ["day", "a\\, b, x", "c"]


def test_rename_reads_the_level_by_name() -> None:
    renamed = postprocessing.rename(pivoted(), columns={"c": "d"}, level="country")
    assert list(renamed.columns.get_level_values(1)) == ["a, b", "d", "d"]


def test_rename_of_nothing_changes_nothing() -> None:
    assert list(postprocessing.rename(pivoted(), columns={}).columns) == list(pivoted().columns)


@for_each(
    ("options", "message"),
    [
        ({"columns": {"slaes": "y"}}, "there is no label 'slaes'; did you mean 'sales'"),
        ({"columns": {"sales": "y"}, "level": 1}, "there is no label 'sales'"),
        ({"columns": {"sales": "y"}, "level": "nope"}, "level: the labels have no level 'nope'"),
        ({"columns": {"sales": "cost"}}, "the label exists already"),
        ({"columns": {"sales": None, "cost": "price"}}, "null leaves a part out of a label of several levels"),
    ],
)
def test_rename_refuses_what_is_not_there_or_there_already(options: dict[str, Any], message: str) -> None:
    frame = (
        pd.DataFrame({"sales": [1], "a, b": 2, "cost": 3})
        if {"cost", None} & set(options["columns"].values())
        else pivoted()
    )
    with pytest.raises(PostProcessingError, match=message):
        postprocessing.rename(frame, **options)


# ------------------------------------------------------------------------------------------------------------- select
def test_select_chooses_then_drops_then_renames_by_the_old_names() -> None:
    frame = pd.DataFrame({"a": [1], "b": [2], "c": [3]})
    result = postprocessing.select(frame, columns=["c", "b", "a"], exclude=["b"], rename={"a": "z"})
    assert list(result.columns) == ["c", "z"]


def test_select_takes_the_contracts_array_of_maps() -> None:
    frame = pd.DataFrame({"a": [1], "b": [2]})
    result = postprocessing.select(frame, rename=[{"a": "x"}, {"b": "y"}])  # type: ignore[arg-type]
    assert list(result.columns) == ["x", "y"]


def test_select_takes_all_columns_under_a_name() -> None:
    assert postprocessing.select(pivoted(), columns=["sales"]).shape == (2, 2)


@for_each(
    ("options", "message"),
    [
        ({"columns": ["d"]}, "columns: there is no column 'd'"),
        ({"exclude": ["d"]}, "exclude: there is no column 'd'"),
        ({"rename": {"d": "e"}}, "rename: there is no column 'd'"),
        ({"rename": {"a": "b"}}, "rename: the label exists already: b"),
        ({"columns": ["a", "a"]}, "chosen twice"),
        ({"rename": ["a"]}, "must be an object that maps old names to new ones"),
    ],
)
def test_select_refuses_what_it_cannot_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PostProcessingError, match=f"^select: .*{message}"):
        postprocessing.select(pd.DataFrame({"a": [1], "b": [2]}), **options)


# --------------------------------------------------------------------------------------------------------------- sort
@pytest.fixture
def unsorted() -> pd.DataFrame:
    return pd.DataFrame({"k": ["b", None, "a", "a"], "n": [1, 2, 3, 4]})


@for_each(
    ("options", "order"),
    [
        ({"by": "k"}, [3, 4, 1, 2]),
        ({"by": ["k"], "ascending": False}, [1, 3, 4, 2]),
        ({"by": ["k", "n"], "ascending": [True, False]}, [4, 3, 1, 2]),
        ({"columns": {"k": True, "n": False}}, [4, 3, 1, 2]),
        ({"columns": {"n": False}}, [4, 3, 2, 1]),
        ({}, [1, 2, 3, 4]),
    ],
)
def test_sort_orders_rows_with_nulls_last(unsorted: pd.DataFrame, options: dict[str, Any], order: list[int]) -> None:
    assert postprocessing.sort(unsorted, **options)["n"].tolist() == order


def test_sort_by_the_index(unsorted: pd.DataFrame) -> None:
    frame = unsorted.set_index(pd.Index([3, 1, 2, 0], name="i"))
    assert postprocessing.sort(frame, is_sort_index=True)["n"].tolist() == [4, 2, 3, 1]
    assert postprocessing.sort(frame, is_sort_index=True, ascending=False)["n"].tolist() == [1, 3, 2, 4]


def test_rows_keep_the_index_that_is_theirs(unsorted: pd.DataFrame) -> None:
    frame = unsorted.set_index(pd.Index([3, 1, 2, 0], name="i"))
    assert postprocessing.sort(frame, by="n", ascending=False).index.tolist() == [0, 2, 1, 3]


def test_sort_refuses_a_direction_too_many(unsorted: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match="ascending: give one value, or one for each of the 1 names"):
        postprocessing.sort(unsorted, by="n", ascending=[True, False])


# ------------------------------------------------------------------------------------------------------------ compare
@pytest.mark.parametrize(
    ("kind", "wanted"),
    [("difference", [2, -1, None]), ("percentage", [0.6667, -1.0, None]), ("ratio", [1.6667, 0.0, None])],
)
def test_compare_sets_columns_against_each_other(kind: str, wanted: list[float]) -> None:
    frame = pd.DataFrame({"s": [5, 0, 1], "c": [3, 1, None]})
    result = postprocessing.compare(frame, source_columns=["s"], compare_columns=["c"], compare_type=kind)
    assert list(result.columns) == ["s", "c", f"{kind}__s__c"]
    assert values(result[f"{kind}__s__c"]) == wanted


def test_compare_rounds_to_precision_and_drops_the_originals() -> None:
    frame = pd.DataFrame({"s": [2], "c": [3], "k": ["a"]})
    result = postprocessing.compare(
        frame, source_columns="s", compare_columns="c", compare_type="ratio", precision=1, drop_original_columns=True
    )
    assert result.to_dict("list") == {"k": ["a"], "ratio__s__c": [0.7]}


def test_compare_pairs_columns_that_are_alike_below_the_first_level() -> None:
    columns = pd.MultiIndex.from_tuples([("s", "x"), ("s", "y"), ("c", "y"), ("c", "x")])
    frame = pd.DataFrame([[10, 20, 2, 1]], columns=columns)
    result = postprocessing.compare(frame, source_columns=["s"], compare_columns=["c"])
    assert result[("difference__s__c", "x")].tolist() == [9]
    assert result[("difference__s__c", "y")].tolist() == [18]


@pytest.mark.parametrize("kind", ["ratio", "percentage"])
def test_a_division_by_zero_is_null(kind: str) -> None:
    frame = pd.DataFrame({"s": [5.0, -5.0, 0.0], "c": [0, 0, 0]})
    result = postprocessing.compare(frame, source_columns=["s"], compare_columns=["c"], compare_type=kind)
    assert result[f"{kind}__s__c"].isna().all()
    assert not np.isinf(result[f"{kind}__s__c"]).any()


def test_compare_refuses_several_columns_of_one_label() -> None:
    columns = pd.MultiIndex.from_tuples([("s", "x"), ("s", "x"), ("c", "x")])
    frame = pd.DataFrame([[1, 2, 3]], columns=columns)
    with pytest.raises(PostProcessingError, match=r"several columns are called \('s', 'x'\)"):
        postprocessing.compare(frame, source_columns=["s"], compare_columns=["c"])


def test_compare_of_nothing_changes_nothing() -> None:
    frame = pd.DataFrame({"s": [2]})
    result = postprocessing.compare(frame, source_columns=[], compare_columns=[], drop_original_columns=True)
    assert list(result.columns) == ["s"]


@pytest.mark.parametrize(
    ("sources", "others", "message"),
    [
        (["s"], [], "of one length, not 1 and 0"),
        (["s"], ["k"], "column 'k' does not hold numbers"),
        (["q"], ["s"], "no column"),
    ],
)
def test_compare_refuses_what_cannot_be_compared(sources: list[str], others: list[str], message: str) -> None:
    frame = pd.DataFrame({"s": [2], "k": ["a"]})
    with pytest.raises(PostProcessingError, match=message):
        postprocessing.compare(frame, source_columns=sources, compare_columns=others)


# ------------------------------------------------------------------------------------------------------- contribution
@pytest.fixture
def amounts() -> pd.DataFrame:
    return pd.DataFrame({"k": ["a", "b"], "x": [1.0, 3.0], "y": [Decimal(3), None], "x__1 year ago": [2.0, 2.0]})


def test_contribution_is_of_columns_unless_asked_otherwise(amounts: pd.DataFrame) -> None:
    result = postprocessing.contribution(amounts)
    assert result["x"].tolist() == [0.25, 0.75]
    assert result["y"].tolist() == [1.0, 0.0]
    assert result["k"].tolist() == ["a", "b"]


def test_contribution_of_rows_keeps_nulls(amounts: pd.DataFrame) -> None:
    result = postprocessing.contribution(amounts, orientation="row", columns=["x", "y"])
    assert values(result["x"]) == [0.25, 1.0]
    assert values(result["y"]) == [0.75, None]
    assert result["x__1 year ago"].tolist() == [2.0, 2.0]


def test_rows_add_up_for_each_time_shift_apart(amounts: pd.DataFrame) -> None:
    together = postprocessing.contribution(amounts, orientation="row", columns=["x", "x__1 year ago"])
    apart = postprocessing.contribution(
        amounts, orientation="row", columns=["x", "x__1 year ago"], time_shifts=["1 year ago"]
    )
    assert together["x"].tolist() == [1 / 3, 0.6]
    assert apart["x"].tolist() == [1.0, 1.0]


def test_a_row_belongs_to_the_longest_time_shift_that_its_name_ends_with() -> None:
    frame = pd.DataFrame({"x__8 days ago": [1.0], "x__28 days ago": [4.0]})
    result = postprocessing.contribution(frame, orientation="row", time_shifts=["8 days ago", "28 days ago"])
    assert result.iloc[0].tolist() == [1.0, 1.0]


def test_rename_columns_adds_columns_and_keeps_the_originals(amounts: pd.DataFrame) -> None:
    result = postprocessing.contribution(amounts, columns="x", rename_columns="%x")
    assert list(result.columns) == [*amounts.columns, "%x"]
    assert result["x"].tolist() == [1.0, 3.0]
    assert result["%x"].tolist() == [0.25, 0.75]


def test_given_totals_take_the_place_of_sums(amounts: pd.DataFrame) -> None:
    result = postprocessing.contribution(amounts, columns=["x", "y"], contribution_totals={"x": 8})
    assert result["x"].tolist() == [0.125, 0.375]
    assert result["y"].tolist() == [1.0, 0.0]


@for_each("orientation", ["column", "row"])
@for_each("given", [{}, {"x": 0}, {"x": 0.0, "y": -0.0}, {"x": 4, "y": 0}, {"y": None}])
def test_shares_of_a_total_of_0_are_null_and_others_as_plain_fractions(
    orientation: str, given: dict[str, float | None]
) -> None:
    """The reference is Python's fractions: the total is given, or the sum, in which a null is 0."""
    table = {"x": [2, -2, 0, 4, None], "y": [5, 2, 0, -7, None], "z": [0, 0, None, 0, None]}

    def share(name: str, row: int) -> float | None:
        column = orientation == "column"
        summed = table[name] if column else [cells[row] for cells in table.values()]
        total = given.get(name) if column else None
        total = sum(value or 0 for value in summed) if total is None else total
        value = table[name][row]
        if total == 0 or (value is None and not column):
            return None
        return float(Fraction(value or 0) / Fraction(total))

    options = {"contribution_totals": given} if given and orientation == "column" else {}
    made = postprocessing.contribution(pd.DataFrame(table), orientation=orientation, **options)
    assert {name: values(made[name]) for name in table} == {
        name: [share(name, row) for row in range(5)] for name in table
    }


def test_contribution_works_on_labels_of_several_levels() -> None:
    result = postprocessing.contribution(pivoted(), orientation="row", columns=["sales"])
    assert result[("sales", "a, b", "x")].tolist() == [1 / 3, 4 / 9]
    assert result[("cost", "c", "x")].tolist() == [3, 6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["k"]}, "column 'k' does not hold numbers; the numeric columns are: x, y, x__1 year ago"),
        ({"columns": ["z"]}, "there is no column 'z'"),
        ({"columns": ["x"], "rename_columns": ["a", "b"]}, "give one name for each column, 1 and not 2"),
        ({"orientation": "diagonal"}, "orientation: 'diagonal' is not one of row, column"),
    ],
)
def test_contribution_refuses_what_it_cannot_do(amounts: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PostProcessingError, match=f"^contribution: .*{message}"):
        postprocessing.contribution(amounts, **options)


# --------------------------------------------------------------------------------------------------- rank, histogram
def test_rank_is_a_share_with_ties_in_the_middle() -> None:
    frame = pd.DataFrame({"x": [1, 2, 2, None]})
    assert values(postprocessing.rank(frame, metric="x")["rank"]) == [1 / 3, 2.5 / 3, 2.5 / 3, None]


def test_rank_within_groups() -> None:
    frame = pd.DataFrame({"g": ["a", "a", None], "x": [1, 2, 3]})
    assert postprocessing.rank(frame, metric="x", group_by="g")["rank"].tolist() == [0.5, 1.0, 1.0]


def test_histogram_counts_by_bins_of_equal_width() -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 4.0, None, np.inf]})
    result = postprocessing.histogram(frame, column="x", bins=2)
    assert result.to_dict("list") == {"0.0 - 2.0": [2], "2.0 - 4.0": [2]}


def test_groups_share_the_bins() -> None:
    frame = pd.DataFrame({"g": ["a", "b", None], "x": [0, 4, 3]})
    result = postprocessing.histogram(frame, column="x", groupby="g", bins=2)
    assert values(result["g"]) == ["a", "b", None]
    assert result["2.0 - 4.0"].tolist() == [0, 1, 1]


def test_cumulative_and_normalize() -> None:
    frame = pd.DataFrame({"x": [0, 1, 1, 4]})
    options = {"column": "x", "bins": 2}
    assert postprocessing.histogram(frame, **options, cumulative=True).to_numpy().tolist() == [[3, 4]]
    assert postprocessing.histogram(frame, **options, normalize=True).to_numpy().tolist() == [[0.75, 0.25]]


def test_bins_default_to_five() -> None:
    assert postprocessing.histogram(pd.DataFrame({"x": range(10)}), column="x").shape == (1, 5)


def test_a_histogram_of_nothing_has_no_rows() -> None:
    assert len(postprocessing.histogram(pd.DataFrame({"x": [None, None]}), column="x")) == 0


def test_a_histogram_of_one_value_has_one_full_bin() -> None:
    assert postprocessing.histogram(pd.DataFrame({"x": [5, 5]}), column="x", bins=3).to_numpy().tolist() == [[0, 2, 0]]


def test_a_histogram_of_values_too_close_for_its_bins_is_refused() -> None:
    frame = pd.DataFrame({"x": [1.0, np.nextafter(1.0, 2)]})
    with pytest.raises(PostProcessingError, match="bins: "):
        postprocessing.histogram(frame, column="x", bins=5)


def test_a_histogram_of_values_too_far_apart_for_a_float_is_refused_without_a_warning() -> None:
    with pytest.raises(PostProcessingError, match="the values lie too far apart"):
        postprocessing.histogram(pd.DataFrame({"x": [-1.7e308, 1.7e308]}), column="x")


def test_a_histogram_beyond_all_size_is_refused() -> None:
    frame = pd.DataFrame({"g": range(10_000), "x": range(10_000)})
    with pytest.raises(LimitError, match="100,000,000 cells"):
        postprocessing.histogram(frame, column="x", groupby="g", bins=10_000)


@pytest.mark.parametrize("bins", [0, -1, 10_001, 2.5])
def test_bins_have_bounds(bins: Any) -> None:
    with pytest.raises(PostProcessingError, match=r"^histogram: bins: must be"):
        postprocessing.histogram(pd.DataFrame({"x": [1]}), column="x", bins=bins)


# --------------------------------------------------------------------------------------------------------- separators
def test_separators_escape_labels_at_every_level_and_leave_values() -> None:
    frame = pd.DataFrame({"a, b": ["x, y"]})
    escaped = postprocessing.escape_separator(frame)
    assert escaped.to_dict("list") == {"a\\, b": ["x, y"]}
    assert postprocessing.unescape_separator(escaped).to_dict("list") == {"a, b": ["x, y"]}
    assert postprocessing.escape_separator(pivoted()).columns[0] == ("sales", "a\\, b", "x")
