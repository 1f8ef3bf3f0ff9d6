"""One CSV file, one answer: `connect` and `databases.upload` give the same columns, types and values for its bytes."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.uploading import UploadTarget, empty_file, upload_target

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core.errors import FileUploadError, SourceError


@dataclass(frozen=True, slots=True)
class OddFile:
    """A column behind a number of the rows of its file, and what it holds."""

    texts: tuple[str, ...]
    type: str
    values: tuple[Any, ...]
    reported: dict[str, Any] = field(default_factory=dict)
    doubt: str = ""


COMMA = {"decimal_character": ","}
GERMAN = {**COMMA, "thousands_character": "."}
ID = "1439403621518935563"
FILES = {
    "a price": OddFile(("1.50", "12.25"), "DECIMAL(2)", (Decimal("1.50"), Decimal("12.25"))),
    "20 digits": OddFile(("12345678901234567891", "7"), "DECIMAL(0)", (Decimal("12345678901234567891"), Decimal(7))),
    "38 digits": OddFile(("1" * 38, "-2"), "DECIMAL(0)", (Decimal("1" * 38), Decimal(-2))),
    "39 digits": OddFile(("1" * 39, "2"), "TEXT", ("1" * 39, "2")),
    "38 digits and a fraction": OddFile(("1" * 38, "2.5"), "TEXT", ("1" * 38, "2.5")),
    "64 bits": OddFile((str(2**63 - 1), str(-(2**63))), "INTEGER", (2**63 - 1, -(2**63))),
    "65 bits": OddFile((str(2**63), "1"), "DECIMAL(0)", (Decimal(2**63), Decimal(1))),
    "long ids beside an exponent": OddFile((ID, "42286989", "8.26E+17"), "TEXT", (ID, "42286989", "8.26E+17")),
    "long prices beside an exponent": OddFile((f"{ID}.25", "1e3"), "TEXT", (f"{ID}.25", "1e3")),
    "a double holds it": OddFile((str(2**53), "1e3"), "FLOAT", (2.0**53, 1000.0)),
    "a double rounds it": OddFile((str(2**53 + 1), "1e3"), "TEXT", (str(2**53 + 1), "1e3")),
    "exponents": OddFile(("1e3", "-2.5E-3", "7", ".5", "1."), "FLOAT", (1000.0, -0.0025, 7.0, 0.5, 1.0)),
    "beyond a double": OddFile(("1e999", "2"), "TEXT", ("1e999", "2")),
    "no finite number": OddFile(("1.5", "inf", "-Infinity"), "FLOAT", (1.5, None, None)),
    "a binary fraction": OddFile(("0.1000000000000000055511151231257827021181", "2"), "FLOAT", (0.1, 2.0)),
    "below one": OddFile(("0.25", ".5", "-.25"), "DECIMAL(2)", (Decimal("0.25"), Decimal("0.50"), Decimal("-0.25"))),
    "padded whole numbers": OddFile((" 1", "22 ", "  3  "), "INTEGER", (1, 22, 3)),
    "padded prices": OddFile(("  1.50", " 12.25 "), "DECIMAL(2)", (Decimal("1.50"), Decimal("12.25"))),
    "padded texts": OddFile((" a", "b "), "TEXT", (" a", "b ")),
    "a blank": OddFile((" ", "1"), "TEXT", (" ", "1")),
    "leading zeros": OddFile(("007", "12"), "TEXT", ("007", "12")),
    "plus signs": OddFile(("+5", "6"), "TEXT", ("+5", "6")),
    "hexadecimal": OddFile(("0x1F", "6"), "TEXT", ("0x1F", "6")),
    "underscores": OddFile(("1_000", "6"), "TEXT", ("1_000", "6")),
    "digits of another script": OddFile(("٣", "4"), "TEXT", ("٣", "4")),
    "Booleans": OddFile(("true", "FALSE", "True"), "BOOLEAN", (True, False, True)),
    "letters for Booleans": OddFile(("t", "f"), "TEXT", ("t", "f")),
    "words for Booleans": OddFile(("yes", "no"), "TEXT", ("yes", "no")),
    "nothing": OddFile(("", "", ""), "TEXT", (None, None, None)),
    "gaps": OddFile(("", "2", ""), "INTEGER", (None, 2, None)),
    "quotes around nothing": OddFile(('""', "2"), "INTEGER", (None, 2)),
    "quotes": OddFile(('"a;""b"""', '"c\nd"'), "TEXT", ('a;"b"', "c\nd")),
    "a decimal comma": OddFile(("1,50", "-2,25"), "DECIMAL(2)", (Decimal("1.50"), Decimal("-2.25")), COMMA),
    "a decimal comma that is not told": OddFile(("1,50", "2,25"), "TEXT", ("1,50", "2,25")),
    "German prices": OddFile(("1.234,50", "99,90"), "DECIMAL(2)", (Decimal("1234.50"), Decimal("99.90")), GERMAN),
    "thousands": OddFile(("1.234", "2.500.000", "-7"), "INTEGER", (1234, 2500000, -7), GERMAN),
    "long thousands": OddFile(("12.345.678.901.234.567.891", "7"), "DECIMAL(0)",
                              (Decimal("12345678901234567891"), Decimal(7)), GERMAN),
    "thousands at other places": OddFile(("1.2.3", "12.34"), "TEXT", ("1.2.3", "12.34"), GERMAN),
    "thousands beside an exponent": OddFile(("1.234,5", "1e3"), "FLOAT", (1234.5, 1000.0), GERMAN),
    "blanks between thousands": OddFile(("1 234", "5"), "INTEGER", (1234, 5), {"thousands_character": " "}),
    "thousands that are not told": OddFile(("1.234", "2.500"), "DECIMAL(3)", (Decimal("1.234"), Decimal("2.500")),
                                           doubt=r"thousands_character='\.'"),
    "days": OddFile(("2024-01-31", "2024-02-29"), "DATE", (date(2024, 1, 31), date(2024, 2, 29))),
    "no day of the calendar": OddFile(("2024-02-30", "2024-01-01"), "TEXT", ("2024-02-30", "2024-01-01")),
    "the year 0": OddFile(("0000-01-01", "2024-01-01"), "TEXT", ("0000-01-01", "2024-01-01")),
    "the day first": OddFile(("31.01.2024", "1.2.2024"), "DATE", (date(2024, 1, 31), date(2024, 2, 1))),
    "the month first": OddFile(("01/31/2024", "02/01/2024"), "DATE", (date(2024, 1, 31), date(2024, 2, 1))),
    "the year first": OddFile(("2024/1/31", "2024/02/01"), "DATE", (date(2024, 1, 31), date(2024, 2, 1))),
    "short years": OddFile(("31.01.68", "01.02.69"), "DATE", (date(2068, 1, 31), date(1969, 2, 1))),
    "days that may be months": OddFile(("01/02/2024", "03/04/2024"), "DATE", (date(2024, 2, 1), date(2024, 4, 3)),
                                       doubt="no date tells days and months apart"),
    "days that are their months": OddFile(("02/02/2024", "03/03/2024"), "DATE", (date(2024, 2, 2), date(2024, 3, 3))),
    "the month first as told": OddFile(("01/02/2024", "03/04/2024"), "DATE", (date(2024, 1, 2), date(2024, 3, 4)),
                                       {"date_format": "%m/%d/%Y"}),
    "names of months as told": OddFile(("5 Jan 2024", "6 Feb 2024"), "DATE", (date(2024, 1, 5), date(2024, 2, 6)),
                                       {"date_format": "%d %b %Y"}),
    "the year, the day as told": OddFile(("2024-02-01", "2024-04-03"), "DATE", (date(2024, 1, 2), date(2024, 3, 4)),
                                         {"date_format": "%Y-%d-%m"}),
    "another form than told": OddFile(("01/02/24", "03/04/24"), "TEXT", ("01/02/24", "03/04/24"),
                                      {"date_format": "%d.%m.%Y"}),
    "ISO 8601 where another form is told": OddFile(("2024-01-31", ""), "DATE", (date(2024, 1, 31), None),
                                                   {"date_format": "%d.%m.%Y"}),
    "two forms": OddFile(("31.01.2024", "02/01/2024"), "TEXT", ("31.01.2024", "02/01/2024")),
    "moments": OddFile(("2024-01-31 10:00", "2024-01-31T10:00:00.25", "2024-02-01"), "TIMESTAMP",
                       (datetime(2024, 1, 31, 10), datetime(2024, 1, 31, 10, 0, 0, 250_000), datetime(2024, 2, 1))),
    "moments to the nanosecond": OddFile(("2024-01-31T10:00:00.123456789", "2024-01-31T10:00Z"), "TIMESTAMP",
                                         (datetime(2024, 1, 31, 10, 0, 0, 123_456), datetime(2024, 1, 31, 10))),
    "zones": OddFile(("2024-01-31T10:00+02:00", "2024-01-31 10:00:00 Z", "2024-01-31 10:00:00.5-0130",
                      "2024-01-31 10:00"),
                     "TIMESTAMP", (datetime(2024, 1, 31, 8), datetime(2024, 1, 31, 10),
                                   datetime(2024, 1, 31, 11, 30, 0, 500_000), datetime(2024, 1, 31, 10))),
    "an hour that there is not": OddFile(("2024-01-31 24:00", "2024-01-31 10:00"), "TEXT",
                                         ("2024-01-31 24:00", "2024-01-31 10:00")),
    "no day with a zone": OddFile(("2024-02-30T10:00:00+02:00",), "TEXT", ("2024-02-30T10:00:00+02:00",)),
    "padded moments": OddFile((" 2024-01-31 10:00", "2024-01-31 11:00 "), "TIMESTAMP",
                              (datetime(2024, 1, 31, 10), datetime(2024, 1, 31, 11))),
    "noon and midnight": OddFile(("31.01.2024 12:05 AM", "01.02.2024 12:05 pm"), "TIMESTAMP",
                                 (datetime(2024, 1, 31, 0, 5), datetime(2024, 2, 1, 12, 5))),
    "with a byte order mark": OddFile(("ü", "1"), "TEXT", ("ü", "1")),
    "Latin letters": OddFile(("Köln", "Graz"), "TEXT", ("Köln", "Graz"), {"encoding": "iso-8859-1"}),
    "the euro": OddFile(("5 €", "6"), "TEXT", ("5 €", "6"), {"encoding": "windows-1252"}),
    "numbers in UTF-16": OddFile(("1.50", "2"), "DECIMAL(2)", (Decimal("1.50"), Decimal("2.00")),
                                 {"encoding": "utf-16"}),
}  # fmt: skip


