"""What the queries of all chart kinds have in common: time, filters, columns, metrics, sort keys and limits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from analytics_core._formdata.draft import QueryDraft
from analytics_core._formdata.form import (
    Form,
    FormValue,
    column_label,
    distinct,
    is_column,
    is_metric,
    metric_label,
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

_EXTRA_OPTIONS: Final = ("relative_start", "relative_end")
NO_LIMIT: Final = 0


def base_query(form: Form, *, mode: str | None = None) -> QueryDraft:
    """Return the query that a form asks whatever its kind is; `mode` is `aggregate` or `raw` where a kind has both."""
    query = QueryDraft()
    masked = form.mapping("extra_form_data")
    old_times = _times(form, query, masked)
    query.put_list("filters", (*_extra_filters(form, masked), *_simple_filters(form, masked)))
    _extras(form, query, masked, old_times)
    query.put("applied_time_extras", {name: value for name, (_, value) in old_times.items()})
    query.put_list("columns", distinct((*_columns(form, mode),), column_label))
    if mode != "raw":
        query.put_list("metrics", distinct((*_each(form.metrics, _METRIC_FIELDS, form),), metric_label))
    _sort_keys(form, query)
    query.put_list("annotation_layers", form.items("annotation_layers"))
    _limits(form, query)
    query.put("order_desc", True if not form.has("order_desc") else form.get("order_desc"), form.name("order_desc"))
    query.put("url_params", form.mapping("url_params"), "url_params")
    query.put("custom_params", form.mapping("custom_params"), "custom_params")
    query.put("custom_form_data", masked.get("custom_form_data") or {}, "extra_form_data")
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
        told = {
            "columnType": "BASE_AXIS",
            "sqlExpression": axis,
            "label": axis,
            "expressionType": "SQL",
            "isColumnReference": True,
        }
    else:
        told = {**axis, "columnType": "BASE_AXIS"}
    marked = FormValue({**grain, **told}, (form.name("x_axis"), *(("time_grain_sqla",) if grain else ())))
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
    limit = form.metrics("series_limit_metric") or form.metrics("timeseries_limit_metric")
    first = limit[:1] or query.list("metrics")[:1]
    return tuple(FormValue([key.value, ascending], (*key.origin, "order_desc")) for key in first)


# ----------------------------------------------------------------------------------------------------------- time
def _times(form: Form, query: QueryDraft, masked: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """Put the time range and the time column; return what old filters of a dashboard say of the time."""
    old = {
        item.value["col"]: (_EXTRA_TIME[item.value["col"]], item.value.get("val"))
        for item in _objects(form, "extra_filters")
        if item.value.get("col") in _EXTRA_TIME
    }
    told = dict(old.values())
    for name, value, origin in (
        ("time_range", form.text("time_range"), form.name("time_range")),
        ("time_range", told.get("time_range"), "extra_filters"),
        ("time_range", masked.get("time_range"), "extra_form_data"),
    ):
        if value:
            query.put(name, value, origin)
    _time_column(form, query, told, masked)
    return old


def _time_column(form: Form, query: QueryDraft, told: Mapping[str, Any], masked: Mapping[str, Any]) -> None:
    for field in ("granularity", "granularity_sqla"):
        if form.has(field) and (form.get(field) or query.value("granularity") is None):
            query.put("granularity", form.get(field) or None, form.name(field))
    if told.get("granularity"):
        query.put("granularity", told["granularity"], "extra_filters")
    dashboard = masked.get("granularity") or masked.get("granularity_sqla") or masked.get("time_column")
    if dashboard:
        query.put("granularity", dashboard, "extra_form_data")


def _extras(form: Form, query: QueryDraft, masked: Mapping[str, Any], old: Mapping[str, tuple[str, Any]]) -> None:
    """Put the conditions in SQL and the options of the time."""
    extras: dict[str, Any] = {}
    told = dict(old.values())
    if form.has("time_grain_sqla"):
        extras["time_grain_sqla"] = form.get("time_grain_sqla")
    grain = masked.get("time_grain_sqla") or masked.get("time_grain") or told.get("time_grain_sqla")
    if grain:
        extras["time_grain_sqla"] = grain
    for clause in ("HAVING", "WHERE"):
        extras[clause.lower()] = " AND ".join(_in_brackets(text) for text in _sql_conditions(form, masked, clause))
    extras |= {name: masked[name] for name in _EXTRA_OPTIONS if masked.get(name)}
    query.put("extras", extras, "adhoc_filters", "time_grain_sqla", "extra_form_data")


# -------------------------------------------------------------------------------------------------------- filters
def _extra_filters(form: Form, masked: Mapping[str, Any]) -> Iterator[FormValue]:
    for item in _objects(form, "extra_filters"):
        if item.value.get("col") not in _EXTRA_TIME:
            yield item
    for one in masked.get("filters") or ():
        yield FormValue(one, ("extra_form_data",))


def _objects(form: Form, name: str) -> Iterator[FormValue]:
    for place, item in enumerate(form.items(name)):
        if isinstance(item.value, Mapping):
            yield FormValue(item.value, (f"{form.name(name)}.{place}",))
        else:
            form.reject(f"{name}.{place}", "must be a filter object")


def _adhoc_filters(form: Form, masked: Mapping[str, Any]) -> Iterator[FormValue]:
    yield from _objects(form, "adhoc_filters")
    for one in masked.get("adhoc_filters") or ():
        yield FormValue(one, ("extra_form_data",))


def _simple_filters(form: Form, masked: Mapping[str, Any]) -> Iterator[FormValue]:
    """Yield the filters that compare a column; those on metrics, which no editor offers any more, are rejected."""
    for item in _adhoc_filters(form, masked):
        told = item.value
        if told.get("expressionType") != "SIMPLE":
            continue
        if told.get("clause") == "HAVING":
            form.reject(item.origin[0], "a condition on a metric must be SQL: expressionType SQL and sqlExpression")
        elif not is_column(told.get("subject")) or not isinstance(told.get("operator"), str):
            form.reject(item.origin[0], "must name its subject, a column, and its operator")
        else:
            yield FormValue(_filter(told), item.origin)


def _filter(told: Mapping[str, Any]) -> dict[str, Any]:
    operator = told["operator"]
    extra = {"isExtra": True} if told.get("isExtra") else {}
    if operator in _UNARY:
        return {"col": told["subject"], "op": operator, **extra}
    return {"col": told["subject"], "op": operator, "val": told.get("comparator"), **extra}


def _sql_conditions(form: Form, masked: Mapping[str, Any], clause: str) -> Iterator[str]:
    if clause == "WHERE" and (own := form.text("where")):
        yield own
    for item in _adhoc_filters(form, masked):
        told = item.value
        if told.get("expressionType") == "SQL" and told.get("clause", "WHERE") == clause:
            if isinstance(told.get("sqlExpression"), str):
                yield told["sqlExpression"]
            else:
                form.reject(item.origin[0], "must hold its condition as sqlExpression")


def _in_brackets(condition: str) -> str:
    """Return a condition in brackets, which a comment at its end must not swallow."""
    return f"({condition}\n)" if "--" in condition else f"({condition})"


# ------------------------------------------------------------------------------------ columns, sort keys and limits
def _each(read: Any, names: Iterable[str], form: Form) -> Iterator[FormValue]:
    for name in names:
        value = form.get(name)
        if value is None or value == "" or (name in _AMBIGUOUS and not _is_of_metrics(value)):
            continue
        yield from read(name)


def _is_of_metrics(value: Any) -> bool:
    listed = value if isinstance(value, list | tuple) else (value,)
    return any(is_metric(item) for item in listed)


def _columns(form: Form, mode: str | None) -> Iterator[FormValue]:
    if mode != "raw":
        yield from _each(form.columns, _GROUP_FIELDS, form)
    if mode != "aggregate":
        yield from _each(form.columns, _COLUMN_FIELDS, form)


def _sort_keys(form: Form, query: QueryDraft) -> None:
    keys = tuple(_sort_key(form, place, item) for place, item in enumerate(form.items("order_by_cols")))
    if keys:
        query.put_list("orderby", keys)


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
    if form.has("series_columns") and form.get("series_columns") is not None:
        query.put_list("series_columns", form.columns("series_columns"))
    series = form.count("series_limit")
    origin = "series_limit"
    if series is None:
        series, origin = form.count("limit") or NO_LIMIT, "limit"
    query.put("series_limit", series, form.name(origin))
    decides = (*form.metrics("series_limit_metric"), *form.metrics("timeseries_limit_metric"))[:1]
    if decides:
        query.put("series_limit_metric", decides[0].value, *decides[0].origin)
    name = "group_others_when_limit_reached"
    query.put(name, form.flag(name), form.name(name))
