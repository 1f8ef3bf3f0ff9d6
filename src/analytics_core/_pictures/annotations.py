"""Annotation layers over charts of series: events, intervals, other series and formulas."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.data import PictureData
from analytics_core._pictures.drawing import ChartView
from analytics_core._pictures.formulas import FormulaError, parse_formula
from analytics_core._pictures.series_data import AxisKind, SeriesData
from analytics_core._pictures.table import Table
from analytics_core._pictures.text_metrics import fitted
from analytics_core._pictures.theme import LABEL_PX, is_colour

_DASHES: Final[Mapping[str, list[int]]] = {"dashed": [6, 4], "dotted": [2, 3], "longDashed": [10, 5]}
_OPACITIES: Final[Mapping[str, float]] = {"opacityLow": 0.2, "opacityMedium": 0.5, "opacityHigh": 0.8}
_MOST_MARKS: Final = 100
_MOST_LINES: Final = 5
_MOST_POINTS: Final = 500
_LABEL_PX: Final = 130.0


def annotation_layers(
    view: ChartView, table: Table, data: SeriesData, place: Mapping[str, Any], value: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the layers that the form's annotations add, and notes of those that cannot be drawn.

    Args:
        view: the chart.
        table: the answer that holds the annotations' data.
        data: the series under them.
        place: the channel of places, without a field.
        value: the channel of values, without a field.
    """
    layers: list[dict[str, Any]] = []
    notes: list[str] = []
    for config in view.form.items("annotation_layers"):
        if not isinstance(config, Mapping) or config.get("show") is False:
            continue
        name = cells.shortened(str(config.get("name") or "annotation"), 60)
        if data.kind is AxisKind.CATEGORY:
            notes.append(f"The annotations {name} are not drawn on an axis of categories.")
            continue
        draw = _Annotation(view, data, config, name=name, place=place, value=value)
        kind = str(config.get("annotationType"))
        if kind == "FORMULA":
            layers += draw.formula(notes)
        else:
            layers += draw.records(kind, _table(table.data.annotations.get(str(config.get("name")))), notes)
    return layers, notes


def _table(source: Any) -> Table | None:
    """Return the data of a layer as a table: an object of columns and records, its JSON, or a record of a result."""
    if isinstance(source, str):
        try:
            source = json.loads(source)
        except (ValueError, RecursionError):
            return None
    records = source.get("records") if isinstance(source, Mapping) else getattr(source, "records", None)
    if not isinstance(records, list | tuple):
        return None
    rows = [record for record in records if isinstance(record, Mapping)]
    names = dict.fromkeys(str(name) for row in rows for name in row)
    return Table(PictureData(columns={name: [row.get(name) for row in rows] for name in names}))


