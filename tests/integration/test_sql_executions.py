"""Executions of the SQL editor: payloads, answers, records, states, jobs; on SQLite, whose roads all engines take."""

from __future__ import annotations

import itertools
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.job_worker import QueueOfOthers
from tests.support.reports import until
from tests.support.small_core import SmallCore, small_core

from analytics_core._records.datasource import Database
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.shared_state import JobRecord
from analytics_core._records.sql_query import NEXT_QUERY_STATES, QueryState, SqlQuery
from analytics_core._sql.runs import SqlRuns, new_query
from analytics_core.errors import (
    AlreadyExistsError,
    AnalyticsError,
    DatabaseAccessError,
    DatabaseError,
    ErrorType,
    JobError,
    NotFoundError,
    PayloadSchemaError,
    QueryAccessError,
    QueryError,
    StatementError,
    StatementRefusedError,
    StatementStoppedError,
    StatementTimeoutError,
    StoreUnavailableError,
)
from analytics_core.models.enums import JobState

LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000000) SELECT COUNT(*) AS c FROM n"
DATABASE = {"database_id": 1}
LOST = SqlQuery(client_id="c", user_id=1, database_id=1, sql="SELECT 1", job_id="gone", state=QueryState.RUNNING)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as shop:
        yield shop


def test_an_execution_answers_with_all_fields_of_the_contract(shop: SmallCore) -> None:
    response = shop.execute(
        "SELECT 1 AS one, 'a' AS a -- all of it", client_id="c-1", queryLimit=5, tab="T", sql_editor_id="e"
    ).to_payload()
    query = response.pop("query")
    assert response.keys() == {"query_id", "status", "columns", "selected_columns", "expanded_columns", "data"}
    assert (response["status"], response["data"]) == ("success", [{"one": 1, "a": "a"}])
    assert [(one["name"], one["type"], one["is_dttm"]) for one in response["columns"]] == [
        ("one", "integer", False),
        ("a", "text", False),
    ]
    assert response["selected_columns"] == response["columns"]
    assert query["startDttm"] <= query["endDttm"]
    assert {name: query[name] for name in query if name not in ("startDttm", "endDttm", "changed_on")} == {
        "id": "c-1",
        "queryId": response["query_id"],
        "serverId": response["query_id"],
        "sql": "SELECT 1 AS one, 'a' AS a -- all of it",
        "executedSql": "SELECT 1 AS one, 'a' AS a LIMIT 6",
        "db": "shop",
        "dbId": 1,
        "schema": None,
        "tab": "T",
        "sqlEditorId": "e",
        "user": "Ada Admin",
        "userId": 1,
        "state": "success",
        "limit": 5,
        "limitingFactor": "NOT_LIMITED",
        "progress": 100,
        "rows": 1,
        "resultsKey": None,
        "ctas": False,
        "errorMessage": None,
        "extra": {"tables": []},
        "tempSchema": None,
        "tempTable": None,
        "trackingUrl": None,
    }


