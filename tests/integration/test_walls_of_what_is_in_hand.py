"""Files and frames are read by nobody's SQL but as datasets: no other file, no network, no change of anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.handed_over import duckdb_connection, frame, queried, total, write_files

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core._engine.execution.sessions.duckdb_tables import open_tables
from analytics_core.errors import AnalyticsError, DatabaseError

MARK = "hidden-contents"
CONFIG = {"autoload_known_extensions": False, "autoinstall_known_extensions": False}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sales.csv").write_text("country,amount\nFrance,1\n")
    (tmp_path / "secret.csv").write_text(f"a\n{MARK}\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "secret.csv")
    return tmp_path


@pytest.fixture
def core(folder: Path) -> Iterator[AnalyticsCore]:
    with analytics_core.connect({"sales": folder / "sales.csv", "orders": frame()}) as opened:
        yield opened


def reads(folder: Path) -> list[str]:
    """Return relations that lead to files, to the network and to variables of Python."""
    other, allowed = f"{folder}/secret.csv", f"{folder}/sales.csv"
    return [
        *(f"read_csv('{path}')" for path in (other, f"{folder}/link.csv", f"{folder}/*.csv", "/etc/passwd")),
        *(f"read_csv('{path}')" for path in (f"{allowed}/../secret.csv", f"{folder}/./secret.csv")),
        *(f"{function}('{other}')" for function in ("read_text", "read_blob", "sniff_csv", "read_parquet", "glob")),
        f"read_csv(['{allowed}', '{other}'])",
        f"'{other}'",
        "read_csv('https://example.com/a.csv')",
        "read_parquet('s3://bucket/a.parquet')",
        "frame",
        "folder",
    ]


@pytest.mark.slow
def test_sql_of_the_session_reads_no_other_file(core: AnalyticsCore, folder: Path) -> None:
    """The second wall alone: what would hold if the check of SQL were wrong."""
    tables = next(iter(core._runtime.parts.connector.handed_tables().values())).tables  # type: ignore[attr-defined]
    root = open_tables(tables, CONFIG)
    secret = pd.DataFrame({"a": [MARK]})
    for relation in (*reads(folder), "secret"):
        with pytest.raises(duckdb.Error), root.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {relation}").fetchall()
    assert root.execute("SELECT count(*) FROM sales").fetchall() == [(1,)]
    assert len(secret) == 1
    root.close()


@pytest.mark.slow
@for_each(
    "statement",
    [
        "SET enable_external_access = true",
        "SET allowed_paths = ['/etc/passwd']",
        "RESET enable_external_access",
        "SET GLOBAL allowed_directories = ['/']",
        "SET enable_external_file_cache = true",
        "SET memory_limit = '1GB'",
        "SET TimeZone = 'Asia/Tokyo'",
        "ATTACH '{folder}/new.duckdb'",
        "COPY (SELECT 1) TO '{folder}/new.csv'",
        "COPY sales TO '{folder}/secret.csv'",
        "EXPORT DATABASE '{folder}/new'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "LOAD '{folder}/secret.csv'",
        "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
    ],
)
def test_the_root_is_locked(statement: str, core: AnalyticsCore, folder: Path) -> None:
    tables = next(iter(core._runtime.parts.connector.handed_tables().values())).tables  # type: ignore[attr-defined]
    before = sorted(folder.iterdir())
    root = open_tables(tables, CONFIG)
    with pytest.raises(duckdb.Error):
        root.execute(statement.format(folder=folder))
    root.close()
    assert sorted(folder.iterdir()) == before
    assert (folder / "secret.csv").read_text() == f"a\n{MARK}\n"


@pytest.mark.slow
def test_sql_of_datasets_reads_no_other_file(core: AnalyticsCore, folder: Path) -> None:
    for relation in reads(folder):
        with pytest.raises(AnalyticsError) as caught:
            core.datasets.create({"database": 1, "table_name": "x", "sql": f"SELECT * FROM {relation}"})
        assert MARK not in str(caught.value.to_payload())


def test_the_catalog_tells_neither_paths_nor_addresses(core: AnalyticsCore, folder: Path) -> None:
    tables = next(iter(core._runtime.parts.connector.handed_tables().values())).tables  # type: ignore[attr-defined]
    root = open_tables(tables, CONFIG)
    text = str(root.execute("SELECT * FROM duckdb_views() WHERE NOT internal").fetchall())
    text += str(root.execute("SELECT * FROM information_schema.views").fetchall())
    root.close()
    assert text.count("'sales'") == text.count("'orders'") >= 2
    assert str(folder) not in text
    assert "arrow_scan" not in text


def test_a_file_that_is_gone_or_changed_is_told_and_no_row_of_it(core: AnalyticsCore, folder: Path) -> None:
    path = folder / "sales.csv"
    path.write_text(f"country,amount\nFrance,{MARK}\n")
    with pytest.raises(DatabaseError, match="cannot be read as it was when it was connected") as caught:
        queried(core, "sales", columns=("amount",))
    assert MARK not in str(caught.value.to_payload())
    path.unlink()
    with pytest.raises(DatabaseError, match="a file cannot be read: only those that were handed over"):
        queried(core, "sales", "count")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["amount,country\n1,2\n", "country,other\n1,2\n", "1,2\n3,4\n", "country\n1\n"])
def test_a_csv_file_with_other_columns_is_told_and_not_read_by_place(text: str, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("country,amount\n8,9\n")
    with analytics_core.connect({"sales": tmp_path / "sales.csv", "other": frame()}) as core:
        (tmp_path / "sales.csv").write_text(text)
        with pytest.raises(DatabaseError, match="cannot be read as it was when it was connected"):
            queried(core, "sales", columns=("amount",))
        assert queried(core, "other", "count") == [(3,)]
        (tmp_path / "sales.csv").write_text("country,amount\n7,6\n")
        assert queried(core, "sales", columns=("amount",)) == [(6,)]


@pytest.mark.slow
def test_columns_of_a_parquet_file_are_found_by_their_names(tmp_path: Path) -> None:
    path = tmp_path / "sales.parquet"

    def rows_of(core: AnalyticsCore, columns: dict[str, list[Any]], limit: int) -> Any:
        """Return what is answered when the file holds this; each limit is another question, which no cache knows."""
        pd.DataFrame(columns).to_parquet(path, index=False)
        return queried(core, "sales", columns=("a", "b"), row_limit=limit)

    pd.DataFrame({"a": [1, 2], "b": [5, 6]}).to_parquet(path, index=False)
    with analytics_core.connect(path) as core:
        assert rows_of(core, {"a": [1, 2], "b": [5, 6]}, 10) == [(1, 5), (2, 6)]
        # Of the same size, in the same second: a cache of DuckDB's would take it for the same file.
        assert rows_of(core, {"b": [5, 6], "a": [1, 2]}, 11) == [(1, 5), (2, 6)]
        assert rows_of(core, {"b": [5.5, 6], "a": [1, 2]}, 12) == [(1, 5.5), (2, 6)]
        with pytest.raises(DatabaseError, match="no column a"):
            rows_of(core, {"b": [5, 6], "z": [1, 2]}, 13)


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", None])
def test_a_parquet_file_that_is_damaged_or_replaced_while_it_is_read_may_be_tried_again(
    compression: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "sales.parquet"
    rows = pd.DataFrame({"a": [number / 7 for number in range(10_000)]})
    rows.to_parquet(path, compression=compression, index=False)
    original = path.read_bytes()
    with analytics_core.connect(path) as core:
        damaged = original[:4] + b"\xff" * (len(original) // 2) + original[4 + len(original) // 2 :]
        for content in (b"", damaged):
            path.write_bytes(content)
            with pytest.raises(DatabaseError, match="is damaged, or was replaced while it was read") as caught:
                queried(core, "sales", columns=("a",), row_limit=5)
            assert caught.value.retryable
        path.write_bytes(original)
        assert len(queried(core, "sales", columns=("a",), row_limit=5)) == 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sales.csv.gz", "sales.feather", "sales.parquet", "sales.json"])
def test_a_file_that_is_cut_or_gone_is_told(name: str, tmp_path: Path) -> None:
    write_files(tmp_path)
    path = tmp_path / name
    with analytics_core.connect(path) as core:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(DatabaseError, match="cannot be read as it was when it was connected"):
            queried(core, "sales", total("amount"))
        path.unlink()
        with pytest.raises(DatabaseError, match="a file cannot be read"):
            queried(core, "sales", total("amount"))


@pytest.mark.slow
def test_a_file_that_comes_later_is_no_part_of_a_glob(folder: Path) -> None:
    with analytics_core.connect(f"{folder}/sal*.csv") as core:
        (folder / "sales_2.csv").write_text("country,amount\nItaly,2\n")
        assert queried(core, "sal", "count") == [(1,)]


def test_a_link_in_the_place_of_a_file_leads_nowhere(core: AnalyticsCore, folder: Path) -> None:
    (folder / "sales.csv").unlink()
    (folder / "sales.csv").symlink_to(folder / "secret.csv")
    with pytest.raises(DatabaseError) as caught:
        queried(core, "sales", columns=("country",))
    assert MARK not in str(caught.value.to_payload())


@pytest.mark.slow
def test_new_rows_of_a_file_are_read(core: AnalyticsCore, folder: Path) -> None:
    with (folder / "sales.csv").open("a") as file:
        file.write("Italy,2\n")
    assert queried(core, "sales", "count") == [(2,)]


def test_a_link_is_followed_once(folder: Path) -> None:
    (folder / "data.csv").symlink_to(folder / "sales.csv")
    with analytics_core.connect(folder / "data.csv") as core:
        assert queried(core, "data", "count") == [(1,)]
        (folder / "data.csv").unlink()
        (folder / "data.csv").symlink_to(folder / "secret.csv")
        assert queried(core, "data", columns=("country",)) == [("France",)]


@pytest.mark.slow
def test_what_is_in_hand_is_not_written_to(core: AnalyticsCore) -> None:
    core.databases.update(1, {"allow_file_upload": True})
    with pytest.raises(AnalyticsError, match="was handed over, and is only read"):
        core.databases.upload(1, b"a\n1\n", "new")


@pytest.fixture
def handed() -> Iterator[tuple[Any, AnalyticsCore]]:
    with duckdb_connection() as connection, analytics_core.connect(connection) as core:
        yield connection, core


@for_each(
    "sql",
    [
        "DELETE FROM sales",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "COPY sales TO '/tmp/never.csv'",
        "ATTACH '/tmp/never.duckdb'",
        "SELECT * FROM connection",
        "SELECT 1; DROP TABLE sales",
    ],
)
def test_sql_on_a_connection_of_the_hosts_changes_nothing(sql: str, handed: tuple[Any, AnalyticsCore]) -> None:
    connection, core = handed
    with pytest.raises(AnalyticsError):
        core.datasets.create({"database": 1, "table_name": "x", "sql": sql})
    assert connection.execute("SELECT count(*) FROM sales").fetchall() == [(3,)]
    assert not os.path.exists("/tmp/never.csv")
    assert not os.path.exists("/tmp/never.duckdb")


def test_transactions_on_a_connection_of_the_hosts_only_read(handed: tuple[Any, AnalyticsCore]) -> None:
    _, core = handed
    queried(core, "sales", "count")
    engine = core._runtime.parts.connector.engine(_database(core))
    with engine.connect() as lent:
        raw: Any = lent.connection.driver_connection
        raw.begin()
        with pytest.raises(duckdb.Error, match="read-only"):
            raw.native.execute("DELETE FROM sales")
        raw.native.rollback()


def _database(core: AnalyticsCore) -> Any:
    with core._runtime.content.store.unit_of_work() as unit:
        return unit.databases.get(1)
