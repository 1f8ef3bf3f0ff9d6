"""A small form and answers for every kind of chart that is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from analytics_core._pictures.data import PictureData

Sample = tuple[dict[str, Any], tuple[PictureData, ...]]

_MONTHS: Final = [datetime(2024, month, 1, tzinfo=UTC) for month in range(1, 7)]
_GROUPS: Final = ["North", "South", "East"]
_FLOWS: Final = {"a": ["x", "x", "y"], "b": ["y", "z", "z"], "n": [5, 3, 2]}
_OVER_TIME: Final = {"month": _MONTHS, "North": [3, 5, 4, None, 8, 7], "South": [1, 2, 2, 5, 3, 4]}
_BOX: Final = {
    "region": _GROUPS,
    **{f"n__{name}": [base, base + 1, base + 2] for base, name in enumerate(("min", "q1", "median", "q3", "max"))},
    "n__mean": [2.5, 3.5, 4.5],
    "n__count": [9, 9, 9],
    "n__outliers": [[30.0], [], None],
}
_POINTS: Final = {"lon": [8.5, -0.1, 2.3, 13.4], "lat": [47.4, 51.5, 48.9, 52.5], "n": [4, 9, 7, 5]}
_SQUARE: Final = "[[8.0, 47.0], [9.0, 47.0], [9.0, 48.0], [8.0, 48.0]]"
_FEATURE: Final = (
    f'{{"type": "Feature", "properties": {{}}, "geometry": {{"type": "Polygon", "coordinates": [{_SQUARE}]}}}}'
)


def _data(columns: Mapping[str, Any], *temporal: str, **further: Any) -> PictureData:
    return PictureData(columns=columns, temporal=frozenset(temporal), **further)


def _series(**form: Any) -> Sample:
    return {"x_axis": "month", "metrics": ["North", "South"], **form}, (_data(_OVER_TIME, "month"),)


def _parts(**form: Any) -> Sample:
    columns = {"region": _GROUPS, "product": ["Tea", "Tea", "Oil"], "n": [5, 3, 2]}
    return {"groupby": ["region"], "metric": "n", "metrics": ["n"], **form}, (_data(columns),)


def _places(**form: Any) -> Sample:
    spatial = {"type": "latlong", "lonCol": "lon", "latCol": "lat"}
    radius = {"type": "metric", "value": "n"}
    return {"spatial": spatial, "point_radius_fixed": radius, "size": "n", **form}, (_data(_POINTS),)


_ARCS: Final = {"a_lon": [8.5, 0.0], "a_lat": [47.4, 51.5], "b_lon": [2.3, 13.4], "b_lat": [48.9, 52.5], "n": [4, 9]}
_START: Final = {"type": "latlong", "lonCol": "a_lon", "latCol": "a_lat"}
_END: Final = {"type": "latlong", "lonCol": "b_lon", "latCol": "b_lat"}
_SPANS: Final = {"task": ["Plan", "Build"], "start": _MONTHS[:2], "end": _MONTHS[1:3]}
_TREE: Final = {"id": ["r", "a", "b"], "parent": [None, "r", "r"], "name": ["Root", "Left", "Right"], "n": [1, 2, 3]}
_CARS: Final = {"car": ["Ant", "Bee"], "speed": [90, 60], "cost": [30, 70], "comfort": [50, 90]}

SAMPLES: Final[Mapping[str, Sample]] = {
    **{f"echarts_timeseries{end}": _series() for end in ("", "_line", "_bar", "_scatter", "_smooth", "_step")},
    "echarts_area": _series(stack="Stack"),
    "mixed_timeseries": (
        {"x_axis": "month", "metrics": ["North"], "metrics_b": ["South"], "seriesType": "bar", "yAxisIndexB": 1},
        (_data({"month": _MONTHS, "North": [1] * 6}, "month"), _data({"month": _MONTHS, "South": [2] * 6}, "month")),
    ),
    "horizon": _series(),
    "rose": _series(),
    "cal_heatmap": ({"metrics": ["n"]}, (_data({"__timestamp": _MONTHS, "n": [1, 2, 3, 4, 5, 6]}, "__timestamp"),)),
    "big_number": ({"metric": "n"}, (_data({"month": _MONTHS, "n": [1, 2, 3, 4, 5, 6]}, "month"),)),
    "big_number_total": ({"metric": "n", "subheader": "in all"}, (_data({"n": [1234.5]}),)),
    "pop_kpi": ({"metric": "n"}, (_data({"n": [12], "n__1 year ago": [10]}),)),
    "gauge_chart": ({"metric": "n", "max_val": 100}, (_data({"n": [63]}),)),
    "table": ({"groupby": ["region", "product"], "metrics": ["n"]}, _parts()[1]),
    "ag-grid-table": ({"groupby": ["region"], "metrics": ["n"]}, _parts()[1]),
    "pivot_table_v2": ({"groupbyRows": ["region"], "groupbyColumns": ["product"], "metrics": ["n"]}, _parts()[1]),
    "pie": _parts(),
    "funnel": _parts(),
    "treemap_v2": _parts(),
    "sunburst_v2": _parts(columns=["region", "product"]),
    "partition": _parts(groupby=["region", "product"]),
    "word_cloud": _parts(series="region"),
    "waterfall": _parts(x_axis="region", groupby=[]),
    "heatmap_v2": _parts(x_axis="region", groupby="product"),
    "bubble_v2": ({"x": "speed", "y": "cost", "size": "comfort", "entity": "car"}, (_data(_CARS),)),
    "radar": ({"groupby": ["car"], "metrics": ["speed", "cost", "comfort"]}, (_data(_CARS),)),
    "para": ({"series": "car", "metrics": ["speed", "cost", "comfort"]}, (_data(_CARS),)),
    "box_plot": ({"groupby": ["region"], "metrics": ["n"]}, (_data(_BOX),)),
    "histogram_v2": ({"column": "n"}, (_data({"0.0 - 5.0": [4], "5.0 - 10.0": [7]}),)),
    "sankey_v2": ({"source": "a", "target": "b", "metric": "n"}, (_data(_FLOWS),)),
    "chord": ({"groupby": "a", "columns": "b", "metric": "n"}, (_data(_FLOWS),)),
    "graph_chart": ({"source": "a", "target": "b", "metric": "n"}, (_data(_FLOWS),)),
    "tree_chart": ({"id": "id", "parent": "parent", "name": "name", "metric": "n"}, (_data(_TREE),)),
    "gantt_chart": ({"start_time": "start", "end_time": "end", "y_axis": "task"}, (_data(_SPANS, "start", "end"),)),
    "country_map": ({"entity": "c", "metric": "n"}, (_data({"c": ["FR-75", "FR-13"], "n": [5, 3]}),)),
    "world_map": ({"entity": "c", "metric": "n"}, (_data({"c": ["FRA", "DEU"], "n": [5, 3]}),)),
    **{f"deck_{name}": _places() for name in ("scatter", "contour", "grid", "heatmap", "hex", "screengrid")},
    "deck_arc": ({"start_spatial": _START, "end_spatial": _END, "dimension": "n"}, (_data(_ARCS),)),
    "deck_path": ({"line_column": "line", "line_type": "json"}, (_data({"line": [_SQUARE]}),)),
    "deck_polygon": (
        {"line_column": "line", "line_type": "json", "metric": "n"},
        (_data({"line": [_SQUARE], "n": [3]}),),
    ),
    "deck_geojson": ({"geojson": "shape"}, (_data({"shape": [_FEATURE]}),)),
}
"""By the name of the kind."""


def sample_of(kind: str, **changed: Any) -> Sample:
    """Return the form of a kind, with some fields changed, and its answers."""
    form, data = SAMPLES[kind]
    return {"viz_type": kind, **form, **changed}, data