def side_by_side() -> dict[str, dict[str, OddFile]]:
    """Return the columns of each file: those of one length for which the same is told; one with a doubt is alone."""
    files: dict[str, dict[str, OddFile]] = {}
    for name, column in FILES.items():
        alone = column.doubt or name == "with a byte order mark"
        files.setdefault(name if alone else f"{len(column.texts)} rows {column.reported}", {})[name] = column
    return files


TOGETHER = side_by_side()


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UploadTarget]:
    with upload_target(empty_file("duckdb", tmp_path_factory.mktemp("uploads"))) as made:
        yield made


def kind_and_scale(column: Any) -> str:
    """Return the type of a column of a dataset on DuckDB as uploads tell it; of decimals with the scale alone."""
    name, _, digits = str(column.type).partition("(")
    if name == "DECIMAL":
        return f"DECIMAL({digits.partition(',')[2].strip(' )')})"
    return {"BIGINT": "INTEGER", "DOUBLE": "FLOAT", "VARCHAR": "TEXT"}.get(name, name)


def answered(core: AnalyticsCore, dataset: int, by: str | None) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """Return the columns of a dataset with their types, and its rows in the order of one, or else of their texts."""
    columns = {column.column_name: kind_and_scale(column) for column in core.datasets.get(dataset).columns}
    query = {"columns": list(columns), "orderby": [[by, True]] if by else [], "row_limit": 0}
    found = core.charts.data({"datasource": {"id": dataset, "type": "table"}, "queries": [query]}).raise_for_error()
    rows = [tuple(row) for row in found.results[0].rows()]
    return columns, rows if by else sorted(rows, key=repr)


