"""Groups within groups: treemaps, sunbursts and partitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import Box, Canvas
from analytics_core._pictures.drawing import MOST_MARKS, ChartView, Drawing, PictureKind
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import Parts, metric_column, read_parts, text_columns
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX, heat_colours, mixed, ramp_colour, readable_on

_TURN: Final = 2 * math.pi
_HEADER_PX: Final = 18
_LINE_PX: Final = LABEL_PX + 3
_HOLE: Final = 0.22
_OLD_LABELS: Final = ("key", "value", "key_value")
"""Older forms number the kinds of labels."""


@dataclass(slots=True)
class Group:
    """A group and the groups in it; `value` is its sum."""

    label: str
    value: float = 0
    groups: dict[str, Group] = field(default_factory=dict)

    def inner(self) -> list[Group]:
        """Return the groups in it, the largest first."""
        return sorted(self.groups.values(), key=lambda group: (-group.value, group.label))


def _grouped(parts: Parts) -> tuple[Group, tuple[str, ...]]:
    """Return the group of all, and notes of what was left out."""
    root = Group(parts.measure)
    largest = sorted(parts.parts, key=lambda part: -part.value)
    most = MOST_MARKS // 2 // (len(parts.dimensions) + 1)
    for part in largest[:most]:
        root.value = cells.total((root.value, part.value))
        group = root
        for key in part.keys or ("all",):
            group = group.groups.setdefault(key, Group(key))
            group.value = cells.total((group.value, part.value))
    remaining = len(largest) - most
    note = (f"Shows the {most:,} largest of {len(largest):,} groups.",) if remaining > 0 else ()
    return root, (*parts.notes, *note)


def _summary(parts: Parts, largest: Group, fmt: NumberFormat) -> str:
    text = f"{parts.measure}{parts.by}: {parts.total_text('group', fmt.text(parts.total))}"
    return f"{text}; the largest is {largest.label} with {fmt.text(largest.value)}"


def _paler(canvas: Canvas, colour: str, place: int) -> str:
    """Return the colour of a group within one of that colour."""
    return mixed(colour, canvas.colours.background, min(0.14 + 0.06 * place, 0.55))


def squarified(values: Sequence[float], box: Box) -> list[Box]:
    """Return a rectangle for each value, of its share of the area and nearly square; values are positive, falling."""
    found: list[Box] = []
    scale = box.width * box.height / (math.fsum(values) or 1)
    areas = [max(value * scale, 1e-9) for value in values]
    start = 0
    while start < len(areas):
        side = max(min(box.width, box.height), 1e-9)
        end = start + 1
        while end < len(areas) and _worst(areas[start : end + 1], side) <= _worst(areas[start:end], side):
            end += 1
        row = areas[start:end]
        depth = math.fsum(row) / side
        place = 0.0
        for area in row:
            length = area / depth
            if box.width >= box.height:
                found.append(Box(x=box.x, y=box.y + place, width=depth, height=length))
            else:
                found.append(Box(x=box.x + place, y=box.y, width=length, height=depth))
            place += length
        if box.width >= box.height:
            box = Box(x=box.x + depth, y=box.y, width=max(box.width - depth, 0), height=box.height)
        else:
            box = Box(x=box.x, y=box.y + depth, width=box.width, height=max(box.height - depth, 0))
        start = end
    return found


def _worst(row: Sequence[float], side: float) -> float:
    total = math.fsum(row)
    return max(side * side * max(row) / (total * total), total * total / (side * side * min(row)))


def _treemap(view: ChartView) -> Drawing:
    table = view.table
    metric = metric_column(view, table, "metric", "metrics")
    parts = read_parts(view, text_columns(view, table, "groupby", "columns"), metric)
    root, notes = _grouped(parts)
    treemap = _Treemap(view, notes)
    top = root.inner()
    colours = view.series_colours([group.label for group in top])
    boxes = squarified([group.value for group in top], treemap.canvas.room)
    for group, colour, box in zip(top, colours, boxes, strict=True):
        treemap.draw(group, colour, box)
    return treemap.canvas.drawing(f"Treemap of {_summary(parts, top[0], treemap.fmt)}")


class _Treemap:
    """Draws groups as rectangles within rectangles."""

    def __init__(self, view: ChartView, notes: Sequence[str]) -> None:
        self.fmt = view.number_format("number_format")
        self.canvas = Canvas(view, notes)

    def draw(self, group: Group, colour: str, box: Box) -> None:
        """Draw a group and those in it."""
        tip = f"{group.label}: {self.fmt.text(group.value)}"
        self.canvas.rect(box, colour, stroke=self.canvas.colours.background, tip=tip)
        if not group.groups or box.width <= 30 or box.height <= 40:
            self._label(group, colour, box)
            return
        header = fitted(tip, box.width - 8, LABEL_PX, bold=True)
        self.canvas.text(header, box.x + 4, box.y + _HEADER_PX / 2, readable_on(colour), weight="bold")
        inner = group.inner()
        boxes = squarified([one.value for one in inner], box.inset(2, _HEADER_PX, 2, 2))
        for place, (one, part) in enumerate(zip(inner, boxes, strict=True)):
            self.draw(one, _paler(self.canvas, colour, place), part)

    def _label(self, group: Group, colour: str, box: Box) -> None:
        form = self.canvas.form
        if not form.flag("show_labels", absent=True):
            return
        kind = form.get("label_type")
        kind = _OLD_LABELS[kind] if isinstance(kind, int) and 0 <= kind < len(_OLD_LABELS) else str(kind).casefold()
        value = self.fmt.text(group.value)
        lines = {"key": [group.label], "value": [value]}.get(kind, [group.label, value])
        inside = box.inset(4, 3, 0, 3)
        for place, line in enumerate(lines):
            words = fitted(line, inside.width, LABEL_PX)
            if line == value and words != line:
                continue  # a number without its end is another one
            if (len(words) > 1 or words == line) and inside.height >= (place + 1) * _LINE_PX:
                at = (inside.x, inside.y + place * _LINE_PX)
                self.canvas.text(words, *at, readable_on(colour), baseline="top")


def _sunburst(view: ChartView) -> Drawing:
    table = view.table
    metric = metric_column(view, table, "metric")
    names = text_columns(view, table, "columns", "groupby")
    parts = read_parts(view, names, metric)
    root, notes = _grouped(parts)
    second = [name for name in view.form.metrics("secondary_metric") if name in table.names and name != metric]
    top = root.inner()
    labels = [group.label for group in top]
    colours = _by_ratio(view, names, second[0], top) if second else view.series_colours(labels)
    sunburst = _Sunburst(view, notes, levels=max(len(parts.dimensions), 1))
    start = 0.0
    for group, colour in zip(top, colours, strict=True):
        end = start + group.value / root.value * _TURN
        sunburst.draw(group, colour, (start, end), 0)
        start = end
    sunburst.total(root)
    return sunburst.canvas.drawing(f"Sunburst of {_summary(parts, top[0], sunburst.fmt)}")


def _by_ratio(view: ChartView, names: Sequence[str], second: str, top: Sequence[Group]) -> list[str]:
    """Return the colours of groups by the ratio of a second metric to their own."""
    values = dict.fromkeys((group.label for group in top), 0.0)
    for part in read_parts(view, names, second, positive=False).parts:
        if part.keys and part.keys[0] in values:
            values[part.keys[0]] += part.value
    ratios = [values[group.label] / group.value for group in top]
    low, high = min(ratios), max(ratios)
    ramp = heat_colours(view.colours, view.form.text("linear_color_scheme"))
    return [ramp_colour(ramp, (ratio - low) / (high - low) if high > low else 0.5) for ratio in ratios]


class _Sunburst:
    """Draws groups as rings around rings."""

    def __init__(self, view: ChartView, notes: Sequence[str], *, levels: int) -> None:
        self.fmt = view.number_format("number_format")
        self.canvas = Canvas(view, notes)
        room = self.canvas.room
        self.radius = max(min(room.width, room.height) / 2 - 2, 10)
        self.centre = (room.x + room.width / 2, room.y + room.height / 2)
        self.step = self.radius * (1 - _HOLE) / levels

    def draw(self, group: Group, colour: str, angles: tuple[float, float], level: int) -> None:
        """Draw a group between two angles, and those in it around it."""
        inner = self.radius * _HOLE + level * self.step
        tip = f"{group.label}: {self.fmt.text(group.value)}"
        line = self.canvas.colours.background
        self.canvas.arc(self.centre, (inner, inner + self.step), angles, colour, stroke=line, tip=tip)
        if self.canvas.form.flag("show_labels", absent=True):
            self._label(group, colour, angles, inner)
        start = angles[0]
        for place, one in enumerate(group.inner()):
            end = start + one.value / group.value * (angles[1] - angles[0])
            self.draw(one, _paler(self.canvas, colour, place), (start, end), level + 1)
            start = end

    def _label(self, group: Group, colour: str, angles: tuple[float, float], inner: float) -> None:
        turn, middle, at = angles[1] - angles[0], (angles[0] + angles[1]) / 2, inner + self.step / 2
        if turn * at < LABEL_PX + 2:
            return
        room_px = self.step - 6
        wanted_px = LABEL_PX * room_px / max(text_width(group.label, LABEL_PX), 1)
        px = min(LABEL_PX, max(LABEL_PX - 2.5, wanted_px))
        words = fitted(group.label, room_px, px)
        if len(words) < 3 and words != group.label:
            return
        degrees = 0.0 if turn > 6 else math.degrees(middle) - 90 + (180 if math.sin(middle) < 0 else 0)
        x, y = self.centre[0] + at * math.sin(middle), self.centre[1] - at * math.cos(middle)
        self.canvas.text(words, x, y, readable_on(colour), px=px, align="center", angle=degrees)

    def total(self, root: Group) -> None:
        """Write the sum of all in the middle."""
        words = self.fmt.text(root.value)
        px = max(9.0, min(18.0, self.radius * _HOLE * 1.5 / max(text_width(words, 1, bold=True), 1)))
        self.canvas.text(words, *self.centre, self.canvas.colours.text, px=px, align="center", weight="bold")


def _partition(view: ChartView) -> Drawing:
    table = view.table
    metric = metric_column(view, table, "metrics", "metric")
    parts = read_parts(view, text_columns(view, table, "groupby"), metric)
    root, notes = _grouped(parts)
    fmt = view.number_format("number_format")
    canvas = Canvas(view, notes)
    width = canvas.room.width / (len(parts.dimensions) + 1)
    box = Box(x=canvas.room.x, y=canvas.room.y, width=width, height=canvas.room.height)
    _bar(canvas, f"{root.label}: {fmt.text(root.value)}", view.colours.neutral, box)
    top = root.inner()
    y = box.y
    for group, colour in zip(top, view.series_colours([group.label for group in top]), strict=True):
        height = box.height * group.value / root.value
        _bars(canvas, group, colour, Box(x=box.right, y=y, width=width, height=height))
        y += height
    return canvas.drawing(f"Partition of {_summary(parts, top[0], fmt)}")


def _bars(canvas: Canvas, group: Group, colour: str, box: Box) -> None:
    """Draw a group as a bar, and those in it as bars at its right."""
    words = f"{group.label}: {canvas.view.number_format('number_format').text(group.value)}"
    _bar(canvas, words, colour, box)
    y = box.y
    for place, one in enumerate(group.inner()):
        height = box.height * one.value / group.value
        _bars(canvas, one, _paler(canvas, colour, place), Box(x=box.right, y=y, width=box.width, height=height))
        y += height


def _bar(canvas: Canvas, words: str, colour: str, box: Box) -> None:
    canvas.rect(box, colour, stroke=canvas.colours.background, tip=words)
    if box.height >= _LINE_PX:
        at = (box.x + 4, box.y + min(box.height / 2, 12))
        canvas.text(fitted(words, box.width - 8, LABEL_PX), *at, readable_on(colour))


KINDS: Final = (
    PictureKind(name="treemap_v2", noun="treemap", draw=_treemap),
    PictureKind(name="sunburst_v2", noun="sunburst", draw=_sunburst),
    PictureKind(name="partition", noun="partition", draw=_partition),
)
