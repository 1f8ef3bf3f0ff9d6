"""ClickHouse itself: what its sessions let through, how they end, what its errors mean, what it tells of tables."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.cluster_servers import ClickhouseServer
from tests.support.execution import Target, limits, target

import analytics_core
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core.errors import DatabaseError, ErrorType, ResultTooLargeError, StatementStoppedError
from analytics_core.errors import StatementTimeoutError as Late

ENDLESS = "SELECT sum(sipHash64(number)) FROM numbers(100000000000)"
TABLE = (
    "CREATE TABLE shop.orders (id Int32, city Nullable(String), at DateTime64(6), cost Nullable(Decimal(38, 9)), "
    "tags Array(String)) ENGINE = MergeTree ORDER BY id",
    "INSERT INTO shop.orders SELECT number, if(number % 2, 'Bonn', NULL), '2024-01-31 10:00:00.25', "
    "12345678901234567.123456789, ['a', 'b'] FROM numbers(10)",
    "CREATE VIEW shop.cities AS SELECT city FROM shop.orders",
)


@pytest.fixture(scope="module")
def url(clickhouse: ClickhouseServer) -> str:
    """A database with a table of ten orders and a view."""
    clickhouse.execute("DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop", *TABLE)
    return clickhouse.url("shop")


@pytest.fixture
def shop(url: str) -> Iterator[Target]:
    with target(url, engine="clickhouse") as opened:
        yield opened


def error_of(shop: Target, sql: str, **options: Any) -> DatabaseError:
    with pytest.raises(DatabaseError) as caught:
        shop.run(sql, **options)
    return caught.value


@for_each(
    "sql",
    [
        "SELECT * FROM orders SETTINGS readonly = 0",
        f"{ENDLESS} SETTINGS max_execution_time = 0",
        "SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
        "SELECT * FROM remote('127.0.0.1', 'system.one')",
        "SELECT * FROM executable('id', 'TSV', 'a String')",
        "WITH 1 AS a INSERT INTO orders (id) VALUES (99)",
    ],
)
def test_no_statement_that_begins_as_a_query_does_gets_through_the_wall(
    sql: str, shop: Target, clickhouse: ClickhouseServer
) -> None:
    """The guard refuses most of them; here they reach the session."""
    assert error_of(shop, sql).error_type is not ErrorType.CONNECTION_DATABASE_TIMEOUT
    assert clickhouse.execute("SELECT count() FROM shop.orders") == [(10,)]


def test_rows_that_an_outer_join_adds_hold_nulls(shop: Target) -> None:
    sql = (
        "SELECT o.id, k.k FROM orders AS o LEFT JOIN (SELECT 3 AS k, 'x' AS t) AS k ON k.k = o.id ORDER BY o.id LIMIT 2"
    )
    assert shop.rows(sql) == [(0, None), (1, None)]


def test_texts_with_marks_of_the_driver_stay_texts(shop: Target) -> None:
    written = "{city:String} %(p)s {"
    sql = "SELECT '{city:String} %%(p)s {' AS a, %(p)s AS b, '100%%' AS c"
    assert shop.rows(sql, {"p": written}) == [(written, written, "100%")]


def test_the_time_limit_is_the_servers_own(shop: Target, clickhouse: ClickhouseServer) -> None:
    began = time.monotonic()
    with pytest.raises(Late):
        shop.run(ENDLESS, limits=limits(timeout_s=1.0))
    assert time.monotonic() - began < 3.0
    assert is_over(clickhouse)


def test_a_statement_is_stopped_on_the_server(shop: Target, clickhouse: ClickhouseServer) -> None:
    token = CancelToken()
    threading.Timer(0.5, token.cancel).start()
    began = time.monotonic()
    with pytest.raises(StatementStoppedError):
        shop.run(ENDLESS, cancel=token)
    assert time.monotonic() - began < 5.0
    assert is_over(clickhouse)


def test_a_stopped_stream_gives_its_connection_back(shop: Target) -> None:
    stream = shop.stream("SELECT number FROM numbers(1000000)")
    assert len(next(stream)) > 0
    stream.close()
    assert shop.is_returned()


def test_a_result_beyond_its_bytes_is_refused_before_all_of_it_is_read(shop: Target) -> None:
    with pytest.raises(ResultTooLargeError):
        shop.run("SELECT repeat('x', 1000) FROM numbers(100000)", limits=limits(max_bytes=1_000_000))


def test_a_result_without_rows_has_its_columns(shop: Target) -> None:
    assert [column.name for column in shop.run("SELECT id, city FROM orders WHERE id < 0").frame.columns] == [
        "id",
        "city",
    ]


@for_each(
    ("sql", "kind", "words"),
    [
        ("SELECT nosuch FROM orders", ErrorType.COLUMN_DOES_NOT_EXIST_ERROR, "no column nosuch"),
        ("SELECT * FROM nosuch", ErrorType.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
        ("SELECT * FROM nodb.orders", ErrorType.CONNECTION_UNKNOWN_DATABASE_ERROR, "nodb"),
        ("SELECT selec 1 1", ErrorType.SYNTAX_ERROR, ""),
        ("SELECT * FROM shop.nosuch", ErrorType.TABLE_DOES_NOT_EXIST_ERROR, "no table shop.nosuch"),
        ("SELECT o.nosuch FROM orders AS o", ErrorType.COLUMN_DOES_NOT_EXIST_ERROR, "no column o.nosuch"),
        ("SELECT city, count() FROM orders", ErrorType.SYNTAX_ERROR, "neither grouped"),
        ("SELECT sum(count()) FROM orders", ErrorType.SYNTAX_ERROR, "an aggregate stands"),
        ("SELECT city + 1 FROM orders", ErrorType.GENERIC_DB_ENGINE_ERROR, "cannot be converted"),
        ("SELECT toInt32(assumeNotNull(city)) FROM orders", ErrorType.GENERIC_DB_ENGINE_ERROR, "cannot be converted"),
        ("SELECT repeat('x', 100000000000)", ErrorType.GENERIC_DB_ENGINE_ERROR, "larger"),
        ("SELECT intDiv(1, id - id) FROM orders", ErrorType.GENERIC_DB_ENGINE_ERROR, "divides by zero"),
        ("SELECT nosuch(1)", ErrorType.OBJECT_DOES_NOT_EXIST_ERROR, "function"),
    ],
)
def test_errors_say_what_is_wrong_in_our_words(sql: str, kind: ErrorType, words: str, shop: Target) -> None:
    error = error_of(shop, sql)
    assert error.error_type is kind, error.message
    assert words in error.message
    assert "Bonn" not in f"{error} {error.extra}"


def test_the_protocol_of_a_url_is_the_drivers_interface(url: str) -> None:
    with target(f"{url}?protocol=http", engine="clickhouse") as opened:
        assert opened.rows("SELECT 1") == [(1,)]


def test_a_server_that_is_not_there_is_told_as_one(url: str) -> None:
    with target("clickhousedb://default@127.0.0.1:1/shop", engine="clickhouse") as nowhere:
        assert error_of(nowhere, "SELECT 1").error_type is ErrorType.CONNECTION_PORT_CLOSED_ERROR


def test_tables_views_columns_and_types_are_read(url: str) -> None:
    with analytics_core.connect(url) as core:
        found = [(item.value, item.type) for item in core.databases.tables(1)]
        assert found == [("cities", "view"), ("orders", "table")]
        made = core.datasets.create({"database": 1, "table_name": "orders"})
        assert [(column.column_name, column.type) for column in made.columns] == [
            ("id", "Int32"),
            ("city", "Nullable(String)"),
            ("at", "DateTime64(6)"),
            ("cost", "Nullable(Decimal(38, 9))"),
            ("tags", "Array(String)"),
        ]


def test_an_engine_in_the_process_is_asked_as_a_server_is(tmp_path: Any) -> None:
    """chdb, by the driver's own interface to it: handed over by the host as an engine."""
    engine = sa.create_engine("clickhousedb://", connect_args={"interface": "chdb", "path": str(tmp_path / "data")})
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE orders (city String, n Int32) ENGINE = MergeTree ORDER BY n")
        connection.exec_driver_sql("INSERT INTO orders SELECT 'Bonn', number FROM numbers(4)")
    with analytics_core.connect(engine, statement_timeout_s=1.0) as core:
        assert core.sql("SELECT city, sum(n) AS n FROM orders GROUP BY city").rows() == [("Bonn", 6)]
        with pytest.raises(Late):
            core.sql(ENDLESS)
    engine.dispose()