LIMITS = {
    "neither cuts": ("SELECT 1 UNION SELECT 2 LIMIT 3", 4, 2, 3, "NOT_LIMITED"),
    "exactly as many": ("SELECT 1 UNION SELECT 2", 2, 2, 2, "NOT_LIMITED"),
    "the editor's": ("SELECT 1 UNION SELECT 2", 1, 1, 1, "DROPDOWN"),
    "the statement's": ("SELECT 1 UNION SELECT 2 LIMIT 1", 5, 1, 1, "QUERY"),
    "both": ("SELECT 1 UNION SELECT 2 LIMIT 1", 1, 1, 1, "QUERY_AND_DROPDOWN"),
    "a larger one of its own": ("SELECT 1 UNION SELECT 2 LIMIT 9", 1, 1, 1, "DROPDOWN"),
    "behind a comment": ("SELECT 1 UNION SELECT 2 -- LIMIT 9", 1, 1, 1, "DROPDOWN"),
    "in a sub-query alone": ("SELECT * FROM (SELECT 1 UNION SELECT 2 LIMIT 2)", 1, 1, 1, "DROPDOWN"),
    "of a CTE alone": ("WITH t AS (SELECT 1 UNION SELECT 2 LIMIT 2) SELECT * FROM t", 1, 1, 1, "DROPDOWN"),
    "0: that of the settings": ("SELECT 1", 0, 1, 50_000, "NOT_LIMITED"),
    "none: that of the settings": ("SELECT 1", None, 1, 50_000, "NOT_LIMITED"),
    "beyond the settings": ("SELECT 1", 10**9, 1, 100_000, "NOT_LIMITED"),
    "a share of its own": ("SELECT 1 UNION SELECT 2 LIMIT 1 + 0", 5, 1, 5, "QUERY"),
    "with an offset": ("SELECT 1 UNION SELECT 2 LIMIT 5 OFFSET 1", 3, 1, 3, "NOT_LIMITED"),
}


def test_the_smaller_limit_counts_and_the_answer_says_which_cut(shop: SmallCore) -> None:
    for case, (sql, wanted, rows, limit, factor) in LIMITS.items():
        response = shop.execute(sql, queryLimit=wanted)
        assert (len(response.data), response.query.limit, response.query.limiting_factor) == (rows, limit, factor), case
        found = shop.core.sql(sql, row_limit=wanted)
        assert (found.rowcount, found.limits[0].rows, found.limiting_factor.value) == (rows, limit, factor), case
        set_by = "statement" if case in ("neither cuts", "the statement's", "both") else "query limit"
        cut = None if case == "a share of its own" else factor != "NOT_LIMITED"  # nobody knows where it would end
        assert (found.limits[0].set_by, found.limits[0].cut) == (set_by, cut), case


def test_a_client_id_runs_once(shop: SmallCore) -> None:
    first = shop.execute("SELECT 1 AS one", client_id="once")
    again = shop.execute("SELECT 1 AS one", client_id="once")
    with pytest.raises(AlreadyExistsError, match="client_id"):
        shop.execute("SELECT 2 AS two", client_id="once")
    assert (again.query_id, again.status, again.query.sql, again.data) == (
        first.query_id,
        "success",
        first.query.sql,
        (),
    )
    other = shop.reader(("database", 1)).sql.execute({**DATABASE, "sql": "SELECT 2 AS two", "client_id": "once"})
    assert (other.query_id, other.data) == (first.query_id + 1, ({"two": 2},))
    assert shop.core.queries.list().count == 2


def test_many_that_send_one_client_id_at_once_run_it_once(shop: SmallCore) -> None:
    found: list[Any] = []
    send = [threading.Thread(target=lambda: found.append(shop.execute("SELECT 1", client_id="x"))) for _ in range(6)]
    for thread in send:
        thread.start()
    for thread in send:
        thread.join()
    assert len({one.query_id for one in found}) == 1
    assert [len(one.data) for one in found].count(1) == 1


