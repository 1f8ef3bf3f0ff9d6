"""PostgreSQL and MariaDB: read-only sessions, limits that the server keeps, pools that give back clean connections."""

from __future__ import annotations

import logging
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.execution import MARIADB_ENDLESS, POSTGRES_ENDLESS, Target, limits, target

from analytics_core._engine.engines.types import ValueKind as K
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.fetching import ROWS_UNWEIGHED
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._records.secret import Secret
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    ErrorType,
    ResultTooLargeError,
    StatementStoppedError,
    StatementTimeoutError,
)

pytestmark = pytest.mark.server

TABLE = "CREATE TABLE orders (id INTEGER PRIMARY KEY, name VARCHAR(20), price DECIMAL(10, 2), day DATE)"
ROWS = "INSERT INTO orders VALUES (1, 'x', 10.50, '2024-01-31'), (2, 'Ärger', NULL, NULL)"
SECRET = "s3cr3tw0rd"
REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Server:
    """One engine under test: its name, a target, and a connection of the administrator."""

    name: str
    shop: Target
    admin: sa.Engine
    endless: str

    def contents(self) -> list[Any]:
        """Return what a hostile statement could have changed."""
        tables = (
            "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('public', DATABASE()) ORDER BY 1"
        )
        if self.name == "postgresql":
            tables = tables.replace("DATABASE()", "'pg_temp'")
        with self.admin.connect() as connection:
            found = [
                *connection.exec_driver_sql("SELECT * FROM orders ORDER BY id"),
                *connection.exec_driver_sql(tables),
            ]
        return [tuple(row) for row in found]


def make_server(name: str, url: str, endless: str) -> Iterator[Server]:
    admin = sa.create_engine(url, poolclass=sa.NullPool)
    with admin.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS orders")
        connection.exec_driver_sql(TABLE)
        connection.exec_driver_sql(ROWS)
    with target(url, engine=name) as shop:
        yield Server(name=name, shop=shop, admin=admin, endless=endless)
    admin.dispose()


@pytest.fixture(scope="module")
def postgres(make_postgres_database: Callable[..., str]) -> Iterator[Server]:
    yield from make_server("postgresql", make_postgres_database(), POSTGRES_ENDLESS)


@pytest.fixture(scope="module")
def mariadb(make_mariadb_database: Callable[[], str]) -> Iterator[Server]:
    yield from make_server("mysql", make_mariadb_database(), MARIADB_ENDLESS)


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


HOSTILE = [
    "INSERT INTO orders (id) VALUES (9)",
    "UPDATE orders SET name = 'y'",
    "DELETE FROM orders",
    "TRUNCATE TABLE orders",
    "DROP TABLE orders",
    "CREATE TABLE t (i INT)",
    "CREATE TEMPORARY TABLE t (i INT)",
    "CREATE VIEW v AS SELECT 1",
    "ALTER TABLE orders ADD COLUMN c INT",
    "GRANT ALL ON orders TO PUBLIC",
    "START TRANSACTION",
    "COMMIT",
    "SET TRANSACTION READ WRITE",
    "SELECT 1; DELETE FROM orders",
    "SELECT 1; SELECT 2",
    "/* SELECT */ DELETE FROM orders",
    "-- SELECT\nDELETE FROM orders",
    "SELECT * FROM orders FOR UPDATE; COMMIT",
    "",
]
POSTGRES_HOSTILE = [
    "SET transaction_read_only = off",
    "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
    "SET statement_timeout = 0",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
    "EXPLAIN ANALYZE DELETE FROM orders",
    "SELECT * INTO t FROM orders",
    "COPY orders TO '/tmp/analytics_core_copy'",
    "COPY (SELECT 1) TO PROGRAM 'touch /tmp/analytics_core_copy'",
    "COPY orders TO STDOUT",
    "DO $$ BEGIN DELETE FROM orders; END $$",
    "CALL nothing()",
    "LOCK TABLE orders",
    "VACUUM",
    "SELECT nextval('orders_seq')",
    "SELECT * FROM orders FOR UPDATE",
    "PREPARE p AS DELETE FROM orders",
    "DISCARD ALL",
    "NOTIFY x",
]
MARIADB_HOSTILE = [
    "SET SESSION TRANSACTION READ WRITE",
    "SET tx_read_only = 0",
    "SET STATEMENT max_statement_time = 0 FOR SELECT 1",
    "SELECT 1 INTO OUTFILE '/tmp/analytics_core_out'",
    "SELECT 1\n into/* x */outfile '/tmp/analytics_core_out'",
    "SELECT 1 INTO DUMPFILE '/tmp/analytics_core_out'",
    "SELECT 'it''s' INTO OUTFILE '/tmp/analytics_core_out'",
    "SELECT '\\'' INTO OUTFILE '/tmp/analytics_core_out'",
    "SELECT 1 /*!50000 INTO OUTFILE '/tmp/analytics_core_out' */",
    "SELECT 1 /*M!100000 + 1 */",
    "SELECT 1 INTO @x",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE orders",
    "LOCK TABLES orders READ",
    "FLUSH TABLES",
    "OPTIMIZE TABLE orders",
    "ANALYZE DELETE FROM orders",
    "REPLACE INTO orders (id) VALUES (1)",
    "PREPARE p FROM 'DELETE FROM orders'",
    "HANDLER orders OPEN",
    "KILL 1",
]


