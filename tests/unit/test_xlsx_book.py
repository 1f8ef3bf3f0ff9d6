"""XLSX: numbers stay numbers, days are dates, and no text is a formula."""

from __future__ import annotations

import html
import io
import re
import zipfile
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from python_calamine import CalamineWorkbook
from tests.support.cases import for_each
from tests.support.formulas import HOSTILE
from tests.support.frames import frame_of

from analytics_core._engine.results.spreadsheets import MOST_CHARACTERS, Sheet, xlsx_bytes
from analytics_core.errors import ResultTooLargeError


def cells(frame: Any, **options: Any) -> list[list[Any]]:
    book = CalamineWorkbook.from_filelike(io.BytesIO(xlsx_bytes([Sheet(name="Sheet1", frame=frame, **options)])))
    return book.get_sheet_by_index(0).to_python()


def sheet_text(frame: Any) -> str:
    with zipfile.ZipFile(io.BytesIO(xlsx_bytes([Sheet(name="Sheet1", frame=frame)]))) as book:
        return book.read("xl/worksheets/sheet1.xml").decode()


@for_each("text", ["=1+1", "+1", "-a", "@SUM(A1)", "＝1", "\t=1", "{=1}", "=cmd|' /C calc'!A0"])
def test_no_text_becomes_a_formula(text: str) -> None:
    assert "<f>" not in sheet_text(frame_of({text: [text]}))


def test_text_that_begins_like_a_formula_is_neutralised_in_cells_headers_and_verbose_names() -> None:
    rows = cells(frame_of({"=a": ["=1"], "b": ["-10.5"]}), headers={"b": "@b"})
    assert rows == [["'=a", "'@b"], ["'=1", "-10.5"]]


@for_each("text", HOSTILE, ids=ascii)
def test_hostile_text_is_neutralised_wherever_it_stands(text: str) -> None:
    frame = frame_of({text: [text, None], "b": [text, -1], "c": ["a=1", "-1"]})
    readable = "'" + "".join("\ufffd" if c in "\x00\x1f" else c for c in text)
    texts = [[unicode_lines(cell) for cell in row] for row in cells(frame, headers={"b": text})]
    assert texts == [[unicode_lines(readable)] * 2 + ["c"], [unicode_lines(readable)] * 2 + ["a=1"], ["", -1, "-1"]]


def unicode_lines(cell: Any) -> Any:
    """Return a cell as XML readers give it: a carriage return is a line feed."""
    return cell.replace("\r\n", "\n").replace("\r", "\n").replace("_x000D_", "") if isinstance(cell, str) else cell


@for_each("text", ["https://example.org", "mailto:a@example.org", "internal:Sheet1!A1", "12", "TRUE"])
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    assert cells(frame_of({"a": [text]}))[1] == [text]
    assert "<hyperlink" not in sheet_text(frame_of({"a": [text]}))


def test_columns_are_as_wide_as_their_dates_and_texts_and_the_header_stays_in_view() -> None:
    moments = [datetime(2026, 1, 1, 12, tzinfo=UTC).replace(tzinfo=None)]
    page = sheet_text(frame_of({"when": moments, "n": [1], "long": ["x" * 500], "a name of some length": [None]}))
    widths = [float(width) for width in re.findall(r'<col [^>]*width="([\d.]+)"', page)]
    assert [round(width) for width in widths] == [21, 10, 52, 23]
    assert '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>' in page
    assert re.search(r'<c r="A1" s="\d+"', page)


def test_numbers_and_booleans_stay_what_they_are() -> None:
    assert cells(frame_of({"i": [-5], "f": [1.5], "d": [Decimal("2.25")], "b": [True]}))[1] == [-5, 1.5, 2.25, True]


def test_numbers_above_ten_to_the_fifteen_become_text() -> None:
    frame = frame_of({"a": [10**15, 10**15 + 1, -(10**16), 2.0**60]})
    assert [row[0] for row in cells(frame)[1:]] == [
        10**15,
        "1000000000000001",
        "-10000000000000000",
        "1.152921504606847e+18",
    ]


