"""Clouds of words, laid out the same way each time."""

from __future__ import annotations

import math
from typing import Final

from analytics_core._pictures.canvas import Box, Canvas
from analytics_core._pictures.drawing import ChartView, Drawing, PictureKind
from analytics_core._pictures.parts_data import Part, metric_column, read_parts, text_columns
from analytics_core._pictures.text_metrics import fitted, text_width

_MOST_WORDS: Final = 150
_STEP: Final = 0.35
_MOST_STEPS: Final = 900
_LEAST_PX: Final = 8.0


def _word_cloud(view: ChartView) -> Drawing:
    table = view.table
    metric = metric_column(view, table, "metric")
    parts = read_parts(view, text_columns(view, table, "series"), metric)
    words = sorted(parts.parts, key=lambda part: (-part.value, part.label))
    notes = [*parts.notes]
    if len(words) > _MOST_WORDS:
        notes.append(f"Shows the {_MOST_WORDS} largest of {len(words):,} words.")
        words = words[:_MOST_WORDS]
    canvas = Canvas(view, notes)
    placed = _laid_out(view, words, canvas.room)
    if len(placed) < len(words):
        notes.append(f"{len(words) - len(placed)} words have no room.")
        canvas = Canvas(view, notes)
        placed = _laid_out(view, words, canvas.room)
    labels = [part.label for part in words]
    colours = dict(zip(labels, view.series_colours(labels), strict=True))
    for label, box, px, upright in placed:
        x, y = box.x + box.width / 2, box.y + box.height / 2
        words_shown = fitted(label, (box.height if upright else box.width) + 1, px)
        canvas.text(words_shown, x, y, colours[label], px=px, align="center", angle=-90 if upright else 0)
    shown = view.number_format("number_format")
    told = f"Word cloud of {parts.measure}{parts.by}: {len(placed)} words; the largest are "
    return canvas.drawing(told + ", ".join(f"{part.label} ({shown.text(part.value)})" for part in words[:5]))


def _laid_out(view: ChartView, words: list[Part], room: Box) -> list[tuple[str, Box, float, bool]]:
    """Return the words with their boxes: the largest in the middle, each next on the first free place of a spiral."""
    form = view.form
    small, large = form.number("size_from") or 10, form.number("size_to") or 70
    high, low = words[0].value, words[-1].value
    large = max(min(large, room.height / 3), small + 1)
    area = sum(
        text_width(part.label, 1) * (small + (large - small) * _share(part.value, low, high)) ** 2 for part in words
    )
    shrink = min(1.0, math.sqrt(room.width * room.height * 0.42 / max(area, 1)))
    found: list[tuple[str, Box, float, bool]] = []
    for place, part in enumerate(words):
        px = max((small + (large - small) * _share(part.value, low, high)) * shrink, _LEAST_PX)
        width = text_width(part.label, px) + 4
        if width > room.width:
            px, width = max(px * room.width / width, _LEAST_PX), room.width
        upright = form.get("rotation") == "square" and place % 3 == 2 and width < room.height
        size = (px * 1.15, width) if upright else (width, px * 1.15)
        box = _free_place(room, size, [other for _, other, *_ in found])
        if box is not None:
            found.append((part.label, box, px, upright))
    return found


def _share(value: float, low: float, high: float) -> float:
    return math.sqrt((value - low) / (high - low)) if high > low else 0.5


def _free_place(room: Box, size: tuple[float, float], taken: list[Box]) -> Box | None:
    width, height = size
    centre = (room.x + room.width / 2, room.y + room.height / 2)
    wide = room.width / max(room.height, 1)
    for step in range(_MOST_STEPS):
        angle = step * _STEP
        reach = 1.1 * angle
        x = centre[0] + reach * wide * math.cos(angle) - width / 2
        y = centre[1] + reach * math.sin(angle) - height / 2
        if x < room.x or y < room.y or x + width > room.right or y + height > room.bottom:
            continue
        box = Box(x=x, y=y, width=width, height=height)
        if not any(
            box.x < other.right and other.x < box.right and box.y < other.bottom and other.y < box.bottom
            for other in taken
        ):
            return box
    return None


KINDS: Final = (PictureKind(name="word_cloud", noun="word cloud", draw=_word_cloud),)
