"""Big numbers: a total, the last value of a trend, and a value beside the one of another period."""

from __future__ import annotations

from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import Canvas
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.table import Table
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.time_formats import moment_text
from analytics_core._tools.display.blocks import NULL

_LARGEST_PX: Final = 120.0
_NULL_PX: Final = 28.0
_TREND_POINTS: Final = 1_000


def _total(view: ChartView) -> Drawing:
    table = view.table
    name = _metric(view, table)
    value = table.values(name)[0] if table.rows else None
    text = _value_text(view, value)
    below = _subtitle(view) or table.label(name)
    canvas = Canvas(view)
    _headline(canvas, text, [(below, view.colours.muted)])
    return canvas.drawing(f"Big number: {table.label(name)} is {text}")


def _with_trend(view: ChartView) -> Drawing:
    table = view.table
    name = _metric(view, table)
    axis = next((one for one in table.names if one != name and table.is_temporal(one)), None)
    if axis is None:
        return _total(view)
    pairs = zip(table.moments(axis), table.numbers(name), strict=True)
    points = sorted([(ms, value) for ms, value in pairs if ms is not None], key=lambda point: point[0])
    known = [(ms, value) for ms, value in points if value is not None]
    if not known:
        return _total(view)
    text = _value_text(view, _aggregated(view, [value for _, value in known]))
    grain = view.form.text("time_grain_sqla")
    last = moment_text(known[-1][0], view.time_format("time_format"), grain=grain)
    is_last = str(view.form.get("aggregation") or "LAST_VALUE").upper() == "LAST_VALUE"
    summary = _subtitle(view) or (f"{table.label(name)}, {last}" if is_last else table.label(name))
    below = [(summary, view.colours.muted), *_comparison(view, [value for _, value in points])]
    if view.form.flag("show_timestamp"):
        below.append((last, view.colours.muted))
    canvas = Canvas(view)
    if view.form.flag("show_trend_line", absent=True) and len(known) > 1:
        _trend(canvas, known, grain)
    _headline(canvas, text, below)
    summary = f"Big number with a trend: {table.label(name)} is {text} ({last})"
    return canvas.drawing(f"{summary}. {_range(view, [value for _, value in known])}")


def _subtitle(view: ChartView) -> str:
    return cells.shortened(view.form.text("subtitle") or view.form.text("subheader") or "")


def _metric(view: ChartView, table: Table) -> str:
    for name in view.form.metrics("metric", "metrics"):
        if name in table.names:
            return name
    found = [name for name in table.names if table.is_numeric(name)] or list(table.names)
    if not found:
        raise CannotDrawError("the answer has no columns.")
    return found[-1]


def _value_text(view: ChartView, value: Any) -> str:
    read = cells.number(value) if not isinstance(value, str | bool) else None
    if read is not None:
        return view.number_format("y_axis_format", "number_format").text(read)
    when = cells.moment_ms(value) if hasattr(value, "isoformat") else None
    return moment_text(when, view.time_format("time_format")) if when is not None else cells.text(value)


def _aggregated(view: ChartView, known: list[float]) -> float | None:
    """Return the number of a trend that its form asks for: the last value unless it names another."""
    aggregation = str(view.form.get("aggregation") or "LAST_VALUE").casefold()
    if aggregation == "raw" and len(view.tables) > 1 and view.tables[1].rows:
        return view.tables[1].numbers(_metric(view, view.tables[1]))[0]
    ordered = sorted(known)
    middle = len(ordered) // 2
    found = {
        "sum": cells.total(known),
        "min": ordered[0],
        "max": ordered[-1],
        "mean": cells.total(known) / len(known),
        "median": ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2,
    }
    return found.get(aggregation, known[-1])


def _comparison(view: ChartView, values: list[float | None]) -> list[tuple[str, str]]:
    """Return the change since some points before, where the form asks for it."""
    lag = view.form.number("compare_lag")
    if not lag or lag < 1 or len(values) <= lag:
        return []
    now, then = values[-1], values[-1 - int(lag)]
    if now is None or not then:
        return []
    change = (now - then) / abs(then)
    text = NumberFormat(spec="+,.1%").text(change)
    suffix = cells.shortened(view.form.text("compare_suffix") or "")
    colour = view.colours.good if change > 0 else view.colours.bad if change < 0 else view.colours.muted
    return [(f"{text} {suffix}".strip(), colour)]


