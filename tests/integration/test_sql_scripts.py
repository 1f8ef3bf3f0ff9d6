"""Scripts of the SQL editor: transactions, changes of data behind flags and row rules, tables and views of queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import sqlglot
from tests.support.cases import for_each
from tests.support.execution import LIMITS, admission
from tests.support.reports import until
from tests.support.small_core import SmallCore, small_core
from tests.support.tenant_world import ENGINES, TenantWorld, rule, tenant_world, url_on

from analytics_core import AnalyticsCore
from analytics_core._engine.compile.plan import SqlSource
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.sessions.base import ScriptStatement
from analytics_core._engine.querying.sql_queries import SqlQuestion
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    ErrorType,
    StatementError,
    StatementRefusedError,
    StatementTimeoutError,
)

FLAGS = {"allow_dml": True, "allow_ctas": True, "allow_cvas": True}


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("scripts")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.row_level_security.create(rule(made))
        made.admin.databases.update(1, FLAGS)
        yield made


def execute(core: AnalyticsCore, sql: str, **fields: Any) -> Any:
    return core.sql.execute({"database_id": 1, "sql": sql, **fields})


def rows_of(world: TenantWorld, sql: str) -> list[tuple[Any, ...]]:
    """Return what the owner of the database finds in it."""
    world.release()
    owner = sa.create_engine(world.url, poolclass=sa.NullPool)
    with owner.connect() as connection:
        rows = sorted(map(tuple, connection.exec_driver_sql(sql)), key=repr)
    owner.dispose()
    return rows


def test_a_script_runs_in_one_transaction_and_answers_with_its_last_rows(world: TenantWorld) -> None:
    acme = world.user("acme")
    done = execute(
        acme,
        "CREATE TABLE made (a INTEGER); INSERT INTO made SELECT id FROM sales WHERE tenant <> ';';"
        "UPDATE made SET a = a + 10 WHERE a > 1; SELECT a FROM made ORDER BY a; DELETE FROM made WHERE a = 13",
        queryLimit=2,
    )
    assert [row["a"] for row in done.data] == [1, 12]  # of three: the limit is in the query alone
    assert (done.query.rows, done.query.limiting_factor, done.query.progress) == (2, "DROPDOWN", 100)
    kinds = [(one["kind"], one["rows"]) for one in done.query.extra["statements"]]
    assert kinds[1:] == [("INSERT", 3), ("UPDATE", 2), ("SELECT", 2), ("DELETE", 1)]
    assert "INSERT: what it made holds or shows the rows of sales" in str(done.query.extra["notes"])
    assert rows_of(world, "SELECT a FROM made") == [(1,), (12,)]

    with pytest.raises(DatabaseError, match="statement 2 of 3: ") as failed:
        execute(acme, "INSERT INTO made VALUES (99); SELECT nope FROM made; DELETE FROM made")
    assert "stays" not in failed.value.message
    assert rows_of(world, "SELECT a FROM made") == [(1,), (12,)]
    record = acme.queries.list(order_by="-id")[0]
    assert (record.status, acme.queries.get(record.id).progress) == ("failed", 33)

    with pytest.raises(DatabaseError, match="statement 4 of 4: ") as failed:
        execute(
            acme, "INSERT INTO made VALUES (7); CREATE TABLE half (a INTEGER); DELETE FROM made; SELECT a FROM nope"
        )
    commits = world.engine == "mysql"
    assert ("statements 1 to 2 stay: MariaDB or MySQL does not take them back" in failed.value.message) is commits
    assert rows_of(world, "SELECT a FROM made") == [(1,), (12,), *([(7,)] if commits else [])]

    schema = {"postgresql": "public", "mysql": None}.get(world.engine, "main")
    execute(acme, "ALTER TABLE made RENAME TO later; DROP TABLE later", schema=schema)
    execute(acme, "CREATE TEMPORARY TABLE gone (a INTEGER); INSERT INTO gone VALUES (1)")
    with pytest.raises(DatabaseError, match="gone"):  # with the session that made it
        execute(acme, "INSERT INTO gone VALUES (1)")


RULED = {
    "UPDATE sales SET amount = 0": "",
    "DELETE FROM sales": "",
    "DELETE FROM sales WHERE tenant = 'acme'": "",
    "UPDATE targets SET goal = 1 FROM sales WHERE sales.id = targets.id": "sqlite duckdb postgresql",
    "DELETE FROM targets USING sales WHERE sales.id = targets.id": "duckdb postgresql",
    "UPDATE targets JOIN sales ON sales.id = targets.id SET goal = sales.amount": "mysql",
    "DELETE sales FROM sales JOIN targets ON sales.id = targets.id": "mysql",
    "MERGE INTO sales USING (SELECT 1 AS a) AS q ON q.a = sales.id WHEN MATCHED THEN DELETE": "duckdb postgresql",
    "MERGE INTO targets USING sales ON sales.id = targets.id WHEN MATCHED THEN DELETE": "duckdb postgresql",
    "INSERT INTO sales (id) VALUES (1) RETURNING amount": "",
    "INSERT INTO sales (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET amount = 0": "sqlite duckdb postgresql",
    "INSERT INTO sales (id) VALUES (1) ON DUPLICATE KEY UPDATE amount = 0": "mysql",
    "INSERT OR REPLACE INTO sales (id) VALUES (1)": "sqlite duckdb",
    "INSERT IGNORE INTO sales (id) VALUES (1)": "mysql",
    "TRUNCATE TABLE sales": "duckdb postgresql mysql",
    "DROP TABLE sales": "",
    "DROP TABLE targets, sales": "postgresql mysql",
    "ALTER TABLE sales RENAME TO x": "",
    "ALTER TABLE targets RENAME TO sales": "",
    "ALTER TABLE sales ADD COLUMN x INTEGER": "",
    "CREATE UNIQUE INDEX i ON sales (tenant)": "",
    "CREATE OR REPLACE VIEW sales AS SELECT 1 AS a": "duckdb postgresql mysql",
    "CREATE TABLE x (a INTEGER REFERENCES sales (id))": "",
    "WITH sales AS (SELECT 1 AS id) DELETE FROM sales": "sqlite duckdb postgresql",
    "EXPLAIN SELECT id FROM sales": "",
    "EXPLAIN WITH q AS (SELECT 1 AS id) DELETE FROM targets": "",
}


def test_no_change_reaches_or_tells_of_rows_that_rules_hide(world: TenantWorld) -> None:
    acme, before = world.user("acme"), rows_of(world, "SELECT id, amount FROM sales")
    for sql in (sql for sql, engines in RULED.items() if not engines or world.engine in engines.split()):
        with pytest.raises((StatementRefusedError, StatementError)) as refused:
            execute(acme, f"INSERT INTO targets VALUES (50, 'x', 1); {sql}")
        assert refused.value.message.startswith("statement 2 of 2: "), sql
        assert "acme'" not in refused.value.message, sql
    assert rows_of(world, "SELECT id, amount FROM sales") == before
    assert rows_of(world, "SELECT id FROM targets") == [(1,), (4,), (9,)]

    execute(acme, "UPDATE targets SET goal = (SELECT SUM(amount) FROM sales) WHERE id = 1")
    execute(acme, "DELETE FROM targets WHERE id IN (SELECT id FROM sales WHERE id = 4)")
    assert rows_of(world, "SELECT id, goal FROM targets") == [(1, 60), (4, 8), (9, 9)]
    execute(acme, "INSERT INTO sales (id, tenant, amount) SELECT 80, 'acme', COUNT(*) FROM sales")
    assert rows_of(world, "SELECT amount FROM sales WHERE id = 80") == [(3,)]
    execute(world.admin, "DELETE FROM sales WHERE id = 80")  # no rule binds an administrator


def test_what_is_made_of_ruled_rows_holds_those_of_its_maker_and_says_so(world: TenantWorld) -> None:
    hare = world.user("o'hare")  # a quote in the value of the rule
    for kind in ("TABLE", "VIEW"):
        name = f"of_hare_{kind.lower()}"
        sql = "WITH mine AS (SELECT id, tenant FROM sales) SELECT id FROM mine WHERE tenant LIKE 'o%'"
        made = execute(hare, sql, select_as_cta=True, ctas_method=kind, tmp_table_name=name, queryLimit=1)
        assert (made.query.ctas, made.query.temp_table, made.data) == (True, name, ())
        assert "carries no rule of its own" in made.query.extra["notes"][0]
        record = hare.queries.get(made.query_id)
        assert (record.select_as_cta, record.select_as_cta_used, record.tmp_table_name) == (True, True, name)
        found = execute(world.user("bolt"), record.select_sql)
        assert [row["id"] for row in found.data] == [6]
        with pytest.raises(DatabaseError):  # there is one of this name
            execute(hare, sql, select_as_cta=True, ctas_method=kind, tmp_table_name=name)
    with pytest.raises(StatementRefusedError):
        execute(hare, "SELECT 1 AS a", select_as_cta=True, tmp_table_name="sales")


def test_a_session_that_may_not_write_changes_nothing_whatever_the_guard_lets_through(world: TenantWorld) -> None:
    before = rows_of(world, "SELECT id FROM targets")
    runtime = world.admin._runtime.content
    with runtime.store.unit_of_work() as unit:
        reading = admission(unit.databases.get(1))
    for sql in (
        "DELETE FROM targets",
        "CREATE TABLE x (a INTEGER)",
        *(["WITH q AS (SELECT 1 AS id) DELETE FROM targets"] if world.engine != "mysql" else []),
    ):
        statement = Statement(sql=sql, parameters=(), display_sql=sql, labels=(), kinds=())
        step = ScriptStatement(statement=statement, is_query=False, gives_rows=False)
        with pytest.raises(AnalyticsError):
            runtime.engine.gate.statements.run_script(reading, [step], limits=LIMITS, done=lambda _rows: None)
    assert rows_of(world, "SELECT id FROM targets") == before


@dataclass(frozen=True)
class UnguardedGate:
    """A gate whose static guard is off: it admits as the other one does, and takes every statement that can be read."""

    gate: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.gate, name)

    def statement(self, spec: EngineSpec, sql: str) -> SqlSource:
        return SqlSource(sql=sql, tree=sqlglot.parse_one(sql, dialect=spec.dialect))


WRITING = {
    "sqlite": ("REPLACE INTO targets (id) VALUES (5)", "PRAGMA user_version = 7"),
    "duckdb": ("TRUNCATE TABLE targets", "INSERT OR REPLACE INTO targets (id) VALUES (5)"),
    "postgresql": (
        "WITH gone AS (DELETE FROM targets RETURNING id) SELECT id FROM gone",
        "WITH made AS (INSERT INTO targets (id) VALUES (5) RETURNING id) SELECT id FROM made",
        "WITH q AS (UPDATE targets SET goal = 0 RETURNING id) SELECT id FROM q",
        "SELECT id INTO stolen FROM targets",
        "TRUNCATE TABLE targets",
    ),
    "mysql": ("REPLACE INTO targets (id) VALUES (5)", "TRUNCATE TABLE targets", "INSERT INTO targets (id) SELECT 5"),
}


def test_without_the_guard_nothing_that_writes_changes_a_database_without_the_flag(world: TenantWorld) -> None:
    before = rows_of(world, "SELECT * FROM targets")
    world.admin.databases.update(1, {"allow_dml": False})
    runtime = world.admin._runtime.content
    unguarded = replace(runtime.engine, gate=UnguardedGate(runtime.engine.gate))  # type: ignore[arg-type]
    runtime = replace(runtime, engine=unguarded)
    with runtime.store.unit_of_work() as unit:
        database = unit.databases.get(1)
    actor = world.admin.sql._actor
    for sql in (
        "DELETE FROM targets",
        "UPDATE targets SET goal = 0",
        "INSERT INTO targets (id) VALUES (5)",
        "CREATE TABLE stolen (a INTEGER)",
        "CREATE TABLE stolen AS SELECT * FROM targets",
        "CREATE VIEW stolen AS SELECT * FROM targets",
        "DROP TABLE targets",
        "ALTER TABLE targets ADD COLUMN more INTEGER",
        *WRITING[world.engine],
    ):
        request = runtime.request(actor)
        with pytest.raises((DatabaseError, StatementRefusedError)) as caught:  # the session asks for a query, too
            runtime.engine.sql_queries.run(request, database, SqlQuestion(sql=sql))
        assert "this is not a query" in caught.value.message or isinstance(caught.value, DatabaseError), sql
    world.admin.databases.update(1, FLAGS)
    assert rows_of(world, "SELECT * FROM targets") == before
    with pytest.raises(sa.exc.DBAPIError):
        rows_of(world, "SELECT * FROM stolen")


SLOW = {
    "postgresql": (
        "SELECT COUNT(*) AS n FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b",
        "SELECT COUNT(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%1000000%%generate%%'"
        " AND pid <> pg_backend_pid()",
    ),
    "mysql": (
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
        " SELECT COUNT(*) AS many FROM n AS a, n AS b, n AS c, n AS d",
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%%many%%' AND id <> connection_id()",
    ),
}
"""A statement without end, and one that counts those that run on the server."""


@pytest.mark.server
@pytest.mark.parametrize("engine", SLOW)
def test_what_runs_out_of_its_time_ends_on_the_server_too(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    maker = {"postgresql": "make_postgres_database", "mysql": "make_mariadb_database"}[engine]
    slow, running = SLOW[engine]
    with tenant_world(engine, request.getfixturevalue(maker)(), tmp_path, timeout_s=1.0) as made:
        made.admin.databases.update(1, {"allow_run_async": True})
        with pytest.raises(StatementTimeoutError) as caught:
            execute(made.admin, slow)
        assert caught.value.error_type is ErrorType.SQLLAB_TIMEOUT_ERROR
        assert until(lambda: rows_of(made, running) == [(0,)], seconds=10)
        key = execute(made.admin, slow, runAsync=True).query.results_key
        with pytest.raises(StatementTimeoutError) as later:
            made.admin.jobs.get(key).result(timeout_s=20)
        assert later.value.error_type is ErrorType.SQLLAB_TIMEOUT_ERROR
        assert until(lambda: rows_of(made, running) == [(0,)], seconds=10)
        assert [one.status for one in made.admin.queries.list()] == ["timed_out", "timed_out"]


# ------------------------------------------------------------------------------------------- flags, on SQLite alone
@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as shop:
        yield shop


CTAS, CVAS = ErrorType.INVALID_CTAS_QUERY_ERROR, ErrorType.INVALID_CVAS_QUERY_ERROR
VIEW = {"ctas_method": "VIEW"}


@for_each(
    ("flags", "sql", "fields", "error_type"),
    [
        ({}, "INSERT INTO orders (id, day) VALUES (9, '')", {}, ErrorType.DML_NOT_ALLOWED_ERROR),
        ({}, "SELECT 1; DROP TABLE orders", {}, ErrorType.DML_NOT_ALLOWED_ERROR),
        ({"allow_ctas": True}, "CREATE TABLE x AS SELECT 1 AS a", {}, ErrorType.DML_NOT_ALLOWED_ERROR),
        ({"allow_dml": True}, "SELECT 1 AS a", {"select_as_cta": True}, CTAS),
        ({"allow_dml": True, "allow_ctas": True}, "SELECT 1 AS a", {"select_as_cta": True, **VIEW}, CVAS),
        ({"allow_cvas": True}, "SELECT 1 AS a; SELECT 2 AS a", {"select_as_cta": True, **VIEW}, CVAS),
        (FLAGS, "SELECT 1 AS a; DELETE FROM orders", {"select_as_cta": True}, CTAS),
        (FLAGS, "DELETE FROM orders", {"select_as_cta": True, **VIEW}, CVAS),
        (FLAGS, "EXPLAIN SELECT 1 AS a", {"select_as_cta": True}, CTAS),
    ],
)
def test_flags_of_the_database_say_what_may_change(
    shop: SmallCore, flags: dict[str, bool], sql: str, fields: dict[str, Any], error_type: ErrorType
) -> None:
    shop.core.databases.update(1, {**dict.fromkeys(FLAGS, False), **flags})
    before = shop.file.read_bytes()
    with pytest.raises(AnalyticsError) as refused:
        execute(shop.core, sql, **fields)
    assert refused.value.error_type is error_type
    assert shop.core.queries.list(order_by="-id")[0].status == "failed"
    assert shop.file.read_bytes() == before


def test_a_table_is_made_by_its_own_flag_alone_and_named_by_the_moment(shop: SmallCore) -> None:
    shop.core.databases.update(1, {"allow_ctas": True, "force_ctas_schema": "main"})
    sql = "SELECT 0 AS x; SELECT id FROM orders"
    made = execute(shop.core, sql, select_as_cta=True, queryLimit=1)
    assert made.query.temp_table.startswith("tmp_1_table_20")
    assert (made.query.temp_schema, made.query.extra["notes"]) == ("main", [])
    assert len(execute(shop.core, f"SELECT * FROM {made.query.temp_table}").data) == 2  # no limit in what is made
    assert made.query.temp_table in {table.value for table in shop.core.databases.tables(1)}
    shop.core.databases.update(1, {"allow_run_async": True})
    later = execute(shop.core, sql.split("; ")[1], select_as_cta=True, tmp_table_name="later", runAsync=True)
    assert shop.core.jobs.get(later.query.results_key).wait(10)
    found = shop.core.sql.results(later.query.results_key)
    assert (found.status, found.data, found.query.temp_table) == ("success", (), "later")
