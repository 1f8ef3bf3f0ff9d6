"""The JSON text of many records, a column at a time: an Arrow array of cells, each ending in its separator.

Numbers are written by orjson from one numpy array and cut at the commas; text is quoted as it stands, and only the rows
that hold a character to escape are taken out. Where a column is of no such type, `json_value` writes each value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import arrow_part, is_arrow, list_as_arrow, long_decimals
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import LARGEST_NUMBER, clean_text, json_value, json_values

Piece = Any
"""A pyarrow LargeStringArray with one text per row, or a text that stands in every row."""


def record_slice(frame: Frame, start: int, rows: int, *, is_first: bool) -> memoryview:
    """Return the records of some rows as text; each but the first of all has a comma before it."""
    pieces = [_text(piece) if isinstance(piece, str) else piece for piece in _row_pieces(frame, start, rows)]
    joined = pc.binary_join_element_wise(*pieces, _text(""))
    _, offset_bytes, text = joined.buffers()
    offsets = np.frombuffer(offset_bytes, np.int64)[joined.offset : joined.offset + rows + 1]
    # The texts of the rows lie one behind the other: the buffer is the answer.
    return memoryview(text)[int(offsets[0]) + is_first : int(offsets[-1])]


def _row_pieces(frame: Frame, start: int, rows: int) -> list[Piece]:
    """Return the pieces of every row, neighbouring texts merged."""
    pieces: list[Piece] = [",{"]
    last = len(frame.columns) - 1
    for position, column in enumerate(frame.columns):
        key = orjson.dumps(clean_text(column.name)).decode() + ":"
        for piece in (key, *_cells(column, start, rows, "}" if position == last else ",")):
            if isinstance(piece, str) and isinstance(pieces[-1], str):
                pieces[-1] += piece
            else:
                pieces.append(piece)
    return pieces


def _cells(column: FrameColumn, start: int, rows: int, end: str) -> list[Piece]:
    part = _part(column, start, rows)
    return _number_list_pieces(part, end) if column.kind is ValueKind.NUMBERS else _cell_pieces(part, end)


def _part(column: FrameColumn, start: int, rows: int) -> Any:
    if is_arrow(column.values):
        return arrow_part(column.values, start, rows)
    return column.to_list()[start : start + rows]


def _cell_pieces(values: Any, end: str) -> list[Piece]:
    """Return what, joined row by row, is the JSON text of each value and `end` (one ASCII character).

    Args:
        values: a list of Python values, or one pyarrow Array.
        end: the separator after the value: a comma, or the brace that closes the record.
    """
    array = values if is_arrow(values) else list_as_arrow(values)
    if array is None:
        return [_cells_of_values(values, end)]
    if kinds.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kinds.is_null(array.type):
        return [_repeated("null" + end, len(array))]
    if kinds.is_string(array.type) or kinds.is_large_string(array.type) or kinds.is_string_view(array.type):
        return _text_pieces(array.cast(pa.large_string()), end)
    cells = _typed_cells(array, end)
    return [_cells_of_values(array.to_pylist(), end) if cells is None else cells]


def _number_list_pieces(values: list[list[Any] | None], end: str) -> list[Piece]:
    """Return what is the JSON text of each list of numbers and `end`; see `_cell_pieces`."""
    lists = [None if value is None else json_values(value) for value in values]
    return [pa.array([orjson.dumps(value).decode() + end for value in lists], pa.large_string())]


def _typed_cells(array: Any, end: str) -> Any | None:
    kind = array.type
    if kinds.is_boolean(kind):
        return _boolean_cells(array, end)
    if kinds.is_floating(kind):
        # As doubles: 0.1 of a 32-bit column is the number 0.10000000149011612, and NaN stands for null.
        return _number_cells(array.cast(pa.float64()).to_numpy(zero_copy_only=False), end)
    if kinds.is_integer(kind):
        return _integer_cells(array, end)
    if kinds.is_timestamp(kind) or kinds.is_date(kind):
        return _integer_cells(_epoch_ms(array), end)
    return _decimal_cells(array, end) if kinds.is_decimal(kind) else None


def _text(value: str) -> Any:
    return pa.scalar(value, pa.large_string())


def _repeated(text: str, rows: int) -> Any:
    return pa.repeat(_text(text), rows)


def _cells_of_values(values: list[Any], end: str) -> Any:
    return pa.array([orjson.dumps(json_value(value)).decode() + end for value in values], pa.large_string())


def _with_nulls(cells: Any, array: Any, end: str) -> Any:
    return pc.if_else(array.is_valid(), cells, _text("null" + end)) if array.null_count else cells


def _number_cells(numbers: Any, end: str) -> Any:
    """Cut the text of a numpy array of numbers into cells; orjson writes NaN and the infinities as null."""
    written = orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)
    text = np.frombuffer(written, np.uint8)[1:].copy()  # the copy may be written to
    text[-1] = ord(",")
    commas = np.flatnonzero(text == ord(","))
    text[commas] = ord(end)
    offsets = np.zeros(len(commas) + 1, np.int64)
    np.add(commas, 1, out=offsets[1:])
    return pa.LargeStringArray.from_buffers(len(commas), pa.py_buffer(offsets), pa.py_buffer(text))


def _integer_cells(array: Any, end: str) -> Any | None:
    bounds = pc.min_max(array).as_py()
    if bounds["min"] is None:
        return _repeated("null" + end, len(array))
    if bounds["min"] < -LARGEST_NUMBER or bounds["max"] > LARGEST_NUMBER:
        return None
    filled = array.fill_null(0) if array.null_count else array
    return _with_nulls(_number_cells(filled.to_numpy(zero_copy_only=False), end), array, end)


def _epoch_ms(array: Any) -> Any:
    """Return the moments or days as 64-bit milliseconds since the epoch, rounded down."""
    if kinds.is_date(array.type):
        return array.cast(pa.timestamp("ms")).cast(pa.int64())
    counts = array.cast(pa.int64())
    if array.type.unit == "ms":
        return counts
    numbers = counts.fill_null(0).to_numpy(zero_copy_only=False)
    per_ms = {"us": 1_000, "ns": 1_000_000}.get(array.type.unit)
    numbers = numbers * 1_000 if per_ms is None else np.floor_divide(numbers, per_ms)
    return pa.array(numbers, mask=counts.is_null().to_numpy(zero_copy_only=False))


def _decimal_cells(array: Any, end: str) -> Any | None:
    bounds = pc.min_max(array).as_py()
    if bounds["min"] is None:
        return _repeated("null" + end, len(array))
    if bounds["min"] < -LARGEST_NUMBER or bounds["max"] > LARGEST_NUMBER or len(long_decimals(array)):
        return None
    written = pc.binary_join_element_wise(array.cast(pa.large_string()), _text(end), _text(""))
    return _with_nulls(written, array, end)


def _boolean_cells(array: Any, end: str) -> Any:
    cells = pc.if_else(array, _text("true" + end), _text("false" + end))
    return cells.fill_null(_text("null" + end)) if array.null_count else cells


def _text_pieces(array: Any, end: str) -> list[Piece]:
    escaped = _escaped(array)
    if not array.null_count:
        return ['"', escaped, '"' + end]
    quoted = pc.binary_join_element_wise(_text('"'), escaped, _text('"' + end), _text(""))
    return [quoted.fill_null(_text("null" + end))]


def _escaped(array: Any) -> Any:
    """Return the texts with quotes, backslashes and control characters escaped, without the outer quotes."""
    rows = _rows_to_escape(array)
    if not len(rows):
        return array
    mask = np.zeros(len(array), bool)
    mask[rows] = True
    written = [orjson.dumps(text)[1:-1].decode() for text in array.take(pa.array(rows)).to_pylist()]
    return pc.replace_with_mask(array, pa.array(mask), pa.array(written, pa.large_string()))


def _rows_to_escape(array: Any) -> Any:
    """Return the positions of the texts that hold a quote, a backslash or a control character, in order."""
    _, offset_bytes, text_bytes = array.buffers()
    if text_bytes is None:
        return np.empty(0, np.int64)
    offsets = np.frombuffer(offset_bytes, np.int64)[array.offset : array.offset + len(array) + 1]
    text = np.frombuffer(text_bytes, np.uint8)[offsets[0] : offsets[-1]]
    marks = np.flatnonzero((text < 0x20) | (text == ord('"')) | (text == ord("\\"))) + offsets[0]
    # A text that a null hides still has bytes here; replacing a null by itself is avoided below.
    rows = np.unique(np.searchsorted(offsets, marks, side="right") - 1)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return rows[valid[rows]]
