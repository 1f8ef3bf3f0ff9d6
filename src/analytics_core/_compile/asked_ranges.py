"""Which time range of a query bounds which column: its `time_range`, and those of its TEMPORAL_RANGE filters; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from analytics_core._compile.filters import filter_name
from analytics_core.errors import FilterValueError
from analytics_core.models.enums import FilterOperator
from analytics_core.models.query import ChartDataFilter, ChartDataQueryObject

NumberedFilter = tuple[int, ChartDataFilter]
NO_FILTER = "No filter"
_NamedFilter = tuple[int, ChartDataFilter, str]
_OPEN = frozenset({"", "no filter", ":"})


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
class AskedRanges:
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


def asked_ranges(
    query: ChartDataQueryObject,
    filters: Sequence[NumberedFilter],
    *,
    axis: str | None,
    is_time_axis: bool,
    main: str | None,
    own_name: Callable[[str], str],
) -> AskedRanges:
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
    return AskedRanges(
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
