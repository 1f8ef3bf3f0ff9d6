"""Values in a grid of colours: heatmaps and calendars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from analytics_core._pictures import axes, cells
from analytics_core._pictures.canvas import Box, Canvas
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import metric_column, texts_of
from analytics_core._pictures.text_metrics import text_width
from analytics_core._pictures.theme import LABEL_PX, heat_colours, ramp_colour, readable_on
from analytics_core._tools.display.blocks import counted

_MOST_PER_SIDE: Final = 150
_MOST_TEXTS: Final = 300
_DAY: Final = timedelta(days=1)


def _heatmap(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    metric = metric_column(view, table, "metric")
    others = [name for name in table.names if name not in (metric, "rank")]
    form_names = [name for name in (*form.columns("x_axis"), *form.columns("groupby")) if name in others]
    across, up = (
        [*form_names, *(name for name in others if name not in form_names)][:2]
        if len(others) > 1
        else (others[0], None)
        if others
        else (None, None)
    )
    if across is None or up is None:
        raise CannotDrawError("the answer needs two columns of groups and a number.")
    xs, ys = texts_of(view, table, across, "x_axis_time_format"), texts_of(view, table, up)
    values = table.numbers(metric)
    shares = table.numbers("rank") if "rank" in table.names and form.get("normalize_across") in ("x", "y") else values
    points = {
        (x, y): (value, share)
        for x, y, value, share in zip(xs, ys, values, shares, strict=True)
        if value is not None and share is not None
    }
    columns, notes = _axis_order(view, "sort_x_axis", xs, values, table.label(across))
    lines, more = _axis_order(view, "sort_y_axis", ys, values, table.label(up))
    found: list[dict[str, Any]] = [
        {"c0": x, "c1": y, "c2": value, "c3": share}
        for (x, y), (value, share) in points.items()
        if x in columns and y in lines
    ]
    if not found:
        raise CannotDrawError(f"{table.label(metric)} has no values.")
    fmt = view.number_format("y_axis_format", "value_format")
    names = (table.label(across), table.label(up), table.label(metric))
    layers = _heat_layers(view, found, columns=list(columns), lines=list(lines), names=names, fmt=fmt)
    largest = max(found, key=lambda row: row["c2"])
    summary = f"Heatmap of {names[2]} by {names[0]} ({len(columns)}) and {names[1]} ({len(lines)}). "
    summary += f"Values from {fmt.text(min(row['c2'] for row in found))} to {fmt.text(largest['c2'])}; "
    return Drawing(
        layers=tuple(layers),
        description=f"{summary}the largest is {largest['c0']}, {largest['c1']}",
        notes=(*notes, *more),
    )


def _axis_order(
    view: ChartView, field: str, labels: Sequence[str], values: Sequence[float | None], name: str
) -> tuple[dict[str, None], list[str]]:
    """Return the labels of an axis in their order, no more than fit."""
    sums: dict[str, float] = {}
    for label, value in zip(labels, values, strict=True):
        sums[label] = sums.get(label, 0.0) + (value or 0.0)
    order = str(view.form.get(field) or "")
    found = list(sums)
    if order.startswith("alpha"):
        found.sort(key=_natural, reverse=order.endswith("desc"))
    elif order.startswith("value"):
        found.sort(key=lambda label: sums[label], reverse=order.endswith("desc"))
    notes = [f"Shows {_MOST_PER_SIDE} of {len(found):,} values of {name}."] if len(found) > _MOST_PER_SIDE else []
    return dict.fromkeys(found[:_MOST_PER_SIDE]), notes


def _natural(label: str) -> tuple[int, float, str]:
    try:
        read = float(label)
    except ValueError:
        return 1, 0.0, label
    return (0, read, label) if math.isfinite(read) else (1, 0.0, label)


def _heat_layers(
    view: ChartView,
    rows: list[dict[str, Any]],
    *,
    columns: list[str],
    lines: list[str],
    names: tuple[str, str, str],
    fmt: NumberFormat,
) -> list[dict[str, Any]]:
    form = view.form
    low, high = form.bounds("value_bounds")
    known = [row["c3"] for row in rows]
    low, high = min(known) if low is None else low, max(known) if high is None else high
    ramp = heat_colours(view.colours, form.text("linear_color_scheme"))
    stops = [low + (high - low) * place / (len(ramp) - 1) for place in range(len(ramp))] if high > low else [low]
    colour: dict[str, Any] = {
        "field": "c3",
        "type": "quantitative",
        "scale": {"domain": stops, "range": list(ramp[: len(stops)]), "clamp": True},
    }
    is_share = form.get("normalize_across") in ("x", "y")
    label = NumberFormat(spec=".0%") if is_share else fmt
    legend = {"title": None, "orient": "right", "gradientLength": max(view.size.height_px // 3, 60), **label.axis()}
    colour["legend"] = legend if form.flag("show_legend", absent=True) and high > low else None
    base = _heat_axes(view, columns, lines, names)
    for channel in base.values():
        channel["axis"]["domain"] = False
    tips = [
        {"field": "c0", "type": "nominal", "title": names[0]},
        {"field": "c1", "type": "nominal", "title": names[1]},
    ]
    tips.append({"field": "c2", "type": "quantitative", "title": names[2]})
    cell_px = min((view.size.width_px - 180) / len(columns), (view.size.height_px - 120) / len(lines))
    gap = 1 if cell_px > 8 else 0
    mark = {"type": "rect", "stroke": view.colours.background, "strokeWidth": gap}
    layers: list[dict[str, Any]] = [
        {"data": {"values": rows}, "mark": mark, "encoding": {**base, "color": colour, "tooltip": tips}}
    ]
    if (form.flag("show_values") or (form.flag("show_percentage") and is_share)) and len(rows) <= _MOST_TEXTS:
        room = ((view.size.width_px - 180) / len(columns), (view.size.height_px - 120) / len(lines))
        layers += _heat_texts(rows, base, ends=(low, high), ramp=ramp, fmt=fmt, room=room)
    return layers


def _heat_axes(
    view: ChartView, columns: Sequence[str], lines: Sequence[str], names: tuple[str, str, str]
) -> dict[str, Any]:
    """Return the scales and axes, with as many labels as have room beside each other."""
    across = view.form.text("x_axis_title") or names[0]
    longest = max((text_width(line, LABEL_PX) for line in lines), default=0.0)
    width = max(view.size.width_px - min(longest, view.size.width_px / 3) - 110, 40)
    x = axes.category_axis(view, columns, across, room_px=width)
    below = 14.0
    if x["axis"]["labelAngle"]:
        below = min(max(text_width(column, LABEL_PX) for column in columns), x["axis"]["labelLimit"]) * 0.75
    height = max(view.size.height_px - below - 80, 20)
    up = axes.category_axis(view, lines, view.form.text("y_axis_title") or names[1], horizontal=True, room_px=height)
    return {"x": {"field": "c0", **x}, "y": {"field": "c1", **up}}


def _heat_texts(
    rows: list[dict[str, Any]],
    base: dict[str, Any],
    *,
    ends: tuple[float, float],
    ramp: Sequence[str],
    fmt: NumberFormat,
    room: tuple[float, float],
) -> list[dict[str, Any]]:
    """Return the values as texts in their cells; none where a cell has no room for its text."""
    low, high = ends
    written = []
    for row in rows:
        fill = ramp_colour(ramp, (row["c3"] - low) / (high - low)) if high > low else ramp[0]
        written.append({"c0": row["c0"], "c1": row["c1"], "c4": fmt.text(row["c2"]), "c5": readable_on(fill)})
    widest = max(text_width(row["c4"], LABEL_PX) for row in written)
    if widest > room[0] or room[1] < LABEL_PX:
        return []
    found = []
    for ink in dict.fromkeys(row["c5"] for row in written):  # a channel of colours would share the scale of the cells
        own = [{name: row[name] for name in ("c0", "c1", "c4")} for row in written if row["c5"] == ink]
        encoding = {**base, "text": {"field": "c4", "type": "nominal"}}
        mark = {"type": "text", "fontSize": LABEL_PX - 1, "color": ink}
        found.append({"data": {"values": own}, "mark": mark, "encoding": encoding})
    return found


def _calendar(view: ChartView) -> Drawing:
    """Draw a square a day in weeks, or for other steps a row a month or day."""
    table = view.table
    axis = next((name for name in table.names if table.is_temporal(name)), None)
    if axis is None:
        raise CannotDrawError("the answer has no column of time.")
    metric = metric_column(view, table, "metrics", "metric")
    days: dict[datetime, float] = {}
    for ms, value in zip(table.moments(axis), table.numbers(metric), strict=True):
        when = cells.moment(ms) if ms is not None else None
        if when is not None and value is not None:
            day = when.replace(hour=0, minute=0, second=0, microsecond=0)
            days[day] = cells.total((days.get(day, 0), value))
    if not days:
        raise CannotDrawError(f"{table.label(metric)} has no values.")
    weeks = (max(days) - min(days)).days // 7 + 2
    notes = []
    if str(view.form.get("subdomain_granularity")) in ("hour", "min"):
        notes.append("Values within a day are added up.")
    most = max(8, int((view.size.width_px - 70) / 5))
    if weeks > most:
        last = max(days)
        recent = {day: value for day, value in days.items() if (last - day).days < (most - 2) * 7}
        notes.append(f"Shows the last {len(recent):,} of {len(days):,} days.")
        days = recent
    fmt = view.number_format("y_axis_format")
    canvas = Canvas(view, notes)
    _weeks(canvas, days, fmt)
    best = max(days, key=lambda day: days[day])
    summary = f"Calendar of {table.label(metric)}: {counted(len(days), 'day')} "
    summary += f"from {min(days):%Y-%m-%d} to {max(days):%Y-%m-%d}. "
    summary += f"Values from {fmt.text(min(days.values()))} to {fmt.text(days[best])}; "
    return canvas.drawing(f"{summary}the largest is on {best:%Y-%m-%d}")


def _weeks(canvas: Canvas, days: dict[datetime, float], fmt: NumberFormat) -> None:
    first, last = min(days), max(days)
    start = first - first.weekday() * _DAY
    weeks = (last - start).days // 7 + 1
    size = max(min((canvas.room.width - 34) / weeks, (canvas.room.height - 50) / 7, 26), 3)
    left, top = canvas.room.x + 34, canvas.room.y + 18 + max((canvas.room.height - 50 - 7 * size) / 2, 0) * 0.4
    low, high = min(days.values()), max(days.values())
    ramp = heat_colours(canvas.colours, canvas.form.text("linear_color_scheme"))
    gap = 1 if size > 6 else 0.5
    day = start
    while day <= last:
        column, row = (day - start).days // 7, day.weekday()
        box = Box(x=left + column * size, y=top + row * size, width=size - gap, height=size - gap)
        value = days.get(day)
        fill = canvas.colours.stripe
        if value is not None:
            fill = ramp_colour(ramp, 0.15 + 0.85 * ((value - low) / (high - low) if high > low else 0.5))
        if day >= first:
            canvas.rect(box, fill, tip=f"{day:%Y-%m-%d}: {fmt.text(value) or 'no value'}")
        day += _DAY
    for row, name in enumerate(("Mon", "", "Wed", "", "Fri", "", "Sun")):
        if size >= 9:
            canvas.text(name, left - 6, top + (row + 0.5) * size, canvas.colours.muted, align="right", px=LABEL_PX - 1)
    _months(canvas, start, last, (left, top), size)
    _scale(canvas, Box(x=left, y=top + 7 * size + 14, width=120, height=10), ramp, (low, high), fmt)


def _months(canvas: Canvas, start: datetime, last: datetime, corner: tuple[float, float], size: float) -> None:
    month = datetime(start.year, start.month, 1, tzinfo=UTC)
    free = corner[0]
    while month <= last:
        x = corner[0] + max((month - start).days, 0) / 7 * size
        words = f"{month:%b %Y}" if month.month == 1 or free == corner[0] else f"{month:%b}"
        if (x >= free and month >= start) or free == corner[0]:
            canvas.text(words, x, corner[1] - 8, canvas.colours.muted, px=LABEL_PX - 1)
            free = x + text_width(words, LABEL_PX - 1) + 10
        month = datetime(month.year + month.month // 12, month.month % 12 + 1, 1, tzinfo=UTC)


def _scale(canvas: Canvas, box: Box, ramp: Sequence[str], ends: tuple[float, float], fmt: NumberFormat) -> None:
    steps = 12
    for step in range(steps):
        part = Box(x=box.x + step * box.width / steps, y=box.y, width=box.width / steps + 0.5, height=box.height)
        canvas.rect(part, ramp_colour(ramp, 0.15 + 0.85 * step / (steps - 1)))
    canvas.text(fmt.text(ends[0]), box.x, box.bottom + 8, canvas.colours.muted, px=LABEL_PX - 1)
    canvas.text(fmt.text(ends[1]), box.right, box.bottom + 8, canvas.colours.muted, px=LABEL_PX - 1, align="right")


KINDS: Final = (
    PictureKind(name="heatmap_v2", noun="heatmap", draw=_heatmap),
    PictureKind(name="cal_heatmap", noun="calendar", draw=_calendar),
)
