"""Compares columns of moments with what answers show: whole milliseconds in JSON, or texts that are exact.

A number stands for all moments of its millisecond, so that a filter on a shown value finds its row, whatever finer part
the row has. None of these comparisons can fail on columns of dates and timestamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from analytics_core._compile.plan import (
    AllOf,
    AnyOf,
    ColumnExpr,
    Compare,
    Comparison,
    FragmentExpr,
    InValues,
    PlanExpr,
    Predicate,
    Within,
)
from analytics_core._compile.values import as_moment
from analytics_core._engines.types import TimeEncoding, ValueKind
from analytics_core.errors import FilterValueError

MOST_RANGES: Final = 500
"""Longer lists are compared exactly: engines bound how deep conditions nest."""

_FINE: Final = frozenset({TimeEncoding.TIMESTAMP, TimeEncoding.TIMESTAMPTZ, TimeEncoding.ISO_TEXT})
_AFTER: Final[Mapping[Comparison, Comparison]] = MappingProxyType(
    {Comparison.GREATER: Comparison.GREATER_OR_EQUAL, Comparison.LESS_OR_EQUAL: Comparison.LESS}
)


@dataclass(frozen=True, slots=True)
class ShownMoment:
    """A moment that a filter names, naive UTC; `until` is where its millisecond ends, None when it is exact."""

    since: datetime
    until: datetime | None = None


def shown_moment(value: Any, *, column: str, hours: int) -> ShownMoment:
    """Return the moment of a filter's value, `hours` earlier, as it is stored.

    Raises:
        FilterValueError: the value is no moment, or lies at the ends of the calendar.
    """
    try:
        since = as_moment(value, column=column) - timedelta(hours=hours)
        is_whole = isinstance(value, int | float) and value == int(value)
        return ShownMoment(since, since + timedelta(milliseconds=1) if is_whole else None)
    except OverflowError:
        raise FilterValueError(f"column {column!r} takes dates between the years 1 and 9999") from None


def compare_moment(left: PlanExpr, op: Comparison, moment: ShownMoment) -> Predicate:
    """Return `left op moment`."""
    if moment.until is None or not _is_fine(left):
        return Compare(left, op, moment.since)
    if op is Comparison.EQUAL:
        return _inside(left, moment)
    if op is Comparison.NOT_EQUAL:
        return _outside(left, moment)
    if op in _AFTER:
        return Compare(left, _AFTER[op], moment.until)
    return Compare(left, op, moment.since)


def member_moments(left: PlanExpr, moments: Sequence[ShownMoment], *, with_null: bool, negated: bool) -> Predicate:
    """Return that `left` is one of the moments, or none of them; see `InValues` for NULL."""
    distinct = tuple(dict.fromkeys(moments))
    ranges = [moment for moment in distinct if moment.until is not None] if _is_fine(left) else []
    if not 0 < len(ranges) <= MOST_RANGES:
        return InValues(left, tuple(moment.since for moment in distinct), with_null=with_null, negated=negated)
    exact = tuple(moment.since for moment in distinct if moment.until is None)
    rest: list[Predicate] = []
    if exact or with_null:
        rest.append(InValues(left, exact, with_null=with_null, negated=negated))
    if negated:
        return AllOf((*rest, *(_outside(left, moment) for moment in ranges)))
    return AnyOf((*rest, *(_inside(left, moment) for moment in ranges)))


def _is_fine(left: PlanExpr) -> bool:
    """Tell whether a column may hold parts of milliseconds; buckets and encoded days do not."""
    if not isinstance(left, ColumnExpr | FragmentExpr) or left.time is None:
        return False
    return left.time.encoding in _FINE or left.time.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL)


def _inside(left: PlanExpr, moment: ShownMoment) -> Predicate:
    assert isinstance(left, ColumnExpr | FragmentExpr)  # noqa: S101 - fine ones are; tells the type checker
    return Within(left, moment.since, moment.until)


def _outside(left: PlanExpr, moment: ShownMoment) -> Predicate:
    before = Compare(left, Comparison.LESS, moment.since)
    return AnyOf((before, Compare(left, Comparison.GREATER_OR_EQUAL, moment.until)))
