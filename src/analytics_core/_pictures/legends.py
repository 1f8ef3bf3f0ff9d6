"""Legends that stay smaller than the plot that they explain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from analytics_core._pictures.canvas import Canvas
from analytics_core._pictures.drawing import ChartView
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX

_SYMBOL_PX: Final = 28
_ROW_PX: Final = 16
_LONGEST_PX: Final = 180
_LEAST_ENTRIES: Final = 3
"""A legend with room for fewer, and with more labels, explains nothing."""

_SIDES: Final = frozenset({"left", "right", "top", "bottom"})


def legend_side(view: ChartView) -> str | None:
    """Return the edge of the legend; None where the form wants no legend."""
    if not view.form.flag("show_legend", absent=True):
        return None
    option = view.form.get("legendOrientation")
    return option if isinstance(option, str) and option in _SIDES else "top"


def legend_of(view: ChartView, labels: Sequence[str], *, symbol: str) -> dict[str, Any] | None:
    """Return the legend of labels; None where there is none, or nothing to tell apart.

    It takes at most a quarter of the height or a third of the width; what has no room is counted.
    """
    side = legend_side(view)
    if side is None or len(labels) < 2:
        return None
    width = min(max(text_width(label, LABEL_PX) for label in labels), _LONGEST_PX) + _SYMBOL_PX
    found: dict[str, Any] = {
        "orient": side,
        "title": None,
        "symbolType": symbol,
        "symbolStrokeWidth": 2,
        "symbolOpacity": 1,
    }
    if side in ("left", "right"):
        most = max(2, (view.size.height_px - 60) // _ROW_PX)
        label_px = min(_LONGEST_PX, view.size.width_px // 3)
        return {**found, "symbolLimit": most, "labelLimit": label_px, "columns": 1}
    columns = max(1, min(len(labels), int((view.size.width_px - 60) / width)))
    rows = max(1, view.size.height_px // 4 // _ROW_PX)
    if len(labels) > rows * columns and rows * columns < _LEAST_ENTRIES:
        return None
    # the renderer writes one more entry, which counts the others, where there are more than the limit
    limit = rows * columns if len(labels) <= rows * columns else rows * columns - 1
    return {
        **found,
        "columns": columns,
        "symbolLimit": max(limit, 1),
        "labelLimit": _LONGEST_PX,
        "columnPadding": 12 + round(width * 0.1),  # names are wider in other fonts
    }


_DOT_PX: Final = 10
_ENTRY_PX: Final = LABEL_PX + 6


def draw_legend(canvas: Canvas, entries: Iterable[tuple[str, str]], *, side: str | None = None) -> None:
    """Draw labels and their colours at an edge of a canvas's room, and take it from the room.

    It takes at most a quarter of the height, or a third of the width; entries beyond that are counted.

    Args:
        canvas: where it is drawn.
        entries: labels and colours.
        side: the edge; None for the one that the form names, or no legend where it wants none.
    """
    side = side or legend_side(canvas.view)
    listed = list(entries)
    if side in ("left", "right"):
        _draw_column(canvas, listed, side)
    elif side is not None:
        _draw_rows(canvas, listed, side)


def _entry(canvas: Canvas, x: float, y: float, entry: tuple[str, str]) -> None:
    label, colour = entry
    if colour:
        canvas.circle(x + _DOT_PX / 2, y, _DOT_PX / 2, colour)
    canvas.text(label, x + (_DOT_PX + 5 if colour else 0), y, canvas.colours.text)


def _draw_rows(canvas: Canvas, entries: list[tuple[str, str]], side: str) -> None:
    room = canvas.room
    most = max(1, int(room.height / 4 // _ENTRY_PX))
    rows: list[list[tuple[str, str, float]]] = [[]]
    x = 0.0
    for place, (label, colour) in enumerate(entries):
        text = fitted(label, min(room.width * 0.45, 200), LABEL_PX)
        width = text_width(text, LABEL_PX) + _DOT_PX + 19
        more = f"… {len(entries) - place} more"
        is_full = x + width > room.width - text_width(more, LABEL_PX) - 10
        if len(rows) == most and place < len(entries) - 1 and is_full:
            rows[-1].append((more, "", x))
            break
        if x and x + width > room.width:
            rows.append([])
            x = 0.0
        rows[-1].append((text, colour, x))
        x += width
    height = len(rows) * _ENTRY_PX
    top = room.y if side == "top" else room.bottom - height
    for line, row in enumerate(rows):
        for label, colour, start in row:
            _entry(canvas, room.x + start, top + (line + 0.5) * _ENTRY_PX, (label, colour))
    canvas.room = room.inset(top=height + 6) if side == "top" else room.inset(bottom=height + 6)


def _draw_column(canvas: Canvas, entries: list[tuple[str, str]], side: str) -> None:
    room = canvas.room
    most = max(1, int(room.height // _ENTRY_PX))
    visible = entries if len(entries) <= most else entries[: most - 1]
    visible = [(fitted(label, room.width / 3 - 20, LABEL_PX), colour) for label, colour in visible]
    if len(visible) < len(entries):
        visible.append((f"… {len(entries) - len(visible)} more", ""))
    width = max((text_width(label, LABEL_PX) for label, _ in visible), default=0) + _DOT_PX + 12
    left = room.x if side == "left" else room.right - width
    for place, entry in enumerate(visible):
        _entry(canvas, left, room.y + (place + 0.5) * _ENTRY_PX, entry)
    canvas.room = room.inset(left=width + 6) if side == "left" else room.inset(right=width + 6)
