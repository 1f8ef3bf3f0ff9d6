"""What the queries of all chart kinds have in common: time, filters, columns, metrics, sort keys and limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from analytics_core._records.chart_form import column_label, metric_label
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.form import (
    Form,
    FormValue,
    distinct,
    is_column,
    is_metric,
    is_object,
)

_METRIC_FIELDS: Final = ("metrics", "metric", "metric_2", "secondary_metric", "x", "y", "size")
_AMBIGUOUS: Final = frozenset({"x", "y", "size"})
"""Fields of metrics that hold something else on some kinds."""

_GROUP_FIELDS: Final = ("groupby", "series")
_COLUMN_FIELDS: Final = ("columns", "all_columns")
_UNARY: Final = frozenset({"IS NULL", "IS NOT NULL", "IS TRUE", "IS FALSE"})
_EXTRA_TIME: Final = {
    "__time_range": "time_range",
    "__time_col": "granularity",
    "__time_grain": "time_grain_sqla",
    "__granularity": "granularity",
}
"""The columns of old dashboard filters (`extra_filters`) that set an option of the time."""

_OF_CLIENTS: Final = ("url_params", "custom_params")
_EXTRA_OPTIONS: Final = ("relative_start", "relative_end")
_NO_CONDITION: Final = FormValue("")
NO_LIMIT: Final = 0


class _DashboardPart(NamedTuple):
    """What a dashboard adds to a form: its data mask (`extra_form_data`), and its old filters in two parts.

    `old_times` holds the option of the time and its value, by the column of the filter that says so.
    """

    mask: Mapping[str, Any]
    old_filters: Sequence[FormValue] = ()
    old_times: Mapping[str, tuple[str, Any]] = {}


def base_query(form: Form, *, mode: str | None = None) -> QueryDraft:
    """Return the query that a form asks whatever its kind is; `mode` is `aggregate` or `raw` where a kind has both."""
    query, mode = QueryDraft(), mode or form.get("query_mode")
    around = _around(form)
    _times(form, query, around)
    _conditions(form, query, around)
    if around.old_times:
        query.put("applied_time_extras", {name: value for name, (_, value) in around.old_times.items()})
    query.put_list("columns", distinct(_columns(form, mode), column_label))
    if mode != "raw":
        query.put_list("metrics", distinct(_each(form, form.metrics, _METRIC_FIELDS), metric_label))
    _sort_keys(form, query)
    if form.get("annotation_layers"):
        query.put_list("annotation_layers", form.items("annotation_layers"))
    _limits(form, query)
    query.put("order_desc", form.get("order_desc") if form.has("order_desc") else True, form.name("order_desc"))
    for name in _OF_CLIENTS:
        if form.get(name):
            query.put(name, form.mapping(name), name)
    if around.mask.get("custom_form_data"):
        query.put("custom_form_data", around.mask["custom_form_data"], "extra_form_data")
    return query


def has_axis(form: Form) -> bool:
    """Tell whether a form names its x-axis, as charts do since their axis can be any column."""
    axis = form.get("x_axis")
    return axis is not None and axis != "" and is_column(axis)


def axis_columns(form: Form) -> tuple[FormValue, ...]:
    """Return the column of the x-axis as a list of one, empty where the form names none."""
    return form.columns("x_axis")[:1]


def axis_label(form: Form) -> str | None:
    """Return the label under which the x-axis comes back; None where the form names neither axis nor time column."""
    if has_axis(form):
        return column_label(form.get("x_axis"))
    return "__timestamp" if form.get("granularity_sqla") else None


def time_grain(form: Form) -> Any:
    """Return the time grain of a form; a dashboard's takes the place of its own."""
    return form.mapping("extra_form_data").get("time_grain_sqla") or form.get("time_grain_sqla")


def axis_grain(form: Form, query: QueryDraft) -> FormValue:
    """Return the time grain that cuts the x-axis of a query: the one that the axis names itself, or the query's."""
    axis = form.get("x_axis")
    if is_object(axis) and axis.get("timeGrain"):
        return FormValue(axis["timeGrain"], (form.name("x_axis"),))
    return FormValue((query.value("extras") or {}).get("time_grain_sqla"), ("time_grain_sqla",))


