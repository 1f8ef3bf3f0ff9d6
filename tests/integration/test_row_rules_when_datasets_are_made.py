"""Making a virtual dataset asks the database about its SQL: no answer of that may depend on rows a rule forbids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.tenant_world import ENGINES, ROWS, TenantWorld, ask, rule, tenant_world, url_on

from analytics_core import errors

OWN = [row for row in ROWS if row[1] == "acme"]


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("probing")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.row_level_security.create(rule(made))
        yield made


def columns(world: TenantWorld, sql: str) -> list[tuple[str, str | None]] | str:
    """Return the columns that acme finds in new SQL, or the message of its error; the dataset is gone after."""
    core = world.user("acme")
    try:
        made = core.datasets.create({"database": 1, "table_name": "tried", "sql": sql})
    except (errors.DatabaseError, errors.QueryError) as error:
        return error.message
    core.datasets.delete(made.id)
    return [(column.column_name, column.type) for column in made.columns]


SQL = {
    "types that tell of values": "SELECT CASE WHEN MAX(amount) > 500 THEN 'x' ELSE 1 END AS y FROM sales",
    "types of a sub-query": "SELECT (SELECT CASE WHEN MAX(amount) > 500 THEN 'x' ELSE 1 END FROM sales) AS y",
    "an error that tells of values": "SELECT id FROM targets LIMIT (SELECT 500 - MAX(amount) FROM sales)",
    "names that are values": "SELECT * FROM (PIVOT sales ON region USING SUM(amount) GROUP BY id)",
    "plain columns": "SELECT id, amount * 2 AS twice, '50%' AS share FROM sales",
}


@pytest.mark.slow
@for_each("sql", SQL.values(), ids=SQL)
def test_what_new_sql_tells_does_not_depend_on_forbidden_rows(world: TenantWorld, sql: str) -> None:
    results = []
    for rows in (ROWS, OWN):
        world.release()
        world.fill(rows)
        results.append(columns(world, sql))
    assert results[0] == results[1]


def test_columns_of_a_ruled_table_keep_their_types(world: TenantWorld) -> None:
    world.release()
    world.fill(ROWS)
    found = columns(world, "SELECT id, tenant, '50%' AS share, amount * 2 AS twice FROM sales AS s")
    assert isinstance(found, list)
    kinds = [(name, str(kind).split("(")[0].upper()) for name, kind in found]
    integer, text = ("INTEGER", "INT"), ("VARCHAR", "TEXT", "CHARACTER VARYING")
    assert [name for name, _ in kinds] == ["id", "tenant", "share", "twice"]
    assert kinds[0][1] in integer
    assert kinds[1][1] in text


def test_new_sql_over_rules_that_cannot_be_evaluated_is_refused(world: TenantWorld) -> None:
    changes = {"name": "no such attribute", "clause": "region = {{ current_user_attribute('shelf') }}"}
    made = world.admin.row_level_security.create(rule(world, **changes))
    try:
        with pytest.raises(errors.MissingTemplateValueError, match="no such attribute"):
            world.user("acme").datasets.create({"database": 1, "table_name": "tried", "sql": "SELECT id FROM sales"})
        assert columns(world, "SELECT id FROM targets") != []
    finally:
        world.admin.row_level_security.delete(made.id)


COSTLY = "LENGTH(REPLACE(REPLACE(tenant, 'a', 'aa'), 'c', 'cc')) = 6 AND tenant <> 'x'"
"""A rule that an engine tests last, if nothing tells it not to."""

WRONG_TYPES: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "texts said to be numbers": ("region", "INTEGER", {"op": "==", "val": 5}),
    "texts said to be truths": ("region", "BOOLEAN", {"op": "IS TRUE"}),
    "numbers said to have many digits": (
        "amount",
        "DECIMAL(38,35)",
        {"op": "IN", "val": [Decimal("0." + "0" * 34 + "1")]},
    ),
    "texts said to be moments": ("region", "TIMESTAMP", {"op": "TEMPORAL_RANGE", "val": "2024-01-05 : 2024-01-06"}),
}


@pytest.mark.slow
@for_each(("column", "declared", "test"), WRONG_TYPES.values(), ids=WRONG_TYPES)
@for_each("is_virtual", [True, False])
def test_a_type_that_somebody_declares_tells_nothing_of_forbidden_rows(
    world: TenantWorld, column: str, declared: str, test: Mapping[str, Any], is_virtual: bool
) -> None:
    world.release()
    world.fill(ROWS)
    (stored,) = world.admin.row_level_security.list().result
    world.admin.row_level_security.update(stored.id, {"clause": COSTLY})
    core = world.user("acme")
    made = world.virtual("retyped", "SELECT id, region, amount, sold_on FROM sales") if is_virtual else 1
    before = [
        {"column_name": c.column_name, "type": c.type, "is_dttm": c.is_dttm}
        for c in core.datasets.get(made).columns or ()
    ]
    try:
        after = [{**item, "type": declared} if item["column_name"] == column else item for item in before]
        world.admin.datasets.update(made, {"columns": after})
        results = []
        for number in (4, 7, 99):
            filters = [{"col": column, **test}, {"col": "id", "op": "==", "val": number}]
            try:
                results.append(str(ask(core, {"columns": ["id"], "filters": filters}, dataset=made).data))
            except errors.DatabaseError as error:
                results.append(error.message)
        assert len(set(results)) == 1
    finally:
        world.admin.datasets.update(made, {"columns": before})
        world.admin.row_level_security.update(stored.id, {"clause": rule(world)["clause"]})
        if is_virtual:
            world.admin.datasets.delete(made)
