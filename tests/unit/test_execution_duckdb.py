"""DuckDB: a locked read-only root, Arrow columns, interrupts that stop."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from tests.support.cases import for_each
from tests.support.execution import DUCKDB_ENDLESS, Target, fingerprint, limits, target

from analytics_core._engine.engines.types import ValueKind as K
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    ErrorType,
    ResultTooLargeError,
    StatementStoppedError,
    StatementTimeoutError,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT 1 AS id, TIMESTAMP '2024-01-31 10:00:00' AS ts, true AS paid, 'x' AS name"
        )
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    return tmp_path


@pytest.fixture
def shop(folder: Path) -> Iterator[Target]:
    with target(f"duckdb:///{folder / 'shop.duckdb'}", folder) as found:
        yield found


HOSTILE = [
    "INSERT INTO orders (id) VALUES (2)",
    "UPDATE orders SET id = 2",
    "DELETE FROM orders",
    "WITH x AS (SELECT 1) INSERT INTO orders (id) SELECT * FROM x",
    "CREATE TABLE t (i INT)",
    "CREATE TEMP TABLE t (i INT)",
    "CREATE TEMP MACRO f() AS 1",
    "CREATE SECRET s (TYPE s3)",
    "DROP TABLE orders",
    "ATTACH ':memory:' AS other",
    "ATTACH '{folder}/other.duckdb' AS other",
    "DETACH shop",
    "USE memory",
    "SET threads = 1",
    "SET VARIABLE a = 1",
    "SET GLOBAL TimeZone = 'Europe/Berlin'",
    "RESET threads",
    "PRAGMA threads = 2",
    "PRAGMA enable_profiling",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "COMMIT",
    "ROLLBACK",
    "BEGIN TRANSACTION",
    "PREPARE p AS SELECT 1",
    "INSTALL httpfs",
    "LOAD httpfs",
    "COPY orders TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "EXPORT DATABASE '{folder}/out'",
    "SELECT * FROM read_csv('{folder}/secret.csv')",
    "SELECT * FROM read_text('{folder}/secret.csv')",
    "SELECT * FROM '{folder}/secret.csv'",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM sniff_csv('{folder}/secret.csv')",
    "SELECT getenv('HOME')",
    "SELECT 1; DROP TABLE orders",
    "SELECT 1; SELECT 2",
    "",
]


@pytest.mark.slow
@for_each("sql", HOSTILE)
def test_nothing_but_reading_gets_through(shop: Target, folder: Path, sql: str) -> None:
    before = fingerprint(folder)
    with pytest.raises(AnalyticsError):
        shop.run(sql.format(folder=folder))
    assert fingerprint(folder) == before
    assert shop.rows("SELECT count(*) FROM orders") == [(1,)]


@for_each(
    "sql",
    [
        "SELECT 'DROP TABLE orders; COPY' AS t",
        "SELECT 1 AS \"delete\" -- ATTACH 'x'",
        "/* INSERT */ FROM orders",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT * FROM n",
        "SELECT * FROM orders QUALIFY row_number() OVER (ORDER BY id) = 1",
        "VALUES (1), (2)",
        "SELECT 1;",
    ],
)
def test_harmless_look_alikes_run(shop: Target, sql: str) -> None:
    assert len(shop.run(sql).frame) > 0


def test_python_variables_of_the_host_are_out_of_reach(shop: Target) -> None:
    private_numbers = pd.DataFrame({"salary": [1]})
    with pytest.raises(DatabaseError) as caught:
        shop.run("SELECT * FROM private_numbers")
    assert caught.value.error_type is ErrorType.TABLE_DOES_NOT_EXIST_ERROR
    assert len(private_numbers) == 1


def test_a_connection_goes_back_as_it_came(shop: Target) -> None:
    with pytest.raises(AnalyticsError):
        shop.run("SET VARIABLE mark = 1")
    assert shop.rows(
        "SELECT getvariable('mark'), current_setting('TimeZone'), current_setting('lock_configuration')"
    ) == [(None, "UTC", True)]


@for_each(
    ("sql", "planned", "kind", "expected"),
    [
        ("SELECT sum(i) FROM range(10) t(i)", K.INTEGER, K.INTEGER, 45),
        ("SELECT sum(9223372036854775807) FROM range(2)", K.INTEGER, K.INTEGER, 2**64 - 2),
        ("SELECT (2^53)::BIGINT::HUGEINT + 1", K.UNKNOWN, K.INTEGER, 2**53 + 1),
        ("SELECT sum(i::DECIMAL(10, 2)) FROM range(4) t(i)", K.DECIMAL, K.DECIMAL, Decimal("6.00")),
        ("SELECT avg(i) FROM range(4) t(i)", K.FLOAT, K.FLOAT, 1.5),
        ("SELECT 'nan'::DOUBLE", K.FLOAT, K.FLOAT, None),
        ("SELECT 1.0::DOUBLE / 0", K.UNKNOWN, K.FLOAT, None),
        ("SELECT true", K.BOOLEAN, K.BOOLEAN, True),
        ("SELECT DATE '2024-01-31'", K.DATE, K.DATE, date(2024, 1, 31)),
        ("SELECT date_trunc('month', DATE '2024-01-31')", K.TIMESTAMP, K.TIMESTAMP, datetime(2024, 1, 1)),
        ("SELECT TIMESTAMPTZ '2024-01-31 10:00:00+02'", K.TIMESTAMPTZ, K.TIMESTAMPTZ,
         datetime(2024, 1, 31, 8, tzinfo=UTC)),
        ("SELECT TIMESTAMP_NS '2024-01-31 10:00:00.123456789'", K.TIMESTAMP, K.TIMESTAMP,
         datetime(2024, 1, 31, 10, 0, 0, 123456)),
        ("SELECT 'a'::ENUM('a', 'b')", K.TEXT, K.TEXT, "a"),
        ("SELECT uuid '00000000-0000-0000-0000-000000000001'", K.UNKNOWN, K.TEXT,
         "00000000-0000-0000-0000-000000000001"),
        ("SELECT [1, 2]", K.UNKNOWN, K.OTHER, [1, 2]),
        ("SELECT {'a': 1}", K.OTHER, K.OTHER, {"a": 1}),
        ("SELECT '\\xAA'::BLOB", K.BYTES, K.BYTES, b"\xaa"),
        ("SELECT NULL", K.INTEGER, K.INTEGER, None),
    ],
)  # fmt: skip
def test_values_come_out_by_the_plan(shop: Target, sql: str, planned: K, kind: K, expected: Any) -> None:
    assert shop.values(sql, columns={"label": planned}) == (kind, [expected])


def test_columns_stay_in_arrow(shop: Target) -> None:
    executed = shop.run("SELECT i, i::VARCHAR AS s FROM range(50000) t(i)")
    assert [column.values.type for column in executed.frame.columns] == [pa.int64(), pa.string()]
    assert (len(executed.frame), executed.has_more) == (50_000, False)


def test_no_rows_keep_names_and_kinds(shop: Target) -> None:
    frame = shop.run("SELECT id, name FROM orders WHERE false").frame
    assert [(column.name, column.kind, len(column)) for column in frame.columns] == [
        ("id", K.INTEGER, 0),
        ("name", K.TEXT, 0),
    ]


def test_values_are_bound_by_name(shop: Target) -> None:
    assert shop.rows("SELECT $p0, $p0 || $p1", {"p0": "x'; --", "p1": ":y ? %"}) == [("x'; --", "x'; --:y ? %")]
    assert shop.rows("SELECT INTERVAL 1 DAY * $days", {"days": 2}) == [("2 days",)]


def test_the_row_limit_is_reported_not_raised(shop: Target) -> None:
    executed = shop.run("SELECT i FROM range(100000000) t(i)", limits=limits(max_rows=10))
    assert (len(executed.frame), executed.has_more) == (10, True)


def test_the_byte_budget_stops_the_statement(shop: Target) -> None:
    with pytest.raises(ResultTooLargeError):
        shop.run("SELECT repeat('x', 1000) FROM range(1000000000)", limits=limits(max_bytes=5_000_000, max_rows=10**9))
    assert shop.rows("SELECT 1") == [(1,)]


def test_long_rows_are_read_in_small_batches(shop: Target) -> None:
    sql = "SELECT i, repeat('x', CAST(CASE WHEN i < 1000 THEN 1 ELSE 20000 END AS INTEGER)) AS t FROM range(2000) r(i)"
    with pytest.raises(ResultTooLargeError) as caught:
        shop.run(sql, limits=limits(max_bytes=1_000_000))
    assert caught.value.extra["rows"] <= 1_536


def test_memory_beyond_what_the_file_may_use_is_told(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "small.duckdb")).close()
    with target(f"duckdb:///{tmp_path}/small.duckdb?memory_limit=50MB", tmp_path) as small:
        with pytest.raises(DatabaseError, match="needs more memory than the engine may use"):
            small.run("SELECT repeat('x', 1000000) || i AS t FROM range(400) r(i)")
        assert small.rows("SELECT 1") == [(1,)]


def test_the_time_limit_stops_the_statement_and_loses_no_connection(
    shop: Target, caplog: pytest.LogCaptureFixture
) -> None:
    shop.rows("SELECT 1")
    with pytest.raises(StatementTimeoutError):
        shop.run(DUCKDB_ENDLESS, limits=limits(timeout_s=0.2))
    assert shop.rows("SELECT 1") == [(1,)]
    assert not caplog.records


@pytest.mark.slow
def test_cancelling_at_any_moment_ends_the_statement_and_spares_the_connection(shop: Target) -> None:
    chance = random.Random(7)
    for _ in range(50):
        token = CancelToken()
        timer = threading.Timer(chance.uniform(0, 0.02), token.cancel)
        timer.start()
        with pytest.raises(StatementStoppedError):
            shop.run(DUCKDB_ENDLESS, cancel=token)
        timer.join()
        assert shop.rows("SELECT 1") == [(1,)]


def test_cancelling_one_statement_leaves_another_alone(shop: Target) -> None:
    token, answers = CancelToken(), []
    counting = "SELECT count(*) FROM range(30000000) t(i) WHERE i % 7 = 1"
    other = threading.Thread(target=lambda: answers.append(shop.rows(counting)))
    other.start()
    timer = threading.Timer(0.02, token.cancel)
    timer.start()
    with pytest.raises(StatementStoppedError):
        shop.run(DUCKDB_ENDLESS, cancel=token)
    other.join()
    timer.join()
    assert answers == [[(4_285_715,)]]


@for_each(
    ("sql", "error_type", "name"),
    [
        ("SELECT * FROM nosuch", ErrorType.TABLE_DOES_NOT_EXIST_ERROR, "nosuch"),
        ("SELECT nocol FROM orders", ErrorType.COLUMN_DOES_NOT_EXIST_ERROR, "nocol"),
        ("SELECT o.nocol FROM orders o", ErrorType.COLUMN_DOES_NOT_EXIST_ERROR, "nocol"),
        ("SELECT * FROM nosuch.t", ErrorType.SCHEMA_DOES_NOT_EXIST_ERROR, "nosuch"),
        ("SELECT nofunc(1)", ErrorType.OBJECT_DOES_NOT_EXIST_ERROR, "nofunc"),
        ("SELEC 1", ErrorType.SYNTAX_ERROR, ""),
        ("SELECT id, count(*) FROM orders", ErrorType.SYNTAX_ERROR, ""),
        ("SELECT CAST('hidden' AS INT)", ErrorType.GENERIC_DB_ENGINE_ERROR, ""),
        ("SELECT CAST(name AS INT) FROM orders", ErrorType.GENERIC_DB_ENGINE_ERROR, ""),
        ("SELECT 9223372036854775807 + i FROM range(2) t(i)", ErrorType.GENERIC_DB_ENGINE_ERROR, ""),
    ],
)
def test_errors_are_diagnosed_without_the_drivers_words(
    shop: Target, sql: str, error_type: ErrorType, name: str
) -> None:
    with pytest.raises(DatabaseError) as caught:
        shop.run(sql)
    assert caught.value.error_type is error_type
    assert name in caught.value.message
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    for word in ("LINE", "hidden", "Error:", "Candidate"):
        assert word not in str(caught.value.to_payload())


def test_a_lone_surrogate_is_a_typed_error(shop: Target) -> None:
    with pytest.raises(DatabaseError):
        shop.run("SELECT $p0", {"p0": "\ud800"})


def test_a_missing_file_is_a_typed_error_and_is_not_made(tmp_path: Path) -> None:
    with target(f"duckdb:///{tmp_path / 'nosuch.duckdb'}", tmp_path) as found, pytest.raises(DatabaseError) as caught:
        found.run("SELECT 1")
    assert caught.value.error_type is ErrorType.CONNECTION_UNKNOWN_DATABASE_ERROR
    assert caught.value.message.startswith("there is no file 'nosuch.duckdb'")
    assert fingerprint(tmp_path) == {}


def test_a_file_of_another_engine_is_no_duckdb_database(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.sqlite")) as other:
        other.execute("CREATE TABLE t (i INTEGER)")
    url = f"duckdb:///{tmp_path / 'shop.sqlite'}"
    with target(url, tmp_path) as found, pytest.raises(DatabaseError, match="this is no DuckDB database") as caught:
        found.run("SELECT 1")
    assert caught.value.error_type is ErrorType.CONNECTION_UNKNOWN_DATABASE_ERROR


def test_two_connectors_may_open_one_file(shop: Target, folder: Path) -> None:
    shop.rows("SELECT 1")
    with target(f"duckdb:///{folder / 'shop.duckdb'}", folder) as second:
        assert second.rows("SELECT current_setting('TimeZone') FROM orders") == [("UTC",)]
    assert shop.rows("SELECT count(*) FROM orders") == [(1,)]


def test_a_file_open_for_writing_elsewhere_in_the_process_is_a_typed_error(folder: Path) -> None:
    file = folder / "shop.duckdb"
    expected = pytest.raises(DatabaseError, match="open in this process with other settings")
    with duckdb.connect(str(file)), target(f"duckdb:///{file}", folder) as found, expected:
        found.run("SELECT 1")


def test_disposing_a_database_frees_its_file(folder: Path) -> None:
    with target(f"duckdb:///{folder / 'shop.duckdb'}", folder) as found:
        found.rows("SELECT 1")
        found.connector.dispose(found.record.id)
        with duckdb.connect(str(folder / "shop.duckdb")) as writer:
            writer.execute("INSERT INTO orders (id) VALUES (2)")
        assert found.rows("SELECT count(*) FROM orders") == [(2,)]


# ------------------------------------------------------------------------------------------------------------- memory
def test_a_database_in_memory_is_filled_by_the_host_and_only_read_by_users() -> None:
    with target("duckdb://") as found:
        with found.connector.memory_connection(found.record) as cursor:
            cursor.execute("CREATE TABLE t AS SELECT 1 AS i")
        assert found.rows("SELECT i FROM t") == [(1,)]
        for sql in (
            "INSERT INTO t VALUES (2)",
            "CREATE TABLE x (i INT)",
            "CREATE TEMP TABLE x (i INT)",
            "DROP TABLE t",
        ):
            with pytest.raises(AnalyticsError):
                found.run(sql)
        assert found.rows("SELECT i FROM t") == [(1,)]


def test_all_threads_see_the_same_memory() -> None:
    with target("duckdb:///:memory:") as found:
        with found.connector.memory_connection(found.record) as cursor:
            cursor.execute("CREATE TABLE t AS SELECT 1 AS i")
        answers: list[object] = []
        threads = [threading.Thread(target=lambda: answers.append(found.rows("SELECT i FROM t"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [[(1,)]] * 8
