"""What readers of a chart ask: its stored query context, with the filters of the dashboard that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analytics_core._compile.columns import BASE_AXIS, FORECASTS
from analytics_core._querying.chart_contexts import ChartContexts
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._resources.dashboards.filters import charts_in_scope, layout_of, stored_filters
from analytics_core._resources.reader import Reader
from analytics_core._resources.stored_json import json_object
from analytics_core.errors import NotFoundError, PayloadSchemaError, Problem, QueryError, nearest
from analytics_core.models.parsing import check_text, payload_error, written
from analytics_core.models.query import ChartDataFilter
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once

_SHAPE = "ChartCacheWarmUpRequestSchema"


def context_of_chart(
    reader: Reader,
    contexts: ChartContexts,
    chart_id: int,
    *,
    dashboard_id: int | None,
    extra_filters: GivenFilters,
) -> tuple[Chart, dict[str, Any]]:
    """Return a chart, and the query context that its readers ask.

    Raises:
        QueryError: the chart stores neither a query context nor a form, or one that is no JSON object.
        NotFoundError, ChartAccessError, DashboardAccessError: unknown, or not for this actor.
        PayloadSchemaError: `extra_filters` are no filters.
    """
    given = given_filters(extra_filters, shape=_SHAPE)
    chart = reader.chart(chart_id)
    default = ExtraFilters()
    if dashboard_id is not None:
        dashboard = reader.dashboard(dashboard_id)
        if chart.id not in dashboard.chart_ids:
            raise NotFoundError("chart", chart.id, place=f"on dashboard {dashboard.id}")
        default = dashboard_filters(dashboard, chart.id)
    return chart, with_filters(_context(chart, contexts), default.and_then(given))


def _context(chart: Chart, contexts: ChartContexts) -> dict[str, Any]:
    try:
        content = read_json_once(contexts.of_chart(chart).text)
    except RepeatedKeyError as error:
        raise QueryError(f"the query_context of chart {chart.id} {error}; save one with charts.update") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise QueryError(f"the query_context of chart {chart.id} is no JSON object; save one with charts.update")
    return content


_TIME_OPTIONS = {
    "__time_range": "time_range",
    "__time_grain": "time_grain",
    "__time_col": "granularity",
    "__granularity": "granularity",
}
_OLD_GRANULARITIES = frozenset({"granularity_orm", "granularity_sqla"})
_KEYS = ("col", "op", "val", "grain", "isExtra")
_TEMPORAL_RANGE = "TEMPORAL_RANGE"
_NO_FILTER = "No filter"
GivenFilters = str | Sequence[ChartDataFilter | Mapping[str, Any]] | None
"""Filters to add to the question of a chart, or their JSON text."""
_NAME_COLUMNS = ("columns", "groupby", "series_columns", "orderby")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraFilters:
    """Filters to add to each query, and time options that replace those of the query (None: left as they are)."""

    filters: tuple[Mapping[str, Any], ...] = ()
    time_range: str | None = None
    time_grain: str | None = None
    granularity: str | None = None

    def and_then(self, later: ExtraFilters) -> ExtraFilters:
        """Return both together; the time options of the later one win."""
        return ExtraFilters(
            filters=(*self.filters, *later.filters),
            time_range=later.time_range or self.time_range,
            time_grain=later.time_grain or self.time_grain,
            granularity=later.granularity or self.granularity,
        )


def given_filters(given: GivenFilters, *, shape: str) -> ExtraFilters:
    """Return the filters of a list of `{col, op, val}`, or of its JSON text.

    Raises:
        PayloadSchemaError: it is neither, or a time option is no text.
        PayloadFormatError: it nests too deeply, or a text holds what no engine can take.
    """
    items = _read_list(given, shape)
    check_text(items, shape=shape)
    problems = [
        Problem(path=f"extra_filters.{i}", message=message)
        for i, item in enumerate(items)
        if (message := _problem_of(item)) is not None
    ]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
    options = {name: item.get("val") for item in items if (name := _time_option(item)) is not None}
    return ExtraFilters(filters=tuple(item for item in items if _time_option(item) is None), **options)


def _problem_of(item: Any) -> str | None:
    if not isinstance(item, Mapping) or "col" not in item:
        return 'must be an object such as {"col": "country", "op": "==", "val": "x"}'
    unread = next((name for name in item if name not in _KEYS), None)
    if unread is not None:
        close = nearest(str(unread), _KEYS)
        return f"{unread!r} is no key of a filter; " + (
            f"did you mean {close[0]!r}?" if close else "those are col, op, val"
        )
    if _time_option(item) is not None and not isinstance(item.get("val"), str | None):
        return f"val must be text, for it replaces the query's {_time_option(item)}"
    return None


def _time_option(item: Mapping[str, Any]) -> str | None:
    """Return which time option an item sets; None for a filter."""
    column = item["col"]
    return _TIME_OPTIONS.get(column) if isinstance(column, str) else None


def _read_list(given: GivenFilters, shape: str) -> list[Any]:
    content: Any
    try:
        content = read_json_once(given) if isinstance(given, str) and given else given or []
    except RepeatedKeyError as error:
        raise payload_error(shape, "extra_filters", str(error)) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, list | tuple):
        raise payload_error(shape, "extra_filters", "must be a JSON list of filters {col, op, val}")
    return list(plain_filters(content) or ())


def plain_filters(given: GivenFilters) -> str | list[Mapping[str, Any]] | None:
    """Return filters with mappings for models."""
    if given is None or isinstance(given, str):
        return given
    return [written(item) if isinstance(item, ChartDataFilter) else item for item in given]


# ---------------------------------------------------------------------------------------------------- dashboards
def dashboard_filters(dashboard: Dashboard, chart_id: int) -> ExtraFilters:
    """Return what the filters of a dashboard ask of a chart while nobody has changed them."""
    found, layout = ExtraFilters(), layout_of(dashboard)
    for item in stored_filters(json_object(dashboard.json_metadata)):
        if chart_id in charts_in_scope(item, dashboard, layout):
            found = found.and_then(_default_of(item))
    return found


def _default_of(item: Mapping[str, Any]) -> ExtraFilters:
    mask = item.get("defaultDataMask")
    extra = mask.get("extraFormData") if isinstance(mask, dict) else None
    if not isinstance(extra, dict):
        return ExtraFilters()
    filters = extra.get("filters")
    return ExtraFilters(
        filters=tuple(one for one in filters if isinstance(one, dict)) if isinstance(filters, list) else (),
        time_range=_first_text(extra, "time_range"),
        time_grain=_first_text(extra, "time_grain_orm", "time_grain_sqla", "time_grain"),
        granularity=_first_text(extra, "granularity_orm", "granularity_sqla", "granularity", "time_column"),
    )


def _first_text(values: Mapping[str, Any], *names: str) -> str | None:
    return next((values[name] for name in names if isinstance(values.get(name), str)), None)


# ------------------------------------------------------------------------------------------------------- queries
def with_filters(context: Mapping[str, Any], extra: ExtraFilters) -> dict[str, Any]:
    """Return a query context whose queries have the filters added at their end and the time options replaced."""
    queries = context.get("queries")
    if not isinstance(queries, list):  # what is malformed stays so, and the query engine says what is wrong
        return dict(context)
    return {**context, "queries": [_query(query, extra) if _is_query(query) else query for query in queries]}


def _is_query(query: Any) -> bool:
    return isinstance(query, dict) and isinstance(query.get("filters") or [], list)


def _query(query: Mapping[str, Any], extra: ExtraFilters) -> dict[str, Any]:
    filters = [*_own_filters(query, extra.time_range), *({**one, "isExtra": True} for one in extra.filters)]
    changed = {**query, "filters": filters} if filters else dict(query)
    if extra.time_range and (query.get("time_range") or _needs_range(filters, extra.time_range)):
        changed["time_range"] = extra.time_range
    if extra.granularity:
        changed = {name: value for name, value in changed.items() if name not in _OLD_GRANULARITIES}
        changed |= {"granularity": extra.granularity}
    return _with_grain(changed, extra.time_grain) if extra.time_grain else changed


def _with_grain(query: Mapping[str, Any], grain: str) -> dict[str, Any]:
    """Return a query with another time grain, wherever it names one: its extras, its x-axis and its forecasts."""
    extras = query.get("extras")
    others = extras if isinstance(extras, dict) else {}
    left = {name: value for name, value in others.items() if name not in ("time_grain_sqla", "time_grain_orm")}
    changes = {name: _with_axis_grain(query[name], grain) for name in _NAME_COLUMNS if name in query}
    steps = query.get("post_processing")
    if isinstance(steps, list):
        changes["post_processing"] = [_with_forecast_grain(step, grain) for step in steps]
    return {**query, **changes, "extras": {**left, "time_grain_orm": grain}}


def _with_axis_grain(value: Any, grain: str) -> Any:
    """Return columns, or sort keys of them, in which an x-axis with a grain has this one; others take the extras'."""
    if isinstance(value, list):
        return [_with_axis_grain(item, grain) for item in value]
    if isinstance(value, dict) and value.get("columnType") == BASE_AXIS and value.get("timeGrain"):
        return {**value, "timeGrain": grain}
    return value


def _with_forecast_grain(step: Any, grain: str) -> Any:
    options = step.get("options") if isinstance(step, dict) else None
    if not isinstance(options, dict) or step.get("operation") not in FORECASTS or "time_grain" not in options:
        return step
    return {**step, "options": {**options, "time_grain": grain}}


def _own_filters(query: Mapping[str, Any], time_range: str | None) -> Iterator[Any]:
    """Yield the filters of a query; a time range of the dashboard takes the place of the query's own."""
    for one in query.get("filters") or ():
        yield {**one, "val": time_range} if time_range and _is_range(one) else one


def _needs_range(filters: Sequence[Any], time_range: str) -> bool:
    return time_range != _NO_FILTER and not any(_is_range(one) for one in filters)


def _is_range(one: Any) -> bool:
    return isinstance(one, dict) and str(one.get("op")).strip().upper() == _TEMPORAL_RANGE
