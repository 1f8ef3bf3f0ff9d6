"""`plan_query`: one query on one dataset becomes a plan. Pure: the same arguments give the same plan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from analytics_core._engine.compile.columns import (
    axis_column,
    axis_name,
    column_by_name,
    column_label,
    is_axis,
    query_grain,
    resolve_column,
    timestamp_output,
)
from analytics_core._engine.compile.filters import filter_name, plan_filters
from analytics_core._engine.compile.fragments.parser import FragmentSlot
from analytics_core._engine.compile.metrics import check_aggregated, check_having, notes_of_constants, resolve_metric
from analytics_core._engine.compile.ordering import notes_of_order, plan_order
from analytics_core._engine.compile.plan import (
    AllOf,
    BucketExpr,
    Clause,
    ColumnExpr,
    Compare,
    Condition,
    InValues,
    IsNull,
    IsTruth,
    Match,
    OrderTerm,
    Origin,
    OriginKind,
    Output,
    Predicate,
    QueryPlan,
    RejectedFilter,
    RowLimit,
    SeriesLimit,
    Within,
)
from analytics_core._engine.compile.planning_context import DatasetView, PlanLimits, PlanningContext, check_count
from analytics_core._engine.compile.row_filters import plan_row_filters
from analytics_core._engine.compile.series_limit import plan_series_limit, unused_series_limit, with_others
from analytics_core._engine.compile.time_bounds import (
    NumberedFilter,
    TimeBounds,
    is_known,
    naive,
    plan_time_bounds,
    split_temporal,
)
from analytics_core._engine.compile.time_range import TimeRange
from analytics_core._records.people import RowFilter
from analytics_core.errors import DuplicateLabelError, EmptyQueryError, QueryError
from analytics_core.models.query import AdhocColumn, ChartDataQueryObject, PostProcessingOperation

_AXIS_OPTIONS: Final = frozenset({"index", "by", "groupby", "group_by"})
"""The options of post-processing that name the x-axis."""
_LONGEST_LABEL = 1_000
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def _without_nulls(outputs: Sequence[Output], names: AbstractSet[str]) -> tuple[Output, ...]:
    """Return the outputs of which those of the named columns hold no NULL."""
    return tuple(
        replace(output, nullable=False)
        if isinstance(output.expr, ColumnExpr) and output.expr.name in names and output.nullable is not False
        else output
        for output in outputs
    )


def _proven(predicate: Predicate) -> Iterable[str]:
    """Return the columns that are not NULL in any row for which a condition holds."""
    match predicate:
        case AllOf():
            return [name for member in predicate.members for name in _proven(member)]
        case Compare() | IsTruth() | Match() | Within():
            passes_null = False
        case InValues():
            passes_null = predicate.with_null and not predicate.negated
        case IsNull():
            passes_null = not predicate.negated
        case _:
            return ()
    return () if passes_null or not isinstance(predicate.left, ColumnExpr) else (predicate.left.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What is planned besides the payload itself.

    `range_override` replaces the query's own range (time comparison); `series_limit` is then that of the main query, so
    that both results hold the same series. `axis` is the x-axis of a query whose columns
    gave way to others (drill detail): its range is bounded as the chart's is. `writes_sql`: who asks may write SQL.
    `streams`: the rows are read in batches.
    """

    row_filters: Sequence[RowFilter] = ()
    range_override: TimeRange | None = None
    series_limit: SeriesLimit | None = None
    samples: bool = False
    axis: AdhocColumn | None = None
    writes_sql: bool = False
    streams: bool = False

    @property
    def is_comparison(self) -> bool:
        """Whether the rows are those of a compared range.

        Conditions on metrics, and on the x-axis other than ranges, choose rows of the main range alone; each finds its
        partner, whatever that one's metrics.
        """
        return self.range_override is not None


