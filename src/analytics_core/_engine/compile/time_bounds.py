"""Finds the time ranges of a query, which column each of them bounds, and the clauses that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from analytics_core._engine.compile.columns import adhoc_column, column_by_name, timed
from analytics_core._engine.compile.filters import filter_column, filter_name
from analytics_core._engine.compile.plan import Clause, ColumnExpr, FragmentExpr, Origin, OriginKind, Within
from analytics_core._engine.compile.planning_context import PlanLimits, PlanningContext
from analytics_core._engine.compile.time_range import TimeRange, resolve_time_range
from analytics_core.errors import FilterValueError
from analytics_core.models.enums import FilterOperator
from analytics_core.models.query import AdhocColumn, ChartDataFilter, ChartDataQueryObject

NumberedFilter = tuple[int, ChartDataFilter]
NO_FILTER = "No filter"
_NamedFilter = tuple[int, ChartDataFilter, str]
_OPEN = frozenset({"", "no filter", ":"})
_DATES_AS_TEXT = (
    "dates that are kept as text need is_dttm and python_date_format of the column (datasets.set_column), or are made "
    "dates where they come from: pandas.to_datetime for a frame, connect(path, date_format='%d.%m.%Y') for a CSV file"
)


class RangeRole(Enum):
    """What becomes of the range of a filter."""

    OWN = auto()
    """It bounds the filter's column."""
    SHARED = auto()
    """The query's `time_range` bounds the column: the filter names no range, or the same one."""
    REPLACED = auto()
    """The query's `time_range` bounds the column instead."""
    MOVED = auto()
    """It bounds the granularity, which takes the place of the x-axis that the filter is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedRanges:
    """The ranges of a query by what they bound.

    `own` is its `time_range` where that names one, `text` the range that the answer reports. `on_time_column`: `own`
    bounds the x-axis or the main time column, which no filter is on.
    """

    text: str
    own: str | None
    on_time_column: bool
    filters: tuple[tuple[int, ChartDataFilter, RangeRole], ...]

    def text_for(self, item: ChartDataFilter, role: RangeRole) -> str:
        """Return the range that counts for a filter."""
        return self.own if self.own and role in {RangeRole.SHARED, RangeRole.REPLACED} else filter_text(item)


def requested_ranges(
    query: ChartDataQueryObject,
    filters: Sequence[NumberedFilter],
    *,
    axis: str | None,
    is_time_axis: bool,
    main: str | None,
    own_name: Callable[[str], str],
) -> RequestedRanges:
    """Return what each range of a query bounds; `filters` are its TEMPORAL_RANGE filters, `main` the main time column.

    The `time_range` bounds the granularity; else the columns of filters without a range of their own and of one on a
    temporal x-axis; else that axis, the main time column, or the columns of all filters. On other columns filters keep
    their ranges, so that both bind. `own_name` gives the name of a column for a verbose one.
    """
    named = [(position, item, own_name(filter_name(item))) for position, item in filters]
    own = query.time_range if names_range(query.time_range) else None
    axis, main, granularity = (own_name(name) if name else None for name in (axis, main, query.granularity))
    targets = _targets(named, granularity, axis=axis if is_time_axis or granularity else None, main=main)
    moving = axis if granularity and own is None and axis != granularity else None
    return RequestedRanges(
        text=own or _reported(query, named, (axis, granularity)),
        own=own,
        on_time_column=not targets & {name for *_, name in named},
        filters=tuple(
            (position, item, _role(item, own if name in targets else None, is_moving=name == moving))
            for position, item, name in named
        ),
    )


def _targets(
    filters: Sequence[_NamedFilter], granularity: str | None, *, axis: str | None, main: str | None
) -> frozenset[str]:
    """Return the names of the columns that the query's own range bounds."""
    names = frozenset(name for *_, name in filters)
    on_axis = names & {axis}
    if granularity:
        return on_axis | {granularity}
    unranged = {name for _, item, name in filters if not names_range(filter_text(item))}
    column = axis or main
    return on_axis | unranged or (frozenset({column}) if column else names)


