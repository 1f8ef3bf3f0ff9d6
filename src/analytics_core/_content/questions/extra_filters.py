"""Filters and options of the time that stand around a chart: read from lists and data masks, put into its queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from analytics_core._engine.compile.columns import BASE_AXIS, FORECASTS
from analytics_core._superset.base_query import in_brackets, simple_filter
from analytics_core.errors import PayloadSchemaError, Problem, nearest
from analytics_core.models.enums import FilterOperator
from analytics_core.models.parsing import check_text, payload_error, written
from analytics_core.models.query import ChartDataFilter
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once

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
KnowsName = Callable[[Any, str], bool]
"""Tells whether the datasource of a query has a column or metric of this name."""

_NAME_COLUMNS = ("columns", "groupby", "series_columns", "orderby")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraFilters:
    """What is added to each query, and the options that replace those of the query (None: left as they are).

    `conditions` are pairs of `where` or `having` and SQL; `group_by` takes the place of the columns that a chart groups
    by; `unread` names what was given and is not applied, `notes` tell what else an answer should say of them.
    """

    filters: tuple[Mapping[str, Any], ...] = ()
    conditions: tuple[tuple[str, str], ...] = ()
    time_range: str | None = None
    time_grain: str | None = None
    granularity: str | None = None
    relative_start: str | None = None
    relative_end: str | None = None
    url_params: Mapping[str, Any] | None = None
    group_by: tuple[str, ...] | None = None
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def and_then(self, later: ExtraFilters) -> ExtraFilters:
        """Return both together; the options of the later one win."""
        return ExtraFilters(
            filters=(*self.filters, *later.filters),
            conditions=(*self.conditions, *later.conditions),
            url_params={**(self.url_params or {}), **(later.url_params or {})} or None,
            unread=(*self.unread, *later.unread),
            notes=(*self.notes, *later.notes),
            **{name: getattr(later, name) or getattr(self, name) for name in _OPTIONS},
        )


_OPTIONS: Final = ("time_range", "time_grain", "granularity", "relative_start", "relative_end", "group_by")


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


# ------------------------------------------------------------------------------------------------------ data masks
_MASKED: Final[Mapping[str, tuple[str, ...]]] = {
    "time_range": ("time_range",),
    "time_grain": ("time_grain_orm", "time_grain_sqla", "time_grain"),
    "granularity": ("granularity_orm", "granularity_sqla", "granularity", "time_column"),
    "relative_start": ("relative_start",),
    "relative_end": ("relative_end",),
}
_OF_MASKS: Final = frozenset({"filters", "adhoc_filters", *(name for names in _MASKED.values() for name in names)})


def masked_filters(extra: Any) -> ExtraFilters:
    """Return what a data mask (`extraFormData`) asks of a chart; `unread` names the parts that ask nothing here."""
    if not isinstance(extra, Mapping):
        return ExtraFilters()
    options: dict[str, Any] = {name: _first_text(extra, *names) for name, names in _MASKED.items()}
    found = ExtraFilters(unread=tuple(name for name in extra if name not in _OF_MASKS and extra[name]), **options)
    for name, read in (("filters", _plain), ("adhoc_filters", _adhoc)):
        given = extra.get(name) or ()
        for item in given if isinstance(given, list | tuple) else (given,):
            found = found.and_then(read(item) or ExtraFilters(unread=(name,)))
    return found


def _plain(item: Any) -> ExtraFilters | None:
    return ExtraFilters(filters=(item,)) if isinstance(item, Mapping) and "col" in item else None


def _adhoc(item: Any) -> ExtraFilters | None:
    """Return what an ad-hoc filter asks; None for one that cannot be read."""
    if not isinstance(item, Mapping):
        return None
    if item.get("expressionType") == "SQL":
        clause, text = item.get("clause") or "WHERE", item.get("sqlExpression")
        if clause not in ("WHERE", "HAVING") or not isinstance(text, str) or not text:
            return None
        return ExtraFilters(conditions=((clause.lower(), text),))
    simple = simple_filter(item)
    return None if simple is None else ExtraFilters(filters=(simple,))


def _first_text(values: Mapping[str, Any], *names: str) -> str | None:
    return next((values[name] for name in names if isinstance(values.get(name), str)), None)


# ------------------------------------------------------------------------------------------------------- queries
def with_filters(context: Mapping[str, Any], extra: ExtraFilters, knows_name: KnowsName) -> dict[str, Any]:
    """Return a query context whose queries have the filters added at their end and the time options replaced."""
    queries = context.get("queries")
    if not isinstance(queries, list):  # what is malformed stays so, and the query engine says what is wrong
        return dict(context)

    def changed(query: Any) -> Any:
        if not _is_query(query):
            return query
        column = extra.granularity
        if not column or knows_name(query.get("datasource") or context.get("datasource"), column):
            return _query(query, extra)
        # A filter on the column tells of it in the rejected filters, as every filter on a column that is not there.
        not_null = {"col": column, "op": FilterOperator.IS_NOT_NULL.value}
        return _query(query, replace(extra, granularity=None, filters=(*extra.filters, not_null)))

    return {**context, "queries": [changed(query) for query in queries]}


def _is_query(query: Any) -> bool:
    """Tell whether filters can be put into a query; what is malformed stays so, and the query engine says what is."""
    if not isinstance(query, dict) or not isinstance(query.get("filters") or [], list):
        return False
    extras = query.get("extras") or {}
    return isinstance(extras, dict) and all(isinstance(extras.get(name) or "", str) for name in ("where", "having"))


def _query(query: Mapping[str, Any], extra: ExtraFilters) -> dict[str, Any]:
    filters = [*_own_filters(query, extra.time_range), *({**one, "isExtra": True} for one in extra.filters)]
    changed = {**query, "filters": filters} if filters else dict(query)
    if extra.time_range and (query.get("time_range") or _needs_range(filters, extra.time_range)):
        changed["time_range"] = extra.time_range
    if extra.granularity:
        changed = _with_time_column(changed, extra.granularity)
    if extra.url_params:
        own = changed.get("url_params")
        changed["url_params"] = {**(own if isinstance(own, dict) else {}), **extra.url_params}
    changed = _with_extras(changed, extra)
    return _with_grain(changed, extra.time_grain) if extra.time_grain else changed


def _with_time_column(query: Mapping[str, Any], column: str) -> dict[str, Any]:
    """Return a query with another time column, which takes over the range of the column that it takes the place of.

    That column is the x-axis where a TEMPORAL_RANGE filter is on it, which the planner sees to; else that of the first
    of these filters.
    """
    changed = {name: value for name, value in query.items() if name not in _OLD_GRANULARITIES}
    changed["granularity"] = column
    ranges = [one for one in query.get("filters") or () if _is_range(one)]
    named = [one.get("col") for one in ranges]
    if not ranges or column in named or any(axis in named for axis in _axes(query)):
        return changed
    changed["filters"] = [one for one in query["filters"] if not (_is_range(one) and one.get("col") == named[0])]
    text = query.get("time_range") or ranges[0].get("val")
    return {**changed, "time_range": text} if text else changed


def _axes(query: Mapping[str, Any]) -> list[Any]:
    """Return the names of the x-axes of a query; what is malformed stays so."""
    columns = query.get("columns")
    listed = columns if isinstance(columns, list) else []
    return [one.get("sqlExpression") for one in listed if isinstance(one, dict) and one.get("columnType") == BASE_AXIS]


def _with_extras(query: dict[str, Any], extra: ExtraFilters) -> dict[str, Any]:
    """Return a query with further conditions, and other ends of relative time ranges."""
    own = query.get("extras") or {}
    changes: dict[str, Any] = {}
    for clause in ("where", "having"):
        added = [text for of, text in extra.conditions if of == clause]
        if added:
            texts = [own[clause], *added] if own.get(clause) else added
            changes[clause] = " AND ".join(in_brackets(text) for text in texts)
    ends = {"relative_start": extra.relative_start, "relative_end": extra.relative_end}
    changes |= {name: value for name, value in ends.items() if value}
    return {**query, "extras": {**own, **changes}} if changes else query


def _with_grain(query: Mapping[str, Any], grain: str) -> dict[str, Any]:
    """Return a query with another time grain, wherever it names one: its extras, its x-axis and its forecasts."""
    others = query.get("extras") or {}
    extras = {name: value for name, value in others.items() if name not in ("time_grain_sqla", "time_grain_orm")}
    changes = {name: _with_axis_grain(query[name], grain) for name in _NAME_COLUMNS if name in query}
    steps = query.get("post_processing")
    if isinstance(steps, list):
        changes["post_processing"] = [_with_forecast_grain(step, grain) for step in steps]
    return {**query, **changes, "extras": {**extras, "time_grain_orm": grain}}


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