REFUSED: dict[str, tuple[dict[str, Any], type[AnalyticsError], str]] = {
    "no database": ({"sql": "SELECT 1"}, PayloadSchemaError, "database_id"),
    "no such database": ({"sql": "SELECT 1", "database_id": 7}, NotFoundError, "database 7"),
    "a long client_id": ({**DATABASE, "sql": "SELECT 1", "client_id": "x" * 12}, PayloadSchemaError, "client_id"),
    "no client_id": ({**DATABASE, "sql": "SELECT 1", "client_id": ""}, PayloadSchemaError, "client_id"),
    "no such method": ({**DATABASE, "sql": "SELECT 1", "ctas_method": "INDEX"}, PayloadSchemaError, "ctas_method"),
    "no name": ({**DATABASE, "sql": "SELECT 1", "tmp_table_name": "a b"}, PayloadSchemaError, "tmp_table_name"),
    "a limit below 0": ({**DATABASE, "sql": "SELECT 1", "queryLimit": -1}, PayloadSchemaError, "queryLimit"),
    "in the background": ({**DATABASE, "sql": "SELECT 1", "runAsync": True}, DatabaseAccessError, "allow_run_async"),
    "no statement": ({**DATABASE, "sql": " -- nothing"}, StatementError, "it is empty"),
    "a parameter": ({**DATABASE, "sql": "SELECT :a"}, StatementError, "parameter :a has no value"),
    "a change": ({**DATABASE, "sql": "DELETE FROM orders"}, StatementRefusedError, "read-only"),
    "no column": ({**DATABASE, "sql": "SELECT nope FROM orders"}, DatabaseError, "nope"),
    "no template": ({**DATABASE, "sql": "SELECT {{ nope }}"}, AnalyticsError, "nope"),
}


def test_what_cannot_run_raises_and_is_recorded(shop: SmallCore) -> None:
    for case, (payload, kind, said) in REFUSED.items():
        before = shop.core.queries.list().count
        with pytest.raises(kind) as caught:
            shop.core.sql.execute(payload)
        assert said in caught.value.message, case
        recorded = shop.core.queries.list(order_by="-id")
        if kind in (PayloadSchemaError, NotFoundError, DatabaseAccessError):
            assert recorded.count == before, case
        else:
            assert (recorded.count, recorded[0].status) == (before + 1, "failed"), case
            assert shop.core.queries.get(recorded[0].id).error_message == caught.value.message, case


def test_a_database_may_be_closed_to_the_editor(shop: SmallCore) -> None:
    shop.core.databases.update(1, {"expose_in_sqllab": False})
    for call in (shop.core.sql, shop.core.sql.explain, shop.core.sql.batches):
        with pytest.raises(DatabaseAccessError, match="expose_in_sqllab"):
            call("SELECT 1")


def test_templates_get_the_parameters_of_the_payload(shop: SmallCore) -> None:
    response = shop.execute("SELECT '{{ word }}' AS word", templateParams='{"word": "hello"}')
    assert response.data == ({"word": "hello"},)
    assert shop.core.queries.get(response.query_id).select_sql == "SELECT 'hello' AS word"


def test_an_execution_in_the_background_is_found_and_its_rows_are_stored(shop: SmallCore) -> None:
    shop.core.databases.update(1, {"allow_run_async": True})
    response = shop.execute("SELECT 1 AS one", runAsync=True)
    key = response.query.results_key
    assert (response.status, response.data) == ("pending", ())
    assert shop.core.jobs.get(key).wait(10)
    found = shop.core.queries.get(response.query_id)
    assert (found.status, found.results_key, found.end_result_backend_time is not None) == ("success", key, True)
    assert shop.core.sql.results(key).data == ({"one": 1},)
    stranger = shop.reader(("database", 1))
    with pytest.raises(QueryAccessError):
        stranger.sql.results(key)
    with pytest.raises(NotFoundError):
        shop.core.sql.results("no-such-key")


def test_stored_rows_are_closed_when_other_rules_bind(shop: SmallCore) -> None:
    shop.core.databases.update(1, {"allow_run_async": True})
    reader = shop.reader(("database", 1))
    response = reader.sql.execute({**DATABASE, "sql": "SELECT COUNT(*) AS n FROM orders", "runAsync": True})
    assert reader.jobs.get(response.query.results_key).wait(10)
    assert reader.sql.results(response.query.results_key).data[0]["n"] > 0
    dataset = shop.orders()
    role = next(one.id for one in shop.core.roles.list() if one.name == "role of reader")
    rule = {"name": "r", "clause": "1 = 0", "filter_type": "Regular", "tables": [dataset.id], "roles": [role]}
    shop.core.row_level_security.create(rule)
    with pytest.raises(QueryAccessError, match="other row rules"):
        reader.sql.results(response.query.results_key)