def _role(item: ChartDataFilter, replacement: str | None, *, is_moving: bool) -> RangeRole:
    text = filter_text(item)
    if is_moving and names_range(text):
        return RangeRole.MOVED
    if replacement is None:
        return RangeRole.OWN
    return RangeRole.REPLACED if names_range(text) and _plain(text) != _plain(replacement) else RangeRole.SHARED


def _reported(query: ChartDataQueryObject, filters: Sequence[_NamedFilter], preferred: tuple[str | None, ...]) -> str:
    """Return the range of the filter on the x-axis, else of that on the granularity, else of the first."""
    if not filters:
        return query.time_range or NO_FILTER
    first_of = {name: item for _, item, name in reversed(filters)}
    chosen = next((first_of[name] for name in preferred if name in first_of), filters[0][1])
    return filter_text(chosen)


def filter_text(item: ChartDataFilter) -> str:
    """Return the range text of a TEMPORAL_RANGE filter.

    Raises:
        FilterValueError: its value is no text.
    """
    if item.val is not None and not isinstance(item.val, str):
        raise FilterValueError(
            f"filter on {filter_name(item)!r}: TEMPORAL_RANGE takes a time range as text, for example 'Last week'"
        )
    return item.val or NO_FILTER


def split_temporal(query: ChartDataQueryObject) -> tuple[list[NumberedFilter], list[NumberedFilter]]:
    """Return the TEMPORAL_RANGE filters and the others, each with its position in the payload."""
    numbered = list(enumerate(query.filters or ()))
    temporal = [pair for pair in numbered if pair[1].op is FilterOperator.TEMPORAL_RANGE]
    return temporal, [pair for pair in numbered if pair[1].op is not FilterOperator.TEMPORAL_RANGE]


def names_range(text: str | None) -> bool:
    """Tell whether a range text bounds anything."""
    return _plain(text or "") not in _OPEN


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


_Resolve = Callable[[str], TimeRange]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeBounds:
    """The range that a query asks for, the clauses that it adds, and the names of the filters that were applied.

    `counts_seconds`: at least one bound moves with every second. Without a clause the range bounds nothing. `unused`
    tells filters that gave way to the query's own range, and their grains; `notes` what else a caller should know.
    """

    range: TimeRange
    clauses: tuple[Clause, ...]
    applied: tuple[str, ...]
    counts_seconds: bool
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def plan_time_bounds(
    scope: PlanningContext,
    query: ChartDataQueryObject,
    filters: Sequence[NumberedFilter],
    *,
    axis: AdhocColumn | None,
    override: TimeRange | None = None,
) -> TimeBounds:
    """Return the bounds of a query; `filters` are its TEMPORAL_RANGE filters.

    `override` takes the place of the range that the query reports, wherever that one binds; other ranges stay.
    """
    if not (filters or query.time_range or query.time_shift or query.granularity or override):
        return TimeBounds(range=TimeRange(), clauses=(), applied=(), counts_seconds=False)
    known = [pair for pair in filters if is_known(scope, pair[1])]
    requested = _requested(scope, query, known, axis)
    main = resolve_range(query, requested.text, now=scope.now, limits=scope.limits)
    reported = override or main

    def resolve(text: str) -> TimeRange:
        is_main = text == requested.text
        found = main if is_main else resolve_range(query, text, now=scope.now, limits=scope.limits)
        return reported if (found.since, found.until) == (main.since, main.until) else found

    clauses = _own_clauses(scope, query, requested, resolve, axis) + list(
        _filter_clauses(scope, query, requested, resolve)
    )
    clauses += _main_clauses(scope, clauses, reported)
    texts = {requested.text_for(item, role) for _, item, role in requested.filters}
    return TimeBounds(
        range=reported,
        clauses=tuple(clauses),
        applied=tuple(filter_name(item) for _, item, role in requested.filters if role is not RangeRole.REPLACED),
        counts_seconds=reported.needs_seconds or any(resolve(text).needs_seconds for text in texts),
        unused=(*_replaced(requested, is_extra=False), *_grains(requested)),
        notes=(
            *_replaced(requested, is_extra=True),
            *_moved(query, requested),
            *_unmoved(query, requested, resolve),
            *_empty(clauses),
        ),
    )


