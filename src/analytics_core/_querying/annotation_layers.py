"""What an annotation layer shows of a chart, and overrides of it: columns, range, time column, grain and shift; pure.

An override that is text replaces the chart's own value. Null takes the value of the query that shows the layer, as
clients mean it when they offer "use the time range of this view". `since` and `until` together are a `time_range`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from analytics_core._compile.columns import parse_grain, time_grain, with_grain
from analytics_core._compile.time_bounds import NO_FILTER
from analytics_core._frames.frame import Frame
from analytics_core.errors import ErrorType, QueryError, UnknownNameError
from analytics_core.models.enums import FilterOperator, TimeGrain
from analytics_core.models.query import AnnotationType, ChartAnnotationLayer, ChartDataQueryObject

_RANGE: Final = "time_range"
_ENDS: Final = ("since", "until")
_SHIFT: Final = "time_shift"
_GRAINS: Final = ("time_grain_orm", "time_grain_sqla", "time_grain")
_GRANULARITIES: Final = ("granularity", "granularity_orm", "granularity_sqla")
READ_OVERRIDES: Final = frozenset({_RANGE, *_ENDS, _SHIFT, *_GRAINS, *_GRANULARITIES})
_LONGEST: Final = 1_000
_LISTED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerView:
    """The query that shows a layer, and its resolved range (naive UTC; None: open)."""

    query: ChartDataQueryObject
    since: datetime | None
    until: datetime | None

    @property
    def range_text(self) -> str:
        """The resolved range as a time range of its own."""
        if self.since is None and self.until is None:
            return NO_FILTER
        since, until = (moment.isoformat() if moment else "" for moment in (self.since, self.until))
        return f"{since} : {until}"

    @property
    def grain(self) -> TimeGrain | None:
        """The time grain of the query."""
        return time_grain(self.query)


def range_override(overrides: Mapping[str, Any], view: LayerView) -> str | None:
    """Return the time range that a layer asks for; None when it leaves the range alone."""
    if _RANGE in overrides:
        return _text(overrides, _RANGE) or view.range_text
    if any(name in overrides for name in _ENDS):
        since, until = (_text(overrides, name) or "" for name in _ENDS)
        return f"{since} : {until}" if since or until else view.range_text
    return None


def overridden(query: ChartDataQueryObject, overrides: Mapping[str, Any], view: LayerView) -> ChartDataQueryObject:
    """Return a query of a chart as the layer wants it.

    Raises:
        QueryError: an override is not text.
        UnknownTimeGrainError: a grain is none.
    """
    changes: dict[str, Any] = {}
    if (time_range := range_override(overrides, view)) is not None:
        changes |= _with_range(query, time_range)
    if (granularity := _given(overrides, _GRANULARITIES)) and (column := granularity[1] or view.query.granularity):
        changes["granularity"] = column
    if shift := _text(overrides, _SHIFT):
        changes["time_shift"] = shift
    changed = query.model_copy(update=changes) if changes else query
    if (grain := _given(overrides, _GRAINS)) is None:
        return changed
    wanted = parse_grain(grain[1], place=f"overrides.{grain[0]}") or view.grain
    return with_grain(changed, wanted) if wanted else changed


def _with_range(query: ChartDataQueryObject, text: str) -> dict[str, Any]:
    """Return a range in the place of the query's own and of those of its filters."""
    filters = tuple(
        item.model_copy(update={"val": text}) if item.op is FilterOperator.TEMPORAL_RANGE else item
        for item in query.filters
    )
    is_in_filters = any(item.op is FilterOperator.TEMPORAL_RANGE for item in filters) and not query.time_range
    return {"filters": filters} if is_in_filters else {"filters": filters, "time_range": text}


def notes_of_overrides(overrides: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a caller should know: overrides that nobody reads."""
    unread = sorted(name for name in overrides if name not in READ_OVERRIDES)
    return (f"overrides kept but not read: {', '.join(unread[:_LISTED])}",) if unread else ()


def _text(overrides: Mapping[str, Any], name: str) -> str | None:
    value = overrides.get(name)
    if value is not None and not (isinstance(value, str) and len(value) <= _LONGEST):
        raise QueryError(f"overrides.{name} must be text of at most {_LONGEST} characters, or null")
    return value


def _given(overrides: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, str | None] | None:
    """Return the first of the names that is given with its text; None when none is."""
    return next(((name, _text(overrides, name)) for name in names if name in overrides), None)


_MARKS = frozenset({AnnotationType.EVENT, AnnotationType.INTERVAL})


class UnknownAnnotationColumnError(UnknownNameError, error_type=ErrorType.COLUMN_DOES_NOT_EXIST_ERROR):
    """An annotation layer names a column that the answer of its chart does not have."""

    noun = "column"


def shown_columns(frame: Frame, layer: ChartAnnotationLayer, *, chart_id: int) -> Frame:
    """Return the columns that the layer shows, in the order time, end, title, descriptions.

    Series show all columns, and so do events and intervals that name no description columns or no time column.

    Raises:
        UnknownAnnotationColumnError: the layer names a column that is not there.
    """
    if layer.annotation_type not in _MARKS or not len(frame):  # an empty answer may lack columns that steps would add
        return frame
    columns = {column.name: column for column in frame.columns}
    named = list(_named(layer))
    for place, name in named:
        if name not in columns:
            raise UnknownAnnotationColumnError(name, place=f"{place}: the answer of chart {chart_id}", known=columns)
    if not layer.description_columns or not layer.time_column:
        return frame
    return Frame(columns=tuple(columns[name] for name in dict.fromkeys(name for _, name in named)))


def _named(layer: ChartAnnotationLayer) -> Iterator[tuple[str, str]]:
    """Yield the columns that a layer names, each with the field that names it."""
    if layer.time_column:
        yield "timeColumn", layer.time_column
    if layer.interval_end_column and layer.annotation_type is AnnotationType.INTERVAL:
        yield "intervalEndColumn", layer.interval_end_column
    if layer.title_column:
        yield "titleColumn", layer.title_column
    for name in layer.description_columns or ():
        yield "descriptionColumns", name