def test_rows_that_are_gone_are_an_error_of_the_results_backend(shop: SmallCore) -> None:
    shop.core.databases.update(1, {"allow_run_async": True})
    key = shop.execute("SELECT 1 AS one", runAsync=True).query.results_key
    assert shop.core.jobs.get(key).wait(10)
    with shop.core._runtime.content.store.unit_of_work() as unit:
        unit.jobs.delete_matching([ListFilter(col="job_id", op="eq", val=key)])
    with pytest.raises(QueryError) as caught:
        shop.core.sql.results(key)
    assert caught.value.error_type is ErrorType.RESULTS_BACKEND_ERROR


def test_what_runs_is_stopped_by_its_client_id(shop: SmallCore) -> None:
    errors: list[AnalyticsError] = []

    def run() -> None:
        try:
            shop.execute(LONG, client_id="long")
        except AnalyticsError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert until(lambda: [one for one in shop.core.queries.list() if one.status == "running"])
    shop.core.queries.stop("long")
    thread.join(20)
    assert isinstance(errors[0], StatementStoppedError)
    assert [(one.status, one.client_id) for one in map(shop.core.queries.get, [1])] == [("stopped", "long")]
    assert shop.core.jobs.list().count == 0
    shop.core.queries.stop("long")  # it is over, and stays so


def test_a_time_limit_ends_an_execution_as_timed_out(tmp_path: Path) -> None:
    with small_core(tmp_path, statement_timeout_s=0.3) as shop:
        shop.core.databases.update(1, {"allow_run_async": True})
        for run in (lambda: shop.execute(LONG), lambda: shop.execute(f"SELECT 1 AS one; {LONG}")):
            with pytest.raises(StatementTimeoutError) as caught:
                run()
            assert caught.value.error_type is ErrorType.SQLLAB_TIMEOUT_ERROR
        key = shop.execute(LONG, runAsync=True).query.results_key
        with pytest.raises(StatementTimeoutError) as later:
            shop.core.jobs.get(key).result(timeout_s=20)
        assert later.value.error_type is ErrorType.SQLLAB_TIMEOUT_ERROR
        with pytest.raises(StatementTimeoutError), shop.core.sql.batches(LONG) as batches:
            list(batches)
        assert [one.status for one in shop.core.queries.list()] == ["timed_out"] * 3
        with shop.core._runtime.content.store.unit_of_work() as unit:
            records = unit.sql_queries.list(ListQuery())[1]
        assert {record.error_type for record in records} == {"SQLLAB_TIMEOUT_ERROR"}


def begun(shop: SmallCore, sql: str = "SELECT 1 AS one") -> tuple[SqlQuery, Database]:
    """Return the record of an execution that waits to be run, and its database."""
    runtime, actor = shop.core._runtime.content, shop.core.sql._actor
    with runtime.store.unit_of_work() as unit:
        database = unit.databases.get(1)
    query = new_query(runtime, database, actor, in_background=False, client_id="c", sql=sql)
    return SqlRuns(runtime, actor).begin(query)[0], database


def run_with(shop: SmallCore, **parts: Any) -> Any:
    """Run a statement in this thread with other parts of the runtime, which count after its record is made."""
    return SqlRuns(replace(shop.core._runtime.content, **parts), shop.core.sql._actor).run_here(*begun(shop))


def test_what_is_stopped_before_it_began_never_begins(shop: SmallCore) -> None:
    shop.core.databases.update(1, {"allow_dml": True})
    waiting = begun(shop, "DELETE FROM orders")
    shop.core.queries.stop("c")
    with pytest.raises(StatementStoppedError):
        SqlRuns(shop.core._runtime.content, shop.core.sql._actor).run_here(*waiting)
    record = shop.core.queries.get(1)
    assert (record.status, record.error_message) == ("stopped", "it was stopped before it began")
    assert shop.core.sql("SELECT COUNT(*) FROM orders").rows() == [(2,)]


