"""Frames as an XLSX workbook, one sheet for each, written row by row so that memory stays small.

Numbers stay numbers, but for those above 10^15 in size, whose last digits a spreadsheet would lose: they become text.
Days and moments without a time zone become date cells from 1900-03-01 on; earlier ones, and those with a time zone, are
ISO 8601 text. Text is never a formula or a link, and text that would be one after a copy has a `'` before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any, Final

from analytics_core._frames.frame import Frame
from analytics_core._frames.values import text_value
from analytics_core._querying.formulas import neutral_text
from analytics_core.errors import ResultTooLargeError

MOST_ROWS: Final = 1_048_575
"""Rows that a sheet holds below its header."""

MOST_COLUMNS: Final = 16_384
MOST_CHARACTERS: Final = 32_767
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
        )
        for sheet in sheets:
            _write_sheet(book.add_worksheet(sheet.name), sheet, formats)
    return out.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Formats:
    date: Any
    moment: Any


def _check_size(sheet: Sheet) -> None:
    rows, columns = len(sheet.frame), len(sheet.frame.columns)
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        raise ResultTooLargeError(
            f"a sheet holds {MOST_ROWS} rows below its header and {MOST_COLUMNS} columns; "
            f"this result has {rows} rows and {columns} columns: ask for CSV, or for less"
        )


def _write_sheet(page: Any, sheet: Sheet, formats: _Formats) -> None:
    for position, name in enumerate(sheet.frame.names):
        _write_text(page, 0, position, sheet.headers.get(name) or name)
    for row_number, row in enumerate(sheet.frame.rows(), start=1):
        for position, value in enumerate(row):
            if value is not None:
                _write_cell(page, row_number, position, value, formats)


def _write_cell(page: Any, row: int, position: int, value: Any, formats: _Formats) -> None:
    """Write one value; None, NaN and the infinities leave the cell empty."""
    if isinstance(value, str):
        _write_text(page, row, position, value)
    elif isinstance(value, bool):
        page.write_boolean(row, position, value)
    elif isinstance(value, int | float | Decimal):
        _write_number(page, row, position, value)
    elif isinstance(value, date) and _is_cell_date(value):
        page.write_datetime(row, position, value, formats.moment if isinstance(value, datetime) else formats.date)
    else:
        _write_text(page, row, position, text_value(value))


def _write_number(page: Any, row: int, position: int, value: int | float | Decimal) -> None:
    text = text_value(value)
    if text and -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER:
        page.write_number(row, position, value)
    else:
        _write_text(page, row, position, text)


def _is_cell_date(value: date) -> bool:
    if isinstance(value, datetime):
        return value.tzinfo is None and value.date() >= _FIRST_DAY
    return value >= _FIRST_DAY


def _write_text(page: Any, row: int, position: int, text: str) -> None:
    safe = neutral_text(text_value(text)).translate(_ILLEGAL)
    if len(safe) > MOST_CHARACTERS:
        safe = safe[: MOST_CHARACTERS - len(_CUT_MARK)] + _CUT_MARK
    if safe:
        page.write_string(row, position, safe)
