"""Finds the time range of a query and the clauses that bound its time columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from analytics_core._compile.columns import adhoc_column, column_by_name, timed
from analytics_core._compile.filters import filter_column, filter_name
from analytics_core._compile.plan import Clause, ColumnExpr, FragmentExpr, Origin, OriginKind, Within
from analytics_core._compile.scope import PlanLimits, Scope
from analytics_core._compile.time_range import TimeRange, resolve_time_range
from analytics_core.errors import FilterValueError
from analytics_core.models.enums import FilterOperator
from analytics_core.models.query import AdhocColumn, ChartDataFilter, ChartDataQueryObject

NumberedFilter = tuple[int, ChartDataFilter]
NO_FILTER = "No filter"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBounds:
    """The range that a query asks for, the clauses that it adds, and the names of the filters that were applied.

    `counts_seconds`: at least one bound moves with every second. Without a clause the range bounds nothing.
    """

    range: TimeRange
    clauses: tuple[Clause, ...]
    applied: tuple[str, ...]
    counts_seconds: bool


def plan_time_bounds(
    scope: Scope,
    query: ChartDataQueryObject,
    filters: Sequence[NumberedFilter],
    *,
    axis: AdhocColumn | None,
    override: TimeRange | None = None,
) -> TimeBounds:
    """Return the bounds of a query; `filters` are its TEMPORAL_RANGE filters, `override` replaces every range text.

    With a granularity, the filter on the x-axis (else the granularity's, else the first) gives way to it. With neither,
    the query's range bounds its temporal x-axis, else the main time column of the dataset.
    """
    name = axis.sql_expression if axis else None
    known = [pair for pair in filters if is_known(scope, pair[1])]
    reported = override or _resolve(scope, query, range_text(query, known, name))
    clauses = _own_clauses(scope, query, known, reported, axis)
    applied = []
    counts_seconds = reported.needs_seconds
    for position, item in _without_replaced(known, name, query.granularity) if query.granularity else known:
        place = f"filters[{position}]"
        bounds = override or (reported if query.time_range else _resolve(scope, query, _filter_text(item)))
        if bounds.since is None and bounds.until is None:
            applied.append(filter_name(item))  # Gantt charts send one on a column of numbers
            continue
        expr = _temporal(scope, item, place=place)
        origin = Origin(OriginKind.PAYLOAD, f"{place} {filter_name(item)}: {bounds.text}")
        clauses += _within(scope, expr, bounds, origin)
        counts_seconds |= bounds.needs_seconds
        applied.append(filter_name(item))
    clauses += _main_clauses(scope, clauses, reported)
    return TimeBounds(range=reported, clauses=tuple(clauses), applied=tuple(applied), counts_seconds=counts_seconds)


def is_known(scope: Scope, item: ChartDataFilter) -> bool:
    """Tell whether the column of a filter is one of the dataset, or one that the filter defines."""
    return not isinstance(item.col, str) or scope.view.find_column(item.col) is not None


def naive(moment: datetime | None) -> datetime | None:
    """Return an aware UTC moment without its zone; plans hold naive UTC."""
    return moment.replace(tzinfo=None) if moment else None


def _filter_text(item: ChartDataFilter) -> str:
    if item.val is not None and not isinstance(item.val, str):
        raise FilterValueError(
            f"filter on {filter_name(item)!r}: TEMPORAL_RANGE takes a time range as text, for example 'Last week'"
        )
    return item.val or NO_FILTER


def range_text(query: ChartDataQueryObject, filters: Sequence[NumberedFilter], axis: str | None) -> str:
    """Return the range text that a query reports: its own, else that of its time filter on the x-axis, or the first."""
    if query.time_range:
        return query.time_range
    chosen = _preferred(filters, axis)
    return _filter_text(chosen) if chosen else NO_FILTER


def _preferred(filters: Sequence[NumberedFilter], name: str | None) -> ChartDataFilter | None:
    on_name = [item for _, item in filters if filter_name(item) == name]
    return on_name[0] if on_name else filters[0][1] if filters else None


def _without_replaced(
    filters: Sequence[NumberedFilter], axis: str | None, granularity: str | None
) -> list[NumberedFilter]:
    names = [filter_name(item) for _, item in filters]
    name = axis if axis in names else granularity
    replaced = _preferred(filters, name)
    return [pair for pair in filters if pair[1] is not replaced]


def resolve_range(query: ChartDataQueryObject, text: str, *, now: datetime, limits: PlanLimits) -> TimeRange:
    """Return a range text of a query resolved with its options.

    Now is cut to the minute unless the text counts seconds, so that results are kept.
    """
    if text == NO_FILTER and not query.time_shift:
        return TimeRange()
    resolved = _resolve_at(query, text, now.replace(second=0, microsecond=0), limits)
    return _resolve_at(query, text, now, limits) if resolved.needs_seconds else resolved


def _resolve_at(query: ChartDataQueryObject, text: str, now: datetime, limits: PlanLimits) -> TimeRange:
    extras = query.extras
    return resolve_time_range(
        text,
        now=now,
        relative_start=(extras and extras.relative_start) or limits.relative_start,
        relative_end=(extras and extras.relative_end) or limits.relative_end,
        time_shift=query.time_shift,
    )


def _resolve(scope: Scope, query: ChartDataQueryObject, text: str) -> TimeRange:
    return resolve_range(query, text, now=scope.now, limits=scope.limits)


def _own_clauses(
    scope: Scope,
    query: ChartDataQueryObject,
    filters: Sequence[NumberedFilter],
    bounds: TimeRange,
    axis: AdhocColumn | None,
) -> list[Clause]:
    """Return what the query's own range bounds: its granularity, else its x-axis or the main time column."""
    if query.granularity:
        expr = column_by_name(scope, query.granularity)
        if expr.time is None and not bounds.is_unbounded:
            raise FilterValueError(
                f"granularity: column {query.granularity!r} is not temporal and cannot be bounded in time"
            )
        return _within(scope, expr, bounds, Origin(OriginKind.PAYLOAD, f"time_range {bounds.text}"))
    if filters or not query.time_range:
        return []
    target = _axis_target(scope, axis) or _main_target(scope)
    if target is None:
        return []
    name, expr = target
    return _within(scope, expr, bounds, Origin(OriginKind.PAYLOAD, f"time_range {bounds.text}, on {name}"))


def _axis_target(scope: Scope, axis: AdhocColumn | None) -> tuple[str, ColumnExpr | FragmentExpr] | None:
    """Return the name and the moments of an x-axis; None where it has none."""
    if axis is None or not axis.sql_expression:
        return None
    expr = timed(adhoc_column(scope, axis, place="time_range"), is_moment=bool(axis.time_grain))
    return ("the x-axis", expr) if expr.time is not None else None


def _main_target(scope: Scope) -> tuple[str, ColumnExpr | FragmentExpr] | None:
    """Return the main time column of the dataset; None where it has none."""
    main = scope.view.dataset.main_dttm_col
    if not main or scope.view.find_column(main) is None:
        return None
    expr = column_by_name(scope, main)
    return ("main_dttm_col", expr) if expr.time is not None else None


def _main_clauses(scope: Scope, clauses: Sequence[Clause], bounds: TimeRange) -> list[Clause]:
    """Return the bounds of the main time column of a dataset that wants it bounded along with any other one."""
    main = _main_target(scope) if scope.view.dataset.always_filter_main_dttm and clauses else None
    if main is None or any(isinstance(c.predicate, Within) and c.predicate.left == main[1] for c in clauses):
        return []
    return _within(scope, main[1], bounds, Origin(OriginKind.DATASET, f"always_filter_main_dttm: {bounds.text}"))


def _temporal(scope: Scope, item: ChartDataFilter, *, place: str) -> ColumnExpr | FragmentExpr:
    expr = filter_column(scope, item, place=place)
    if expr.time is None:
        raise FilterValueError(
            f"filter on {filter_name(item)!r}: TEMPORAL_RANGE needs a temporal column; "
            "set is_dttm (and python_date_format for numbers and text) on the dataset's column"
        )
    return expr


def _within(scope: Scope, expr: ColumnExpr | FragmentExpr, bounds: TimeRange, origin: Origin) -> list[Clause]:
    if bounds.is_unbounded:
        return []
    within = Within(expr, naive(bounds.since), naive(bounds.until), scope.view.dataset.offset)
    return [Clause(within, origin)]


def split_temporal(query: ChartDataQueryObject) -> tuple[list[NumberedFilter], list[NumberedFilter]]:
    """Return the TEMPORAL_RANGE filters and the others, each with its position in the payload."""
    numbered = list(enumerate(query.filters or ()))
    temporal = [pair for pair in numbered if pair[1].op is FilterOperator.TEMPORAL_RANGE]
    return temporal, [pair for pair in numbered if pair[1].op is not FilterOperator.TEMPORAL_RANGE]
