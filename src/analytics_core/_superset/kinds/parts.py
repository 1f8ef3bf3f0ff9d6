"""Charts of the parts of a whole: pies, treemaps, sunbursts, funnels, gauges, radars, word clouds, waterfalls."""

from __future__ import annotations

from typing import Final

from analytics_core._records.chart_form import metric_label
from analytics_core._superset.base_query import base_query, mark_axis, sort_by_metric
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import Form, FormValue


def _plain(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    sort_by_metric(form, query)
    return [query]


def _pie(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    sort_by_metric(form, query)
    labels = [metric_label(metric.value) for metric in form.metrics("metric")]
    options = {"columns": labels, "rename_columns": [f"{label}__contribution" for label in labels]}
    if labels:
        query.put_steps(FormValue({"operation": "contribution", "options": options}, ("metric",)))
    return [query]


def _treemap(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    if form.flag("sort_by_metric"):
        sort_by_metric(form, query)
    elif form.count("row_limit"):  # a limit without an order takes other groups each time
        _sort_by_names(query, query.list("columns"))
    return [query]


def _sort_by_names(query: QueryDraft, columns: tuple[FormValue, ...]) -> None:
    if columns:
        query.put_list("orderby", (FormValue([column.value, True], column.origin) for column in columns))


def _word_cloud(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    by_metric = form.metrics("metric")[:1] if form.flag("sort_by_metric") else ()
    by_name = form.columns("series")[:1] if form.flag("sort_by_series") else ()
    keys = [
        *(FormValue([key.value, False], (*key.origin, "sort_by_metric")) for key in by_metric),
        *(FormValue([key.value, True], (*key.origin, "sort_by_series")) for key in by_name),
    ]
    if keys and form.count("row_limit"):
        query.put_list("orderby", keys)
    return [query]


def _tree(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    names = {name: form.columns(name) for name in ("id", "parent", "name")}
    query.put_list("columns", (*query.list("columns"), *(column for own in names.values() for column in own)))
    if form.count("row_limit"):
        _sort_by_names(query, (*names["parent"], *names["id"], *names["name"]))
    return [query]


def _radar(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    decides = (*form.metrics("series_limit_metric"), *form.metrics("timeseries_limit_metric"), *query.list("metrics"))
    query.put_list("orderby", (FormValue([key.value, False], key.origin) for key in decides[:1]))
    return [query]


def _waterfall(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    axis = form.columns("x_axis") or form.columns("granularity_sqla")
    columns = (*axis, *form.columns("groupby"))
    query.put_list("columns", columns)
    _sort_by_names(query, columns)
    mark_axis(form, query)
    return [query]


def _bubble(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    query.put_list("columns", (*form.columns("entity"), *form.columns("series")))
    return [query]


KINDS: Final = (
    ChartKind(name="pie", build=_pie, defaults={"row_limit": 100, "sort_by_metric": True}, is_compared=True),
    ChartKind(name="treemap_v2", build=_treemap, defaults={"row_limit": 10_000}, is_compared=True),
    ChartKind(name="sunburst_v2", build=_plain, defaults={"row_limit": 10_000}, is_compared=True),
    ChartKind(name="funnel", build=_plain, defaults={"row_limit": 10, "sort_by_metric": True}, is_compared=True),
    ChartKind(name="gauge_chart", build=_plain, defaults={"row_limit": 10}, is_compared=True),
    ChartKind(name="radar", build=_radar, defaults={"row_limit": 10}, is_checked=True),
    ChartKind(
        name="word_cloud", build=_word_cloud, defaults={"row_limit": 100, "sort_by_series": True}, is_compared=True
    ),
    ChartKind(name="tree_chart", build=_tree, defaults={"row_limit": 1_000}, is_compared=True),
    ChartKind(name="waterfall", build=_waterfall, defaults={"row_limit": 10_000}, is_compared=True),
    ChartKind(name="bubble_v2", build=_bubble, defaults={"row_limit": 10_000}, is_compared=True),
)
