"""Whatever people have in hand is connected: each way gives the same answers, and stands on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from tests.architecture.source import PROJECT
from tests.support.cases import for_each
from tests.support.handed_over import (
    ROWS,
    duckdb_connection,
    frame,
    queried,
    table,
    total,
    ways,
    write_files,
    write_workbook,
)

import analytics_core
from analytics_core.errors import ConnectionUriError, DatabaseError, SourceError

NAMED = {"glob": "parts", "pandas": "data", "Polars": "data", "Polars, lazy": "data", "list of dicts": "data"}
NAMED |= dict.fromkeys(("Arrow table", "Arrow batch", "Arrow reader", "Arrow dataset", "DuckDB relation"), "data")
URLS = ("URL", "URL object")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    write_files(made)
    (made / "one").mkdir()
    pq.write_table(table(), made / "one" / "sales.parquet")
    return made


NAMES = (
    *URLS, "SQLite path", "`.db` path", "DuckDB path", "`Path`", "Parquet path", "CSV path", "compressed CSV path",
    "TSV path", "JSON path", "NDJSON path", "XLSX path", "Feather path", "Arrow stream path", "glob", "pandas",
    "Polars", "Polars, lazy", "Arrow table", "Arrow batch", "Arrow reader", "Arrow dataset", "list of dicts", "dict",
    "list of paths", "folder", "DuckDB connection", "DuckDB relation", "SQLite engine", "DuckDB engine",
)  # fmt: skip


@pytest.mark.slow
@for_each("way", NAMES)
def test_a_way_to_connect_gives_the_rows(way: str, folder: Path) -> None:
    with analytics_core.connect(ways(folder)[way]) as core:
        name = NAMED.get(way, "sales")
        if way in URLS:
            core.datasets.create({"database": 1, "table_name": name})
        assert [dataset.table_name for dataset in core.datasets.list()] == [name]
        assert queried(core, name, total("amount"), "count", columns=("country",)) == [
            ("France", 10.5, 2),
            ("Italy", 2, 1),
        ]


def test_every_way_is_tried_and_stands_on_the_page(folder: Path) -> None:
    page = (PROJECT / "docs" / "how-to" / "connect.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| `[^|]+` \| [^|]+ \|$", page, re.MULTILINE)
    assert set(NAMES) == set(ways(folder))
    assert {*NAMES, "server engine"} <= {row.strip() for row in rows}


@pytest.mark.slow
@for_each("way", ["CSV path", "JSON path", "NDJSON path", "Parquet path", "pandas", "Arrow table"])
def test_the_time_column_is_found(way: str, folder: Path) -> None:
    with analytics_core.connect(ways(folder)[way]) as core:
        dataset = core.datasets.get(NAMED.get(way, "sales"))
        assert dataset.main_dttm_col == "day"
        assert [column.column_name for column in dataset.columns if column.is_dttm] == ["day"]
        months = queried(core, dataset.id, "count", granularity="day", time_range="2024-01-01 : 2024-02-01")
        assert months == [(2,)]


@pytest.mark.slow
def test_a_dict_names_datasets_of_every_kind(folder: Path) -> None:
    parts = sorted((folder / "parts").iterdir())
    given = {
        "orders": frame(),
        "people": folder / "sales.csv",
        "both": parts,
        "rows": ROWS,
        "globbed": f"{folder}/parts/*",
    }
    with analytics_core.connect(given) as core:
        assert [dataset.table_name for dataset in core.datasets.list(order_by="id")] == list(given)
        assert [queried(core, name, "count") for name in given] == [[(3,)]] * 5


@pytest.mark.slow
def test_datasets_of_one_core_are_joined_by_sql(folder: Path) -> None:
    with analytics_core.connect({"orders": frame(), "regions": [{"country": "France", "region": "west"}]}) as core:
        sql = "SELECT r.region, o.amount FROM orders o JOIN regions r USING (country)"
        joined = core.datasets.create({"database": 1, "table_name": "joined", "sql": sql})
        assert queried(core, joined.id, total("amount"), columns=("region",)) == [("west", 10.5)]


@pytest.mark.slow
def test_a_workbook_is_a_dataset_for_each_sheet_with_rows(tmp_path: Path) -> None:
    write_workbook(
        tmp_path / "book.xlsx", {"Staff list": [{"name": "Ann"}], "Empty": [], "Towns": [{"town": "Rome"}] * 2}
    )
    with analytics_core.connect(tmp_path / "book.xlsx") as core:
        assert queried(core, "Staff_list", "count") == [(1,)]
        assert queried(core, "Towns", "count") == [(2,)]
        assert core.datasets.list().count == 2


@pytest.mark.slow
@for_each(
    ("file", "name"),
    [
        ("sales-2024.csv", "sales_2024"),
        ("a b.c.csv", "a_b_c"),
        ("Umsätze.csv", "Umsätze"),
        ("2024.csv", "2024"),
        ("a'b\".csv", "a_b"),
    ],
)
def test_a_dataset_is_called_as_its_file(file: str, name: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text("a\n1\n", encoding="utf-8")
    with analytics_core.connect(tmp_path / file) as core:
        assert queried(core, name, "count") == [(1,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "name"), [("sales_*.csv", "sales"), ("*_2024.csv", "months"), ("**/*.csv", "months")]
)
def test_a_glob_is_called_as_its_fixed_part_or_its_folder(pattern: str, name: str, tmp_path: Path) -> None:
    months = tmp_path / "months"
    months.mkdir()
    for month in ("01", "02"):
        (months / f"sales_{month}_2024.csv").write_text(f"a\n{month}\n")
    with analytics_core.connect(months / pattern) as core:
        assert queried(core, name, "count") == [(2,)]


@pytest.mark.slow
def test_relative_paths_and_the_home_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("here.csv", "./here.csv", "~/here.csv", "*.csv"):
        with analytics_core.connect(path) as core:
            assert core.datasets.list().count == 1


def test_folders_of_parts_give_their_values_as_columns(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"amount": [year]}), tmp_path / f"year={year}" / "part.parquet")
    with analytics_core.connect({"sales": f"{tmp_path}/**/*.parquet"}) as core:
        assert queried(core, "sales", total("amount"), columns=("year",)) == [(2023, 2023), (2024, 2024)]


@pytest.fixture
def parted(tmp_path: Path) -> Iterator[analytics_core.AnalyticsCore]:
    """Sales in folders by day and machine; the names of some machines are numbers, and one is null."""
    folders = [
        "day=2024-01-01/machine=2600",
        "day=2024-01-01/machine=PS2",
        "day=2024-02-01/machine=__HIVE_DEFAULT_PARTITION__",
        "day=2024-02-01/machine=a%20b",
    ]
    for amount, name in enumerate(folders, start=1):
        (tmp_path / name).mkdir(parents=True)
        pq.write_table(pa.table({"amount": [amount]}), tmp_path / name / "data.parquet")
    with analytics_core.connect({"sales": f"{tmp_path}/**/*.parquet"}) as core:
        yield core


def test_a_number_among_the_texts_of_folders_is_a_text(parted: analytics_core.AnalyticsCore) -> None:
    """Each file by itself would have another type; such files were refused."""
    dataset = parted.datasets.get("sales")
    assert [(one.column_name, one.type) for one in dataset.columns] == [
        ("amount", "BIGINT"),
        ("day", "DATE"),
        ("machine", "VARCHAR"),
    ]
    assert dataset.main_dttm_col == "day"
    assert sorted(queried(parted, "sales", total("amount"), columns=("machine",)), key=str) == [
        ("2600", 1),
        ("PS2", 2),
        ("a b", 4),
        (None, 3),
    ]


def test_a_filter_on_folders_reads_their_files_alone(parted: analytics_core.AnalyticsCore) -> None:
    statement = "EXPLAIN SELECT SUM(amount) FROM sales WHERE machine = 'PS2'"
    assert "Scanning Files: 1/4" in str(parted.sql.execute({"database_id": 1, "sql": statement}).data)


def test_a_row_rule_on_a_folder_holds(parted: analytics_core.AnalyticsCore) -> None:
    rule = {"name": "own", "clause": "machine = 'PS2'", "filter_type": "Base", "roles": [], "tables": [1]}
    parted.row_level_security.create(rule)
    assert queried(parted, "sales", columns=("amount", "machine")) == [(2, "PS2")]
    assert parted.sql("SELECT amount FROM sales").rows() == [(2,)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "contents", "types"),
    [
        ("csv", ["a\n1\n", "a\n1.5\n"], ["DECIMAL(18,1)"]),
        ("csv", ["a\n1\n", "a\nx\n"], ["VARCHAR"]),
        ("csv", ["a\n2024-01-01\n", "a\n2024-01-01 10:00:00\n"], ["TIMESTAMP"]),
        ("csv", ['a;b\n1;"x;y"\n'], ["BIGINT", "VARCHAR"]),
        ("ndjson", ['{"a": 1}\n', '{"a": 1.5, "b": "x"}\n'], ["DOUBLE", "VARCHAR"]),
        ("ndjson", ['{"a": 1}\n', '{"a": 18446744073709551615}\n'], ["HUGEINT"]),
        ("ndjson", ['{"a": "2024-01-01"}\n', '{"a": "2024-01-01 10:00:00"}\n'], ["TIMESTAMP"]),
        ("json", ['[{"a": 1}]', '[{"a": "x"}]'], ["JSON"]),
    ],
)
def test_the_whole_of_all_files_tells_the_types_of_columns(
    name: str, contents: list[str], types: list[str], tmp_path: Path
) -> None:
    for number, content in enumerate(contents):
        (tmp_path / f"part_{number}.{name}").write_text(content)
    with analytics_core.connect(f"{tmp_path}/part_*.{name}") as core:
        assert [column.type for column in core.datasets.get("part").columns] == types
        assert queried(core, "part", "count") == [(len(contents),)]


@pytest.mark.slow
def test_a_database_file_without_an_ending_is_told_by_its_first_bytes(folder: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("sales.db", "sales.duckdb", "sales.parquet")):
        (tmp_path / f"file{number}").write_bytes((folder / name).read_bytes())
        with analytics_core.connect(tmp_path / f"file{number}") as core:
            assert queried(core, "sales" if number < 2 else "file2", "count") == [(3,)]


def test_a_database_of_many_tables_gets_no_dataset_for_each(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "many.duckdb")) as connection:
        for number in range(101):
            connection.execute(f"CREATE TABLE t{number} (a INTEGER)")
    with analytics_core.connect(tmp_path / "many.duckdb") as core:
        assert core.datasets.list().count == 0
        assert len(core.databases.tables(1)) == 101


@pytest.mark.slow
def test_lazy_opens_no_database_but_reads_files(folder: Path) -> None:
    with analytics_core.connect(folder / "sales.db", lazy=True) as core:
        assert core.datasets.list().count == 0
    with analytics_core.connect(folder / "sales.csv", lazy=True) as core:
        assert core.datasets.list().count == 1


def test_settings_go_with_every_way() -> None:
    with analytics_core.connect(frame(), default_row_limit=2) as core:
        assert len(queried(core, "data", columns=("amount",))) == 2


# ------------------------------------------------------------------------------------------- connections and engines
@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb_connection() as made:
        yield made


def test_a_connection_stays_the_hosts(connection: Any) -> None:
    with analytics_core.connect(connection) as core:
        connection.execute("INSERT INTO sales VALUES ('Spain', 1, '2024-03-01')")
        assert queried(core, "sales", "count") == [(4,)]
    assert connection.execute("SELECT count(*) FROM sales").fetchall() == [(4,)]


def test_what_a_connection_has_not_committed_is_not_seen(connection: Any) -> None:
    with analytics_core.connect(connection) as core:
        connection.execute("BEGIN; INSERT INTO sales VALUES ('Spain', 1, '2024-03-01')")
        assert queried(core, "sales", "count") == [(3,)]


def test_a_connection_that_its_host_closed_is_told(connection: Any) -> None:
    with analytics_core.connect(connection) as core:
        connection.close()
        with pytest.raises(DatabaseError, match="that was handed over is closed; keep it open"):
            queried(core, "sales", "count")
    with pytest.raises(SourceError, match="connection is closed"):
        analytics_core.connect(connection)


def test_a_connection_with_a_locked_configuration_is_taken(connection: Any) -> None:
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    with analytics_core.connect(connection) as core:
        assert queried(core, "sales", "count") == [(3,)]


def test_the_settings_of_a_hosts_connection_stay(connection: Any) -> None:
    connection.execute("SET TimeZone = 'Europe/Rome'")
    with analytics_core.connect(connection) as core:
        assert queried(core, "sales", "count") == [(3,)]
    result = connection.execute("SELECT current_setting('TimeZone'), current_setting('python_enable_replacements')")
    assert result.fetchall() == [("Europe/Rome", True)]


def test_an_engine_is_not_disposed(folder: Path) -> None:
    engine = sa.create_engine(f"duckdb:///{folder}/sales.duckdb")
    disposed: list[sa.Engine] = []
    sa.event.listen(engine, "engine_disposed", disposed.append)
    with engine.connect() as connection:
        with analytics_core.connect(engine) as core:
            assert queried(core, "sales", "count") == [(3,)]
        assert connection.exec_driver_sql("SELECT count(*) FROM sales").scalar() == 3
    assert disposed == []
    engine.dispose()


def test_an_engine_with_a_driver_that_is_not_ours_is_refused_by_name() -> None:
    class Odd:
        paramstyle = "format"

    engine = sa.create_engine("postgresql+pg8000://user:s3cr3t@db.example/shop", module=Odd())
    with pytest.raises(ConnectionUriError, match="driver is not allowed; allowed: psycopg") as caught:
        analytics_core.connect(engine)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.slow
def test_frames_are_asked_by_several_threads_at_once() -> None:
    rows = pd.DataFrame({"group": [number % 7 for number in range(20_000)], "amount": 1.0})
    with analytics_core.connect({"sales": rows}) as core, ThreadPoolExecutor(8) as pool:
        asks = [
            pool.submit(queried, core, "sales", total("amount"), columns=("group",), row_limit=n) for n in range(1, 25)
        ]
        assert [len(ask.result()) for ask in asks] == [min(n, 7) for n in range(1, 25)]
