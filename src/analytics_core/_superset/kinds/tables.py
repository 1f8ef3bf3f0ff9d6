"""Tables of rows or groups, and pivot tables."""

from __future__ import annotations

from typing import Final

from analytics_core._records.chart_form import column_label, metric_label
from analytics_core._superset.base_query import NO_LIMIT, base_query, is_temporal, temporal_columns, time_grain
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import Form, FormValue, distinct
from analytics_core._superset.series_steps import Series

_ROWS: Final = "raw"


def _table(form: Form) -> list[QueryDraft]:
    mode = _mode(form)
    query = base_query(form, mode=mode)
    periods = _periods(form, query)
    shares = None if mode == _ROWS else _grouped(form, query)
    compare = Series(form, query.list("metrics"), ()).compare() if periods else None
    query.put_steps(shares, compare)
    query.put_list("time_offsets", periods)
    if mode == _ROWS and not query.list("orderby"):
        query.put_list("orderby", ())
    full_query = query.copy()
    pages = _pages(form, query) if form.flag("server_pagination") else []
    return [query, *pages, *_further(form, full_query, shares)]


def _mode(form: Form) -> str:
    mode = form.one_of("query_mode", (_ROWS, "aggregate"))
    if mode is not None:
        return mode
    return _ROWS if form.items("all_columns") else "aggregate"


def _periods(form: Form, query: QueryDraft) -> tuple[FormValue, ...]:
    """Return the periods that are compared; a dashboard's takes the place of all others, but for rows."""
    masked = form.mapping("extra_form_data").get("time_compare")
    if masked and _mode(form) == _ROWS:
        form.tell("its time_compare is left out, since rows have no metrics to compare", "extra_form_data")
    elif masked:
        return (FormValue(masked, ("extra_form_data",)),)
    return Series(form, query.list("metrics"), ()).periods


def _grouped(form: Form, query: QueryDraft) -> FormValue | None:
    """Complete a query of groups; return the step that makes shares of its percent metrics, if it has some."""
    metrics = query.list("metrics")
    decides = form.metrics("timeseries_limit_metric")[:1]
    if decides:
        keys = [FormValue([key.value, not form.flag("order_desc")], (*key.origin, "order_desc")) for key in decides]
    else:
        keys = [FormValue([key.value, False], key.origin) for key in metrics[:1]]
    query.put_list("orderby", keys)
    _first_time(form, query)
    percents = form.metrics("percent_metrics")
    if not percents:
        return None
    query.put_list("metrics", distinct((*metrics, *percents), metric_label))
    labels = _labels(form, query, percents)
    options = {"columns": labels, "rename_columns": [f"%{label}" for label in labels]}
    return FormValue({"operation": "contribution", "options": options}, ("percent_metrics", "time_compare"))


def _labels(form: Form, query: QueryDraft, percents: tuple[FormValue, ...]) -> list[str]:
    periods = _periods(form, query)
    own = [metric_label(metric.value) for metric in percents]
    return list(dict.fromkeys(name for one in own for name in (one, *(f"{one}__{p.value}" for p in periods))))


def _first_time(form: Form, query: QueryDraft) -> None:
    """Cut the first temporal column of the groups into buckets, and have it come first."""
    grain, lookup = time_grain(form), form.mapping("temporal_columns_lookup")
    columns = query.list("columns")
    first = next((column for column in columns if is_temporal(column, grain, lookup)), None)
    if first is not None:
        others = (column for column in columns if column is not first)
        query.put_list("columns", (*temporal_columns(form, (first,)), *others))


def _pages(form: Form, query: QueryDraft) -> list[QueryDraft]:
    """Limit a query to its first page; return the one that counts the rows of all pages."""
    count = query.copy()
    page = form.count("server_page_length") or NO_LIMIT
    limit = form.count("row_limit") or NO_LIMIT
    query.put("row_limit", min(filter(None, (page, limit)), default=NO_LIMIT), "server_page_length", "row_limit")
    query.put("row_offset", 0, "server_pagination")
    count.put("row_limit", limit, "row_limit")
    count.put("row_offset", 0, "server_pagination")
    count.put_list("time_offsets", ())
    count.put_steps()
    count.put("is_rowcount", True, "server_pagination")
    return [count]


def _further(form: Form, query: QueryDraft, shares: FormValue | None) -> list[QueryDraft]:
    """Return the queries of the whole that shares are of, and of the totals."""
    further = []
    if shares is not None and form.get("percent_metric_calculation") == "all_records":
        full_query = _of_all_rows(query, "percent_metric_calculation")
        full_query.put_list("metrics", form.metrics("percent_metrics"))
        full_query.put_steps()
        full_query.put_list("orderby", ())
        full_query.put("is_timeseries", value=False)
        further.append(full_query)
    if form.flag("show_totals") and query.list("metrics"):
        totals = _of_all_rows(query, "show_totals")
        totals.put_steps(shares)
        totals.drop("order_desc", "orderby")
        if shares is not None:
            form.tell("the row of totals has the shares too; Superset 6.1 leaves them out", "show_totals")
        further.append(totals)
    return further


def _of_all_rows(query: QueryDraft, origin: str) -> QueryDraft:
    full_query = query.copy()
    full_query.put_list("columns", ())
    full_query.put("row_limit", NO_LIMIT, origin)
    full_query.put("row_offset", 0, origin)
    return full_query


def _pivot_table(form: Form) -> list[QueryDraft]:
    query = base_query(form)
    columns = (*form.columns("groupbyColumns"), *form.columns("groupbyRows"))
    query.put_list("columns", temporal_columns(form, distinct(columns, column_label)))
    decides = (*form.metrics("series_limit_metric"), *form.metrics("timeseries_limit_metric"), *query.list("metrics"))
    ascending = not query.value("order_desc")
    keys = [FormValue([key.value, ascending], (*key.origin, "order_desc")) for key in decides[:1]]
    query.drop("orderby")
    if keys:
        query.put_list("orderby", keys)
    return [query]


_DEFAULTS: Final = {"row_limit": 10_000, "order_desc": True}

KINDS: Final = (
    ChartKind(name="table", build=_table, defaults=_DEFAULTS, is_compared=True),
    ChartKind(name="ag-grid-table", build=_table, defaults=_DEFAULTS, is_checked=True),
    ChartKind(name="pivot_table_v2", build=_pivot_table, defaults=_DEFAULTS, is_compared=True),
)
