"""The parts of a whole: pies, rings and funnels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import Canvas
from analytics_core._pictures.drawing import ChartView, Drawing, PictureKind
from analytics_core._pictures.legends import draw_legend
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import Part, Parts, metric_column, read_parts, text_columns
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX, readable_on
from analytics_core._tools.display.blocks import counted

_PERCENT: Final = NumberFormat(spec=".1%")
_TURN: Final = 2 * math.pi
_LABEL_LINE_PX: Final = LABEL_PX + 4
_MOST_SLICES: Final = 100
_OLD_LABELS: Final = ("key", "value", "percent", "key_value", "key_percent", "key_value_percent", "value_percent")
"""Older forms number the kinds of labels."""


def _pie(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    metric = metric_column(view, table, "metric", "metrics")
    parts = _with_others(view, read_parts(view, text_columns(view, table, "groupby"), metric))
    fmt = view.number_format("number_format")
    colours = view.series_colours([part.label for part in parts.parts])
    canvas = Canvas(view, parts.notes)
    if len(parts.parts) > 1:
        entries = zip((part.label for part in parts.parts), colours, strict=True)
        draw_legend(canvas, entries)
    labels = _labels(view, parts, fmt) if form.flag("show_labels", absent=True) else [""] * len(parts.parts)
    _slices(canvas, parts, colours, labels)
    largest = max(parts.parts, key=lambda part: part.value)
    share = _PERCENT.text(largest.value / parts.total)
    summary = (
        f"Pie chart of {parts.measure}{parts.by}: {parts.total_text('part', fmt.text(parts.total))}; "
        f"the largest is {largest.label} with {fmt.text(largest.value)} ({share})"
    )
    return canvas.drawing(summary)


def _with_others(view: ChartView, parts: Parts) -> Parts:
    """Return parts in which those below the form's threshold, and those beyond what can be told apart, are one."""
    threshold = (view.form.number("threshold_for_other") or 0) / 100 * parts.total
    large = [part for part in parts.parts if part.value >= threshold]
    slices = large[:_MOST_SLICES]
    rest = [*large[_MOST_SLICES:], *(part for part in parts.parts if part.value < threshold)]
    if not rest:
        return parts
    others = Part(keys=("Others",), value=cells.total(part.value for part in rest))
    note = f"Others: {counted(len(rest), 'small part')}."
    return replace(parts, parts=(*slices, others), notes=(*parts.notes, note))


def _labels(view: ChartView, parts: Parts, fmt: NumberFormat) -> list[str]:
    """Return the label of each part; empty for those that are too small for one."""
    label_type = view.form.get("label_type")
    if isinstance(label_type, int) and 0 <= label_type < len(_OLD_LABELS):
        label_type = _OLD_LABELS[label_type]
    kind = str(label_type or "key").casefold()
    threshold = view.form.number("show_labels_threshold")
    least = (5.0 if threshold is None else threshold) / 100
    found, total = [], parts.total
    for part in parts.parts:
        share = part.value / total
        words = {"key": part.label, "value": fmt.text(part.value), "percent": _PERCENT.text(share)}
        names = [name for name in ("key", "value", "percent") if name in kind.split("_")] or ["key"]
        text = (
            words[names[0]] if len(names) == 1 else f"{words[names[0]]}: {', '.join(words[name] for name in names[1:])}"
        )
        if len(names) == 3:
            text = f"{words['key']}: {words['value']} ({words['percent']})"
        found.append(text if share >= least else "")
    return found


def _slices(canvas: Canvas, parts: Parts, colours: Sequence[str], labels: Sequence[str]) -> None:
    outside = canvas.form.flag("labels_outside", absent=True)
    widest = max((text_width(label, LABEL_PX) for label in labels), default=0) if outside else 0
    half = min(
        canvas.room.width / 2 - min(widest, canvas.room.width * 0.28) - 24,
        canvas.room.height / 2 - (14 if outside and widest else 4),
    )
    radius = max(half, 12)
    inner = _inner(canvas.view) * radius
    centre = (canvas.room.x + canvas.room.width / 2, canvas.room.y + canvas.room.height / 2)
    largest = max(part.value for part in parts.parts)
    rose, fmt = canvas.form.get("roseType"), canvas.view.number_format("number_format")
    start, total = 0.0, parts.total
    middles = []
    for part, colour in zip(parts.parts, colours, strict=True):
        turn = part.value / total * _TURN if rose != "area" else _TURN / len(parts.parts)
        reach = radius
        if rose in ("area", "radius"):
            reach = inner + (radius - inner) * (part.value / largest) ** (0.5 if rose == "radius" else 1)
        tip = f"{part.label}: {fmt.text(part.value)}"
        canvas.arc(centre, (inner, reach), (start, start + turn), colour, stroke=canvas.colours.background, tip=tip)
        middles.append((start + turn / 2, reach))
        start += turn
    if outside:
        _outside_labels(canvas, centre, middles, labels)
    else:
        for (angle, reach), label, colour in zip(middles, labels, colours, strict=True):
            at = inner + (reach - inner) * (0.5 if inner else 0.65)
            x, y = centre[0] + at * math.sin(angle), centre[1] - at * math.cos(angle)
            canvas.text(fitted(label, radius * 0.8, LABEL_PX), x, y, readable_on(colour), align="center")
    if canvas.form.flag("show_total") and inner:
        words = canvas.view.number_format("number_format").text(parts.total)
        canvas.text(f"Total: {words}", *centre, canvas.colours.text, px=14, align="center", weight="bold")


