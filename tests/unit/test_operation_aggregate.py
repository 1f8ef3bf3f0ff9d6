"""Aggregate: groups, nulls, names."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.operation_reference import EVERY_OPERATOR

from analytics_core import postprocessing
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import AggregateOperator


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"g": ["a", "a", "a", "b", None], "x": [1.0, 3.0, None, 4.0, 7.0], "n": [1, 2, 3, 4, 5]})


def made(frame: pd.DataFrame, operator: str, **options: Any) -> list[Any]:
    spec = {"column": "x", "operator": operator, "options": {"q": 50}}
    result = postprocessing.aggregate(frame, groupby="g", aggregates={"made": spec}, **options)
    return [None if pd.isna(value) else value for value in result["made"]]


@for_each(
    ("operator", "of_a_with_a_null"),
    [
        ("sum", 4), ("nansum", 4), ("cumsum", 4), ("prod", 3), ("product", 3), ("cumprod", 3),
        ("mean", 2), ("nanmean", 2), ("average", None), ("median", None), ("nanmedian", 2),
        ("percentile", None), ("nanpercentile", 2), ("min", 1), ("nanmin", 1), ("max", 3), ("nanmax", 3),
        ("std", 1), ("var", 1), ("argmin", 0), ("argmax", 1), ("count", 3), ("count_nonzero", 3),
    ],
)  # fmt: skip
def test_each_operator_treats_a_null_as_documented(
    frame: pd.DataFrame, operator: str, of_a_with_a_null: float | None
) -> None:
    assert made(frame, operator)[0] == of_a_with_a_null


def test_every_operator_of_the_contract_is_tried_here() -> None:
    assert sorted(EVERY_OPERATOR) == sorted(AggregateOperator)


def test_groups_come_in_order_with_null_as_the_last(frame: pd.DataFrame) -> None:
    result = postprocessing.aggregate(frame, groupby=["g"], aggregates={"n": {"operator": "sum"}})
    assert list(result.columns) == ["g", "n"]
    assert result["g"].tolist()[:2] == ["a", "b"]
    assert result["g"].isna().tolist() == [False, False, True]
    assert result["n"].tolist() == [6, 4, 5]


def test_without_groupby_there_is_one_row(frame: pd.DataFrame) -> None:
    result = postprocessing.aggregate(frame, aggregates={"total": {"column": "n", "operator": "sum"}})
    assert result.to_dict("list") == {"total": [15]}


def test_the_column_is_the_aggregates_own_name_unless_given(frame: pd.DataFrame) -> None:
    result = postprocessing.aggregate(
        frame, aggregates={"n": {"operator": "max"}, "x": {"operator": "max", "column": "n"}}
    )
    assert result.to_dict("list") == {"n": [5], "x": [5]}


def test_decimals_are_numbers() -> None:
    frame = pd.DataFrame({"x": [Decimal("1.5"), None, Decimal("2.5")]})
    assert postprocessing.aggregate(frame, aggregates={"x": {"operator": "mean"}})["x"].tolist() == [2.0]


def test_booleans_count_as_one_and_zero() -> None:
    frame = pd.DataFrame({"x": [True, True, False]})
    assert postprocessing.aggregate(frame, aggregates={"x": {"operator": "sum"}})["x"].tolist() == [2]


def test_an_empty_frame_gives_nothing_for_groups_and_one_row_for_all(frame: pd.DataFrame) -> None:
    empty = frame.iloc[:0]
    sums = {
        "n": {"operator": "sum"},
        "m": {"operator": "max", "column": "n"},
        "c": {"operator": "count", "column": "n"},
    }
    assert postprocessing.aggregate(empty, groupby="g", aggregates=sums).shape == (0, 4)
    total = postprocessing.aggregate(empty, aggregates=sums)
    assert total["n"].tolist() == [0]
    assert total["c"].tolist() == [0]
    assert total["m"].isna().all()


@for_each(
    ("options", "message"),
    [
        ({"aggregates": {}}, "aggregates: give at least one"),
        ({"groupby": "h", "aggregates": {"n": {"operator": "sum"}}}, "groupby: there is no column 'h'"),
        ({"aggregates": {"n": {"operator": "sum", "column": "m"}}}, "aggregates.n.column: there is no column 'm'"),
        ({"groupby": "g", "aggregates": {"g": {"operator": "count"}}}, "'g' is the name of a group column too"),
        ({"aggregates": {"g": {"operator": "mean"}}}, "mean needs numbers.*choose one of: .*count"),
    ],
)
def test_what_cannot_be_honoured_is_told(frame: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PostProcessingError, match=f"^aggregate: .*{message}"):
        postprocessing.aggregate(frame, **options)


@for_each("values", [[2**60 + 1, None, 4], [2**60 + 1, None, -(2**60) - 3]])
@for_each(("operator", "of"), [("sum", sum), ("max", max), ("nanmin", min)])
def test_whole_numbers_beyond_doubles_stay_exact_beside_nulls(operator: str, of: Any, values: list[Any]) -> None:
    frame = pd.DataFrame({"x": pd.Series(values, dtype="Int64")})
    result = postprocessing.aggregate(frame, aggregates={"x": {"operator": operator}})
    assert result["x"].tolist() == [of([value for value in values if value is not None])]


def test_an_extreme_beyond_doubles_stays_exact_beside_a_group_without_values() -> None:
    frame = pd.DataFrame({"g": ["a", "b"], "x": pd.Series([2**60 + 1, None], dtype="Int64")})
    result = postprocessing.aggregate(frame, groupby="g", aggregates={"x": {"operator": "max"}})
    assert result["x"].iloc[0] == 2**60 + 1
    assert pd.isna(result["x"].iloc[1])


def test_what_an_aggregate_does_not_read_is_told() -> None:
    spread = {"column": "x", "operator": "std", "options": {"ddof": 1}, "label": "spread"}
    part = {"column": "x", "operator": "percentile", "options": {"q": 50, "method": "lower"}}
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    note = "kept but not read: aggregates.p.options.method, aggregates.s.label, aggregates.s.options.ddof"
    result = postprocessing.aggregate(frame, aggregates={"s": spread, "p": part})
    assert result.attrs["notes"] == (f"aggregate: {note}",)
    table = postprocessing.pivot(frame, index="x", aggregates={"s": spread, "p": part})
    assert table.attrs["notes"] == (f"pivot: {note}",)


@pytest.mark.parametrize("operator", ["mean", "nanmean", "average"])
def test_the_mean_of_one_whole_number_is_that_number(operator: str) -> None:
    big = pd.DataFrame({"g": ["a", "b", None], "x": [2**53 + 1, -(2**53) - 3, 5]})
    assert made(big, operator)[:2] == [2**53 + 1, -(2**53) - 3]
    small = pd.DataFrame({"g": ["a"], "x": [3]})
    assert all(isinstance(value, float) for value in made(small, operator))


def test_the_mean_of_one_decimal_that_no_float_holds_is_that_decimal() -> None:
    exact = [Decimal("12345678901234567.89"), Decimal("0.10")]
    assert made(pd.DataFrame({"g": ["a", "b"], "x": exact}), "mean") == exact
    assert made(pd.DataFrame({"g": ["a", "a"], "x": exact}), "mean") == [float(exact[0]) / 2]
    near = made(pd.DataFrame({"g": ["a", "b"], "x": [Decimal("2.675"), Decimal("0.10")]}), "mean")
    assert list(map(type, near)) == [float, float]
