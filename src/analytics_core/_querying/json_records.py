"""A frame as JSON records, `[{"a": 1, "b": "x"}, ...]`: small frames through dicts, large ones column by column."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Final

from analytics_core._engines.types import ValueKind
from analytics_core._frames.arrow_frames import arrow_part, is_arrow
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._frames.json_cells import Piece, cell_pieces, number_list_pieces
from analytics_core._frames.values import clean_text, json_values

_VALUES: Final = attrgetter("values")

SMALL_ROWS: Final = 1_000
"""Lists of up to this many rows are written through dicts, so that small answers never load pyarrow."""

SMALL_ARROW_ROWS: Final = 50
"""Arrow columns of up to this many rows are written through dicts: faster there."""

SLICE_ROWS: Final = 50_000
"""Rows that are written at a time; it bounds the memory beside the answer itself."""


def records(frame: Frame) -> list[dict[str, Any]]:
    """Return the rows as dicts of JSON values (`_frames/values.py` has the rules)."""
    names = list(map(clean_text, frame.names))
    columns = list(map(_json_column, frame.columns))
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _json_column(column: FrameColumn) -> list[Any]:
    if column.kind is ValueKind.NUMBERS:
        return [None if value is None else json_values(value) for value in column.to_list()]
    return json_values(column.to_list())


def record_chunks(
    frame: Frame, *, small_rows: int | None = None, slice_rows: int = SLICE_ROWS
) -> Iterator[bytes | memoryview]:
    """Yield the JSON array of objects in parts, so that a large one need not lie in memory twice.

    Args:
        frame: the rows.
        small_rows: up to how many rows dicts are used; None: as many as pay.
        slice_rows: rows written at a time.
    """
    if len(frame) <= (_rows_for_dicts(frame) if small_rows is None else small_rows):
        import orjson

        yield orjson.dumps(records(frame))
        return
    yield b"["
    for start in range(0, len(frame), slice_rows):
        yield _slice_json(frame, start, min(slice_rows, len(frame) - start), is_first=start == 0)
    yield b"]"


def _rows_for_dicts(frame: Frame) -> int:
    return SMALL_ARROW_ROWS if any(map(is_arrow, map(_VALUES, frame.columns))) else SMALL_ROWS


def _slice_json(frame: Frame, start: int, rows: int, *, is_first: bool) -> memoryview:
    """Return the records of some rows as text; each but the first of all has a comma before it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    scalars = [pa.scalar(p, pa.large_string()) if isinstance(p, str) else p for p in _row_pieces(frame, start, rows)]
    joined = pc.binary_join_element_wise(*scalars, pa.scalar("", pa.large_string()))
    _, offset_bytes, text = joined.buffers()
    offsets = np.frombuffer(offset_bytes, np.int64)[joined.offset : joined.offset + rows + 1]
    # The texts of the rows lie one behind the other: the buffer is the answer.
    return memoryview(text)[int(offsets[0]) + is_first : int(offsets[-1])]


def _row_pieces(frame: Frame, start: int, rows: int) -> list[Piece]:
    """Return the pieces of every row, neighbouring texts merged."""
    import orjson

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
    return number_list_pieces(part, end) if column.kind is ValueKind.NUMBERS else cell_pieces(part, end)


def _part(column: FrameColumn, start: int, rows: int) -> Any:
    if is_arrow(column.values):
        return arrow_part(column.values, start, rows)
    return column.to_list()[start : start + rows]
