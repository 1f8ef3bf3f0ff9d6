"""Charts of what flows or leads from one to another, and of spans of time: Sankey, chord, graph, Gantt, calendar."""

from __future__ import annotations

from typing import Final

from analytics_core._records.chart_form import column_label, metric_label
from analytics_core._superset.base_query import base_query, put_largest_first, sort_by_metric
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import Form, FormValue, distinct

_OTHER_ENDPOINT: Final = "the front end draws it from an older endpoint of its server"


def _sankey(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    query.put_list("groupby", (*form.columns("source"), *form.columns("target")))
    sort_by_metric(form, query)
    if form.get("sort_by_metric") is None:
        _keep_largest(form, query, "sort_by_metric")
    return [query]


def _keep_largest(form: Form, query: QueryDraft, *origin: str) -> None:
    """Sort links whose number is limited, and that nothing else sorts: the limit then keeps the largest."""
    if form.count("row_limit") and not query.list("orderby"):
        put_largest_first(form, query, "row_limit", *origin)
        form.tell("the largest links are kept; Superset does not sort them", "row_limit")


def _chord(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    sort_by_metric(form, query)
    return [query]


def _plain(form: Form) -> list[QueryDraft]:
    return [base_query(form)]


def _horizon(form: Form) -> list[QueryDraft]:
    form.tell("not computed for this kind", "contribution")
    return _plain(form)


def _graph(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    names = ("source", "target", "source_category", "target_category")
    columns = (*query.list("columns"), *(column for name in names for column in form.columns(name)))
    query.put_list("columns", distinct(columns, column_label))
    _keep_largest(form, query)
    return [query]


def _gantt(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    keys = query.list("orderby")
    names = ("start_time", "end_time", "y_axis", "series", "tooltip_columns")
    columns = [column for name in names for column in form.columns(name)]
    columns += [FormValue(key.value[0], key.origin) for key in keys]
    query.put_list("columns", distinct(tuple(columns), column_label))
    query.put_list("metrics", form.metrics("tooltip_metrics"))
    query.put_list("orderby", keys)
    query.put_list("series_columns", form.columns("series"))
    return [query]


def _calendar(form: Form) -> list[QueryDraft]:
    """Build one bucket for each small box of the calendar."""
    query = base_query(form)
    grain = _CALENDAR_GRAINS.get(str(form.get("subdomain_granularity")))
    if grain is None:
        form.reject("subdomain_granularity", f"must be one of {', '.join(_CALENDAR_GRAINS)}")
    query.put("extras", {**(query.value("extras") or {}), "time_grain_sqla": grain}, "subdomain_granularity")
    query.put("is_timeseries", True, "viz_type")
    return [query]


_CALENDAR_GRAINS: Final = {"min": "PT1M", "hour": "PT1H", "day": "P1D", "week": "P1W", "month": "P1M", "year": "P1Y"}


def _country(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    query.put_list("columns", form.columns("entity")[:1])
    query.put_list("metrics", form.metrics("metric")[:1])
    return [query]


def _parallel(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    decides = form.metrics("timeseries_limit_metric")[:1]
    query.put_list("columns", form.columns("series")[:1])
    query.put_list("metrics", distinct((*query.list("metrics"), *decides), metric_label))
    if form.get("order_desc"):
        query.put_list("orderby", [FormValue([key.value, False], (*key.origin, "order_desc")) for key in decides])
    return [query]


KINDS: Final = (
    ChartKind(name="sankey_v2", build=_sankey, defaults={"row_limit": 10_000}, is_compared=True),
    ChartKind(name="chord", build=_chord, defaults={"row_limit": 10_000}, is_compared=True, note=_OTHER_ENDPOINT),
    ChartKind(name="horizon", build=_horizon, defaults={"row_limit": 10_000}, is_compared=True, note=_OTHER_ENDPOINT),
    ChartKind(
        name="world_map",
        build=_plain,
        defaults={"row_limit": 10_000},
        is_compared=True,
        note=f"{_OTHER_ENDPOINT}; its query has no entity, so that it answers the totals",
    ),
    ChartKind(name="graph_chart", build=_graph, defaults={"row_limit": 10_000}, is_checked=True),
    ChartKind(name="gantt_chart", build=_gantt, defaults={"row_limit": 10_000}, is_checked=True),
    ChartKind(name="cal_heatmap", build=_calendar, defaults={"subdomain_granularity": "day"}, is_checked=True),
    ChartKind(name="country_map", build=_country, is_checked=True),
    ChartKind(name="para", build=_parallel, defaults={"row_limit": 10_000}, is_checked=True),
)
