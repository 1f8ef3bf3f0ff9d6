"""Charts of series along an axis: lines, bars, areas and points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from analytics_core._pictures import axes, cells
from analytics_core._pictures.annotations import annotation_layers
from analytics_core._pictures.drawing import ChartView, Drawing, PictureKind
from analytics_core._pictures.legends import legend_of
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.series_data import (
    MOST_POINTS,
    MOST_READABLE,
    AxisKind,
    PlottedSeries,
    SeriesData,
    limited,
    read_series,
)
from analytics_core._pictures.series_layers import Scales, SeriesStyle, axis_notes, series_layers
from analytics_core._pictures.theme import mixed
from analytics_core._pictures.time_formats import moment_text

CURVES: Final[Mapping[str, str]] = {
    "smooth": "monotone",
    "start": "step-before",
    "middle": "step",
    "end": "step-after",
}
"""How lines run between points, by the type of the series."""
_STACKS: Final[Mapping[str, str]] = {"stack": "zero", "stream": "center", "expand": "normalize"}
_COMPARED: Final = {"percentage": "change from", "difference": "difference from", "ratio": "ratio to"}
_MOST_STACKED: Final = 20
_LEAST_BAR_PX: Final = 4
_SOLID: Final = [1, 0]
_DASHED: Final = [5, 3]
_DASHED_SYMBOL: Final = 500
"""The size of the lines in a legend, so that two dashes are seen."""

_PALER: Final = 0.35


def _draw(view: ChartView, *, mark: str, noun: str, curve: str | None = None) -> Drawing:
    form = view.form
    text = form.get("seriesType")
    if mark == "any":
        mark = {"bar": "bar", "scatter": "point"}.get(str(text), "line")
    if mark in ("line", "area"):
        curve = CURVES.get(str(text), curve)
    if mark == "line" and form.flag("area"):
        mark = "area"
    data = limited_for(view, read_series(view.table, form, is_bar=mark == "bar"), mark, _stack(view, mark))
    style = _style(view, data, mark, curve)
    if style.horizontal or (data.kind is AxisKind.TIME and form.flag("xAxisForceCategorical")):
        data = as_categories(view, data)
    scales = scales_of(view, data, style, data.series)
    layers = series_layers(view, data, style, scales)
    added, notes = annotation_layers(view, view.table, data, scales.place, style.axis(view))
    text = describe(noun, data, style.format)
    return Drawing(layers=(*layers, *added), description=text, notes=(*data.notes, *axis_notes(data, style), *notes))


def limited_for(
    view: ChartView, data: SeriesData, mark: str, stack: str | None, *, most_points: int = MOST_POINTS
) -> SeriesData:
    """Return as many series and points as a chart of some marks has room for; stacks end in the sum of the others."""
    most = _MOST_STACKED if stack else MOST_READABLE
    if mark == "bar" and not stack:
        side = view.size.height_px if view.form.get("orientation") == "horizontal" else view.size.width_px
        most = min(max(int((side - 80) / max(len(data.places), 1) / _LEAST_BAR_PX), 2), most)
    return limited(
        data, averages=mark != "bar", most_series=most, most_points=most_points, has_others=stack is not None
    )


def _style(view: ChartView, data: SeriesData, mark: str, curve: str | None) -> SeriesStyle:
    form = view.form
    stack = _stack(view, mark) if len(data.series) > 1 else None
    fmt, against = _value_format(view), _against(view, data)
    title = form.text("y_axis_title") or against
    stack, log = _settled(view, data, stack)
    return SeriesStyle(
        mark=mark,
        format=fmt,
        curve=curve,
        stack=stack,
        opacity=_opacity(view, stack),
        markers=(form.number("markerSize") or 6.0) if form.flag("markerEnabled") or mark == "point" else None,
        labels=form.flag("show_value"),
        totals=form.flag("only_total", absent=True),
        horizontal=mark == "bar" and form.get("orientation") == "horizontal",
        bounds=form.bounds("y_axis_bounds", log=log),
        log=log,
        least=log_axis_start([data]) if log and mark in ("bar", "area") else None,
        breaks=bool(form.get("resample_rule")),
        zero=not form.flag("truncateYAxis"),
        title=title or (data.series[0].label if len(data.series) == 1 else None),
    )


def _settled(view: ChartView, data: SeriesData, stack: str | None) -> tuple[str | None, bool]:
    """Return how series stack, and whether their axis is logarithmic, which has no zero for stacks to begin at."""
    log = view.form.flag("logAxis")
    if stack and log:
        view.form.reject("logAxis", "is for series that do not stack")
    if stack == "center" and any(value < 0 for one in data.series for value in one.known()):
        view.form.reject("stack", "has no side for values below 0")
        stack = "zero"
    return stack, log and not stack


def log_axis_start(datas: Iterable[SeriesData]) -> float | None:
    """Return where a logarithmic axis begins on which bars stand."""
    return axes.log_floor(value for data in datas for one in data.series for value in one.known())


def _value_format(view: ChartView) -> NumberFormat:
    """Return how values are written: shares, and changes in percent, as such where the form names no format."""
    form = view.form
    if form.get("y_axis_format") in (None, "", "SMART_NUMBER"):
        if form.get("contributionMode"):
            return NumberFormat(spec=".0%")
        if form.get("comparison_type") == "percentage" and form.items("time_compare"):
            return NumberFormat(spec="+,.1~%")
    return view.number_format("y_axis_format")


def _against(view: ChartView, data: SeriesData) -> str | None:
    """Return what the values are, where they compare two times; None where they are those of one time."""
    comparison = _COMPARED.get(str(view.form.get("comparison_type")))
    periods = list(dict.fromkeys(one.period for one in data.series if one.period))
    return f"{comparison} {periods[0]}" if comparison and len(periods) == 1 else None


def _opacity(view: ChartView, stack: str | None) -> float:
    opacity = view.form.number("opacity")
    if opacity is None or not 0 <= opacity <= 1:
        return 0.7 if stack else 0.25
    return max(opacity, 0.55) if stack else opacity


def _stack(view: ChartView, mark: str) -> str | None:
    """Return how series stand on each other; older forms say it in other fields."""
    form = view.form
    option = form.get("stack") or (form.get("stacked_style") if mark == "area" else None)
    if mark not in ("bar", "area"):
        return None
    if mark == "bar" and form.flag("bar_stacked") and not option:
        option = "expand" if form.flag("contribution") else "stack"
    if option is True:
        return "zero"
    return _STACKS.get(option.casefold()) if isinstance(option, str) else None


def as_categories(view: ChartView, data: SeriesData) -> SeriesData:
    """Return series whose places are texts."""
    if data.kind is AxisKind.CATEGORY:
        return data
    spec, grain = view.time_format("x_axis_time_format"), view.form.text("time_grain_sqla")
    if data.kind is AxisKind.TIME:
        places = [moment_text(place, spec, grain=grain) for place in data.places]
    else:
        places = [f"{place:g}" for place in data.places]
    return replace(data, kind=AxisKind.CATEGORY, places=cells.made_distinct(places))


def scales_of(view: ChartView, data: SeriesData, style: SeriesStyle, series: Sequence[PlottedSeries]) -> Scales:
    """Return the scales of a chart's places and of all its series."""
    labels = [one.label for one in series]
    symbol = {"line": "stroke", "point": "circle"}.get(style.mark, "square")
    is_dashed = [bool(one.period or one.is_forecast) for one in series]
    has_dashes = any(is_dashed) and style.mark in ("line", "area")
    legend = legend_of(view, labels, symbol="stroke" if has_dashes else symbol)
    if legend and has_dashes:
        legend["symbolSize"] = _DASHED_SYMBOL
    colours = {"domain": labels, "range": colours_of_series(view, series)}
    dashes = {"domain": labels, "range": [_DASHED if dashed else _SOLID for dashed in is_dashed]}
    colour, dash = ({"type": "nominal", "scale": scale, "legend": legend} for scale in (colours, dashes))
    return Scales(place=_place(view, data, style), colour=colour, dash=dash if has_dashes else None)


