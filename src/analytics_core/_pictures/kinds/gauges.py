"""Values on round scales: gauges and radars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from analytics_core._pictures.canvas import Box, Canvas
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.legends import draw_legend
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import Part, below_zero, metric_column, read_parts, text_columns, texts_of
from analytics_core._pictures.text_metrics import fitted
from analytics_core._pictures.theme import LABEL_PX
from analytics_core._tools.display.blocks import counted

_MOST_GAUGES: Final = 10
_MOST_SHAPES: Final = 30
_RINGS: Final = 4


def _gauge(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    metric = metric_column(view, table, "metric", "metrics")
    parts = read_parts(
        view, text_columns(view, table, "groupby") if form.items("groupby") else [], metric, positive=False
    )
    fmt = view.number_format("number_format")
    visible = parts.parts[:_MOST_GAUGES]
    notes = [*parts.notes]
    if len(parts.parts) > _MOST_GAUGES:
        notes.append(f"Shows {_MOST_GAUGES} of {len(parts.parts):,} values.")
    low, high = _range(view, [part.value for part in visible])
    outside = sum(not low <= part.value <= high for part in visible)
    if outside:
        notes.append(f"Beyond the ends of the scale: {outside} of {counted(len(visible), 'value')}.")
    colours = view.series_colours([part.label for part in visible])
    canvas = Canvas(view, notes)
    if len(visible) > 1:
        entries = [
            (f"{part.label}: {fmt.text(part.value)}", colour) for part, colour in zip(visible, colours, strict=True)
        ]
        draw_legend(canvas, entries, side="bottom")
    _dial(canvas, visible, colours, (low, high), fmt)
    summary = "; ".join(f"{part.label} {fmt.text(part.value)}" for part in visible)
    return canvas.drawing(f"Gauge of {parts.measure} from {fmt.text(low)} to {fmt.text(high)}: {summary}")


def _range(view: ChartView, values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the scale: those of the form, else round numbers that hold all values and 0."""
    low, high = view.form.number("min_val"), view.form.number("max_val")
    spare = 2 if len(values) == 1 else 1
    if low is None and high is None and min(values) < 0 < max(values):
        return _around_zero(min(values), max(values), _steps(view))
    if low is None:
        low = -_nice(-min(values) * spare) if min(values) < 0 else 0.0
    if high is not None and high <= low:
        view.form.reject("max_val", "is not above the lower end of the scale")
        high = None
    if high is None and low == 0 and max(values) <= 1:
        return low, 1.0  # a share, of the whole
    if high is None and low < 0:
        high = _nice(max(values) * spare) if max(values) > 0 else 0.0
    if high is None:
        high = _nice(max(max(values) * spare - low, 1.0)) + low
    return low, high


def _steps(view: ChartView) -> int:
    """Return how many steps the scale has."""
    return int(min(max(view.form.number("split_number") or 10, 1), 12))


def _around_zero(least: float, largest: float, steps: int) -> tuple[float, float]:
    """Return the ends of a scale of round steps, of which one is 0, that holds numbers on both sides of it."""
    if steps < 2:
        return -_nice(-least), _nice(largest)
    power = 10.0 ** math.floor(math.log10((largest - least) / steps))
    step = next(
        size * power
        for size in (1, 2, 2.5, 5, 10, 20, 25, 50, 100)
        if math.ceil(-least / (size * power)) + math.ceil(largest / (size * power)) <= steps
    )
    below = math.ceil(-least / step)
    return -below * step, (steps - below) * step


def _nice(span: float) -> float:
    """Return the first round number that is no less than a span."""
    power = 10.0 ** math.floor(math.log10(span))
    return next(step * power for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= span * 0.999)


def _angles(view: ChartView) -> tuple[float, float]:
    """Return where the scale begins and ends, in radians clockwise from the top; forms have degrees from the right."""
    start, end = view.form.number("start_angle"), view.form.number("end_angle")
    first, last = (225.0 if start is None else start), (-45.0 if end is None else end)
    if not 0 < first - last <= 360:
        first, last = 225.0, -45.0
    return math.radians(90 - first), math.radians(90 - last)


