"""The acceptance run's own judgement: when the answers of several engines count as the same."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from tests.acceptance.same_rows import differences_between

from analytics_core.errors import QueryError

GROUPED = {"metrics": ["n"]}
RAW = {"metrics": None}


@pytest.fixture
def compare() -> ModuleType:
    """The few functions of `compare.py` that are needed, with plain equality."""
    module = ModuleType("compare")
    functions = {
        "norm": lambda value: value,
        "same": lambda one, two: one == two,
        "matched": lambda one, two: one == two,
        "bag_equal": lambda one, two: sorted(one) == sorted(two),
        "first_diff": lambda one, two, names: f"{names}: {one} / {two}",
    }
    for name, function in functions.items():
        setattr(module, name, function)
    return module


def _result(*values: int, **other: Any) -> list[dict[str, Any]]:
    return [{"colnames": ["a"], "coltypes": [0], "data": [{"a": value} for value in values], **other}]


def _judge(query: dict[str, Any], one: Any, two: Any, compare: ModuleType) -> list[str]:
    return differences_between([query], {"sqlite": one, "duckdb": two}, compare)


def test_equal_rows_are_the_same(compare: ModuleType) -> None:
    assert _judge(GROUPED, _result(1, 2), _result(1, 2), compare) == []


def test_other_values_differ(compare: ModuleType) -> None:
    assert _judge(GROUPED, _result(1, 2), _result(1, 3), compare) != []


def test_grouped_rows_in_another_order_differ(compare: ModuleType) -> None:
    assert _judge(GROUPED, _result(1, 2), _result(2, 1), compare) != []


def test_raw_rows_that_nothing_orders_may_come_in_another_order(compare: ModuleType) -> None:
    assert _judge(RAW, _result(1, 2), _result(2, 1), compare) == []
    assert _judge({**RAW, "orderby": [["a", True]]}, _result(1, 2), _result(2, 1), compare) != []


def test_raw_rows_that_a_limit_cuts_may_be_others_but_not_fewer(compare: ModuleType) -> None:
    assert _judge({**RAW, "row_limit": 2}, _result(1, 2), _result(3, 4), compare) == []
    assert _judge({**RAW, "row_limit": 3}, _result(1, 2), _result(3, 4), compare) != []
    assert _judge({**RAW, "row_limit": 2}, _result(1, 2), _result(1), compare) != []


def test_other_types_of_columns_differ(compare: ModuleType) -> None:
    assert _judge(GROUPED, _result(1), _result(1, coltypes=[1]), compare) != []


def test_a_refusal_on_one_engine_only_differs_and_one_on_both_does_not(compare: ModuleType) -> None:
    assert _judge(GROUPED, QueryError("no"), _result(1), compare) != []
    assert _judge(GROUPED, _result(error="no"), QueryError("no"), compare) == []


def test_an_error_that_is_not_ours_is_never_a_refusal(compare: ModuleType) -> None:
    assert len(_judge(GROUPED, KeyError("x"), KeyError("x"), compare)) == 2


def test_time_grains_are_compared_by_name_not_by_the_engines_sql(compare: ModuleType) -> None:
    one, two = ([{"data": [{"name": "Day", "function": sql}]}] for sql in ("a", "b"))
    assert _judge(GROUPED, one, two, compare) == []
    assert _judge(GROUPED, one, [{"data": [{"name": "Week", "function": "a"}]}], compare) != []
