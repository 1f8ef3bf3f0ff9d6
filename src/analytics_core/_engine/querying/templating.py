"""Templates of one query: who asks and what is asked go in, rendered SQL comes out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from analytics_core._engine.compile.columns import axis_name, column_label, is_axis, time_grain
from analytics_core._engine.compile.metrics import metric_label
from analytics_core._engine.compile.planner import PlanRequest, plan_limit
from analytics_core._engine.compile.planning_context import PlanLimits
from analytics_core._engine.compile.templates import (
    Lookups,
    TemplateFilter,
    TemplateRenderer,
    TemplateValues,
    TimeBounds,
)
from analytics_core._engine.compile.time_bounds import (
    RangeRole,
    RequestedRanges,
    naive,
    requested_ranges,
    resolve_range,
    split_temporal,
)
from analytics_core._engine.compile.time_range import TimeRange, render_time_range
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.guard import select_in_schema
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._records.datasource import Dataset, DatasetColumn
from analytics_core._tools.memo import Memo
from analytics_core.errors import MissingTemplateValueError, TemplateError
from analytics_core.models.enums import FilterOperator, TimeGrain
from analytics_core.models.query import ChartDataExtras, ChartDataFilter, ChartDataQueryObject
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRequest:
    """For what templates are rendered: a query on a dataset, and what is being rendered already.

    `path` names datasets and metrics that take each other in, `taken_in` gets the versions of other datasets, `found`
    what was looked up already. `is_sample`: nobody asks yet.
    """

    query: ChartDataQueryObject
    dataset: Dataset
    spec: EngineSpec
    chart_request: ChartRequest
    plan_request: PlanRequest
    is_sample: bool
    path: tuple[str, ...]
    taken_in: list[Hashable]
    found: dict[Hashable, str]

    @property
    def axis(self) -> str | None:
        """The name of the x-axis."""
        axis = self.plan_request.axis
        return axis_name((axis,) if axis else self.query.columns)


class QueryRanges:
    """The time ranges of one query as its templates see them, read when the first template needs one.

    `counts_seconds` says whether a range that was asked for moves with every second.
    """

    def __init__(self, request: TemplateRequest, limits: PlanLimits) -> None:
        self._request = request
        self._limits = limits
        self._moved_to = request.plan_request.range_override
        self._moved_text = render_time_range(self._moved_to) if self._moved_to else None
        self.counts_seconds = False

    @cached_property
    def requested(self) -> RequestedRanges:
        """Which range of the query bounds what."""
        return _ranges_of(self._request)

    @property
    def own_text(self) -> str:
        """The text of the query's range; in a time comparison, of the moved one."""
        return self._moved_text or self.requested.text

    @property
    def own(self) -> TimeRange:
        """The query's range."""
        return self._resolved(self.own_text)

    def filter_text(self, item: ChartDataFilter) -> Any:
        """Return the value of a filter; for time ranges the one that counts for the query."""
        if item.op is not FilterOperator.TEMPORAL_RANGE:
            return item.val
        role = next((role for _, one, role in self.requested.filters if one is item), RangeRole.OWN)
        text = self.requested.text_for(item, role)
        return self.own_text if text == self.requested.text else text

    def bounds(self, text: str) -> TimeBounds:
        """Return the bounds that a range text names, naive UTC."""
        found = self._resolved(text)
        self.counts_seconds |= found.needs_seconds
        return naive(found.since), naive(found.until)

    def _resolved(self, text: str) -> TimeRange:
        request = self._request
        found = self._moved_to if text == self._moved_text else None
        return found or resolve_range(request.query, text, now=request.chart_request.now, limits=self._limits)