def temporal_columns(form: Form, columns: Iterable[FormValue]) -> tuple[FormValue, ...]:
    """Return columns in which the temporal ones, as the form knows them, are cut into buckets of its grain."""
    grain, lookup = time_grain(form), form.mapping("temporal_columns_lookup")
    return tuple(_in_buckets(column, grain) if is_temporal(column, grain, lookup) else column for column in columns)


def is_temporal(column: FormValue, grain: Any, lookup: Mapping[str, Any]) -> bool:
    """Tell whether a column is one of time that a grain cuts."""
    return bool(grain and isinstance(column.value, str) and lookup.get(column.value))


def _in_buckets(column: FormValue, grain: Any) -> FormValue:
    cut = {
        "timeGrain": grain,
        "columnType": "BASE_AXIS",
        "sqlExpression": column.value,
        "label": column.value,
        "expressionType": "SQL",
    }
    return FormValue(cut, (*column.origin, "time_grain_sqla"))


def mark_axis(form: Form, query: QueryDraft) -> None:
    """Mark the column of the x-axis in a query, with the grain that cuts it; without an axis nothing is marked."""
    if not has_axis(form):
        return
    axis = form.get("x_axis")
    columns = query.list("columns")
    place = next((i for i, column in enumerate(columns) if _is_axis(column.value, axis)), None)
    if place is None:
        return
    extras = query.value("extras") or {}
    grain = {"timeGrain": extras["time_grain_sqla"]} if "time_grain_sqla" in extras else {}
    if isinstance(axis, str):
        axis_column = {
            "columnType": "BASE_AXIS",
            "sqlExpression": axis,
            "label": axis,
            "expressionType": "SQL",
            "isColumnReference": True,
        }
    else:
        axis_column = {**axis, "columnType": "BASE_AXIS"}
    marked = FormValue({**grain, **axis_column}, (form.name("x_axis"), *(("time_grain_sqla",) if grain else ())))
    query.put_list("columns", (*columns[:place], marked, *columns[place + 1 :]))


def _is_axis(column: Any, axis: Any) -> bool:
    if isinstance(column, str) or isinstance(axis, str):
        return bool(column == axis)
    return bool(column.get("sqlExpression") == axis.get("sqlExpression"))


def sorted_by_default(form: Form, query: QueryDraft) -> tuple[FormValue, ...]:
    """Return the sort keys of a query, or those of the metric that decides on its series, or of its first metric."""
    own = query.list("orderby")
    if own and isinstance(own[0].value, list | tuple) and len(own[0].value) == 2 and own[0].value[0]:
        return own
    ascending = not query.value("order_desc")
    first = deciding_metric(form) or query.list("metrics")[:1]
    return tuple(FormValue([key.value, ascending], (*key.origin, "order_desc")) for key in first)


def sort_by_metric(form: Form, query: QueryDraft) -> None:
    """Sort a query by its metric, the largest first, where the form says so."""
    if form.flag("sort_by_metric"):
        put_largest_first(form, query, "sort_by_metric")


def put_largest_first(form: Form, query: QueryDraft, *origin: str) -> None:
    """Sort a query by the metric of its form, the largest first."""
    metric = form.metrics("metric")[:1]
    query.put_list("orderby", (FormValue([key.value, False], (*key.origin, *origin)) for key in metric))


# ----------------------------------------------------------------------------------------------------------- time
def _around(form: Form) -> _DashboardPart:
    mask = form.mapping("extra_form_data")
    if not form.get("extra_filters"):
        return _DashboardPart(mask)
    filters, times = [], {}
    for item in _objects(form, "extra_filters"):
        column = item.value.get("col")
        if isinstance(column, str) and column in _EXTRA_TIME:
            times[column] = (_EXTRA_TIME[column], item.value.get("val"))
        else:
            filters.append(item)
    return _DashboardPart(mask, filters, times)


