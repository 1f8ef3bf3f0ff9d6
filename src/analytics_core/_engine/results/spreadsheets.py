"""Frames as CSV and as XLSX workbooks, in which text that a spreadsheet would read as a formula is harmless.

CSV is UTF-8 with a byte-order mark, by which spreadsheets know it, commas, a header line and line feeds. Null is an
empty field, moments are ISO 8601 (`2024-01-31 12:00:00`); numbers are never changed.

An XLSX workbook has one sheet for each frame, written row by row so that memory stays small; its header is bold and
stays in view, and columns are as wide as what stands in their first rows. Numbers stay numbers, but for those above
10^15 in size, whose last digits a spreadsheet would lose: they become text. Days and moments become date cells from
1900-03-01 on, and earlier ones ISO 8601 text. A spreadsheet knows no time zones: a moment with one is a cell in UTC
that shows `UTC` behind it. Text is never a formula or a link. In both, text that would be one has a `'` before it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any, Final

from analytics_core._engine.frames.arrow_frames import arrow_part, is_arrow
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import text_value, value_types
from analytics_core.errors import ResultTooLargeError

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

# A semicolon or a tab parts cells in some locales, where `x;=1+1` would become a formula of its own.
_QUOTED: Final = re.compile(r'[,;"\t\r\n\v\f\x85\u2028\u2029]')
_NUMBERS: Final = frozenset({int, float, bool})
_SLICE_ROWS: Final = 50_000


def csv_chunks(frame: Frame, *, headers: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the frame as CSV in parts of some ten thousand rows.

    Args:
        frame: the rows.
        headers: what to write instead of a column's name (verbose names); missing: the name.
    """
    names = [_text_field(headers.get(name) or name) for name in frame.names]
    yield BYTE_ORDER_MARK + (",".join(names) + "\n").encode()
    for start in range(0, len(frame), _SLICE_ROWS):
        fields = [_fields(column, start) for column in frame.columns]
        yield "".join(f"{','.join(row)}\n" for row in zip(*fields, strict=True)).encode()


def _fields(column: FrameColumn, start: int) -> list[str]:
    """Return one field for each value of a slice."""
    values = _slice(column, start)
    types = value_types(values)
    if types <= _NUMBERS:
        return [text_value(value) for value in values]
    if types == {str}:
        known = {value: _text_field(text_value(value)) for value in set(values)}
        return [known[value] for value in values]
    return [text_value(value) if isinstance(value, int | float) else _text_field(text_value(value)) for value in values]


def _slice(column: FrameColumn, start: int, rows: int = _SLICE_ROWS) -> list[Any]:
    if is_arrow(column.values):
        return list(arrow_part(column.values, start, rows).to_pylist())
    return column.to_list()[start : start + rows]


def _text_field(text: str) -> str:
    safe = neutral_text(text)
    return '"' + safe.replace('"', '""') + '"' if _QUOTED.search(safe) else safe


MOST_ROWS: Final = 1_048_575
"""Rows that a sheet holds below its header."""

MOST_COLUMNS: Final = 16_384
MOST_CHARACTERS: Final = 32_767
_MEASURED_ROWS: Final = 100
_NARROWEST: Final = 8
_WIDEST: Final = 50
_CUT_MARK: Final = " [cut: a cell holds 32,767 characters]"
_LARGEST_NUMBER: Final = 10**15
_FIRST_DAY: Final = date(1900, 3, 1)  # spreadsheets count a 29 February 1900 that never was
_ILLEGAL: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF), "\ufffd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One sheet of a workbook; `headers` are verbose names by column name."""

    name: str
    frame: Frame
    headers: Mapping[str, str] = field(default_factory=dict)


def xlsx_bytes(sheets: Sequence[Sheet]) -> bytes:
    """Return the workbook.

    Raises:
        ResultTooLargeError: a frame has more rows or columns than a sheet holds.
    """
    import xlsxwriter

    for sheet in sheets:
        _check_size(sheet)
    out = BytesIO()
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with xlsxwriter.Workbook(out, options) as book:
        formats = _Formats(
            date=book.add_format({"num_format": "yyyy-mm-dd"}),
            moment=book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
            moment_utc=book.add_format({"num_format": 'yyyy-mm-dd hh:mm:ss "UTC"'}),
            head=book.add_format({"bold": True}),
        )
        for sheet in sheets:
            _write_sheet(book.add_worksheet(sheet.name), sheet, formats)
    return out.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Formats:
    date: Any
    moment: Any
    moment_utc: Any
    head: Any