@pytest.mark.parametrize("is_file", [False, True], ids=["memory", "file"])
def test_executions_whose_process_died_have_failed(tmp_path: Path, is_file: bool) -> None:
    with small_core(tmp_path, metadata_url=f"sqlite:///{tmp_path / 'store.db'}" if is_file else "sqlite://") as shop:
        with shop.core._runtime.content.store.unit_of_work() as unit:
            unit.sql_queries.add(LOST, actor_id=1)
            unit.sql_queries.add(replace(LOST, client_id="d", extra='{"changes_data": true}'), actor_id=1)
            running = replace(LOST, client_id="e", job_id="held", results_key="held")
            unit.sql_queries.add(running, actor_id=1)
            ago = unit.now() - timedelta(hours=2)
            job = JobRecord(job_id="held", kind="sql", payload="{}", user_id=1, state=JobState.RUNNING, worker="died")
            unit.jobs.add(replace(job, started_on=ago, lease_until=ago), actor_id=1)
        assert [one.status for one in shop.core.queries.list()] == ["failed"] * 3
        assert str(shop.core.queries.get(1).error_message).endswith("lost the metadata store; run it again")
        assert "look whether its changes are there" in str(shop.core.queries.get(2).error_message)


ENDS = {
    QueryState.RUNNING: {"stopped": "stopped", "timed_out": "timed_out", "lost": "failed", "success": "success"},
    QueryState.PENDING: {"stopped": "stopped", "timed_out": "failed"},  # what never ran took no time
}


def test_an_execution_ends_as_its_job_did_where_nobody_recorded_it(shop: SmallCore) -> None:
    ends = [(state, JobState(job), status) for state, found in ENDS.items() for job, status in found.items()]
    with shop.core._runtime.content.store.unit_of_work() as unit:
        for state, job_state, name in ((state, job, f"{state}{job}"[:11]) for state, job, _ in ends):
            unit.sql_queries.add(replace(LOST, client_id=name, job_id=name, state=state), actor_id=1)
            job = JobRecord(job_id=name, kind="sql", payload="{}", user_id=1, state=job_state, ended_on=unit.now())
            unit.jobs.add(job, actor_id=1)
    assert [one.status for one in shop.core.queries.list(order_by="id")] == [status for *_, status in ends]


def test_what_never_began_has_failed_after_the_time_of_a_lease(shop: SmallCore) -> None:
    now_ms = time.time() * 1_000
    waiting = replace(LOST, state=QueryState.PENDING)
    with shop.core._runtime.content.store.unit_of_work() as unit:
        unit.sql_queries.add(replace(waiting, start_time=now_ms), actor_id=1)
        unit.sql_queries.add(replace(waiting, client_id="d", start_time=now_ms - 31_000), actor_id=1)
    assert [one.status for one in shop.core.queries.list(order_by="id")] == ["pending", "failed"]


