"""The Vega-Lite specification of a chart: by its kind, form and columns, or of why there is nothing to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import Canvas, note_lines
from analytics_core._pictures.data import PictureData, Size, Theme
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.form_fields import FormFields
from analytics_core._pictures.kinds import (
    clouds,
    distributions,
    flows,
    gauges,
    grids,
    hierarchies,
    maps,
    mixed,
    numbers,
    parts,
    pivots,
    points,
    profiles,
    series,
    spans,
    tables,
    trees,
)
from analytics_core._pictures.table import Table
from analytics_core._pictures.text_metrics import fitted, text_width, wrapped
from analytics_core._pictures.theme import NOTE_PX, TITLE_PX, colours_of, config_of
from analytics_core._records.chart_form import OLD_CHART_KINDS

VEGA_LITE_VERSION: Final = "5.21"
"""The version that pictures are written for and rendered with; notebooks show version 5."""

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
_DEFAULT_SIZE: Final = Size()
_LEAST_PX: Final = 60
_LARGEST_PX: Final = 4_000
_PADDING_PX: Final = 10
_HEADLINE_PX: Final = TITLE_PX + 6
_LEAST_HEADLINE_PX: Final = 10.0
_REASON_PX: Final = 16
_BOLD_WIDTH: Final = 1.1
_MODULES: Final = (
    *(numbers, series, mixed, tables, pivots, parts, hierarchies, trees, gauges, distributions, grids),
    *(clouds, flows, spans, profiles, points, maps),
)
KINDS: Final[Mapping[str, PictureKind]] = MappingProxyType(
    {kind.name: kind for module in _MODULES for kind in module.KINDS}
)
"""The kinds that are drawn; any other one is a table that says so."""


def chart_specification(
    form: Mapping[str, Any],
    data: Sequence[PictureData],
    *,
    title: str = "",
    size: Size = _DEFAULT_SIZE,
    theme: Theme = Theme.LIGHT,
) -> dict[str, Any]:
    """Return the picture of a chart as a Vega-Lite specification: plain values, its data inside.

    Its `description` tells what it shows. It names fields by names of its own (`c0`, `c1` ...), so that no label of a
    column is ever an expression, and loads nothing. An error, an empty answer and a kind that is not drawn are pictures
    that say so.

    Args:
        form: the form data of the chart; `viz_type` names its kind.
        data: the answers to the queries of the chart, in their order.
        title: the name of the chart; empty for none.
        size: the pixels of the whole picture, from 60 to 4,000 each way; a table may be as tall as its rows.
        theme: for a light or a dark canvas.

    Examples:
        >>> from analytics_core._pictures.data import PictureData
        >>> sales = PictureData(columns={"country": ["France", "Spain"], "sales": [120, 80]})
        >>> chart_specification({"viz_type": "echarts_timeseries_bar", "x_axis": "country"}, [sales])["description"]
        'Bar chart of sales by country. Values from 80 to 120; the largest is France.'
    """
    view = ChartView(
        form=FormFields(form),
        tables=tuple(Table(one) for one in data) or (Table(PictureData()),),
        size=replace(size, width_px=_clamped(size.width_px), height_px=_clamped(size.height_px)),
        colours=colours_of(theme),
        title=cells.shortened(title),
    )
    drawing = _drawing(view)
    view.form.reject_unknown_words(_kind_name(view))
    if drawing.is_canvas and not set(view.notes()) <= set(drawing.notes):
        drawing = _drawing(view)  # a canvas has the notes that are known when it is made
    return _specification(view, drawing)


def _kind_name(view: ChartView) -> str:
    name = str(view.form.get("viz_type"))
    return OLD_CHART_KINDS.get(name, name)


def _clamped(px: int) -> int:
    return max(_LEAST_PX, min(int(px), _LARGEST_PX))


def _drawing(view: ChartView) -> Drawing:
    error = next((table.data.error for table in view.tables if table.data.error is not None), None)
    if error is not None:
        return _message(view, "This chart has no answer", error)
    if not any(table.rows and table.names for table in view.tables):
        return _message(view, "No data", "The answer has no rows.")
    kind = KINDS.get(_kind_name(view))
    if kind is not None and not view.table.rows and kind.name != "mixed_timeseries":
        return _message(view, "No data", "The answer has no rows.")
    if kind is None:
        kind_text = cells.shortened(str(view.form.get("viz_type")), 60)
        return tables.as_table(view, f"Charts of the kind {kind_text} are not drawn; this table shows their data.")
    try:
        return kind.draw(view)
    except CannotDrawError as reason:
        return tables.as_table(view, f"Not drawn as a {kind.noun}: {reason}")


def _message(view: ChartView, headline: str, reason: str) -> Drawing:
    """Return a picture of words."""
    canvas = Canvas(view)
    colours, room = view.colours, canvas.room
    width, centre = room.width * 0.9, room.x + room.width / 2
    text = cells.shortened(reason, 600)
    px = max(min(TITLE_PX, width / text_width(headline, 1, bold=True)), _LEAST_HEADLINE_PX)
    most = max(int(room.height // _HEADLINE_PX), 1)
    heads = wrapped(headline, width / _BOLD_WIDTH, px, most=min(most, 2))
    most = int((room.height - _HEADLINE_PX * len(heads) - 8) // _REASON_PX)
    lines = wrapped(text, width, 12, most=min(most, 5)) if most > 0 else []
    canvas.rect(room, colours.stripe, radius=4)
    y = room.y + (room.height - _HEADLINE_PX * len(heads) - _REASON_PX * len(lines)) / 2 + _HEADLINE_PX / 2
    for line in heads:
        canvas.text(line, centre, y, colours.text, px=px, align="center", weight="bold")
        y += _HEADLINE_PX
    for line in lines:
        canvas.text(line, centre, y, colours.muted, px=12, align="center")
        y += _REASON_PX
    return canvas.drawing(f"{headline}: {text}")


def _specification(view: ChartView, drawing: Drawing) -> dict[str, Any]:
    notes = view.notes(drawing.notes)
    description = cells.shortened(
        ". ".join(part.rstrip(".") for part in (view.title, drawing.description, *notes) if part) + ".", 1_500
    )
    pixels = {"autosize": "none", "padding": 0}
    fit = {"autosize": {"type": "fit", "contains": "padding"}, "padding": _PADDING_PX}
    found: dict[str, Any] = {
        "$schema": _SCHEMA,
        "description": description,
        "background": view.colours.background,
        **(pixels if drawing.is_canvas else fit),
        "width": view.size.width_px,
        "height": drawing.height_px or view.size.height_px,
        "config": config_of(view.colours) | ({} if drawing.is_canvas else _title_limits(view)),
        "layer": [dict(layer) for layer in drawing.layers],
        **drawing.further,
    }
    if not drawing.is_canvas:
        width = view.size.width_px - 2 * _PADDING_PX
        if view.title:
            found["title"] = {"text": fitted(view.title, width, TITLE_PX, bold=True)}
        if lines := note_lines(notes, width):
            found["layer"].append(_foot(lines, view))
    return found


def _title_limits(view: ChartView) -> dict[str, Any]:
    """Return how long titles of axes may be; a longer one would push the plot out of the picture."""
    return {
        "axisX": {"titleLimit": max(view.size.width_px - 80, 40)},
        "axisY": {"titleLimit": max(view.size.height_px - 110, 40)},
    }


def _foot(lines: list[str], view: ChartView) -> dict[str, Any]:
    """Return notes under the axes: the labels of a legend without symbols are what the renderer lays out there."""
    legend = {
        "orient": "bottom",
        "direction": "vertical",
        "title": None,
        "symbolOpacity": 0,
        "symbolSize": 0,
        "labelOffset": 0,
        "rowPadding": 1,
        "labelLimit": view.size.width_px,
        "labelFontSize": NOTE_PX,
        "labelColor": view.colours.muted,
        "symbolLimit": len(lines),
        "values": lines,
    }
    shape = {"field": "c0", "type": "nominal", "scale": {"domain": lines}, "legend": legend}
    return {
        "name": "notes",
        "data": {"values": [{"c0": line} for line in lines]},
        "mark": {"type": "point", "opacity": 0},
        "encoding": {"x": {"value": 0}, "y": {"value": 0}, "shape": shape},
    }
