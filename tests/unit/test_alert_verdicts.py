"""Verdicts on what an alert's query gave, by both validators of the contract."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._reports.alerts import fires_unless_empty, fires_when
from analytics_core.errors import AlertError
from analytics_core.models.report import ComparisonOperator

NAN = float("nan")


@for_each(
    ("value", "fires"),
    [
        *((None, False), (NAN, False), (Decimal("NaN"), False), (0, False), (0.0, False), (-0.0, False), ("", False)),
        *((Decimal("0.00"), False), (False, False), (True, True), (1, True), (-3, True), ("0", True), ("no", True)),
        *((Decimal("0.01"), True), (float("inf"), True)),
    ],
)
def test_not_null_fires_unless_the_value_is_null_empty_or_zero(value: Any, fires: bool) -> None:
    assert fires_unless_empty(["value"], [[value]]).is_triggered is fires


def test_no_row_and_null_say_why_nothing_fires() -> None:
    assert fires_unless_empty(["value"], []).reason == "Query returned no rows (empty result set)"
    assert fires_unless_empty(["value"], [[None]]).reason == "Query returned NULL value"
    assert fires_when(["value"], [], op=ComparisonOperator.LESS, threshold=1).reason == (
        "Query returned no rows (empty result set)"
    )


@for_each(
    ("value", "op", "threshold", "fires"),
    [
        *((5, "<", 6, True), (6, "<", 6, False), (6, "<=", 6, True), (7, ">", 6, True), (6, ">=", 6, True)),
        *((6, "==", 6.0, True), (6, "!=", 6, False), (Decimal("0.1"), "==", 0.1, True), ("12.5", ">", 12, True)),
        *((None, "!=", 1, False), (None, "==", 0, False), (NAN, "!=", 1, False), (0, "<", 1, True)),
        *((9007199254740993, ">", 9007199254740992, True), (True, "==", 1, True), (float("-inf"), "<", 0, True)),
    ],
)
def test_operator_compares_exactly_and_null_never_fires(value: Any, op: str, threshold: float, fires: bool) -> None:
    assert fires_when(["v"], [[value]], op=ComparisonOperator(op), threshold=threshold).is_triggered is fires


def test_the_value_and_its_row_are_kept() -> None:
    verdict = fires_when(["total"], [[Decimal("3.50")]], op=ComparisonOperator.GREATER, threshold=1)
    assert (verdict.value, verdict.value_row) == (3.5, {"total": Decimal("3.50")})


@pytest.mark.parametrize("rows", [[[1], [2]], [[1], [1], [1]]])
def test_more_than_one_row_is_an_error(rows: list[list[int]]) -> None:
    with pytest.raises(AlertError, match="more than one row"):
        fires_unless_empty(["value"], rows)


@pytest.mark.parametrize("columns", [[], ["a", "b"]])
def test_other_than_one_column_is_an_error(columns: list[str]) -> None:
    with pytest.raises(AlertError, match="columns"):
        fires_when(columns, [[1] * len(columns)], op=ComparisonOperator.LESS, threshold=0)


@for_each("value", ["a lot", b"1", [1], "", "1,000"])
def test_operator_needs_a_number_and_the_error_holds_no_value(value: Any) -> None:
    with pytest.raises(AlertError, match="no number to compare with 5") as caught:
        fires_when(["v"], [[value]], op=ComparisonOperator.LESS, threshold=5)
    assert "a lot" not in str(caught.value)
