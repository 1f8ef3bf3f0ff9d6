"""SQLite: two walls against writing, limits that hold, answers by kind."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.support.cases import for_each
from tests.support.execution import (
    SQLITE_ENDLESS,
    Target,
    database,
    fingerprint,
    limits,
    make_sqlite_file,
    target,
)

from analytics_core._engine.engines.types import ValueKind as K
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.fetching import ROWS_UNWEIGHED
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.sessions.sqlite import without_authoriser
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    ErrorType,
    ResultTooLargeError,
    StatementRefusedError,
    StatementStoppedError,
    StatementTimeoutError,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_sqlite_file(
        tmp_path / "shop.db",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, ts TIMESTAMP, paid BOOLEAN, price DECIMAL(10,2), name TEXT)",
        "INSERT INTO orders VALUES (1, '2024-01-31 10:00:00', 1, 10, 'Ärger'), (2, NULL, 0, 2.5, 'x')",
    )
    return tmp_path


@pytest.fixture
def shop(folder: Path) -> Iterator[Target]:
    with target(f"sqlite:///{folder / 'shop.db'}", folder) as found:
        yield found


HOSTILE = [
    "INSERT INTO orders (id) VALUES (9)",
    "UPDATE orders SET name = 'x'",
    "DELETE FROM orders",
    "REPLACE INTO orders (id) VALUES (1)",
    "WITH x AS (SELECT 1) INSERT INTO orders (id) SELECT * FROM x",
    "WITH x AS (SELECT 1) DELETE FROM orders",
    "CREATE TABLE t (i)",
    "CREATE TEMP TABLE t (i)",
    "CREATE VIEW v AS SELECT 1",
    "DROP TABLE orders",
    "ALTER TABLE orders RENAME TO o",
    "ATTACH 'other.db' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "PRAGMA table_info(orders)",
    "SELECT * FROM pragma_table_info('orders')",
    "SELECT * FROM pragma_database_list",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT s",
    "REINDEX",
    "ANALYZE",
    "UPDATE sqlite_master SET name = 'x'",
    "SELECT load_extension('evil.so')",
    "SELECT writefile('x', 'y')",
    "SELECT readfile('/etc/passwd')",
    "SELECT edit('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT 1; DROP TABLE orders",
    "/* SELECT */ DELETE FROM orders",
    "-- SELECT\nDELETE FROM orders",
    "(DELETE FROM orders)",
    "EXPLAIN DELETE FROM orders",
    "",
    ";",
]

HARMLESS = [
    "SELECT 'drop table orders; ATTACH' AS t",
    "SELECT 1 AS \"delete\" -- VACUUM INTO 'x'",
    "/* DELETE */ SELECT count(*) FROM orders",
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9) SELECT i FROM n",
    "SELECT value FROM json_each('[1, 2]')",
    "SELECT id, sum(price) OVER (ORDER BY id) FROM orders",
    "VALUES (1), (2)",
    "SELECT replace(name, 'x', 'y') FROM orders",
    "SELECT * FROM orders WHERE name LIKE '%insert%' OR name GLOB 'x*'",
    "EXPLAIN QUERY PLAN SELECT * FROM orders",
]


@for_each("sql", HOSTILE)
def test_nothing_but_reading_gets_through(shop: Target, folder: Path, sql: str) -> None:
    before = fingerprint(folder)
    with pytest.raises(AnalyticsError):
        shop.run(sql)
    assert fingerprint(folder) == before
    assert shop.rows("SELECT count(*) FROM orders") == [(2,)]


@for_each("sql", HARMLESS)
def test_harmless_look_alikes_run(shop: Target, sql: str) -> None:
    assert len(shop.run(sql).frame) > 0


def test_full_text_tables_can_be_read(folder: Path) -> None:
    make_sqlite_file(folder / "text.db", "CREATE VIRTUAL TABLE f USING fts5(x)", "INSERT INTO f VALUES ('hello world')")
    with target(f"sqlite:///{folder / 'text.db'}", folder) as found:
        assert found.rows("SELECT x FROM f WHERE f MATCH 'hello'") == [("hello world",)]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Target]:
    """A full-text index of each kind, a spatial one, and a table that only sounds like a part of one."""
    make_sqlite_file(
        tmp_path / "notes.db",
        "CREATE VIRTUAL TABLE notes USING fts5(body)",
        "CREATE VIRTUAL TABLE old USING fts4(body)",
        "CREATE VIRTUAL TABLE places USING rtree(id, a, b)",
        "INSERT INTO notes VALUES ('canary')",
        "INSERT INTO old VALUES ('canary')",
        "CREATE TABLE page_content (c0 TEXT)",
        "INSERT INTO page_content VALUES ('open')",
    )
    with target(f"sqlite:///{tmp_path / 'notes.db'}", tmp_path) as found:
        yield found


@for_each(
    "sql",
    [
        "SELECT c0 FROM notes_content",
        'SELECT c0 FROM "main"."NOTES_content" AS x',
        "SELECT c0 FROM 'notes_content'",
        "SELECT c0 FROM [notes_content]",
        "SELECT block FROM notes_data",
        "SELECT 1 WHERE EXISTS (SELECT * FROM notes_docsize)",
        "SELECT * FROM notes_idx",
        "SELECT * FROM notes_config",
        "SELECT * FROM old_content",
        "SELECT * FROM old_segments",
        "SELECT * FROM old_segdir",
        "SELECT data FROM places_node",
        "SELECT * FROM places_rowid",
    ],
)
def test_tables_behind_an_index_cannot_be_read(library: Target, sql: str) -> None:
    with pytest.raises(StatementRefusedError, match="they show its rows"):
        library.run(sql)


def test_tables_that_sound_like_parts_of_an_index_are_read(library: Target) -> None:
    assert library.rows("SELECT c0 FROM page_content") == [("open",)]
    assert library.rows("SELECT body FROM notes WHERE notes MATCH 'canary'") == [("canary",)]
    assert library.rows("SELECT 'my_notes_content', body AS notes_contents FROM notes") == [
        ("my_notes_content", "canary")
    ]


def test_case_is_folded_as_unicode_does(shop: Target) -> None:
    assert shop.rows("SELECT ac_lower(name), ac_lower(NULL), ac_lower(1) FROM orders WHERE id = 1") == [
        ("ärger", None, 1)
    ]


def test_floor_answers_as_that_of_sqlite_itself(shop: Target) -> None:
    sql = "SELECT {}, floor(7.5) / 2, floor(9e400) > 1, floor(1e300)".format(
        ", ".join(f"floor({x})" for x in ("-1.5", "7", "'7.5'", "' -8 '", "'7e0'", "'abc'", "'7_0'", "x'37'", "NULL"))
    )
    expected = [-2.0, 7, 7.0, -8, 7.0, None, None, None, None, 3.5, 1, 1e300]
    assert list(map(repr, shop.rows(sql)[0])) == list(map(repr, expected))


def test_values_come_out_by_the_plan(shop: Target) -> None:
    planned = {"t": K.TIMESTAMP, "p": K.BOOLEAN, "d": K.DECIMAL, "n": K.INTEGER}
    frame = shop.run(
        "SELECT ts, paid, price, count(*) FROM orders GROUP BY 1, 2, 3 ORDER BY paid", columns=planned
    ).frame
    assert frame.names == ("t", "p", "d", "n")
    assert list(frame.rows()) == [(None, False, 2.5, 1), (datetime(2024, 1, 31, 10), True, 10.0, 1)]
    assert [column.kind for column in frame.columns] == [K.TIMESTAMP, K.BOOLEAN, K.FLOAT, K.INTEGER]


def test_values_are_bound_not_spliced(shop: Target) -> None:
    assert shop.rows("SELECT id FROM orders WHERE name = ?", ("x' OR '1'='1",)) == []
    assert shop.rows("SELECT ? || ':x %s %(a)s $1'", ("é?",)) == [("é?:x %s %(a)s $1",)]


def test_the_time_limit_stops_the_statement(shop: Target) -> None:
    with pytest.raises(StatementTimeoutError, match=r"longer than 0\.3 seconds") as caught:
        shop.run(SQLITE_ENDLESS, limits=limits(timeout_s=0.3))
    assert caught.value.error_type is ErrorType.CONNECTION_DATABASE_TIMEOUT
    assert shop.rows("SELECT 1") == [(1,)]


def test_the_time_limit_holds_while_rows_are_read(shop: Target) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    with pytest.raises(StatementTimeoutError):
        shop.run(endless, limits=limits(timeout_s=0.2, max_rows=10**9))
    assert shop.rows("SELECT 1") == [(1,)]


def test_a_time_limit_that_was_not_reached_does_not_touch_the_next_statement(shop: Target) -> None:
    shop.run("SELECT 1", limits=limits(timeout_s=0.5))
    time.sleep(0.6)
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) FROM n"
    assert shop.rows(slow) == [(300_000,)]


@pytest.mark.slow
def test_cancelling_at_any_moment_ends_the_statement_and_spares_the_connection(shop: Target) -> None:
    chance = random.Random(7)
    for _ in range(50):
        token = CancelToken()
        timer = threading.Timer(chance.uniform(0, 0.02), token.cancel)
        timer.start()
        with pytest.raises(StatementStoppedError):
            shop.run(SQLITE_ENDLESS, cancel=token)
        timer.join()
        assert shop.rows("SELECT 1") == [(1,)]


def test_a_token_cancelled_before_lets_nothing_start(shop: Target) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(StatementStoppedError):
        shop.run("SELECT 1", cancel=token)


def test_a_token_cancelled_afterwards_has_no_effect(shop: Target) -> None:
    token = CancelToken()
    assert len(shop.run("SELECT 1", cancel=token).frame) == 1
    token.cancel()
    assert shop.rows("SELECT 1") == [(1,)]


def test_the_row_limit_is_reported_not_raised(shop: Target) -> None:
    executed = shop.run("SELECT id FROM orders ORDER BY id", limits=limits(max_rows=1))
    assert (list(executed.frame.rows()), executed.has_more) == ([(1,)], True)
    assert executed.duration_s > 0


def test_the_byte_budget_stops_the_statement(shop: Target) -> None:
    sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT hex(zeroblob(1000)) FROM n"
    with pytest.raises(ResultTooLargeError) as caught:
        shop.run(sql, limits=limits(max_bytes=1_000_000, max_rows=10**9))
    assert caught.value.error_type is ErrorType.RESULT_TOO_LARGE_ERROR
    assert shop.rows("SELECT 1") == [(1,)]


@pytest.mark.parametrize("narrow", [0, 500])
def test_rows_that_suddenly_grow_are_weighed_soon(shop: Target, narrow: int) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
    sql = f"{numbers} SELECT i, zeroblob(CASE WHEN i <= {narrow} THEN 1 ELSE 900000 END) AS b FROM n"
    with pytest.raises(ResultTooLargeError) as caught:
        shop.run(sql, limits=limits(max_bytes=2_000_000))
    assert narrow < caught.value.extra["rows"] <= narrow + 3 + ROWS_UNWEIGHED


def test_columns_of_a_query_are_told_without_holding_many_long_values(shop: Target) -> None:
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
    tracemalloc.start()
    try:
        reflector = Reflector(shop.connector)
        found = reflector.columns_of_select(
            shop.admission, f"{numbers} SELECT i + 0 AS i, zeroblob(1000000) AS b FROM n"
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [(column.name, column.type_text) for column in found] == [("i", "INTEGER"), ("b", "BLOB")]
    assert peak < 20_000_000


def test_a_single_giant_value_is_not_built(shop: Target) -> None:
    with pytest.raises(DatabaseError):
        shop.run("SELECT zeroblob(200000000)")


@pytest.mark.parametrize("value", [2**63, -(2**64), "\ud800"])
def test_values_that_no_driver_takes_are_typed_errors(shop: Target, value: object) -> None:
    with pytest.raises(DatabaseError):
        shop.run("SELECT ?", (value,))


def test_an_error_has_no_driver_exception_behind_it(shop: Target) -> None:
    with pytest.raises(DatabaseError) as caught:
        shop.run("SELECT secret_word FROM nosuch")
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert caught.value.error_type is ErrorType.TABLE_DOES_NOT_EXIST_ERROR
    assert "secret_word" not in str(caught.value.to_payload())


def test_several_threads_run_at_once(shop: Target) -> None:
    answers: list[int] = []

    def ask(number: int) -> None:
        answers.extend(row[0] for row in shop.rows("SELECT ?", (number,)))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(20))


def test_a_missing_file_is_a_typed_error_and_is_not_made(tmp_path: Path) -> None:
    with target(f"sqlite:///{tmp_path / 'nosuch.db'}", tmp_path) as found, pytest.raises(DatabaseError) as caught:
        found.run("SELECT 1 FROM t")
    assert caught.value.error_type is ErrorType.CONNECTION_UNKNOWN_DATABASE_ERROR
    assert caught.value.message.startswith("there is no file 'nosuch.db'")
    assert str(tmp_path) not in str(caught.value.to_payload())
    assert fingerprint(tmp_path) == {}


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with target(f"sqlite:///{tmp_path}", tmp_path) as found, pytest.raises(DatabaseError, match="is a folder, no file"):
        found.run("SELECT 1")


def test_a_file_that_is_no_database_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("secret notes " * 100)
    with target(f"sqlite:///{tmp_path / 'notes.txt'}", tmp_path) as found, pytest.raises(DatabaseError) as caught:
        found.run("SELECT 1")
    assert caught.value.error_type is ErrorType.CONNECTION_UNKNOWN_DATABASE_ERROR


def test_names_with_blanks_and_signs_in_the_path_open(tmp_path: Path) -> None:
    path = make_sqlite_file(tmp_path / "a b#c%20é.db", "CREATE TABLE t AS SELECT 7 AS i")
    with target(f"sqlite:///{quote(str(path))}", tmp_path) as found:
        assert found.rows("SELECT i FROM t") == [(7,)]


def test_changes_of_another_program_are_seen(shop: Target, folder: Path) -> None:
    assert shop.rows("SELECT count(*) FROM orders") == [(2,)]
    make_sqlite_file(folder / "shop.db", "INSERT INTO orders (id) VALUES (3)")
    assert shop.rows("SELECT count(*) FROM orders") == [(3,)]


# ------------------------------------------------------------------------------------------------------------- memory
def test_a_database_in_memory_is_filled_by_the_host_and_only_read_by_users() -> None:
    with target("sqlite://") as found:
        with found.connector.memory_connection(found.record) as raw:
            raw.execute("CREATE TABLE t AS SELECT 1 AS i")
        assert found.rows("SELECT i FROM t") == [(1,)]
        for sql in ("INSERT INTO t VALUES (2)", "CREATE TEMP TABLE x (i)", "PRAGMA query_only = OFF", "DROP TABLE t"):
            with pytest.raises(AnalyticsError):
                found.run(sql)
        with found.connector.engine(found.record).connect() as connection:
            raw = connection.connection.driver_connection
            with without_authoriser(raw), pytest.raises(sqlite3.OperationalError, match="readonly"):
                raw.execute("INSERT INTO t VALUES (2)")
        assert found.rows("SELECT i FROM t") == [(1,)]


def test_all_threads_see_the_same_memory() -> None:
    with target("sqlite://") as found:
        with found.connector.memory_connection(found.record) as raw:
            raw.execute("CREATE TABLE t AS SELECT 1 AS i")
        answers: list[object] = []
        threads = [threading.Thread(target=lambda: answers.append(found.rows("SELECT i FROM t"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [[(1,)]] * 8


def test_two_databases_in_memory_are_two() -> None:
    with target("sqlite://") as found:
        other = database("sqlite://", record_id=2)
        with found.connector.memory_connection(found.record) as raw:
            raw.execute("CREATE TABLE t (i)")
        with found.connector.engine(other).connect() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar() == 0


def test_a_named_shared_memory_is_filled_through_its_own_connection() -> None:
    uri = "sqlite:///file:shop_of_this_test?mode=memory&cache=shared&uri=true"
    with (
        closing(sqlite3.connect("file:shop_of_this_test?mode=memory&cache=shared", uri=True)) as own,
        target(uri) as found,
    ):
        own.execute("CREATE TABLE t AS SELECT 5 AS i")
        own.commit()
        assert found.rows("SELECT i FROM t") == [(5,)]