def _dial(
    canvas: Canvas,
    parts: Sequence[Part],
    colours: Sequence[str],
    ends: tuple[float, float],
    fmt: NumberFormat,
) -> None:
    first, last = _angles(canvas.view)
    below = 0.72 if abs(last - math.pi) < 1.2 else 1.0
    radius = max(min(canvas.room.width / 2 - 40, (canvas.room.height - 24) / (1 + below)), 20)
    centre = (canvas.room.x + canvas.room.width / 2, canvas.room.y + 12 + radius)
    band = min(radius * 0.5 / max(len(parts), 1), 22)
    for place, (part, colour) in enumerate(zip(parts, colours, strict=True)):
        outer = radius - place * (band + 2)
        share = min(max((part.value - ends[0]) / (ends[1] - ends[0]), 0.0), 1.0)
        rim = (outer - band, outer)
        canvas.arc(centre, rim, (first, last), canvas.colours.line)
        tip = f"{part.label}: {fmt.text(part.value)}"
        if canvas.form.flag("show_progress", absent=True):
            canvas.arc(centre, rim, (first, first + share * (last - first)), colour, tip=tip)
        if canvas.form.flag("show_pointer", absent=True):
            _pointer(canvas, centre, rim, first + share * (last - first), colour, is_alone=len(parts) == 1)
    steps = _steps(canvas.view)
    for step in range(steps + 1):
        angle = first + step / steps * (last - first)
        x, y = centre[0] + (radius + 6) * math.sin(angle), centre[1] - (radius + 6) * math.cos(angle)
        align = "center" if abs(math.sin(angle)) < 0.2 else "left" if math.sin(angle) > 0 else "right"
        words = fmt.text(ends[0] + step / steps * (ends[1] - ends[0]))
        canvas.text(words, x, y, canvas.colours.muted, align=align, px=LABEL_PX - 1)
    if len(parts) == 1:
        words = fmt.text(parts[0].value)
        template = canvas.form.text("value_formatter")
        words = template.replace("{value}", words)[:60] if template and "{value}" in template else words
        canvas.text(
            words, centre[0], centre[1] + radius * 0.45, canvas.colours.text, px=22, align="center", weight="bold"
        )
        if parts[0].keys:
            canvas.text(
                fitted(parts[0].label, radius * 1.6, LABEL_PX),
                centre[0],
                centre[1] + radius * 0.45 + 20,
                canvas.colours.muted,
                align="center",
            )


def _pointer(
    canvas: Canvas,
    centre: tuple[float, float],
    rim: tuple[float, float],
    angle: float,
    colour: str,
    *,
    is_alone: bool,
) -> None:
    """Draw a hand from the middle to its ring; of several rings each has a mark across it instead."""
    ends = (0.0, rim[0] - 4) if is_alone else (rim[0] - 1, rim[1] + 1)
    line = [(centre[0] + end * math.sin(angle), centre[1] - end * math.cos(angle)) for end in ends]
    canvas.line(line, colour if is_alone else canvas.colours.text, width=3)
    if is_alone:
        canvas.circle(*centre, 6, canvas.colours.text)