def _times(form: Form, query: QueryDraft, around: _DashboardPart) -> None:
    """Put the time range and the time column; what a dashboard says of them wins."""
    old_times = dict(around.old_times.values())
    if own := form.text("time_range"):
        query.put("time_range", own, form.name("time_range"))
    for field in ("granularity", "granularity_sqla"):
        if form.has(field) and (form.get(field) or query.value("granularity") is None):
            query.put("granularity", form.get(field) or None, form.name(field))
    for name in ("time_range", "granularity"):
        if old_times.get(name):
            query.put(name, old_times[name], "extra_filters")
    mask = around.mask
    if not mask:
        return
    if mask.get("time_range"):
        query.put("time_range", mask["time_range"], "extra_form_data")
    column = mask.get("granularity") or mask.get("granularity_sqla") or mask.get("time_column")
    if column:
        query.put("granularity", column, "extra_form_data")


# -------------------------------------------------------------------------------- filters and conditions in SQL
def _conditions(form: Form, query: QueryDraft, around: _DashboardPart) -> None:
    """Put the filters, and the conditions in SQL beside the options of the time."""
    filters = [*around.old_filters, *_masked(form, around, "filters")]
    where = [FormValue(own, (form.name("where"),))] if (own := form.text("where")) else []
    having: list[FormValue] = []
    for item in (*_objects(form, "adhoc_filters"), *_masked(form, around, "adhoc_filters")):
        kind, clause = item.value.get("expressionType"), item.value.get("clause") or "WHERE"
        if kind == "SIMPLE" and clause == "WHERE":
            _add_filter(form, item, filters)
        elif kind == "SQL" and clause in ("WHERE", "HAVING"):
            _add_text(form, item, where if clause == "WHERE" else having)
        elif kind == "SIMPLE" and clause == "HAVING":
            form.reject(item.origin[0], "a condition on a metric must be SQL: expressionType SQL and sqlExpression")
        else:
            form.reject(item.origin[0], "must have the expressionType SIMPLE or SQL and the clause WHERE or HAVING")
    query.put_list("filters", filters)
    extras = _time_options(form, around)
    extras["having"], extras["where"] = _joined(having), _joined(where)
    query.put_object("extras", extras)


def _time_options(form: Form, around: _DashboardPart) -> dict[str, FormValue]:
    if not around.mask and not around.old_times:
        if not form.has("time_grain_sqla"):
            return {}
        return {"time_grain_sqla": FormValue(form.get("time_grain_sqla"), (form.name("time_grain_sqla"),))}
    mask, old_times = around.mask, dict(around.old_times.values())
    found = {name: FormValue(mask[name], ("extra_form_data",)) for name in _EXTRA_OPTIONS if mask.get(name)}
    if grain := mask.get("time_grain_sqla") or mask.get("time_grain"):
        found["time_grain_sqla"] = FormValue(grain, ("extra_form_data",))
    elif old_times.get("time_grain_sqla"):
        found["time_grain_sqla"] = FormValue(old_times["time_grain_sqla"], ("extra_filters",))
    elif form.has("time_grain_sqla"):
        found["time_grain_sqla"] = FormValue(form.get("time_grain_sqla"), (form.name("time_grain_sqla"),))
    return found


def _objects(form: Form, name: str) -> Iterator[FormValue]:
    for place, item in enumerate(form.listed(name)):
        if is_object(item):
            yield FormValue(item, (f"{form.name(name)}.{place}",))
        else:
            form.reject(f"{name}.{place}", "must be a filter object")


def _masked(form: Form, around: _DashboardPart, name: str) -> Iterator[FormValue]:
    """Yield the filters of a data mask."""
    given = around.mask.get(name) or ()
    for one in given if isinstance(given, list | tuple) else (given,):
        if is_object(one):
            yield FormValue(one, ("extra_form_data",))
        else:
            form.reject("extra_form_data", f"its {name} must be a list of filter objects")