def test_what_cannot_be_taken_as_a_job_has_failed(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with small_core(tmp_path, metadata_url=f"sqlite:///{store}") as shop:
        with closing(sqlite3.connect(store)) as outside:
            outside.execute("ALTER TABLE ac_jobs RENAME TO away")
            with pytest.raises(AnalyticsError):
                shop.execute("SELECT 1")
            outside.execute("ALTER TABLE away RENAME TO ac_jobs")
        assert [one.status for one in shop.core.queries.list()] == ["failed"]


def test_an_execution_whose_rows_cannot_be_stored_has_failed(tmp_path: Path) -> None:
    store = tmp_path / "store.db"

    class WithoutResults(QueueOfOthers):
        def submit(self, job_id: str, *, queue: str = "") -> None:
            with closing(sqlite3.connect(store)) as outside:
                outside.execute("ALTER TABLE ac_job_results RENAME TO away")
                shop.core.run_job(job_id)
                outside.execute("ALTER TABLE away RENAME TO ac_job_results")

    pauses = list[float]()
    sleeper = SimpleNamespace(sleep=pauses.append)
    ports = {"jobs": WithoutResults(), "sleeper": sleeper}
    with small_core(tmp_path, metadata_url=f"sqlite:///{store}", ports=ports) as shop:
        shop.core.databases.update(1, {"allow_run_async": True})
        query = shop.execute("SELECT 1 AS one", runAsync=True).query
        assert shop.core.queries.get(query.query_id).status == "failed"
        with pytest.raises(AnalyticsError):
            shop.core.sql.results(query.results_key)
    assert len(pauses) == 9  # it was worth waiting for


def test_an_interrupted_execution_is_stopped(shop: SmallCore) -> None:
    class Interrupted:
        def now(self) -> datetime:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_with(shop, clock=Interrupted())
    assert [one.status for one in shop.core.queries.list()] == ["stopped"]


def test_a_state_is_recorded_when_the_store_is_back(shop: SmallCore) -> None:
    store = shop.core._runtime.content.store

    class AwayOnce:
        tries = 0

        def unit_of_work(self) -> Any:
            self.tries += 1
            if self.tries == 1:
                raise StoreUnavailableError("the metadata store is locked")
            return store.unit_of_work()

    query, _ = run_with(shop, store=AwayOnce())
    assert query.state is QueryState.SUCCESS


def test_an_execution_that_runs_before_its_answer_is_there_is_not_lost(tmp_path: Path) -> None:
    seen: list[str] = []

    class AtOnce(QueueOfOthers):
        def submit(self, job_id: str, *, queue: str = "") -> None:
            with shop.core._runtime.content.store.unit_of_work() as unit:  # as a worker elsewhere that is quick
                unit.sql_queries.update(replace(unit.sql_queries.get(1), state=QueryState.RUNNING), actor_id=1)
            seen.extend(one.status for one in shop.core.queries.list())
            shop.core.run_job(job_id)

    with small_core(tmp_path, ports={"jobs": AtOnce()}) as shop:
        shop.core.databases.update(1, {"allow_run_async": True})
        shop.execute("SELECT 1 AS one", runAsync=True)
    assert seen == ["running"]


def test_an_end_that_is_read_after_its_job_expired_is_a_success(shop: SmallCore) -> None:
    with shop.core._runtime.content.store.unit_of_work() as unit:
        unit.sql_queries.add(replace(LOST, results_key="gone", end_time=1.0), actor_id=1)
    assert shop.core.queries.get(1).status == "success"


def test_each_state_moves_as_the_table_says() -> None:
    query = SqlQuery(client_id="c", user_id=1, database_id=1, sql="SELECT 1", job_id="j")
    for before, after in itertools.product(QueryState, repeat=2):
        moved = replace(query, state=before).moved(after, rows=3)
        assert (moved is not None) == (after in NEXT_QUERY_STATES[before]), (before, after)
        assert moved is None or (moved.state, moved.rows) == (after, 3)
    assert {state for state in QueryState if state.is_over} == set(QueryState) - {
        QueryState.PENDING,
        QueryState.RUNNING,
    }
    assert not [state for state, following in NEXT_QUERY_STATES.items() if state in following]


def test_a_job_that_cannot_be_taken_fails_its_record(tmp_path: Path) -> None:
    with small_core(tmp_path, max_jobs=1) as shop:
        shop.core.databases.update(1, {"allow_run_async": True})
        shop.execute(LONG, runAsync=True, client_id="first")
        with pytest.raises(JobError, match="max_jobs"):
            shop.execute("SELECT 1", runAsync=True, client_id="second")
        assert shop.core.queries.list([{"col": "client_id", "op": "eq", "val": "second"}])[0].status == "failed"
        shop.core.queries.stop("first")
