"""Clouds of words, laid out the same way each time."""

from __future__ import annotations

import math
from typing import Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import Box, Canvas
from analytics_core._pictures.drawing import ChartView, Drawing, PictureKind
from analytics_core._pictures.parts_data import Part, metric_column, read_parts, text_columns
from analytics_core._pictures.text_metrics import fitted, text_width

_MOST_WORDS: Final = 150
_CELL_PX: Final = 3
_MOST_STEPS: Final = 1_500
_GOLDEN_ANGLE: Final = math.pi * (3 - math.sqrt(5))
"""Places that turn by this angle lie evenly around the middle."""

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
        notes.append(f"No room for {cells.counted(len(words) - len(placed), 'word')}.")
        canvas = Canvas(view, notes)
        placed = _laid_out(view, words, canvas.room)
    labels = [part.label for part in words]
    colours = dict(zip(labels, view.series_colours(labels), strict=True))
    for label, box, px, upright in placed:
        x, y = box.x + box.width / 2, box.y + box.height / 2
        words_shown = fitted(label, (box.height if upright else box.width) + 1, px)
        canvas.text(words_shown, x, y, colours[label], px=px, align="center", angle=-90 if upright else 0)
    shown = view.number_format("number_format")
    told = f"Word cloud of {parts.measure}{parts.by}: {cells.counted(len(placed), 'word')}; the largest are "
    return canvas.drawing(told + ", ".join(f"{part.label} ({shown.text(part.value)})" for part in words[:5]))


def _laid_out(view: ChartView, words: list[Part], room: Box) -> list[tuple[str, Box, float, bool]]:
    """Return the words with their boxes: the largest in the middle, each next on a free place near it."""
    form = view.form
    small, large = form.number("size_from") or 10, form.number("size_to") or 70
    high, low = words[0].value, words[-1].value
    large = max(min(large, room.height / 3), small + 1)
    area = sum(
        text_width(part.label, 1) * (small + (large - small) * _share(part.value, low, high)) ** 2 for part in words
    )
    shrink = min(1.0, math.sqrt(room.width * room.height * 0.55 / max(area, 1)))
    taken = [0] * int(room.height // _CELL_PX)
    found: list[tuple[str, Box, float, bool]] = []
    for place, part in enumerate(words):
        px = max((small + (large - small) * _share(part.value, low, high)) * shrink, _LEAST_PX)
        px = max(min(px, px * room.width / (text_width(part.label, px) + 4)), _LEAST_PX)
        upright = form.get("rotation") == "square" and place % 3 == 2 and text_width(part.label, px) + 4 < room.height
        for smaller in dict.fromkeys((px, max(px * 0.7, _LEAST_PX), _LEAST_PX)):
            width, height = min(text_width(part.label, smaller) + 4, room.width), smaller * 1.15
            box = _free_place(room, (height, width) if upright else (width, height), taken)
            if box is not None:
                found.append((part.label, box, smaller, upright))
                break
    return found


def _share(value: float, low: float, high: float) -> float:
    return math.sqrt((value - low) / (high - low)) if high > low else 0.5


def _free_place(room: Box, size: tuple[float, float], taken: list[int]) -> Box | None:
    """Return the place nearest to the middle that no word has, and mark it as taken; None where there is none.

    Args:
        room: where words may stand.
        size: the width and height of the word.
        taken: for each line of cells of the room a number whose bits are the cells that words have.
    """
    across, down = int(room.width // _CELL_PX), len(taken)
    width, height = (math.ceil(side / _CELL_PX) for side in size)
    for step in range(_MOST_STEPS):
        reach, angle = 0.75 * math.sqrt(step / _MOST_STEPS), step * _GOLDEN_ANGLE
        left = round(across * (0.5 + reach * math.cos(angle)) - width / 2)
        top = round(down * (0.5 + reach * math.sin(angle)) - height / 2)
        if left < 0 or top < 0 or left + width > across or top + height > down:
            continue
        cells_of_word = ((1 << width) - 1) << left
        if not any(line & cells_of_word for line in taken[top : top + height]):
            for line in range(top, top + height):
                taken[line] |= cells_of_word
            return Box(x=room.x + left * _CELL_PX, y=room.y + top * _CELL_PX, width=size[0], height=size[1])
    return None


KINDS: Final = (PictureKind(name="word_cloud", noun="word cloud", draw=_word_cloud),)