def reject(server: Server, sql: str) -> None:
    before = server.contents()
    with pytest.raises(AnalyticsError):
        server.shop.run(sql)
    assert server.contents() == before
    assert server.shop.rows("SELECT count(*) FROM orders") == [(2,)]
    assert not Path("/tmp/analytics_core_copy").exists()
    assert not Path("/tmp/analytics_core_out").exists()


@for_each("sql", HOSTILE)
def test_nothing_but_reading_gets_through(server: Server, sql: str) -> None:
    reject(server, sql)


@for_each("sql", POSTGRES_HOSTILE)
def test_nothing_but_reading_gets_through_on_postgresql(postgres: Server, sql: str) -> None:
    reject(postgres, sql)


@for_each("sql", MARIADB_HOSTILE)
def test_nothing_but_reading_gets_through_on_mariadb(mariadb: Server, sql: str) -> None:
    reject(mariadb, sql)


@for_each(
    "sql",
    [
        "SELECT 'drop table orders; COPY' AS t",
        "SELECT 'INTO OUTFILE ''x''' AS t, 1 AS i -- INTO OUTFILE 'x'\n",
        "SELECT 1 /* into outfile 'x' */",
        "/* INSERT */ SELECT id FROM orders",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "SELECT id, row_number() OVER (ORDER BY id) FROM orders",
        "VALUES (1), (2)",
        "EXPLAIN SELECT * FROM orders",
    ],
)
def test_harmless_look_alikes_run(server: Server, sql: str) -> None:
    assert len(server.shop.run(sql).frame) > 0


def test_percent_signs_are_doubled_and_come_out_single(server: Server) -> None:
    assert server.shop.rows("SELECT '50%%', 7 %% 4") == [("50%", 3)]
    assert server.shop.rows("SELECT %(p0)s", {"p0": "50% ' \\ :x ?"}) == [("50% ' \\ :x ?",)]


# ------------------------------------------------------------------------------------------------------------- limits
def test_the_time_limit_stops_the_statement_and_the_connection_stays_usable(server: Server) -> None:
    server.shop.rows("SELECT 1")
    with pytest.raises(StatementTimeoutError, match=r"longer than 0\.5 seconds"):
        server.shop.run(server.endless, limits=limits(timeout_s=0.5))
    assert server.shop.rows("SELECT 1") == [(1,)]
    assert running(server) == 0


def running(server: Server) -> int:
    """Return how many endless statements the server still runs; one that ends is given a moment for it."""
    deadline = time.monotonic() + 10
    while (count := running_now(server)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return count


def running_now(server: Server) -> int:
    sql = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%%generate_series(1, 1000000)%%' "
        "AND pid <> pg_backend_pid() AND datname = current_database()"
        if server.name == "postgresql"
        else "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%%seq_1_to_1000000%%' "
        "AND id <> connection_id() AND db = database()"
    )
    return scalar(server, sql)


def scalar(server: Server, sql: str) -> int:
    """Return the one number of a question of the administrator, asked in a transaction of its own."""
    with server.admin.connect() as connection:
        return int(connection.exec_driver_sql(sql).scalar_one())


RUNS = """
import sys
from tests.support.execution import limits, target
with target(sys.argv[1], engine="postgresql") as shop:
    shop.run(sys.argv[2], limits=limits(timeout_s=60))
"""


