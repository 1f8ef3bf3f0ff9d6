"""What a file may hold and how it may be damaged: each bound is taken exactly, one more is refused with its place."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.cases import for_each
from tests.support.uploading import workbook

from analytics_core._engine.files.limits import LONGEST_ROW, FileLimits
from analytics_core._engine.files.reading import opened_table
from analytics_core.errors import FileUploadError, PayloadSchemaError
from analytics_core.models.table import FileUploadOptions

LIMITS: Mapping[str, Any] = {
    "max_bytes": 20_000_000,
    "max_unpacked_bytes": 20_000_000,
    "max_rows": 100,
    "max_columns": 100,
    "max_cell_length": 1_000,
}
SHEET = "xl/worksheets/sheet1.xml"
Parts = dict[str, bytes]


def rows_of(file: Any, options: Mapping[str, Any] | None = None, **limits: Any) -> list[tuple[Any, ...]]:
    """Return the names of the columns of a file, and then its rows."""
    with opened_table(file, FileUploadOptions(**(options or {})), FileLimits(**{**LIMITS, **limits})) as table:
        batches = list(table.batches(table.columns))
        rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        return [tuple(column.name for column in table.columns), *rows]


def csv_file(rows: Sequence[Sequence[str]]) -> bytes:
    return "".join(",".join(row) + "\n" for row in rows).encode()


def parquet_file(rows: Sequence[Sequence[str]]) -> bytes:
    header, *cells = rows
    return parquet(dict(zip(header, map(list, zip(*cells, strict=True)), strict=True)))


def parquet(columns: Mapping[str, Any], **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), sink, **options)
    return sink.getvalue()


def repacked(change: Callable[[Parts], object], content: bytes | None = None, **how: Any) -> bytes:
    """Return a workbook whose parts were changed."""
    with zipfile.ZipFile(io.BytesIO(content or workbook([["id"], [1]]))) as before:
        parts = {name: before.read(name) for name in before.namelist()}
    change(parts)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", **how) as after:
        for name, part in parts.items():
            after.writestr(name, part)
    return sink.getvalue()


# ------------------------------------------------------------------------------------------------------------- bounds
@for_each("write", [csv_file, workbook, parquet_file])
def test_as_many_rows_columns_and_letters_as_may_be_are_taken_and_no_more(
    write: Callable[[Sequence[Sequence[str]]], bytes],
) -> None:
    file = write([["a", "b"], ["xy", "é"], ["z", "uvw"], ["q", "r"]])
    exact: dict[str, Any] = {"max_rows": 3, "max_columns": 2, "max_cell_length": 3, "max_bytes": len(file)}
    assert rows_of(file, None, **exact) == [("a", "b"), ("xy", "é"), ("z", "uvw"), ("q", "r")]
    assert len(rows_of(io.BytesIO(file), None, **exact)) == 4
    messages = {
        "max_rows": "it has more than 2 rows",
        "max_columns": "it has more than 1 columns",
        "max_cell_length": r"column 'b': the text has more than 2 characters",
        "max_bytes": f"it has more than {len(file) - 1} bytes",
    }
    for name, message in messages.items():
        for handed in (file, io.BytesIO(file)):
            with pytest.raises(FileUploadError, match=message):
                rows_of(handed, None, **{name: exact[name] - 1})


def test_all_parts_of_a_workbook_are_unpacked_within_one_bound() -> None:
    file = workbook([["id"], *([n] for n in range(60))], second=[["id"], *([n] for n in range(60))])
    with zipfile.ZipFile(io.BytesIO(file)) as container:
        sizes = [part.file_size for part in container.infolist()]
    assert len(rows_of(file, max_unpacked_bytes=sum(sizes))) == 61
    with pytest.raises(FileUploadError, match=f"more than {sum(sizes) - 1} bytes unpacked"):
        rows_of(file, max_unpacked_bytes=sum(sizes) - 1)


def test_texts_of_a_parquet_file_are_unpacked_within_a_bound() -> None:
    file = parquet({"a": ["x" * 500] * 100})  # the text stands there once
    assert len(file) < 10_000
    assert len(rows_of(file, max_unpacked_bytes=60_000)) == 101
    with pytest.raises(FileUploadError, match="more than 40000 bytes unpacked"):
        rows_of(file, max_unpacked_bytes=40_000)


def test_a_row_of_more_characters_than_may_be_is_refused_with_its_number() -> None:
    cell = b'"' + (b"x" * 99 + b"\n") * 999 + b"x" * 97 + b'",'  # 100,000 characters on many lines
    exact = b"a\n" + (cell * (LONGEST_ROW // len(cell)))[:-1] + b"\n"
    with pytest.raises(FileUploadError, match="row 2: it has 80 cells"):
        rows_of(exact)
    with pytest.raises(FileUploadError, match=f"row 2: it has more than {LONGEST_ROW} characters"):
        rows_of(exact[:-2] + b'x"\n')


class TimeIsOverError(Exception):
    """What `check` raises here."""


@for_each("write", [csv_file, workbook, parquet_file])
def test_whether_the_time_is_over_is_asked_before_a_file_is_read_and_at_each_batch(
    write: Callable[[Sequence[Sequence[str]]], bytes],
) -> None:
    file = write([["a"], ["1"]])
    checks: list[bool] = []

    def over() -> None:
        checks.append(True)
        if len(checks) == after:
            raise TimeIsOverError

    limits = FileLimits(**LIMITS, check=over)
    for after in (1, 3):  # while it is copied, and while it is looked through
        checks.clear()
        handed = io.BytesIO(file)
        with pytest.raises(TimeIsOverError), opened_table(handed, FileUploadOptions(), limits) as table:
            list(table.batches(table.columns))
        assert (handed.tell() == 0) is (after == 1)


@for_each(
    "write",
    [lambda empty: b"a\n1\n" + b"\n" * empty + b"2\n", lambda empty: workbook([["a"], [1], *[[None]] * empty, [2]])],
    ids=["csv", "sheet"],
)
def test_whether_the_time_is_over_is_asked_among_empty_rows(write: Callable[[int], bytes]) -> None:
    checks: list[bool] = []
    limits = FileLimits(**LIMITS, check=lambda: checks.append(True))
    counts = []
    for empty in (0, 30_000):
        checks.clear()
        with opened_table(io.BytesIO(write(empty)), FileUploadOptions(), limits) as table:
            assert sum(len(batch) for batch in table.batches(table.columns)) == 2
        counts.append(len(checks))
    assert counts[1] - counts[0] >= 3


# ---------------------------------------------------------------------------------------------------- damaged workbooks
def _markup(parts: Parts, old: bytes, new: bytes) -> None:
    assert old in parts[SHEET]
    parts[SHEET] = parts[SHEET].replace(old, new)


def _renamed(parts: Parts, old: str, new: str) -> None:
    parts[new] = parts.pop(old)


def _patched(at: int, values: bytes, *, mark: bytes = b"PK\x01\x02") -> bytes:
    """Return a workbook with other bytes at a place of the first record that has a mark."""
    file = bytearray(workbook([["id"], [1]]))
    place = file.index(mark) + at
    file[place : place + len(values)] = values
    return bytes(file)


def _with_comment(content: bytes) -> bytes:
    return content[:-2] + struct.pack("<H", 3) + b"abc"


DAMAGED = "it is no .xlsx workbook, or its container is damaged"


@for_each(
    ("content", "message"),
    [
        (repacked(lambda parts: None), None),
        (repacked(lambda parts: None, compression=zipfile.ZIP_DEFLATED), None),
        (repacked(lambda parts: None, compression=zipfile.ZIP_BZIP2), DAMAGED),
        (repacked(lambda parts: parts.update({"XL/Workbook.xml": b"<x/>"})), DAMAGED),
        (repacked(lambda parts: parts.pop("xl/workbook.xml")), DAMAGED),
        (repacked(lambda parts: parts.update({"content.xml": b"<x/>"})), "a spreadsheet of another format"),
        (repacked(lambda parts: parts.update({"xl/workbook.bin": b"x"})), "a spreadsheet of another format"),
        (repacked(lambda parts: _markup(parts, b"<worksheet", b"<!DOCTYPE x><worksheet")), "it declares entities"),
        (repacked(lambda parts: _markup(parts, b"<worksheet", b"<! entity x><worksheet")), "it declares entities"),
        (repacked(lambda parts: _markup(parts, b"<worksheet", b"\0<worksheet")), "has another encoding"),
        (repacked(lambda parts: _markup(parts, b'<c r="A2"', b"<c")), "it has cells without a place"),
        (repacked(lambda parts: _markup(parts, b'<c r="A2"', b"<x:c")), "it has cells without a place"),
        (
            repacked(lambda parts: _markup(parts, b'<c r="A2"', b'<x:c r="ALM9999"')),
            "a sheet has more than 10000000 cells",
        ),
        *(
            (repacked(lambda parts, tag=tag: _markup(parts, b"</row>", tag + b' r="XFD9999"/></row>')), message)
            for tag, message in [
                (b"<:c", "a sheet has more"),  # of a name the reader takes what is behind its colon, whatever is before
                (b"<a=b:c", "a sheet has more"),
                (b"<a/b:c", "a sheet has more"),
                (b"<\v:c", "a sheet has more"),
                (b'<a">"b:c', "it has tags that are none"),  # and of a tag all up to a `>` outside of quotes
                (b"<a'<b>':c", "it has tags that are none"),
                (b"<a'<b>" + b"x" * 300_000 + b"<b>':c", "it has tags that are none"),  # over two pieces
                (b'<c r="B1"', "it has cells without a place"),  # and of two places the second
                (b'<c r="B1" t="n"', "it has cells without a place"),
                (b'<c r="B1" x=">"', "it has cells without a place"),
            ]
        ),
        (repacked(lambda parts: _markup(parts, b'r="A2"', b'r="ALM9999"')), "a sheet has more than 10000000 cells"),
        (repacked(lambda parts: _markup(parts, b"</worksheet>", b"</worksheet>" + b"x" * 2_000_001)), "a text of more"),
        (
            repacked(
                lambda parts: parts.update(
                    {
                        "xl/_rels/workbook.xml.rels": parts["xl/_rels/workbook.xml.rels"].replace(
                            b"worksheets/sheet1.xml", b"worksheets/sheet1.bin"
                        )
                    }
                )
            ),
            DAMAGED,
        ),
        (_with_comment(workbook([["id"], [1]])), "its end is missing"),
        (_patched(8, b"\x01\x00"), "it is protected by a password; save it without"),
        (_patched(24, b"\x01\x00\x00\x00"), DAMAGED),  # its size unpacked
        (_patched(0, b"PK\x03\x05", mark=b"PK\x03\x04"), "does not begin as they do"),
        (_patched(4, b"\x01\x00", mark=b"PK\x05\x06"), DAMAGED),  # parts on another disk
        (_patched(8, b"\x01\x00", mark=b"PK\x05\x06"), DAMAGED),  # fewer parts here than there are
        (_patched(12, b"\x01\x00\x00\x00", mark=b"PK\x05\x06"), DAMAGED),  # a short directory
        (b"PK\x03\x04" + bytes(20), DAMAGED),
    ],
)
def test_of_a_damaged_workbook_is_told_what_is_wrong(content: bytes, message: str | None) -> None:
    if message is None:
        assert rows_of(content)[0] == ("id",)
    else:
        with pytest.raises(FileUploadError, match=re.escape(message)):
            rows_of(content, {"type": "excel"})


def test_a_part_that_is_not_where_the_directory_says_is_damage() -> None:
    file = bytearray(workbook([["id"], [1]]))
    second = file.index(b"PK\x03\x04", 4)
    file[second : second + 4] = b"PK\x03\x05"
    with pytest.raises(FileUploadError, match="container is damaged"):
        rows_of(bytes(file))


# --------------------------------------------------------------------------------------------------- how it is read
def test_headers_of_the_same_name_are_numbered_from_two() -> None:
    assert rows_of(b"a,a,A,a_2,b,,\n1,2,3,4,5,6,7\n")[0] == ("a", "a_3", "A_4", "a_2", "b", "column_6", "column_7")


@for_each(
    ("text", "form", "moment"),
    [
        ("31.01.2024 10:00 +0200", "%d.%m.%Y %H:%M %z", datetime(2024, 1, 31, 8)),
        ("31.01.2024 10:00", "%d.%m.%Y %H:%M", datetime(2024, 1, 31, 10)),
    ],
)
def test_moments_of_a_form_are_in_utc(text: str, form: str, moment: datetime) -> None:
    options = {"column_dates": ("at",), "date_format": form}
    assert rows_of(f"at\n{text}\n\n".encode(), options) == [("at",), (moment,)]


@for_each(
    ("nulls", "rows"),
    [
        ((), [("x", "-"), ("n/a", "z")]),
        (("n/a",), [("x", "-"), (None, "z")]),
        (("-", "n/a"), [("x", None), (None, "z")]),
    ],
)
def test_of_a_sheet_an_empty_text_is_null_whatever_else_is(nulls: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    file = workbook([["a", "b"], ["x", "-"], ["", ""], ["n/a", "z"]])
    assert rows_of(file, {"null_values": nulls})[1:] == rows
    file = workbook([["a", "b"], ["x", ""]])
    assert rows_of(file, {"null_values": nulls})[1:] == [("x", None)]


def test_a_file_may_be_told_to_be_another_than_its_name_says() -> None:
    file = io.BytesIO(b"id\n1\n")
    file.name = "rows.xlsx"
    with pytest.raises(FileUploadError, match=r"its name ends in \.xlsx, and it is no such file"):
        rows_of(file)
    file.seek(0)
    assert rows_of(file, {"type": "csv"}) == [("id",), (1,)]
    file = io.BytesIO(parquet({"id": [1]}))
    file.name = "rows.xlsx"
    assert rows_of(file, {"type": "columnar"}) == [("id",), (1,)]


@for_each(
    ("options", "rows"),
    [
        ({}, [("title", "column_2"), ("a", "b"), ("1", "x"), ("2", "y")]),
        ({"header_row": 1}, [("a", "b"), (1, "x"), (2, "y")]),
        ({"skip_rows": 1}, [("a", "b"), (1, "x"), (2, "y")]),
        ({"skip_rows": 1, "header_row": 1}, [("column_1", "x"), (2, "y")]),
        ({"skip_rows": 2, "header_row": None}, [("column_1", "column_2"), (1, "x"), (2, "y")]),
    ],
)
def test_the_rows_of_a_sheet_begin_behind_those_that_are_left_out(
    options: dict[str, Any], rows: list[tuple[Any, ...]]
) -> None:
    found = rows_of(workbook([["title", None], ["a", "b"], [1, "x"], [2, "y"]]), options)
    assert found[1:] == rows[1:]
    assert found[0][1] == rows[0][1]


def test_numbers_in_texts_of_a_parquet_file_have_the_decimal_character_that_is_told() -> None:
    options = {"decimal_character": ",", "column_data_types": {"a": "DECIMAL(4,2)"}}
    assert rows_of(parquet({"a": ["1,25", None]}), options)[1:] == [(Decimal("1.25"),), (None,)]


@for_each(
    ("options", "path"),
    [
        ({"delimiter": ",", "decimal_character": ","}, "options.delimiter"),
        ({"delimiter": ";", "decimal_character": ";"}, "options.delimiter"),
        ({"delimiter": '"'}, "options.delimiter"),
        ({"delimiter": "é"}, "options.delimiter"),
        ({"encoding": "utf-7"}, "options.encoding"),
        ({"column_data_types": {"a": "MONEY"}}, "options.column_data_types.a"),
        ({"column_data_types": {"a": "DATE"}, "column_dates": ("a",)}, "options.column_dates"),
        ({"column_data_types": {"z": "DATE"}}, "options.column_data_types"),
    ],
)
def test_options_that_no_text_file_could_have_are_refused(options: dict[str, Any], path: str) -> None:
    with pytest.raises(PayloadSchemaError) as refused:
        rows_of(b"a;b\n1,5;x\n" if ";" in options.get("delimiter", "") else b"a,b\n1,x\n", options)
    assert [problem.path for problem in refused.value.problems] == [path]
    assert rows_of(b"a;b\n1,5;x\n", {"delimiter": ";", "decimal_character": ","})[1] == (Decimal("1.5"), "x")


def test_a_sheet_is_known_by_its_name() -> None:
    file = workbook([["a"], [1]], other=[["b"], [True]])
    assert rows_of(file) == [("a",), (1,)]
    assert rows_of(file, {"sheet_name": "other"}) == [("b",), (True,)]
    with pytest.raises(PayloadSchemaError, match="there is no such sheet; it has: 'first', 'other'"):
        rows_of(file, {"sheet_name": "Other"})
    with pytest.raises(FileUploadError, match="the sheet has no rows"):
        rows_of(workbook([]))


def test_cells_of_two_kinds_become_the_kind_that_holds_both() -> None:
    columns = [[1, 2.5], [2**53, 1], [date(2024, 1, 2), datetime(2024, 1, 2, 3)], [True, 1], [True, False], [None, 4]]
    file = workbook([[f"c{place}" for place, _ in enumerate(columns)], *map(list, zip(*columns, strict=True))])
    assert rows_of(file)[1:] == [
        (1.0, 2.0**53, datetime(2024, 1, 2), "true", True, None),
        (2.5, 1.0, datetime(2024, 1, 2, 3), "1", False, 4),
    ]


def test_numbers_of_a_sheet_that_are_asked_as_text_are_written_as_they_are_shown() -> None:
    types = dict.fromkeys("abcd", "TEXT") | {"e": "DECIMAL(5,2)"}
    file = workbook([["a", "b", "c", "d", "e"], [7, 7.5, True, datetime(2024, 1, 2, 3), 1.25]])
    assert rows_of(file, {"column_data_types": types})[1] == (
        "7",
        "7.5",
        "true",
        "2024-01-02 03:00:00",
        Decimal("1.25"),
    )


@for_each(
    ("values", "expected"),
    [
        (pa.array([2**64 - 1, None], pa.uint64()), Decimal(2**64 - 1)),
        (pa.array([Decimal("-12.345"), None], pa.decimal128(38, 3)), Decimal("-12.345")),
        (pa.array([datetime(2024, 1, 1, 12), None], pa.timestamp("us", "Europe/Berlin")), datetime(2024, 1, 1, 12)),
        (pa.array(["x", None]).dictionary_encode(), "x"),
        (pa.array(["x", None], pa.large_string()), "x"),
        (pa.array([None, None], pa.null()), None),
        (pa.array([1.5, None], pa.float32()), 1.5),
        (pa.array([-5, None], pa.int8()), -5),
        (pa.array([date(1, 1, 1), None]), date(1, 1, 1)),
        (pa.array([datetime.max, None], pa.timestamp("us")), datetime.max),
    ],
)
def test_values_of_parquet_types_are_the_same_in_a_table(values: pa.Array, expected: Any) -> None:
    assert rows_of(parquet({"a": values})) == [("a",), (expected,), (None,)]


@for_each(
    ("values", "message"),
    [
        (pa.array([[1]]), r"column 'a': values of the type list<.*> have no place in a table; write them as text"),
        (pa.array([b"x"]), r"column 'a': values of the type binary have no place in a table"),
        (pa.array([0, 10**18], pa.timestamp("ms")), "row 2, column 'a': must be a moment"),
        (pa.array([0, 10**7], pa.date32()), "row 2, column 'a': must be a date"),
        (
            pa.StringArray.from_buffers(2, pa.py_buffer(struct.pack("<3i", 0, 1, 2)), pa.py_buffer(b"x\xff")),
            "row 2, column 'a': the text is not in UTF-8",
        ),
    ],
)
def test_values_of_parquet_types_that_no_table_has_are_told(values: pa.Array, message: str) -> None:
    with pytest.raises(FileUploadError, match=message):
        rows_of(parquet({"a": values}))
