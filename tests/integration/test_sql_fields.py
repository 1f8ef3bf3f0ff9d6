"""What the contract's section *SQL editor and queries* lists: each field and each error type, by what it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import AnalyticsError, ErrorType, PayloadSchemaError
from analytics_core.models.sql_editor import ExecutePayload, QueryGet, QueryListItem, SqlQueryResult

MADE = {"select_as_cta": True, "ctas_method": "TABLE", "tmp_table_name": "made"}
FLAGS = {"allow_ctas": True, "allow_cvas": True, "allow_run_async": True, "force_ctas_schema": "main"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as shop:
        yield shop


# ------------------------------------------------------------------------------------------------------- the payload
USED = {
    "database_id": ("SELECT 1 AS one", {}, lambda run: run.query.db_id == 1),
    "sql": ("SELECT 7 AS seven", {}, lambda run: run.data == ({"seven": 7},)),
    "client_id": ("SELECT 1 AS one", {"client_id": "elevenchars"}, lambda run: run.query.id == "elevenchars"),
    "ctas_method": ("SELECT 1 AS one", {**MADE, "ctas_method": "VIEW"}, lambda run: "VIEW" in run.query.executed_sql),
    "expand_data": ("SELECT '{\"a\": 5}' AS o", {"expand_data": True}, lambda run: run.data[0]["o.a"] == 5),
    "json": ("SELECT 1 AS one", {"json": True}, lambda run: run.data == ({"one": 1},)),
    "queryLimit": ("SELECT id FROM orders", {"queryLimit": 1}, lambda run: len(run.data) == run.query.limit == 1),
    "runAsync": ("SELECT 1 AS one", {"runAsync": True}, lambda run: run.query.results_key and run.data == ()),
    "schema": ("SELECT id FROM orders", {"schema": "main"}, lambda run: '"main".orders' in run.query.executed_sql),
    "select_as_cta": ("SELECT 1 AS one", MADE, lambda run: run.query.ctas and run.data == ()),
    "sql_editor_id": ("SELECT 1 AS one", {"sql_editor_id": "e1"}, lambda run: run.query.sql_editor_id == "e1"),
    "tab": ("SELECT 1 AS one", {"tab": "Tab"}, lambda run: run.query.tab == "Tab"),
    "templateParams": (
        "SELECT '{{ word }}' AS w",
        {"templateParams": '{"word": "yes"}'},
        lambda run: run.data == ({"w": "yes"},),
    ),
    "tmp_table_name": ("SELECT 1 AS one", MADE, lambda run: run.query.temp_table == "made"),
}


@for_each("field", USED)
def test_each_field_of_the_payload_does_what_it_says(shop: SmallCore, field: str) -> None:
    shop.core.databases.update(1, FLAGS)
    sql, fields, holds = USED[field]
    run = shop.execute(sql, **{**fields, **({"tmp_table_name": f"made_{field}"} if "ctas_method" in fields else {})})
    assert holds(run) or (field == "tmp_table_name" and run.query.temp_table == f"made_{field}")


def test_the_table_of_fields_is_that_of_the_contract() -> None:
    assert [*USED] == [field.alias or name for name, field in ExecutePayload.model_fields.items()]


@for_each(
    ("fields", "path"),
    [
        ({"client_id": "twelve-chars"}, "client_id"),
        ({"client_id": ""}, "client_id"),
        ({"queryLimit": -1}, "queryLimit"),
        ({"ctas_method": "INDEX"}, "ctas_method"),
        ({"tmp_table_name": "a; b"}, "tmp_table_name"),
        ({"nosuch": 1}, "nosuch"),
    ],
)
def test_a_payload_that_breaks_the_shape_is_refused_and_leaves_no_record(
    shop: SmallCore, fields: dict[str, Any], path: str
) -> None:
    with pytest.raises(PayloadSchemaError) as caught:
        shop.execute("SELECT 1 AS one", **fields)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert shop.core.queries.list().count == 0


# ------------------------------------------------------------------------------------------------------- the answers
def test_each_field_of_a_query_tells_of_its_run(shop: SmallCore) -> None:
    """`tracking_url` is null: SQLite has no page that shows it."""
    shop.core.databases.update(1, FLAGS)
    run = shop.execute("SELECT id FROM orders", client_id="c", tab="T", sql_editor_id="e", schema="main", **MADE)
    found = shop.core.queries.get(run.query_id).to_payload()
    began, ended = found.pop("start_time"), found.pop("end_time")
    assert began <= found.pop("start_running_time") <= ended
    assert found.pop("changed_on") is not None
    made = 'CREATE TABLE "main"."made" AS SELECT id FROM "main".orders'
    assert {**found, "executed_sql": found["executed_sql"].replace("orders AS orders", "orders")} == {
        "id": run.query_id,
        "client_id": "c",
        "database": {"id": 1},
        "sql": "SELECT id FROM orders",
        "executed_sql": made,
        "select_sql": 'SELECT * FROM "main"."made" LIMIT 50000',
        "status": "success",
        "schema": "main",
        "tab_name": "T",
        "sql_editor_id": "e",
        "tmp_schema_name": "main",
        "tmp_table_name": "made",
        "results_key": None,
        "limit": None,
        "rows": found["rows"],
        "progress": 100,
        "select_as_cta": True,
        "select_as_cta_used": True,
        "error_message": None,
        "end_result_backend_time": None,
        "tracking_url": None,
    }


def test_each_field_of_the_list_tells_of_its_run(shop: SmallCore) -> None:
    run = shop.execute("SELECT id FROM orders", tab="T", schema="main", queryLimit=1)
    item = shop.core.queries.list().result[0].to_payload()
    assert item.pop("start_time") <= item.pop("end_time")
    assert item.pop("changed_on") is not None
    assert item.pop("user")["first_name"] == "Ada"
    assert item == {
        "id": run.query_id,
        "database": {"database_name": "shop"},
        "schema": "main",
        "sql": "SELECT id FROM orders",
        "executed_sql": 'SELECT id FROM "main".orders LIMIT 2',
        "rows": 1,
        "status": "success",
        "tab_name": "T",
        "tmp_table_name": None,
        "tracking_url": None,
        "sql_tables": [{"table": "main.orders"}],
    }


def test_what_failed_tells_why_in_its_record(shop: SmallCore) -> None:
    with pytest.raises(AnalyticsError) as caught:
        shop.execute("SELECT nosuch FROM orders", client_id="f")
    found = shop.core.queries.get(shop.core.queries.list().result[0].id)
    assert (found.status, found.error_message, found.rows) == ("failed", caught.value.message, None)
    again = shop.execute("SELECT nosuch FROM orders", client_id="f")
    assert (again.status, again.query.error_message) == ("failed", caught.value.message)


def test_all_fields_have_a_test_here_or_beside() -> None:
    """A field that the models gain is looked for in the tests of this section."""
    tests = Path(__file__).parent
    text = "".join((tests / name).read_text() for name in ("test_sql_fields.py", "test_sql_executions.py"))
    for shape in (QueryGet, QueryListItem, SqlQueryResult):
        for name, field in shape.model_fields.items():
            assert f'"{field.alias or name}"' in text, (shape.__name__, name)


# ------------------------------------------------------------------------------------------------------ error types
ERRORS: dict[ErrorType, tuple[str, dict[str, Any]]] = {
    ErrorType.DML_NOT_ALLOWED_ERROR: ("DELETE FROM orders", {}),
    ErrorType.INVALID_CTAS_QUERY_ERROR: ("SELECT 1 AS one", {**MADE}),
    ErrorType.INVALID_CVAS_QUERY_ERROR: ("SELECT 1 AS one", {**MADE, "ctas_method": "VIEW"}),
    ErrorType.MISSING_TEMPLATE_PARAMS_ERROR: ("SELECT '{{ nobody }}' AS a", {}),
    ErrorType.INVALID_TEMPLATE_PARAMS_ERROR: ("SELECT '{{ 1 + }}' AS a", {}),
    ErrorType.INVALID_SQL_ERROR: ("SELECT FROM WHERE", {}),
    ErrorType.COLUMN_DOES_NOT_EXIST_ERROR: ("SELECT nosuch FROM orders", {}),
    ErrorType.TABLE_DOES_NOT_EXIST_ERROR: ("SELECT 1 FROM nosuch", {}),
    ErrorType.DATABASE_SECURITY_ACCESS_ERROR: ("SELECT 1 AS one", {"runAsync": True}),
    ErrorType.DATABASE_NOT_FOUND_ERROR: ("SELECT 1 AS one", {"database_id": 99}),
}
"""Those with tests of their own: QUERY_SECURITY_ACCESS_ERROR, RESULTS_BACKEND_ERROR, ASYNC_WORKERS_ERROR and
SQLLAB_TIMEOUT_ERROR (test_sql_executions.py), TABLE_SECURITY_ACCESS_ERROR (test_sql_grants.py)."""


@for_each("kind", ERRORS)
def test_each_error_has_the_type_of_the_contract(shop: SmallCore, kind: ErrorType) -> None:
    sql, fields = ERRORS[kind]
    with pytest.raises(AnalyticsError) as caught:
        shop.execute(sql, **fields)
    assert caught.value.to_payload()["errors"][0]["error_type"] == kind.value