def test_the_statement_of_a_process_that_is_killed_ends_on_postgresql(postgres: Server) -> None:
    url = postgres.admin.url.render_as_string(hide_password=False)
    with subprocess.Popen([sys.executable, "-c", RUNS, url, postgres.endless], cwd=REPOSITORY) as process:
        deadline = time.monotonic() + 30
        while not running_now(postgres) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert running_now(postgres) == 1
        process.kill()
    assert running(postgres) == 0


def test_a_statement_that_lifts_the_servers_limit_is_stopped_all_the_same(postgres: Server) -> None:
    sql = (
        "SELECT set_config('statement_timeout', '0', false), count(*) FROM generate_series(1, 1000000) a, "
        "generate_series(1, 1000000) b WHERE a + b < 0"
    )
    with pytest.raises(StatementTimeoutError):
        postgres.shop.run(sql, limits=limits(timeout_s=0.5))


def test_a_function_that_ends_early_at_the_limit_does_not_pass_for_an_answer(mariadb: Server) -> None:
    with pytest.raises(StatementTimeoutError):
        mariadb.shop.run("SELECT BENCHMARK(1000000000, SHA2('x', 512))", limits=limits(timeout_s=0.3))
    with pytest.raises(StatementTimeoutError):
        mariadb.shop.run("SELECT SLEEP(5)", limits=limits(timeout_s=0.3))


def test_cancelling_at_any_moment_ends_the_statement(server: Server) -> None:
    chance = random.Random(7)
    for _ in range(50):
        token = CancelToken()
        timer = threading.Timer(chance.uniform(0, 0.03), token.cancel)
        timer.start()
        with pytest.raises(StatementStoppedError):
            server.shop.run(server.endless, cancel=token)
        timer.join()
        assert server.shop.rows("SELECT 1") == [(1,)]
    assert running(server) == 0


BIG = {
    "postgresql": "SELECT repeat('x', 1000) FROM generate_series(1, 10000) a, generate_series(1, 10000) b",
    "mysql": "SELECT repeat('x', 1000) FROM seq_1_to_100000000",
}


def test_the_byte_budget_stops_the_statement_on_the_server(server: Server) -> None:
    with pytest.raises(ResultTooLargeError):
        server.shop.run(BIG[server.name], limits=limits(max_bytes=5_000_000, max_rows=10**9))
    assert server.shop.rows("SELECT 1") == [(1,)]


GROWING = {
    "postgresql": "SELECT i, repeat('x', CASE WHEN i <= {narrow} THEN 1 ELSE 900000 END) AS t "
    "FROM generate_series(1, 1000) s(i)",
    "mysql": "SELECT seq AS i, repeat('x', CASE WHEN seq <= {narrow} THEN 1 ELSE 900000 END) AS t FROM seq_1_to_1000",
}


@for_each("narrow", [0, 500])
@for_each("columns", [{}, {"i": K.INTEGER, "t": K.TEXT}], ids=["unplanned", "planned"])
def test_rows_that_suddenly_grow_are_weighed_soon(server: Server, narrow: int, columns: dict[str, K]) -> None:
    with pytest.raises(ResultTooLargeError) as caught:
        server.shop.run(GROWING[server.name].format(narrow=narrow), columns=columns, limits=limits(max_bytes=2_000_000))
    assert narrow < caught.value.extra["rows"] <= narrow + 3 + ROWS_UNWEIGHED
    assert server.shop.rows("SELECT 1") == [(1,)]


def test_the_row_limit_is_reported_and_the_rest_is_not_read(server: Server) -> None:
    executed = server.shop.run(BIG[server.name], limits=limits(max_rows=100))
    assert (len(executed.frame), executed.has_more) == (100, True)
    assert server.shop.rows("SELECT 1") == [(1,)]


def test_no_rows_keep_their_names(server: Server) -> None:
    assert server.shop.run("SELECT id, name FROM orders WHERE id = 99").frame.names == ("id", "name")
    planned = {"a": K.INTEGER, "b": K.TEXT}
    frame = server.shop.run("SELECT id, name FROM orders WHERE id = 99", columns=planned).frame
    assert [(column.name, column.kind, len(column)) for column in frame.columns] == [
        ("a", K.INTEGER, 0),
        ("b", K.TEXT, 0),
    ]


