"""Uploads of files into SQLite, DuckDB, PostgreSQL and MariaDB: typed alike, all or nothing, told and logged."""

from __future__ import annotations

import io
import json
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.large_upload import write_csv
from tests.support.stalling_proxy import stalling_proxy, through
from tests.support.uploading import UploadTarget, empty_file, upload_target, workbook

import analytics_core
from analytics_core import errors

ORDERS = (
    "id,Customer,price,weight,day,at,paid,post code\n"
    "1,Ann,12.50,1e3,2024-01-31,2024-01-31T10:00:00+02:00,true,00123\n"
    "2,,-0.05,2,2024-02-29,2024-01-31 10:00:00.25,FALSE,x\n"
    '3,"Größe, ""x""\nnext",7,0.5,,,,\n'
)


@pytest.fixture(
    params=["sqlite", "duckdb", *(pytest.param(name, marks=pytest.mark.server) for name in ("postgres", "mariadb"))]
)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UploadTarget]:
    engine: str = request.param
    if engine in ("sqlite", "duckdb"):
        url = empty_file(engine, tmp_path)
    else:
        url = request.getfixturevalue(f"make_{engine}_database")()
    with upload_target(url) as made:
        yield made


def _plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Decimals of SQLite are doubles."""
    return [{name: float(v) if isinstance(v, Decimal) else v for name, v in row.items()} for row in rows]


def test_a_csv_file_is_typed_by_its_values_on_every_engine(target: UploadTarget) -> None:
    result = target.upload(ORDERS.encode())
    assert (result.rows, result.table_name, result.database_id) == (3, "uploaded", 1)
    assert {column.column_name: column.type for column in result.columns} == {
        "id": "INTEGER",
        "Customer": "TEXT",
        "price": "DECIMAL(4,2)",
        "weight": "FLOAT",
        "day": "DATE",
        "at": "TIMESTAMP",
        "paid": "BOOLEAN",
        "post code": "TEXT",
    }
    rows = sorted(_plain(target.rows()), key=lambda row: row["id"])
    assert [row["Customer"] for row in rows] == ["Ann", None, 'Größe, "x"\nnext']
    assert [row["price"] for row in rows] == [12.5, -0.05, 7.0]
    assert [row["weight"] for row in rows] == [1000.0, 2.0, 0.5]
    assert [row["paid"] for row in rows] == [True, False, None]
    assert [row["post code"] for row in rows] == ["00123", "x", None]
    assert [str(row["day"])[:10] for row in rows] == ["2024-01-31", "2024-02-29", "None"]
    assert [row["at"] for row in rows] == [datetime(2024, 1, 31, 8), datetime(2024, 1, 31, 10, 0, 0, 250_000), None]


def test_time_ranges_and_grains_work_on_what_was_uploaded(target: UploadTarget) -> None:
    target.upload(ORDERS.encode())
    dataset = target.core.datasets.create({"database": 1, "table_name": "uploaded"})
    query = {
        "columns": [{"sqlExpression": "at", "label": "at", "columnType": "BASE_AXIS", "timeGrain": "P1D",
                     "expressionType": "SQL"}],
        "metrics": ["count"],
        "filters": [{"col": "at", "op": "TEMPORAL_RANGE", "val": "2024-01-31T08:00:00 : 2024-01-31T10:00:00"}],
    }  # fmt: skip
    answer = target.core.charts.data({"datasource": {"id": dataset.id, "type": "table"}, "queries": [query]})
    assert [tuple(row) for row in answer.results[0].rows()] == [(datetime(2024, 1, 31), 1)]


def test_the_bounds_of_files_are_those_of_the_settings(tmp_path: Path) -> None:
    file = workbook([["id", "name"], ["a", "Anna"], ["b", "Bo"]])
    path = tmp_path / "people.xlsx"
    path.write_bytes(file)
    bounds = {"upload_max_bytes": len(file), "upload_max_rows": 2, "upload_max_columns": 2, "upload_max_cell_length": 4}
    for name, bound in bounds.items():
        with upload_target(empty_file("sqlite", tmp_path), **{name: bound}) as made:
            made.upload(file, if_exists="replace")
        connected(path, name, bound)
        refused = pytest.raises(errors.FileUploadError, match=f"more than {bound - 1} ")
        with upload_target(empty_file("sqlite", tmp_path), **{name: bound - 1}) as made, refused:
            made.upload(file, if_exists="replace")
        with pytest.raises(errors.SourceError, match=f"more than {bound - 1} "):
            connected(path, name, bound - 1)


def connected(path: Path, name: str, bound: int) -> None:
    with analytics_core.connect(path, **{name: bound}) as core:  # type: ignore[arg-type]  # a field of Settings
        core.dataset().query("count").run()


def test_a_decimal_without_whole_digits_keeps_its_values(target: UploadTarget) -> None:
    types = {"column_data_types": {"share": "DECIMAL(2,2)"}}
    result = target.upload(b"share\n0.25\n.5\n-0.99\n0\n", options=types)
    assert [column.type for column in result.columns] == ["DECIMAL(2,2)"]
    assert sorted(float(row["share"]) for row in target.rows()) == [-0.99, 0.0, 0.25, 0.5]
    for value in ("1.25", "1", "0.255"):
        with pytest.raises(errors.FileUploadError, match="a decimal number that fits") as refusal:
            target.upload(f"share\n0.25\n{value}\n".encode(), if_exists="replace", options=types)
        assert refusal.value.extra == {"row": 3, "column": "share"}


def test_a_table_that_exists_is_kept_replaced_or_appended_to(target: UploadTarget) -> None:
    target.upload(b"id,name\n1,a\n")
    with pytest.raises(errors.AlreadyExistsError, match="if_exists"):
        target.upload(b"id,name\n2,b\n")
    target.upload(b"NAME,id\nb,2\n", if_exists="append")
    assert sorted((row["id"], row["name"]) for row in target.rows()) == [(1, "a"), (2, "b")]
    target.upload(b"other\nx\n", if_exists="replace")
    assert target.rows() == [{"other": "x"}]
    assert target.tables() == ["uploaded"]


@pytest.mark.slow
@pytest.mark.parametrize("if_exists", ["fail", "replace", "append"])
def test_nothing_is_left_of_a_file_that_breaks_late(target: UploadTarget, if_exists: str) -> None:
    if if_exists != "fail":
        target.upload(b"id\n7\n")
    lines = ["id", *map(str, range(10_500)), "x"]
    with pytest.raises(errors.FileUploadError) as caught:
        target.upload("\n".join(lines).encode(), if_exists=if_exists, options={"column_data_types": {"id": "INTEGER"}})
    assert caught.value.extra == {"row": 10_502, "column": "id"}
    assert target.tables() == ([] if if_exists == "fail" else ["uploaded"])
    if if_exists != "fail":
        assert target.rows() == [{"id": 7}]


def test_rows_are_appended_in_the_types_of_the_table(target: UploadTarget) -> None:
    target.own("CREATE TABLE prices (name VARCHAR(20), price DECIMAL(6, 2), n INTEGER)")
    result = target.upload(b"price,name\n1.5,007\n10,x\n", table="prices", if_exists="append")
    assert {column.column_name: column.type for column in result.columns}["name"] == "TEXT"
    assert sorted((row["name"], float(row["price"]), row["n"]) for row in target.rows("prices")) == [
        ("007", 1.5, None),
        ("x", 10.0, None),
    ]
    for content, row in ((b"price\n1.555\n", 2), (b"price\n1\n12345.5\n", 3), (b"n\n1\nx\n", 3)):
        with pytest.raises(errors.FileUploadError) as caught:
            target.upload(content, table="prices", if_exists="append")
        assert caught.value.extra["row"] == row
    with pytest.raises(errors.FileUploadError, match="no such column; it has: name, price, n"):
        target.upload(b"nobody\n1\n", table="prices", if_exists="append")
    assert len(target.rows("prices")) == 2


KEYED = (
    "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
    "INSERT INTO parent VALUES (1)",
    "CREATE TABLE uploaded (id INTEGER PRIMARY KEY, name VARCHAR(5) NOT NULL, n SMALLINT, parent INTEGER, once INTEGER,"
    " note VARCHAR(50), CONSTRAINT small CHECK (n < 1000), UNIQUE (once), FOREIGN KEY (parent) REFERENCES parent (id))",
)
REFUSED = {
    "null": ("3,,1,1,3,", "the column name takes no nulls", "name"),
    "range": ("3,c,70000,1,3,", "a number is larger than the engine's type|CHECK", "n"),
    "condition": ("3,c,2000,1,3,", r"a condition of the table \(CHECK\) does not hold", None),
    "key": ("1,c,1,1,3,", "a key", None),
    "unique": ("3,c,1,1,1,", "a key", None),
    "reference": ("3,c,1,7,3,", "a foreign key refers to", None),
    "length": ("3,too long,1,1,3,", "longer than its column takes", "name"),
}
NOT_RETAINED = {"reference": {"sqlite"}, "length": {"sqlite", "duckdb"}}
"""What an engine takes although the table forbids it."""

ROW_UNKNOWN = {"duckdb": set(REFUSED), "postgresql": {"reference"}}


@pytest.mark.slow
@pytest.mark.parametrize("several_lines", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_row_that_the_table_does_not_take_is_told_and_nothing_written(
    target: UploadTarget, case: str, several_lines: bool
) -> None:
    row, message, column = REFUSED[case]
    engine = target.core.databases.get(1).backend
    target.own(*KEYED)
    note = '"two\nlines"' if several_lines else "one"
    file = f"skipped\nid,name,n,parent,once,note\n1,a,1,1,1,\n\n2,b,1,1,2,{note}\n{row}\n4,d,1,1,4,\n"
    upload = partial(target.upload, file.encode(), if_exists="append", options={"skip_rows": 1})
    if engine in NOT_RETAINED.get(case, ()):
        assert upload().rows == 4
        return
    with pytest.raises(errors.FileUploadError, match=message) as caught:
        upload()
    is_unknown = case in ROW_UNKNOWN.get(engine, ()) or (several_lines and engine == "postgresql")
    assert caught.value.extra.get("row") == (None if is_unknown else 6)
    if column is not None and "CHECK" not in caught.value.message and engine != "duckdb":
        assert caught.value.extra.get("column") == column
    assert target.rows() == []


def test_a_column_that_must_be_given_is_told_by_its_name(target: UploadTarget) -> None:
    target.own(*KEYED)
    with pytest.raises(errors.FileUploadError, match="the column name takes no nulls") as caught:
        target.upload(b"id\n1\n", if_exists="append")
    assert caught.value.extra["column"] == "name"


@pytest.mark.slow
def test_the_row_is_told_of_workbooks_and_of_later_batches(target: UploadTarget) -> None:
    target.own(*KEYED)
    rows = [["id", "name"], *([number, "a"] for number in range(11_000))]  # in a second batch
    rows[10_511][1] = None
    with pytest.raises(errors.FileUploadError) as caught:
        target.upload(workbook(rows), if_exists="append")
    assert caught.value.extra.get("row", 10_512) == 10_512
    assert target.rows() == []


def test_a_view_is_not_replaced(target: UploadTarget) -> None:
    target.own("CREATE TABLE t (id INTEGER)", "CREATE VIEW seen AS SELECT id FROM t")
    for if_exists in ("fail", "replace", "append"):
        with pytest.raises(errors.AlreadyExistsError, match="it is a view"):
            target.upload(b"id\n1\n", table="seen", if_exists=if_exists)


@pytest.mark.server
def test_where_names_differ_by_case_alone_the_very_same_one_counts(make_postgres_database: Callable[[], str]) -> None:
    with upload_target(make_postgres_database()) as target:
        target.own(
            "CREATE TABLE uploaded (id INTEGER)",
            'CREATE VIEW "Uploaded" AS SELECT 1 AS id',
            'CREATE TABLE "Sold" (id INTEGER)',
            "CREATE VIEW sold AS SELECT 1 AS id",
        )
        assert target.upload(b"id\n2\n", if_exists="replace").rows == 1
        assert target.rows() == [{"id": 2}]
        for if_exists in ("replace", "append", "fail"):
            with pytest.raises(errors.AlreadyExistsError, match=r"'sold'.* it is a view"):
                target.upload(b"id\n2\n", "sold", if_exists=if_exists)


@pytest.mark.slow
def test_a_workbook_gives_what_its_cells_hold_and_of_formulas_what_was_kept(target: UploadTarget) -> None:
    rows = [["id", "n", "at", "code", "f"], [1, 1.5, datetime(2024, 1, 31, 10), "007", "=1+6"], [2, 2, None, "1", "=2"]]
    result = target.upload(workbook([["not", "this"]], second=rows), options={"sheet_name": "second"})
    assert [column.type for column in result.columns] == ["INTEGER", "FLOAT", "TIMESTAMP", "TEXT", "INTEGER"]
    found = sorted(target.rows(), key=lambda row: row["id"])
    assert [tuple(row.values()) for row in found] == [
        (1, 1.5, datetime(2024, 1, 31, 10), "007", 7),
        (2, 2.0, None, "1", 7),
    ]


def test_a_parquet_file_keeps_its_types(target: UploadTarget) -> None:
    table = pa.table(
        {
            "i": pa.array([1, None, -(2**63)], pa.int64()),
            "s": pa.array(["x", "", None]),
            "at": pa.array([datetime(2024, 1, 1, 12), None, datetime(1, 1, 1)], pa.timestamp("ms", "Europe/Berlin")),
            "d": pa.array([Decimal("1.25"), None, Decimal("-99.00")], pa.decimal128(4, 2)),
            "b": pa.array([True, None, False]),
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    result = target.upload(sink.getvalue())
    assert [column.type for column in result.columns] == ["INTEGER", "TEXT", "TIMESTAMP", "DECIMAL(4,2)", "BOOLEAN"]
    rows = {row["i"]: row for row in _plain(target.rows())}
    assert rows[1] == {"i": 1, "s": "x", "at": datetime(2024, 1, 1, 12), "d": 1.25, "b": True}
    assert rows[None] == {"i": None, "s": "", "at": None, "d": None, "b": None}
    assert rows[-(2**63)]["d"] == -99.0


def test_what_the_engine_cannot_hold_exactly_is_refused_or_kept(target: UploadTarget) -> None:
    content = b"n\n12345678901234567890.125\n"
    if target.url.startswith("sqlite"):
        with pytest.raises(errors.FileUploadError, match="kept exactly by no column") as caught:
            target.upload(content)
        assert caught.value.extra["column"] == "n"
        return
    target.upload(content)
    assert target.rows() == [{"n": Decimal("12345678901234567890.125")}]


def test_a_number_that_is_not_finite_is_refused_with_its_place_or_kept(target: UploadTarget) -> None:
    content = io.BytesIO()
    pq.write_table(pa.table({"n": [1.0, float("inf")]}), content)
    content.seek(0)
    if target.url.startswith(("mysql", "sqlite")):
        with pytest.raises(errors.FileUploadError, match="no finite number") as caught:
            target.upload(content)
        assert caught.value.extra == {"row": 2, "column": "n"}
        assert target.tables() == []
    else:
        assert target.upload(content).rows == 2


def test_an_upload_is_logged_and_its_table_seen_at_once(target: UploadTarget) -> None:
    extra = {"metadata_cache_timeout": {"table_cache_timeout": 0}}
    target.core.databases.update(1, {"extra": json.dumps(extra)})
    assert target.core.databases.tables(1) == ()
    target.upload(b"id\n1\n")
    assert [table.value for table in target.core.databases.tables(1)] == ["uploaded"]
    entry = target.core.logs.list(filters=[{"col": "action", "op": "eq", "val": "database.upload"}]).result[0]
    assert json.loads(entry.json_text or "{}")["table"] == "uploaded"


def test_names_that_engines_take_differently_are_made_plain(target: UploadTarget) -> None:
    header = 'a,A,"x""y\'`z",select,"drop table t; --",%s,ünï 🙂,,' + "l" * 200
    result = target.upload(f"{header}\n1,2,3,4,5,6,7,8,9\n".encode())
    names = [column.column_name for column in result.columns]
    assert names[:8] == ["a", "A_2", "x_y__z", "select", "drop table t_ --", "_s", "ünï _", "column_8"]
    assert names[8] == "l" * 63
    assert [tuple(row.values()) for row in target.rows()] == [tuple(range(1, 10))]


def test_engines_say_whether_they_take_uploads(target: UploadTarget) -> None:
    database = target.core.databases.get(1)
    assert database.engine_information is not None
    assert database.engine_information["supports_file_upload"] is True
    schemas = target.core.databases.schemas_access_for_file_upload(1).schemas
    own = set(OWN_SCHEMAS[database.backend or ""])
    assert schemas == tuple(name for name in target.core.databases.schemas(1) if name not in own)
    schema = target.upload(b"id\n1\n").schema
    assert schema in schemas


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("duckdb", marks=pytest.mark.long)])
def test_an_upload_that_takes_too_long_leaves_no_table(engine: str, tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    write_csv(file, 150_000)
    with upload_target(empty_file(engine, tmp_path)) as target:
        target.core.databases.upload_metadata(1, b"id,name\n1,a\n")  # what it imports costs once
        started = time.monotonic()
        target.core.databases.upload_metadata(1, str(file))
        while_written = 1.3 * (time.monotonic() - started)
    with upload_target(empty_file(engine, tmp_path), upload_timeout_s=while_written) as target:
        with pytest.raises(errors.StatementTimeoutError):
            target.upload(str(file))
        assert target.tables() == []
        assert target.upload(b"id\n1\n").rows == 1


def test_an_engine_without_loader_says_so_and_refuses(tmp_path: Path) -> None:
    with upload_target(empty_file("sqlite", tmp_path)) as target:
        other = target.core.databases.create(
            {"database_name": "far", "orm_uri": "clickhouse://user:pw@host/db", "allow_file_upload": True}
        )
        assert (other.engine_information or {})["supports_file_upload"] is False
        assert target.core.databases.schemas_access_for_file_upload(other.id).schemas == ()
        with pytest.raises(errors.UnsupportedByEngineError, match="files are not uploaded to ClickHouse"):
            target.core.databases.upload(other.id, b"id\n1\n", "t", schema="db")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"id\n1\n", "x.xlsx", "its name ends in .xlsx"),
        (b"PK\x03\x04....", "X.PARQUET", "its name ends in .parquet"),
        (b'[{"id": 1}]', "x.json", "begins as JSON"),
        (b'{"id": 1}', "x", "begins as JSON"),
        (b"\x1f\x8b\x08\x00....", "x.csv.gz", "is compressed"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "x.xls", "old format"),
        (b"PK\x05\x06" + bytes(18), "x.zip", "empty ZIP"),
    ],
)
def test_a_file_that_is_no_table_is_not_read_as_one(tmp_path: Path, content: bytes, name: str, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    handed = io.BytesIO(content)
    handed.name = name
    with upload_target(empty_file("sqlite", tmp_path)) as target:
        for file in (path, str(path), handed):
            with pytest.raises(errors.FileUploadError, match=message):
                target.upload(file)
        assert target.tables() == []
        if content.startswith(b"id"):
            handed.seek(0)
            assert target.upload(handed, options={"type": "csv"}).rows == 1


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": list(range(1000))}), sink)
    return sink.getvalue()


@pytest.mark.slow
@for_each(
    ("content", "options", "message"),
    [
        (parquet()[:-500], {}, "its end is missing: a Parquet file that was cut off"),
        (parquet()[:4], {}, "its end is missing: a Parquet file that was cut off"),
        (parquet()[:200] + bytes(100) + parquet()[300:], {}, "it is a damaged Parquet file"),
        (b"id\n1\n", {"type": "columnar"}, "it is no Parquet file: it does not begin as they do"),
        (workbook([["id"], [1]])[:-500], {}, "its end is missing: a workbook that was cut off"),
        (workbook([["id"], [1]]) + b"x", {}, "has something behind it"),
        (b"id\n1\n", {"type": "excel"}, r"it is no \.xlsx workbook: it does not begin as they do"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", {"type": "excel"}, "old format"),
        (b"\x28\xb5\x2f\xfd" + bytes(9), {}, "is compressed; unpack it first"),
        (b"%PDF-1.7\nx\n", {}, "is a PDF document"),
        (b"<!DOCTYPE html>\n<html>\n", {}, "begins as HTML or XML"),
        (b"<html>\n<p>a</p>\n", {}, "begins as HTML or XML"),
        ("id,n\n1,a\n".encode("utf-16-le"), {}, "row 1: it has NUL bytes: .* options.encoding must be utf-16"),
        (b"SQLite format 3\0" + bytes(84), {}, "row 1: it has NUL bytes: it is no text"),
        ("id\0\n1\n".encode("utf-16"), {"encoding": "utf-16"}, "it has NUL bytes: it is no text$"),
        (b"id,n\n1,a\0b\n", {}, "row 2, column 'n': must be a text without NUL"),
        ("id,n\n1,a\n".encode("utf-16"), {}, "row 1: it is not written in utf-8; name"),
        ("größe\n1\n".encode("latin-1"), {"header_row": None}, "row 1: it is not written in utf-8; name"),
        (
            "id\nM\xfcller\n".encode("latin-1"),
            {},
            "row 2, column 'id': it is not written in utf-8; name",
        ),
        (
            b"id;n\n1,2;a,b\n",
            {"delimiter": ","},
            "row 2: it has 3 cells, .* its header has ';': name it as options.delimiter",
        ),
        (memoryview(bytes(100)).cast("I"), {}, "more than 99 bytes"),
    ],
)
def test_of_a_damaged_file_is_told_what_is_wrong_and_what_would_work(
    tmp_path: Path, content: bytes, options: dict[str, Any], message: str
) -> None:
    limits = {"upload_max_bytes": 99} if isinstance(content, memoryview) else {}
    with upload_target(empty_file("sqlite", tmp_path), **limits) as target:
        with pytest.raises(errors.FileUploadError, match=message):
            target.upload(content, options=options)
        assert target.tables() == []


def test_a_zip_file_without_a_workbook_is_told_as_one(tmp_path: Path) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as container:
        container.writestr("rows.csv", "id\n1\n")
    message = "a ZIP file without a workbook; unpack it"
    with upload_target(empty_file("sqlite", tmp_path)) as target, pytest.raises(errors.FileUploadError, match=message):
        target.upload(sink.getvalue())


class OtherFile:
    """A file object of a host, whose `read` is what the test says."""

    def __init__(self, read: Callable[..., object]) -> None:
        self.read = read


async def later(_size: int = -1) -> bytes:
    return b"id\n1\n"


def failing(_size: int = -1) -> bytes:
    raise RuntimeError("something of the host's own")


def at_its_end(file: Any) -> Any:
    file.read()
    return file


def closed(file: Any) -> Any:
    file.close()
    return file


@pytest.mark.slow
@for_each(
    ("file", "message"),
    [
        (lambda: io.StringIO("id\n1\n"), "gives text and no bytes; open it in binary mode"),
        (lambda: OtherFile(lambda _size: None), "gives no bytes, but NoneType"),
        (lambda: OtherFile(later), "its read\\(\\) is asynchronous"),
        (lambda: OtherFile(lambda: b"id\n1\n"), "cannot be read; open it for reading, in binary mode"),
        (lambda: OtherFile(failing), "cannot be read; open it for reading, in binary mode"),
        (lambda: closed(io.BytesIO(b"id\n1\n")), "the file object is closed"),
        (lambda: at_its_end(io.BytesIO(b"id\n1\n")), r"there is nothing to read: .* seek\(0\) rewinds it"),
    ],
)
def test_a_file_object_that_gives_no_bytes_is_told_what_is_wrong(
    tmp_path: Path, file: Callable[[], Any], message: str
) -> None:
    with upload_target(empty_file("sqlite", tmp_path)) as target:
        with pytest.raises(errors.FileUploadError, match=message):
            target.upload(file())
        with pytest.raises(errors.PayloadSchemaError, match="file: must be a path, bytes or a binary file object"):
            target.upload(object())
        assert target.tables() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("parquet", {"delimiter": ";"}),
        ("parquet", {"encoding": "utf-16"}),
        ("parquet", {"header_row": None}),
        ("parquet", {"sheet_name": "one"}),
        ("parquet", {"null_values": ["-"]}),
        ("workbook", {"delimiter": ";"}),
        ("workbook", {"decimal_character": ";"}),
        ("csv", {"sheet_name": "one"}),
    ],
)
def test_options_of_another_kind_of_file_are_refused_by_name(
    tmp_path: Path, kind: str, options: dict[str, Any]
) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": [1]}), sink)
    file = {"parquet": sink.getvalue(), "workbook": workbook([["id"], [1]]), "csv": b"id\n1\n"}[kind]
    with upload_target(empty_file("sqlite", tmp_path)) as target:
        with pytest.raises(errors.PayloadSchemaError) as caught:
            target.upload(file, options=options)
        assert [problem.path for problem in caught.value.problems] == [f"options.{name}" for name in options]
        usual = {"delimiter": ",", "encoding": "utf-8", "header_row": 0, "sheet_name": None, "null_values": [""]}
        assert target.upload(file, options=usual).rows == 1


# ----------------------------------------------------------------------------------------------- what happens meanwhile
class MeanwhileFile(io.BytesIO):
    """A file during whose reading something else happens, once."""

    def __init__(self, content: bytes, act: Callable[[], object]) -> None:
        super().__init__(content)
        self._act: Callable[[], object] | None = act

    def read(self, size: int | None = -1, /) -> bytes:
        act, self._act = self._act, None
        if act is not None:
            act()
        return super().read(size)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[UploadTarget]:
    with upload_target(empty_file("sqlite", tmp_path)) as made:
        yield made


def made_by_others(target: UploadTarget) -> Callable[[], object]:
    return lambda: target.upload(b"id\n1\n", if_exists="fail")


def test_a_workbook_is_told_sheet_by_sheet_before_it_is_uploaded(tmp_path: Path) -> None:
    rows = [["city", "n"], ["Rome", 1]]
    with upload_target(empty_file("duckdb", tmp_path)) as target:
        file = workbook(rows, empty=[], second=[["day", "day"], [datetime(2024, 1, 31), 1.5]])
        metadata = target.core.databases.upload_metadata(1, file)
        one = target.core.databases.upload_metadata(1, file, options={"sheet_name": "second"})
        assert target.tables() == []
    assert (metadata.type, [(item.sheet_name, item.column_names) for item in metadata.items]) == (
        "excel",
        [("first", ("city", "n")), ("empty", ()), ("second", ("day", "day_2"))],
    )
    assert one.items == metadata.items[2:]
    assert [(column.header, column.type) for column in one.items[0].columns] == [("day", "DATE"), ("day", "FLOAT")]


@pytest.mark.parametrize("kind", ["csv", "columnar"])
def test_a_file_is_told_as_an_upload_then_finds_it(tmp_path: Path, kind: str) -> None:
    parquet = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2], "b b": ["x", None]}), parquet)
    file = {"csv": b"a;b b;day\n1;1,50;01.02.2024\n2;;03.04.2024\n", "columnar": parquet.getvalue()}[kind]
    options = {"decimal_character": ","}
    with upload_target(empty_file("sqlite", tmp_path)) as target:
        metadata = target.core.databases.upload_metadata(1, file, options=options)
        (item,) = metadata.items
        assert target.tables() == []
        made = target.upload(file, options=options)
    assert (metadata.type, item.sheet_name) == (kind, None)
    assert (item.columns, item.notes) == (made.columns, made.notes)
    assert bool(item.notes) == (kind == "csv")


@for_each(
    ("content", "options", "kind"),
    [
        (b"", {}, errors.FileUploadError),
        (b"a\n1,2\n", {}, errors.FileUploadError),
        (workbook([["a"]]), {"sheet_name": "other"}, errors.PayloadSchemaError),
        (b"a\n1\n", {"sheet_name": "other"}, errors.PayloadSchemaError),
        (b"a\n1\n", {"encoding": "latin"}, errors.PayloadSchemaError),
    ],
)
def test_a_file_that_cannot_be_uploaded_is_not_told_either(
    tmp_path: Path, content: bytes, options: Any, kind: type[Exception]
) -> None:
    with upload_target(empty_file("sqlite", tmp_path)) as target, pytest.raises(kind) as rejection:
        target.core.databases.upload_metadata(1, content, options=options)
    with upload_target(empty_file("duckdb", tmp_path)) as target, pytest.raises(kind) as refused:
        target.upload(content, options=options)
    assert str(rejection.value) == str(refused.value)


def test_a_table_that_others_made_meanwhile_is_told_as_one_that_exists(target: UploadTarget) -> None:
    file = MeanwhileFile(b"id\n2\n", made_by_others(target))
    with pytest.raises(errors.AlreadyExistsError, match="uploaded"):
        target.upload(file, if_exists="fail")
    assert target.rows() == [{"id": 1}]


def test_a_table_that_others_made_before_it_could_be_replaced_may_be_tried_again(target: UploadTarget) -> None:
    file = MeanwhileFile(b"id\n2\n", made_by_others(target))
    with pytest.raises(errors.DatabaseError, match="meanwhile") as rejection:
        target.upload(file, if_exists="replace")
    assert rejection.value.retryable
    target.upload(b"id\n2\n", if_exists="replace")
    assert target.rows() == [{"id": 2}]


@pytest.mark.long
@pytest.mark.slow
@for_each("if_exists", ["fail", "replace"])
def test_of_uploads_at_the_same_moment_one_is_written_and_the_others_are_told(
    target: UploadTarget, if_exists: str
) -> None:
    file = b"id\n" + b"".join(b"%d\n" % number for number in range(20_000))
    written, failures = [], []

    def upload() -> None:
        try:
            written.append(target.upload(file, if_exists=if_exists).rows)
        except errors.AnalyticsError as error:
            failures.append(error)

    threads = [threading.Thread(target=upload) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(written) == {20_000}
    if if_exists == "fail":
        assert len(written) == 1
    known = (
        error.retryable or (if_exists == "fail" and isinstance(error, errors.AlreadyExistsError)) for error in failures
    )
    assert all(known)
    assert len(target.rows()) == 20_000


NEEDED = {"duckdb": "depend on the table", "postgresql": "depend on the table", "mysql": "by foreign keys"}


@pytest.mark.slow
def test_a_table_that_others_need_is_not_replaced(target: UploadTarget) -> None:
    target.own(
        "CREATE TABLE uploaded (id INTEGER PRIMARY KEY)",
        "INSERT INTO uploaded VALUES (1)",
        "CREATE TABLE child (id INTEGER PRIMARY KEY, FOREIGN KEY (id) REFERENCES uploaded (id))",
    )
    engine = target.core.databases.get(1).backend
    if engine == "sqlite":  # which does not hold to foreign keys unless a connection asks for it
        assert target.upload(b"id\n2\n", if_exists="replace").rows == 1
        return
    with pytest.raises((errors.DatabaseError, errors.UnsupportedByEngineError), match=NEEDED[engine]):
        target.upload(b"id\n2\n", if_exists="replace")
    assert (target.rows(), sorted(target.tables())) == ([{"id": 1}], ["child", "uploaded"])


@pytest.mark.server
@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize(("engine", "last_word"), [("postgres", b"COMMIT"), ("mariadb", b"RENAME TABLE")])
def test_an_upload_whose_commit_nobody_confirms_is_told_as_in_doubt(
    request: pytest.FixtureRequest, engine: str, last_word: bytes, is_written: bool
) -> None:
    url = request.getfixturevalue(f"make_{engine}_database")()
    with stalling_proxy(sa.make_url(url).port or 0) as proxy, upload_target(through(url, proxy)) as target:
        target.tables()
        proxy.cut_at(last_word, forwards=is_written)
        with pytest.raises(errors.DatabaseError, match="did not confirm that the rows were written") as caught:
            target.upload(b"id\n1\n")
        assert not caught.value.retryable
        proxy.cut_at(b"nothing that anybody sends", forwards=True)
        assert ("uploaded" in target.tables()) == is_written


OWN_SCHEMAS = {
    "sqlite": ["sqlite_master", "temp"],
    "duckdb": ["information_schema", "pg_catalog", "temp", "system"],
    "postgresql": ["information_schema", "pg_catalog", "pg_toast", "INFORMATION_SCHEMA"],
    "mysql": ["information_schema", "mysql", "performance_schema", "sys"],
}


def test_the_schemas_of_the_engine_itself_take_no_files(target: UploadTarget) -> None:
    databases = target.core.databases
    own = OWN_SCHEMAS[databases.get(1).backend]
    assert not set(own) & set(databases.schemas_access_for_file_upload(1).schemas)
    for schema in own:
        with pytest.raises(errors.DatabaseError, match=r"no schema .* that takes files"):
            target.upload(b"id\n1\n", schema=schema)


OWN_COLUMNS = {
    "postgresql": ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"],
    "mysql": ["DB_ROW_ID", "db_trx_id", "Db_Roll_Ptr"],
}


def test_columns_that_every_table_of_the_engine_has_are_told(target: UploadTarget) -> None:
    own = OWN_COLUMNS.get(target.core.databases.get(1).backend, [])
    for name in own:
        with pytest.raises(errors.FileUploadError, match="of its own in every table") as caught:
            target.upload(f"id,{name}\n1,x\n".encode())
        assert caught.value.extra["column"] == name
    names = {"ctid", "xmin", "xmax", "tableoid", "db_row_id", "oid", "rowid", "_rowid_", "user", "group"}
    names -= {name.lower() for name in own}
    header, row = ",".join(sorted(names)), ",".join("1" * len(names))
    assert target.upload(f"{header}\n{row}\n".encode()).rows == 1


def test_letters_that_an_engine_takes_for_one_are_told_apart(target: UploadTarget) -> None:
    header = "ı,I,i,İ,ſ,s,\u212a,k,ß,ss"
    assert target.upload(f"{header}\n{','.join('1' * 10)}\n".encode()).rows == 1


def test_the_nearest_schema_is_named(target: UploadTarget) -> None:
    schema = target.core.databases.schemas_access_for_file_upload(1).schemas[0]
    with pytest.raises(errors.DatabaseError, match=f"did you mean '{schema}'") as caught:
        target.upload(b"id\n1\n", schema=f"{schema}x")
    assert caught.value.extra["suggestions"] == [schema]


def test_an_upload_of_a_core_that_is_closed_meanwhile_writes_nothing(small: UploadTarget) -> None:
    with pytest.raises(errors.StatementStoppedError):
        small.upload(MeanwhileFile(b"id\n1\n", small.core._runtime.engine.uploads.close))
    assert [table.value for table in small.core.databases.tables(1)] == []


def test_an_upload_whose_log_entry_cannot_be_stored_is_told_as_written(
    small: UploadTarget, caplog: pytest.LogCaptureFixture
) -> None:
    result = small.upload(MeanwhileFile(b"id\n1\n", small.core._runtime.content.store.close))
    assert result.rows == 1
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "an upload into database 1 is not in the log: the metadata store is closed"
    ]
