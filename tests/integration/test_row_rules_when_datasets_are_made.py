"""Making a virtual dataset asks the database about its SQL: no answer of that may depend on rows a rule forbids."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.tenant_world import ENGINES, ROWS, TenantWorld, rule, tenant_world, url_on

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


@pytest.mark.parametrize("sql", SQL.values(), ids=SQL)
def test_what_new_sql_tells_does_not_depend_on_forbidden_rows(world: TenantWorld, sql: str) -> None:
    told = []
    for rows in (ROWS, OWN):
        world.release()
        world.fill(rows)
        told.append(columns(world, sql))
    assert told[0] == told[1]


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