def _place(view: ChartView, data: SeriesData, style: SeriesStyle) -> dict[str, Any]:
    title = view.form.text("x_axis_title")
    if data.kind is AxisKind.TIME:
        return axes.time_axis(view, data.places, view.time_format("x_axis_time_format"), title)
    if data.kind is AxisKind.NUMBER:
        fmt = view.number_format("x_axis_number_format")
        return axes.value_axis(view, fmt, title or data.axis, zero=False, grid=False)
    angle = view.form.number("xAxisLabelRotation")
    turned = None if angle is None or not angle else -abs(angle)
    return axes.category_axis(view, data.places, title, horizontal=style.horizontal, angle=turned)


def colours_of_series(view: ChartView, series: Sequence[PlottedSeries]) -> list[str]:
    """Return the colours of series; one that is compared has a paler colour of the series that it is compared with."""
    own = [one.label for one in series if one.base is None]
    found = dict(zip(own, view.series_colours(own), strict=True))
    colours = []
    for one in series:
        colour = found.get(one.base or one.label, view.colours.accent)
        colours.append(mixed(colour, view.colours.background, _PALER) if one.period and one.base else colour)
    return colours


def describe(noun: str, data: SeriesData, form: NumberFormat) -> str:
    """Return what a chart of series shows."""
    names = [one.label for one in data.series]
    subject = (
        names[0] if len(names) == 1 else f"{len(names)} series ({', '.join(names[:5])}{' …' if len(names) > 5 else ''})"
    )
    text = f"{noun.capitalize()} of {subject}" + (f" by {data.axis}" if data.axis else "")
    places = data.places
    if data.kind is not AxisKind.CATEGORY and len(places) > 1:
        ends = [_place_text(data.kind, place) for place in (places[0], places[-1])]
        text += f" from {ends[0]} to {ends[1]}"
    points = [
        (value, one.label, place)
        for one in data.series
        for place, value in zip(places, one.values, strict=True)
        if value is not None
    ]
    if not points:
        return f"{text}. All values are null"
    (low, *_), (high, label, place) = min(points, key=lambda point: point[0]), max(points, key=lambda point: point[0])
    where = _place_text(data.kind, place)
    whose = where if len(names) == 1 else f"{label}, {where}"
    return f"{text}. Values from {form.text(low)} to {form.text(high)}; the largest is {whose}"


def _place_text(kind: AxisKind, place: Any) -> str:
    if kind is AxisKind.TIME:
        return moment_text(place, "")
    return f"{place:g}" if kind is AxisKind.NUMBER else cells.shortened(str(place))


KINDS: Final = (
    PictureKind(name="echarts_timeseries_line", noun="line chart", draw=partial(_draw, mark="line", noun="line chart")),
    PictureKind(
        name="echarts_timeseries_smooth",
        noun="line chart",
        draw=partial(_draw, mark="line", curve="monotone", noun="line chart"),
    ),
    PictureKind(
        name="echarts_timeseries_step",
        noun="step chart",
        draw=partial(_draw, mark="line", noun="step chart", curve="step-before"),
    ),
    PictureKind(name="echarts_timeseries_bar", noun="bar chart", draw=partial(_draw, mark="bar", noun="bar chart")),
    PictureKind(name="echarts_area", noun="area chart", draw=partial(_draw, mark="area", noun="area chart")),
    PictureKind(
        name="echarts_timeseries_scatter", noun="scatter plot", draw=partial(_draw, mark="point", noun="scatter plot")
    ),
    PictureKind(
        name="echarts_timeseries", noun="chart of series", draw=partial(_draw, mark="any", noun="chart of series")
    ),
)
