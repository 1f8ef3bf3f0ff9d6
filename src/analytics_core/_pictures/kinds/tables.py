"""Tables: rows or groups with their numbers, as they are or in place of a kind that is not drawn."""

from __future__ import annotations

from typing import Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import drawn, page
from analytics_core._pictures.drawing import ChartView, Drawing, PictureKind
from analytics_core._pictures.table import Table
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX
from analytics_core._pictures.time_formats import moment_text

_ROW_PX: Final = 22
_PAD_PX: Final = 8
_WIDEST_PX: Final = 320
_LEAST_PX: Final = 40


def _table(view: ChartView) -> Drawing:
    return as_table(view)


def as_table(view: ChartView, note: str | None = None) -> Drawing:
    """Return the first answer as a table; a note tells why it is one."""
    table = view.table
    columns = [(name, _texts(view, table, name), table.is_numeric(name)) for name in table.names]
    notes = [note] if note else []
    room_px = view.size.height_px - 60 - (30 if view.title else 0)
    most = max(1, int(room_px // _ROW_PX) - 1)
    shown = min(table.rows, most)
    if shown < table.rows:
        notes.append(f"Shows the first {shown:,} of {table.rows:,} rows.")
    widths = [_width(table.label(name), texts[:shown]) for name, texts, _ in columns]
    room_px = view.size.width_px - 20
    while len(widths) > 1 and sum(max(_LEAST_PX, min(width, _WIDEST_PX)) for width in widths) > room_px * 1.6:
        widths.pop()
    if len(widths) < len(columns):
        notes.append(f"Shows {len(widths)} of {len(columns)} columns.")
    scale = room_px / max(sum(widths), 1)
    widths = [width * scale for width in widths] if scale < 1 else widths
    canvas, room = page(view, notes)
    x = room.x
    for (name, texts, is_number), width in zip(columns, widths, strict=False):
        align, at = ("right", x + width - _PAD_PX) if is_number else ("left", x + _PAD_PX)
        inner = width - 2 * _PAD_PX
        header = fitted(table.label(name), inner, LABEL_PX, bold=True)
        canvas.text(header, at, room.y + _ROW_PX / 2, view.colours.text, align=align, weight="bold")
        for row in range(shown):
            y = room.y + (row + 1.5) * _ROW_PX
            canvas.text(fitted(texts[row], inner, LABEL_PX), at, y, view.colours.text, align=align)
        x += width
    told = f"Table of {table.rows:,} rows: {', '.join(table.label(name) for name in table.names[:10])}"
    return drawn(canvas, told, notes)


def _width(header: str, texts: list[str]) -> float:
    widest = max((text_width(text, LABEL_PX) for text in texts), default=0)
    return min(max(widest, text_width(header, LABEL_PX, bold=True)) + 2 * _PAD_PX, _WIDEST_PX)


def _texts(view: ChartView, table: Table, name: str) -> list[str]:
    if table.is_temporal(name):
        spec = view.time_format("table_timestamp_format")
        return [moment_text(ms, spec) for ms in table.moments(name)]
    if table.is_numeric(name):
        return [cells.text(value) if number is None else _number(number) for value, number in zip(table.values(name), table.numbers(name), strict=True)]
    return table.texts(name)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.2f}"


KINDS: Final = (
    PictureKind(name="table", noun="table", draw=_table),
    PictureKind(name="ag-grid-table", noun="table", draw=_table),
)
