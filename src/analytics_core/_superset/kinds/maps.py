"""Layers on maps (deck.gl): points, lines and areas that columns hold as coordinates, texts or geohashes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from analytics_core._records.chart_form import column_label, metric_label
from analytics_core._superset.base_query import base_query
from analytics_core._superset.chart_kind import Build, ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import Form, FormValue, distinct, is_metric

_PLACES: Final = {"latlong": ("lonCol", "latCol"), "delimited": ("lonlatCol",), "geohash": ("geohashCol",)}


def _spatial(form: Form, name: str) -> tuple[FormValue, ...]:
    """Return the columns that hold a place."""
    option = form.mapping(name)
    keys = _PLACES.get(str(option.get("type")))
    if keys is None or not all(isinstance(option.get(key), str) and option[key] for key in keys):
        form.reject(name, "must say its type (latlong, delimited or geohash) and name the columns of it")
        return ()
    return tuple(FormValue(option[key], (name,)) for key in keys)


def _add_columns(form: Form, query: QueryDraft, places: tuple[FormValue, ...], *further: str) -> None:
    own = (*query.list("columns"), *places)
    others = (column for name in (*further, "js_columns") for column in form.columns(name))
    query.put_list("columns", distinct((*own, *others, *_tooltip_columns(form)), column_label))


def _tooltip_columns(form: Form) -> list[FormValue]:
    items = (item for item in form.items("tooltip_contents"))
    names = [item.value.get("column_name") if isinstance(item.value, Mapping) else item.value for item in items]
    return [FormValue(name, ("tooltip_contents",)) for name in names if isinstance(name, str)]


def _without_nulls(query: QueryDraft, places: tuple[FormValue, ...], *origin: str, **value: Any) -> None:
    nulls = [FormValue({"col": one.value, "op": "IS NOT NULL", **value}, (*one.origin, *origin)) for one in places]
    query.put_list("filters", (*query.list("filters"), *nulls))
    query.put("is_timeseries", value=False)


def _measure(form: Form, name: str) -> tuple[FormValue, ...]:
    """Return the metric of a field that holds a fixed number or a metric."""
    option = form.get(name)
    if isinstance(option, Mapping) and "type" in option:
        option = option.get("value") if option["type"] == "metric" else None
    return (FormValue(option, (name,)),) if option is not None and is_metric(option) and not _is_number(option) else ()


def _is_number(option: Any) -> bool:
    return isinstance(option, str) and option.replace(".", "", 1).isdigit()


def _arc(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    places = (*_spatial(form, "start_spatial"), *_spatial(form, "end_spatial"))
    _add_columns(form, query, places, "dimension")
    _without_nulls(query, places, val=None)
    query.put("is_timeseries", bool(form.get("time_grain_sqla")), "time_grain_sqla")
    return [query]


def _scatter(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    places = _spatial(form, "spatial")
    radius = _measure(form, "point_radius_fixed")
    query.put_list("metrics", distinct((*query.list("metrics"), *radius), metric_label))
    _add_columns(form, query, places, "dimension")
    _without_nulls(query, places, val=None)
    if radius:
        query.put_list("orderby", (FormValue([metric_label(one.value), False], one.origin) for one in radius))
    return [query]


def _weighted(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    places = _spatial(form, "spatial")
    sizes = form.metrics("size")[:1]
    query.put_list("metrics", sizes)
    _add_columns(form, query, places)
    _without_nulls(query, places, val=None)
    if sizes:
        query.put_list("orderby", (FormValue([one.value, False], one.origin) for one in sizes))
    return [query]


def _polygon(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    lines = _line(form, "line_column")
    metrics = form.metrics("metric")[:1]
    query.put_list("metrics", (*metrics, *_measure(form, "point_radius_fixed")))
    _add_columns(form, query, lines, "cross_filter_column")
    labels = tuple(FormValue(metric_label(one.value), one.origin) for one in metrics)
    _without_nulls(query, (*lines, *labels) if form.flag("filter_nulls") else (), "filter_nulls")
    return [query]


def _path(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    lines = _line(form, "line_column")
    further = (*_measure(form, "line_width"), *form.metrics("breakpoint_metric"))
    query.put_list("metrics", distinct((*query.list("metrics"), *further), metric_label))
    _add_columns(form, query, lines, "dimension")
    _without_nulls(query, lines)
    query.put("is_timeseries", bool(form.get("time_grain_sqla")), "time_grain_sqla")
    return [query]


def _geojson(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    shapes = _line(form, "geojson")
    query.put_list("metrics", ())
    _add_columns(form, query, shapes, "cross_filter_column")
    _without_nulls(query, shapes if form.flag("filter_nulls") else (), "filter_nulls")
    return [query]


def _line(form: Form, name: str) -> tuple[FormValue, ...]:
    columns = form.columns(name)[:1]
    if not columns:
        form.reject(name, "must name the column that holds the shapes")
    return columns


def _no_query(form: Form) -> list[QueryDraft]:
    del form
    return []


_DEFAULTS: Final = {"row_limit": 10_000, "filter_nulls": True}
_LAYERS: Final[Mapping[str, Build]] = {
    "deck_scatter": _scatter,
    "deck_path": _path,
    "deck_geojson": _geojson,
    **dict.fromkeys(("deck_grid", "deck_hex", "deck_screengrid", "deck_heatmap", "deck_contour"), _weighted),
}

KINDS: Final = (
    ChartKind(name="deck_arc", build=_arc, defaults=_DEFAULTS, is_compared=True),
    ChartKind(name="deck_polygon", build=_polygon, defaults=_DEFAULTS, is_compared=True),
    *(ChartKind(name=name, build=build, defaults=_DEFAULTS, is_checked=True) for name, build in _LAYERS.items()),
    ChartKind(
        name="deck_multi",
        build=_no_query,
        note="its queries are those of the charts that are its layers",
        is_checked=True,
    ),
)
