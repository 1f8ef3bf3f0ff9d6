"""What a control of a chart's editor says is never dropped: it changes the payload, or it is told, or it only draws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.cases import for_each

from analytics_core._superset.field_names import DRAWN, QUERY_WORDS
from analytics_core._superset.layers import LAYERED
from analytics_core._superset.payload import BuiltPayload, build_payload
from analytics_core._superset.registry import ChartKinds

KINDS = ChartKinds()
SALES = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "sales"}, "label": "SUM(sales)"}
FILTER = {"clause": "WHERE", "expressionType": "SIMPLE", "subject": "city", "operator": "==", "comparator": "Bonn"}
LAYER = {"name": "Releases", "annotationType": "EVENT", "sourceType": "NATIVE", "value": 1, "show": True}
PLACE = {"type": "latlong", "latCol": "lat", "lonCol": "lon"}
OTHER = {"type": "geohash", "geohashCol": "hash"}

LINES = " ".join(name for name in KINDS if name.startswith("echarts_"))


def _each(names: str, value: Any) -> dict[str, Any]:
    return dict.fromkeys(names.split(), value)


ALL = "adhoc_filters row_limit time_range granularity_sqla url_params extra_form_data extra_filters annotation_layers"
AXIS = "x_axis time_grain_sqla x_axis_sort x_axis_sort_asc metrics groupby order_desc limit timeseries_limit_metric"
WINDOWS = "rolling_type rolling_periods min_periods time_compare comparison_type resample_rule resample_method"
FORECAST = (
    "forecastEnabled forecastPeriods forecastInterval forecastSeasonalityYearly forecastSeasonalityWeekly "
    "forecastSeasonalityDaily"
)
SHAPE = "truncate_metric show_empty_columns"
SERIES = f"{AXIS} {WINDOWS} {FORECAST} {SHAPE} contributionMode group_others_when_limit_reached start_date_offset"
HALF = f"metrics groupby order_desc limit timeseries_limit_metric row_limit adhoc_filters {WINDOWS} truncate_metric"
OLD = f"metrics groupby limit timeseries_limit_metric order_desc contribution {WINDOWS}"
TABLE = (
    "query_mode groupby metrics all_columns percent_metrics timeseries_limit_metric order_by_cols order_desc "
    "server_pagination server_page_length show_totals time_grain_sqla temporal_columns_lookup time_compare "
    "start_date_offset"
)
POINTS = "spatial js_columns tooltip_contents js_data_mutator"
CONTROLS: Mapping[str, str] = {
    **_each(LINES, SERIES),
    "mixed_timeseries": f"x_axis time_grain_sqla {HALF} {' '.join(f'{name}_b' for name in HALF.split())}",
    "big_number": f"x_axis time_grain_sqla metric aggregation {WINDOWS.replace('time_compare comparison_type ', '')}",
    "big_number_total": "metric",
    "pop_kpi": "metric time_compare start_date_offset",
    "table": f"{TABLE} percent_metric_calculation",
    "ag-grid-table": TABLE,
    "pivot_table_v2": "groupbyColumns groupbyRows metrics time_grain_sqla series_limit_metric order_desc",
    "pie": "groupby metric sort_by_metric",
    "treemap_v2": "groupby metric sort_by_metric",
    "sunburst_v2": "columns metric secondary_metric sort_by_metric",
    "funnel": "groupby metric sort_by_metric",
    "gauge_chart": "groupby metric sort_by_metric",
    "radar": "groupby metrics timeseries_limit_metric",
    "word_cloud": "series metric sort_by_metric sort_by_series",
    "tree_chart": "id parent name metric",
    "waterfall": "x_axis time_grain_sqla groupby metric",
    "bubble_v2": "entity series x y size order_desc limit",
    "histogram_v2": "column groupby bins normalize cumulative",
    "box_plot": "columns time_grain_sqla temporal_columns_lookup groupby metrics series_limit whiskerOptions",
    "heatmap_v2": "x_axis time_grain_sqla groupby metric sort_x_axis sort_y_axis normalize_across",
    "sankey_v2": "source target metric sort_by_metric",
    "graph_chart": "source target source_category target_category metric",
    "gantt_chart": "start_time end_time y_axis series tooltip_metrics tooltip_columns order_by_cols",
    "chord": "groupby columns metric sort_by_metric",
    "horizon": "metrics groupby limit timeseries_limit_metric order_desc contribution",
    "world_map": "entity metric secondary_metric",
    "country_map": "entity metric",
    "cal_heatmap": "subdomain_granularity metrics",
    "para": "series metrics secondary_metric limit timeseries_limit_metric order_desc",
    "rose": f"{OLD} time_grain_sqla",
    "partition": f"{OLD} time_series_option",
    "deck_arc": "start_spatial end_spatial dimension js_columns tooltip_contents js_data_mutator time_grain_sqla",
    "deck_scatter": f"{POINTS} dimension point_radius_fixed",
    "deck_path": "line_column metric line_width dimension js_columns tooltip_contents js_data_mutator time_grain_sqla",
    "deck_polygon": "line_column metric point_radius_fixed filter_nulls js_columns tooltip_contents js_data_mutator",
    "deck_geojson": "geojson filter_nulls cross_filter_column js_columns tooltip_contents js_data_mutator",
    **dict.fromkeys(
        ("deck_grid", "deck_hex", "deck_screengrid", "deck_heatmap", "deck_contour"), f"{POINTS} size filter_nulls"
    ),
}
"""The controls of each kind, from the recorded forms and the public descriptions, without those that only draw."""

DRAWN_BY_KIND = {
    **dict.fromkeys(("deck_grid", "deck_hex", "deck_screengrid", "deck_heatmap", "deck_contour"), ("filter_nulls",)),
    **dict.fromkeys(("sunburst_v2", "gauge_chart"), ("sort_by_metric",)),
    "horizon": ("timeseries_limit_metric",),
}
BASES: Mapping[str, dict[str, Any]] = {
    "mixed_timeseries": {"x_axis": "day", "metrics": ["a"], "metrics_b": ["a"]},
    **_each(LINES, {"x_axis": "day", "metrics": ["a"]}),
    "big_number": {"x_axis": "day", "metric": "a"},
    "pop_kpi": {"metric": "a"},
    **_each("table ag-grid-table", {"groupby": ["day"], "metrics": ["a"]}),
    "pivot_table_v2": {"groupbyRows": ["day"], "metrics": ["a"], "temporal_columns_lookup": {"day": True}},
    "histogram_v2": {"column": "age"},
    "box_plot": {"columns": ["day"], "groupby": ["c"], "metrics": ["a"], "time_grain_sqla": "P1W"},
    "heatmap_v2": {"x_axis": "day", "groupby": "c", "metric": "a"},
    "waterfall": {"x_axis": "day", "metric": "a"},
    **_each("rose partition", {"groupby": ["c"], "metrics": ["a"], "granularity_sqla": "day"}),
    "deck_arc": {"start_spatial": PLACE, "end_spatial": PLACE},
    **_each("deck_path deck_polygon", {"line_column": "line"}),
    "deck_geojson": {"geojson": "shape"},
    **_each("deck_scatter deck_grid deck_hex deck_screengrid deck_heatmap deck_contour", {"spatial": PLACE}),
}
NEEDED: Mapping[str, dict[str, Any]] = {
    "x_axis_sort": {"x_axis_sort_asc": True},
    "x_axis_sort_asc": {"x_axis_sort": "day"},
    "rolling_periods": {"rolling_type": "mean"},
    "min_periods": {"rolling_type": "mean"},
    "comparison_type": {"time_compare": ["1 year ago"]},
    "start_date_offset": {"time_compare": ["custom"]},
    "resample_rule": {"resample_method": "ffill"},
    "resample_method": {"resample_rule": "1D"},
    **{name: {"forecastEnabled": True, "time_grain_sqla": "P1D"} for name in FORECAST.split() if "Enabled" not in name},
    "truncate_metric": {"groupby": ["c"]},
    "order_desc": {"timeseries_limit_metric": "b"},
    "server_page_length": {"server_pagination": True},
    "percent_metric_calculation": {"percent_metrics": ["a"]},
    "time_grain_sqla": {"temporal_columns_lookup": {"day": True}},
    "temporal_columns_lookup": {"time_grain_sqla": "P1D"},
    "sort_by_metric": {"metric": "a"},
    "sort_by_series": {"series": "city"},
    "all_columns": {"query_mode": "raw"},
    "order_by_cols": {"query_mode": "raw"},
}
SECOND = {f"{name}_b": {f"{own}_b": value for own, value in needed.items()} for name, needed in NEEDED.items()}
SETTINGS: Mapping[str, Any] = {
    **_each("adhoc_filters extra_filters", [FILTER]),
    "annotation_layers": [LAYER],
    "url_params": {"tenant": "x"},
    "extra_form_data": {"time_range": "Last day"},
    "extra_filters": [{"col": "city", "op": "==", "val": "Bonn"}],
    "time_range": "Last week",
    "row_limit": 7,
    "limit": 5,
    "series_limit": 5,
    **_each("metrics percent_metrics tooltip_metrics", [SALES]),
    **_each("metric secondary_metric size x y", SALES),
    **_each("timeseries_limit_metric series_limit_metric", SALES),
    **_each("groupby columns all_columns groupbyColumns groupbyRows js_columns tooltip_columns", ["f"]),
    **_each("x_axis entity series source target source_category target_category id parent name", "f"),
    **_each("column start_time end_time y_axis dimension line_column geojson granularity_sqla", "f"),
    "cross_filter_column": "f",
    **_each("spatial start_spatial end_spatial", OTHER),
    **_each("point_radius_fixed line_width", {"type": "metric", "value": SALES}),
    "tooltip_contents": [{"item_type": "column", "column_name": "f"}],
    "filter_nulls": False,
    "time_grain_sqla": "P1Y",
    "temporal_columns_lookup": {"day": True},
    "x_axis_sort": "day",
    "x_axis_sort_asc": False,
    "order_desc": False,
    "rolling_type": "cumsum",
    "rolling_periods": 4,
    "min_periods": 2,
    "time_compare": ["1 year ago"],
    "comparison_type": "ratio",
    "start_date_offset": "2024-01-01",
    "resample_rule": "7D",
    "resample_method": "zerofill",
    "forecastEnabled": True,
    "forecastPeriods": 9,
    "forecastInterval": 0.5,
    **_each("forecastSeasonalityYearly forecastSeasonalityWeekly forecastSeasonalityDaily", True),
    "truncate_metric": False,
    "show_empty_columns": False,
    "contributionMode": "column",
    "contribution": True,
    "group_others_when_limit_reached": True,
    "aggregation": "sum",
    "query_mode": "raw",
    "order_by_cols": ['["f", false]'],
    "server_pagination": True,
    "server_page_length": 3,
    "show_totals": True,
    "percent_metric_calculation": "all_records",
    "sort_by_metric": True,
    "sort_by_series": False,
    "bins": 9,
    "normalize": True,
    "cumulative": True,
    "whiskerOptions": "10/90 percentiles",
    "sort_x_axis": "alpha_desc",
    "sort_y_axis": "value_asc",
    "normalize_across": "x",
    "subdomain_granularity": "month",
    "time_series_option": "point_diff",
    "js_data_mutator": "data => data.slice(1)",
}


def _pairs() -> Iterator[tuple[str, str]]:
    for kind, controls in CONTROLS.items():
        for field in dict.fromkeys(f"{controls} {ALL}".split()):
            if field not in DRAWN_BY_KIND.get(kind, ()):
                yield kind, field


def built(kind: str, **fields: Any) -> BuiltPayload:
    return build_payload({"viz_type": kind, "datasource": "7__table", **BASES.get(kind, {}), **fields}, KINDS)


@for_each(("kind", "field"), list(_pairs()))
def test_a_control_changes_the_payload_or_is_told(kind: str, field: str) -> None:
    needed = {**NEEDED, **SECOND}.get(field, {})
    value = SETTINGS[field.removesuffix("_b")]
    if field == "sort_by_metric":  # some charts begin with it on
        value = not (KINDS[kind].defaults.get(field) or kind == "sankey_v2")
    before, after = built(kind, **needed), built(kind, **{**needed, field: value})
    if _requested(before) == _requested(after):
        notes = [note for note in after.notes if field in note]
        assert notes, f"{field} is dropped"
        return
    if field in _CHOOSERS:
        return
    origins = {
        name.partition(".")[0] for names in (*before.origins.values(), *after.origins.values()) for name in names
    }
    assert origins & {field, field.removesuffix("_b")}


@for_each("kind", sorted(CONTROLS))
def test_gaps_are_filled_before_anything_is_computed_of_the_series(kind: str) -> None:
    fields = {
        "rolling_type": "cumsum",
        "time_compare": ["1 year ago"],
        "comparison_type": "ratio",
        "contribution": True,
    }
    fields |= {"resample_rule": "1D", "resample_method": "ffill", "granularity_sqla": "day", "contributionMode": "row"}
    for query in built(kind, **fields, **{f"{name}_b": value for name, value in fields.items()}).payload["queries"]:
        names = [step["operation"] for step in query.get("post_processing", ())]
        assert "resample" not in names[2:]
        assert ("resample" in names) is ("resample_rule" in CONTROLS[kind].split() and kind != "partition")


@for_each("field", sorted({*HALF.split(), "show_empty_columns"} - {"metrics", "adhoc_filters"}))
def test_no_half_of_a_mixed_chart_takes_a_control_of_the_other(field: str) -> None:
    own = {**SETTINGS, **NEEDED.get(field, {})}
    for suffix, other in (("", 1), ("_b", 0)):
        needed = {f"{name}{suffix}": value for name, value in NEEDED.get(field, {}).items()}
        plain, with_field = (
            built("mixed_timeseries", **more) for more in ({}, {**needed, f"{field}{suffix}": own[field]})
        )
        halves = [payload.payload["queries"] for payload in (plain, with_field)]
        assert halves[0][other] == halves[1][other]
        assert halves[0][1 - other] != halves[1][1 - other]


_CHOOSERS = ("query_mode", "temporal_columns_lookup")
"""Fields that choose which others count; values come from those."""


def _requested(payload: BuiltPayload) -> dict[str, Any]:
    return {name: value for name, value in payload.payload.items() if name != "form_data"}


def test_all_kinds_have_their_controls_here() -> None:
    assert CONTROLS.keys() == {*KINDS} - {LAYERED}  # the layers of a map are charts, each with its own controls
    named = {field.removesuffix("_b") for _, field in _pairs()}
    assert named <= QUERY_WORDS
    assert not named & DRAWN


@for_each("field", ["y_axis_format", "currency_format", "column_config", "number_format", "date_format"])
def test_formats_stand_in_the_form_that_the_payload_holds(field: str) -> None:
    payload = built("pie", metric="a", **{field: "x"}).payload
    assert payload["form_data"][field] == "x"


def test_a_grid_of_charts_is_told() -> None:
    rows = {"matrixify_mode_rows": "metrics", "matrixify_rows": [SALES]}
    (note,) = built("pie", metric="a", groupby=["c"], matrixify_enable=True, **rows).notes
    assert note.startswith("matrixify_enable: only the chart itself is asked")
    assert not built("pie", metric="a", groupby=["c"], matrixify_enable=False, **rows).notes
