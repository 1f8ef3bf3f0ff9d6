"""The layers that draw series: lines, bars, areas and points, with labels, forecasts and stacks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._pictures import axes, cells
from analytics_core._pictures.drawing import ChartView
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.series_data import AxisKind, PlottedSeries, SeriesData
from analytics_core._pictures.theme import LABEL_PX

_MOST_LABELS: Final = 80
_MOST_LONE: Final = 300
_MOST_BAR_SHARE: Final = 0.8
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesStyle:
    """How series are drawn.

    Args:
        mark: `line`, `bar`, `point`, or `area`.
        format: of the values.
        curve: how lines run between points, as Vega-Lite names it.
        stack: `zero`, `normalize` or `center`; None for series that stand by themselves.
        opacity: of areas.
        markers: the size of the points on a line in pixels; None for none.
        labels: whether values are written.
        totals: whether only the sums of stacks are written.
        horizontal: whether the axis of places stands upright.
        bounds: the ends of the axis of values.
        log: whether the axis of values is logarithmic.
        zero: whether the axis of values has zero.
        title: of the axis of values.
        side: the edge of the axis of values; None for the usual one.
    """

    mark: str
    format: NumberFormat
    curve: str | None = None
    stack: str | None = None
    opacity: float = 0.7
    markers: float | None = None
    labels: bool = False
    totals: bool = True
    horizontal: bool = False
    bounds: tuple[float | None, float | None] = (None, None)
    log: bool = False
    zero: bool = True
    title: str | None = None
    side: str | None = None

    @property
    def is_stacked(self) -> bool:
        """Whether series stand on each other."""
        return self.stack is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """The scales that all layers of a chart share: of places, and of the colours and dashes of series."""

    place: Mapping[str, Any]
    colour: Mapping[str, Any]
    dash: Mapping[str, Any] | None


def series_layers(view: ChartView, data: SeriesData, style: SeriesStyle, scales: Scales) -> list[dict[str, Any]]:
    """Return the layers of series."""
    draw = _Layers(view, data, style, scales)
    return [layer for layer in (draw.bands(), *draw.marks(), draw.lone(), *draw.labels()) if layer is not None]


class _Layers:
    """Makes the layers of one group of series."""

    def __init__(self, view: ChartView, data: SeriesData, style: SeriesStyle, scales: Scales) -> None:
        self.view, self.data, self.style, self.scales = view, data, style, scales
        self.places, self.values = ("y", "x") if style.horizontal else ("x", "y")
        self._offsets = _bar_offsets(data, style) if style.mark == "bar" else None
        self._rank_of = {place: rank for rank, place in enumerate(data.places)} if self._offsets else {}
        self._ends: dict[tuple[Any, bool], float] = {}

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each point."""
        found = []
        self._ends.clear()
        for rank, series in enumerate(self.data.series):
            for place, value in zip(self.data.places, series.values, strict=True):
                if value is None and self.style.mark in ("bar", "point"):
                    continue
                row = {"c0": place, "c1": series.label, "c2": self._shown(value)}
                if self._offsets is not None and value is not None:
                    start, end = self._offsets[rank]
                    row |= {"c0": place + start, "c3": place + end, "c4": place, **self._stood(place, value)}
                found.append(row)
        return found

    def _stood(self, place: Any, value: float) -> dict[str, float]:
        """Return where a bar at a moment begins and ends; stacked ones stand on those before them."""
        if not self.style.is_stacked:
            return {"c7": 1e-300 if self.style.log else 0.0, "c8": value}
        start = self._ends.get((place, value < 0), 0.0)
        self._ends[place, value < 0] = start + value
        total = self._total_at(place) if self.style.stack == "normalize" else 1.0
        return {"c7": start / total, "c8": (start + value) / total}

    def _total_at(self, place: Any) -> float:
        values = (one.values[self._rank_of[place]] for one in self.data.series)
        return math.fsum(abs(value) for value in values if value is not None) or 1.0

    def _shown(self, value: float | None) -> float | None:
        return None if value is not None and self.style.log and value <= 0 else value

    def place(self) -> dict[str, Any]:
        return {"field": "c0", **self.scales.place}

    def value(self, name: str = "c2", *, stacked: bool = True) -> dict[str, Any]:
        style = self.style
        form = NumberFormat(spec=".0%") if style.stack == "normalize" else style.format
        axis = axes.value_axis(
            self.view, form, style.title, bounds=style.bounds, log=style.log, zero=style.zero or style.mark == "bar"
        )
        if style.side is not None:
            axis["axis"] |= {"orient": style.side, "grid": style.side == "left"}
        if style.stack == "center":
            axis["axis"] |= {"labels": False, "grid": False}
        return {"field": name, **axis, "stack": style.stack if stacked else None}

    def tips(self) -> list[dict[str, Any]]:
        place: dict[str, Any] = {
            "field": "c4" if self._offsets is not None else "c0",
            "title": self.data.axis,
            "type": "nominal",
        }
        if self.data.kind is AxisKind.TIME:
            place |= {
                "type": "temporal",
                "format": "%Y-%m-%d %H:%M",
                "timeUnit": {"unit": "yearmonthdatehoursminutes", "utc": True},
            }
        return [
            {"field": "c1", "type": "nominal", "title": "series"},
            {"field": "c0", **place},
            {"field": "c2", "type": "quantitative", "title": "value"},
        ]

    def encoding(self) -> dict[str, Any]:
        found = {self.places: self.place(), self.values: self.value(), "color": {"field": "c1", **self.scales.colour}}
        if self.style.is_stacked and len(self.data.series) > 1:
            found["order"] = {"field": "c6", "type": "quantitative"}
        return found

    def marks(self) -> list[dict[str, Any]]:
        style, encoding = self.style, self.encoding()
        rows = self.rows()
        if "order" in encoding:
            ranks = {series.label: rank for rank, series in enumerate(self.data.series)}
            for row in rows:
                row["c6"] = ranks[row["c1"]]
        mark: dict[str, Any] = {"type": style.mark}
        if any(end is not None for end in style.bounds):
            mark["clip"] = True
        if style.mark == "bar":
            self._set_bar(encoding)
        elif style.mark == "point":
            mark |= {"filled": True, "size": (style.markers or 6) ** 2, "opacity": 0.8}
        else:
            mark |= {"interpolate": style.curve} if style.curve else {}
            if self.scales.dash is not None:
                encoding["strokeDash"] = {"field": "c1", **self.scales.dash}
            if style.mark == "area":
                mark |= {"opacity": style.opacity, "line": {"strokeWidth": 1.5}}
            else:
                mark["strokeWidth"] = 2
            if style.markers and len(rows) <= 2_000:
                mark["point"] = {"filled": True, "size": style.markers**2}
        return [{"data": {"values": rows}, "mark": mark, "encoding": encoding}]

    def _set_bar(self, encoding: dict[str, Any]) -> None:
        if self._offsets is not None:
            encoding[f"{self.places}2"] = {"field": "c3"}
            encoding[self.values] |= {"field": "c8", "stack": None}
            encoding[f"{self.values}2"] = {"field": "c7"}
            encoding.pop("order", None)
        elif not self.style.is_stacked and len(self.data.series) > 1:
            encoding[f"{self.places}Offset"] = self._offset()

    def _offset(self) -> dict[str, Any]:
        return {"field": "c1", "type": "nominal", "scale": {"domain": domain_of(self.data.series)}}

    def bands(self) -> dict[str, Any] | None:
        """Return the areas between the ends of forecasts."""
        rows = [
            {"c0": place, "c1": series.label, "c2": low, "c3": high}
            for series in self.data.series
            for place, low, high in zip(self.data.places, series.lower, series.upper, strict=False)
            if low is not None and high is not None
        ]
        if not rows:
            return None
        value = self.value(stacked=False)
        encoding = {self.places: self.place(), self.values: value, f"{self.values}2": {"field": "c3"}}
        encoding["color"] = {"field": "c1", **self.scales.colour}
        return {"data": {"values": rows}, "mark": {"type": "area", "opacity": 0.2}, "encoding": encoding}

    def lone(self) -> dict[str, Any] | None:
        """Return points of lines that have no neighbour, and would not be seen."""
        if self.style.mark not in ("line", "area") or self.style.markers:
            return None
        rows: list[dict[str, Any]] = []
        for series in self.data.series:
            values = [self._shown(value) for value in series.values]
            for step, (place, value) in enumerate(zip(self.data.places, values, strict=True)):
                beside = values[max(step - 1, 0) : step] + values[step + 1 : step + 2]
                if value is not None and all(other is None for other in beside):
                    rows.append({"c0": place, "c1": series.label, "c2": value})
        rows = rows[:_MOST_LONE]
        if not rows or (self.style.is_stacked and len(self.data.places) > 1):
            return None
        encoding = {self.places: self.place(), self.values: self.value(stacked=False)}
        encoding["color"] = {"field": "c1", **self.scales.colour}
        return {"data": {"values": rows}, "mark": {"type": "point", "filled": True, "size": 36}, "encoding": encoding}

    def labels(self) -> list[dict[str, Any]]:
        """Return the texts of values, where there are few enough to read."""
        if not self.style.labels:
            return []
        rows = self._totals() if self.style.is_stacked and self.style.totals else self._each_label()
        if not rows or len(rows) > _MOST_LABELS:
            return []
        stacked = self.style.is_stacked and not self.style.totals
        value = self.value(stacked=stacked)
        if stacked:
            value["bandPosition"] = 0.5
        mark: dict[str, Any] = {"type": "text", "fontSize": LABEL_PX - 1, "color": self.view.colours.text}
        if not stacked:
            mark |= {"align": "left", "dx": 4} if self.style.horizontal else {"baseline": "bottom", "dy": -3}
        encoding = {self.places: self.place(), self.values: value, "text": {"field": "c3", "type": "nominal"}}
        is_grouped = self.style.mark == "bar" and not self.style.is_stacked and len(self.data.series) > 1
        if is_grouped and self.data.kind is AxisKind.CATEGORY:
            encoding[f"{self.places}Offset"] = self._offset()
        if stacked:
            encoding["detail"] = {"field": "c1", "type": "nominal"}
            encoding["order"] = {"field": "c6", "type": "quantitative"}
        return [{"data": {"values": rows}, "mark": mark, "encoding": encoding}]

    def _totals(self) -> list[dict[str, Any]]:
        found = []
        for place, values in zip(
            self.data.places, zip(*(one.values for one in self.data.series), strict=True), strict=True
        ):
            known = [value for value in values if value is not None and value > 0]
            total = cells.total(value for value in values if value is not None)
            found.append({"c0": place, "c2": math.fsum(known), "c3": self.style.format.text(total)})
        return found

    def _each_label(self) -> list[dict[str, Any]]:
        found = []
        for rank, series in enumerate(self.data.series):
            middle = sum(self._offsets[rank]) / 2 if self._offsets is not None else None
            for place, value in zip(self.data.places, series.values, strict=True):
                if value is not None:
                    there = place if middle is None else place + middle
                    row = {
                        "c0": there,
                        "c1": series.label,
                        "c2": value,
                        "c3": self.style.format.text(value),
                        "c6": rank,
                    }
                    found.append(row)
        return found


def _bar_offsets(data: SeriesData, style: SeriesStyle) -> list[tuple[float, float]] | None:
    """Return where the bars of each series begin and end around a moment; None where places are categories."""
    if data.kind is AxisKind.CATEGORY:
        return None
    gaps = [after - before for before, after in zip(data.places, data.places[1:], strict=False) if after > before]
    width = (min(gaps) if gaps else _DAY_MS) * _MOST_BAR_SHARE
    if style.is_stacked or len(data.series) < 2:
        return [(-width / 2, width / 2)] * len(data.series)
    each = width / len(data.series)
    return [(-width / 2 + rank * each, -width / 2 + (rank + 1) * each) for rank in range(len(data.series))]


def domain_of(series: Sequence[PlottedSeries]) -> list[str]:
    """Return the labels of series in the order of the legend."""
    return [one.label for one in series]
