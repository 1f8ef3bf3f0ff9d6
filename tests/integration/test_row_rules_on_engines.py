"""Stored row rules on four engines: tables, virtual datasets in every spelling, other datasets over the same table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.cases import for_each
from tests.support.tenant_world import ENGINES, ROWS, TenantWorld, ask, ids, rule, tenant_world, url_on

from analytics_core import errors

OWN = {"acme": [1, 2, 3], "bolt": [4, 5], "o'hare": [6]}
ALL = [row[0] for row in ROWS]


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("tenants")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.row_level_security.create(rule(made))
        yield made


def default_schema(world: TenantWorld) -> str:
    schemas = {"sqlite": "main", "duckdb": "main", "postgresql": "public"}
    return schemas.get(world.engine) or database_name(world)


def database_name(world: TenantWorld) -> str:
    return world.url.rpartition("/")[2].partition("?")[0]


@pytest.mark.slow
@for_each("tenant", OWN)
def test_each_tenant_sees_their_rows(world: TenantWorld, tenant: str) -> None:
    assert ids(world.user(tenant)) == OWN[tenant]
    assert ids(world.admin) == ALL


SPELLINGS = {
    "plain": "SELECT id, amount FROM sales",
    "alias": "SELECT s.id, s.amount FROM sales AS s",
    "alias without AS": "SELECT s.id FROM sales s",
    "qualified": "SELECT id FROM {schema}.sales",
    "qualified columns": "SELECT {schema}.sales.id FROM {schema}.sales",
    "table's columns": "SELECT sales.id FROM sales",
    "table's star": "SELECT sales.* FROM sales",
    "star": "SELECT * FROM sales",
    "quoted": 'SELECT id FROM "sales"',
    "sub-query": "SELECT id FROM (SELECT * FROM sales) AS q",
    "CTE": "WITH q AS (SELECT * FROM sales) SELECT id FROM q",
    "CTE of the same name": "WITH sales AS (SELECT * FROM sales) SELECT id FROM sales",
    "qualified beside a CTE": "WITH sales AS (SELECT 1 AS x) SELECT s.id FROM {schema}.sales AS s CROSS JOIN sales",
    "CTE inside": "SELECT q.id FROM (WITH q AS (SELECT id FROM sales) SELECT id FROM q) AS q",
    "alias like the table": "WITH q AS (SELECT 1 AS id) SELECT s.id FROM q AS sales CROSS JOIN sales AS s",
    "shadowed elsewhere": (
        "SELECT s.id FROM (WITH sales AS (SELECT 1 AS x) SELECT x FROM sales) AS q CROSS JOIN sales AS s"
    ),
    "union": "SELECT id FROM sales WHERE amount > 15 UNION SELECT id FROM sales WHERE amount <= 15",
    "union in parentheses": "SELECT id FROM (SELECT id FROM sales UNION ALL SELECT id FROM sales) AS q GROUP BY id",
    "in": "SELECT id FROM sales WHERE id IN (SELECT id FROM sales)",
    "exists": "SELECT a.id FROM sales AS a WHERE EXISTS (SELECT 1 FROM sales AS b WHERE b.id = a.id)",
    "self join": "SELECT b.id FROM sales AS a JOIN sales AS b ON a.id = b.id",
    "join in parentheses": "SELECT sales.id FROM (sales JOIN sales AS b ON sales.id = b.id)",
    "comma": "SELECT a.id FROM sales AS a, sales AS b WHERE a.id = b.id",
    "where that is true": "SELECT id FROM sales WHERE 1 = 1 OR 1 = 1",
    "comment": "SELECT id FROM sales -- WHERE tenant = 'x'\n",
    "window": "SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS n FROM sales",
    "limit": "SELECT id FROM sales ORDER BY id LIMIT 100",
    "distinct": "SELECT DISTINCT id FROM sales",
    "recursive": ("WITH RECURSIVE q AS (SELECT id FROM sales UNION SELECT id FROM q) SELECT id FROM q"),
}
OF_ONE_ENGINE = {
    "sqlite": {
        "case": "SELECT id FROM SaLeS",
        "quoted case": 'SELECT id FROM "SALES"',
        "brackets": "SELECT id FROM [sales]",
        "backticks": "SELECT id FROM `sales`",
        "text as a name": "SELECT id FROM 'sales'",
        "indexed": "SELECT id FROM sales NOT INDEXED",
    },
    "duckdb": {
        "case": "SELECT id FROM SaLeS",
        "quoted case": 'SELECT id FROM "SALES"',
        "from first": "FROM sales SELECT id",
        "from alone": "FROM sales",
        "catalog": "SELECT id FROM shop.sales",
        "catalog and schema": "SELECT id FROM shop.main.sales",
        "column names": "SELECT a AS id FROM sales AS s(a, b)",
        "sample": "SELECT id FROM sales TABLESAMPLE 100 PERCENT",
        "first term": "WITH RECURSIVE sales AS (SELECT id FROM sales UNION SELECT id FROM sales) SELECT id FROM sales",
        "recursive without a union": "WITH RECURSIVE sales AS (SELECT id FROM sales) SELECT id FROM sales",
        "intersection that recurs": (
            "WITH RECURSIVE sales AS (SELECT id FROM sales INTERSECT SELECT id FROM sales) SELECT id FROM sales"
        ),
        "union by name that recurs": (
            "WITH RECURSIVE sales AS (SELECT id FROM sales UNION BY NAME SELECT id FROM sales) SELECT id FROM sales"
        ),
        "struct": "SELECT q.sales.id AS id FROM (SELECT sales FROM sales) AS q",
    },
    "postgresql": {
        "case": "SELECT id FROM SaLeS",
        "table": "TABLE sales",
        "only": "SELECT id FROM ONLY sales",
        "catalog": "SELECT id FROM {database}.public.sales",
        "column names": "SELECT a AS id FROM sales AS s(a, b)",
        "whole row": "SELECT (s).id AS id FROM sales AS s",
        "lateral": "SELECT q.id FROM sales AS a, LATERAL (SELECT b.id FROM sales AS b WHERE b.id = a.id) AS q",
        "sample": "SELECT id FROM sales TABLESAMPLE BERNOULLI (100)",
        "quoted CTE": 'WITH "Sales" AS (SELECT 1 AS id) SELECT s.id FROM sales AS s CROSS JOIN "Sales" AS x',
    },
    "mysql": {
        "backticks": "SELECT id FROM `sales`",
        "straight join": "SELECT a.id FROM sales AS a STRAIGHT_JOIN sales AS b ON a.id = b.id",
        "derived": "SELECT id FROM sales, (SELECT 1 AS x) AS d",
        "CTE beyond a CTE": "WITH sales AS (SELECT 9 AS id) SELECT id FROM "
        "(WITH x AS (SELECT id FROM sales) SELECT id FROM x) AS q",
        "CTE read twice": "WITH sales AS (SELECT 9 AS id), z AS (WITH x AS (SELECT id FROM sales) "
        "SELECT id FROM x UNION SELECT id FROM (SELECT id FROM x) AS q) SELECT id FROM z",
        "CTE beyond a sub-query": "WITH sales AS (SELECT 9 AS id), z AS (SELECT q.id FROM "
        "(WITH x AS (SELECT id FROM sales) SELECT id FROM x) AS q) SELECT id FROM z",
    },
}
MAY_BE_REFUSED = {
    *("CTE of the same name", "CTE beyond a CTE", "CTE read twice", "CTE beyond a sub-query", "struct", "whole row"),
    *("table's star", "catalog", "sample", "indexed"),
}
"""Refused or not understood by the engine is as good as filtered, where the guard or the engine says so."""


def spellings() -> list[tuple[str | None, str]]:
    return [(None, name) for name in SPELLINGS] + [(on, name) for on, own in OF_ONE_ENGINE.items() for name in own]


@pytest.mark.slow
@for_each(("on", "name"), spellings(), ids=lambda value: str(value or "all"))
def test_a_virtual_dataset_holds_permitted_rows_however_it_names_the_table(
    world: TenantWorld, on: str | None, name: str
) -> None:
    if on not in (None, world.engine):
        return
    text = SPELLINGS[name] if on is None else OF_ONE_ENGINE[on][name]
    if world.engine == "mysql":
        text = text.replace('"', "`")
    sql = text.format(schema=default_schema(world), database=database_name(world))
    try:
        dataset = world.virtual(f"{name} {on}", sql)
        found = ids(world.user("acme"), dataset)
    except errors.AnalyticsError:
        if name in MAY_BE_REFUSED:
            return
        raise
    assert found == OWN["acme"]
    assert set(ids(world.admin, dataset)) == set(ALL)


@pytest.mark.slow
@for_each("join", ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN"])
def test_rules_hold_on_both_sides_of_every_join(world: TenantWorld, join: str) -> None:
    if join == "FULL JOIN" and world.engine == "mysql":
        return  # it has none
    on = "" if join == "CROSS JOIN" else "ON a.id = b.id"
    columns = "a.id AS a_id, b.id AS b_id, a.tenant AS a_tenant, b.tenant AS b_tenant"
    sql = f"SELECT {columns} FROM sales a {join} sales b {on}"
    dataset = world.virtual(f"sides of {join}", sql)
    query = {"columns": ["a_id", "b_id", "a_tenant", "b_tenant"], "row_limit": 1_000}
    rows = ask(world.user("bolt"), query, dataset=dataset).data
    assert {row["a_tenant"] for row in rows} | {row["b_tenant"] for row in rows} == {"bolt"}
    assert {row["a_id"] for row in rows} == {row["b_id"] for row in rows} == {4, 5}


def test_a_join_with_a_free_table_hides_ruled_rows_only(world: TenantWorld) -> None:
    sql = "SELECT t.id AS id, s.amount AS amount FROM targets t LEFT JOIN sales s ON s.id = t.id"
    dataset = world.virtual("with targets", sql)
    rows = ask(world.user("acme"), {"columns": ["id", "amount"]}, dataset=dataset).data
    assert sorted((row["id"], row["amount"]) for row in rows) == [(1, 10), (4, None), (9, None)]


@for_each(
    "sql",
    [
        "SELECT 'sales' AS id",
        "SELECT id AS id FROM targets -- FROM sales",
        "WITH sales AS (SELECT 4 AS id) SELECT id FROM sales",
        "SELECT sales.id FROM targets AS sales",
        "SELECT 1 AS id FROM targets AS t WHERE t.tenant <> 'FROM sales'",
    ],
)
def test_what_only_looks_like_the_table_is_not_ruled(world: TenantWorld, sql: str) -> None:
    dataset = world.virtual(f"look-alike {len(sql)} {hash(sql)}", sql)
    explained = world.user("acme").charts.explain(
        {"datasource": {"id": dataset, "type": "table"}, "queries": [{"columns": ["id"]}]}
    )
    assert [clause for clause in explained.queries[0].clauses if "row rule" in clause.origin] == []
    assert ids(world.user("acme"), dataset) == ids(world.admin, dataset)


def test_another_dataset_over_the_same_table_is_bound_too(world: TenantWorld) -> None:
    made = world.admin.datasets.create({"database": 1, "table_name": "sales", "schema": default_schema(world)})
    world.admin.datasets.update(made.id, {"columns": [{"column_name": "id"}, {"column_name": "amount"}]})
    assert ids(world.user("acme"), made.id) == OWN["acme"]
    assert ids(world.admin, made.id) == ALL


def test_values_of_attributes_are_bound_and_never_written(world: TenantWorld) -> None:
    question = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["id"]}]}
    part = world.user("o'hare").charts.explain(question).queries[0]
    values = part.parameters.values() if isinstance(part.parameters, dict) else part.parameters
    assert "o'hare" in values
    assert "hare" not in part.bound_sql


@pytest.mark.slow
@for_each(
    "text", ["x' OR '1'='1", "acme' --", "\\", "' UNION SELECT 1 --", "acme%", "{{ 1 }}", "?", ":p0", "acvalue0q"]
)
def test_a_hostile_attribute_is_a_value_that_no_row_has(world: TenantWorld, text: str) -> None:
    name = f"intruder {text}"
    payload = {"username": name, "roles": [world.readers], "attributes": {"tenant": text}}
    world.admin.users.create(payload)
    assert ids(world.user(name)) == []
    dataset = world.virtual(f"seen by {name}", "SELECT id FROM sales")
    assert ids(world.user(name), dataset) == []


def test_an_attribute_with_several_values_goes_into_in(world: TenantWorld) -> None:
    clauses = [
        "tenant IN ({{ current_user_attribute('tenants') }})",
        "tenant IN {{ current_user_attribute('tenants')|where_in }}",
    ]
    for number, clause in enumerate(clauses):
        role = world.admin.roles.create({"name": f"groups {number}"})
        world.admin.roles.grant(role, on=("dataset", 1))
        for several, expected in ((["acme", "o'hare"], [1, 2, 3, 6]), (["bolt"], [4, 5])):
            name = f"group {number} {len(several)}"
            attributes = {"tenants": several}
            world.admin.users.create({"username": name, "roles": [role.id], "attributes": attributes})
            made = world.admin.row_level_security.create(
                rule(world, name=f"several {name}", clause=clause, roles=[role.id])
            )
            assert ids(world.user(name)) == expected
            world.admin.row_level_security.delete(made.id)


def test_numbers_are_compared_as_numbers(world: TenantWorld) -> None:
    role = world.admin.roles.create({"name": "by amount"})
    world.admin.roles.grant(role, on=("dataset", 1))
    attributes = {"most": "30", "bad": "x"}
    clerk = world.admin.users.create({"username": "clerk", "roles": [role.id], "attributes": attributes})
    clause = "amount <= {{ current_user_attribute('most') }} AND id <> {{ current_user_id() }}"
    made = world.admin.row_level_security.create(rule(world, name="by amount", clause=clause, roles=[role.id]))
    assert ids(world.user("clerk")) == [i for i in (1, 2, 3, 6) if i != clerk.id]
    world.admin.row_level_security.update(made.id, {"clause": "amount <= {{ current_user_attribute('bad') }}"})
    with pytest.raises(errors.RowRuleError):
        ids(world.user("clerk"))
    world.admin.row_level_security.delete(made.id)


def test_a_missing_attribute_shows_nothing(world: TenantWorld) -> None:
    world.admin.users.create({"username": "nobody", "roles": [world.readers]})
    dataset = world.virtual("for nobody", "SELECT id FROM sales")
    for requested in (1, dataset):
        with pytest.raises(errors.MissingTemplateValueError) as rejected:
            ids(world.user("nobody"), requested)
        assert "tenant" not in str(rejected.value)
    free = world.virtual("free for nobody", "SELECT id FROM targets")
    assert ids(world.user("nobody"), free) == [1, 4, 9]


@for_each("where", ["exp(amount / 10.0) > 0", "10 / (amount - 1000) > -100"])
def test_a_condition_that_fails_on_a_forbidden_row_does_not_tell_of_it(world: TenantWorld, where: str) -> None:
    query = {"columns": ["id"], "extras": {"where": where}}
    assert sorted(row["id"] for row in ask(world.user("acme"), query).data) == OWN["acme"]


def test_a_filter_waits_for_the_rule_only_where_the_sql_of_the_dataset_computes_what_it_compares(
    world: TenantWorld,
) -> None:
    query = {"columns": ["id"], "filters": [{"col": "amount", "op": ">", "val": 15}]}
    lengths = []
    for name, amount in (("passed on", "amount"), ("computed", "amount + 0 AS amount")):
        dataset = world.virtual(name, f"SELECT id, {amount} FROM sales")
        world.admin.row_level_security.create(rule(world, name=name, clause="id < 3", tables=[dataset]))
        answer = ask(world.user("acme"), query, dataset=dataset)
        assert answer.data == [{"id": 2}]
        lengths.append(len(answer.query.replace(amount, "amount")))
    assert lengths[0] < lengths[1]


def test_statistics_of_a_ruled_table_cannot_be_read(world: TenantWorld) -> None:
    tables = {
        "sqlite": ["sqlite_stat4", "main.sqlite_stat3"],
        "postgresql": ["pg_stats", "pg_catalog.pg_stats", "pg_statistic", "pg_stats_ext", "pg_stat_activity"],
        "mysql": ["mysql.column_stats", "information_schema.processlist", "information_schema.column_statistics"],
    }
    for table in tables.get(world.engine, []):
        with pytest.raises(errors.StatementRefusedError, match="is not allowed"):
            world.virtual("statistics", f"SELECT 1 AS x FROM {table}")
        schema, _, name = table.rpartition(".")
        with pytest.raises(errors.StatementRefusedError, match="is not allowed"):
            world.admin.datasets.create({"database": 1, "table_name": name, "schema": schema or None})
    if world.engine == "duckdb":
        with pytest.raises(errors.StatementRefusedError, match="stats is not allowed"):
            world.virtual("statistics", "SELECT STATS(amount) AS x FROM sales")
        world.release()
        world.execute("CREATE TABLE IF NOT EXISTS stats (id INTEGER)")
        assert ids(world.admin, world.virtual("statistics", "SELECT id FROM stats")) == []