class BoundTemplates:
    """The templates of one query on one dataset; it remembers which filters the templates took over.

    The values are made when the first template needs them. `looks_up`: what was rendered so far took in what others
    store or a database knows, which changes apart from the dataset; `taken_in` has the versions of other datasets.
    """

    def __init__(
        self,
        renderer: TemplateRenderer | None,
        request: TemplateRequest,
        limits: PlanLimits,
        *,
        lookups: Callable[[], Lookups] | None,
        in_schema: Callable[[str], str],
    ) -> None:
        self._renderer = renderer
        self._request = request
        self._limits = limits
        self._lookups = lookups
        self._in_schema = in_schema
        self._ranges = QueryRanges(request, limits)
        self._removed: set[str] = set()
        self._reads_range = False
        self.looks_up = False
        self.taken_in = request.taken_in

    @property
    def counts_seconds(self) -> bool:
        """Whether what was rendered so far moves with every second."""
        return self._ranges.counts_seconds

    def render(self, text: str) -> str:
        """Return the text with its template rendered; the text itself where it has none, or templates are off."""
        if self._renderer is None or "{" not in text:
            return text
        rendered = self._renderer.render(text, self._values)
        self._removed.update(rendered.removed_filters)
        self._reads_range |= rendered.reads_range
        self.looks_up |= rendered.looks_up
        return rendered.text

    def range_read(self) -> TimeRange | None:
        """Return the range of the query if a template that was rendered reads it."""
        return self._ranges.own if self._reads_range else None

    def render_source(self) -> str | None:
        """Return the SQL of a virtual dataset, rendered, in the dataset's schema; None for a physical one.

        Raises:
            VirtualDatasetError, StatementRefusedError: it is not one SELECT, before whose tables a schema may stand.
        """
        sql = self._request.dataset.sql
        return self._in_schema(self.render(sql)) if sql else None

    def taken_over(self, query: ChartDataQueryObject) -> tuple[str, ...]:
        """Return the names of the filters that the templates apply themselves (`remove_filter=True`)."""
        if not self._removed:
            return ()
        return tuple(name for name in (column_label(item.col) for item in query.filters) if name in self._removed)

    def without_removed_filters(self, query: ChartDataQueryObject) -> ChartDataQueryObject:
        """Return the query without the filters that the templates took over; a granularity keeps its range."""
        if not self._removed:
            return query
        filters = tuple(item for item in query.filters if column_label(item.col) not in self._removed)
        return query.model_copy(update={"filters": filters, "time_range": self._remaining_range(query)})

    def _remaining_range(self, query: ChartDataQueryObject) -> str | None:
        """Return the range of the query beside the filters that are left.

        It goes where it bounded columns of removed filters alone; a granularity takes the range of one on it.
        """
        requested = self._ranges.requested
        removed = [pair for pair in requested.filters if column_label(pair[1].col) in self._removed]
        if query.granularity:
            taken = (item for _, item, role in removed if role is RangeRole.MOVED or item.col == query.granularity)
            return query.time_range if requested.own else next((item.val for item in taken), query.time_range)
        bounded = [pair for pair in requested.filters if pair[2] in {RangeRole.SHARED, RangeRole.REPLACED}]
        return None if bounded and all(pair in removed for pair in bounded) else query.time_range

    @cached_property
    def _values(self) -> TemplateValues:
        """What the templates of the query may use."""
        request, ranges = self._request, self._ranges
        query, dataset, plan_request = request.query, request.dataset, request.plan_request
        actor = request.chart_request.actor
        since, until = ranges.bounds(ranges.own_text)
        return TemplateValues(
            spec=request.spec,
            user_id=actor.stored_id,
            username=actor.user.username,
            email=actor.user.email,
            roles=tuple(sorted(role.name for role in actor.roles)),
            url_params=dict(query.url_params or {}),
            template_params=_parameters(dataset),
            filters=tuple(
                TemplateFilter(col=column_label(item.col), op=item.op.value, val=ranges.filter_text(item))
                for item in query.filters
            ),
            since=since,
            until=until,
            time_range=ranges.own_text,
            columns=tuple(column_label(column) for column in query.columns),
            metrics=tuple(metric_label(metric) for metric in query.metrics or ()),
            row_limit=plan_limit(query, self._limits, samples=plan_request.samples, streams=plan_request.streams).rows,
            row_offset=query.row_offset,
            table_columns=tuple(column.column_name for column in dataset.columns),
            time_column=query.granularity or request.axis or dataset.main_dttm_col,
            time_grain=time_grain(query),
            resolve_range=ranges.bounds,
            is_sample=request.is_sample,
            lookups=self._lookups() if self._lookups else None,
            writes_sql=plan_request.writes_sql,
            steps=request.chart_request.budget.template_steps if request.chart_request.budget else None,
        )