def _headline(canvas: Canvas, text: str, below: list[tuple[str, str]]) -> None:
    """Draw a number as large as its room allows, and lines under it."""
    lines = [line for line in below if line[0]]
    share = min(max(canvas.form.number("header_font_size") or 0.4, 0.1), 0.7)
    wide = canvas.room.width * 0.86 / max(text_width(text, 1, bold=True), 0.1)
    largest = _NULL_PX if text == NULL else _LARGEST_PX
    px = max(min(canvas.room.height * share, wide, largest), 10)
    small = max(min(px * 0.3, 18), 11)
    height = px + len(lines) * small * 1.5
    y = canvas.room.y + (canvas.room.height - height) / 2 + px / 2
    text = fitted(text, canvas.room.width, px, bold=True)
    ink = canvas.colours.muted if text == NULL else canvas.colours.text
    canvas.text(text, canvas.room.x, y, ink, px=px, weight="bold")
    for place, (words, colour) in enumerate(lines):
        below_px = px / 2 + small * (0.9 + 1.5 * place)
        canvas.text(fitted(words, canvas.room.width, small), canvas.room.x, y + below_px, colour, px=small)


def _trend(canvas: Canvas, points: list[tuple[int, float]], grain: str | None) -> None:
    """Draw the values over time in the lower part of a canvas's room; the number has the rest."""
    step = max(1, -(-len(points) // _TREND_POINTS))
    points = [*points[:-1:step], points[-1]]
    low, high = min(value for _, value in points), max(value for _, value in points)
    if canvas.form.flag("start_y_axis_at_zero", absent=True):
        low, high = min(low, 0.0), max(high, 0.0)
    first, last = points[0][0], points[-1][0]
    labels = canvas.form.flag("show_x_axis")
    room = canvas.room.inset(top=canvas.room.height * 0.62)
    canvas.room = canvas.room.inset(bottom=canvas.room.height * 0.4)
    plot = room.inset(bottom=16 if labels else 0, right=4)
    placed = [
        (
            plot.x + plot.width * ((ms - first) / (last - first) if last > first else 0.5),
            plot.bottom - plot.height * ((value - low) / (high - low) if high > low else 0.5),
        )
        for ms, value in points
    ]
    colour = canvas.form.rgb("color_picker") or canvas.colours.accent
    outline = "L".join(f"{x:.2f},{y:.2f}" for x, y in placed)
    foot = f"{plot.bottom:.2f}"
    canvas.shape(f"M{placed[0][0]:.2f},{foot}L{outline}L{placed[-1][0]:.2f},{foot}Z", colour, opacity=0.18)
    canvas.line(placed, colour, width=2)
    canvas.circle(*placed[-1], 3.5, colour)
    if labels:
        spec = canvas.view.time_format("time_format")
        for ms, x, align in ((first, room.x, "left"), (last, room.right, "right")):
            words = moment_text(ms, spec, grain=grain)
            canvas.text(words, x, room.bottom, canvas.colours.muted, align=align, baseline="bottom")


def _range(view: ChartView, values: list[float]) -> str:
    form = view.number_format("y_axis_format")
    return f"{len(values)} values from {form.text(min(values))} to {form.text(max(values))}"


def _period_over_period(view: ChartView) -> Drawing:
    table = view.table
    name = _metric(view, table)
    now = table.numbers(name)[0]
    form = view.number_format("y_axis_format")
    text = form.text(now) if now is not None else NULL
    canvas = Canvas(view)
    others = [one for one in table.names if one.startswith(f"{name}__")]
    then = table.numbers(others[0])[0] if others else None
    below = []
    if others:
        period = table.label(others[0]).removeprefix(f"{name}__")
        below.append((f"{period}: {form.text(then) if then is not None else NULL}", view.colours.muted))
    if now is not None and then is not None:
        change = cells.total((now, -then))
        colour = view.colours.good if change > 0 else view.colours.bad if change < 0 else view.colours.muted
        share = NumberFormat(spec="+,.1%").text(change / abs(then)) if then else ""
        below.append((f"{'+' if change > 0 else ''}{form.text(change)}  {share}".strip(), colour))
    _headline(canvas, text, below)
    return canvas.drawing(f"Big number: {table.label(name)} is {text}. " + "; ".join(words for words, _ in below))


KINDS: Final = (
    PictureKind(name="big_number_total", noun="big number", draw=_total),
    PictureKind(name="big_number", noun="big number with a trend", draw=_with_trend),
    PictureKind(name="pop_kpi", noun="big number", draw=_period_over_period),
)
