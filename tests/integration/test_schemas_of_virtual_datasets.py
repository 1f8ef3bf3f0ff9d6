"""The schema of a virtual dataset stands before the tables that its SQL names without one; their rules bind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.tenant_world import ENGINES, TenantWorld, rule, tenant_world, url_on

from analytics_core import AnalyticsCore
from analytics_core.errors import DatabaseAccessError

SQL = "WITH own AS (SELECT id FROM sales) SELECT id FROM own"


@pytest.fixture(params=ENGINES[1:3])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("schemas")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.release()
        made.execute(
            "CREATE SCHEMA other",
            "CREATE TABLE other.sales (id INTEGER, tenant VARCHAR(20))",
            "INSERT INTO other.sales VALUES (100, 'acme'), (200, 'bolt')",
        )
        yield made


def ids(core: AnalyticsCore, dataset: int) -> list[int]:
    query = {"columns": ["id"], "row_limit": 100}
    answer = core.charts.data({"datasource": {"id": dataset, "type": "table"}, "queries": [query]})
    return sorted(row[0] for row in answer.raise_for_error().results[0].rows())


def test_tables_without_a_schema_are_those_of_the_dataset_under_their_own_rules(world: TenantWorld) -> None:
    table = world.admin.datasets.create({"database": 1, "table_name": "sales", "schema": "other"}).id
    made = world.admin.datasets.create({"database": 1, "table_name": "v", "schema": "other", "sql": SQL}).id
    assert [column.column_name for column in world.admin.datasets.get(made).columns] == ["id"]
    assert ids(world.admin, made) == [100, 200]
    world.admin.row_level_security.create(rule(world, tables=[table]))
    assert ids(world.user("acme"), made) == [100]
    named = world.admin.datasets.create({"database": 1, "table_name": "w", "sql": "SELECT id FROM sales"}).id
    assert len(ids(world.admin, named)) == 7
    assert world.admin.sql.lineage(dataset=made)[0].sources == ("other.sales.id",)
    assert {one.name for one in world.admin.lineage("sales", schema="other").of("dataset")} >= {"v"}


def test_a_dataset_that_is_taken_in_is_looked_up_in_its_own_schema(world: TenantWorld) -> None:
    create = world.admin.datasets.create
    table = create({"database": 1, "table_name": "sales", "schema": "other"}).id
    inner = create({"database": 1, "table_name": "inner", "sql": "SELECT id FROM sales"}).id
    placed = create({"database": 1, "table_name": "placed", "schema": "other", "sql": "SELECT id FROM sales"}).id
    between = f"SELECT id FROM {{{{ dataset({inner}) }}}}"
    nested = create({"database": 1, "table_name": "nested", "sql": between}).id

    def found(taken: int, schema: str | None, name: str) -> list[int]:
        sql = f"SELECT id FROM {{{{ dataset({taken}) }}}} UNION ALL SELECT -id FROM sales"
        made = create({"database": 1, "table_name": f"{name} {taken}", "schema": schema, "sql": sql}).id
        return ids(world.admin, made)

    own, others = [1, 2, 3, 4, 5, 6, 7], [100, 200]
    for taken, expected in ((1, own), (inner, own), (nested, own), (table, others), (placed, others)):
        assert found(taken, "other", "in other") == sorted([*expected, -100, -200]), taken
        assert found(taken, None, "in none") == sorted([*expected, *(-one for one in own)]), taken


def test_a_change_of_the_schema_is_one_of_the_sql(world: TenantWorld) -> None:
    role = world.admin.roles.create({"name": "owners"})
    world.admin.roles.grant(role, on=("dataset", 1))
    owner = world.admin.users.create({"username": "olga", "roles": [role.id]})
    olga = world.user("olga")
    made = world.admin.datasets.create({"database": 1, "table_name": "v", "sql": "SELECT id FROM sales"}).id
    world.admin.datasets.update(made, {"owners": [1, owner.id]})
    own = olga.sql.save_as_dataset("own", "SELECT id FROM sales", database=1).id
    for dataset in (made, own):
        with pytest.raises(DatabaseAccessError):
            olga.datasets.update(dataset, {"schema": "other"})
        assert len(ids(olga, dataset)) == 7
    world.admin.datasets.update(made, {"schema": "other"})
    assert ids(world.admin, made) == [100, 200]