class _Annotation:
    """Makes the layers of one annotation layer of the form."""

    def __init__(
        self,
        view: ChartView,
        data: SeriesData,
        config: Mapping[str, Any],
        *,
        name: str,
        place: Mapping[str, Any],
        value: Mapping[str, Any],
    ) -> None:
        self.view, self.data, self.config, self.name = view, data, config, name
        self.place, self.value = place, value
        colour = config.get("color")
        self.colour = str(colour) if is_colour(colour) else view.colours.muted

    def _line(self, kind: str, **further: Any) -> dict[str, Any]:
        width = cells.number(self.config.get("width"))
        mark: dict[str, Any] = {"type": kind, "color": self.colour, "strokeWidth": min(max(width or 1, 0.5), 10)}
        if dash := _DASHES.get(str(self.config.get("style"))):
            mark["strokeDash"] = dash
        mark["opacity"] = _OPACITIES.get(str(self.config.get("opacity")), 1.0)
        return mark | further

    def formula(self, notes: list[str]) -> list[dict[str, Any]]:
        """Return the line of a formula."""
        try:
            compute = parse_formula(str(self.config.get("value") or ""))
        except FormulaError as error:
            notes.append(f"The formula {self.name} is not drawn: {error}.")
            return []
        step = -(-len(self.data.places) // _MOST_POINTS)
        places = self.data.places[::step]
        return self._series(self.name, [(place, compute(float(place))) for place in places])

    def records(self, kind: str, table: Table | None, notes: list[str]) -> list[dict[str, Any]]:
        """Return the layers of stored annotations or of another chart's answer."""
        if table is None or not table.rows:
            return []
        start = self._column(table, "timeColumn", ("start_dttm", "__timestamp"))
        if start is None:
            notes.append(f"The annotations {self.name} have no column of time.")
            return []
        if kind == "TIME_SERIES":
            return self._lines(table, start)
        end = self._column(table, "intervalEndColumn", ("end_dttm",)) if kind == "INTERVAL" else None
        title = self._column(table, "titleColumn", ("short_descr", "title"))
        texts = table.texts(title) if title else [""] * table.rows
        ends = self._places(table, end) if end else [None] * table.rows
        rows: list[dict[str, Any]] = [
            {"c0": begin, "c1": stop if stop is not None else begin, "c2": fitted(text, _LABEL_PX, LABEL_PX)}
            for begin, stop, text in zip(self._places(table, start), ends, texts, strict=True)
            if begin is not None
        ]
        inside = [row for row in rows if self._is_inside(row["c0"], row["c1"])][:_MOST_MARKS]
        if len(inside) < len(rows):
            notes.append(f"{len(rows) - len(inside):,} of {len(rows):,} annotations {self.name} lie outside the chart.")
        return self._spans(inside) if end else self._events(inside)

    def _column(self, table: Table, field: str, names: Sequence[str]) -> str | None:
        column = self.config.get(field)
        return next((name for name in (column, *names) if isinstance(name, str) and name in table.names), None)

    def _places(self, table: Table, name: str) -> Sequence[float | None]:
        return table.moments(name) if self.data.kind is AxisKind.TIME else table.numbers(name)

    def _is_inside(self, begin: float, end: float) -> bool:
        first, last = self.data.places[0], self.data.places[-1]
        return bool(end >= first and begin <= last)

    def _events(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not rows:
            return []
        at = {"x": {"field": "c0", **self.place}}
        return [{"data": {"values": rows}, "mark": self._line("rule"), "encoding": at}, *self._labels(rows, at)]

    def _spans(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not rows:
            return []
        first, last = self.data.places[0], self.data.places[-1]
        for row in rows:
            row["c0"], row["c1"] = max(row["c0"], first), min(row["c1"], last)
        at = {"x": {"field": "c0", **self.place}, "x2": {"field": "c1"}}
        opacity = _OPACITIES.get(str(self.config.get("opacity")), 0.2)
        mark = {"type": "rect", "color": self.colour, "opacity": min(opacity, 0.5)}
        return [{"data": {"values": rows}, "mark": mark, "encoding": at}, *self._labels(rows, {"x": at["x"]})]

    def _labels(self, rows: list[dict[str, Any]], at: dict[str, Any]) -> list[dict[str, Any]]:
        if self.config.get("showLabel") is False or len(rows) > 20:
            return []
        labelled = [row for row in rows if row["c2"]]
        mark = {"type": "text", "align": "right", "baseline": "bottom", "angle": -90, "dx": -4, "dy": -2}
        mark |= {"color": self.view.colours.muted, "fontSize": LABEL_PX - 1}
        encoding = {**at, "y": {"value": 0}, "text": {"field": "c2", "type": "nominal"}}
        return [{"data": {"values": labelled}, "mark": mark, "encoding": encoding}] if labelled else []

    def _lines(self, table: Table, start: str) -> list[dict[str, Any]]:
        places = self._places(table, start)
        found = []
        for name in [one for one in table.names if one != start and table.is_numeric(one)][:_MOST_LINES]:
            pairs = zip(places, table.numbers(name), strict=True)
            points = [(place, value) for place, value in pairs if place is not None and self._is_inside(place, place)]
            found += self._series(
                f"{self.name}: {table.label(name)}", sorted(points, key=lambda point: point[0])[:_MOST_POINTS]
            )
        return found

    def _series(self, label: str, points: Sequence[tuple[float, float | None]]) -> list[dict[str, Any]]:
        least = 0.0 if self.value["scale"].get("type") == "log" else -math.inf
        rows = [{"c0": place, "c1": value if value is None or value > least else None} for place, value in points]
        known = [row for row in rows if row["c1"] is not None]
        if not known:
            return []
        encoding = {"x": {"field": "c0", **self.place}, "y": {"field": "c1", **self.value}}
        mark = self._line("line", clip=True) | ({"point": True} if self.config.get("showMarkers") is True else {})
        ends = self.value["scale"].get("domainMin", -math.inf), self.value["scale"].get("domainMax", math.inf)
        inside = [row for row in known if ends[0] <= row["c1"] <= ends[1]]
        words = [{**row, "c2": fitted(label, _LABEL_PX, LABEL_PX)} for row in inside[-1:]]
        text = {"type": "text", "align": "right", "baseline": "bottom", "dy": -4, "color": self.colour}
        spoken = {**encoding, "text": {"field": "c2", "type": "nominal"}}
        return [
            {"data": {"values": rows}, "mark": mark, "encoding": encoding},
            {"data": {"values": words}, "mark": text, "encoding": spoken},
        ]
