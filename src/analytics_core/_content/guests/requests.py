"""A guest's query context beside the stored one: only declared filters, the order and the page may differ; pure.

What runs is the stored context with the changes that were recognised, never the guest's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from analytics_core._content.questions.dashboard_filters import DeclaredFilter
from analytics_core._engine.compile.columns import (
    axis_column,
    axis_name,
    column_label,
    is_axis,
    parse_grain,
    query_grain,
    time_grain,
    with_grain,
)
from analytics_core._engine.compile.metrics import metric_label
from analytics_core.errors import GuestAccessError
from analytics_core.models.enums import FilterOperator, ResultFormat, ResultType
from analytics_core.models.query import (
    ChartDataExtras,
    ChartDataFilter,
    ChartDataQueryContext,
    ChartDataQueryObject,
)

_READ_BESIDE: Final = frozenset({"queries", "form_data", "force", "result_type", "result_format"})
_READ_HERE: Final = frozenset({"filters", "time_range", "orderby", "row_limit", "row_offset", "applied_time_extras"})
_HARMLESS_TYPES: Final = frozenset({ResultType.FULL, ResultType.RESULTS, ResultType.POST_PROCESSED})
_FORM_KEYS: Final = frozenset(
    {
        *("slice_id", "chart_id", "dashboardId", "dashboard_id", "force", "result_type", "result_format"),
        *("label_colors", "shared_label_colors", "map_label_colors", "color_scheme", "own_color_scheme"),
        *("dashboard_color_scheme", "linear_color_scheme", "url_params", "applied_time_extras"),
        *("extra_filters", "extra_form_data"),
    }
)
"""What clients add to the form data of a chart that they ask for; it changes nothing of the query.

