"""Tables as pictures: columns of texts with their widths, colours, bars and totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from analytics_core._pictures.canvas import Box, Canvas, note_lines
from analytics_core._pictures.drawing import ChartView, Drawing
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX, NOTE_PX, mixed, readable_on

_ROW_PX: Final = 22.0
_PAD_PX: Final = 8.0
_WIDEST_PX: Final = 320.0
_LEAST_PX: Final = 46.0
_CUT_PX: Final = 92.0
"""A column is not cut below this to make room for another one."""

_NOTES_PX: Final = 46.0
_TITLE_PX: Final = 27.0
_EDGES_PX: Final = 22.0
MOST_ROWS: Final = 50
"""Of a table that is as tall as its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GridColumn:
    """One column of a table.

    Args:
        headers: the lines above it; a line that the column before has too is written once for both.
        texts: its cells.
        align: `left`, `right` or `center`.
        fills: the colour behind each cell; None for none.
        bars: where a bar behind each cell begins and ends, as shares of the width, and its colour.
        total: the cell of the last line; None where there is no such line.
        is_head: whether it names the rows: its cells are bold, and one that repeats the cell above is left empty.
    """

    headers: tuple[str, ...]
    texts: Sequence[str]
    align: str = "left"
    fills: Sequence[str | None] = ()
    bars: Sequence[tuple[float, float, str] | None] = ()
    total: str | None = None
    is_head: bool = False
    width_px: float | None = None
    repeated: frozenset[int] = field(default_factory=frozenset)


