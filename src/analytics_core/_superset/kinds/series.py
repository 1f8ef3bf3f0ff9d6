"""Charts of series along an axis: lines, bars, areas, two of them in one, numbers with a trend, numbers over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from analytics_core._records.chart_form import metric_label
from analytics_core._superset.base_query import (
    axis_columns,
    axis_grain,
    base_query,
    has_axis,
    mark_axis,
    sorted_by_default,
    time_grain,
)
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.field_names import QUERY_WORDS
from analytics_core._superset.form import Form, FormValue, distinct
from analytics_core._superset.series_steps import FLATTEN, Series

_DEFAULTS: Final = {"row_limit": 10_000, "show_empty_columns": True, "truncate_metric": True}


def _series(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    dimensions = query.list("series_columns") or query.list("columns")
    further = _sorting_metrics(form)
    query.put_list("metrics", (*query.list("metrics"), *further))
    steps = Series(form, query.list("metrics"), dimensions)
    _place(form, query)
    query.put_list("orderby", sorted_by_default(form, query))
    if not query.list("orderby"):
        query.drop("orderby")
    query.put_list("time_offsets", steps.periods)
    last = (steps.sort(), FLATTEN, _forecast(form, query, steps))
    query.put_steps(*_first_steps(form, steps), steps.share(), *last)
    mark_axis(form, query)
    return [query]


def _forecast(form: Form, query: QueryDraft, steps: Series) -> FormValue | None:
    grain = axis_grain(form, query)
    step = steps.forecast(grain)
    if step is not None and grain.value != time_grain(form):
        what = "the forecast goes at the pace of the axis; Superset takes the grain of the form"
        form.tell(what, "x_axis", "granularity_sqla")
    return step


def _sorting_metrics(form: Form) -> tuple[FormValue, ...]:
    """Return the metric that only sorts the axis, if there is one."""
    key = form.get("x_axis_sort")
    labels = {metric_label(metric.value) for metric in form.metrics("metrics")}
    decides = form.metrics("timeseries_limit_metric")[:1]
    return tuple(one for one in decides if metric_label(one.value) == key and key not in labels)


def _place(form: Form, query: QueryDraft) -> None:
    """Put the axis before the dimensions; without one, the time column is the axis."""
    groups = form.columns("groupby")
    query.put_list("columns", (*(axis_columns(form) if has_axis(form) else ()), *groups))
    query.put_list("series_columns", groups)
    if not has_axis(form):
        query.put("is_timeseries", True, "x_axis")


def _first_steps(form: Form, steps: Series) -> Iterable[FormValue | None]:
    return steps.pivot(), *_on_filled(form, steps, steps.window(), steps.compare()), steps.rename()


def _on_filled(form: Form, steps: Series, *computed: FormValue | None) -> Iterable[FormValue | None]:
    """Return steps behind the one that fills gaps: windows and differences see what fills them."""
    filled = steps.resample()
    if filled is not None and any(computed):
        form.tell(_FILLED_FIRST, "resample_rule", "resample_method")
    return filled, *computed


_FILLED_FIRST: Final = "gaps are filled before windows and comparisons are computed; Superset 6.1 fills them after"


def _mixed(form: Form) -> list[QueryDraft]:
    return [_half(form), _half(form.second(_SECOND, own=_OF_A_HALF, defaults=_DEFAULTS))]


def _half(form: Form) -> QueryDraft:
    query = base_query(form)
    steps = Series(form, query.list("metrics"), query.list("series_columns") or query.list("columns"))
    _place(form, query)
    query.put_list("time_offsets", steps.periods)
    query.put_steps(*_first_steps(form, steps), FLATTEN)
    query.put_list("orderby", sorted_by_default(form, query))
    mark_axis(form, query)
    return query


def _big_number(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    steps = Series(form, query.list("metrics"), query.list("columns"))
    query.put_list("columns", axis_columns(form) if has_axis(form) else query.list("columns"))
    if not has_axis(form):
        query.put("is_timeseries", True, "x_axis")
    query.put_steps(steps.pivot(), *_on_filled(form, steps, steps.window()), FLATTEN)
    mark_axis(form, query)
    if form.get("aggregation") != "raw":
        if form.get("aggregation") != "LAST_VALUE":
            form.tell("left to whoever draws it; the rows of the trend are answered", "aggregation")
        return [query]
    total_query = base_query(form)
    total_query.put_list("columns", ())
    total_query.put("is_timeseries", False, "aggregation")
    total_query.put_steps()
    return [query, total_query]


def _big_number_total(form: Form) -> list[QueryDraft]:
    return [base_query(form)]


def _period_over_period(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    steps = Series(form, query.list("metrics"), ())
    query.put_list("columns", (*query.list("columns"), *form.columns("cols")))
    query.put_steps(steps.compare())
    query.put_list("time_offsets", steps.periods)
    return [query]


def _rose(form: Form) -> list[QueryDraft]:
    query = _of_old_endpoint(form)
    query.put("is_timeseries", True, "viz_type")
    steps = Series(form, query.list("metrics"), query.list("columns"))
    query.put_list("time_offsets", steps.periods)
    query.put_steps(steps.pivot(), steps.resample(), steps.window(), steps.share_of_total(), steps.compare(), FLATTEN)
    return [query]


def _partition(form: Form) -> list[QueryDraft]:
    query = _of_old_endpoint(form)
    option = form.get("time_series_option")
    if option not in (None, _NOT_TIME):
        query.put("is_timeseries", True, "time_series_option")
    if option not in (None, _NOT_TIME, "time_series"):
        form.tell("its rows are not computed; the series over time are asked", "time_series_option")
    set_ones = (group for group in _ADVANCED if form.get(group[0]) not in (None, "", "None", []))
    form.tell("not computed for this kind", "contribution", *(name for group in set_ones for name in group))
    return [query]


def _of_old_endpoint(form: Form) -> QueryDraft:
    """Return the query of a kind that is drawn of series from an older endpoint: sorted by what decides on series."""
    query = base_query(form)
    decides = form.metrics("timeseries_limit_metric")[:1]
    query.put_list("metrics", distinct((*query.list("metrics"), *decides), metric_label))
    keys = decides or query.list("metrics")[:1]
    ascending = not query.value("order_desc")
    query.put_list("orderby", [FormValue([key.value, ascending], (*key.origin, "order_desc")) for key in keys])
    return query


_NOT_TIME: Final = "not_time"
_ADVANCED: Final = (
    ("rolling_type", "rolling_periods", "min_periods"),
    ("time_compare", "comparison_type"),
    ("resample_rule", "resample_method"),
)
"""What older kinds compute of their rows, each with its options behind it."""

_LINES: Final = (
    *("echarts_timeseries", "echarts_timeseries_smooth", "echarts_timeseries_step", "echarts_timeseries_scatter"),
)
_COMPARED: Final = ("echarts_timeseries_line", "echarts_timeseries_bar", "echarts_area")

_OF_A_HALF: Final = (
    *("groupby", "limit", "series_limit", "timeseries_limit_metric", "series_limit_metric", "order_desc"),
    *("order_by_cols", "row_limit", "group_others_when_limit_reached", "truncate_metric", "show_empty_columns"),
    *("rolling_type", "rolling_periods", "min_periods", "time_compare", "comparison_type", "start_date_offset"),
    *("resample_rule", "resample_method"),
)
"""What a half of a mixed chart says of itself alone: where the second says nothing, the first does not stand for it."""

_SECOND: Final = "_b"
_OF_SECOND: Final = frozenset(f"{name}{_SECOND}" for name in QUERY_WORDS)
"""The fields of the second half of a mixed chart."""

KINDS: Final = (
    *(ChartKind(name=name, build=_series, defaults=_DEFAULTS, is_checked=True) for name in _LINES),
    *(ChartKind(name=name, build=_series, defaults=_DEFAULTS, is_compared=True) for name in _COMPARED),
    ChartKind(name="mixed_timeseries", build=_mixed, defaults=_DEFAULTS, is_checked=True, fields=_OF_SECOND),
    ChartKind(name="big_number", build=_big_number, is_compared=True),
    ChartKind(name="big_number_total", build=_big_number_total, is_compared=True),
    ChartKind(name="pop_kpi", build=_period_over_period, is_checked=True),
    ChartKind(name="rose", build=_rose, defaults={"row_limit": 10_000, "show_empty_columns": True}, is_checked=True),
    ChartKind(
        name="partition",
        build=_partition,
        defaults={"row_limit": 10_000},
        is_checked=True,
        note="it asks for the groups of all levels; the sums of the levels above are left to whoever draws it",
    ),
)