class Redirecting(BaseHTTPRequestHandler):
    """Sends whoever asks to another server."""

    to: str

    def do_POST(self) -> None:
        """Say that the answer is elsewhere."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(307)
        self.send_header("Location", f"{self.to}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_arguments: Any) -> None:
        """Print nothing."""


@contextmanager
def redirecting(to: str) -> Iterator[int]:
    handler = type("To", (Redirecting,), {"to": to})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def test_a_server_cannot_send_us_to_another_one(clickhouse: ClickhouseServer, url: str) -> None:
    with redirecting(f"http://127.0.0.1:{clickhouse.port}") as port:
        hostile = f"clickhousedb://default@127.0.0.1:{port}/shop"
        with target(hostile, engine="clickhouse") as sent, pytest.raises(DatabaseError):
            sent.run("SELECT count() FROM orders")


def is_over(clickhouse: ClickhouseServer, within_s: float = 3.0) -> bool:
    """Tell whether no statement of ours runs any more, at the latest after so many seconds."""
    latest = time.monotonic() + within_s
    running = "SELECT count() FROM system.processes WHERE query LIKE '%%sipHash64%%' AND query NOT LIKE '%%processes%%'"
    while clickhouse.execute(running) != [(0,)]:
        if time.monotonic() > latest:
            return False
        time.sleep(0.05)
    return True