def _radar(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    metrics = [name for name in form.metrics("metrics") if name in table.names]
    metrics = metrics or [name for name in table.names if table.is_numeric(name)]
    if not metrics:
        raise CannotDrawError("the answer has no column of numbers.")
    if len(metrics) < 3:
        raise CannotDrawError("a radar needs three metrics or more.")
    groups = [name for name in text_columns(view, table, "groupby") if name not in metrics]
    columns = [texts_of(view, table, name, "date_format") for name in groups]
    labels = [", ".join(keys) for keys in zip(*columns, strict=True)] if columns else ["all"] * table.rows
    rows = list(zip(*(table.numbers(name) for name in metrics), strict=True))[:_MOST_SHAPES]
    labels = labels[: len(rows)]
    notes = [f"Shows {_MOST_SHAPES} of {table.rows:,} groups."] if table.rows > _MOST_SHAPES else []
    fmt = view.number_format("number_format")
    colours = view.series_colours(labels)
    values = [value for row in rows for value in row]
    notes += below_zero(values, "drawn in the middle, as 0")
    if missing := values.count(None):
        notes.append(f"Missing: {missing:,} of {counted(len(values), 'value')}, drawn in the middle, as 0.")
    canvas = Canvas(view, notes)
    if len(labels) > 1:
        draw_legend(canvas, zip(labels, colours, strict=True))
    tops = [_top(view, name, [row[place] for row in rows]) for place, name in enumerate(metrics)]
    _web(canvas, [table.label(name) for name in metrics], tops, fmt)
    for label, colour, row in zip(labels, colours, rows, strict=True):
        shares = [max((value or 0) / top, 0) if top > 0 else 0 for value, top in zip(row, tops, strict=True)]
        points = _corners(canvas.room, shares)
        path = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) + "Z"
        canvas.shape(path, colour, opacity=0.15, tip=label)
        canvas.line([*points, points[0]], colour, width=2)
    names = ", ".join(table.label(name) for name in metrics)
    return canvas.drawing(f"Radar of {names} for {counted(len(labels), 'group')}: {', '.join(labels[:8])}")


def _top(view: ChartView, name: str, values: Sequence[float | None]) -> float:
    config = view.form.mapping("column_config").get(name)
    top = config.get("radarMetricMaxValue") if isinstance(config, dict) else None
    if isinstance(top, int | float) and not isinstance(top, bool) and top > 0:
        return float(top)
    return max((value for value in values if value is not None), default=0.0)


def _radius(room: Box) -> float:
    return max(min(room.width / 2 - 90, room.height / 2 - 26), 15)


def _corners(room: Box, shares: Sequence[float]) -> list[tuple[float, float]]:
    radius, found = _radius(room), []
    for place, share in enumerate(shares):
        angle = 2 * math.pi * place / len(shares)
        reach = radius * min(share, 1.0)
        found.append(
            (room.x + room.width / 2 + reach * math.sin(angle), room.y + room.height / 2 - reach * math.cos(angle))
        )
    return found


def _web(canvas: Canvas, labels: Sequence[str], tops: Sequence[float], fmt: NumberFormat) -> None:
    centre = (canvas.room.x + canvas.room.width / 2, canvas.room.y + canvas.room.height / 2)
    for ring in range(1, _RINGS + 1):
        if canvas.form.flag("is_circle"):
            radius = _radius(canvas.room) * ring / _RINGS
            canvas.arc(centre, (radius - 1, radius), (0, 2 * math.pi), canvas.colours.line)
        else:
            points = _corners(canvas.room, [ring / _RINGS] * len(labels))
            canvas.line([*points, points[0]], canvas.colours.line)
    for (x, y), label, top in zip(_corners(canvas.room, [1.0] * len(labels)), labels, tops, strict=True):
        canvas.line([centre, (x, y)], canvas.colours.line)
        across = (x - centre[0]) / _radius(canvas.room)
        align = "center" if abs(across) < 0.2 else "left" if across > 0 else "right"
        away = 12 if y > centre[1] else -12
        out = (x + (6 if align == "left" else -6 if align == "right" else 0), y + (away if align == "center" else 0))
        room_px = (
            canvas.room.width * 0.9
            if align == "center"
            else (canvas.room.right - out[0] if align == "left" else out[0] - canvas.room.x)
        )
        words = f"{label} ({fmt.text(top)})"
        canvas.text(fitted(words, room_px, LABEL_PX), *out, canvas.colours.muted, align=align)


KINDS: Final = (
    PictureKind(name="gauge_chart", noun="gauge", draw=_gauge),
    PictureKind(name="radar", noun="radar", draw=_radar),
)
