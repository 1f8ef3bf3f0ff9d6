"""Clouds of words, laid out the same way each time."""

from __future__ import annotations

import math
from typing import Final

from analytics_core._pictures.canvas import Box, Canvas
from analytics_core._pictures.drawing import ChartView, Drawing, PictureKind
from analytics_core._pictures.parts_data import Part, metric_column, read_parts, text_columns
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._tools.display.blocks import counted

_MOST_WORDS: Final = 150
_CELL_PX: Final = 3
_FEW_WORDS: Final = 30
_NOTE_PX: Final = 18
"""What a note takes that more than a few words may need."""

_MOST_STEPS: Final = 1_000
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
    placed = _laid_out(view, words, canvas.room.inset(bottom=_NOTE_PX if len(words) > _FEW_WORDS else 0))
    if len(placed) < len(words):
        canvas = Canvas(view, [*notes, f"No room for {counted(len(words) - len(placed), 'word')}."])
    labels = [part.label for part in words]
    colours = dict(zip(labels, view.series_colours(labels), strict=True))
    for label, box, px, upright in placed:
        x, y = box.x + box.width / 2, box.y + box.height / 2
        text = fitted(label, (box.height if upright else box.width) + 1, px)
        canvas.text(text, x, y, colours[label], px=px, align="center", angle=-90 if upright else 0)
    fmt = view.number_format("number_format")
    summary = f"Word cloud of {parts.measure}{parts.by}: {counted(len(placed), 'word')}; the largest are "
    return canvas.drawing(summary + ", ".join(f"{part.label} ({fmt.text(part.value)})" for part in words[:5]))


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
    space = _FreeSpace(room)
    found: list[tuple[str, Box, float, bool]] = []
    for place, part in enumerate(words):
        px = max((small + (large - small) * _share(part.value, low, high)) * shrink, _LEAST_PX)
        px = max(min(px, px * room.width / (text_width(part.label, px) + 4)), _LEAST_PX)
        upright = form.get("rotation") == "square" and place % 3 == 2 and text_width(part.label, px) + 4 < room.height
        for smaller in dict.fromkeys((px, max(px * 0.7, _LEAST_PX), _LEAST_PX)):
            width, height = min(text_width(part.label, smaller) + 4, room.width), smaller * 1.15
            box = space.take(height, width) if upright else space.take(width, height)
            if box is not None:
                found.append((part.label, box, smaller, upright))
                break
    return found


def _share(value: float, low: float, high: float) -> float:
    return math.sqrt((value - low) / (high - low)) if high > low else 0.5


class _FreeSpace:
    """The cells of a room that no word has yet.

    A number holds them, a bit each, line by line: so a place is looked at in one operation.
    """

    def __init__(self, room: Box) -> None:
        self._room = room
        self._across, self._down = int(room.width // _CELL_PX), int(room.height // _CELL_PX)
        self._taken = 0
        self._too_large: list[tuple[int, int]] = []
        spots = ((0.75 * math.sqrt(step / _MOST_STEPS), step * _GOLDEN_ANGLE) for step in range(_MOST_STEPS))
        self._spots = [
            (int(self._across * (0.5 + reach * math.cos(angle))), int(self._down * (0.5 + reach * math.sin(angle))))
            for reach, angle in spots
        ]

    def take(self, width_px: float, height_px: float) -> Box | None:
        """Return the free place nearest to the middle, which is no longer free then; None where there is none."""
        width, height = math.ceil(width_px / _CELL_PX), math.ceil(height_px / _CELL_PX)
        if any(width >= wide and height >= high for wide, high in self._too_large):
            return None
        shape = sum(((1 << width) - 1) << (line * self._across) for line in range(height))
        right, bottom, stride = self._across - width, self._down - height, self._across
        for x, y in self._spots:
            left, top = x - width // 2, y - height // 2
            if left < 0 or top < 0 or left > right or top > bottom:
                continue
            first = top * stride + left
            if not (self._taken >> first) & shape:
                self._taken |= shape << first
                corner = (self._room.x + left * _CELL_PX, self._room.y + top * _CELL_PX)
                return Box(x=corner[0], y=corner[1], width=width_px, height=height_px)
        self._too_large.append((width, height))
        return None


KINDS: Final = (PictureKind(name="word_cloud", noun="word cloud", draw=_word_cloud),)