def is_known(scope: PlanningContext, item: ChartDataFilter) -> bool:
    """Tell whether the column of a filter is one of the dataset, or one that the filter defines."""
    return not isinstance(item.col, str) or scope.view.find_column(item.col) is not None


def naive(moment: datetime | None) -> datetime | None:
    """Return an aware UTC moment without its zone; plans hold naive UTC."""
    return moment.replace(tzinfo=None) if moment else None


def _requested(
    scope: PlanningContext, query: ChartDataQueryObject, filters: Sequence[NumberedFilter], axis: AdhocColumn | None
) -> RequestedRanges:
    is_free = bool(query.time_range and not query.granularity)
    main = _main_target(scope) if is_free else None
    return requested_ranges(
        query,
        filters,
        axis=axis.sql_expression if axis else None,
        is_time_axis=is_free and _axis_target(scope, axis) is not None,
        main=scope.view.dataset.main_dttm_col if main else None,
        own_name=lambda name: scope.view.find_column(name) or name,
    )


def _replaced(requested: RequestedRanges, *, is_extra: bool) -> Iterator[str]:
    """Yield the filters that gave way to the range of the query; those that a dashboard added may."""
    for position, item, role in requested.filters:
        if role is RangeRole.REPLACED and bool(item.is_extra) is is_extra:
            yield (
                f"filters[{position}] on {filter_name(item)!r}: its range {filter_text(item)!r} gives way to "
                f"time_range {requested.own!r}"
            )


def _grains(requested: RequestedRanges) -> Iterator[str]:
    for position, item, _ in requested.filters:
        if item.grain:
            yield f"filters[{position}].grain {item.grain} is not used: a TEMPORAL_RANGE filter bounds moments"


def _moved(query: ChartDataQueryObject, requested: RequestedRanges) -> Iterator[str]:
    for position, item, role in requested.filters:
        if role is RangeRole.MOVED:
            yield (
                f"filters[{position}] on {filter_name(item)!r}: its range {filter_text(item)!r} bounds granularity "
                f"{query.granularity!r}, which takes the place of that x-axis"
            )


def _unmoved(query: ChartDataQueryObject, requested: RequestedRanges, resolve: _Resolve) -> Iterator[str]:
    """Yield the filters whose ranges no time comparison moves."""
    compared = resolve(requested.text)
    for position, item, role in requested.filters if query.time_offsets else ():
        found = resolve(requested.text_for(item, role))
        if not found.is_unbounded and found != compared:
            yield f"time_offsets: filters[{position}] on {filter_name(item)!r} keeps its range {filter_text(item)!r}"


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


def _empty(clauses: Sequence[Clause]) -> Iterator[str]:
    for clause in clauses:
        within = clause.predicate
        if isinstance(within, Within) and within.since is not None and within.since == within.until:
            yield f"{clause.origin.place} holds no moment: it ends where it starts, at {within.since.isoformat()}"


def _own_clauses(
    scope: PlanningContext,
    query: ChartDataQueryObject,
    requested: RequestedRanges,
    resolve: _Resolve,
    axis: AdhocColumn | None,
) -> list[Clause]:
    """Return what the query's own range bounds: its granularity, else its x-axis or the main time column."""
    if query.granularity:
        return list(_granularity_clauses(scope, query.granularity, requested, resolve))
    if not (requested.own or (query.time_range and not requested.filters)) or not requested.on_time_column:
        return []
    target = _axis_target(scope, axis) or _main_target(scope)
    if target is None:
        return []
    name, expr = target
    bounds = resolve(requested.text)
    return _within(scope, expr, bounds, Origin(OriginKind.PAYLOAD, f"time_range {bounds.text}, on {name}"))


