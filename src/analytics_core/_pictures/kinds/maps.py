"""Maps by longitude and latitude, without a map under them: points, squares of points, arcs, shapes and countries."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from analytics_core._pictures import axes, cells
from analytics_core._pictures.drawing import MOST_MARKS, CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.legends import legend_of
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import below_zero, metric_column, read_parts, text_columns, texts_of
from analytics_core._pictures.table import Table
from analytics_core._pictures.theme import heat_colours
from analytics_core._records.chart_form import metric_label
from analytics_core._tools.display.blocks import counted
from analytics_core._tools.display.text import distinct_texts

_NO_MAP: Final = "Drawn by longitude and latitude, without a map under it."
_BASE32: Final = "0123456789bcdefghjkmnpqrstuvwxyz"
_MOST_SHAPES: Final = 500
_LEAST_CORNERS: Final = 8
_MOST_BARS: Final = 40
_MOST_ARCS: Final = 1_500
_SQUARE_PX: Final = 14


def _places(view: ChartView) -> Drawing:
    """Draw points, or for the kinds that add them up squares."""
    table = view.table
    measure = next((name for name in view.form.metrics("size") if name in table.names), None) or _radius(view, table)
    found = list(_points(view, table, "spatial"))
    values = table.numbers(measure) if measure else [1.0] * table.rows
    groups = next((name for name in view.form.columns("dimension") if name in table.names), None)
    texts = texts_of(view, table, groups) if groups else [""] * table.rows
    rows = [
        {"c0": lon, "c1": lat, "c2": value, "c3": text}
        for (lon, lat), value, text in zip(found, values, texts, strict=True)
        if lon is not None and lat is not None and value is not None
    ]
    if not rows:
        raise CannotDrawError("no row has a place.")
    label = table.label(measure) if measure else None
    is_summed = view.form.get("viz_type") in _SUMMED
    return _squares(view, rows, label) if is_summed else _circles(view, rows, label, has_groups=groups is not None)


def _radius(view: ChartView, table: Table) -> str | None:
    option = view.form.mapping("point_radius_fixed")
    metric = option.get("value") if option.get("type") == "metric" else None
    label = metric_label(metric) if isinstance(metric, str | Mapping) else None
    return label if label in table.names else None


def _points(view: ChartView, table: Table, field: str) -> Iterable[tuple[float | None, float | None]]:
    """Yield longitude and latitude of each row, as the form says where they stand."""
    option = view.form.mapping(field)
    names = [option.get(key) for key in ("lonCol", "latCol")]
    if all(name in table.names for name in names):
        return zip(table.numbers(str(names[0])), table.numbers(str(names[1])), strict=True)
    for key, read in (("lonlatCol", _pair), ("geohashCol", _geohash)):
        if option.get(key) in table.names:
            swaps = bool(option.get("reverseCheckbox")) and key == "lonlatCol"
            pairs = [read(value) for value in table.values(str(option[key]))]
            return [(second, first) if swaps else (first, second) for first, second in pairs]
    raise CannotDrawError("the form names no columns of longitude and latitude that the answer has.")


def _pair(value: Any) -> tuple[float | None, float | None]:
    parts = [cells.number(part) for part in str(value).replace(";", ",").split(",")]
    return (parts[0], parts[1]) if len(parts) == 2 else (None, None)


def _geohash(value: Any) -> tuple[float | None, float | None]:
    """Return the middle of a geohash."""
    if not isinstance(value, str) or not value or len(value) > 20:
        return None, None
    ends = [[-180.0, 180.0], [-90.0, 90.0]]
    turn = 0
    for letter in value.casefold():
        digit = _BASE32.find(letter)
        if digit < 0:
            return None, None
        for bit in (16, 8, 4, 2, 1):
            middle = (ends[turn][0] + ends[turn][1]) / 2
            ends[turn][0 if digit & bit else 1] = middle
            turn = 1 - turn
    return (ends[0][0] + ends[0][1]) / 2, (ends[1][0] + ends[1][1]) / 2


def _arcs(view: ChartView) -> Drawing:
    table = view.table
    starts, ends = list(_points(view, table, "start_spatial")), list(_points(view, table, "end_spatial"))
    lines: list[dict[str, Any]] = [
        {"c0": a, "c1": b, "c2": c, "c3": d}
        for (a, b), (c, d) in zip(starts, ends, strict=True)
        if None not in (a, b, c, d)
    ]
    if not lines:
        raise CannotDrawError("no row has a start and an end.")
    notes = [_NO_MAP]
    count = len(lines)
    if count > _MOST_ARCS:
        step = -(-count // _MOST_ARCS)
        notes.append(f"Shows one of {step} arcs, of {count:,} in all.")
        lines = lines[::step]
    across, up = _earth_axes(view, [(line[x], line[y]) for line in lines for x, y in (("c0", "c1"), ("c2", "c3"))])
    encoding = {
        "x": {"field": "c0", **across},
        "y": {"field": "c1", **up},
        "x2": {"field": "c2"},
        "y2": {"field": "c3"},
    }
    picked = view.form.rgb("color_picker") or view.colours.accent
    opacity = 0.6 if len(lines) <= 100 else 0.2
    mark = {"type": "rule", "opacity": opacity, "color": picked, "strokeWidth": 1, "clip": True}
    layer = {"data": {"values": lines}, "mark": mark, "encoding": encoding}
    text = f"Map of {counted(count, 'arc')} by longitude and latitude"
    return Drawing(layers=(layer,), description=text, notes=tuple(notes))


def _shapes(view: ChartView) -> Drawing:
    """Draw polygons and paths by their corners."""
    table, form = view.table, view.form
    column = next((name for name in form.columns("line_column", "geojson") if name in table.names), None)
    if column is None:
        raise CannotDrawError("the form names no column of shapes that the answer has.")
    measure = next((name for name in form.metrics("metric", "line_width") if name in table.names), None)
    values = table.numbers(measure) if measure else [1.0] * table.rows
    swaps = form.flag("reverse_long_lat")
    outlines = [
        (_corners(shape, str(form.get("line_type") or "json")), value)
        for shape, value in zip(table.values(column), values, strict=True)
    ]
    known = [(corners, value) for corners, value in outlines if corners and value is not None]
    rows = _outlines(known[:_MOST_SHAPES], swaps=swaps)
    shapes = min(len(known), _MOST_SHAPES)
    if not rows:
        raise CannotDrawError("no row holds a shape that can be read.")
    notes = [_NO_MAP]
    if shapes < table.rows:
        notes.append(f"Shows {shapes:,} of {table.rows:,} shapes.")
    layer = _shape_layer(view, rows, table.label(measure) if measure else None)
    return Drawing(
        layers=(layer,),
        description=f"Map of {counted(shapes, 'shape')} by longitude and latitude",
        notes=tuple(notes),
    )


def _outlines(shapes: Sequence[tuple[list[tuple[float, float]], float]], *, swaps: bool) -> list[dict[str, Any]]:
    """Return the corners of shapes as rows; of shapes with very many of them some."""
    step = -(-sum(len(corners) for corners, _ in shapes) // MOST_MARKS) or 1
    rows = []
    for place, (corners, value) in enumerate(shapes):
        outline = [*corners[::step], corners[-1]] if len(corners) > _LEAST_CORNERS else corners
        for rank, (first, second) in enumerate(outline):
            lon, lat = (second, first) if swaps else (first, second)
            rows.append({"c0": lon, "c1": lat, "c2": value, "c3": place, "c4": rank})
    return rows


def _shape_layer(view: ChartView, rows: list[dict[str, Any]], measure: str | None) -> dict[str, Any]:
    across, up = _earth_axes(view, [(row["c0"], row["c1"]) for row in rows])
    encoding = {"x": {"field": "c0", **across}, "y": {"field": "c1", **up}}
    encoding |= {"detail": {"field": "c3", "type": "nominal"}, "order": {"field": "c4", "type": "quantitative"}}
    is_path = view.form.get("viz_type") == "deck_path"
    mark: dict[str, Any] = {"type": "line", "strokeWidth": 2 if is_path else 1, "color": view.colours.muted}
    if measure is not None and (colour := _heat(view, "c2", [row["c2"] for row in rows], measure)):
        encoding["color" if is_path else "fill"] = colour
        mark |= {"fillOpacity": 0.8, "strokeWidth": 2 if is_path else 0.5}
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _heat(view: ChartView, field: str, values: Sequence[float], measure: str) -> dict[str, Any] | None:
    """Return the colours of numbers with their legend; None where all are alike."""
    low, high = min(values), max(values)
    if low == high:
        return None
    ramp = list(heat_colours(view.colours, view.form.text("linear_color_scheme")))
    stops = [low + (high - low) * step / (len(ramp) - 1) for step in range(len(ramp))]
    legend = {"title": axes.axis_title(measure), **view.number_format("legend_format").axis()}
    return {"field": field, "type": "quantitative", "scale": {"domain": stops, "range": ramp}, "legend": legend}


def _corners(shape: Any, kind: str) -> list[tuple[float, float]]:
    """Return the corners of a shape: a list of pairs, or GeoJSON; a geohash is its four corners' middle."""
    if kind == "geohash":
        lon, lat = _geohash(shape)
        return [(lon, lat)] if lon is not None and lat is not None else []
    if isinstance(shape, str):
        try:
            shape = json.loads(shape)
        except (ValueError, RecursionError):
            return []
    for name in ("geometry", "coordinates"):
        if isinstance(shape, Mapping):
            shape = shape.get(name, shape)
    if isinstance(shape, Mapping):
        shape = shape.get("coordinates")
    while (
        isinstance(shape, list | tuple)
        and shape
        and isinstance(shape[0], list | tuple)
        and shape[0]
        and isinstance(shape[0][0], list | tuple)
    ):
        shape = shape[0]
    if not isinstance(shape, list | tuple):
        return []
    pairs = [
        (cells.number(one[0]), cells.number(one[1])) for one in shape if isinstance(one, list | tuple) and len(one) >= 2
    ]
    return [(lon, lat) for lon, lat in pairs if lon is not None and lat is not None]


