"""Records of executions: what they hold, who sees them, what finds them, and how long they stay; on SQLite."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core._records.sql_query import SqlQuery
from analytics_core.errors import DatabaseError, NotFoundError, QueryAccessError


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as shop:
        yield shop


def test_a_record_answers_with_all_fields_of_the_contract(shop: SmallCore) -> None:
    sql = "SELECT COUNT(*) AS n FROM orders"
    fields = {"client_id": "c-1", "queryLimit": 5, "tab": "T", "sql_editor_id": "e", "schema": "main"}
    done = shop.execute(sql, **fields)
    record, item = shop.core.queries.get(done.query_id).to_payload(), shop.core.queries.list()[0].to_payload()
    assert record["start_time"] <= record["start_running_time"] <= record["end_time"]
    count = {"id": done.query_id, "sql": sql, "executed_sql": 'SELECT COUNT(*) AS n FROM "main".orders LIMIT 6'}
    shared = count | {"status": "success", "schema": "main", "tab_name": "T", "tmp_table_name": None, "rows": 1}
    shared |= {name: record[name] for name in ("start_time", "end_time", "changed_on")}
    editor = {"client_id": "c-1", "database": {"id": 1}, "select_sql": sql, "sql_editor_id": "e", "limit": 5}
    ended = {"progress": 100, "results_key": None, "error_message": None, "end_result_backend_time": None}
    made = {"select_as_cta": False, "select_as_cta_used": False, "tmp_schema_name": None, "tracking_url": None}
    assert record == shared | editor | ended | made | {"start_running_time": record["start_running_time"]}
    ada = {"id": 1, "first_name": "Ada", "last_name": "Admin", "username": "admin"}
    of_lists = {"database": {"database_name": "shop"}, "sql_tables": [{"table": "main.orders"}], "user": ada}
    assert item == shared | of_lists | {"tracking_url": None}


def test_executions_of_others_are_closed(shop: SmallCore) -> None:
    reader = shop.reader(("database", 1))
    mine = shop.execute("SELECT 1", client_id="mine")
    theirs = reader.sql.execute({"database_id": 1, "sql": "SELECT 2", "client_id": "theirs"})
    for call in (reader.queries.get, reader.queries.stop):
        with pytest.raises(QueryAccessError):
            call(mine.query_id)
        with pytest.raises(NotFoundError):
            call("mine")
    assert [one.id for one in reader.queries.list()] == [theirs.query_id]
    assert reader.queries.related("user").count == 1
    assert [one.id for one in shop.core.queries.list(order_by="id")] == [mine.query_id, theirs.query_id]
    assert shop.core.queries.get(theirs.query_id).client_id == "theirs"


FILTERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "user": ({"col": "user", "op": "eq", "val": 1}, ["a", "b"]),
    "database": ({"col": "database", "op": "eq", "val": 1}, ["a", "b"]),
    "status": ({"col": "status", "op": "eq", "val": "failed"}, ["b"]),
    "text": ({"col": "sql", "op": "contains", "val": "nope"}, ["b"]),
    "tables": ({"col": "sql_tables", "op": "contains", "val": "orders"}, ["a", "b"]),
    "time": ({"col": "start_time", "op": "gt", "val": 4_000_000_000_000}, []),
}


def test_executions_are_found_by_what_people_look_for(shop: SmallCore) -> None:
    shop.execute("SELECT COUNT(*) FROM orders", client_id="a")
    with pytest.raises(DatabaseError):
        shop.execute("SELECT nope FROM orders", client_id="b")
    for case, (condition, found) in FILTERS.items():
        ids = [one.id for one in shop.core.queries.list([condition], order_by="id")]
        assert [shop.core.queries.get(one).client_id for one in ids] == found, case
    assert [one.text for one in shop.core.queries.distinct("status").result] == ["failed", "success"]


def test_the_log_has_one_row_for_an_execution(shop: SmallCore) -> None:
    shop.execute("SELECT 1")
    with pytest.raises(DatabaseError):
        shop.execute("SELECT nope FROM orders")
    entries = [entry for entry in shop.core.logs.list(order_by="id") if entry.action == "sql.execute"]
    assert [json.loads(str(entry.json_text)) for entry in entries] == [{"query": n, "database": 1} for n in (1, 2)]


def test_old_executions_are_pruned(tmp_path: Path) -> None:
    now_ms = time.time() * 1_000
    query = SqlQuery(client_id="", user_id=1, database_id=1, sql="SELECT 1", job_id="gone")
    with small_core(tmp_path, sql_query_keep_s=60) as shop:
        with shop.core._runtime.content.store.unit_of_work() as unit:
            for client_id, age_s in (("old", 65), ("new", 50)):
                unit.sql_queries.add(replace(query, client_id=client_id, start_time=now_ms - age_s * 1_000), actor_id=1)
        assert shop.core.prune().sql_queries == 1
        assert [shop.core.queries.get(one.id).client_id for one in shop.core.queries.list()] == ["new"]


def test_notebooks_show_the_editor_and_its_records_as_every_namespace(shop: SmallCore) -> None:
    shop.execute("SELECT id FROM orders", client_id="c-9")
    editor, records = shop.core.sql._repr_mimebundle_(), shop.core.queries._repr_mimebundle_()
    assert "Statements that people write" in editor["text/plain"]
    assert "(sql, ...)" in editor["text/html"]
    assert "save_as_dataset(name, ...)" in editor["text/html"]
    assert "1 query" in records["text/plain"]
    assert "SELECT id FROM orders" in records["text/html"]
