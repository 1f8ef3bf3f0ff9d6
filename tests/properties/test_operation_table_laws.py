"""Laws of contribution, sort, flatten, rank, histogram, compare and select, on frames of every kind."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.operation_reference import plain, tables

from analytics_core import postprocessing

AMOUNTS = st.one_of(st.none(), st.floats(0, 1e6, allow_subnormal=False))
PARTS = st.text(alphabet="ab, \\", max_size=4).filter(lambda part: not part.endswith("\\"))


@given(rows=st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), min_size=1, max_size=20))
def test_shares_of_a_row_add_up_to_one(rows: list[tuple[float | None, ...]]) -> None:
    table = pd.DataFrame(rows, columns=["a", "b", "c"], dtype="float64")
    shares = postprocessing.contribution(table, orientation="row")
    totals = table.sum(axis=1)
    for share, total in zip(shares.sum(axis=1), totals, strict=True):
        assert total == 0 or math.isclose(share, 1, rel_tol=1e-9)


@given(values=st.lists(AMOUNTS, min_size=1, max_size=20))
def test_shares_of_a_column_add_up_to_one(values: list[float | None]) -> None:
    table = pd.DataFrame({"a": pd.Series(values, dtype="float64"), "t": "text"})
    assume(table["a"].sum() > 0)
    shares = postprocessing.contribution(table)
    assert math.isclose(shares["a"].sum(), 1, rel_tol=1e-9)
    assert list(shares["t"]) == list(table["t"])


@given(table=tables(), first=st.sampled_from(["k", "d", "n"]), up=st.booleans(), also=st.booleans())
def test_sorting_is_stable_and_puts_nulls_last(table: pd.DataFrame, first: str, up: bool, also: bool) -> None:
    table = table.assign(place=range(len(table)))
    result = postprocessing.sort(table, by=[first, "x"], ascending=[up, also])
    keys = [
        (plain(a), plain(b), place) for a, b, place in zip(result[first], result["x"], result["place"], strict=True)
    ]
    for one, other in pairwise(keys):
        order = _order(one[0], other[0], up) or _order(one[1], other[1], also)
        assert order < 0 or (order == 0 and one[2] < other[2])
    assert list(result.index) == list(range(len(table)))


def _order(one: Any, other: Any, up: bool) -> int:
    if one is None or other is None:
        return (one is None) - (other is None)
    return ((one > other) - (one < other)) * (1 if up else -1)


@given(labels=st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=8, unique=True))
def test_flat_labels_stay_different_and_unescaping_gives_the_joined_parts(labels: list[tuple[str, str]]) -> None:
    columns = pd.MultiIndex.from_tuples(labels)
    table = pd.DataFrame([range(len(labels))], columns=columns)
    flat = postprocessing.flatten(table)
    assert flat.columns.is_unique
    plain_labels = postprocessing.unescape_separator(flat).columns
    assert list(plain_labels) == [", ".join(label) for label in labels]
    assert flat.to_numpy().tolist() == table.to_numpy().tolist()


@given(labels=st.lists(st.text(alphabet="ab, ", max_size=5), min_size=1, max_size=6, unique=True))
def test_unescaping_gives_escaped_labels_back(labels: list[str]) -> None:
    table = pd.DataFrame([range(len(labels))], columns=labels)
    escaped = postprocessing.escape_separator(table)
    assert all("," not in label.replace("\\,", "") for label in escaped.columns)
    assert list(postprocessing.unescape_separator(escaped).columns) == labels


@pytest.mark.slow
@given(table=tables(), bins=st.integers(1, 9))
def test_a_histogram_counts_every_number_once(table: pd.DataFrame, bins: int) -> None:
    numbers = pd.to_numeric(table["x"].astype("float64")).dropna().to_numpy()
    assume(len(numbers))
    result = postprocessing.histogram(table, column="x", groupby="k", bins=bins)
    assert result.drop(columns="k").to_numpy().sum() == len(numbers)
    overall = postprocessing.histogram(table, column="x", bins=bins)
    assert overall.to_numpy()[0].tolist() == np.histogram(numbers, bins=bins)[0].tolist()


@pytest.mark.slow
@given(table=tables(min_size=1))
def test_ranks_are_shares_of_the_rows_with_a_value(table: pd.DataFrame) -> None:
    result = postprocessing.rank(table, metric="x", group_by="k")
    for _, group in result.groupby(table["k"].astype(object).where(table["k"].notna(), "none"), dropna=False):
        numbers = [plain(value) for value in group["x"] if plain(value) is not None]
        for value, rank in zip(group["x"], group["rank"], strict=True):
            if plain(value) is None:
                assert plain(rank) is None
            else:
                below = sum(other < value for other in numbers)
                same = sum(other == value for other in numbers)
                assert math.isclose(rank, (below + (same + 1) / 2) / len(numbers))


CALLS = {
    "aggregate": {"groupby": "k", "aggregates": {"x": {"operator": "median"}}},
    "compare": {"source_columns": "x", "compare_columns": "n", "drop_original_columns": True},
    "contribution": {"columns": ["x", "n"], "orientation": "row"},
    "escape_separator": {},
    "flatten": {},
    "histogram": {"column": "x", "groupby": "k"},
    "rank": {"metric": "x", "group_by": "k"},
    "rename": {"columns": {"x": "y"}, "inplace": True},
    "select": {"columns": ["n", "x"], "rename": {"x": "y"}},
    "sort": {"by": ["k", "x"], "ascending": False},
    "unescape_separator": {},
}


@pytest.mark.slow
@for_each("name", CALLS)
@given(table=tables())
def test_an_operation_leaves_its_input_alone(name: str, table: pd.DataFrame) -> None:
    before = table.copy(deep=True)
    getattr(postprocessing, name)(table, **CALLS[name])
    pd.testing.assert_frame_equal(table, before)
