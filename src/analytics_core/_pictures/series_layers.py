"""The layers that draw series: lines, bars, areas and points, with labels, forecasts and stacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from analytics_core._pictures import axes, cells
from analytics_core._pictures.drawing import ChartView
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.series_data import AxisKind, PlottedSeries, SeriesData
from analytics_core._pictures.stacks import DOWN, UP, Ends, has_sign, seen, stacks_of
from analytics_core._pictures.theme import LABEL_PX
from analytics_core._tools.display.blocks import counted

_MOST_LABELS: Final = 80
_MOST_LONE: Final = 300
_MOST_MARKERS: Final = 2_000
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
        least: where a logarithmic axis begins; None for the smallest value.
        breaks: whether a line breaks at each missing value, rather than where all series lack one.
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
    least: float | None = None
    breaks: bool = False
    zero: bool = True
    title: str | None = None
    side: str | None = None

    @property
    def is_stacked(self) -> bool:
        """Whether series stand on each other."""
        return self.stack is not None

    def axis(self, view: ChartView) -> dict[str, Any]:
        """Return the scale and axis of the values."""
        form = NumberFormat(spec=".0%") if self.stack == "normalize" else self.format
        zero = self.zero or self.mark == "bar"
        return axes.value_axis(view, form, self.title, bounds=self.bounds, log=self.log, least=self.least, zero=zero)

    def holds(self, value: float) -> bool:
        """Tell whether a value lies on the axis."""
        low, high = self.bounds
        return (low is None or value >= low) and (high is None or value <= high)

    def clamped(self, value: float) -> float:
        """Return a value, or the nearest that lies on the axis."""
        low, high = self.bounds
        value = value if low is None else max(value, low)
        return value if high is None else min(value, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scales:
    """The scales that all layers of a chart share: of places, and of the colours and dashes of series."""

    place: Mapping[str, Any]
    colour: Mapping[str, Any]
    dash: Mapping[str, Any] | None


def series_layers(view: ChartView, data: SeriesData, style: SeriesStyle, scales: Scales) -> list[dict[str, Any]]:
    """Return the layers of series."""
    draw = _Layers(view, data, style, scales)
    rows = draw.rows()
    return [layer for layer in (draw.bands(), draw.marks(rows), draw.lone(rows), *draw.labels()) if layer is not None]


def axis_notes(data: SeriesData, style: SeriesStyle) -> list[str]:
    """Return what the axis of values has no room for, as notes."""
    values = [value for one in data.series for value in one.known()]
    notes = []
    if lost := sum(value <= 0 for value in values) if style.log else 0:
        notes.append(f"Left out: {counted(lost, 'value')} not above 0, where a logarithmic axis has no place.")
    if style.stack is not None:
        own = [one.values for one in data.series]
        values = [
            end
            for sign, stacks in stacks_of(own, style.stack).items()
            for one, ends in zip(own, stacks, strict=True)
            for value, (_, end) in zip(one, ends, strict=True)
            if has_sign(value, sign)
        ]
    visible = [value for value in values if value > 0 or not style.log]
    if beyond := sum(not style.holds(value) for value in visible):
        notes.append(f"Cut at the bounds of the axis: {counted(beyond, 'value')} of {len(visible):,}.")
    return notes


class _Layers:
    """Makes the layers of one group of series."""

    def __init__(self, view: ChartView, data: SeriesData, style: SeriesStyle, scales: Scales) -> None:
        self.view, self.data, self.style, self.scales = view, data, style, scales
        self.places, self.values = ("y", "x") if style.horizontal else ("x", "y")
        self._offsets = _bar_offsets(data, style) if style.mark == "bar" else None
        own = [one.values for one in data.series]
        self._stacks = stacks_of(own, style.stack)
        self._is_empty = [all(value is None for value in column) for column in zip(*own, strict=True)]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each point."""
        if self.style.mark == "bar":
            return self._bars()
        if self.style.is_stacked:
            return self._stacked_areas()
        return [
            {"c0": place, "c1": series.label, "c2": value}
            for series in self.data.series
            for place, value in self._run(series)
            if value is not None or self.style.mark != "point"
        ]

    def _run(self, series: PlottedSeries) -> list[tuple[Any, float | None]]:
        """Return the points of a line: straight over places that other series alone have, broken by None."""
        return [
            (place, self._plottable(value))
            for place, value, is_empty in zip(self.data.places, series.values, self._is_empty, strict=True)
            if value is not None or is_empty or self.style.breaks
        ]

    def _stacked_areas(self) -> list[dict[str, Any]]:
        """Return the points of areas above zero, and of those below it; a missing value counts as nothing."""
        found = []
        for sign, stacks in self._stacks.items():
            for series, ends in zip(self.data.series, stacks, strict=True):
                columns = (self.data.places, series.values, ends, seen(series.values, sign), self._is_empty)
                for place, value, (start, end), is_seen, is_empty in zip(*columns, strict=True):
                    row = {"c0": place, "c1": series.label, "c2": value, "c7": None, "c8": None, "c9": sign}
                    found.append(row | {"c7": start, "c8": end} if is_seen and not is_empty else row)
        return found

    def _bars(self) -> list[dict[str, Any]]:
        found = []
        for rank, series in enumerate(self.data.series):
            for step, (place, value) in enumerate(zip(self.data.places, series.values, strict=True)):
                if value is None or self._plottable(value) is None:
                    continue
                row = {"c0": place, "c1": series.label, "c2": value}
                if self._offsets is not None:
                    start, end = self._offsets[rank]
                    row |= {"c0": place + start, "c3": place + end}
                if self._offsets is not None or self.style.is_stacked:
                    row["c7"], row["c8"] = self._ends(rank, step, value)
                found.append(row)
        return found

    def _ends(self, rank: int, step: int, value: float) -> Ends:
        """Return where a value begins and ends; a stacked one stands on those before it."""
        if self.style.is_stacked:
            return self._stacks[UP if has_sign(value, UP) else DOWN][rank][step]
        return self.style.least or 0.0, value

    def _plottable(self, value: float | None) -> float | None:
        return None if value is not None and self.style.log and value <= 0 else value

    def place(self) -> dict[str, Any]:
        return {"field": "c0", **self.scales.place}

    def value(self, name: str = "c2") -> dict[str, Any]:
        axis = self.style.axis(self.view)
        if self.style.side is not None:
            axis["axis"] |= {"orient": self.style.side, "grid": self.style.side == "left"}
        if self.style.stack == "center":
            axis["axis"] |= {"labels": False, "grid": False}
        return {"field": name, **axis, "stack": None}

    def encoding(self, value: str = "c2") -> dict[str, Any]:
        channels = {self.places: self.place(), self.values: self.value(value)}
        return channels | {"color": {"field": "c1", **self.scales.colour}}

    def _mark(self, kind: str, **further: Any) -> dict[str, Any]:
        clip = {"clip": True} if any(end is not None for end in self.style.bounds) else {}
        return {"type": kind, **clip, **further}

    def marks(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the lines, bars, areas or points of the rows."""
        style = self.style
        has_ends = style.is_stacked or self._offsets is not None
        encoding = self.encoding("c8" if has_ends else "c2")
        if has_ends:
            encoding[f"{self.values}2"] = {"field": "c7"}
        mark = self._mark(style.mark)
        if style.mark == "bar":
            self._set_bar(encoding)
        elif style.mark == "point":
            mark |= {"filled": True, "size": (style.markers or 6) ** 2, "opacity": 0.8}
        else:
            self._set_line(mark, encoding, len(rows))
        return {"data": {"values": rows}, "mark": mark, "encoding": encoding}

    def _set_bar(self, encoding: dict[str, Any]) -> None:
        if self._offsets is not None:
            encoding[f"{self.places}2"] = {"field": "c3"}
        elif not self.style.is_stacked and len(self.data.series) > 1:
            encoding[f"{self.places}Offset"] = self._offset()

    def _set_line(self, mark: dict[str, Any], encoding: dict[str, Any], points: int) -> None:
        style = self.style
        mark |= {"interpolate": style.curve} if style.curve else {}
        if self.scales.dash is not None:
            encoding["strokeDash"] = {"field": "c1", **self.scales.dash}
        if style.mark == "area":
            mark |= {"opacity": style.opacity, "line": {"strokeWidth": 1.5}}
        else:
            mark["strokeWidth"] = 2
        if style.is_stacked:
            encoding["detail"] = {"field": "c9", "type": "nominal"}
        if style.markers and not style.is_stacked and points <= _MOST_MARKERS:
            mark["point"] = {"filled": True, "size": style.markers**2}

    def _offset(self) -> dict[str, Any]:
        return {"field": "c1", "type": "nominal", "scale": {"domain": domain_of(self.data.series)}}

    def bands(self) -> dict[str, Any] | None:
        """Return the areas between the ends of forecasts."""
        least = axes.log_floor(value for one in self.data.series for value in one.known()) if self.style.log else None
        rows = [
            {"c0": place, "c1": series.label, "c2": low if least is None else max(low, least), "c3": high}
            for series in self.data.series
            for place, low, high in zip(self.data.places, series.lower, series.upper, strict=False)
            if low is not None and high is not None and (least is None or high > least)
        ]
        if not rows:
            return None
        encoding = self.encoding() | {f"{self.values}2": {"field": "c3"}}
        return {"data": {"values": rows}, "mark": self._mark("area", opacity=0.2), "encoding": encoding}

    def lone(self, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Return points of lines without a neighbour, which would not be seen, or all that stacks are asked to mark."""
        if self.style.mark not in ("line", "area"):
            return None
        if self.style.markers:
            return self._stacked_points(rows, self.style.markers) if self.style.is_stacked else None
        field = "c8" if self.style.is_stacked else "c2"
        found: list[dict[str, Any]] = []
        for _, run in groupby(rows, key=lambda row: (row["c1"], row.get("c9"))):
            own = list(run)
            for step, row in enumerate(own):
                beside = own[max(step - 1, 0) : step] + own[step + 1 : step + 2]
                if row[field] is not None and all(other[field] is None for other in beside):
                    found.append({"c0": row["c0"], "c1": row["c1"], "c2": row[field]})
        if not found:
            return None
        mark = self._mark("point", filled=True, size=36)
        return {"data": {"values": found[:_MOST_LONE]}, "mark": mark, "encoding": self.encoding()}

    def _stacked_points(self, rows: list[dict[str, Any]], size: float) -> dict[str, Any]:
        """Return the points of values alone: an area also has ends where its series has no value."""
        found = [row for row in rows if row["c8"] is not None and has_sign(row["c2"], row["c9"])]
        mark = self._mark("point", filled=True, opacity=1, size=size**2)
        return {"data": {"values": found[:_MOST_MARKERS]}, "mark": mark, "encoding": self.encoding("c8")}

    def labels(self) -> list[dict[str, Any]]:
        """Return the texts of values, where there are few enough to read."""
        if not self.style.labels:
            return []
        inside = self.style.is_stacked and not self.style.totals
        rows = self._totals() if self.style.is_stacked and self.style.totals else self._each_label()
        if self.style.mark == "bar" and not inside:
            rows = [row | {"c2": self.style.clamped(row["c2"])} for row in rows]
        rows = [row for row in rows if self.style.holds(row["c2"])]
        if not rows or len(rows) > _MOST_LABELS:
            return []
        mark: dict[str, Any] = {"type": "text", "fontSize": LABEL_PX - 1, "color": self.view.colours.text}
        if not inside:
            mark |= {"align": "left", "dx": 4} if self.style.horizontal else {"baseline": "bottom", "dy": -3}
        encoding = {self.places: self.place(), self.values: self.value(), "text": {"field": "c3", "type": "nominal"}}
        is_grouped = self.style.mark == "bar" and not self.style.is_stacked and len(self.data.series) > 1
        if is_grouped and self.data.kind is AxisKind.CATEGORY:
            encoding[f"{self.places}Offset"] = self._offset()
        return [{"data": {"values": rows}, "mark": mark, "encoding": encoding}]

    def _totals(self) -> list[dict[str, Any]]:
        columns = zip(*(one.values for one in self.data.series), strict=True)
        tops = self._stacks[UP][-1] if UP in self._stacks else [(0.0, 0.0)] * len(self.data.places)
        return [
            {"c0": place, "c2": top, "c3": self.style.format.text(cells.total(v for v in column if v is not None))}
            for place, column, (_, top) in zip(self.data.places, columns, tops, strict=True)
        ]

    def _each_label(self) -> list[dict[str, Any]]:
        found = []
        for rank, series in enumerate(self.data.series):
            middle = sum(self._offsets[rank]) / 2 if self._offsets is not None else None
            for step, (place, value) in enumerate(zip(self.data.places, series.values, strict=True)):
                if value is None or self._plottable(value) is None:
                    continue
                at = sum(self._ends(rank, step, value)) / 2 if self.style.is_stacked else value
                there = place if middle is None else place + middle
                found.append({"c0": there, "c1": series.label, "c2": at, "c3": self.style.format.text(value)})
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
