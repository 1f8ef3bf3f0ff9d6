"""Spark itself: values, ends, errors, reflection, and whether row rules hold there."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from decimal import Decimal

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.cluster_servers import SparkServer
from tests.support.execution import Target, limits, target
from tests.support.fence_trials import Trials, fill, leaks, one_rule_each
from tests.support.hostile_spark import FILES_BY_NAMES
from tests.support.revealing import SPARK
from tests.support.stalling_proxy import StallingProxy, stalling_proxy

import analytics_core
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core.errors import DatabaseError, ErrorType, StatementRefusedError, StatementStoppedError
from analytics_core.errors import StatementTimeoutError as Late

ENDLESS = "SELECT count(*) FROM range(1000000) a CROSS JOIN range(1000000) b WHERE a.id + b.id < 0"
TABLE = (
    "CREATE TABLE orders USING parquet AS SELECT CAST(id AS INT) AS id, IF(id % 2 = 1, 'Bonn', NULL) AS city, "
    "TIMESTAMP '2024-01-31 10:00:00.25' AS at, DATE '2024-01-31' AS day, "
    "CAST(12345678901234567.123456789 AS DECIMAL(38, 9)) AS cost, ARRAY('a', 'b') AS tags FROM range(10)",
    "CREATE VIEW cities AS SELECT city FROM orders",
)


@pytest.fixture(scope="module")
def url(spark: SparkServer) -> str:
    """A database with a table of ten orders and a view."""
    made = spark.make_database()
    engine = sa.create_engine(made)
    with engine.connect() as connection:
        for statement in TABLE:
            connection.exec_driver_sql(statement.replace("%", "%%"), {})
    engine.dispose()
    return made


@pytest.fixture
def shop(url: str) -> Iterator[Target]:
    with target(url, engine="spark") as opened:
        yield opened


def error_of(shop: Target, sql: str) -> DatabaseError:
    with pytest.raises(DatabaseError) as caught:
        shop.run(sql)
    return caught.value


def test_values_come_as_they_are_bound_ones_too(shop: Target) -> None:
    text = "O'Hara\t\\ %(p)s"
    sql = "SELECT %(p)s AS a, cost = %(cost)s AS b, '100%%' AS c FROM orders LIMIT 1"
    assert shop.rows(sql, {"p": text, "cost": Decimal("12345678901234567.123456789")}) == [(text, True, "100%")]


def test_the_log_holds_no_value_and_no_row(shop: Target, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    assert shop.rows("SELECT city, %(p)s FROM orders WHERE id = 1", {"p": "a secret"}) == [("Bonn", "a secret")]
    assert "a secret" not in caplog.text
    assert "Bonn" not in caplog.text


@for_each("variable", ["env:PATH", "system:java.version", "spark.sql.warehouse.dir"])
def test_no_variable_of_the_server_is_written_into_a_statement(variable: str, shop: Target) -> None:
    text = f"${{{variable}}}"
    assert shop.rows("SELECT %(p)s AS a", {"p": text}) == shop.rows(f"SELECT '{text}' AS a") == [(text,)]


@for_each("name", [*FILES_BY_NAMES, "text.log", "text.`file:/etc/passwd`"])
def test_no_file_of_the_server_is_read_by_a_name(name: str, shop: Target) -> None:
    """Of the session's own: the log of the server lies in the folder that it works in."""
    assert "no table" in error_of(shop, f"SELECT * FROM {name}").message


@for_each("sql", ["FROM orders INSERT INTO orders SELECT *", "INSERT INTO orders SELECT * FROM orders", "SET x = 1"])
def test_a_text_that_does_not_begin_as_a_query_does_is_refused(sql: str, shop: Target) -> None:
    with pytest.raises(StatementRefusedError):
        shop.run(sql)
    assert shop.rows("SELECT count(*) FROM orders") == [(10,)]


def test_a_statement_ends_at_its_time_limit_and_the_server_goes_on(shop: Target) -> None:
    with pytest.raises(Late):
        shop.run(ENDLESS, limits=limits(timeout_s=2.0))
    assert shop.rows("SELECT count(*) FROM orders") == [(10,)]


def test_a_statement_is_stopped(shop: Target) -> None:
    token = CancelToken()
    threading.Timer(1.0, token.cancel).start()
    began = time.monotonic()
    with pytest.raises(StatementStoppedError):
        shop.run(ENDLESS, cancel=token)
    assert time.monotonic() - began < 15.0


@pytest.fixture
def proxied(spark: SparkServer, url: str) -> Iterator[tuple[StallingProxy, Target]]:
    """The database behind a proxy that may end its connections."""
    with (
        stalling_proxy(spark.port) as proxy,
        target(url.replace(f":{spark.port}/", f":{proxy.port}/"), engine="spark") as shop,
    ):
        yield proxy, shop