def fitting_rows(view: ChartView) -> int:
    """Return how many rows a table can show at most; the cells of no other row need texts."""
    return MOST_ROWS if view.size.fits_rows else max(1, int(view.size.height_px // _ROW_PX))


def draw_grid(
    view: ChartView,
    columns: Sequence[GridColumn],
    rows: int,
    description: str,
    notes: Sequence[str],
    *,
    all_rows: int,
    all_columns: int,
) -> Drawing:
    """Return a table of as many rows and columns as fit, and notes of what does not.

    Args:
        view: the chart.
        columns: from left to right, at least one.
        rows: how many rows the columns have.
        description: what the table shows.
        notes: further notes.
        all_rows: how many rows there are with those that the columns lack.
        all_columns: how many columns there are with those that are not given.
    """
    lines = max(len(column.headers) for column in columns) + any(column.total is not None for column in columns)
    room_px = view.size.height_px - _NOTES_PX - (_TITLE_PX if view.title else 0)
    row_count = min(rows, MOST_ROWS if view.size.fits_rows else max(1, int(room_px // _ROW_PX) - lines))
    notes = list(notes)
    if row_count < all_rows:
        notes.append(f"Shows the first {row_count:,} of {all_rows:,} rows.")
    visible, widths = _widths(view, columns, row_count)
    if len(visible) < all_columns:
        notes.append(f"Shows {len(visible)} of {all_columns:,} columns.")
    canvas = Canvas(_fitted_view(view, lines + row_count, notes), notes)
    _Grid(canvas, visible, widths, row_count).draw()
    return canvas.drawing(description)


def _fitted_view(view: ChartView, lines: int, notes: Sequence[str]) -> ChartView:
    """Return the view as tall as its lines and notes, where nobody asked for a height."""
    if not view.size.fits_rows:
        return view
    below = len(note_lines(view.notes(notes), view.size.width_px - 20.0)) * (NOTE_PX + 4)
    tall = _EDGES_PX + (_TITLE_PX if view.title else 0) + lines * _ROW_PX + (below + 8 if below else 0)
    return replace(view, size=replace(view.size, height_px=round(tall)))


def _widths(view: ChartView, columns: Sequence[GridColumn], row_count: int) -> tuple[list[GridColumn], list[float]]:
    """Return the columns that fit, and how wide they are: the widest give way first."""
    room_px = view.size.width_px - 20.0
    visible = list(columns)
    wanted = [_wanted(column, row_count) for column in visible]
    while len(visible) > 1 and sum(min(width, _CUT_PX) for width in wanted) > room_px:
        visible.pop()
        wanted.pop()
    widths = list(wanted)
    for _ in range(60):
        over = sum(widths) - room_px
        if over <= 0.5:
            break
        widest = max(widths)
        cut = [place for place, width in enumerate(widths) if width > widest - 1]
        below = max((width for width in widths if width <= widest - 1), default=0.0)
        step = max(min(over / len(cut), widest - below), 0.5)
        for place in cut:
            widths[place] -= step
    spare = room_px - sum(widths)
    if spare > 0:  # a little air for each, rather than a table that hangs at the left
        widths = [width + min(spare / len(widths), 60.0) for width in widths]
    return visible, widths


def _wanted(column: GridColumn, row_count: int) -> float:
    if column.width_px is not None:
        return min(max(column.width_px, _LEAST_PX), 2 * _WIDEST_PX)
    cells = max((text_width(text, LABEL_PX, bold=column.is_head) for text in column.texts[:row_count]), default=0.0)
    total = text_width(column.total or "", LABEL_PX, bold=True)
    header = max((text_width(line, LABEL_PX, bold=True) for line in column.headers[-1:]), default=0.0)
    return min(max(cells, header, total) + 2 * _PAD_PX, _WIDEST_PX)


class _Grid:
    """Draws a table into a room."""

    def __init__(self, canvas: Canvas, columns: Sequence[GridColumn], widths: Sequence[float], row_count: int) -> None:
        self.canvas, self.room, self.colours = canvas, canvas.room, canvas.colours
        self.columns, self.widths, self.row_count = columns, widths, row_count
        self.levels = max(len(column.headers) for column in columns)
        self.lefts = [canvas.room.x + sum(widths[:place]) for place in range(len(widths))]
        self.width = sum(widths)

    def draw(self) -> None:
        head = self.levels * _ROW_PX
        header = Box(x=self.room.x, y=self.room.y, width=self.width, height=head)
        self.canvas.rect(header, self.colours.stripe)
        for place in range(len(self.columns)):
            self._fills(place, self.room.y + head)
        for row in range(self.row_count + 1):
            self._rule(self.room.y + head + row * _ROW_PX)
        for place, column in enumerate(self.columns):
            self._headers(place, column)
            for row in range(self.row_count):
                if not (column.is_head and row in column.repeated):
                    y = self.room.y + head + (row + 0.5) * _ROW_PX
                    self._cell(place, column.texts[row], y, bold=column.is_head, ink=self._ink(column, row))
        if any(column.total is not None for column in self.columns):
            y = self.room.y + head + self.row_count * _ROW_PX
            for place, column in enumerate(self.columns):
                self._cell(place, column.total or "", y + _ROW_PX / 2, bold=True, ink=self.colours.text)
            self._rule(y + 1)

    def _rule(self, y: float) -> None:
        box = Box(x=self.room.x, y=y - 0.5, width=self.width, height=1)
        self.canvas.rect(box, self.colours.line)

    def _ink(self, column: GridColumn, row: int) -> str:
        fill = column.fills[row] if row < len(column.fills) else None
        return readable_on(fill) if fill else self.colours.text

    def _fills(self, place: int, top: float) -> None:
        column = self.columns[place]
        for row in range(self.row_count):
            cell = Box(x=self.lefts[place], y=top + row * _ROW_PX, width=self.widths[place], height=_ROW_PX)
            if row < len(column.fills) and (fill := column.fills[row]):
                self.canvas.rect(cell, fill)
            if row < len(column.bars) and (bar := column.bars[row]):
                start, end, colour = bar
                inner = Box(
                    x=cell.x + 2 + start * (cell.width - 4),
                    y=cell.y + 3,
                    width=max((end - start) * (cell.width - 4), 0.5),
                    height=cell.height - 6,
                )
                self.canvas.rect(inner, mixed(colour, self.colours.background, 0.68))

    def _headers(self, place: int, column: GridColumn) -> None:
        for level, words in enumerate(column.headers):
            y = self.room.y + (self.levels - len(column.headers) + level + 0.5) * _ROW_PX
            before = self.columns[place - 1].headers if place else ()
            if level < len(column.headers) - 1 and before[: level + 1] == column.headers[: level + 1]:
                continue
            span = 1
            if level < len(column.headers) - 1:
                after = self.columns[place + 1 :]
                same = (other.headers[: level + 1] == column.headers[: level + 1] for other in after)
                span += next((count for count, is_same in enumerate((*same, False)) if not is_same), 0)
                width = sum(self.widths[place : place + span]) - 2 * _PAD_PX
                label = fitted(words, width, LABEL_PX, bold=True)
                x = self.lefts[place] + _PAD_PX
                self.canvas.text(label, x, y, self.colours.text, weight="bold")
            else:
                self._cell(place, words, y, bold=True, ink=self.colours.text)

    def _cell(self, place: int, words: str, y: float, *, bold: bool, ink: str) -> None:
        align, left, width = self.columns[place].align, self.lefts[place], self.widths[place]
        x = {"right": left + width - _PAD_PX, "center": left + width / 2}.get(align, left + _PAD_PX)
        label = fitted(words, width - 2 * _PAD_PX + 1, LABEL_PX, bold=bold)
        self.canvas.text(label, x, y, ink, align=align, weight="bold" if bold else "normal")
