"""What cannot be connected is refused by a typed error that says what to do instead, and repeats no row."""

from __future__ import annotations

import gzip
import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
import sqlalchemy.orm
from tests.support.cases import for_each
from tests.support.handed_over import ROWS, frame, table, write_workbook

import analytics_core
from analytics_core.errors import ConnectionUriError, NotFoundError, SourceError


def refusal(thing: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        analytics_core.connect(thing)
    assert caught.value.status == 422
    json.dumps(caught.value.to_payload())
    return caught.value


def of_package(module: str, name: str) -> Any:
    """Return an object of a class that says it is of a package which need not be installed."""
    return type(name, (), {"__module__": module})()


class BytesPath:
    """As the entries of `os.scandir(b".")`."""

    def __fspath__(self) -> bytes:
        return b"sales.csv"


@pytest.fixture
def a_file(tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "sales.csv").write_text("a\n1\n")
    with (tmp_path / "sales.csv").open("rb") as file:
        yield file


@for_each(
    ("thing", "advice"),
    [
        (b"PAR1", "write the bytes to a file and give its path"),
        (bytearray(b"x"), "write the bytes to a file"),
        (io.BytesIO(b"x"), "write what is in it to a file and give its path"),
        ({1, 2}, "give a list of dicts"),
        (7, "a number is no data"),
        (None, "None cannot be connected"),
        (object(), "what can: a path, glob or folder of files, a frame"),
        ([], "its items must all be dicts"),
        ([(1, 2)], "rows without names are a frame"),
        ({"a": np.zeros(2)}, "make a frame of the dict"),
        ({"a": frame()["amount"]}, "make a frame of the dict"),
        (frame().groupby("country"), r"groups.sum\(\)"),
        (pl.scan_csv("there is none.csv"), "run it yourself, and give its rows"),
        (sa.select(sa.column("a")), "give the SQL to a dataset"),
        (sa.orm.Session(), "give its engine"),
        (of_package("sqlalchemy.ext.asyncio.engine", "AsyncEngine"), "with a driver that is not asynchronous"),
        (of_package("ibis.expr.types.relations", "Table"), r"table.to_pyarrow\(\)"),
        (of_package("pyspark.sql.dataframe", "DataFrame"), r"frame.toArrow\(\)"),
        ("SELECT a FROM b", "looks like SQL"),
        (Path("https://host/sales.parquet"), "nothing is downloaded"),
        ("~nobody-is-called-so/sales.csv", "the home of a user that there is not"),
        ([1, 2], "its items must all be dicts"),
        ([frame(), frame()], "a dict names datasets"),
        ({}, "the dict is empty"),
        ({"a": [1, 2], "b": [3, 4]}, r"make a frame of the dict: connect\(pandas.DataFrame\(data\)\)"),
        ({"x": None}, "'x': None cannot be connected"),
        ({"x": {"y": frame()}}, "its keys must be names of datasets"),
        ({1: frame()}, "the name of a dataset is a text"),
        ({"": frame()}, "no name of a dataset"),
        ({"a/b": frame()}, "no name of a dataset: .* such as 'a_b'"),
        ({"a": frame(), "A": frame()}, "two tables would be called 'A'"),
        ({"x": "sqlite:///shop.db"}, "a database is connected alone"),
        ((row for row in ROWS), "a list of dicts first"),
        (frame()["amount"], r"series.to_frame\('name'\)"),
        (pl.Series("a", [1]), r"series.to_frame\('name'\)"),
        (pa.chunked_array([[1]]), r"pyarrow.table\(\{'name': array\}\)"),
        (np.zeros((2, 2)), r"pandas.DataFrame\(array, columns=\[...\]\)"),
        ("", "the text is empty"),
        ("a,b\n1,2", "looks like data"),
        (":memory:", "a database in memory is empty"),
        ("sqlite:/shop.db", "a URL begins with sqlite://"),
        ("https://host/sales.parquet", "nothing is downloaded"),
        ("s3://bucket/sales.parquet", "nothing is downloaded"),
        ("file:///data/sales.parquet", "give the path itself"),
        (b"sales.db", "write the bytes to a file"),
        (BytesPath(), "the path is given as bytes"),
        ([BytesPath()], "the path is given as bytes"),
        ({"x": BytesPath()}, "the path is given as bytes"),
        (sa.create_engine("sqlite://"), "keep it in a file, or hand over frames"),
        (pd.DataFrame(), "it has no columns"),
        (pl.DataFrame(), "it has no columns"),
        (pa.table({}), "it has no columns"),
        ([{}], "it has no columns"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_table_says_what_to_do_instead(thing: Any, advice: str) -> None:
    refusal(thing)
    with pytest.raises(SourceError, match=advice):
        analytics_core.connect(thing)


def test_an_open_file_is_told_its_path(a_file: Any) -> None:
    assert "give the path of the file" in str(refusal(a_file))
    assert "'sales.csv'" in str(refusal(a_file))


def test_connections_of_drivers_are_told_to_come_as_files_urls_or_engines() -> None:
    class Driver:
        def cursor(self) -> None: ...

        def commit(self) -> None: ...

    with closing(sqlite3.connect(":memory:")) as connection:
        assert "give the path of its file" in str(refusal(connection))
    assert "give the URL of its database" in str(refusal(Driver()))
    with sa.create_engine("sqlite://").connect() as lent:
        assert "give its engine" in str(refusal(lent))


# --------------------------------------------------------------------------------------------------------- files
def test_a_missing_file_is_told_with_the_nearest_names(tmp_path: Path) -> None:
    (tmp_path / "sales.parquet").touch()
    assert "did you mean 'sales.parquet'?" in str(refusal(tmp_path / "sale.parquet"))
    assert "it has: sales.parquet" in str(refusal(tmp_path / "zzz"))
    assert "there is no folder 'nowhere'" in str(refusal(tmp_path / "nowhere" / "sales.parquet"))
    assert refusal(tmp_path / "sale.parquet").extra == {"file": "sale.parquet"}


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_to_itself_is_told_without_its_path(tmp_path: Path) -> None:
    for name in ("sales.csv", "shop.db"):
        (tmp_path / name).symlink_to(tmp_path / name)
        assert "it is a link that leads to no file, or to itself" in str(refusal(tmp_path / name))
    with pytest.raises(ConnectionUriError, match="leads nowhere") as error:
        analytics_core.connect(f"sqlite:///{tmp_path}/shop.db")
    assert str(tmp_path) not in str(error.value)


def test_a_glob_or_folder_without_files_is_told(tmp_path: Path) -> None:
    (tmp_path / "readme.rst").touch()
    assert "no file is called like" in str(refusal(tmp_path / "*.parquet"))
    assert "has no Parquet, CSV" in str(refusal(tmp_path))
    assert "is a folder" in str(refusal({"x": tmp_path}))


CSV = "day,amount\n2024-01-01,10\n2024-01-02,secret,20\n"
PACKED = gzip.compress("".join(f"{n},{n * 7919 % 1000}\n" for n in range(3_000)).encode())


def written(content: bytes | str | Callable[[Path], object]) -> Callable[[Path], object]:
    if callable(content):
        return content
    data = content if isinstance(content, bytes) else content.encode()
    return lambda path: path.write_bytes(data)


@for_each(
    ("name", "content", "text"),
    [
        ("a.csv", CSV, "file 'a.csv', row 3: it has 3 cells, and the table 2 columns"),
        ("a.csv", "a,b\n" + "1,2\n" * 30_000 + "1,2,secret\n", "file 'a.csv', row 30002: it has 3 cells"),
        ("a.csv", "Report of 2024\na,b\n1,secret\n", "file 'a.csv', row 2: it has 2 cells, and the table 1 columns"),
        ("a.csv", "name\nJosé\n".encode("latin-1"), "row 2, column 'name': it is not written in utf-8"),
        ("a.csv", b"", "file 'a.csv': it is empty"),
        ("a.json", '[{"a": 1}, {"a": secret}]', "file 'a.json': it is no JSON"),
        ("a.ndjson", '{"a": 1}\n{"a": secret\n', "it is no JSON: a list of objects, or an object on each line"),
        ("a.parquet", b"PAR1secret", "file 'a.parquet': it is damaged, or no Parquet file"),
        ("a.parquet", b"secret", "its name says that it is Parquet, but it does not begin as one"),
        ("a.feather", b"ARROW1\0\0secret", "file 'a.feather': it is damaged, no Arrow IPC file"),
        ("a.arrows", b"\xff\xff\xff\xffsecret", "file 'a.arrows': it is damaged, no Arrow IPC file"),
        ("a.xlsx", b"PK\x03\x04secret", "file 'a.xlsx': it is no XLSX workbook that can be read"),
        ("a.xlsx", lambda path: write_workbook(path, {"Empty": []}), "no sheet of it has rows"),
        ("a.db", b"secret", "its name says that it is an SQLite database, but"),
        ("a.xls", b"\xd0\xcf\x11\xe0secret", "a workbook of the old kind (.xls); save it as XLSX"),
        ("a.csv.gz", b"secret", "it is compressed by gzip, but it is not"),
        ("a.csv.gz", PACKED[:-200], "file 'a.csv.gz': it cannot be unpacked to its end; it was cut off, or is damaged"),
        ("a.csv.gz", PACKED[:-4], "it cannot be unpacked to its end"),
        ("a.csv.gz", PACKED[:-8] + bytes(4) + PACKED[-4:], "it cannot be unpacked to its end"),
        ("a.ndjson.gz", gzip.compress(b'{"a": 1}\n')[:-8], "it cannot be unpacked to its end"),
        ("a.py", b"secret = 1", "what it is cannot be told by its name or first bytes"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_told_where_it_breaks(name: str, content: Any, text: str, tmp_path: Path) -> None:
    written(content)(tmp_path / name)
    error = refusal(tmp_path / name)
    assert text in str(error)
    assert error.extra["file"] == name
    assert "secret" not in json.dumps(error.to_payload())


def test_a_file_that_is_cut_is_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": list(range(100_000))}), tmp_path / "a.parquet")
    original = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(original[: len(original) // 2])
    assert "it is damaged" in str(refusal(tmp_path / "a.parquet"))


def test_files_of_one_dataset_that_differ_are_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": [1]}), tmp_path / "2.parquet")
    assert "it has other columns than '1.parquet'" in str(refusal(tmp_path / "*.parquet"))
    pq.write_table(pa.table({"a": [1.5]}), tmp_path / "2.parquet")
    assert "column 'a': is DOUBLE here, and BIGINT in '1.parquet'" in str(refusal(tmp_path / "*.parquet"))
    (tmp_path / "3.csv").write_text("a\n1\n")
    assert "'1.parquet' is Parquet" in str(refusal({"x": f"{tmp_path}/*"}))
    (tmp_path / "1.csv").write_text("a\n1\n")
    assert "two tables would be called '1'" in str(refusal(tmp_path))


def test_a_database_or_several_sheets_are_no_part_of_a_dict(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as file:
        file.execute("CREATE TABLE a (b)")
    assert "which is connected alone" in str(refusal({"x": tmp_path / "shop.db"}))
    write_workbook(tmp_path / "book.xlsx", {"A": ROWS[:1], "B": ROWS[:1]})
    assert "it has several sheets with rows" in str(refusal({"x": tmp_path / "book.xlsx"}))


READS_AS_NO_ONE = """
import os, sys
import analytics_core, analytics_core.errors
analytics_core.connect(sys.argv[1]).close()  # loads all that reads files: nobody may look where it lies
os.setuid(65534)
try:
    analytics_core.connect(sys.argv[1])
except analytics_core.errors.SourceError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become somebody without rights")
def test_a_file_without_rights_is_told() -> None:
    with TemporaryDirectory() as folder:  # not below pytest's, which every session closes to others when it starts
        path = Path(folder) / "sales.csv"
        path.write_text("a\n1\n")
        path.chmod(0o600)
        assert "file 'sales.csv': this process may not look into its folder" in read_as_no_one(path)
        path.parent.chmod(0o755)
        assert "file 'sales.csv': this process may not read it" in read_as_no_one(path)


def read_as_no_one(path: Path) -> str:
    command = [sys.executable, "-c", READS_AS_NO_ONE, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


# ------------------------------------------------------------------------------------------------------- columns
@for_each(
    ("made", "column", "text"),
    [
        (lambda: pd.DataFrame({"a": [1, "x"]}, dtype=object), "a", r"several types: int \(1\), str \(1\)"),
        (lambda: pd.DataFrame({"a": [pd.Timestamp("2024"), "x", None]}, dtype=object), "a", "Timestamp .* str"),
        (lambda: pd.DataFrame({"a": [1, pd.NA, "x", pd.NaT]}, dtype=object), "a", r"int \(1\), str \(1\);"),
        (lambda: pd.DataFrame({"a": [object()]}), "a", "of a type that no database has: object"),
        (lambda: pd.DataFrame({"a": [1 + 2j]}), "a", "is of type complex128"),
        (lambda: pd.DataFrame({"a": pd.period_range("2024", periods=2, freq="M")}), "a", "is of type period"),
        (lambda: pd.DataFrame({"a": pd.interval_range(0, 2)}), "a", "is of type interval"),
        (lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), "a", "two columns are called 'a'"),
        (lambda: pd.DataFrame([[1, 2]], columns=["a", "A"]), "a", "two columns are called 'a'"),
        (lambda: pl.DataFrame({"a": [object()]}), "a", "holds Python objects"),
        (lambda: pa.table({"a": pa.array([10**60], pa.decimal256(70, 0))}), "a", "more than 38 digits"),
        (lambda: pa.table({"a": pa.UnionArray.from_sparse(pa.array([0], "int8"), [pa.array([1])])}), "a", "one type"),
        (lambda: [{"a": 1}, {"a": "x"}], "a", "several types"),
        (lambda: {"sales": pd.DataFrame({"b": [1], "a": [object()]})}, "a", "sales: column 'a' holds"),
    ],
)
def test_a_column_that_cannot_be_read_is_named(made: Callable[[], Any], column: str, text: str) -> None:
    with pytest.raises(SourceError, match=text) as caught:
        analytics_core.connect(made())
    assert caught.value.extra["column"] == column


def test_columns_of_several_levels_and_a_clash_with_the_index_are_told() -> None:
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    assert "have several levels, such as" in str(refusal(levels))
    clash = frame().set_index(pd.Index(["x", "y", "z"], name="amount"))
    assert "a level of the index is called as a column is" in str(refusal(clash))


def test_a_stream_that_fails_is_told() -> None:
    class Failing:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            raise RuntimeError("secret")

    assert "cannot be read as Arrow (RuntimeError)" in str(refusal(Failing()))
    assert table().num_rows == 3


def test_a_frame_that_a_connection_has_registered_is_no_dataset_and_the_error_says_what_makes_one() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE orders (n INTEGER)")
    connection.register("v", pd.DataFrame({"n": [1]}))
    text = r"no dataset 'v' \(there are: orders; .* core.dataset_from\)"
    with analytics_core.connect(connection) as core, pytest.raises(NotFoundError, match=text):
        core.dataset("v")
    connection.close()
