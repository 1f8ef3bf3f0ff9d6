"""Two groups of series in one chart, each with a mark and an axis of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from analytics_core._pictures.annotations import annotation_layers
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.kinds.series import (
    CURVES,
    as_categories,
    describe,
    limited_for,
    log_axis_start,
    scales_of,
)
from analytics_core._pictures.series_data import MOST_POINTS, AxisKind, SeriesData, read_series
from analytics_core._pictures.series_layers import SeriesStyle, axis_notes, series_layers
from analytics_core._tools.display.text import distinct_texts

_MARKS: Final[Mapping[str, str]] = {"bar": "bar", "scatter": "point"}


def _mixed(view: ChartView) -> Drawing:
    if len(view.tables) < 2:
        raise CannotDrawError("the chart needs the answers to two queries.")
    halves = [half for half in (_half(view, place) for place in (0, 1)) if half is not None]
    if not halves:
        raise CannotDrawError("neither answer has a column of numbers.")
    datas = _with_distinct_labels([data for data, _ in halves])
    styles = _on_shared_axes(view, datas, [style for _, style in halves])
    if any(data.kind is not datas[0].kind for data in datas):
        datas = [as_categories(view, data) for data in datas]
    everything = [series for data in datas for series in data.series]
    combined = replace(datas[0], places=_all_places(datas))
    is_split = len({style.side for style in styles}) > 1
    groups: list[dict[str, Any]] = []
    for data, style in zip(datas, styles, strict=True):
        scales = scales_of(view, combined, style, everything)
        groups.append({"layer": series_layers(view, data, style, scales)})
    place = scales_of(view, combined, styles[0], everything).place
    added, notes = annotation_layers(view, view.table, combined, place, styles[0].axis(view))
    groups[0]["layer"] += added
    summary = "; ".join(describe("mixed chart", data, style.format) for data, style in zip(datas, styles, strict=True))
    limits = [note for data, style in zip(datas, styles, strict=True) for note in axis_notes(data, style)]
    notes = [*(note for data in datas for note in data.notes), *limits, *notes]
    scale = {"scale": {"y": "independent"}} if is_split else {}
    return Drawing(
        layers=tuple(groups), description=summary, notes=tuple(notes), further={"resolve": scale} if scale else {}
    )


def _half(view: ChartView, place: int) -> tuple[SeriesData, SeriesStyle] | None:
    form, end = view.form, "B" if place else ""
    suffix = "_b" if place else ""
    series_type = str(form.get(f"seriesType{end}") or "line")
    mark = _MARKS.get(series_type, "area" if form.flag(f"area{end}") else "line")
    try:
        read = read_series(view.tables[place], form, is_bar=mark == "bar", suffix=suffix)
    except CannotDrawError:
        return None
    is_stacked = form.get(f"stack{end}") not in (None, False, "") and mark in ("bar", "area")
    data = limited_for(view, read, mark, "zero" if is_stacked else None, most_points=MOST_POINTS // 2)
    is_second = form.number(f"yAxisIndex{end}") == 1
    format_name, log, _, title = _fields(is_second)
    currency = "currency_format_secondary" if is_second else "currency_format"
    opacity = form.number(f"opacity{end}")
    style = SeriesStyle(
        mark=mark,
        format=view.number_format(format_name, currency=currency),
        curve=CURVES.get(series_type),
        stack="zero" if is_stacked and len(data.series) > 1 else None,
        opacity=opacity if opacity is not None and 0 <= opacity <= 1 else 0.25,
        markers=(form.number(f"markerSize{end}") or 6.0)
        if form.flag(f"markerEnabled{end}") or mark == "point"
        else None,
        labels=form.flag(f"show_value{suffix}") or form.flag(f"show_value{end}") or form.flag(f"showValue{end}"),
        log=form.flag(log),
        breaks=bool(form.get(f"resample_rule{suffix}")),
        zero=not form.flag("truncateYAxis"),
        title=form.text(title) or (data.series[0].label if len(data.series) == 1 else None),
        side="right" if is_second else "left",
    )
    return data, style


def _on_shared_axes(view: ChartView, datas: list[SeriesData], styles: list[SeriesStyle]) -> list[SeriesStyle]:
    """Return the styles with one kind of axis, and one beginning of it, at each side."""
    found = []
    for style in styles:
        beside = [(data, other) for data, other in zip(datas, styles, strict=True) if other.side == style.side]
        _, log_field, bounds_field, _ = _fields(style.side == "right")
        log = style.log and not any(other.is_stacked for _, other in beside)
        if style.log and not log:
            view.form.reject(log_field, "is for series that do not stack")
        stands = log and any(other.mark in ("bar", "area") for _, other in beside)
        least = log_axis_start([data for data, _ in beside]) if stands else None
        found.append(replace(style, log=log, least=least, bounds=view.form.bounds(bounds_field, log=log)))
    return found


def _fields(is_second: bool) -> tuple[str, str, str, str]:
    """Return the fields of an axis: its format, whether it is logarithmic, its bounds and its title."""
    if is_second:
        return "y_axis_format_secondary", "logAxisSecondary", "y_axis_bounds_secondary", "yAxisTitleSecondary"
    return "y_axis_format", "logAxis", "y_axis_bounds", "yAxisTitle"


def _with_distinct_labels(datas: list[SeriesData]) -> list[SeriesData]:
    """Return the groups with labels of which none comes twice."""
    labels = iter(distinct_texts(one.label for data in datas for one in data.series))
    return [replace(data, series=tuple(replace(one, label=next(labels)) for one in data.series)) for data in datas]


def _all_places(datas: list[SeriesData]) -> list[Any]:
    places = list(dict.fromkeys(place for data in datas for place in data.places))
    return places if datas[0].kind is AxisKind.CATEGORY else sorted(places)


KINDS: Final = (PictureKind(name="mixed_timeseries", noun="mixed chart", draw=_mixed),)