Filters among it are told once more in the queries, and read there.
"""

_NOTHING: Final[tuple[object, ...]] = (None, "", (), [], {})
_EMPTY_IS_NONE: Final = frozenset({"granularity", "series_limit_metric", "time_shift", "url_params"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """What a guest's request is compared with.

    Attributes:
        form_data: what the chart stores for drawing.
        filters: the declared filters of the guest's dashboards.
        main_columns: the main time column of each dataset of the chart, by the dataset's id.
        default_rows, most_rows: the limits of queries that name none, and of queries with the limit 0.
        address_params: the parameters of the address that a template of the question may read; None: any.
    """

    chart_id: int
    context: ChartDataQueryContext
    form_data: Mapping[str, Any]
    filters: Sequence[DeclaredFilter]
    main_columns: Mapping[int, str | None]
    default_rows: int
    most_rows: int
    address_params: frozenset[str] | None = None


def answerable(stored: StoredRequest, requested: ChartDataQueryContext) -> ChartDataQueryContext:
    """Return the stored context with what the guest may change.

    Raises:
        GuestAccessError: anything else differs; the message names the field.
    """
    own = stored.context
    if requested.force:
        raise _rejection("force", "guests read what the cache has")
    _check_form_data(stored, requested.form_data)
    result_type = _result_type(own, requested)
    if requested.result_format not in (own.result_format, ResultFormat.JSON):
        raise _rejection("result_format", "must be that of the chart, or json")
    _same(own, requested, place="", but=_READ_BESIDE)
    if len(own.queries) != len(requested.queries):
        raise _rejection("queries", f"the chart has {len(own.queries)}")
    queries = tuple(
        _query(stored, before, after, place=f"queries.{position}")
        for position, (before, after) in enumerate(zip(own.queries, requested.queries, strict=True))
    )
    changes = {"queries": queries, "result_type": result_type, "result_format": requested.result_format, "force": False}
    return own.model_copy(update=changes)


def reject_statements(context: ChartDataQueryContext) -> None:
    """Raise GuestAccessError when a stored context asks for its statement: guests do not read SQL."""
    if ResultType.QUERY in (context.result_type, *(query.result_type for query in context.queries)):
        raise _rejection("result_type", "guests do not read statements")


def _query(
    stored: StoredRequest, own: ChartDataQueryObject, requested: ChartDataQueryObject, *, place: str
) -> ChartDataQueryObject:
    inputs = _Inputs(stored, own, place)
    own = inputs.with_grain(requested)
    compared = (_with_params(query, stored.address_params) for query in (own, requested))
    _same(*compared, place=f"{place}.", but=_READ_HERE)
    filters = inputs.filters(requested.filters)
    limit, offset = inputs.page(requested)
    changes = {
        "filters": filters,
        "time_range": inputs.time_range(requested.time_range),
        "orderby": inputs.orderby(requested.orderby),
        "row_limit": limit,
        "row_offset": offset,
        "applied_time_extras": requested.applied_time_extras,  # shown in the answer again, and nowhere else
    }
    return own.model_copy(update=changes)


class _Inputs:
    """Reads what a guest may change of one stored query."""

    def __init__(self, stored: StoredRequest, own: ChartDataQueryObject, place: str) -> None:
        datasource = own.datasource or stored.context.datasource
        self._dataset_id = datasource.id if datasource else 0
        self._in_scope = [item for item in stored.filters if stored.chart_id in item.chart_ids]
        self._stored = stored
        self._own = own
        self._place = place

    def with_grain(self, requested: ChartDataQueryObject) -> ChartDataQueryObject:
        """Return the stored query, by another time grain where the dashboard lets its readers choose one."""
        if not any(item.is_grain for item in self._in_scope):
            return self._own
        grain = time_grain(requested)
        return self._own if grain in (None, time_grain(self._own)) else with_grain(self._own, grain)

    def filters(self, requested: Sequence[ChartDataFilter]) -> tuple[ChartDataFilter, ...]:
        """Return the stored filters, then those of declared inputs; a time range of theirs may be another one."""
        remaining = list(requested)
        own = tuple(self._own_filter(item, remaining) for item in self._own.filters)
        for item in remaining:
            if not self._is_declared(item):
                raise _rejection(
                    f"{self._place}.filters", f"the dashboard declares no such filter on {column_label(item.col)!r}"
                )
        return (*own, *remaining)

    def time_range(self, requested: str | None) -> str | None:
        """Return the range asked for; another than the stored one needs a time filter."""
        if requested != self._own.time_range and not self._has_time_filter():
            raise _rejection(f"{self._place}.time_range", "the dashboard declares no time filter for this chart")
        return requested

    def orderby(self, requested: Sequence[Any]) -> tuple[Any, ...]:
        """Return the sort keys asked for: columns and metrics of the query, or keys of its own order."""
        return tuple((self._sort_key(key), ascending) for key, ascending in requested)

    def page(self, requested: ChartDataQueryObject) -> tuple[int | None, int]:
        """Return limit and offset: a window inside the rows that the stored query shows."""
        own = self._own
        if (requested.row_limit, requested.row_offset) == (own.row_limit, own.row_offset):
            return own.row_limit, own.row_offset
        most = self._stored.most_rows
        rows = {None: self._stored.default_rows, 0: most}.get(own.row_limit, own.row_limit or 0)
        end = own.row_offset + min(rows, most)
        limit = end - requested.row_offset if requested.row_limit is None else requested.row_limit
        inside = own.row_offset <= requested.row_offset and limit > 0 and requested.row_offset + limit <= end
        if not inside:
            raise _rejection(
                f"{self._place}.row_limit", f"must stay inside rows {own.row_offset} to {end} of the chart"
            )
        return limit, requested.row_offset

    def _own_filter(self, item: ChartDataFilter, remaining: list[ChartDataFilter]) -> ChartDataFilter:
        """Return a stored filter that the request has too, perhaps with another range, and take it from `remaining`."""
        if item in remaining:
            remaining.remove(item)
            return item
        if item.op is FilterOperator.TEMPORAL_RANGE and self._has_time_filter():
            for other in remaining:
                if item.model_copy(update={"val": other.val}) == other and isinstance(other.val, str):
                    remaining.remove(other)
                    return other
        raise _rejection(
            f"{self._place}.filters", f"the chart's own filter on {column_label(item.col)!r} is missing or another one"
        )

    def _is_declared(self, item: ChartDataFilter) -> bool:
        if not isinstance(item.col, str) or item.grain is not None or item.model_extra:
            return False
        is_range = item.op is FilterOperator.TEMPORAL_RANGE
        if is_range and self._has_time_filter() and item.col in self._time_columns():
            return True
        column = item.col
        acting = [f for f in self._in_scope if f.acts_on(self._stored.chart_id, self._dataset_id, column)]
        return any(f.is_time == is_range for f in acting)

    def _has_time_filter(self) -> bool:
        return any(item.is_time and not item.targets for item in self._in_scope)

    def _time_columns(self) -> set[str | None]:
        own = self._own
        return {own.granularity, axis_name(own.columns), self._stored.main_columns.get(self._dataset_id)}

    def _sort_key(self, key: Any) -> Any:
        own = self._own
        selected = (*own.columns, *(own.metrics or ()))
        for known in (*(item for item, _ in own.orderby), *selected):
            if type(known) is type(key) and known == key:
                return known
        labels = {*map(column_label, own.columns), *map(metric_label, own.metrics or ())}
        if isinstance(key, str) and key in labels:
            return key
        raise _rejection(f"{self._place}.orderby", "guests sort by the columns and metrics of the chart")


def _result_type(own: ChartDataQueryContext, requested: ChartDataQueryContext) -> ResultType:
    if requested.result_type is not own.result_type and requested.result_type not in _HARMLESS_TYPES:
        raise _rejection("result_type", "must be that of the chart, or one of full, results and post_processed")
    return requested.result_type


def _check_form_data(stored: StoredRequest, requested: Any) -> None:
    if not isinstance(requested, Mapping):
        raise _rejection("form_data", "must name the chart by its slice_id")
    own = stored.context.form_data
    known = {**stored.form_data, **(own if isinstance(own, Mapping) else {})}
    for key, value in requested.items():
        if key not in _FORM_KEYS and (key not in known or known[key] != value):
            raise _rejection(f"form_data.{key}", "differs from what the chart stores")


def _same(own: BaseModel, requested: BaseModel, *, place: str, but: frozenset[str]) -> None:
    """Refuse the first field, known or not, in which the request means something else than what is stored."""
    fields = {name for name in type(own).model_fields if name not in but}
    before, after = own.model_extra or {}, requested.model_extra or {}
    for name in sorted(fields):
        if getattr(own, name) != getattr(requested, name) and _meaning(own, name) != _meaning(requested, name):
            raise _rejection(f"{place}{name}", "differs from what the chart stores")
    for name in sorted({*before, *after}):
        was, is_ = before.get(name), after.get(name)
        if was != is_ and not (was in _NOTHING and is_ in _NOTHING):
            raise _rejection(f"{place}{name}", "differs from what the chart stores")


def _meaning(requested: BaseModel, name: str) -> Any:
    """Return what the planner makes of a field, so that two ways to say the same are equal."""
    value = getattr(requested, name)
    if name in _EMPTY_IS_NONE:
        return value or None
    if not isinstance(requested, ChartDataQueryObject):
        return value
    if name in ("order_desc", "is_timeseries"):
        return name == "order_desc" if value is None else value
    if name in ("columns", "series_columns") and isinstance(value, tuple):
        return tuple(_with_own_grain(column, requested) for column in value)
    if name == "extras" and isinstance(value, ChartDataExtras | None):
        return _conditions(value, requested)
    return value


def _with_params(query: ChartDataQueryObject, names: frozenset[str] | None) -> ChartDataQueryObject:
    """Return the query with those parameters of the address alone that a template may read."""
    params = query.url_params
    if names is None or not isinstance(params, dict):
        return query
    return query.model_copy(update={"url_params": {key: value for key, value in params.items() if key in names}})


def _with_own_grain(column: Any, query: ChartDataQueryObject) -> Any:
    """Return an x-axis with the grain that counts for it; any other column as it is."""
    if not is_axis(column):
        return column
    return column.model_copy(
        update={"time_grain": parse_grain(column.time_grain, place="columns") or query_grain(query)}
    )


def _conditions(extras: ChartDataExtras | None, query: ChartDataQueryObject) -> ChartDataExtras:
    """Return the extras without empty conditions, and without a grain that the x-axis takes."""
    known = extras or ChartDataExtras()
    grain = None if axis_column(query.columns) else known.time_grain
    return known.model_copy(update={"where": known.where or None, "having": known.having or None, "time_grain": grain})


def _rejection(path: str, what: str) -> GuestAccessError:
    return GuestAccessError(
        f"guests cannot change the stored chart: {path}: {what}; filters that the dashboard declares, orderby and a "
        "page inside the chart's rows may differ",
        extra={"path": path},
    )
