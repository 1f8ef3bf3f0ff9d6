"""Aggregates and pivots agree with plain loops to the last bit, whatever the dtypes."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.operation_reference import (
    EVERY_OPERATOR,
    aggregate_of,
    pivot_of,
    plain,
    same_number,
    tables,
)

from analytics_core import postprocessing

OPERATORS = st.sampled_from(EVERY_OPERATOR)
VALUES = st.sampled_from(["x", "n"])


def spec(operator: str, column: str, q: float) -> dict[str, Any]:
    return {"operator": operator, "column": column, "options": {"q": q} if "percentile" in operator else {}}


@given(table=tables(), operator=OPERATORS, value=VALUES, q=st.integers(0, 100))
def test_aggregate_equals_a_loop_over_each_group(table: pd.DataFrame, operator: str, value: str, q: int) -> None:
    result = postprocessing.aggregate(table, groupby="k", aggregates={"made": spec(operator, value, q)})
    groups: dict[Any, list[Any]] = {}
    for key, number in zip(table["k"], table[value], strict=True):
        groups.setdefault(plain(key), []).append(plain(number))
    keys = [plain(key) for key in result["k"]]
    assert sorted(map(repr, keys)) == sorted(map(repr, groups))
    for key, made in zip(keys, result["made"], strict=True):
        assert same_number(made, aggregate_of(operator, groups[key], q)), (key, operator)


@pytest.mark.slow
@given(table=tables(), operator=OPERATORS, value=VALUES, q=st.integers(0, 100))
def test_pivot_equals_a_loop_over_each_cell(table: pd.DataFrame, operator: str, value: str, q: int) -> None:
    result = postprocessing.pivot(table, index="d", columns="k", aggregates={"made": spec(operator, value, q)})
    wanted = pivot_of(table, "d", "k", value, operator, q)
    found = {
        (plain(day), label[1]): number
        for day, row in zip(result.index, result.to_numpy(), strict=True)
        for label, number in zip(result.columns, row, strict=True)
        if plain(number) is not None
    }
    assert found.keys() == wanted.keys()
    assert all(same_number(found[key], wanted[key]) for key in wanted)


@given(table=tables(min_size=1))
def test_every_row_and_every_occurring_value_is_in_the_table_when_missing_columns_are_kept(table: pd.DataFrame) -> None:
    result = postprocessing.pivot(
        table, index="d", columns="k", aggregates={"x": {"operator": "mean"}}, drop_missing_columns=False
    )
    assert {plain(day) for day in result.index} == {plain(day) for day in table["d"]}
    values = {"<NULL>" if pd.isna(key) else key for key in table["k"]}
    assert list(result.columns.get_level_values(1)) == sorted(values)


@given(table=tables(min_size=1))
def test_totals_of_a_pivot_are_the_aggregates_of_all_rows(table: pd.DataFrame) -> None:
    result = postprocessing.pivot(
        table,
        index="d",
        columns="k",
        aggregates={"n": {"operator": "sum"}},
        marginal_distributions=True,
        drop_missing_columns=False,
    )
    values = [plain(value) for value in table["n"]]
    assert same_number(result[("n", "All")].iloc[-1], aggregate_of("sum", values))
    assert result.index[-1] == "All"


@given(table=tables())
def test_a_pivot_leaves_its_input_alone(table: pd.DataFrame) -> None:
    before = table.copy(deep=True)
    postprocessing.pivot(table, index="d", columns="k", aggregates={"x": {"operator": "max"}}, metric_fill_value=0)
    pd.testing.assert_frame_equal(table, before)


@pytest.mark.slow
@for_each("operator", EVERY_OPERATOR)
def test_many_groups_give_what_few_groups_give(operator: str) -> None:
    """Beyond a thousand groups order statistics are taken by one sort instead of one partition for each group."""
    values = [((i * 7919) % 1013) / 8 if i % 11 else None for i in range(6000)]
    table = pd.DataFrame({"g": [i % 1500 for i in range(6000)], "x": values})
    result = postprocessing.aggregate(table, groupby="g", aggregates={"x": spec(operator, "x", 37.5)})
    for group, made in zip(result["g"], result["x"], strict=True):
        assert same_number(made, aggregate_of(operator, values[group::1500], 37.5))