# --------------------------------------------------------------------------------------------------------------- pool
def test_what_a_statement_sets_in_its_session_is_gone_for_the_next(postgres: Server) -> None:
    settings = "current_setting('search_path'), current_setting('TimeZone'), current_setting('transaction_read_only')"
    before = postgres.shop.rows(f"SELECT {settings}")
    postgres.shop.run(
        "SELECT set_config('search_path', 'evil', false), set_config('TimeZone', 'Europe/Berlin', false), "
        "pg_advisory_lock(7)"
    )
    assert postgres.shop.rows(f"SELECT {settings}") == before
    assert before[0][1:] == ("UTC", "on")
    # The server's other databases are those of tests that run beside this one.
    ours = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    assert postgres.shop.rows(f"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND {ours}") == [(0,)]


def test_each_statement_finds_the_session_pinned(mariadb: Server) -> None:
    settings = "SELECT @@time_zone, @@tx_read_only, @@sql_mode LIKE '%%ANSI_QUOTES%%', @@max_statement_time"
    ((*pinned, limit_s),) = mariadb.shop.rows(settings)
    assert pinned == ["+00:00", 1, 0]
    assert 10 < limit_s <= 20  # what is left of the limit when the statement begins


def test_a_connection_that_the_server_closed_is_replaced(server: Server) -> None:
    me = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT connection_id()"}[server.name]
    kill = {"postgresql": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}[server.name]
    number = server.shop.rows(me)[0][0]
    query = {
        "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE pid = {}",
        "mysql": "SELECT count(*) FROM information_schema.processlist WHERE id = {}",
    }[server.name]
    with server.admin.connect() as connection:
        connection.exec_driver_sql(kill.format(number))
    deadline = time.monotonic() + 10
    while scalar(server, query.format(number)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.shop.rows("SELECT 1") == [(1,)]


def test_several_threads_run_at_once(server: Server) -> None:
    answers: list[int] = []

    def ask(number: int) -> None:
        answers.extend(row[0] for row in server.shop.rows("SELECT CAST(%(p0)s AS DECIMAL(10, 0))", {"p0": number}))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(20))


# ------------------------------------------------------------------------------------------------------------- values
@for_each(
    ("sql", "planned", "kind", "expected"),
    [
        ("SELECT sum(id) FROM orders", K.INTEGER, K.INTEGER, 3),
        ("SELECT sum(CAST(id AS DECIMAL(20, 0))) FROM orders", K.INTEGER, K.INTEGER, 3),
        ("SELECT sum(price) FROM orders", K.DECIMAL, K.DECIMAL, Decimal("10.50")),
        ("SELECT avg(price) FROM orders", K.FLOAT, K.FLOAT, 10.5),
        ("SELECT count(*) FROM orders", K.INTEGER, K.INTEGER, 2),
        ("SELECT max(day) FROM orders", K.DATE, K.DATE, date(2024, 1, 31)),
        ("SELECT max(day) FROM orders", K.TIMESTAMP, K.TIMESTAMP, datetime(2024, 1, 31)),
        ("SELECT name FROM orders WHERE id = 2", K.TEXT, K.TEXT, "Ärger"),
        ("SELECT name FROM orders WHERE id = 2", K.UNKNOWN, K.TEXT, "Ärger"),
        ("SELECT price FROM orders WHERE id = 2", K.DECIMAL, K.DECIMAL, None),
        ("SELECT id = 2 FROM orders WHERE id = 2", K.BOOLEAN, K.BOOLEAN, True),
    ],
)
def test_values_come_out_by_the_plan(server: Server, sql: str, planned: K, kind: K, expected: Any) -> None:
    assert server.shop.values(sql, columns={"label": planned}) == (kind, [expected])


@for_each(
    ("sql", "planned", "kind", "expected"),
    [
        (
            "SELECT '2024-01-31 10:00:00+02'::timestamptz",
            K.TIMESTAMPTZ,
            K.TIMESTAMPTZ,
            datetime(2024, 1, 31, 8, tzinfo=UTC),
        ),
        ("SELECT 'NaN'::float8", K.FLOAT, K.FLOAT, None),
        ("SELECT 'NaN'::numeric", K.DECIMAL, K.DECIMAL, None),
        ("SELECT 'infinity'::float8", K.UNKNOWN, K.FLOAT, None),
        ("SELECT '\\xaa'::bytea", K.BYTES, K.BYTES, b"\xaa"),
        ("SELECT '{\"a\": 1}'::jsonb", K.OTHER, K.OTHER, '{"a": 1}'),
        ("SELECT ARRAY[1, 2]", K.UNKNOWN, K.OTHER, [1, 2]),
        (
            "SELECT '00000000-0000-0000-0000-000000000001'::uuid",
            K.UNKNOWN,
            K.TEXT,
            "00000000-0000-0000-0000-000000000001",
        ),
        ("SELECT '10.0.0.1'::inet", K.UNKNOWN, K.OTHER, "10.0.0.1"),
        ("SELECT interval '1 month 2 days'", K.OTHER, K.OTHER, "1 mon 2 days"),
    ],
)
def test_values_of_postgresqls_own_types(postgres: Server, sql: str, planned: K, kind: K, expected: Any) -> None:
    assert postgres.shop.values(sql, columns={"label": planned}) == (kind, [expected])