class QueryTemplates:
    """Makes the templates of queries."""

    def __init__(
        self,
        renderer: TemplateRenderer | None,
        limits: PlanLimits,
        *,
        lookups: Callable[[QueryTemplates, TemplateRequest], Lookups] | None = None,
    ) -> None:
        self._renderer = renderer
        self._limits = limits
        self._lookups = lookups
        self._placed: Memo[Hashable, str] = Memo()

    def _in_schema(self, dataset: Dataset, spec: EngineSpec, sql: str) -> str:
        """Return rendered SQL with the schema of its dataset, if it has one, before each table that names none."""
        if not dataset.schema:
            return sql
        key, place = (sql, dataset.schema, spec.name), f"dataset {dataset.table_name!r}"
        placed = self._placed.get(key)
        if placed is None:
            placed = select_in_schema(sql, dataset.schema, spec=spec, place=place)
            self._placed.put(key, placed)
        return placed

    def for_query(
        self,
        query: ChartDataQueryObject,
        dataset: Dataset,
        spec: EngineSpec,
        chart_request: ChartRequest,
        *,
        request: PlanRequest | None = None,
        is_sample: bool = False,
        path: tuple[str, ...] = (),
        taken_in: list[Hashable] | None = None,
        found: dict[Hashable, str] | None = None,
    ) -> BoundTemplates:
        """Return the templates of a query with the values that they may use; in a comparison they see its range.

        `path`, `taken_in` and `found` are those of what is rendered around them, see `TemplateRequest`.
        """
        requested = TemplateRequest(
            query=query,
            dataset=dataset,
            spec=spec,
            chart_request=chart_request,
            plan_request=request or PlanRequest(),
            is_sample=is_sample,
            path=path or ((f"dataset {dataset.id}",) if dataset.sql else ()),
            taken_in=[] if taken_in is None else taken_in,
            found={} if found is None else found,
        )
        lookups = partial(self._lookups, self, requested) if self._lookups else None
        in_schema = partial(self._in_schema, dataset, spec)
        return BoundTemplates(self._renderer, requested, self._limits, lookups=lookups, in_schema=in_schema)

    def sample_source(self, dataset: Dataset, spec: EngineSpec, chart_request: ChartRequest) -> str | None:
        """Return the SQL of a virtual dataset as it reads while nobody asks for its rows; None for a physical one.

        Where a template needs what a query would give, it gets today as its range and the default limit.
        """
        try:
            return self.for_query(ChartDataQueryObject(), dataset, spec, chart_request).render_source()
        except MissingTemplateValueError:
            today = ChartDataQueryObject(time_range="today", extras=ChartDataExtras(time_grain=TimeGrain.DAY))
            return self.for_query(today, dataset, spec, chart_request, is_sample=True).render_source()


def _ranges_of(request: TemplateRequest) -> RequestedRanges:
    """Return which range of a query bounds what."""
    query, dataset, axis = request.query, request.dataset, request.axis
    temporal, _ = split_temporal(query)
    columns = dataset.columns if temporal else ()
    times = {name for column in columns if _is_time(column, request.spec) for name in _names(column)}
    names = {column.verbose_name: column.column_name for column in columns if column.verbose_name}
    return requested_ranges(
        query,
        temporal,
        axis=axis,
        is_time_axis=axis in times or any(is_axis(column) and column.time_grain for column in query.columns),
        main=dataset.main_dttm_col if dataset.main_dttm_col in times else None,
        own_name=lambda name: names.get(name, name),
    )


def _is_time(column: DatasetColumn, spec: EngineSpec) -> bool:
    return bool(column.is_dttm) or (column.type is not None and spec.value_kind(column.type).is_temporal)


def _names(column: DatasetColumn) -> tuple[str, ...]:
    return (column.column_name, column.verbose_name) if column.verbose_name else (column.column_name,)


def _parameters(dataset: Dataset) -> Mapping[str, Any]:
    if not dataset.template_params:
        return {}
    try:
        parsed = read_json_once(dataset.template_params)
    except RepeatedKeyError as error:
        raise TemplateError(f"dataset {dataset.table_name!r}: template_params {error}") from None
    except (ValueError, RecursionError):
        raise TemplateError(f"dataset {dataset.table_name!r}: template_params is not JSON") from None
    if not isinstance(parsed, dict):
        raise TemplateError(f"dataset {dataset.table_name!r}: template_params must be a JSON object")
    return parsed
