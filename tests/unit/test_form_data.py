"""Form data become query contexts: each value says which fields it comes from, and what is wrong is told at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

import analytics_core
from analytics_core._engine.compile.columns import time_grain
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.field_names import DRAWN, QUERY_WORDS
from analytics_core._superset.payload import BuiltPayload, Fidelity, build_payload
from analytics_core._superset.registry import ChartKinds, installed_chart_kinds
from analytics_core.errors import PayloadSchemaError, SettingsError
from analytics_core.models.parsing.query_context import parse_query_context

KINDS = ChartKinds()
SALES = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "sales"}, "label": "SUM(sales)"}
PERIOD = {
    "clause": "WHERE",
    "expressionType": "SIMPLE",
    "subject": "day",
    "operator": "TEMPORAL_RANGE",
    "comparator": "Last year",
}
FORMS: Mapping[str, dict[str, Any]] = {
    "table": {"groupby": ["country"], "metrics": ["count"], "percent_metrics": [SALES], "show_totals": True},
    "echarts_timeseries_line": {
        "x_axis": "day",
        "time_grain_sqla": "P1M",
        "groupby": ["country"],
        "metrics": [SALES],
        "time_compare": ["1 year ago"],
        "comparison_type": "difference",
        "rolling_type": "mean",
        "rolling_periods": 3,
        "limit": 5,
    },
    "mixed_timeseries": {
        "x_axis": "day",
        "metrics": ["count"],
        "groupby": ["country"],
        "metrics_b": [SALES],
        "groupby_b": ["region"],
        "adhoc_filters_b": [PERIOD],
    },
    "big_number": {"x_axis": "day", "metric": SALES, "aggregation": "raw"},
    "pop_kpi": {"metric": "count", "time_compare": ["1 month ago"], "comparison_type": "ratio"},
    "pie": {"groupby": ["country"], "metric": SALES},
    "radar": {"groupby": ["country"], "metrics": ["count", SALES]},
    "pivot_table_v2": {"groupbyRows": ["country"], "groupbyColumns": ["day"], "metrics": ["count"]},
    "histogram_v2": {"column": "sales", "groupby": ["country"], "bins": 7},
    "box_plot": {"columns": ["day"], "groupby": ["country"], "metrics": ["count"]},
    "heatmap_v2": {"x_axis": "day", "groupby": "country", "metric": SALES},
    "sankey_v2": {"source": "a", "target": "b", "metric": "count"},
    "graph_chart": {"source": "a", "target": "b", "metric": "count"},
    "gantt_chart": {"start_time": "a", "end_time": "b", "y_axis": "country", "order_by_cols": ['["a", true]']},
    "cal_heatmap": {"metrics": ["count"], "granularity_sqla": "day"},
    "country_map": {"entity": "country", "metric": "count"},
    "word_cloud": {"series": "country", "metric": "count"},
    "deck_scatter": {
        "spatial": {"type": "latlong", "latCol": "lat", "lonCol": "lon"},
        "point_radius_fixed": {"type": "metric", "value": SALES},
    },
    "deck_hex": {"spatial": {"type": "geohash", "geohashCol": "g"}, "size": "count"},
    "deck_path": {"line_column": "line", "metric": "count"},
    "deck_geojson": {"geojson": "shape"},
    "a kind of a plug-in": {"groupby": ["country"], "metrics": ["count"]},
}


def built(kind: str, **changes: Any) -> BuiltPayload:
    form = {"viz_type": kind, "datasource": "7__table", "adhoc_filters": [PERIOD], **FORMS.get(kind, {}), **changes}
    return build_payload({name: value for name, value in form.items() if value is not ...}, KINDS)


def queries(kind: str, **changes: Any) -> list[dict[str, Any]]:
    return list(built(kind, **changes).payload["queries"])


@for_each("kind", FORMS)
def test_what_is_built_is_a_query_context(kind: str) -> None:
    context = parse_query_context(built(kind).payload)
    assert context.datasource is not None
    assert (context.datasource.id, len(context.queries) >= 1) == (7, True)
    assert all(query.filters for query in context.queries)


@for_each("kind", FORMS)
def test_a_value_changes_with_the_fields_that_it_comes_from_and_with_no_others(kind: str) -> None:
    before = built(kind)
    for name in {**FORMS[kind], "adhoc_filters": 1}:
        after = built(kind, **{name: ...}) if name not in _NEEDED.get(kind, ()) else before
        for path in _changed(before, after):
            origins = {field.partition(".")[0] for place in _places(before, after, path) for field in place}
            assert name in origins or not origins, (name, path, origins)


_NEEDED = {
    "histogram_v2": ("column",),
    "deck_scatter": ("spatial",),
    "deck_hex": ("spatial",),
    "deck_path": ("line_column",),
    "deck_geojson": ("geojson",),
}


def _changed(before: BuiltPayload, after: BuiltPayload) -> list[str]:
    """Return `queries.N.field` of all that differs where both have as many queries."""
    both = zip(before.payload["queries"], after.payload["queries"], strict=False)
    if len(before.payload["queries"]) != len(after.payload["queries"]):
        return []
    return [
        f"queries.{place}.{name}"
        for place, (one, other) in enumerate(both)
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    ]


def _places(before: BuiltPayload, after: BuiltPayload, path: str) -> list[tuple[str, ...]]:
    return [
        origin
        for one in (before, after)
        for place, origin in one.origins.items()
        if place == path or place.startswith(f"{path}.")
    ]


def test_an_origin_names_the_field_as_it_is_stored() -> None:
    origins = built("mixed_timeseries").origins
    assert origins["queries.1.metrics.0"] == ("metrics_b",)
    assert origins["queries.0.metrics.0"] == ("metrics",)
    assert built("pie").origins["queries.0.filters.0"] == ("adhoc_filters.0",)


def test_dashboards_mask_what_a_form_asks() -> None:
    mask = {
        "filters": [{"col": "country", "op": "IN", "val": ["USA"]}],
        "time_range": "Last week",
        "time_grain_sqla": "P1D",
    }
    (query,) = queries("echarts_timeseries_line", extra_form_data=mask)
    assert query["filters"][0] == {"col": "country", "op": "IN", "val": ["USA"]}
    assert (query["time_range"], query["extras"]["time_grain_sqla"]) == ("Last week", "P1D")
    assert query["columns"][0]["timeGrain"] == "P1D"


MONTH = {"expressionType": "SQL", "sqlExpression": "day", "label": "day", "timeGrain": "P1M"}


@for_each(
    ("fields", "grain", "is_exact"),
    [
        ({}, "P1W", True),
        ({"x_axis": MONTH}, "P1M", False),
        ({"x_axis": MONTH, "time_grain_sqla": ...}, "P1M", False),
        ({"x_axis": MONTH, "time_grain_sqla": "P1M"}, "P1M", True),
        ({"x_axis": {**MONTH, "timeGrain": None}}, "P1W", True),
        ({"extra_form_data": {"time_grain_sqla": "P1Y"}}, "P1Y", True),
        ({"extra_form_data": {"time_grain": "P1Y"}}, "P1Y", False),
        ({"extra_form_data": {"time_grain": "P1D", "time_grain_sqla": "P1Y"}}, "P1Y", True),
        ({"time_grain_sqla": ..., "extra_filters": [{"col": "__time_grain", "val": "P1Y"}]}, "P1Y", False),
    ],
)
def test_a_forecast_goes_at_the_grain_that_cuts_the_axis(fields: dict[str, Any], grain: str, is_exact: bool) -> None:
    form = {"time_compare": [], "rolling_type": None, "time_grain_sqla": "P1W", "forecastEnabled": True, **fields}
    payload = built("echarts_timeseries_line", **form)
    (query,) = parse_query_context(payload.payload).queries
    assert payload.payload["queries"][0]["post_processing"][-1]["options"]["time_grain"] == grain
    assert time_grain(query) == grain
    assert (payload.fidelity is Fidelity.EXACT) is is_exact


def test_a_radar_is_ordered_by_the_metric_that_decides_or_by_its_first() -> None:
    assert [query["orderby"] for query in queries("radar")] == [[["count", False]]]
    assert [query["orderby"] for query in queries("radar", timeseries_limit_metric=SALES)] == [[[SALES, False]]]
    deciding = queries("radar", series_limit_metric="revenue", timeseries_limit_metric=SALES)
    assert [query["orderby"] for query in deciding] == [[["revenue", False]]]


@for_each(
    ("kind", "fields", "path", "value"),
    [
        # old filters of a dashboard that set the time
        ("pie", {"extra_filters": [{"col": "__time_range", "val": "Last day"}]}, "time_range", "Last day"),
        ("pie", {"extra_filters": [{"col": "__time_col", "val": "at"}]}, "granularity", "at"),
        ("pie", {"extra_filters": [{"col": "__granularity", "val": "at"}]}, "granularity", "at"),
        ("pie", {"extra_filters": [{"col": "__time_grain", "val": "P1Y"}]}, "extras.time_grain_sqla", "P1Y"),
        ("pie", {"granularity_sqla": "at"}, "granularity", "at"),
        # a filter as editors have it
        (
            "pie",
            {"adhoc_filters": [{**PERIOD, "operator": "==", "comparator": 5}]},
            "filters",
            [{"col": "day", "op": "==", "val": 5}],
        ),
        (
            "pie",
            {"adhoc_filters": [{**PERIOD, "operator": "IS NULL", "comparator": 5}]},
            "filters",
            [{"col": "day", "op": "IS NULL"}],
        ),
        # which metric decides on the series
        (
            "echarts_timeseries_line",
            {"series_limit_metric": "a", "timeseries_limit_metric": "b"},
            "series_limit_metric",
            "a",
        ),
        ("echarts_timeseries_line", {"timeseries_limit_metric": "b"}, "series_limit_metric", "b"),
        ("echarts_timeseries_line", {"timeseries_limit_metric": "b"}, "orderby", [["b", False]]),
        ("echarts_timeseries_line", {"order_by_cols": ['["day", true]']}, "orderby", [["day", True]]),
        ("echarts_timeseries_line", {"limit": 5, "series_limit": 3}, "series_limit", 3),
        ("echarts_timeseries_line", {"limit": 5}, "series_limit", 5),
        ("echarts_timeseries_line", {"limit": ...}, "series_limit", 0),
        ("echarts_timeseries_line", {"order_desc": False}, "orderby", [[SALES, True]]),
        # windows
        (
            "echarts_timeseries_line",
            {"rolling_type": "sum", "rolling_periods": ...},
            "post_processing.1",
            {
                "operation": "rolling",
                "options": {
                    "rolling_type": "sum",
                    "window": 1,
                    "min_periods": 0,
                    "columns": {name: name for name in ("SUM(sales)", "SUM(sales)__1 year ago")},
                },
            },
        ),
        # kinds
        ("pivot_table_v2", {}, "columns", ["day", "country"]),
        ("pivot_table_v2", {"series_limit_metric": "a", "order_desc": False}, "orderby", [["a", True]]),
        ("pivot_table_v2", {"timeseries_limit_metric": "b"}, "orderby", [["b", False]]),
        ("pivot_table_v2", {}, "orderby", [["count", False]]),
        ("word_cloud", {}, "orderby", [["country", True]]),
        ("word_cloud", {"sort_by_metric": True}, "orderby", [["count", False], ["country", True]]),
        ("word_cloud", {"row_limit": 0}, "orderby", None),
        ("waterfall", {"x_axis": "day", "groupby": ["city"]}, "orderby", [["day", True], ["city", True]]),
        ("waterfall", {"granularity_sqla": "at", "groupby": ["city"]}, "columns", ["at", "city"]),
        ("tree_chart", {"id": "a", "parent": "b", "name": "c"}, "columns", ["a", "b", "c"]),
        ("tree_chart", {"id": "a", "parent": "b", "name": "c"}, "orderby", [["b", True], ["a", True], ["c", True]]),
        ("treemap_v2", {"groupby": ["a", "b"], "metric": "n"}, "orderby", [["a", True], ["b", True]]),
        ("treemap_v2", {"groupby": ["a"], "metric": "n", "sort_by_metric": True}, "orderby", [["n", False]]),
        ("bubble_v2", {"entity": "a", "series": "b", "x": "n", "y": "m", "size": "o"}, "columns", ["a", "b"]),
        ("bubble_v2", {"entity": "a", "series": "b", "x": "n", "y": "m", "size": "o"}, "metrics", ["n", "m", "o"]),
        ("big_number", {"x_axis": ..., "columns": ["city"], "aggregation": "LAST_VALUE"}, "columns", ["city"]),
        ("big_number", {"x_axis": ..., "aggregation": "LAST_VALUE"}, "is_timeseries", True),
        ("para", {"series": ["car", "maker"], "metrics": ["n"]}, "columns", ["car"]),
        (
            "para",
            {"series": "car", "metrics": ["n"], "timeseries_limit_metric": "m", "order_desc": True},
            "orderby",
            [["m", False]],
        ),
        ("country_map", {"entity": ["country", "city"]}, "columns", ["country"]),
        ("cal_heatmap", {"subdomain_granularity": "hour"}, "extras.time_grain_sqla", "PT1H"),
        ("deck_scatter", {}, "orderby", [["SUM(sales)", False]]),
        ("deck_scatter", {"metrics": ["n"]}, "metrics", ["n", SALES]),
        ("deck_scatter", {"point_radius_fixed": {"type": "fix", "value": "10"}}, "orderby", None),
        ("deck_hex", {}, "orderby", [["count", False]]),
        ("table", {"order_desc": True, "timeseries_limit_metric": "m"}, "orderby", [["m", False]]),
        ("table", {"order_desc": False, "timeseries_limit_metric": "m"}, "orderby", [["m", True]]),
        ("table", {"order_desc": False}, "orderby", [["count", False]]),
    ],
)
def test_a_form_asks_as_the_editor_shows_it(kind: str, fields: dict[str, Any], path: str, value: Any) -> None:
    found: Any = queries(kind, **fields)[0]
    for part in path.split("."):
        found = found[int(part)] if isinstance(found, list) else found.get(part)
    assert found == value


def test_the_whole_of_a_big_number_has_no_groups() -> None:
    trend, total = queries("big_number", columns=["city"], aggregation="raw")
    assert (trend["columns"][0]["label"], total["columns"]) == ("day", [])
    assert (total["is_timeseries"], total["post_processing"]) == (False, [])


def test_a_condition_on_a_metric_that_is_no_sql_says_what_it_must_be() -> None:
    for condition, message in (
        ({"expressionType": "SIMPLE", "clause": "HAVING"}, "a condition on a metric must be SQL"),
        ({"expressionType": "OTHER", "clause": "WHERE"}, "must have the expressionType SIMPLE or SQL"),
        ({"expressionType": "SQL", "clause": "LIMIT"}, "must have the expressionType SIMPLE or SQL"),
    ):
        with pytest.raises(PayloadSchemaError, match=message):
            built("pie", adhoc_filters=[condition])


@for_each(
    ("page", "limit", "rows"), [(10, 25, 10), (10, 7, 7), (10, None, 10), (10, 0, 10), (None, 7, 7), (None, None, 0)]
)
def test_a_page_of_a_table_is_no_longer_than_the_rows_that_are_asked(
    page: int | None, limit: int | None, rows: int
) -> None:
    form = {"server_pagination": True, "server_page_length": page, "row_limit": 0 if limit is None else limit}
    first, count, totals = queries("table", percent_metrics=..., **form)
    assert (first["row_limit"], first["row_offset"]) == (rows, 0)
    assert (count["row_limit"], count["is_rowcount"], count["columns"]) == (limit or 0, True, ["country"])
    assert (totals["columns"], totals["row_limit"], totals.get("orderby")) == ([], 0, None)


REMAINDER = {
    "metrics": ["count"],
    "groupby": ["city"],
    "percent_metrics": [SALES],
    "show_totals": True,
    "time_compare": ["1 year ago"],
    "comparison_type": "ratio",
}


@for_each("kind", ["table", "ag-grid-table"])
@for_each("metrics", [..., [], None])
def test_a_table_of_groups_without_metrics_asks_for_no_totals(kind: str, metrics: Any) -> None:
    groups = {"groupby": ["country"], "percent_metrics": ..., "show_totals": True}
    (query,) = queries(kind, **groups, metrics=metrics)
    assert (query["columns"], query.get("metrics") or []) == (["country"], [])
    assert len(queries(kind, **groups, metrics=["count"])) == 2


@for_each("kind", ["table", "ag-grid-table"])
@for_each("mode", [{"query_mode": "raw"}, {"query_mode": None}, {}])
def test_a_table_of_rows_asks_nothing_of_the_groups_that_it_was_before(kind: str, mode: dict[str, Any]) -> None:
    form = {"groupby": ..., "metrics": ..., "percent_metrics": ..., "show_totals": ..., "all_columns": ["a"], **mode}
    (plain,) = queries(kind, **form)
    assert (plain["columns"], plain["orderby"], plain["time_offsets"]) == (["a"], [], [])
    assert (plain["post_processing"], "metrics" in plain) == ([], False)
    assert queries(kind, **{**form, **REMAINDER}) == [plain]
    masked = built(kind, **{**form, **REMAINDER, "extra_form_data": {"time_compare": "1 year ago"}})
    assert masked.payload["queries"] == [plain]
    assert any(note.startswith("extra_form_data: its time_compare is left out") for note in masked.notes)


@for_each(
    ("extra", "is_extra"),
    [({"isExtra": True}, True), ({"isExtra": False}, None), ({"isExtra": None}, None), ({}, None)],
)
@for_each("condition", [{"operator": "==", "comparator": "x"}, {"operator": "IS NULL"}])
def test_a_filter_of_a_dashboard_stays_one(
    extra: dict[str, Any], is_extra: bool | None, condition: dict[str, Any]
) -> None:
    one = {"expressionType": "SIMPLE", "clause": "WHERE", "subject": "city", **condition, **extra}
    for mask in ({"adhoc_filters": [one]}, {"extra_form_data": {"adhoc_filters": [one]}, "adhoc_filters": []}):
        (query,) = queries("pie", **mask)
        assert [item.get("isExtra") for item in query["filters"]] == [is_extra]


def test_conditions_in_sql_are_joined_in_brackets() -> None:
    conditions = [
        {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "a = 1 -- or so"},
        {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "b = 2"},
        {"expressionType": "SQL", "clause": "HAVING", "sqlExpression": "COUNT(*) > 5"},
    ]
    (query,) = queries("pie", adhoc_filters=conditions)
    assert query["extras"] == {"where": "(a = 1 -- or so\n) AND (b = 2)", "having": "(COUNT(*) > 5)"}


@for_each(
    ("kind", "changes", "paths"),
    [
        ("table", {"groupby": [7]}, ["groupby.0"]),
        ("table", {"groupby": [7], "metrics": [[]], "row_limit": "many"}, ["groupby.0", "metrics.0", "row_limit"]),
        ("table", {"row_limit": -1}, ["row_limit"]),
        ("table", {"row_limit": 1.5}, ["row_limit"]),
        ("table", {"order_by_cols": ["no json"]}, ["order_by_cols.0"]),
        ("table", {"order_by_cols": ['["a", 1]']}, ["order_by_cols.0"]),
        ("table", {"adhoc_filters": ["x"]}, ["adhoc_filters.0"]),
        ("table", {"adhoc_filters": [{**PERIOD, "subject": None}]}, ["adhoc_filters.0"]),
        ("table", {"adhoc_filters": [{**PERIOD, "clause": "HAVING"}]}, ["adhoc_filters.0"]),
        ("table", {"extra_form_data": "x"}, ["extra_form_data"]),
        ("table", {"datasource": "sales"}, ["datasource"]),
        ("table", {"datasource": 7}, ["datasource"]),
        ("histogram_v2", {"column": None}, ["column"]),
        ("box_plot", {"whiskerOptions": "wide"}, ["whiskerOptions"]),
        ("cal_heatmap", {"subdomain_granularity": "eon"}, ["subdomain_granularity"]),
        ("deck_scatter", {"spatial": {"type": "latlong", "latCol": "lat"}}, ["spatial"]),
        ("deck_geojson", {"geojson": None}, ["geojson"]),
        ("mixed_timeseries", {"metrics_b": [{}]}, ["metrics_b.0"]),
    ],
)
def test_what_cannot_be_used_is_told_all_at_once(kind: str, changes: dict[str, Any], paths: list[str]) -> None:
    with pytest.raises(PayloadSchemaError) as rejection:
        built(kind, **changes)
    assert sorted({problem.path for problem in rejection.value.problems}) == paths


@pytest.mark.parametrize("form", [{}, {"viz_type": None}, {"viz_type": 7}, {"viz_type": ""}])
def test_a_form_names_its_kind(form: dict[str, Any]) -> None:
    with pytest.raises(PayloadSchemaError, match="viz_type"):
        build_payload(form, KINDS)


def test_what_is_not_understood_is_told_and_what_only_draws_is_not() -> None:
    assert (built("pie", donut=True, metric_b="x").fidelity, built("pie").notes) == (Fidelity.APPROXIMATED, ())
    assert built("pie", donut=True, color_scheme="x", matrixify_mode_rows="x").fidelity is Fidelity.EXACT
    (note,) = built("pie", brand_new_option=1, another=2).notes
    assert note == "not understood, and not asked: another, brand_new_option"
    assert "not known here" in built("a kind of a plug-in").notes[0]
    assert "public documentation" in built("radar").notes[0]


def test_an_unknown_field_or_kind_is_told_with_the_nearest_one() -> None:
    (note,) = build_payload({"viz_type": "table", "datasource": "7__table", "group_by": ["day"]}, KINDS).notes
    assert note == "not understood, and not asked: group_by (did you mean groupby?)"
    (note,) = built("table", since="2020-01-01", show_totals=False).notes
    assert note == "not understood, and not asked: since"
    (note, *_) = built("echarts_timeserie_line").notes
    assert "(did you mean 'echarts_timeseries_line'?)" in note
    many = {f"group_by{number}": 1 for number in range(1_000)}
    assert built("pivot_table_v2", **many, **{"g" * 100_000: 1}).notes[0].count("did you mean") <= 10


def test_the_second_half_of_a_mixed_chart_is_understood() -> None:
    assert not [note for note in built("mixed_timeseries").notes if "not understood" in note]


@for_each(
    ("kind", "fields", "known"),
    [
        ("echarts_timeseries_line", {"rolling_type": "avg"}, "cumsum, mean, std, sum"),
        ("big_number", {"rolling_type": 7}, "cumsum, mean, std, sum"),
        ("echarts_timeseries_line", {"comparison_type": "diff"}, "difference, percentage, ratio, values"),
        ("mixed_timeseries", {"rolling_type_b": "avg"}, "cumsum, mean, std, sum"),
        ("table", {"query_mode": "agg"}, "aggregate, raw"),
    ],
)
def test_a_word_that_nothing_answers_to_is_told_and_not_applied(kind: str, fields: dict[str, Any], known: str) -> None:
    ((name, value),) = fields.items()
    form = built(kind, **fields)
    assert f"{name}: {value!r} is none of {known}, and is not applied" in form.notes
    assert form.fidelity is Fidelity.APPROXIMATED


def test_a_word_that_is_not_set_is_not_told() -> None:
    for unset in (None, "", "None"):
        assert built("echarts_timeseries_line", rolling_type=unset).notes == ()
    assert built("echarts_timeseries_line", comparison_type="absolute").notes == ()
    assert built("echarts_timeseries_line", comparison_type="diff", time_compare=[]).notes == ()


def test_old_names_of_kinds_are_known() -> None:
    form = {"datasource": "7__table", "x_axis": "day", "metrics": ["count"]}
    old, new = (build_payload({**form, "viz_type": name}, KINDS) for name in ("line", "echarts_timeseries_line"))
    assert old.payload["queries"] == new.payload["queries"]


INNER = st.sampled_from(["label", "type", "x"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(INNER, inner, max_size=3),
    max_leaves=6,
)


@given(kind=st.sampled_from(sorted(KINDS)), form=st.dictionaries(st.sampled_from(sorted(QUERY_WORDS)), ANY, max_size=6))
def test_any_form_gives_a_payload_or_a_typed_error(kind: str, form: dict[str, Any]) -> None:
    with suppress(PayloadSchemaError):
        assert build_payload({"datasource": "1__table", **form, "viz_type": kind}, KINDS).payload


SOURCES = Path(analytics_core.__file__).parent / "_formdata"
ASKS = re.compile(r'(?:form|_form)\.(?:get|has|text|number|count|flag|mapping|items|columns|metrics)\("(\w+)"\)')


def test_the_lists_of_fields_are_those_that_builders_ask() -> None:
    fields = {name for path in SOURCES.rglob("*.py") for name in ASKS.findall(path.read_text(encoding="utf-8"))}
    assert fields - {"viz_type"} <= QUERY_WORDS
    assert not QUERY_WORDS & DRAWN


class _Entry:
    name = "mine"

    def __init__(self, loaded: Any) -> None:
        self._loaded = loaded

    def load(self) -> Any:
        if isinstance(self._loaded, Exception):
            raise self._loaded
        return self._loaded


def test_a_package_adds_a_kind() -> None:
    mine = ChartKind(name="mine", build=KINDS["pie"].build, is_compared=True)
    kinds = installed_chart_kinds([_Entry(mine)])  # type: ignore[list-item]  # what an entry point does here
    assert kinds["mine"] is mine
    assert len(kinds) == len(KINDS) + 1
    for broken in (ImportError("no"), "text"):
        with pytest.raises(SettingsError, match="mine"):
            installed_chart_kinds([_Entry(broken)])  # type: ignore[list-item]  # as above