def _inner(view: ChartView) -> float:
    """Return the radius of the hole as a share of the pie's."""
    if not view.form.flag("donut"):
        return 0.0
    inner, outer = view.form.number("innerRadius") or 30, view.form.number("outerRadius") or 70
    return min(max(inner / outer, 0.1), 0.9) if outer > 0 else 0.4


def _outside_labels(
    canvas: Canvas,
    centre: tuple[float, float],
    middles: Sequence[tuple[float, float]],
    labels: Sequence[str],
) -> None:
    """Write labels beside the slices: on each side one below the other, with lines to their slices."""
    for right in (True, False):
        placed = [
            (centre[1] - (reach + 12) * math.cos(angle), angle, reach, label)
            for (angle, reach), label in zip(middles, labels, strict=True)
            if label and (math.sin(angle) >= 0) is right
        ]
        placed.sort(key=lambda item: item[0])
        tops = spread([item[0] for item in placed], _LABEL_LINE_PX, canvas.room.y + 6, canvas.room.bottom - 6)
        for y, (_, angle, reach, label) in zip(tops, placed, strict=True):
            turn = 1 if right else -1
            edge = (centre[0] + reach * math.sin(angle), centre[1] - reach * math.cos(angle))
            x = centre[0] + turn * max(abs((reach + 12) * math.sin(angle)), 8)
            end = x + turn * 8
            canvas.line([edge, (x, y), (end, y)], canvas.colours.muted)
            room_px = canvas.room.right - end - 4 if right else end - canvas.room.x - 4
            text = fitted(label, room_px, LABEL_PX)
            canvas.text(text, end + turn * 3, y, canvas.colours.text, align="left" if right else "right")


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return sorted places moved apart to a gap, within two ends as far as there is room."""
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap if found else low))
    limit = high
    for step in range(len(found) - 1, -1, -1):
        found[step] = min(found[step], limit)
        limit = found[step] - gap
    return found


def _funnel(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    metric = metric_column(view, table, "metric", "metrics")
    parts = read_parts(view, text_columns(view, table, "groupby"), metric)
    steps = list(parts.parts)
    if form.flag("sort_by_metric", absent=True):
        steps.sort(key=lambda part: -part.value)
    steps = steps[:_MOST_SLICES]
    fmt = view.number_format("number_format")
    labels = [part.label for part in steps]
    colours = view.series_colours(labels)
    notes = [*parts.notes]
    if len(steps) < len(parts.parts):
        notes.append(f"Shows {len(steps)} of {len(parts.parts):,} steps.")
    canvas = Canvas(view, notes)
    draw_legend(canvas, zip(labels, colours, strict=True))
    _funnel_steps(canvas, steps, colours, _step_labels(view, steps, fmt))
    summary = f"Funnel of {parts.measure}{parts.by} with {counted(len(steps), 'step')}, from {steps[0].label} with "
    summary += f"{fmt.text(steps[0].value)} to {steps[-1].label} with {fmt.text(steps[-1].value)}"
    return canvas.drawing(summary)


def _step_labels(view: ChartView, steps: Sequence[Part], fmt: NumberFormat) -> list[str]:
    kind = view.form.get("percent_calculation_type")
    total = cells.total(part.value for part in steps)
    found = []
    for place, part in enumerate(steps):
        base = {"total": total, "prev_step": steps[max(place - 1, 0)].value}.get(str(kind), steps[0].value)
        found.append(f"{part.label}: {fmt.text(part.value)} ({_PERCENT.text(part.value / base)})")
    return found if view.form.flag("show_labels", absent=True) else [""] * len(steps)


def _funnel_steps(canvas: Canvas, steps: Sequence[Part], colours: Sequence[str], labels: Sequence[str]) -> None:
    height = min(canvas.room.height / len(steps), 64)
    largest = max(part.value for part in steps)
    middle = canvas.room.x + canvas.room.width / 2
    widths = [max(part.value / largest * canvas.room.width * 0.9, 2) for part in steps]
    for place, (colour, label) in enumerate(zip(colours, labels, strict=True)):
        top, bottom = canvas.room.y + place * height, canvas.room.y + (place + 1) * height - 2
        upper, lower = widths[place] / 2, widths[min(place + 1, len(widths) - 1)] / 2
        lower = upper * 0.75 if place == len(steps) - 1 else min(lower, upper) if upper > lower else upper
        path = f"M{middle - upper:.1f},{top:.1f}L{middle + upper:.1f},{top:.1f}L{middle + lower:.1f},{bottom:.1f}"
        canvas.shape(f"{path}L{middle - lower:.1f},{bottom:.1f}Z", colour, tip=label)
    for place, (colour, label) in enumerate(zip(colours, labels, strict=True)):
        y = canvas.room.y + (place + 0.5) * height - 1
        words = fitted(label, canvas.room.width, LABEL_PX)
        inside = text_width(words, LABEL_PX) < widths[place] * 0.8
        if inside:
            canvas.text(words, middle, y, readable_on(colour), align="center")
        else:
            left = middle + widths[place] / 2 + 8
            room_px = canvas.room.right - left
            is_tight = text_width(words, LABEL_PX) > room_px
            canvas.text(
                words,
                canvas.room.right if is_tight else left,
                y,
                canvas.colours.text,
                align="right" if is_tight else "left",
            )


KINDS: Final = (
    PictureKind(name="pie", noun="pie chart", draw=_pie),
    PictureKind(name="funnel", noun="funnel", draw=_funnel),
)
