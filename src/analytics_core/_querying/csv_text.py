"""A frame as CSV: UTF-8 with a byte-order mark, commas, a header line, line feeds.

The mark makes spreadsheets read UTF-8. Null is an empty field, moments are ISO 8601 (`2024-01-31 12:00:00`), and text
that a spreadsheet would take for a formula has a `'` before it; numbers are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from analytics_core._frames.arrow_frames import arrow_part, is_arrow
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._frames.values import text_value, value_types
from analytics_core._querying.formulas import neutral_text

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

# A semicolon or a tab parts cells in some locales, where `x;=1+1` would become a formula of its own.
_QUOTED: Final = re.compile(r'[,;"\t\r\n\v\f\x85\u2028\u2029]')
_NUMBERS: Final = frozenset({int, float, bool})
_SLICE_ROWS: Final = 50_000


def csv_bytes(frame: Frame, *, headers: Mapping[str, str] | None = None) -> bytes:
    """Return the frame as CSV.

    Args:
        frame: the rows.
        headers: what to write instead of a column's name (verbose names); None or missing: the name.
    """
    return b"".join(csv_chunks(frame, headers=headers or {}))


def csv_chunks(frame: Frame, *, headers: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the CSV in parts of some ten thousand rows."""
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
    return [_field(value) for value in values]


def _slice(column: FrameColumn, start: int) -> list[Any]:
    if is_arrow(column.values):
        return list(arrow_part(column.values, start, _SLICE_ROWS).to_pylist())
    return column.to_list()[start : start + _SLICE_ROWS]


def _field(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return text_value(value)
    return _text_field(text_value(value))


def _text_field(text: str) -> str:
    safe = neutral_text(text)
    return '"' + safe.replace('"', '""') + '"' if _QUOTED.search(safe) else safe
