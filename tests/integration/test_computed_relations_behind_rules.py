"""Views and generated columns compute: whether that fails on a row that a rule forbids must not be told by an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.execution import target
from tests.support.tenant_world import ENGINES, TenantWorld, ask, tenant_world, url_on

from analytics_core import errors
from analytics_core._engine.execution.reflection import Reflector

COSTLY = "LENGTH(REPLACE(REPLACE(tenant, 'a', 'aa'), 'c', 'cc')) = 6 AND tenant <> 'x'"
"""A rule that an engine tests last, if nothing tells it not to."""

COMPUTED = {
    "postgresql": "CAST(word AS INTEGER)",
    "duckdb": "CAST(word AS INTEGER)",
    "mysql": "EXP(number)",
    "sqlite": "json_extract(word, '$')",
}
GENERATED = {
    "mysql": "made DOUBLE AS (EXP(number)) VIRTUAL",
    "sqlite": "made INTEGER AS (json_extract(word, '$')) VIRTUAL",
}
"""PostgreSQL 15 stores what it generates, and DuckDB takes no row for which that fails."""

COLUMNS = "id INTEGER, tenant VARCHAR(20), word VARCHAR(20), number INTEGER"
ROWS = "(1, 'acme', '17', 1), (2, 'acme', '18', 1), (4, 'bolt', '{CANARY', 100000), (5, 'bolt', '{CANARY', 100000)"
RELATIONS = ("column of a view", "condition of a view", "view of a view", "generated column")
ROADS = ("table", "SQL over the table", "SQL with a rule of its own")
SUM = {"expressionType": "SIMPLE", "column": {"column_name": "made"}, "aggregate": "MAX", "label": "m"}
QUERIES: Mapping[str, Mapping[str, Any]] = {
    "filtered": {"columns": ["id"], "filters": [{"col": "made", "op": ">", "val": 0}]},
    "selected": {"columns": ["id", "made"]},
    "aggregated": {"metrics": [SUM]},
    "written metric": {"metrics": [{"expressionType": "SQL", "sqlExpression": "MAX(made)", "label": "m"}]},
    "grouped": {"columns": ["made"], "metrics": ["count"]},
    "ordered": {"columns": ["id"], "orderby": [["made", True]]},
    "counted": {"metrics": ["count"]},
    "series": {"columns": ["made"], "metrics": ["count"], "series_columns": ["made"], "series_limit": 1},
}


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("computed")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        computed = COMPUTED[made.engine]
        made.release()
        made.execute(
            f"CREATE TABLE facts ({COLUMNS})",
            f"INSERT INTO facts VALUES {ROWS}",
            f"CREATE VIEW column_of_a_view AS SELECT id, tenant, {computed} AS made FROM facts",
            f"CREATE VIEW condition_of_a_view AS SELECT id, tenant, number AS made FROM facts WHERE {computed} > 0",
            "CREATE VIEW view_of_a_view AS SELECT * FROM column_of_a_view",
        )
        if made.engine in GENERATED:
            made.execute(
                f"CREATE TABLE generated_column ({COLUMNS})",
                f"INSERT INTO generated_column VALUES {ROWS}",
                f"ALTER TABLE generated_column ADD COLUMN {GENERATED[made.engine]}",
            )
        yield made


@pytest.mark.slow
@for_each("road", ROADS)
@for_each("relation", RELATIONS)
def test_what_a_relation_computes_tells_nothing_of_forbidden_rows(world: TenantWorld, relation: str, road: str) -> None:
    if relation == "generated column" and world.engine not in GENERATED:
        return
    table = relation.replace(" ", "_")
    _set_forbidden_word(world, "19")  # SQLite looks at rows to tell types
    over = int(world.admin.datasets.create({"database": 1, "table_name": table}).id)
    requested = over if road == "table" else world.virtual("around", f"SELECT id, tenant, made FROM {table}")
    _set_forbidden_word(world, "{CANARY")
    bound = requested if road == "SQL with a rule of its own" else over
    fields = {"name": "own rows", "clause": COSTLY, "filter_type": "Regular", "roles": [world.readers]}
    rule = world.admin.row_level_security.create({**fields, "tables": [bound]})
    half = (RELATIONS.index(relation) + ROADS.index(road)) % 2  # each query meets each relation, and each road
    try:
        answers = {name: _reported(world, QUERIES[name], requested) for name in [*QUERIES][half::2]}
    finally:
        world.admin.row_level_security.delete(rule.id)
        for dataset in {requested, over}:
            world.admin.datasets.delete(dataset)
    assert {name: texts for name, texts in answers.items() if len(set(texts)) > 1} == {}


STATEMENTS = (
    "SELECT * FROM {table} WHERE id = '{id}'",
    "SELECT COUNT(*) FROM {table} WHERE id = '{id}'",
    "SELECT id FROM {table} WHERE id = '{id}' AND made IS NOT NULL",
    "SELECT id FROM {table} WHERE id = '{id}' ORDER BY made",
    "SELECT made, COUNT(*) FROM {table} WHERE id = '{id}' GROUP BY made",
)
"""Plain statements, which compute nothing themselves; DuckDB tests `id = '4'` first of all."""


@pytest.mark.slow
@for_each("relation", RELATIONS)
def test_what_a_relation_computes_tells_a_plain_statement_nothing_of_forbidden_rows(
    world: TenantWorld, relation: str
) -> None:
    if relation == "generated column" and world.engine not in GENERATED:
        return
    table = relation.replace(" ", "_")
    _set_forbidden_word(world, "19")
    over = int(world.admin.datasets.create({"database": 1, "table_name": table}).id)
    _set_forbidden_word(world, "{CANARY")
    rule = world.admin.row_level_security.create(
        {"name": "own rows", "clause": COSTLY, "filter_type": "Regular", "roles": [world.readers], "tables": [over]}
    )
    try:
        answers = {sql: [_reported_by(world, sql.format(table=table, id=n)) for n in (4, 99)] for sql in STATEMENTS}
    finally:
        world.admin.row_level_security.delete(rule.id)
        world.admin.datasets.delete(over)
    assert {sql: texts for sql, texts in answers.items() if len(set(texts)) > 1} == {}


def _reported_by(world: TenantWorld, sql: str) -> str:
    try:
        return str(world.user("acme").sql(sql).rows())
    except errors.DatabaseError as error:
        return error.message


def _set_forbidden_word(world: TenantWorld, word: str) -> None:
    world.release()
    world.execute(f"UPDATE facts SET word = '{word}' WHERE tenant = 'bolt'")


def _reported(world: TenantWorld, query: Mapping[str, Any], dataset: int) -> list[str]:
    """Return what acme is told of a forbidden row and of one that is not there."""
    answers = []
    for number in (4, 99):
        filters = [*query.get("filters", ()), {"col": "id", "op": "==", "val": number}]
        try:
            answers.append(str(ask(world.user("acme"), {**query, "filters": filters}, dataset=dataset).data))
        except errors.DatabaseError as error:
            answers.append(error.message)
    return answers


@pytest.mark.server
def test_foreign_tables_at_any_depth_of_partitions_count_as_computed(request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("make_postgres_database")()
    _execute(
        url,
        "CREATE FOREIGN DATA WRAPPER away",
        "CREATE SERVER away FOREIGN DATA WRAPPER away",
        "CREATE FOREIGN TABLE far (id INT) SERVER away",
        "CREATE TABLE parted (id INT) PARTITION BY RANGE (id)",
        "CREATE TABLE half PARTITION OF parted FOR VALUES FROM (0) TO (50) PARTITION BY RANGE (id)",
        "CREATE TABLE quarter PARTITION OF half FOR VALUES FROM (0) TO (25)",
        "CREATE TABLE of_its_own (id INT PRIMARY KEY)",
    )
    with target(url, engine="postgresql") as shop:
        stores = Reflector(shop.connector).stores
        assert stores(shop.admission, [("parted", None), ("half", "public"), ("of_its_own", None)])
        assert not stores(shop.admission, [("of_its_own", None), ("far", None)])
        assert not stores(shop.admission, [("not_there", None)])
        _execute(url, "CREATE FOREIGN TABLE far_quarter PARTITION OF half FOR VALUES FROM (25) TO (50) SERVER away")
        assert not stores(shop.admission, [("half", None)])
        assert not stores(shop.admission, [("parted", None)])


def _execute(url: str, *statements: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