def test_null_nan_and_the_infinities_are_empty_cells() -> None:
    frame = frame_of({"a": [None, float("nan"), float("inf"), Decimal("NaN")], "b": [1, 1, 1, 1]})
    assert [row[0] for row in cells(frame)[1:]] == ["", "", "", ""]


def test_days_and_moments_are_date_cells_where_a_spreadsheet_can_hold_them() -> None:
    frame = frame_of({"a": [date(2024, 1, 31), datetime(2024, 1, 31, 12), date(1900, 1, 1), datetime(1900, 2, 28, 23)]})
    assert [row[0] for row in cells(frame)[1:]] == [
        date(2024, 1, 31),
        datetime(2024, 1, 31, 12),
        "1900-01-01",
        "1900-02-28 23:00:00",
    ]


def test_moments_with_a_zone_are_date_cells_in_utc_which_say_so() -> None:
    west, east = timezone(timedelta(hours=-5)), ZoneInfo("Asia/Kolkata")
    moments = [
        datetime(2024, 1, 1, 1, tzinfo=UTC),
        datetime(2024, 1, 31, 23, 30, 15, tzinfo=west),
        datetime(2024, 3, 1, 2, tzinfo=east),
        pd.Timestamp("2024-06-01 12:00", tz="Europe/Berlin"),
        datetime(1900, 3, 1, 2, tzinfo=timezone(timedelta(hours=5))),
        datetime(9999, 12, 31, 23, tzinfo=west),
    ]
    frame = frame_of({"a": moments, "naive": [datetime(2024, 1, 1)] * len(moments)})
    assert [row[0] for row in cells(frame)[1:]] == [
        datetime(2024, 1, 1, 1),
        datetime(2024, 2, 1, 4, 30, 15),
        datetime(2024, 2, 29, 20, 30),
        datetime(2024, 6, 1, 10),
        "1900-03-01 02:00:00+05:00",
        "9999-12-31 23:00:00-05:00",
    ]
    assert displayed_formats(frame, "A2", "B2") == ['yyyy-mm-dd hh:mm:ss "UTC"', "yyyy-mm-dd hh:mm:ss"]


def displayed_formats(frame: Any, *names: str) -> list[str]:
    """Return the number formats of cells, which a spreadsheet shows them by."""
    with zipfile.ZipFile(io.BytesIO(xlsx_bytes([Sheet(name="Sheet1", frame=frame)]))) as book:
        styles, page = (book.read(f"xl/{part}.xml").decode() for part in ("styles", "worksheets/sheet1"))
    codes = dict(re.findall(r'<numFmt numFmtId="(\d+)" formatCode="([^"]*)"', styles))
    cell_formats = re.findall(r'<xf numFmtId="(\d+)"', styles[styles.index("<cellXfs") :])
    places = [re.search(rf'<c r="{name}" s="(\d+)"', page) for name in names]
    return [html.unescape(codes[cell_formats[int(place[1])]]) for place in places if place]


def test_a_cut_text_says_that_it_is_cut() -> None:
    full, cut = (row[0] for row in cells(frame_of({"a": ["x" * MOST_CHARACTERS, "x" * (MOST_CHARACTERS + 1)]}))[1:])
    assert full == "x" * MOST_CHARACTERS
    assert len(cut) == MOST_CHARACTERS
    assert cut.endswith("[cut: a cell holds 32,767 characters]")


def test_characters_that_xml_cannot_hold_do_not_break_the_file() -> None:
    assert cells(frame_of({"a": ["a\x00b\x0bc\ud800"]}))[1] == ["a\ufffdb\ufffdc\ufffd"]


def test_more_columns_than_a_sheet_holds_is_a_typed_error() -> None:
    with pytest.raises(ResultTooLargeError, match="16384 columns"):
        xlsx_bytes([Sheet(name="Sheet1", frame=frame_of({f"c{n}": [1] for n in range(16_385)}))])


def test_every_query_has_a_sheet() -> None:
    sheets = [Sheet(name=f"Sheet{n}", frame=frame_of({"a": [n]})) for n in (1, 2)]
    book = CalamineWorkbook.from_filelike(io.BytesIO(xlsx_bytes(sheets)))
    assert [book.get_sheet_by_name(name).to_python() for name in book.sheet_names] == [[["a"], [1]], [["a"], [2]]]
