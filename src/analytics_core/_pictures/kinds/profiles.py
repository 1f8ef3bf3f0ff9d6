"""Many measures side by side: parallel coordinates, horizons and roses over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from analytics_core._pictures.canvas import Box, Canvas
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.legends import draw_legend
from analytics_core._pictures.parts_data import below_zero
from analytics_core._pictures.series_data import AxisKind, SeriesData, limited, read_series
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX, heat_colours, mixed, ramp_colour
from analytics_core._pictures.time_formats import moment_text
from analytics_core._tools.display.blocks import counted

_MOST_LINES: Final = 500
_MOST_ROWS: Final = 40
_MOST_PETALS: Final = 60
_BANDS: Final = 3


def _parallel(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    form_names = [name for name in form.metrics("metrics", "secondary_metric") if name in table.names]
    metrics = form_names or [name for name in table.names if table.is_numeric(name)]
    if len(metrics) < 2:
        raise CannotDrawError("parallel coordinates need two metrics or more.")
    columns = [table.numbers(name) for name in metrics]
    ends = [_ends([value for value in column if value is not None] or [0.0]) for column in columns]
    count = min(table.rows, _MOST_LINES)
    notes = [f"Shows the first {count} of {table.rows:,} lines."] if count < table.rows else []
    fmt = view.number_format("number_format", "y_axis_format")
    canvas = Canvas(view, notes)
    plot = canvas.room.inset(40, 34, 40, 18)
    xs = [plot.x + plot.width * place / (len(metrics) - 1) for place in range(len(metrics))]
    ramp = heat_colours(view.colours, form.text("linear_color_scheme"))
    for row in range(count):
        points = [
            (x, _height(plot, column[row], span))
            for x, column, span in zip(xs, columns, ends, strict=True)
            if column[row] is not None
        ]
        share = _place(columns[0][row], ends[0])
        if len(points) > 1:
            canvas.line(points, ramp_colour(ramp, 0.25 + 0.75 * share), width=1.5 if count <= 60 else 1)
    for x, name, (low, high) in zip(xs, metrics, ends, strict=True):
        canvas.line([(x, plot.y), (x, plot.bottom)], view.colours.muted)
        width = plot.width / (len(metrics) - 1)
        header = fitted(table.label(name), width - 8, LABEL_PX, bold=True)
        header_x = min(
            max(x, canvas.room.x + text_width(header, LABEL_PX, bold=True) / 2),
            canvas.room.right - text_width(header, LABEL_PX, bold=True) / 2,
        )
        canvas.text(header, header_x, plot.y - 22, view.colours.text, align="center", weight="bold")
        canvas.text(fmt.text(high), x, plot.y - 7, view.colours.muted, align="center", px=LABEL_PX - 1)
        canvas.text(fmt.text(low), x, plot.bottom + 9, view.colours.muted, align="center", px=LABEL_PX - 1)
    labels = ", ".join(table.label(name) for name in metrics)
    return canvas.drawing(f"Parallel coordinates of {labels} for {counted(table.rows, 'row')}")


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _place(value: float | None, ends: tuple[float, float]) -> float:
    low, high = ends
    return ((value or 0.0) - low) / (high - low) if high > low and value is not None else 0.5


def _height(plot: Box, value: float | None, ends: tuple[float, float]) -> float:
    return plot.bottom - plot.height * _place(value, ends)


def _horizon(view: ChartView) -> Drawing:
    table = view.table
    has_time = any(table.is_temporal(name) for name in table.names)
    if not has_time:
        raise CannotDrawError("the answer has no column of time, and so no series.")
    data = limited(read_series(table, view.form, is_bar=False), averages=True)
    if data.kind is AxisKind.CATEGORY:
        raise CannotDrawError("its axis has categories, and no time.")
    series = data.series[:_MOST_ROWS]
    notes = list(data.notes)
    if len(series) < len(data.series):
        notes.append(f"Shows {len(series)} of {len(data.series)} series.")
    canvas = Canvas(view, notes)
    label_px = min(max(text_width(one.label, LABEL_PX) for one in series) + 8, canvas.room.width * 0.3)
    plot = canvas.room.inset(left=label_px, bottom=18)
    row_px = min(plot.height / len(series), 60)
    all_values = [abs(value) for one in series for value in one.known()]
    by_series = view.form.get("horizon_color_scale") != "overall"
    for place, one in enumerate(series):
        box = Box(x=plot.x, y=plot.y + place * row_px, width=plot.width, height=row_px - 2)
        top = max((abs(value) for value in (one.known() if by_series else all_values)), default=1.0) or 1.0
        canvas.rect(box, view.colours.stripe)
        _bands(canvas, box, data.places, one.values, top)
        canvas.text(fitted(one.label, label_px - 6, LABEL_PX), canvas.room.x, box.y + box.height / 2, view.colours.text)
    bottom = plot.y + len(series) * row_px + 8
    if data.kind is AxisKind.TIME:
        canvas.text(moment_text(data.places[0], ""), plot.x, bottom, view.colours.muted, px=LABEL_PX - 1)
        canvas.text(
            moment_text(data.places[-1], ""), plot.right, bottom, view.colours.muted, px=LABEL_PX - 1, align="right"
        )
    return canvas.drawing(f"Horizon chart of {len(series)} series: {', '.join(one.label for one in series[:8])}")


def _bands(canvas: Canvas, box: Box, places: Sequence[float], values: Sequence[float | None], top: float) -> None:
    first, last = places[0], places[-1]
    band = top / _BANDS
    for sign, colour in ((1, canvas.colours.accent), (-1, canvas.colours.bad)):
        for level in range(_BANDS):
            heights = [min(max(sign * (value or 0.0) - level * band, 0.0), band) / band for value in values]
            if not any(heights):
                continue
            points = [
                (
                    box.x + box.width * ((place - first) / (last - first) if last > first else 0.5),
                    box.bottom - height * box.height,
                )
                for place, height in zip(places, heights, strict=True)
            ]
            outline = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
            fill = mixed(canvas.colours.background, colour, (level + 1) / _BANDS)
            canvas.shape(f"M{points[0][0]:.1f},{box.bottom:.1f}L{outline}L{points[-1][0]:.1f},{box.bottom:.1f}Z", fill)


def _rose(view: ChartView) -> Drawing:
    """Draw a petal a moment: its rings are the series, its area (or its radius) is their value."""
    form = view.form
    data = limited(read_series(view.table, form, is_bar=False), averages=False)
    count = min(len(data.places), _MOST_PETALS)
    notes = [*data.notes]
    if count < len(data.places):
        notes.append(f"Shows the first {count} of {len(data.places):,} values of {data.axis}.")
    drawn = [value for one in data.series for value in one.values[:count]]
    notes += below_zero(drawn, "not drawn")
    by_area = not form.flag("rose_area_proportion", absent=False)
    canvas = Canvas(view, notes)
    labels = [one.label for one in data.series]
    colours = view.series_colours(labels)
    if len(labels) > 1:
        draw_legend(canvas, zip(labels, colours, strict=True))
    _petals(canvas, data, colours, count, by_area=by_area)
    summary = f"Rose of {len(labels)} series ({', '.join(labels[:5])}) over {counted(count, 'value')} of {data.axis}"
    return canvas.drawing(summary)


def _petals(canvas: Canvas, data: SeriesData, colours: Sequence[str], count: int, *, by_area: bool) -> None:
    sums = [math.fsum(max(one.values[place] or 0.0, 0.0) for one in data.series) for place in range(count)]
    largest = max(sums, default=0.0)
    if largest <= 0:
        raise CannotDrawError("there is no value above zero.")
    radius = max(min(canvas.room.width, canvas.room.height) / 2 - 20, 10)
    centre = (canvas.room.x + canvas.room.width / 2, canvas.room.y + canvas.room.height / 2)
    turn = 2 * math.pi / count
    spec = canvas.view.time_format("date_time_format", "x_axis_time_format")
    grain = canvas.form.text("time_grain_sqla")
    for place in range(count):
        at, reached = 0.0, 0.0
        for one, colour in zip(data.series, colours, strict=True):
            at += max(one.values[place] or 0.0, 0.0)
            share = at / largest
            reach = radius * (math.sqrt(share) if by_area else share)
            angles = (place * turn, (place + 1) * turn)
            canvas.arc(centre, (reached, reach), angles, colour, stroke=canvas.colours.background)
            reached = reach
    shows = max(1, math.ceil(count / max(int(2 * math.pi * radius / 60), 1)))
    for place in range(0, count, shows):
        angle = (place + 0.5) * turn
        x, y = centre[0] + (radius + 10) * math.sin(angle), centre[1] - (radius + 10) * math.cos(angle)
        align = "center" if abs(math.sin(angle)) < 0.2 else "left" if math.sin(angle) > 0 else "right"
        value = data.places[place]
        words = moment_text(value, spec, grain=grain) if data.kind is AxisKind.TIME else str(value)
        canvas.text(fitted(words, 90, LABEL_PX), x, y, canvas.colours.muted, align=align, px=LABEL_PX - 1)


KINDS: Final = (
    PictureKind(name="para", noun="parallel coordinates", draw=_parallel),
    PictureKind(name="horizon", noun="horizon chart", draw=_horizon),
    PictureKind(name="rose", noun="rose", draw=_rose),
)