def test_moments_that_python_cannot_hold_are_null_and_told(postgres: Server) -> None:
    executed = postgres.shop.run("SELECT 'infinity'::timestamp AS ts", columns={"ts": K.TIMESTAMP})
    assert executed.frame.columns[0].to_list() == [None]
    (note,) = executed.notes
    assert note.startswith("column 'ts': 1 values cannot be shown")


@pytest.mark.parametrize(
    ("sql", "planned", "kind", "expected"),
    [
        ("SELECT b'1'", K.BOOLEAN, K.BOOLEAN, True),
        ("SELECT TIME '10:30:00'", K.TIME, K.TIME, datetime(2024, 1, 1, 10, 30).time()),
        ("SELECT avg(id) FROM orders", K.UNKNOWN, K.DECIMAL, Decimal("1.5000")),
        ("SELECT CAST('2024-01-31 10:00:00.000005' AS DATETIME(6))", K.TIMESTAMP, K.TIMESTAMP,
         datetime(2024, 1, 31, 10, 0, 0, 5)),
    ],
)  # fmt: skip
def test_values_of_mariadbs_own_types(mariadb: Server, sql: str, planned: K, kind: K, expected: Any) -> None:
    assert mariadb.shop.values(sql, columns={"label": planned}) == (kind, [expected])


