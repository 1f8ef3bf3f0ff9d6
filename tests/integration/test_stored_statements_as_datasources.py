"""Chart queries ask executions and saved queries as if they were virtual datasets (contract, `datasource_type`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core.errors import (
    AlreadyExistsError,
    AnalyticsError,
    DatabaseAccessError,
    DatabaseError,
    NotFoundError,
    PayloadSchemaError,
    QueryAccessError,
    QueryError,
    StatementRefusedError,
    TableAccessError,
    VirtualDatasetError,
)

SQL = "SELECT id, day, country, amount FROM orders"
TOTAL = {"expressionType": "SQL", "sqlExpression": "SUM(amount)", "label": "total"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


def saved(core: AnalyticsCore, sql: str = SQL, **fields: Any) -> int:
    return core.saved_queries.create({"label": "kept", "database": 1, "sql": sql} | fields).id


def executed(core: AnalyticsCore, sql: str = SQL, **fields: Any) -> int:
    return core.sql.execute({"database_id": 1, "sql": sql, **fields}).query_id or 0


def context(kind: str, key: int, **query: Any) -> dict[str, Any]:
    full_query = {"columns": ["country"], "metrics": [TOTAL], **query}
    return {"datasource": {"id": key, "type": kind}, "queries": [full_query]}


def rows(core: AnalyticsCore, kind: str, key: int, **query: Any) -> list[Any]:
    return core.charts.data(context(kind, key, **query)).raise_for_error().results[0].rows()


# --------------------------------------------------------------------------------------------------------- what it asks
@for_each("kind", ["query", "saved_query"])
def test_a_stored_statement_answers_like_a_virtual_dataset_of_its_sql(shop: SmallCore, kind: str) -> None:
    virtual = shop.core.datasets.create({"database": 1, "table_name": f"v {kind}", "sql": SQL}).id
    key = executed(shop.core) if kind == "query" else saved(shop.core)
    questions: list[dict[str, Any]] = [
        {},
        {"filters": [{"col": "day", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2024-01-02"}]},
        {"columns": ["day"], "granularity": "day", "extras": {"time_grain": "P1M"}, "time_range": "2024"},
        {"columns": [], "metrics": [TOTAL], "time_offsets": ["1 year ago"], "time_range": "2024-01-01 : 2024-02-01"},
        {"columns": ["id", "country"], "metrics": None, "orderby": [["id", False]], "row_limit": 1},
        {"post_processing": [{"operation": "sort", "options": {"by": ["total"], "ascending": False}}]},
    ]
    for question in questions:
        assert rows(shop.core, kind, key, **question) == rows(shop.core, "table", virtual, **question)
    for result_type in ("samples", "drill_detail", "columns", "timegrains", "query", "results"):
        contexts = [{**context(of, one), "result_type": result_type} for of, one in ((kind, key), ("table", virtual))]
        own, other = (shop.core.charts.data(one).raise_for_error().results[0] for one in contexts)
        assert (own.colnames, own.rowcount) == (other.colnames, other.rowcount)


def test_form_data_explain_streams_and_the_explore_view_take_them(shop: SmallCore) -> None:
    key = saved(shop.core)
    form = {"viz_type": "pie", "datasource": f"{key}__saved_query", "groupby": ["country"], "metric": TOTAL}
    payload = shop.core.charts.payload_of(form).payload
    assert shop.core.charts.data(payload).raise_for_error().results[0].rowcount == 2
    (query,) = shop.core.charts.explain(context("saved_query", key)).queries
    assert [clause.origin for clause in query.clauses if clause.part == "from"] == ["dataset: a stored statement"]
    with shop.core.charts.batches(context("saved_query", key)) as batches:
        assert sum(batch.num_rows for batch in batches) == 2
    view = shop.core.explore.context(datasource=f"{key}__saved_query")
    assert view.form_data["datasource"] == f"{key}__saved_query"
    assert [column["column_name"] for column in view.dataset.columns] == ["id", "day", "country", "amount"]
    post = {"datasource_id": key, "datasource_type": "saved_query", "form_data": '{"viz_type": "pie"}'}
    stored = shop.core.explore.create_form_data(post)
    assert shop.core.explore.get_form_data(stored) == '{"viz_type": "pie"}'


def test_tables_without_a_schema_are_those_of_the_statement(shop: SmallCore) -> None:
    for key in (
        saved(shop.core, schema="main"),
        saved(shop.core, "WITH orders AS (SELECT 1 AS x) SELECT x FROM orders"),
    ):
        shop.core.saved_queries.get(key)
    query = shop.core.charts.explain(context("saved_query", 1)).queries[0]
    assert 'FROM "main".orders' in query.sql
    assert rows(shop.core, "saved_query", 2, columns=["x"], metrics=[]) == [(1,)]
    with pytest.raises(DatabaseError):
        rows(shop.core, "saved_query", saved(shop.core, schema="temp"))


def test_templates_get_the_parameters_of_the_statement(tmp_path: Path) -> None:
    with small_core(tmp_path, enable_templates=True) as shop:
        key = saved(shop.core, SQL + " WHERE id = {{ one }}", template_params='{"one": 2}', schema="main")
        assert rows(shop.core, "saved_query", key) == [(None, 20.0)]


# -------------------------------------------------------------------------------------------------------------- caching
def test_answers_of_one_id_are_told_apart_and_follow_changes(shop: SmallCore) -> None:
    shop.orders()
    assert saved(shop.core, f"{SQL} WHERE id = 1") == executed(shop.core, f"{SQL} WHERE id = 2") == 1
    expected = {"table": [("France", 10.0), (None, 20.0)], "saved_query": [("France", 10.0)], "query": [(None, 20.0)]}
    for _ in range(2):
        assert {kind: rows(shop.core, kind, 1) for kind in expected} == expected
    assert shop.core.charts.data(context("saved_query", 1)).results[0].is_cached
    shop.core.saved_queries.update(1, {"sql": "SELECT country, amount * 2 AS amount, 1 AS more FROM orders"})
    assert rows(shop.core, "saved_query", 1) == [("France", 20.0), (None, 40.0)]
    assert rows(shop.core, "saved_query", 1, columns=["more"]) == [(1, 60.0)]
    shop.core.saved_queries.delete(1)
    with pytest.raises(NotFoundError):
        rows(shop.core, "saved_query", 1)


# --------------------------------------------------------------------------------------------------------------- rights
def test_each_person_gets_the_rows_of_their_rules(shop: SmallCore) -> None:
    shop.orders()
    reader = shop.reader(("database", 1))
    key = saved(shop.core, "SELECT country, amount FROM (SELECT * FROM orders) AS o")
    assert len(rows(shop.core, "saved_query", key)) == 2
    role = shop.core.roles.list([{"col": "name", "op": "eq", "val": "role of reader"}]).result[0].id
    shop.core.row_level_security.create(
        {"name": "r", "filter_type": "Regular", "clause": "country = 'France'", "tables": [1], "roles": [role]}
    )
    assert rows(reader, "saved_query", key) == [("France", 10.0)]
    assert rows(reader, "query", executed(reader)) == [("France", 10.0)]
    assert len(rows(shop.core, "saved_query", key)) == 2


def test_who_may_not_run_the_statement_gets_nothing(shop: SmallCore) -> None:
    shop.orders()
    colleague, stranger = shop.reader(("database", 1)), shop.reader(("dataset", 1), username="stranger")
    key, own = saved(shop.core), executed(shop.core)
    assert len(rows(colleague, "saved_query", key)) == 2
    with pytest.raises(QueryAccessError) as rejection:
        rows(colleague, "query", own)
    with pytest.raises(QueryAccessError) as got:
        colleague.queries.get(own)
    assert rejection.value.message == got.value.message
    assert len(rows(shop.core, "query", executed(colleague))) == 2  # administrators see what all ran
    for person in (colleague, stranger):
        with pytest.raises(QueryAccessError):
            person.explore.context(datasource=f"{own}__query")
    with pytest.raises(DatabaseAccessError):
        rows(stranger, "saved_query", key)
    with pytest.raises(DatabaseAccessError):
        stranger.explore.create_form_data({"datasource_id": key, "datasource_type": "saved_query", "form_data": "{}"})
    shop.core.databases.update(1, {"expose_in_sqllab": False})
    for kind, number in (("query", own), ("saved_query", key)):
        with pytest.raises(DatabaseAccessError, match="closed to the SQL editor"):
            rows(shop.core, kind, number)


@for_each(
    ("sql", "error"),
    [
        ("SELECT 1 AS a; SELECT 2 AS b", VirtualDatasetError),
        ("SELECT country FROM orders WHERE id = 1 UNION SELECT 1 AS x, 2 AS y", DatabaseError),
        ("SELECT id, id FROM orders", VirtualDatasetError),
    ],
)
def test_an_execution_that_is_no_source_of_rows_is_refused(
    shop: SmallCore, sql: str, error: type[AnalyticsError]
) -> None:
    with suppress(DatabaseError):  # its record is there all the same
        executed(shop.core, sql)
    with pytest.raises(error):
        rows(shop.core, "query", shop.core.queries.list(order_by="-id").result[0].id)


def test_parameters_have_no_values_in_a_chart(shop: SmallCore) -> None:
    with pytest.raises(StatementRefusedError, match="parameters"):
        rows(shop.core, "saved_query", saved(shop.core, f"{SQL} WHERE id = :one"))


def test_what_takes_a_dataset_refuses_a_statement(shop: SmallCore) -> None:
    key = saved(shop.core)
    chart = {"slice_name": "a", "viz_type": "pie", "datasource_id": key, "datasource_type": "saved_query"}
    with pytest.raises(PayloadSchemaError, match="save_as_dataset"):
        shop.core.charts.create(chart)
    with pytest.raises(NotFoundError):
        rows(shop.core, "saved_query", 99)


# --------------------------------------------------------------------------------------------------- saved as a dataset
def test_a_statement_becomes_a_virtual_dataset_with_its_columns(shop: SmallCore) -> None:
    made = shop.core.sql.save_as_dataset("France", f"{SQL} WHERE country = 'France'", database="shop")
    assert (made.is_sqllab_view, made.sql, made.table_name) == (True, f"{SQL} WHERE country = 'France'", "France")
    assert [column.column_name for column in made.columns] == ["id", "day", "country", "amount"]
    assert [owner.id for owner in made.owners] == [1]
    assert shop.core.datasets.get(made.id) == made
    assert rows(shop.core, "table", made.id, metrics=["count"]) == [("France", 1)]


def test_stored_statements_bring_their_sql_schema_and_parameters(tmp_path: Path) -> None:
    with small_core(tmp_path, enable_templates=True) as shop:
        one = saved(shop.core, SQL + " WHERE id = {{ one }}", template_params='{"one": 2}', schema="main")
        dataset = shop.core.sql.save_as_dataset("kept", saved_query=one)
        assert (dataset.schema_name, dataset.template_params) == ("main", '{"one": 2}')
        assert rows(shop.core, "table", dataset.id) == [(None, 20.0)]
        ran = shop.core.sql.save_as_dataset("ran", query=executed(shop.core))
        assert (ran.sql, rows(shop.core, "table", ran.id)) == (SQL, [("France", 10.0), (None, 20.0)])
        template = SQL + " WHERE id = {{ one }}"
        own = shop.core.sql.save_as_dataset("b", template, schema="main", template_params='{"one": 1}')
        assert rows(shop.core, "table", own.id) == [("France", 10.0)]


def test_a_schema_that_the_database_does_not_search_is_that_of_the_dataset(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop:
        uri = f"duckdb:///{tmp_path}/d.duckdb"
        with closing(duckdb.connect(f"{tmp_path}/d.duckdb")) as connection:
            connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS x; CREATE TABLE t AS SELECT 2 AS x")
        duck = shop.core.databases.create({"database_name": "duck", "orm_uri": uri}).id
        made = shop.core.sql.save_as_dataset("t of s", "SELECT x FROM t", database=duck, schema="s")
        assert rows(shop.core, "table", made.id, columns=["x"], metrics=[]) == [(1,)]
        key = saved(shop.core, "SELECT x FROM t", database=duck, schema="s")
        assert rows(shop.core, "saved_query", key, columns=["x"], metrics=[]) == [(1,)]
        assert (
            shop.core.sql.save_as_dataset("main", "SELECT x FROM t", database=duck, schema="main").sql
            == "SELECT x FROM t"
        )


def test_who_may_not_run_sql_there_makes_no_dataset_of_it(shop: SmallCore) -> None:
    shop.orders()
    stranger, colleague = shop.reader(("dataset", 1)), shop.reader(("database", 1), username="colleague")
    with pytest.raises(TableAccessError):
        stranger.sql.save_as_dataset("a", "SELECT name FROM people", database=1)
    with pytest.raises(DatabaseAccessError):
        stranger.sql.save_as_dataset("a", saved_query=saved(shop.core))
    with pytest.raises(QueryAccessError):
        colleague.sql.save_as_dataset("a", query=executed(shop.core))
    assert colleague.sql.save_as_dataset("a", SQL, database=1).owners[0].first_name == "Colleague"
    with pytest.raises(AlreadyExistsError):
        colleague.sql.save_as_dataset("a", SQL, database=1)
    shop.core.databases.update(1, {"expose_in_sqllab": False})
    with pytest.raises(DatabaseAccessError, match="closed to the SQL editor"):
        shop.core.sql.save_as_dataset("b", SQL, database=1)


@for_each(
    ("fields", "error"),
    [
        ({}, QueryError),
        ({"sql": SQL, "saved_query": 1}, QueryError),
        ({"saved_query": 1, "schema": "main"}, QueryError),
        ({"saved_query": 99}, NotFoundError),
        ({"sql": "DELETE FROM orders"}, StatementRefusedError),
        ({"sql": "SELECT 1; SELECT 2"}, VirtualDatasetError),
        ({"sql": SQL, "template_params": "[1"}, PayloadSchemaError),
        ({"sql": "SELECT x FROM lost"}, DatabaseError),
    ],
)
def test_what_makes_no_dataset_is_refused(shop: SmallCore, fields: dict[str, Any], error: type[AnalyticsError]) -> None:
    with pytest.raises(error):
        shop.core.sql.save_as_dataset("a", **fields)
    assert shop.core.datasets.list().count == 0
