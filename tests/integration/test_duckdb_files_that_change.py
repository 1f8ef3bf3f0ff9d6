"""A DuckDB file whose database takes writes: opened once, every read walled, other processes told."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support.cases import for_each
from tests.support.execution import DUCKDB_ENDLESS, Target, target
from tests.unit.test_execution_duckdb import HOSTILE

from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._records.datasource import Access
from analytics_core.errors import AnalyticsError, DatabaseAccessError, DatabaseError, StatementStoppedError

FURTHER_HOSTILE = [
    "COMMIT; CREATE TABLE t (i INT)",
    "COMMIT; INSERT INTO orders VALUES (9)",
    "SELECT 1; COMMIT; DROP TABLE orders",
    "ROLLBACK; BEGIN TRANSACTION READ WRITE; DELETE FROM orders",
    "ABORT",
    "END TRANSACTION",
    "ATTACH '{folder}/shop.duckdb' AS again",
    "COPY FROM DATABASE shop TO memory",
    "COPY orders FROM '{folder}/secret.csv'",
    "IMPORT DATABASE '{folder}'",
    "CREATE OR REPLACE TEMP VIEW v AS SELECT 1",
    "CREATE PERSISTENT SECRET s (TYPE s3, SCOPE 's3://x')",
    "DROP SECRET s",
    "ALTER TABLE orders RENAME TO gone",
    "TRUNCATE orders",
    "EXECUTE p",
    "DEALLOCATE p",
    "FORCE CHECKPOINT",
    "ANALYZE",
    "UPDATE EXTENSIONS",
    "PRAGMA profiling_output='{folder}/prof.json'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET lock_configuration",
    "EXPLAIN ANALYZE INSERT INTO orders VALUES (9)",
    "EXPLAIN ANALYZE CREATE TABLE t (i INT)",
    "SELECT * FROM (INSERT INTO orders VALUES (9) RETURNING id)",
    "WITH x AS (DELETE FROM orders RETURNING id) SELECT * FROM x",
    "FROM query('DROP TABLE orders')",
    "COMMENT ON TABLE orders IS 'x'",
    "MERGE INTO orders USING (SELECT 9 AS id) s ON false WHEN NOT MATCHED THEN INSERT VALUES (s.id)",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
        connection.execute("CREATE SEQUENCE ids")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    return tmp_path


@pytest.fixture(params=["allow_dml", "allow_file_upload"])
def shop(folder: Path, request: pytest.FixtureRequest) -> Iterator[Target]:
    with target(f"duckdb:///{folder / 'shop.duckdb'}", folder) as found:
        yield replace(found, record=replace(found.record, **{request.param: True}))


def _objects(shop: Target) -> list[Any]:
    return shop.rows("SELECT database_name, schema_name, table_name FROM duckdb_tables() ORDER BY ALL")


@pytest.mark.slow
@for_each("sql", [*HOSTILE, *FURTHER_HOSTILE, "SELECT nextval('ids')"])
def test_no_statement_writes_to_a_file_that_is_open_to_be_changed(shop: Target, folder: Path, sql: str) -> None:
    before = _objects(shop)
    with pytest.raises(AnalyticsError):
        shop.run(sql.format(folder=folder))
    assert _objects(shop) == before
    assert shop.rows("SELECT * FROM orders") == [(1,)]
    assert shop.rows("SELECT getvariable('a'), current_setting('lock_configuration')") == [(None, True)]
    assert {file.name for file in folder.iterdir()} <= {"shop.duckdb", "shop.duckdb.wal", "secret.csv"}


def _write(shop: Target, sql: str) -> None:
    engine = shop.connector.engine(shop.record, access=Access.WRITE)
    with engine.begin() as connection:
        connection.exec_driver_sql(sql)


def test_reads_and_writes_share_the_one_opened_file(shop: Target) -> None:
    assert shop.rows("SELECT count(*) FROM orders") == [(1,)]
    _write(shop, "INSERT INTO orders VALUES (2)")
    assert shop.rows("SELECT count(*) FROM orders") == [(2,)]


@for_each(
    "sql", ["COPY orders TO '{folder}/out.csv'", "ATTACH '{folder}/other.duckdb'", "SET threads = 1", "INSTALL httpfs"]
)
def test_what_writes_may_not_leave_the_file_either(shop: Target, folder: Path, sql: str) -> None:
    with pytest.raises(Exception, match=r"disabled by conf|configuration has been locked"):
        _write(shop, sql.format(folder=folder))
    assert not (folder / "out.csv").exists()


@pytest.mark.slow
def test_a_database_without_writes_stays_open_for_reading_only(folder: Path) -> None:
    with target(f"duckdb:///{folder / 'shop.duckdb'}", folder) as shop:
        assert shop.rows("SELECT count(*) FROM orders") == [(1,)]
        with pytest.raises(DatabaseAccessError, match="may only be read"):
            shop.connector.engine(shop.record, access=Access.WRITE)
        assert _another_process_can_read(folder)


def _another_process_can_read(folder: Path) -> bool:
    program = f"import duckdb; duckdb.connect({str(folder / 'shop.duckdb')!r}, read_only=True)"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0


def _next_version(shop: Target, **changes: bool) -> Target:
    audit = replace(shop.record.audit, version=shop.record.audit.version + 1)
    return replace(shop, record=replace(shop.record, audit=audit, **changes))


@pytest.mark.slow
def test_a_file_is_opened_anew_when_its_database_begins_and_ends_to_take_writes(folder: Path) -> None:
    with target(f"duckdb:///{folder / 'shop.duckdb'}", folder) as shop:
        assert shop.rows("SELECT count(*) FROM orders") == [(1,)]
        changed = _next_version(shop, allow_dml=True)
        assert changed.rows("SELECT count(*) FROM orders") == [(1,)]
        _write(changed, "INSERT INTO orders VALUES (2)")
        assert not _another_process_can_read(folder)
        back = _next_version(changed, allow_dml=False)
        assert back.rows("SELECT count(*) FROM orders") == [(2,)]
        assert _another_process_can_read(folder)


def test_writing_waits_for_the_end_of_what_reads_a_file_opened_for_reading_only(folder: Path) -> None:
    with target(f"duckdb:///{folder / 'shop.duckdb'}", folder) as shop:
        cancel, ended = CancelToken(), threading.Event()

        def read() -> None:
            with pytest.raises(StatementStoppedError):
                shop.run(DUCKDB_ENDLESS, cancel=cancel)
            ended.set()

        reading = threading.Thread(target=read)
        reading.start()
        while not shop.lent:
            pass
        second = replace(shop, record=replace(shop.record, id=2, uuid="second", allow_dml=True))
        assert second.rows("SELECT count(*) FROM orders") == [(1,)]
        with pytest.raises(DatabaseError, match="opened it for reading only") as caught:
            _write(second, "INSERT INTO orders VALUES (2)")
        assert caught.value.retryable
        cancel.cancel()
        reading.join()
        assert ended.is_set()
        assert shop.is_returned()
        _write(second, "INSERT INTO orders VALUES (2)")
        assert shop.rows("SELECT count(*) FROM orders") == [(2,)]


HOLDER = """
import duckdb, sys
held = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["read", "write"])
def test_a_file_open_in_another_process_is_told_so(shop: Target, folder: Path, how: str) -> None:
    program = [sys.executable, "-c", HOLDER, str(folder / "shop.duckdb"), how]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == b"held"
        with pytest.raises(DatabaseError, match="locked by another program") as caught:
            shop.run("SELECT 1")
        assert caught.value.retryable
        assert str(folder) not in caught.value.message
        holder.communicate()
    assert shop.rows("SELECT count(*) FROM orders") == [(1,)]