def plan_query(query: ChartDataQueryObject, scope: PlanningContext, request: PlanRequest) -> QueryPlan:
    """Return the plan of `query` with every name, value, range and limit resolved.

    Raises:
        QueryError: a name, value, range, fragment or limit of the query cannot be honoured.
    """
    axis = request.axis or axis_column(query.columns)
    requested, query = query, with_granularity_axis(query, scope)
    grouped = query.metrics is not None
    plain = _known_outputs(query, scope, grouped=grouped)
    temporal, others = split_temporal(query)
    bounds = plan_time_bounds(scope, query, temporal, axis=axis, override=request.range_override)
    filters = plan_filters(scope, _on_rows(others, axis, request))
    rules = plan_row_filters(scope, request.row_filters)
    # Rules first: where conditions are tested in order, none may fail on a row that a rule forbids, and tell of it.
    where = (*rules, *bounds.clauses, *filters.where, *_fixed_conditions(query, scope))
    having = () if request.is_comparison else (*filters.having, *_having(query, scope))
    _check_having(having, plain, grouped=grouped)
    not_null = frozenset(name for clause in where for name in _proven(clause.predicate))
    plain = scope.recalled((plain,), ("not null", not_null), partial(_without_nulls, plain, not_null))
    series_limit = request.series_limit if request.is_comparison else _known_series_limit(query, scope, plain, where)
    outputs = with_others(plain, series_limit)
    order = _known_order(query, scope, outputs, grouped=grouped, not_null=not_null)
    reported = _reported(scope, bounds)
    return QueryPlan(
        engine=scope.view.spec.name,
        dataset_id=scope.view.dataset.id,
        source=scope.view.source,
        outputs=outputs,
        grouped=grouped,
        where=where,
        having=having,
        order=order,
        limit=plan_limit(query, scope.limits, samples=request.samples, streams=request.streams),
        series_limit=series_limit,
        count_rows=bool(query.is_rowcount),
        since=naive(reported.since),
        until=naive(reported.until),
        range_text=reported.text,
        counts_seconds=bounds.counts_seconds,
        applied_filters=(*filters.applied, *bounds.applied),
        rejected_filters=(*filters.rejected, *_unknown_times(scope, temporal)),
        unused=(
            *filters.unused,
            *_unused_times(query, scope, bounds, plain, samples=request.samples),
            *unused_series_limit(query, series_limit),
        ),
        notes=(*_notes_of_axis(requested, query), *bounds.notes, *_notes_of_rows(query, scope, outputs, order)),
        stored=scope.view.stored,
    )


def _on_rows(
    filters: Sequence[NumberedFilter], axis: AdhocColumn | None, request: PlanRequest
) -> Sequence[NumberedFilter]:
    """Return the filters that choose rows of the planned range: those on the x-axis speak of the main one."""
    if not request.is_comparison or axis is None:
        return filters
    return [(position, item) for position, item in filters if item.col != axis.sql_expression]


def _reported(scope: PlanningContext, bounds: TimeBounds) -> TimeRange:
    """Return the range that the rows are bounded by: by a clause, or by a template that reads it."""
    return bounds.range if bounds.clauses else scope.template_range() or TimeRange()


def _unused_times(
    query: ChartDataQueryObject, scope: PlanningContext, bounds: TimeBounds, outputs: Sequence[Output], *, samples: bool
) -> Iterator[str]:
    """Yield what a caller should know of ranges, shifts and grains that have no effect."""
    yield from bounds.unused
    if query.time_range and not bounds.range.is_unbounded and _reported(scope, bounds).is_unbounded:
        yield (
            f"time_range {query.time_range!r} filters nothing: the query has no granularity, no temporal x-axis and no "
            f"TEMPORAL_RANGE filter, and dataset {scope.view.dataset.table_name!r} has no main_dttm_col"
        )
    if query.time_shift and not (bounds.clauses or samples) and bounds.range.is_unbounded:
        yield f"time_shift {query.time_shift!r} moves nothing: the query has no time range"
    yield from _unused_grain(query, outputs)


def _unused_grain(query: ChartDataQueryObject, outputs: Sequence[Output]) -> tuple[str, ...]:
    """Return what a caller should know of grains: that a column holds no moments, or that another grain wins."""
    grain = query_grain(query)
    if grain is None and all(isinstance(column, str) for column in query.columns):
        return ()
    buckets = {output.origin.place: output.expr.grain for output in outputs if isinstance(output.expr, BucketExpr)}
    unused = tuple(
        f"columns[{i}].timeGrain {column.time_grain} is not used: {column_label(column)!r} holds no moments"
        for i, column in enumerate(query.columns)
        if isinstance(column, AdhocColumn) and column.time_grain and f"columns[{i}]" not in buckets
    )
    if grain is None or grain in buckets.values():
        return unused
    taken = next(iter(buckets.values()), None)
    why = f"the x-axis has {taken.value}" if taken else "no time column of the query takes it"
    return (*unused, f"extras.time_grain_orm {grain.value} is not used: {why}")