def connected(path: Path, hints: dict[str, Any], by: str | None = "n") -> tuple[Any, str]:
    """Return what `connect` makes of a file, and what it doubts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        core = analytics_core.connect(path, **hints)
    with core:
        return answered(core, 1, by), core.datasets.get(1).description or ""


def uploaded(target: UploadTarget, content: bytes, hints: dict[str, Any], by: str | None = "n") -> tuple[Any, str]:
    """Return what an upload makes of a file, and what it doubts."""
    made = target.upload(content, "t", if_exists="replace", options=hints)
    dataset = target.core.datasets.create({"database": 1, "table_name": "t"})
    try:
        return answered(target.core, dataset.id, by), " ".join(made.notes)
    finally:
        target.core.datasets.delete(dataset.id)


@pytest.mark.slow
@for_each("name", TOGETHER)
def test_a_file_is_the_same_by_connect_and_by_upload(target: UploadTarget, tmp_path: Path, name: str) -> None:
    columns = TOGETHER[name]
    (file, *_), names = columns.values(), list(columns)
    lines = [("n", *names), *zip(map(str, range(9)), *(column.texts for column in columns.values()), strict=False)]
    content = "".join(f"{';'.join(line)}\n" for line in lines).encode(file.reported.get("encoding", "utf-8"))
    content = b"\xef\xbb\xbf" * (name == "with a byte order mark") + content
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    for way, ((types, rows), doubt) in {
        "connect": connected(path, file.reported),
        "upload": uploaded(target, content, file.reported),
    }.items():
        found = {
            title: (types[title], values) for title, values in zip(["n", *names], zip(*rows, strict=True), strict=True)
        }
        n = ("INTEGER", tuple(range(len(file.texts))))
        assert found == {"n": n, **{title: (c.type, c.values) for title, c in columns.items()}}, way
        assert bool(doubt) == bool(file.doubt), (way, doubt)
        assert re.search(file.doubt, doubt), (way, doubt)


CELLS = st.one_of(
    st.sampled_from(sorted({text for file in FILES.values() for text in file.texts if "\n" not in text})),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=2).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.dates().map(str),
    st.datetimes(datetime(1970, 1, 1)).map("{:%d/%m/%Y %H:%M}".format),
    st.datetimes(datetime(1970, 1, 1), timezones=st.timezones()).map(str),
)


HALF = settings(max_examples=settings().max_examples // 2)
"""An example tries up to twelve columns side by side."""


@pytest.mark.slow
@HALF
@given(columns=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=6, max_size=12))
def test_any_file_is_the_same_by_connect_and_by_upload(target: UploadTarget, columns: list[list[str]]) -> None:
    rows = zip(range(3), *columns, strict=True)
    header = ";".join(["n", *(f"c{place}" for place in range(len(columns)))])
    content = "".join(f"{line}\n" for line in [header, *(";".join(map(str, row)) for row in rows)]).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(content)
        assert connected(path, {})[0] == uploaded(target, content, {})[0]


D = Decimal
NO_HEADER = {"header_row": None}
DIALECTS: dict[str, tuple[str, dict[str, Any], dict[str, str], list[tuple[Any, ...]]]] = {
    "decimal commas": ("a;b\n1,5;2,5\n", COMMA, {"a": "DECIMAL(1)", "b": "DECIMAL(1)"}, [(D("1.5"), D("2.5"))]),
    "decimal commas without a header": ("1,5;2,5\n", {**COMMA, **NO_HEADER},
                                        {"column_1": "DECIMAL(1)", "column_2": "DECIMAL(1)"}, [(D("1.5"), D("2.5"))]),
    "one column of decimal commas": ("1,5\n2,5\n", {**COMMA, **NO_HEADER}, {"column_1": "DECIMAL(1)"},
                                     [(D("1.5"),), (D("2.5"),)]),
    "decimal commas that are not told": ("1,5;2,5\n3,5;4,5\n", NO_HEADER, {"column_1": "TEXT", "column_2": "TEXT"},
                                         [("1,5", "2,5"), ("3,5", "4,5")]),
    "quoted decimal commas between commas": ('a,b\n"1,5",x\n"-2,25",y\n', COMMA, {"a": "DECIMAL(2)", "b": "TEXT"},
                                             [(D("-2.25"), "y"), (D("1.50"), "x")]),
    "sentences": ("text\nYes; no\nHello; you\n", {}, {"text": "TEXT"}, [("Hello; you",), ("Yes; no",)]),
    "sentences between commas": ("1,Hello; you\n2,Yes; no\n", NO_HEADER, {"column_1": "INTEGER", "column_2": "TEXT"},
                                 [(1, "Hello; you"), (2, "Yes; no")]),
    "a byte order mark before quotes": ('\ufeff"a,b",c\n1,2\n', {}, {"a,b": "INTEGER", "c": "INTEGER"}, [(1, 2)]),
    "line ends of two kinds": ("a,b\r\n1,2\n3,4\r\n", {}, {"a": "INTEGER", "b": "INTEGER"}, [(1, 2), (3, 4)]),
    "line ends of three kinds": ("a,b\r1,2\n3,4\r\n", {}, {"a": "INTEGER", "b": "INTEGER"}, [(1, 2), (3, 4)]),
    "delimiters at all ends": ("a;b;\n1;2;\n", {}, {"a": "INTEGER", "b": "INTEGER", "column_3": "TEXT"},
                               [(1, 2, None)]),
    "delimiters at the ends of rows": ("a;b\n1;2;\n3;4;\n", {}, {"a": "INTEGER", "b": "INTEGER"}, [(1, 2), (3, 4)]),
    "a delimiter at the end of one row": ("a,b\n1,2\n3,4,\n", {}, {"a": "INTEGER", "b": "INTEGER"}, [(1, 2), (3, 4)]),
    "a month that there is not": ("d,n\n2024/13/04,1\n", {}, {"d": "TEXT", "n": "INTEGER"}, [("2024/13/04", 1)]),
    "a dot in a name": ("a.b,c\n1,2\n", {}, {"a.b": "INTEGER", "c": "INTEGER"}, [(1, 2)]),
    "a row of several lines above the names": ('x\n"y\nz"\na,b\n1,2\n', {"header_row": 2},
                                               {"a": "INTEGER", "b": "INTEGER"}, [(1, 2)]),
    "a delimiter that is told": ("a:b\n1:2\n", {"delimiter": ":"}, {"a": "INTEGER", "b": "INTEGER"}, [(1, 2)]),
    "a long text among the first rows": (f"a;b\n1;2\n3;{'x' * 99_999}\n", {}, {"a": "INTEGER", "b": "TEXT"},
                                         [(1, "2"), (3, "x" * 99_999)]),
}  # fmt: skip


@pytest.mark.slow
@for_each("name", sorted(DIALECTS))
def test_rows_are_parted_alike_by_connect_and_by_upload(target: UploadTarget, tmp_path: Path, name: str) -> None:
    text, hints, columns, rows = DIALECTS[name]
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    assert connected(path, hints, by=None)[0] == (columns, rows)
    assert uploaded(target, text.encode(), hints, by=None)[0] == (columns, rows)


UNREAD = {
    "names with NUL": ("a\0,b\n1,2\n", "row 1: it has NUL bytes"),
    "line ends alone": ("\n\r\n\n", "it has no rows"),
    "a page": (" \n<HTML><body>1;2</body></HTML>", "it begins as HTML or XML does"),
    "rows of JSON": ('{"a": 1, "b": 2}\n', "it begins as JSON does"),
    "another number of cells": ("a,b\n1,2\n3\n", "row 3: it has 1 cells, and the table 2 columns"),
    "a quote that stays open": ('a,b\n"1,2\n', "row 2: a quote is not closed"),
}


@for_each("name", sorted(UNREAD))
def test_what_cannot_be_read_is_the_same_error_on_both_roads(target: UploadTarget, tmp_path: Path, name: str) -> None:
    text, message = UNREAD[name]
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.raises(SourceError, match=message):
        analytics_core.connect(path)
    with pytest.raises(FileUploadError, match=message):
        target.upload(text.encode(), "t", if_exists="replace")


def test_names_with_quotes_stay_by_connect_and_those_too_long_to_store_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('"a""b",c\n1,2024-01-31\n')
    assert connected(path, {}, by='a"b')[0] == ({'a"b': "INTEGER", "c": "DATE"}, [(1, date(2024, 1, 31))])
    path.write_text(f"{'x' * 256},b\n1,2\n")
    with pytest.raises(SourceError, match=r"row 1: the name of a column, 'xxx.* has more than 255 letters"):
        analytics_core.connect(path)


def test_files_of_one_dataset_may_have_different_delimiters(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("n;c\n1;x\n")
    (tmp_path / "2.csv").write_text("n,c\n2,y\n")
    assert connected(tmp_path / "*.csv", {})[0] == ({"n": "INTEGER", "c": "TEXT"}, [(1, "x"), (2, "y")])


def test_one_column_with_another_delimiter_in_its_rows_is_said(target: UploadTarget, tmp_path: Path) -> None:
    text = "Report\ncity;n\nRome;3\n"
    path = tmp_path / "t.csv"
    path.write_text(text)
    for (columns, _), note in (connected(path, {}, by=None), uploaded(target, text.encode(), {}, by=None)):
        assert columns == {"Report": "TEXT"}
        assert "read as one column, though ';' stands in its rows" in note


PIECES = st.text(st.sampled_from("ab1,;|\t \"'\n-.#"), max_size=6)
WRITTEN = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from(",;\t|"),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    }
)


@pytest.mark.slow
@given(
    table=st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(PIECES | st.integers(-99, 99) | CELLS, min_size=width, max_size=width), min_size=1, max_size=7
        )
    ),
    written=WRITTEN,
    ends=st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1, max_size=3),
    mark=st.sampled_from(["", "\ufeff"]),
    message=st.sampled_from([{}, COMMA, NO_HEADER, {**COMMA, **NO_HEADER}]),
)
def test_any_way_to_write_a_table_is_read_alike_by_connect_and_by_upload(
    target: UploadTarget,
    table: list[list[Any]],
    written: dict[str, Any],
    ends: list[str],
    mark: str,
    message: dict[str, Any],
) -> None:
    text = io.StringIO(newline="")
    for place, row in enumerate(table):
        csv.writer(text, lineterminator=ends[place % len(ends)], **written).writerow(row)
    content = (mark + text.getvalue()).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(content)
        assert of_any(connected, path, message) == of_any(partial(uploaded, target), content, message)


def of_any(read: Callable[..., Any], file: Any, hints: dict[str, Any]) -> Any:
    """Return the types and rows of a file, or where it cannot be read; names are made plain by uploads alone."""
    try:
        (columns, rows), _ = read(file, hints, by=None)
    except (SourceError, FileUploadError) as error:
        return error.extra.get("row"), error.message.rpartition(": ")[2].replace("options.", "")
    return list(columns.values()), rows


HEADERS: dict[str, tuple[str, dict[str, Any], list[str], int, str]] = {
    "texts": ("city,year\nRome,2024\n", {}, ["city", "year"], 1, ""),
    "years beside a text": ("city,2020\nRome,2024\n", {}, ["city", "2020"], 1, "give header_row=None"),
    "years behind a gap": (",2020\nRome,2024\n", {}, ["column_1", "2020"], 1, ""),
    "numbers alone": ("1,2020\n2,2024\n", {}, ["column_1", "column_2"], 2, ""),
    "numbers that are told": ("1,2020\n2,2024\n", {"header_row": 0}, ["1", "2020"], 1, ""),
    "texts that are told to be data": ("Bonn,1\nRome,2\n", {"header_row": None}, ["column_1", "column_2"], 2, ""),
    "the second row": ("x,y\na,b\n1,2\n", {"header_row": 1}, ["a", "b"], 1, ""),
    "below what is skipped": ("title\na,b\n1,2\n", {"skip_rows": 1}, ["a", "b"], 1, ""),
    "twins and gaps": ("a,,A,a \n1,2,3,4\n", {}, ["a", "column_2", "A_2", "a_3"], 1, ""),
    "a name like one of DuckDB's": ("column1,\n1,2\n", {}, ["column1", "column_2"], 1, ""),
    "of another encoding": ("ä,\n1,2\n", {"encoding": "iso-8859-1"}, ["ä", "column_2"], 1, ""),
    "below empty lines": ("\n\na,b\n1,2\n", {}, ["a", "b"], 1, ""),
    "one column between empty lines": ('\n\na\n\n1\n\n""\n2\n\n', {}, ["a"], 2, ""),
    "no rows below": ("a,b\n", {}, ["a", "b"], 0, ""),
}


@pytest.mark.slow
@for_each("name", sorted(HEADERS))
def test_columns_are_named_alike_by_connect_and_by_upload(target: UploadTarget, tmp_path: Path, name: str) -> None:
    text, hints, names, count, doubt = HEADERS[name]
    content = text.encode(hints.get("encoding", "utf-8"))
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    for (columns, rows), note in (connected(path, hints, by=names[0]), uploaded(target, content, hints, by=names[0])):
        assert (list(columns), len(rows)) == (names, count)
        assert bool(note) == bool(doubt)
        assert doubt in note


LATE = {
    "nothing else": ("1.50", "1.50", "DECIMAL(2)"),
    "more digits": ("1.50", "1234567890123456.25", "DECIMAL(2)"),
    "a longer fraction": ("1.50", "1.505", "DECIMAL(3)"),
    "an exponent": ("1.50", "1e3", "FLOAT"),
    "an id that a double rounds": ("1e3", ID, "TEXT"),
    "a fraction": ("1", "1.5", "DECIMAL(1)"),
    "a text": ("1", "x", "TEXT"),
    "a leading zero": ("1", "01", "TEXT"),
    "no day of the calendar": ("2024-01-31", "2023-02-29", "TEXT"),
    "a moment": ("2024-01-31", "2024-01-31 10:00", "TIMESTAMP"),
    "a zone": ("2024-01-31 10:00", "2024-01-31 10:00+02:00", "TIMESTAMP"),
    "the day first": ("01/02/2024", "31/12/2024", "DATE"),
    "the month first": ("01/02/2024", "12/31/2024", "DATE"),
    "no day of that form": ("31.12.2024", "30.02.2024", "TEXT"),
    "a value": ("", "7", "INTEGER"),
    "a value beside text": ("x", "7", "TEXT"),
}
"""What stands late in a column of many equal texts: both texts, and the type of the column."""


@pytest.mark.slow
def test_the_last_row_of_a_long_file_counts_in_every_column(target: UploadTarget, tmp_path: Path) -> None:
    many, last = (",".join(text) for text in zip(*((one, other) for one, other, _ in LATE.values()), strict=True))
    content = "\n".join(
        ["n," + ",".join(LATE), *(f"{row},{many}" for row in range(6_000)), f"6000,{last}", ""]
    ).encode()
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    (types, rows), _ = connected(path, {})
    assert types == {"n": "INTEGER", **{name: kind for name, (_, _, kind) in LATE.items()}}
    assert (types, rows) == uploaded(target, content, {})[0]