# ------------------------------------------------------------------------------------------------------------- errors
@for_each(
    ("sql", "error_type", "named"),
    [
        ("SELECT * FROM nosuch", ErrorType.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
        ("SELECT nocol FROM orders", ErrorType.COLUMN_DOES_NOT_EXIST_ERROR, "nocol"),
        ("SELECT o.nocol FROM orders o", ErrorType.COLUMN_DOES_NOT_EXIST_ERROR, "nocol"),
        ("SELECT nofunc(1)", ErrorType.OBJECT_DOES_NOT_EXIST_ERROR, "function"),
        ("SELECT * FRO orders", ErrorType.SYNTAX_ERROR, ""),
        ("SELECT (SELECT id FROM orders)", ErrorType.SYNTAX_ERROR, "sub-query"),
        ("SELECT id FROM orders WHERE SUM(id) > 1", ErrorType.SYNTAX_ERROR, "aggregate stands"),
        ("SELECT MAX(SUM(id)) FROM orders", ErrorType.SYNTAX_ERROR, "aggregate stands"),
        ("SELECT 1 UNION SELECT 1, 2", ErrorType.SYNTAX_ERROR, "unequal numbers of columns"),
        ("SELECT 9223372036854775807 + 9223372036854775807", ErrorType.GENERIC_DB_ENGINE_ERROR, "larger"),
    ],
)
def test_errors_are_diagnosed_without_the_drivers_words(
    server: Server, sql: str, error_type: ErrorType, named: str
) -> None:
    with pytest.raises(DatabaseError) as caught:
        server.shop.run(f"{sql} -- {SECRET}")
    assert caught.value.error_type is error_type
    assert named in caught.value.message
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert SECRET not in f"{caught.value!r} {caught.value.to_payload()}"


@pytest.mark.logs_secrets("the test's own engine makes the user, and its statement is logged")
@for_each(
    ("change", "error_type"),
    [
        ({"host": "nosuch.invalid"}, ErrorType.CONNECTION_INVALID_HOSTNAME_ERROR),
        ({"port": 1}, ErrorType.CONNECTION_PORT_CLOSED_ERROR),
        ({"database": "nosuch"}, ErrorType.CONNECTION_UNKNOWN_DATABASE_ERROR),
        ({"username": "nosuch"}, None),
    ],
)
def test_connection_failures_are_diagnosed_and_tell_no_password(
    server: Server, change: dict[str, Any], error_type: ErrorType | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = sa.make_url(server.shop.record.uri.reveal()).set(password=SECRET)
    if server.name == "mysql":  # unlike PostgreSQL here, it looks at the password first
        url = url.set(username="reader_of_all")
        with server.admin.begin() as connection:
            connection.exec_driver_sql(f"CREATE OR REPLACE USER reader_of_all IDENTIFIED BY '{SECRET}'")
            connection.exec_driver_sql("GRANT SELECT ON *.* TO reader_of_all")
        caplog.clear()  # what the administrator's own engine said
    url = url.set(**change)
    record = replace(server.shop.record, id=77, uri=Secret(url.render_as_string(hide_password=False)))
    with pytest.raises(DatabaseError) as caught:
        replace(server.shop, record=record).run("SELECT 1")
    server.shop.connector.dispose(77)
    users = (ErrorType.CONNECTION_INVALID_USERNAME_ERROR, ErrorType.CONNECTION_ACCESS_DENIED_ERROR)
    assert caught.value.error_type in ((error_type,) if error_type else users)
    texts = (repr(caught.value), str(caught.value.to_payload()), caplog.text, repr(record))
    assert not [text for text in texts if SECRET in text]


@pytest.mark.logs_secrets("the test's own engine makes the user, and its statement is logged")
def test_a_table_without_a_grant_is_a_permission_error(server: Server) -> None:
    user = "analyst_pg" if server.name == "postgresql" else "analyst_my"
    url = sa.make_url(server.shop.record.uri.reveal()).set(username=user, password=SECRET)
    statements = (
        [f"DROP ROLE IF EXISTS {user}", f"CREATE ROLE {user} LOGIN PASSWORD '{SECRET}'"]
        if server.name == "postgresql"
        else [
            f"CREATE OR REPLACE USER {user} IDENTIFIED BY '{SECRET}'",
            "CREATE OR REPLACE TABLE open_to_all (i INT)",
            f"GRANT SELECT ON open_to_all TO {user}",
        ]
    )
    with server.admin.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    record = replace(server.shop.record, id=78, uri=Secret(url.render_as_string(hide_password=False)))
    weak = replace(server.shop, record=record)
    with pytest.raises(DatabaseError) as caught:
        weak.run("SELECT * FROM orders")
    assert caught.value.error_type is ErrorType.CONNECTION_DATABASE_PERMISSIONS_ERROR
    assert "orders" in caught.value.message
    server.shop.connector.dispose(78)


# --------------------------------------------------------------------------------------------------------- reflection
def test_tables_and_columns_are_reflected(server: Server) -> None:
    with server.admin.begin() as connection:
        connection.exec_driver_sql("DROP VIEW IF EXISTS latest")
        connection.exec_driver_sql("CREATE VIEW latest AS SELECT id, day FROM orders")
    reflector, record = Reflector(server.shop.connector), server.shop.admission
    assert {("orders", False), ("latest", True)} <= {(table.name, table.is_view) for table in reflector.tables(record)}
    columns = reflector.columns(record, table="orders")
    assert [(column.name, column.nullable) for column in columns] == [
        ("id", False),
        ("name", True),
        ("price", True),
        ("day", True),
    ]
    assert [column.nullable for column in reflector.columns(record, table="latest")] == [None, None]
    assert reflector.schemas(record)
    with server.admin.begin() as connection:
        connection.exec_driver_sql("DROP VIEW latest")


def test_the_functions_that_a_server_knows_are_told(server: Server) -> None:
    names = Reflector(server.shop.connector).functions(server.shop.admission)
    assert {"concat", "date_format" if server.name == "mysql" else "date_trunc"} <= set(names)
    assert list(names) == sorted(set(names))


def test_a_missing_table_is_an_error_that_names_the_nearest(server: Server) -> None:
    with pytest.raises(DatabaseError, match="did you mean 'orders'") as caught:
        Reflector(server.shop.connector).columns(server.shop.admission, table="order")
    assert caught.value.error_type is ErrorType.TABLE_DOES_NOT_EXIST_ERROR


def test_the_columns_of_a_query_are_told_with_their_types(server: Server) -> None:
    from tests.support.execution import REGISTRY

    spec = REGISTRY.get(server.name)
    sql = "SELECT id, name, price, day, '50%' AS label FROM orders -- the end"
    columns = Reflector(server.shop.connector).columns_of_select(server.shop.admission, sql)
    kinds = {column.name: spec.value_kind(column.type_text) for column in columns}
    assert kinds == {"id": K.INTEGER, "name": K.TEXT, "price": K.DECIMAL, "day": K.DATE, "label": K.TEXT}