def test_a_connection_that_ends_within_a_statement_is_a_typed_error_and_replaced(
    proxied: tuple[StallingProxy, Target],
) -> None:
    proxy, shop = proxied
    assert shop.rows("SELECT 1") == [(1,)]
    proxy.cut_at(b"'cut here'", forwards=False)
    error = error_of(shop, "SELECT 'cut here'")
    assert (error.error_type, error.retryable) == (ErrorType.CONNECTION_HOST_DOWN_ERROR, True)
    assert shop.rows("SELECT 2") == [(2,)]


def test_a_connection_that_broke_while_nobody_used_it_is_replaced(proxied: tuple[StallingProxy, Target]) -> None:
    proxy, shop = proxied
    assert shop.rows("SELECT 1") == [(1,)]
    proxy.drop()
    time.sleep(0.3)
    assert shop.rows("SELECT 2") == [(2,)]


def test_a_server_that_is_down_is_a_typed_error(proxied: tuple[StallingProxy, Target]) -> None:
    proxy, shop = proxied
    proxy.close()
    error = error_of(shop, "SELECT 1")
    assert (error.error_type, error.retryable) == (ErrorType.CONNECTION_HOST_DOWN_ERROR, True)


@for_each(
    ("sql", "kind", "words"),
    [
        ("SELECT nosuch FROM orders", ErrorType.COLUMN_DOES_NOT_EXIST_ERROR, "no column nosuch"),
        ("SELECT * FROM nosuch", ErrorType.TABLE_DOES_NOT_EXIST_ERROR, "no table nosuch"),
        ("SELECT selec 1 1", ErrorType.SYNTAX_ERROR, ""),
        ("SELECT city, count(*) FROM orders", ErrorType.SYNTAX_ERROR, "neither grouped"),
        ("SELECT 1 / (id - id) FROM orders", ErrorType.GENERIC_DB_ENGINE_ERROR, "divides by zero"),
        ("SELECT CAST(city AS INT) FROM orders", ErrorType.GENERIC_DB_ENGINE_ERROR, "cannot be converted"),
    ],
)
def test_errors_say_what_is_wrong_in_our_words(sql: str, kind: ErrorType, words: str, shop: Target) -> None:
    error = error_of(shop, sql)
    assert error.error_type is kind, error.message
    assert words in error.message
    assert "Bonn" not in f"{error} {error.extra}"


MASKS = (
    "CANARY_T2",
    "x timed out CANARY_T2",
    "403 Invalid access token CANARY_T2",
    "[TABLE_OR_VIEW_NOT_FOUND] The table or view `CANARY_T2` cannot be found",
    "unexpected exception CANARY_T2",
)
"""Texts that make the server's message look like another one, once it quotes them."""

FAILURES = {ErrorType.GENERIC_DB_ENGINE_ERROR, ErrorType.SYNTAX_ERROR, ErrorType.COLUMN_DOES_NOT_EXIST_ERROR}


def test_no_value_of_a_row_is_in_an_error_nor_taken_for_one(spark: SparkServer) -> None:
    """Any fragment is asked of the server itself: no guard stands before it."""
    made, found, types = spark.make_database(), {}, set()
    with sa.create_engine(made, poolclass=sa.NullPool).connect() as connection:
        connection.exec_driver_sql("CREATE TABLE hidden (id INTEGER, status VARCHAR(200))", {})
        rows = ", ".join(f"({number}, '{text}')" for number, text in enumerate(MASKS))
        connection.exec_driver_sql(f"INSERT INTO hidden VALUES {rows}", {})
    with target(made, engine="spark") as opened:
        for fragment in SPARK:
            try:
                opened.rows(f"SELECT {fragment.replace('%', '%%')} AS x FROM hidden")
            except DatabaseError as error:
                types.add(error.error_type)
                if "CANARY" in f"{error} {error.to_payload()} {error.__cause__!r} {error.__context__!r}":
                    found[fragment] = error.message
    assert found == {}
    assert types <= FAILURES


def test_tables_views_columns_and_types_are_read(url: str) -> None:
    with analytics_core.connect(url) as core:
        assert [(item.value, item.type) for item in core.databases.tables(1)] == [
            ("cities", "view"),
            ("orders", "table"),
        ]
        made = core.datasets.create({"database": 1, "table_name": "orders"})
        assert [(column.column_name, column.type) for column in made.columns] == [
            ("id", "INT"),
            ("city", "STRING"),
            ("at", "TIMESTAMP"),
            ("day", "DATE"),
            ("cost", "DECIMAL(38,9)"),
            ("tags", "ARRAY<STRING>"),
        ]


def test_no_fragment_tells_of_a_hidden_row(spark: SparkServer) -> None:
    with sa.create_engine(spark.make_database(), poolclass=sa.NullPool).connect() as connection:
        fill(connection, "spark", 100)
        tried, failed = leaks(connection, Trials("spark").make(one_rule_each("spark")))
    assert failed == {}
    assert tried > 100