def _check_size(sheet: Sheet) -> None:
    rows, columns = len(sheet.frame), len(sheet.frame.columns)
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise ResultTooLargeError(
            f"a sheet holds {MOST_ROWS} rows below its header and {MOST_COLUMNS} columns; "
            f"this result has {rows} rows and {columns} columns: ask for CSV, or for less"
        )


def _write_sheet(page: Any, sheet: Sheet, formats: _Formats) -> None:
    page.freeze_panes(1, 0)
    for position, column in enumerate(sheet.frame.columns):
        name = sheet.headers.get(column.name) or column.name
        page.set_column(position, position, _width(name, column))
        _write_text(page, 0, position, name, formats.head)
    for row_number, row in enumerate(sheet.frame.rows(), start=1):
        for position, value in enumerate(row):
            if value is not None:
                _write_cell(page, row_number, position, value, formats)


def _width(name: str, column: FrameColumn) -> int:
    """Return how wide a column is, in characters, by its first rows: a date that does not fit is shown as `#####`."""
    lengths = (len(text_value(value)) for value in _slice(column, 0, _MEASURED_ROWS))
    return min(max(_NARROWEST, len(name), *lengths), _WIDEST) + 1


def _write_cell(page: Any, row: int, position: int, value: Any, formats: _Formats) -> None:
    """Write one value; None, NaN and the infinities leave the cell empty."""
    if isinstance(value, str):
        _write_text(page, row, position, value)
    elif isinstance(value, bool):
        page.write_boolean(row, position, value)
    elif isinstance(value, int | float | Decimal):
        _write_number(page, row, position, value)
    elif isinstance(value, date):
        _write_date(page, row, position, value, formats)
    else:
        _write_text(page, row, position, text_value(value))


def _write_date(page: Any, row: int, position: int, value: date, formats: _Formats) -> None:
    cell: date | None = value
    cell_format = formats.date
    if isinstance(value, datetime):
        cell, cell_format = _in_utc(value), formats.moment_utc if value.tzinfo else formats.moment
    if cell is not None and (cell.date() if isinstance(cell, datetime) else cell) >= _FIRST_DAY:
        page.write_datetime(row, position, cell, cell_format)
    else:
        _write_text(page, row, position, text_value(value))


def _in_utc(moment: datetime) -> datetime | None:
    """Return a moment in UTC, without a zone; None where that lies outside the calendar."""
    try:
        return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    except OverflowError:
        return None


def _write_number(page: Any, row: int, position: int, value: int | float | Decimal) -> None:
    text = text_value(value)
    if text and -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER:
        page.write_number(row, position, value)
    else:
        _write_text(page, row, position, text)


def _write_text(page: Any, row: int, position: int, text: str, cell_format: Any = None) -> None:
    safe = neutral_text(text_value(text)).translate(_ILLEGAL)
    if len(safe) > MOST_CHARACTERS:
        safe = safe[: MOST_CHARACTERS - len(_CUT_MARK)] + _CUT_MARK
    if safe:
        page.write_string(row, position, safe, cell_format)


SIGNS: Final = frozenset("=+-@|%＝＋－＠｜％﹦﹢﹣﹫﹪⁺₊⁼₌⁻₋−⩵⩶﬩")
"""What a formula may begin with, and every character that becomes one of these when text is normalised (NFKC)."""

_NEGATIVE_NUMBER: Final = re.compile(r"-\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_SKIPPED: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})


def neutral_text(text: str) -> str:
    """Return `text`, with a `'` before it when it begins with a formula sign.

    White space, control and invisible characters and quotation marks before the sign do not hide it. A text that is
    nothing but a negative number (`-10.5`) is left alone.
    """
    if not text or text[0].isalnum():
        return text
    if begins_like_formula(text) and not _NEGATIVE_NUMBER.fullmatch(text):
        return "'" + text
    return text


def begins_like_formula(text: str) -> bool:
    """Say whether the first visible character of `text`, quotation marks aside, is a formula sign."""
    for character in text:
        if character in SIGNS:
            return True
        if character != '"' and unicodedata.category(character) not in _SKIPPED:
            return False
    return False