def _earth_axes(view: ChartView, points: Sequence[tuple[float, float]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return axes on which a degree is about as long each way in the middle of the points."""
    lons, lats = [lon for lon, _ in points], [lat for _, lat in points]
    middle = (min(lats) + max(lats)) / 2
    squeeze = max(math.cos(math.radians(middle)), 0.2)
    wide, high = max((max(lons) - min(lons)) * squeeze, 1e-3), max(max(lats) - min(lats), 1e-3)
    scale = max(wide / max(view.size.width_px - 130, 50), high / max(view.size.height_px - 130, 50)) * 1.12
    form = NumberFormat(spec="~g")
    found = []
    for values, size, factor, name in (
        (lons, view.size.width_px - 130, squeeze, "Longitude"),
        (lats, view.size.height_px - 130, 1.0, "Latitude"),
    ):
        half, centre = scale * max(size, 50) / factor / 2, (min(values) + max(values)) / 2
        axis = axes.value_axis(view, form, name, zero=False)
        axis["scale"] = {"domain": [centre - half, centre + half], "nice": False, "zero": False}
        axis["axis"]["tickCount"] = 6
        found.append(axis)
    return found[0], found[1]


def _circles(view: ChartView, rows: list[dict[str, Any]], measure: str | None, *, has_groups: bool) -> Drawing:
    notes, count = [_NO_MAP, *below_zero((row["c2"] for row in rows), "drawn as the smallest circles")], len(rows)
    if count > MOST_MARKS:
        step = -(-count // MOST_MARKS)
        notes.append(f"Shows one of {step} places, of {count:,} in all.")
        rows = rows[::step]
    largest = max(0.0, *(row["c2"] for row in rows)) or 1.0
    for row in rows:
        row["c4"] = round(12 + 288 * max(row["c2"], 0.0) / largest, 1) if measure else 20
    labels = list(dict.fromkeys(row["c3"] for row in rows))
    colour: dict[str, Any] = {"value": view.form.rgb("color_picker") or view.colours.accent}
    if has_groups:
        scale = {"domain": labels, "range": view.series_colours(labels)}
        colour = {"field": "c3", "type": "nominal", "scale": scale, "legend": legend_of(view, labels, symbol="circle")}
    across, up = _earth_axes(view, [(row["c0"], row["c1"]) for row in rows])
    encoding = {"x": {"field": "c0", **across}, "y": {"field": "c1", **up}, "color": colour}
    encoding["size"] = {"field": "c4", "type": "quantitative", "scale": None, "legend": None}
    layer = {"data": {"values": rows}, "mark": {"type": "circle", "opacity": 0.5, "clip": True}, "encoding": encoding}
    text = f"Map of {counted(count, 'point')} by longitude and latitude"
    return Drawing(layers=(layer,), description=text + (f", sized by {measure}" if measure else ""), notes=tuple(notes))


def _squares(view: ChartView, rows: list[dict[str, Any]], measure: str | None) -> Drawing:
    """Draw the sums of the points in each square of a grid, which is about 14 pixels wide."""
    across, up = _earth_axes(view, [(row["c0"], row["c1"]) for row in rows])
    (left, right), (bottom, top) = across["scale"]["domain"], up["scale"]["domain"]
    wide = (right - left) / max((view.size.width_px - 130) / _SQUARE_PX, 4)
    high = (top - bottom) / max((view.size.height_px - 130) / _SQUARE_PX, 4)
    sums: dict[tuple[int, int], float] = {}
    for row in rows:
        place = int((row["c0"] - left) // wide), int((row["c1"] - bottom) // high)
        sums[place] = cells.total((sums.get(place, 0), row["c2"]))
    found = [
        {"c0": left + x * wide, "c1": bottom + y * high, "c2": left + (x + 1) * wide, "c3": bottom + (y + 1) * high}
        | {"c4": value}
        for (x, y), value in sorted(sums.items())[:MOST_MARKS]
    ]
    encoding = {
        "x": {"field": "c0", **across},
        "y": {"field": "c1", **up},
        "x2": {"field": "c2"},
        "y2": {"field": "c3"},
    }
    name = measure or "Points"
    colour = _heat(view, "c4", list(sums.values()), name)
    encoding["color"] = colour or {"value": view.colours.accent}
    mark = {"type": "rect", "stroke": view.colours.background, "strokeWidth": 0.5, "clip": True}
    layer = {"data": {"values": found}, "mark": mark, "encoding": encoding}
    fmt = view.number_format("legend_format")
    text = f"Map of {name} in {counted(len(found), 'square')} by longitude and latitude, of "
    text += f"{counted(len(rows), 'point')}; "
    text += f"from {fmt.text(min(sums.values()))} to {fmt.text(max(sums.values()))}"
    return Drawing(layers=(layer,), description=text, notes=(_NO_MAP,))


def _countries(view: ChartView) -> Drawing:
    """Draw bars in place of a map of countries or their parts."""
    table = view.table
    metric = metric_column(view, table, "metric", "metrics")
    dimensions = text_columns(view, table, "entity")
    if not dimensions or dimensions[0] == metric:
        raise CannotDrawError("the answer has no column of countries or their parts.")
    parts = read_parts(view, dimensions[:1], metric, positive=False)
    ranked = sorted(parts.parts, key=lambda part: -part.value)
    notes = [*parts.notes, "Drawn as bars: there is no map to draw on."]
    most = max(3, min(_MOST_BARS, (view.size.height_px - 90) // 16))
    if len(ranked) > most:
        notes.append(f"Shows the {most} largest of {len(ranked):,}.")
    fmt = view.number_format("number_format", "y_axis_format")
    names = distinct_texts(part.label for part in ranked[:most])
    rows = [{"c0": name, "c1": part.value} for name, part in zip(names, ranked, strict=False)]
    up = axes.category_axis(view, names, parts.dimensions[0], horizontal=True)
    across = axes.value_axis(view, fmt, parts.measure)
    across["axis"]["tickCount"] = max(2, view.size.width_px // 100)
    encoding = {"y": {"field": "c0", **up}, "x": {"field": "c1", **across}}
    mark = {"type": "bar", "color": view.form.rgb("color_picker") or view.colours.accent}
    text = f"Bar chart of {parts.measure}{parts.by}: {counted(len(ranked), 'value')}; "
    text += f"the largest is {ranked[0].label} with "
    layer = {"data": {"values": rows}, "mark": mark, "encoding": encoding}
    return Drawing(layers=(layer,), description=text + fmt.text(ranked[0].value), notes=tuple(notes))


_SUMMED: Final = frozenset({"deck_grid", "deck_hex", "deck_screengrid", "deck_heatmap", "deck_contour"})

KINDS: Final = (
    PictureKind(name="deck_scatter", noun="map of points", draw=_places),
    *(PictureKind(name=name, noun="map of squares", draw=_places) for name in sorted(_SUMMED)),
    PictureKind(name="deck_arc", noun="map of arcs", draw=_arcs),
    *(
        PictureKind(name=name, noun="map of shapes", draw=_shapes)
        for name in ("deck_polygon", "deck_path", "deck_geojson")
    ),
    PictureKind(name="world_map", noun="map of the world", draw=_countries),
    PictureKind(name="country_map", noun="map of a country", draw=_countries),
)
