"""The second wall: what a database answers to each kind of statement when the first wall is not there.

On the four engines that have a session of their own nothing is changed (fingerprints before and
after), and the pooled connection goes back in the state in which it came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pymysql
import pytest
import sqlalchemy as sa
from sqlalchemy.pool import PoolResetState
from tests.support.cases import for_each
from tests.support.execution import Target, fingerprint, limits, target

from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.sessions.base import RunRequest, Session
from analytics_core._engine.execution.sessions.mysql import _discard_session, _pin_session
from analytics_core._records.datasource import Access
from analytics_core.errors import AnalyticsError, StatementRefusedError

ENGINES = [
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]


@dataclass(frozen=True, kw_only=True)
class Walled:
    """A database of one engine behind its session only: nothing checks the statements that run on `shop`."""

    engine: str
    shop: Target
    url: str
    folder: Path

    def reported(self) -> dict[str, Any]:
        """Return all that a statement could have changed: files, or tables, rows, roles and sequences of a server."""
        if self.engine in ("sqlite", "duckdb"):
            return dict(fingerprint(self.folder))
        owner = sa.create_engine(self.url, poolclass=sa.NullPool)
        with owner.connect() as connection:
            tables = sorted(sa.inspect(connection).get_table_names())
            rows = {name: sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM {name}"))) for name in tables}
            people = "SELECT rolname FROM pg_roles" if self.engine == "postgresql" else "SELECT user FROM mysql.user"
            if self.engine == "postgresql":
                rows["objects"] = list(map(repr, connection.exec_driver_sql("SELECT oid FROM pg_largeobject_metadata")))
            rows["people"] = sorted(map(repr, connection.exec_driver_sql(people)))
        return rows


@pytest.fixture(scope="module", params=ENGINES)
def walled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walled]:
    folder = tmp_path_factory.mktemp("walled")
    url = f"{request.param}:///{folder}/shop.db"
    if request.param == "postgresql":
        url = request.getfixturevalue("make_postgres_database")()
    if request.param == "mysql":
        url = request.getfixturevalue("make_mariadb_database")()
    owner = sa.create_engine(url, poolclass=sa.NullPool)
    with owner.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE sales (id INTEGER, amount INTEGER)")
        connection.exec_driver_sql("INSERT INTO sales VALUES (1, 10), (2, 20)")
        if request.param in ("postgresql", "mysql"):
            connection.exec_driver_sql("CREATE SEQUENCE numbers_made")
    owner.dispose()
    with target(url, folder, engine=request.param) as shop:
        yield Walled(engine=request.param, shop=shop, url=url, folder=folder)


KINDS: Mapping[str, tuple[str, ...]] = {
    "changes of data": ("INSERT INTO sales VALUES (3, 3)", "UPDATE sales SET id = 9", "DELETE FROM sales"),
    "changes of tables": ("CREATE TABLE loot (i INT)", "DROP TABLE sales", "ALTER TABLE sales ADD COLUMN x INT"),
    "transaction control": ("BEGIN", "COMMIT", "ROLLBACK", "END", "SAVEPOINT s", "RELEASE SAVEPOINT s"),
    "several statements": ("SELECT 1; DELETE FROM sales", "SELECT 1; COMMIT", "COMMIT; DELETE FROM sales"),
    "hidden starts": ("/* SELECT */ DELETE FROM sales", "-- SELECT\nDELETE FROM sales", "(DELETE FROM sales)"),
}
OF_ONE_ENGINE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "sqlite": {
        "session settings": ("PRAGMA query_only = OFF", "PRAGMA writable_schema = ON", "PRAGMA journal_mode = WAL"),
        "maintenance": ("VACUUM", "VACUUM INTO '{folder}/loot'", "REINDEX", "ANALYZE", "ATTACH '{folder}/x' AS y"),
        "changes inside": (
            "WITH x AS (SELECT 1) DELETE FROM sales",
            "WITH x AS (SELECT 1 AS i) INSERT INTO sales SELECT i, i FROM x",
            "EXPLAIN DELETE FROM sales",
        ),
    },
    "duckdb": {
        "session settings": (
            "SET threads = 1",
            "RESET threads",
            "PRAGMA threads = 2",
            "USE memory",
            "SET VARIABLE a = 1",
        ),
        "calls": ("CALL pragma_version()", "PREPARE p AS SELECT 1", "EXECUTE p"),
        "maintenance": ("CHECKPOINT", "VACUUM", "ANALYZE", "INSTALL httpfs", "LOAD httpfs", "DETACH shop"),
        "copies": ("COPY sales TO '{folder}/loot'", "EXPORT DATABASE '{folder}/loot'", "IMPORT DATABASE '{folder}'"),
        "changes inside": (
            "WITH x AS (SELECT 1) DELETE FROM sales",
            "EXPLAIN ANALYZE DELETE FROM sales",
            "EXPLAIN ANALYZE CREATE TABLE loot AS SELECT 1",
        ),
    },
    "postgresql": {
        "session settings": (
            "SET transaction_read_only = off",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
            "SET statement_timeout = 0",
            "RESET ALL",
            "DISCARD ALL",
            "SELECT set_config('transaction_read_only', 'off', true)",
        ),
        "role switches": ("SET ROLE postgres", "RESET ROLE", "SET SESSION AUTHORIZATION postgres", "CREATE ROLE loot"),
        "anonymous blocks and calls": ("DO $$ BEGIN DELETE FROM sales; END $$", "CALL nothing()"),
        "prepared statements": ("PREPARE p AS DELETE FROM sales", "EXECUTE p", "DEALLOCATE ALL"),
        "cursors": ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", "FETCH ALL FROM c", "CLOSE ALL"),
        "maintenance": ("VACUUM", "ANALYZE sales", "REINDEX TABLE sales", "CLUSTER", "CHECKPOINT", "LISTEN x"),
        "locks": ("LOCK TABLE sales", "SELECT * FROM sales FOR UPDATE", "SELECT * FROM sales FOR SHARE"),
        "copies": ("COPY sales TO STDOUT", "COPY sales TO '/tmp/x'", "COPY (SELECT 1) TO PROGRAM 'true'"),
        "changes inside": (
            "WITH gone AS (DELETE FROM sales RETURNING id) SELECT id FROM gone",
            "WITH a AS (SELECT 1), b AS (UPDATE sales SET id = 7 RETURNING id) SELECT * FROM a",
            "EXPLAIN ANALYZE DELETE FROM sales",
            "EXPLAIN (ANALYZE) INSERT INTO sales VALUES (4, 4)",
            "EXPLAIN ANALYZE CREATE TABLE loot AS SELECT 1",
            "EXPLAIN (COSTS OFF, ANALYSE) CREATE TABLE loot AS SELECT 1",
            "SELECT id INTO loot FROM sales",
            "SELECT nextval('numbers_made')",
        ),
    },
    "mysql": {
        "session settings": (
            "SET SESSION TRANSACTION READ WRITE",
            "SET tx_read_only = 0",
            "SET STATEMENT tx_read_only = 0 FOR DELETE FROM sales",
            "SET @x = 1",
            "USE mysql",
        ),
        "role switches": ("SET ROLE NONE", "SET PASSWORD = PASSWORD('x')", "CREATE USER loot", "CREATE ROLE loot"),
        "anonymous blocks and calls": ("BEGIN NOT ATOMIC DELETE FROM sales; END", "CALL nothing()", "DO SLEEP(0)"),
        "prepared statements": ("PREPARE p FROM 'DELETE FROM sales'", "EXECUTE IMMEDIATE 'DELETE FROM sales'"),
        "cursors": ("HANDLER sales OPEN", "HANDLER sales READ FIRST"),
        "maintenance": ("OPTIMIZE TABLE sales", "ANALYZE TABLE sales", "CHECK TABLE sales", "FLUSH TABLES", "KILL 1"),
        "locks": ("LOCK TABLES sales WRITE", "UNLOCK TABLES", "FLUSH TABLES WITH READ LOCK"),
        "copies": ("LOAD DATA INFILE '/etc/passwd' INTO TABLE sales", "SELECT 1 INTO OUTFILE '/tmp/analytics_loot'"),
        "changes inside": (
            "ANALYZE DELETE FROM sales",
            "WITH x AS (SELECT 1) DELETE FROM sales",
            "REPLACE INTO sales VALUES (1, 1)",
            "TRUNCATE TABLE sales",
            "CREATE TEMPORARY TABLE loot (i INT)",
            "SELECT id INTO @x FROM sales LIMIT 1",
        ),
    },
}


def rejection(walled: Walled, text: str) -> AnalyticsError | None:
    try:
        walled.shop.run(text.format(folder=walled.folder))
    except AnalyticsError as error:
        return error
    return None


def test_every_kind_of_statement_is_refused_and_changes_nothing(walled: Walled) -> None:
    before = walled.reported()
    for kind, texts in {**KINDS, **OF_ONE_ENGINE[walled.engine]}.items():
        for text in texts:
            assert rejection(walled, text), f"{kind}: {text}"
            assert walled.shop.rows("SELECT count(*) FROM sales") == [(2,)], text
    assert walled.reported() == before


def test_what_a_read_only_transaction_lets_through_is_rolled_back(walled: Walled) -> None:
    if walled.engine != "postgresql":
        return  # the others let nothing through
    before = walled.reported()
    for text in ("SELECT lo_create(0)", "SELECT lo_from_bytea(0, 'x')"):
        rejection(walled, text)  # older servers run them
    assert walled.reported() == before


@for_each(
    "sql",
    [
        "SELECT 'DELETE FROM sales; COMMIT' AS words",
        "SELECT id AS deleted FROM sales -- DROP TABLE sales\n",
        "/* INSERT */ SELECT id FROM sales",
        "WITH deleted AS (SELECT id FROM sales) SELECT id FROM deleted",
    ],
)
def test_a_query_that_only_looks_like_a_change_runs(walled: Walled, sql: str) -> None:
    assert len(walled.shop.run(sql).frame) > 0


# --------------------------------------------------------------------------------------------------- pooled connections
STATE = {
    "sqlite": (
        "SELECT (SELECT count(*) FROM sqlite_temp_master), total_changes(), changes(), last_insert_rowid(), "
        "(SELECT count(*) FROM sqlite_master)"
    ),
    "duckdb": (
        "SELECT current_setting('TimeZone'), current_setting('search_path'), current_setting('threads'), "
        "getvariable('mark'), (SELECT count(*) FROM duckdb_tables() WHERE temporary), "
        "(SELECT count(*) FROM duckdb_prepared_statements())"
    ),
    "postgresql": (
        "SELECT pg_backend_pid(), current_setting('search_path'), current_setting('TimeZone'), current_user, "
        "current_setting('default_transaction_read_only'), current_setting('transaction_read_only'), "
        "current_setting('application_name'), NULLIF(current_setting('app.mark', true), ''), "
        "(SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors WHERE is_holdable), "
        "(SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'), "
        "(SELECT count(*) FROM pg_listening_channels())"
    ),
    "mysql": (
        "SELECT connection_id(), database(), current_user(), @@tx_read_only, @@autocommit, @@time_zone, @@sql_mode, "
        "@@character_set_client, @@collation_connection, ROUND(@@max_statement_time), @mark, "
        "IS_USED_LOCK('mark') IS NULL, "
        "last_insert_id()"
    ),
}
"""What a session remembers, its own number included: the connection is the same one."""

MARKS: Mapping[str, tuple[str, ...]] = {
    "sqlite": ("PRAGMA temp_store = 2", "CREATE TEMP TABLE t (i)", "BEGIN", "SELECT nope FROM sales"),
    "duckdb": ("SET VARIABLE mark = 1", "SET threads = 1", "CREATE TEMP TABLE t (i INT)", "BEGIN", "SELECT nope"),
    "postgresql": (
        "SELECT set_config('search_path', 'evil', false), set_config('TimeZone', 'Asia/Tokyo', false), "
        "set_config('app.mark', 'x', false), set_config('default_transaction_read_only', 'off', false)",
        "SELECT pg_advisory_lock(7)",
        "SELECT pg_try_advisory_lock_shared(8)",
        "LISTEN mark",
        "SET ROLE postgres",
        "SELECT nope FROM sales",
        "SELECT 1/0",
    ),
    "mysql": (
        "SELECT @mark := 7",
        "SELECT 7 INTO @mark",
        "SELECT GET_LOCK('mark', 1)",
        "SELECT LAST_INSERT_ID(7)",
        "SET time_zone = '+09:00'",
        "SELECT nope FROM sales",
    ),
}
ENDLESS_ROWS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    "duckdb": "SELECT range FROM range(100000000)",
    "postgresql": "SELECT generate_series(1, 100000000)",
    "mysql": "SELECT seq FROM seq_1_to_100000000",
}


def test_a_pooled_connection_goes_back_in_the_state_in_which_it_came(walled: Walled) -> None:
    state = STATE[walled.engine]
    walled.shop.connector.dispose(walled.shop.record.id)
    walled.shop.rows(state)  # connecting takes a part of the first time limit
    before = walled.shop.rows(state)
    for text in MARKS[walled.engine]:
        rejection(walled, text)
        assert walled.shop.rows(state) == before, text
    walled.shop.run(ENDLESS_ROWS[walled.engine], limits=limits(max_rows=10))  # the rest is never read
    again = walled.shop.rows(state)
    assert [row[1:] for row in again] == [row[1:] for row in before]


def test_a_second_user_of_a_connection_finds_no_open_transaction(walled: Walled) -> None:
    """What was committed in the meantime is seen: no snapshot of the first user is left."""
    walled.shop.connector.dispose(walled.shop.record.id)
    assert walled.shop.rows("SELECT count(*) FROM sales") == [(2,)]
    if walled.engine == "duckdb":  # one holder of the file at a time
        walled.shop.connector.dispose(walled.shop.record.id)
    owner = sa.create_engine(walled.url, poolclass=sa.NullPool)
    with owner.begin() as connection:
        connection.exec_driver_sql("INSERT INTO sales VALUES (3, 30)")
    try:
        assert walled.shop.rows("SELECT count(*) FROM sales") == [(3,)]
    finally:
        walled.shop.connector.dispose(walled.shop.record.id)
        with owner.begin() as connection:
            connection.exec_driver_sql("DELETE FROM sales WHERE id = 3")
        owner.dispose()


class OldServer:
    """A connection to a server that does not know the command that makes a session new."""

    def _execute_command(self, command: int, sql: str) -> None:
        raise pymysql.OperationalError(1047, "Unknown command")


class PoolRecord:
    """What a pool knows of a connection."""

    is_given_up = False

    def invalidate(self) -> None:
        """Forget the connection; the next user gets a fresh one."""
        self.is_given_up = True


def test_a_session_that_cannot_be_made_new_is_given_up() -> None:
    record = PoolRecord()
    state = PoolResetState(transaction_was_reset=True, terminate_only=False, asyncio_safe=True)
    _discard_session(partial(_pin_session, access=Access.READ), OldServer(), record, state)
    assert record.is_given_up


@pytest.mark.parametrize(
    "sql", ["EXPLAIN ANALYZE DELETE FROM sales", "EXPLAIN PLAN FOR SELECT 1", "explain (analyze) insert into sales"]
)
def test_an_engine_whose_session_can_write_starts_no_plan_display(sql: str) -> None:
    untouched: Any = None
    statement = Statement(sql=sql, parameters=(), display_sql=sql, labels=(), kinds=())
    with pytest.raises(StatementRefusedError):
        Session().run(RunRequest(connection=untouched, statement=statement, limits=limits(), stopper=Stopper()))