def _granularity_clauses(
    scope: PlanningContext, name: str, requested: RequestedRanges, resolve: _Resolve
) -> Iterator[Clause]:
    """Yield the bounds of the granularity: the query's own range, else those of filters on the x-axis it replaces."""
    expr = column_by_name(scope, name)
    if requested.own or not requested.filters:
        found = [(resolve(requested.text), "time_range {}")]
    else:
        found = [
            (resolve(filter_text(item)), f"filters[{position}] {filter_name(item)}: {{}}, on granularity {name}")
            for position, item, role in requested.filters
            if role is RangeRole.MOVED
        ]
    for bounds, place in found:
        if expr.time is None and not bounds.is_unbounded:
            raise FilterValueError(
                f"granularity: column {name!r} is not temporal and cannot be bounded in time; {_DATES_AS_TEXT}"
            )
        yield from _within(scope, expr, bounds, Origin(OriginKind.PAYLOAD, place.replace("{}", bounds.text)))


def _filter_clauses(
    scope: PlanningContext, query: ChartDataQueryObject, requested: RequestedRanges, resolve: _Resolve
) -> Iterator[Clause]:
    """Yield the bounds of the columns that filters name, by their own range or the query's."""
    for position, item, role in requested.filters:
        place = f"filters[{position}]"
        is_own = role is RangeRole.OWN
        bounds = resolve(requested.text_for(item, role))
        if bounds.is_unbounded or (query.granularity and not is_own):
            continue  # Gantt charts send an open range on a column of numbers
        expr = _temporal(scope, item, place=place)
        name = filter_name(item)
        text = f"{place} {name}: {bounds.text}" if is_own else f"time_range {bounds.text}, on {place} {name}"
        yield from _within(scope, expr, bounds, Origin(OriginKind.PAYLOAD, text))


def _axis_target(scope: PlanningContext, axis: AdhocColumn | None) -> tuple[str, ColumnExpr | FragmentExpr] | None:
    """Return the name and the moments of an x-axis; None where it has none."""
    if axis is None or not axis.sql_expression:
        return None
    expr = timed(adhoc_column(scope, axis, place="time_range"), is_moment=bool(axis.time_grain))
    return ("the x-axis", expr) if expr.time is not None else None


def _main_target(scope: PlanningContext) -> tuple[str, ColumnExpr | FragmentExpr] | None:
    """Return the main time column of the dataset; None where it has none."""
    main = scope.view.dataset.main_dttm_col
    if not main or scope.view.find_column(main) is None:
        return None
    expr = column_by_name(scope, main)
    return ("main_dttm_col", expr) if expr.time is not None else None


def _main_clauses(scope: PlanningContext, clauses: Sequence[Clause], bounds: TimeRange) -> list[Clause]:
    """Return the bounds of the main time column of a dataset that wants it bounded along with any other one."""
    main = _main_target(scope) if scope.view.dataset.always_filter_main_dttm and clauses else None
    if main is None or any(isinstance(c.predicate, Within) and c.predicate.left == main[1] for c in clauses):
        return []
    return _within(scope, main[1], bounds, Origin(OriginKind.DATASET, f"always_filter_main_dttm: {bounds.text}"))


def _temporal(scope: PlanningContext, item: ChartDataFilter, *, place: str) -> ColumnExpr | FragmentExpr:
    expr = filter_column(scope, item, place=place)
    if expr.time is None:
        raise FilterValueError(
            f"filter on {filter_name(item)!r}: TEMPORAL_RANGE needs a temporal column; "
            "set is_dttm (and python_date_format for numbers and text) on the dataset's column"
        )
    return expr


def _within(scope: PlanningContext, expr: ColumnExpr | FragmentExpr, bounds: TimeRange, origin: Origin) -> list[Clause]:
    if bounds.is_unbounded:
        return []
    within = Within(expr, naive(bounds.since), naive(bounds.until), scope.view.dataset.offset)
    return [Clause(within, origin)]
