"""Hostile files, names, paths and people at `databases.upload`: refused with a typed error, in bounded time and memory.

Each file is tried in a process of its own, whose peak memory is measured.
"""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.apart import result_apart
from tests.support.small_core import SmallCore, small_core
from tests.support.uploading import workbook

from analytics_core import errors

LIMITS = {"upload_max_bytes": 50_000_000, "upload_max_unpacked_bytes": 100_000_000, "upload_timeout_s": 40.0}
MOST_SECONDS = 60.0
MOST_MEGABYTES = 400
SHEET = "xl/worksheets/sheet1.xml"
HEAD = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
TAIL = b"</sheetData></worksheet>"


class Endless(io.RawIOBase):
    """A file that never ends."""

    def __init__(self, piece: bytes) -> None:
        self._piece = piece

    def read(self, size: int = -1) -> bytes:
        return (self._piece * (size // len(self._piece) + 1))[:size]


def changed(changes: dict[str, bytes | None], *, method: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> bytes:
    """Return a good workbook with parts put in place of its own, or taken out (None)."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook([["a"], [1]]))) as good,
        zipfile.ZipFile(made, "w", method) as bad,
    ):
        parts = {name: good.read(name) for name in good.namelist()} | changes
        for name, content in parts.items():
            if content is not None:
                bad.writestr(name, content)
        bad.comment = comment
    return made.getvalue()


def lying(content: bytes) -> bytes:
    """Return a workbook whose directory says that a large sheet is small."""
    made = bytearray(changed({SHEET: HEAD + content + TAIL}))
    start = 0
    while (start := made.find(b"PK\x01\x02", start)) >= 0:
        name_length = struct.unpack_from("<H", made, start + 28)[0]
        if made[start + 46 : start + 46 + name_length] == SHEET.encode():
            struct.pack_into("<L", made, start + 24, 100)
        start += 4
    return bytes(made)


def cells(*places: str) -> bytes:
    return HEAD + b"".join(b'<row><c r="%s"><v>1</v></c></row>' % place.encode() for place in places) + TAIL


def parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def repeating(text: str, count: int) -> bytes:
    """Return a short file of many rows that all have one long text."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))
    return parquet(pa.table({"a": column}), store_schema=False)


ENTITY = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><sst><si><t>&b;</t></si></sst>'
STRINGS = b"<sst>" + b"<si/>" * 15_000_000 + b"</sst>"

FILES: dict[str, Callable[[], Any]] = {
    "nothing": lambda: b"",
    "only line ends": lambda: b"\n" * 1_000_000,
    "an endless line": lambda: Endless(b"x"),
    "endless rows": lambda: Endless(b"1,2\n"),
    "endless line ends": lambda: Endless(b"\n"),
    "a line of 20 megabytes": lambda: b"a\n" + b"x" * 20_000_000,
    "a quote that is not closed": lambda: b'a\n"' + b"x\n" * 10_000_000,
    "cells that go on over lines": lambda: b"a\n" + b'"x\ny",' * 5_000_000,
    "a million columns": lambda: b"c," * 1_000_000 + b"c\n",
    "a long cell": lambda: b"a\n" + b"x" * 120_000 + b"\n",
    "a longer cell": lambda: b"a\n" + b"x" * 1_000_000 + b"\n",
    "a null byte": lambda: b"a,b\n1,x\0y\n",
    "bytes that are no text": lambda: b"a,b\n1,\xed\xa0\x80\n",
    "an old spreadsheet": lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(5_000),
    "rows of other widths": lambda: b"a,b\n1,2\n1,2,3\n",
    "a bomb in a sheet": lambda: changed({SHEET: HEAD + b"<x/>" * 50_000_000 + TAIL}),
    "a bomb in another part": lambda: changed({"xl/media/x.png": b"\0" * 200_000_000}),
    "a sheet that claims to be small": lambda: lying(b"<x/>" * 10_000_000),
    "two cells far apart": lambda: changed({SHEET: cells("A1", "XFD1048576")}),
    "one cell beyond the sheet": lambda: changed({SHEET: cells("ZZZ9999999")}),
    "places in small letters": lambda: changed({SHEET: cells("A1").replace(b"A1", b"xfd1048576")}),
    "a place behind another attribute": lambda: changed({SHEET: HEAD + b'<row><c s="1" r="XFD9"/></row>' + TAIL}),
    "a place in an attribute": lambda: changed({SHEET: HEAD + b'<c s=\' r="A1"\' r="XFD1048576"/>' + TAIL}),
    "a place behind a long prefix": lambda: changed(
        {SHEET: HEAD + b"<" + b"p" * 600_000 + b':c s="1" r="XFD1048576"/>' + TAIL}
    ),
    "cells without places": lambda: changed({SHEET: HEAD + b"<row>" + b"<c/>" * 1_000_000 + b"</row>" + TAIL}),
    "a sheet of another name": lambda: changed(
        {"xl/_rels/workbook.xml.rels": b'<Relationships><Relationship Id="rId1" Target="media/x.png"/></Relationships>'}
    ),
    "a sheet in another encoding": lambda: changed({SHEET: cells("XFD1048576").decode().encode("utf-16")}),
    "many texts": lambda: changed({"xl/sharedStrings.xml": STRINGS}),
    "external entities": lambda: changed({SHEET: ENTITY + cells("A1")}),
    "entities in texts": lambda: changed({"xl/sharedStrings.xml": LAUGHS}),
    "many parts": lambda: changed({f"xl/worksheets/sheet{number}.xml": cells("A1") for number in range(5_000)}),
    "a zip in a zip": lambda: changed({"xl/workbook.xml": None, "inner.zip": changed({})}),
    "another compression": lambda: changed({}, method=zipfile.ZIP_LZMA),
    "a comment behind the archive": lambda: changed({}, comment=b"PK\x05\x06" + bytes(18)),
    "something before the archive": lambda: b"PK\x03\x04" + bytes(100) + changed({}),
    "half a workbook": lambda: changed({})[:-200],
    "an open document": lambda: changed({"content.xml": b"<x/>"}),
    "a binary workbook": lambda: changed({"xl/workbook.bin": b"x"}),
    "a workbook that is damaged": lambda: changed({"xl/workbook.xml": b"<workbook><<<"}),
    "parquet that is damaged": lambda: b"PAR1" + os.urandom(10_000) + b"PAR1",
    "half of a parquet file": lambda: parquet(pa.table({"a": [1, 2]}))[:-20],
    "parquet of lists": lambda: parquet(pa.table({"a": [[1], [2]]})),
    "parquet of bytes": lambda: parquet(pa.table({"a": [b"\0"]})),
    "parquet with a null byte": lambda: parquet(pa.table({"a": ["x\0"]})),
    "parquet of long texts": lambda: repeating("x" * 200_000, 20_000),
    "parquet that repeats a text": lambda: repeating("x" * 90_000, 200_000),
    "parquet of too many rows": lambda: parquet(pa.table({"a": pa.nulls(20_000_000, pa.int64())})),
    "text in place of bytes": lambda: io.StringIO("a\n1\n"),
    "a number": lambda: 5,
    "a folder": lambda: "/tmp",
    "a device": lambda: "/dev/zero",
    "no file": lambda: "/nowhere/at/all.csv",
    "a path with a null byte": lambda: "x\0y",
}


def _try(name: str, folder: str) -> tuple[Any, float, int, list[str]]:
    """Upload one file, and return what came of it, in which time, the megabytes used for it, and all tables."""
    with small_core(Path(folder), **LIMITS) as shop:
        shop.core.databases.update(1, {"allow_file_upload": True})
        file = FILES[name]()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.process_time()
        try:
            answer: Any = ("uploaded", shop.core.databases.upload(1, file, "hostile").rows)
        except errors.AnalyticsError as error:
            answer = (type(error).__name__, error.message, error.extra)
        except BaseException as error:  # told, and a failure
            answer = ("UNTYPED", repr(error))
        used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        tables = [table.value for table in shop.core.databases.tables(1)]
        return answer, time.process_time() - started, used, tables


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_refused_in_bounded_time_and_memory(name: str, tmp_path: Path) -> None:
    answer, seconds, megabytes, tables = result_apart(_try, name, str(tmp_path))
    print(f"{name}: {answer} in {seconds:.1f} s, {megabytes} MB")
    assert answer[0] in ("FileUploadError", "PayloadSchemaError"), answer
    assert seconds < MOST_SECONDS
    assert megabytes < MOST_MEGABYTES
    assert tables == ["orders", "people"]
    assert "/etc" not in answer[1]


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", '=HYPERLINK("http://x")']


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        made.core.databases.update(1, {"allow_file_upload": True})
        yield made


def test_formulas_stay_the_texts_that_they_are(shop: SmallCore) -> None:
    rows = "".join('"{}"\n'.format(text.replace('"', '""')) for text in FORMULAS)
    assert shop.core.databases.upload(1, f"a\n{rows}".encode(), "formulas").rows == len(FORMULAS)
    dataset = shop.core.datasets.create({"database": 1, "table_name": "formulas"})
    query = {"datasource": {"id": dataset.id, "type": "table"}, "queries": [{"columns": ["a"], "metrics": None}]}
    assert [row[0] for row in shop.core.charts.data(query).results[0].rows()] == FORMULAS


NAMES = [
    *("", " ", "a b", 'a"b', "a;b", "a'b", "a`b", "a.b", "a/b", "../a", "a\0", "a\n", "\ud800", "1a", "a%s", "a--"),
    *(
        "sqlite_master",
        "SQLITE_x",
        "analytics_core_upload_x",
        "x" * 64,
        "ä" * 40,
        "🙂",
        "a\u202eb",
        None,
        5,
    ),
]


@pytest.mark.parametrize("name", NAMES)
def test_no_table_has_a_hostile_name(shop: SmallCore, name: Any) -> None:
    with pytest.raises((errors.PayloadError, errors.DatabaseError, errors.StatementRefusedError)):
        shop.core.databases.upload(1, b"a\n1\n", name)
    assert [found.value for found in shop.core.databases.tables(1)] == ["orders", "people"]


@pytest.mark.parametrize("schema", ["", "temp", "nobody", 'main"', "main; DROP TABLE orders", "MAIN", "\0", 5])
def test_no_schema_but_one_that_is_there_takes_files(shop: SmallCore, schema: Any) -> None:
    with pytest.raises((errors.PayloadError, errors.DatabaseError, errors.DatabaseAccessError)):
        shop.core.databases.upload(1, b"a\n1\n", "t", schema=schema)


def test_headers_are_names_and_never_sql(shop: SmallCore) -> None:
    headers = ['a" INTEGER); DROP TABLE orders; --', "x'); --", "`); --", "a\r\nb", "{{ 1 }}", ":p", "%(p)s", "\u202ea"]
    line = ",".join('"' + text.replace('"', '""') + '"' for text in headers)
    result = shop.core.databases.upload(1, f"{line}\n{','.join('1' * len(headers))}\n".encode(), "t")
    assert len({column.column_name.casefold() for column in result.columns}) == len(headers)
    assert [table.value for table in shop.core.databases.tables(1)] == ["orders", "people", "t"]


WHO = [
    # flag, schemas named, grant, if_exists, whether it may
    (False, None, "database", "fail", False),
    (True, None, None, "fail", False),
    (True, None, "database", "fail", True),
    (True, None, "schema", "fail", True),
    (True, ["main"], "schema", "fail", True),
    (True, ["other"], "database", "fail", False),
    (True, ["Main"], "database", "fail", False),
    (True, None, "database", "replace", False),
    (True, None, "schema", "append", False),
    (True, ["main"], "schema", "replace", True),
    (True, ["main"], "database", "append", True),
]


@pytest.mark.parametrize(("flag", "schemas", "grant", "if_exists", "may"), WHO)
def test_who_may_upload(tmp_path: Path, flag: bool, schemas: Any, grant: str | None, if_exists: str, may: bool) -> None:
    with small_core(tmp_path) as shop:
        extra = json.dumps({} if schemas is None else {"schemas_allowed_for_file_upload": schemas})
        shop.core.databases.update(1, {"allow_file_upload": flag, "extra": extra})
        grants = {None: (), "database": (shop.core.databases.get(1),), "schema": (("schema", 1, "main"),)}[grant]
        reader = shop.reader(*grants)
        table = "new" if if_exists == "fail" else "people"
        if may:
            assert reader.databases.upload_metadata(1, b"name\nx\n", schema="main").items[0].column_names == ("name",)
            assert reader.databases.upload(1, b"name\nx\n", table, schema="main", if_exists=if_exists).rows == 1
            return
        with pytest.raises(errors.AccessError):
            reader.databases.upload(1, b"name\nx\n", table, schema="main", if_exists=if_exists)
        if if_exists == "fail":
            with pytest.raises(errors.AccessError):
                reader.databases.upload_metadata(1, b"name\nx\n", schema="main")
        assert [found.value for found in shop.core.databases.tables(1)] == ["orders", "people"]


LOOKS: dict[str, Callable[[Any, str, str], object]] = {
    "tables": lambda databases, schema, _: databases.tables(1, schema),
    "views": lambda databases, schema, _: databases.views(1, schema),
    "table": lambda databases, schema, table: databases.table(1, table, schema),
    "samples": lambda databases, schema, table: databases.samples(1, table, schema),
    "select_star": lambda databases, schema, table: databases.select_star(1, table, schema),
    "upload": lambda databases, schema, table: databases.upload(1, b"a\n1\n", table, schema=schema),
    "upload_metadata": lambda databases, schema, _: databases.upload_metadata(1, b"a\n1\n", schema=schema),
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_nearest_schema_is_named_to_those_alone_who_may_see_it(shop: SmallCore, look: str) -> None:
    """A grant on a schema that is not there any more shows none of those that are."""
    for grants, is_visible in (([("schema", 1, "mains")], False), ([shop.core.databases.get(1)], True)):
        databases = shop.reader(*grants, username=f"reader{is_visible}").databases
        with pytest.raises(errors.DatabaseError, match="has no schema 'mains'") as caught:
            LOOKS[look](databases, "mains", "orders_")
        assert (caught.value.extra["suggestions"] == ["main"], "'main'" in caught.value.message.split("mains")[1]) == (
            is_visible,
            is_visible,
        )


@pytest.mark.parametrize("look", ["table", "samples", "select_star"])
def test_an_unfinished_upload_is_not_named_as_the_nearest_table(shop: SmallCore, look: str) -> None:
    shop.run("CREATE TABLE analytics_core_upload_1 (a INTEGER)")
    with pytest.raises(errors.DatabaseError, match="has no table") as caught:
        LOOKS[look](shop.core.databases, "main", "analytics_core_upload")
    assert caught.value.extra["suggestions"] == []


def test_rows_without_cells_take_no_longer_than_uploads_may(tmp_path: Path) -> None:
    with small_core(tmp_path, upload_timeout_s=1.0) as shop:
        shop.core.databases.update(1, {"allow_file_upload": True})
        started = time.process_time()
        with pytest.raises(errors.StatementTimeoutError):
            shop.core.databases.upload(1, b"a\n" + b"\n" * 40_000_000 + b"1\n", "t")
        assert time.process_time() - started < 10


@pytest.mark.parametrize("look", ["table", "samples", "select_star"])
def test_an_error_does_not_repeat_a_long_name(shop: SmallCore, look: str) -> None:
    with pytest.raises(errors.DatabaseError, match="has no table") as caught:
        getattr(shop.core.databases, look)(1, "x" * 1_000_000)
    assert len(str(caught.value) + json.dumps(dict(caught.value.extra))) < 2_000


@pytest.mark.parametrize("schemas", [[5], "main", {"main": True}, [["main"]]])
def test_a_list_of_schemas_that_is_none_is_not_stored(shop: SmallCore, schemas: Any) -> None:
    with pytest.raises(errors.PayloadSchemaError, match="schemas_allowed_for_file_upload"):
        shop.core.databases.update(1, {"extra": json.dumps({"schemas_allowed_for_file_upload": schemas})})


@pytest.mark.parametrize("form", ["%Y%Y", "%c%x", "%", "%Q", "day"])
def test_a_form_of_dates_that_reads_nothing_is_no_option(shop: SmallCore, form: str) -> None:
    with pytest.raises(errors.PayloadSchemaError, match=r"options\.date_format: must be a format of strptime"):
        shop.core.databases.upload(1, b"a\n1\n", "t", options={"column_dates": ["a"], "date_format": form})


def test_a_moment_before_the_first_year_is_told_with_its_row(shop: SmallCore) -> None:
    options = {"column_dates": ["a"], "date_format": "%Y-%m-%dT%z"}
    with pytest.raises(errors.FileUploadError, match="must be a date of the form") as caught:
        shop.core.databases.upload(1, b"a\n0001-01-01T+1400\n", "t", options=options)
    assert (caught.value.extra["row"], caught.value.extra["column"]) == (2, "a")


def _not_utf8() -> pa.Array:
    offsets = pa.py_buffer(struct.pack("<3i", 0, 2, 4))
    return pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ok\xed\xa0")])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, 2**62], pa.timestamp("us")),
        pa.array([1, -(2**62)], pa.timestamp("us")),
        pa.array([1, 2**31 - 1], pa.date32()),
        pa.array([1, -(2**31)], pa.date32()),
        _not_utf8(),
    ],
    ids=["late moment", "early moment", "late date", "early date", "no UTF-8"],
)
def test_values_of_parquet_that_tables_do_not_take_are_told_with_their_row(shop: SmallCore, values: pa.Array) -> None:
    with pytest.raises(errors.FileUploadError) as caught:
        shop.core.databases.upload(1, parquet(pa.table({"a": values})), "t")
    assert (caught.value.extra["row"], caught.value.extra["column"]) == (2, "a")
    assert [table.value for table in shop.core.databases.tables(1)] == ["orders", "people"]


def test_first_and_last_moments_of_parquet_are_taken(shop: SmallCore) -> None:
    table = pa.table({"a": [datetime.min, None, datetime.max], "b": [date.min, None, date.max]})
    assert shop.core.databases.upload(1, parquet(table), "t").rows == 3