def with_granularity_axis(query: ChartDataQueryObject, scope: PlanningContext) -> ChartDataQueryObject:
    """Return the query with its temporal x-axis replaced by its granularity, where both are given and differ.

    Raises:
        QueryError: the granularity is a column of something else than moments.
    """
    axis, name = _replaced_axis(query, scope.view), query.granularity
    if axis is None or name is None:
        return query
    column_by_name(scope, name)
    if scope.view.find_column(name) not in scope.view.times:
        raise QueryError(
            f"granularity: column {name!r} is not temporal and cannot take the place of x-axis {axis.sql_expression!r}"
        )
    names = (axis.sql_expression, axis.label)

    def moved(item: Any) -> Any:
        if is_axis(item):
            return item.model_copy(update={"sql_expression": name, "label": name})
        return name if isinstance(item, str) and item in names else item

    changes = {
        "columns": tuple(moved(item) if is_axis(item) else item for item in query.columns),
        "orderby": tuple((moved(key), ascending) for key, ascending in query.orderby),
    }
    return query.model_copy(update=changes)


def steps_on_granularity(query: ChartDataQueryObject, view: DatasetView) -> tuple[PostProcessingOperation, ...]:
    """Return the post-processing of a query; it names the granularity where that takes the place of the x-axis."""
    axis = _replaced_axis(query, view)
    if axis is None:
        return tuple(query.post_processing)
    before = axis.label or axis.sql_expression

    def moved(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [moved(item) for item in value]
        return query.granularity if value == before else value

    return tuple(
        step.model_copy(
            update={"options": {key: moved(v) if key in _AXIS_OPTIONS else v for key, v in step.options.items()}}
        )
        for step in query.post_processing
    )


def _replaced_axis(query: ChartDataQueryObject, view: DatasetView) -> AdhocColumn | None:
    """Return the temporal x-axis that the granularity of a query takes the place of; None where it replaces none."""
    axis = axis_column(query.columns) if query.granularity else None
    if axis is None or axis.sql_expression == query.granularity:
        return None
    return axis if axis.sql_expression in view.times else None


def _notes_of_rows(
    query: ChartDataQueryObject, scope: PlanningContext, outputs: Sequence[Output], order: Sequence[OrderTerm]
) -> tuple[str, ...]:
    return (*notes_of_order(query, scope, outputs, order), *notes_of_constants(outputs))


def _notes_of_axis(requested: ChartDataQueryObject, query: ChartDataQueryObject) -> tuple[str, ...]:
    if requested is query:
        return ()
    before, after = axis_name(requested.columns), axis_name(query.columns)
    return () if before == after else (f"granularity {after!r} takes the place of x-axis {before!r}",)


def _known_outputs(query: ChartDataQueryObject, scope: PlanningContext, *, grouped: bool) -> tuple[Output, ...]:
    """Return the outputs of a query, or those of another one with the same parts."""
    facts = ("outputs", query.granularity, query.extras.time_grain if query.extras else None, query.is_timeseries)
    parts = (query.columns, query.metrics)
    return scope.recalled(parts, facts, partial(plan_outputs, query, scope, grouped=grouped))


def _known_order(
    query: ChartDataQueryObject,
    scope: PlanningContext,
    outputs: tuple[Output, ...],
    *,
    grouped: bool,
    not_null: frozenset[str],
) -> tuple[OrderTerm, ...]:
    """Return the sort keys of a query, or those of another one with the same parts."""
    facts = ("order", not_null, grouped, bool(query.is_rowcount), "row_offset" in query.model_fields_set)
    make = partial(plan_order, query, scope, outputs, grouped=grouped, not_null=not_null)
    return scope.recalled((outputs, query.orderby), facts, make)


def _known_series_limit(
    query: ChartDataQueryObject, scope: PlanningContext, outputs: tuple[Output, ...], where: tuple[Clause, ...]
) -> SeriesLimit | None:
    """Return the series limit of a query on its rows, or that of another one with the same parts."""
    if not query.series_limit:
        return plan_series_limit(query, scope, outputs, where)
    parts = (outputs, query.series_columns, query.series_limit_metric)
    facts = ("series", query.series_limit, query.order_desc, query.group_others_when_limit_reached, query.is_timeseries)
    make = partial(plan_series_limit, query, scope, outputs, ())
    limit = scope.recalled(parts, (*facts, query.metrics is None, bool(query.metrics)), make)
    return limit and replace(limit, where=where)


def plan_outputs(query: ChartDataQueryObject, scope: PlanningContext, *, grouped: bool) -> tuple[Output, ...]:
    """Return the outputs of a query: the timestamp of a series first, then columns, then metrics."""
    grain = query_grain(query)
    columns = [
        resolve_column(
            scope, column, place=f"columns[{i}]", granularity=query.granularity, grain=grain, grouped=grouped
        )
        for i, column in enumerate(query.columns or ())
        if column != "__timestamp"
    ]
    metrics = [resolve_metric(scope, metric, place=f"metrics[{i}]") for i, metric in enumerate(query.metrics or ())]
    if is_timeseries(query) and not _has_time_axis(query, columns):
        columns.insert(0, timestamp_output(scope, query.granularity, grain))
    outputs = (*columns, *metrics)
    if not outputs:
        raise EmptyQueryError("the query asks for nothing: give columns, metrics or both")
    _check_labels(outputs)
    check_aggregated(metrics, columns)
    return outputs


def _check_labels(outputs: Sequence[Output]) -> None:
    """Refuse empty, unprintable, over-long and repeated labels."""
    labels = [output.label for output in outputs]
    if len(set(labels)) < len(labels):
        raise DuplicateLabelError([label for label, times in Counter(labels).items() if times > 1])
    for label in labels:
        if not label or len(label) > _LONGEST_LABEL or _CONTROL.search(label):
            raise QueryError(
                f"label {label[:40]!r} cannot name a column: use 1 to {_LONGEST_LABEL} printable characters"
            )


def is_timeseries(query: ChartDataQueryObject) -> bool:
    """Tell whether the query wants a `__timestamp` output: it says so, or names it among its columns."""
    if query.is_timeseries is not None and "__timestamp" not in (query.columns or ()):
        return query.is_timeseries
    return "__timestamp" in (query.columns or ())


def _has_time_axis(query: ChartDataQueryObject, columns: Sequence[Output]) -> bool:
    """Tell whether the x-axis is the time of a series that names neither a granularity nor `__timestamp`."""
    if query.granularity or "__timestamp" in query.columns:
        return False
    axes = (output for output, column in zip(columns, query.columns, strict=True) if is_axis(column))
    return any(output.is_temporal for output in axes)


def plan_limit(query: ChartDataQueryObject, limits: PlanLimits, *, samples: bool, streams: bool = False) -> RowLimit:
    """Return how many rows may come back: the payload's limit under the cap; 0 means the cap, null the default."""
    cap = limits.stream_row_limit if streams else None
    most, cap_name = (limits.max_row_limit, "max_row_limit") if cap is None else (cap, "stream_row_limit")
    offset = query.row_offset
    check_count(offset, field="row_offset")
    requested = query.row_limit
    if requested is None:
        name = "samples_row_limit" if samples else "default_row_limit"
        rows = limits.samples_row_limit if samples else limits.default_row_limit
        origin = Origin(OriginKind.SETTING, name)
    else:
        rows = requested or most
        origin = Origin(OriginKind.PAYLOAD, "row_limit") if requested else Origin(OriginKind.SETTING, cap_name)
    if rows > most:
        rows, origin = most, Origin(OriginKind.SETTING, cap_name)
    return RowLimit(rows=rows, origin=origin, offset=offset)


def _fixed_conditions(query: ChartDataQueryObject, scope: PlanningContext) -> tuple[Clause, ...]:
    clauses = []
    if query.extras and query.extras.where:
        fragment = scope.read(query.extras.where, FragmentSlot.WHERE, "extras.where")
        clauses.append(Clause(Condition(fragment), Origin(OriginKind.PAYLOAD, "extras.where")))
    predicate = scope.view.dataset.fetch_values_predicate
    if query.apply_fetch_values_predicate and predicate:
        fragment = scope.read_stored(predicate, FragmentSlot.WHERE, "fetch_values_predicate")
        clauses.append(Clause(Condition(fragment), Origin(OriginKind.DATASET, "fetch_values_predicate")))
    return tuple(clauses)


def _having(query: ChartDataQueryObject, scope: PlanningContext) -> tuple[Clause, ...]:
    if not (query.extras and query.extras.having):
        return ()
    fragment = scope.read(query.extras.having, FragmentSlot.HAVING, "extras.having")
    return (Clause(Condition(fragment), Origin(OriginKind.PAYLOAD, "extras.having")),)


def _check_having(having: tuple[Clause, ...], outputs: tuple[Output, ...], *, grouped: bool) -> None:
    if having and not grouped:
        raise EmptyQueryError(f"{having[0].origin.place}: a condition on metrics needs a grouped query; give metrics")
    check_having(having, outputs)


def _unknown_times(scope: PlanningContext, temporal: list[NumberedFilter]) -> tuple[RejectedFilter, ...]:
    return tuple(
        RejectedFilter(column=filter_name(item), reason="not_in_datasource")
        for _, item in temporal
        if not is_known(scope, item)
    )
