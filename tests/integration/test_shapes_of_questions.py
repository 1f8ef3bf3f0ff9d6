"""Questions of one shape, which differ in values alone, under rules and on datasets that differ or change.

What was made for one of them serves the next: never for somebody else, and never after a change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.support.tenant_world import ROWS, TENANTS, TenantWorld, ask, rule, tenant_world

from analytics_core.errors import FilterValueError, PayloadSchemaError

OWN = {tenant: [row[0] for row in ROWS if row[1] == tenant] for tenant in TENANTS}
NUMBERS = count(1)
DATASETS = (1, 2)
"""The table, and SQL that reads it."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[TenantWorld]:
    with tenant_world("sqlite", f"sqlite:///{tmp_path}/shop.db", tmp_path) as world:
        world.admin.row_level_security.create(rule(world))
        world.virtual("made", "SELECT id, tenant, amount FROM sales")
        yield world


def listed(world: TenantWorld, user: str, *, dataset: int = 1) -> list[int]:
    """Ask for ids in the one shape of these tests, with values that no question had before."""
    number = next(NUMBERS)
    filters = [{"col": "amount", "op": ">", "val": -number}, {"col": "id", "op": "IN", "val": [*range(1, 8), -number]}]
    query = {"columns": ["id"], "orderby": [["id", True]], "filters": filters, "row_limit": 1_000 + number}
    return [row["id"] for row in ask(world.user(user), query, dataset=dataset).data]


@pytest.mark.parametrize("dataset", DATASETS)
def test_who_asks_in_turns_sees_their_own_rows(world: TenantWorld, dataset: int) -> None:
    for _ in range(4):
        assert {tenant: listed(world, tenant, dataset=dataset) for tenant in TENANTS} == OWN


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_changed_rule_binds_the_next_question(world: TenantWorld, dataset: int) -> None:
    assert [listed(world, "acme", dataset=dataset) for _ in range(4)] == [OWN["acme"]] * 4
    world.admin.row_level_security.create(rule(world, name="large", clause="amount > 15"))
    assert [listed(world, "acme", dataset=dataset) for _ in range(4)] == [[2, 3]] * 4


def test_a_changed_dataset_answers_the_next_question(world: TenantWorld) -> None:
    query = {"metrics": ["total"]}
    for factor in (2, 3):
        metrics = [{"metric_name": "total", "expression": f"SUM(amount) * {factor}"}]
        world.admin.datasets.update(1, {"metrics": metrics})
        found = [ask(world.user("acme"), {**query, "row_limit": limit}).data for limit in (1, 2, 3, 4)]
        assert found == [[{"total": 60 * factor}]] * 4


def test_who_may_not_write_sql_gets_nothing_that_was_made_for_who_may(world: TenantWorld) -> None:
    role = world.admin.roles.create({"name": "readers"})
    world.admin.roles.grant(role, on=("dataset", 1))
    world.admin.users.create({"username": "reader", "roles": [role.id]})
    column = {"sqlExpression": "OF_THE_HOST(1)", "label": "x", "expressionType": "SQL"}
    for user, is_allowed in ((world.admin, True), (world.user("reader"), False)) * 3:
        context = {"datasource": {"id": 1, "type": "table"}, "result_type": "query"}
        query = {"columns": [column], "row_limit": next(NUMBERS)}
        result = user.charts.data({**context, "queries": [query]}).results[0]
        assert (result.failure is None) is is_allowed


@pytest.mark.parametrize("is_saved", [True, False], ids=["saved", "ad-hoc"])
def test_a_template_reads_the_values_of_each_question(world: TenantWorld, is_saved: bool) -> None:
    sql = "MAX({{ filter_values('amount')[0] }})"
    world.admin.datasets.update(1, {"metrics": [{"metric_name": "asked", "expression": sql if is_saved else "1"}]})
    metric = "asked" if is_saved else {"expressionType": "SQL", "sqlExpression": sql, "label": "asked"}
    for amount in (10, 20, 30, 10):
        query = {"metrics": [metric], "filters": [{"col": "amount", "op": "==", "val": amount}]}
        assert ask(world.admin, query).data == [{"asked": amount}]


def test_a_fault_is_told_of_the_question_that_has_it(world: TenantWorld) -> None:
    """Values are checked for each question, though what was made for the one before serves its shape."""

    def found(value: Any) -> list[int]:
        filters = [{"col": "amount", "op": "==", "val": value}]
        query = {"columns": ["id"], "orderby": [["id", True]], "row_limit": 10, "filters": filters}
        return [row["id"] for row in ask(world.user("acme"), query).data]

    for value, fault in ((10, FilterValueError), (20, PayloadSchemaError), (30, FilterValueError)):
        assert found(value) == [value // 10]
        with pytest.raises(fault):
            found("ten" if fault is FilterValueError else {})