def _add_filter(form: Form, item: FormValue, filters: list[FormValue]) -> None:
    found = simple_filter(item.value)
    if found is None:
        form.reject(item.origin[0], "must name its subject, a column, and its operator")
    else:
        filters.append(FormValue(found, item.origin))


def _add_text(form: Form, item: FormValue, conditions: list[FormValue]) -> None:
    if isinstance(item.value.get("sqlExpression"), str):
        conditions.append(FormValue(item.value["sqlExpression"], item.origin))
    else:
        form.reject(item.origin[0], "must hold its condition as sqlExpression")


def _joined(conditions: Sequence[FormValue]) -> FormValue:
    if not conditions:
        return _NO_CONDITION
    text = " AND ".join([in_brackets(item.value) for item in conditions])
    return FormValue(text, tuple([name for item in conditions for name in item.origin]))


def simple_filter(condition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an editor's comparison of a column as a query has it; None where it names no column or no operator."""
    operator = condition.get("operator")
    if not is_column(condition.get("subject")) or not isinstance(operator, str):
        return None
    extra = {"isExtra": True} if condition.get("isExtra") else {}
    if operator in _UNARY:
        return {"col": condition["subject"], "op": operator, **extra}
    return {"col": condition["subject"], "op": operator, "val": condition.get("comparator"), **extra}


def in_brackets(condition: str) -> str:
    """Return a condition in brackets, which a comment at its end must not swallow."""
    return f"({condition}\n)" if "--" in condition else f"({condition})"


# ------------------------------------------------------------------------------------ columns, sort keys and limits
def _each(form: Form, read: Callable[[str], tuple[FormValue, ...]], names: Iterable[str]) -> tuple[FormValue, ...]:
    found: tuple[FormValue, ...] = ()
    for name in names:
        value = form.get(name)
        if value is None or value == "" or (name in _AMBIGUOUS and not _is_of_metrics(value)):
            continue
        found += read(name)
    return found


def _is_of_metrics(value: Any) -> bool:
    listed = value if isinstance(value, list | tuple) else (value,)
    return any(is_metric(item) for item in listed)


def _columns(form: Form, mode: str | None) -> tuple[FormValue, ...]:
    groups = _each(form, form.columns, _GROUP_FIELDS) if mode != "raw" else ()
    return groups if mode == "aggregate" else groups + _each(form, form.columns, _COLUMN_FIELDS)


def _sort_keys(form: Form, query: QueryDraft) -> None:
    if form.get("order_by_cols"):
        keys = [_sort_key(form, place, item) for place, item in enumerate(form.items("order_by_cols"))]
        query.put_list("orderby", [key for key in keys if key is not None])


def _sort_key(form: Form, place: int, item: FormValue) -> FormValue | None:
    """Return a sort key, which editors store as JSON text of a pair."""
    pair = item.value
    try:
        pair = json.loads(pair) if isinstance(pair, str) else pair
    except (ValueError, RecursionError):
        pair = None
    if isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[1], bool):
        return FormValue(list(pair), item.origin)
    form.reject(f"order_by_cols.{place}", 'must be a pair of a column and true for ascending, such as ["sales", false]')
    return None


def _limits(form: Form, query: QueryDraft) -> None:
    for name in ("row_limit", "row_offset"):
        limit = form.count(name)
        if limit is not None:
            query.put(name, limit, form.name(name))
    if form.get("series_columns") is not None:
        query.put_list("series_columns", form.columns("series_columns"))
    series = form.count("series_limit")
    origin = "series_limit"
    if series is None:
        series, origin = form.count("limit") or NO_LIMIT, "limit"
    query.put("series_limit", series, form.name(origin))
    decides = deciding_metric(form)
    if decides:
        query.put("series_limit_metric", decides[0].value, *decides[0].origin)
    name = "group_others_when_limit_reached"
    query.put(name, form.flag(name), form.name(name))


def deciding_metric(form: Form) -> tuple[FormValue, ...]:
    """Return the metric by which series are chosen and sorted as a list of one, empty where the form names none."""
    return (form.metrics("series_limit_metric") or form.metrics("timeseries_limit_metric"))[:1]
