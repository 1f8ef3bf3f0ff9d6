"""Comparisons with columns that do not hold what people write: exact numbers, moments, advanced data types.

Numbers that a column of exact numbers cannot hold would, bound as they are, make engines go through doubles, which lose
digits beyond 2^53, or cast the column to a wider type, which fails by the value of a row (DuckDB) and keeps an index
from being used. So the comparison becomes the same one with a number that the column can hold: `quantity > 2.5` is
`quantity >= 3`. Where the range of a column is known, none of these can fail.

A number that is compared with moments stands for all moments of its millisecond, so that a filter on a shown value
finds its row, whatever finer part the row has. None of these comparisons can fail on columns of dates and timestamps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

from analytics_core._engine.compile.advanced_types import AdvancedDataType, Span
from analytics_core._engine.compile.plan import (
    AllOf,
    AnyOf,
    ColumnExpr,
    Compare,
    Comparison,
    FragmentExpr,
    InValues,
    IsNull,
    PlanExpr,
    Predicate,
    Within,
)
from analytics_core._engine.compile.values import as_moment, milliseconds_in
from analytics_core._engine.engines.spec import BindValue
from analytics_core._engine.engines.types import NumberRange, TimeEncoding, ValueKind
from analytics_core.errors import FilterValueError, UnknownOperatorError
from analytics_core.models.enums import FilterOperator

Number = int | float | Decimal

_UPWARDS: Final = frozenset({Comparison.GREATER, Comparison.GREATER_OR_EQUAL})
_DOWNWARDS: Final = frozenset({Comparison.LESS, Comparison.LESS_OR_EQUAL})
_UNEQUAL: Final = frozenset({Comparison.NOT_EQUAL})
_BETWEEN_STEPS: Final[Mapping[Comparison, Comparison]] = MappingProxyType(
    {
        **dict.fromkeys(_UPWARDS, Comparison.GREATER_OR_EQUAL),
        **dict.fromkeys(_DOWNWARDS, Comparison.LESS_OR_EQUAL),
    }
)


def compare_number(
    left: PlanExpr, op: Comparison, value: Number, kind: ValueKind, numbers: NumberRange | None
) -> Predicate:
    """Return `left op value`, exact whatever numbers `left` holds.

    Args:
        left: what is compared.
        op: how.
        value: the number; doubles only where they part whole numbers as the decimal does.
        kind: the kind of `left`.
        numbers: the numbers that `left` can hold; None: not known.
    """
    scale = _scale(value, kind, numbers)
    if scale is None:
        return Compare(left, op, value)
    steps = Fraction(value) * 10**scale
    if numbers is not None and not numbers.low <= steps <= numbers.high:
        return _all(left) if op in (_UPWARDS if steps < numbers.low else _DOWNWARDS) or op in _UNEQUAL else _NONE
    if steps.denominator == 1:
        return Compare(left, op, value)
    if op not in _BETWEEN_STEPS:
        return _all(left) if op in _UNEQUAL else _NONE
    nearest = math.ceil(steps) if op in _UPWARDS else math.floor(steps)
    return Compare(left, _BETWEEN_STEPS[op], _number(nearest, scale))


def can_equal(value: BindValue, kind: ValueKind, numbers: NumberRange | None) -> bool:
    """Tell whether a column of such numbers can hold the value."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return True
    scale = _scale(value, kind, numbers)
    if scale is None:
        return True
    steps = Fraction(value) * 10**scale
    return steps.denominator == 1 and (numbers is None or numbers.low <= steps <= numbers.high)


def _scale(value: Number, kind: ValueKind, numbers: NumberRange | None) -> int | None:
    """Return how many decimal places the column has; None where the comparison is exact as it is."""
    if numbers is not None:
        return numbers.scale
    return 0 if kind is ValueKind.INTEGER and isinstance(value, Decimal) else None


def _number(steps: int, scale: int) -> int | Decimal:
    # Made of its digits: arithmetic with decimals rounds to 28 of them.
    return Decimal((int(steps < 0), tuple(map(int, str(abs(steps)))), -scale)) if scale else steps


def _all(left: PlanExpr) -> Predicate:
    return IsNull(left, negated=True)


_NONE: Final = AnyOf(())


MOST_RANGES: Final = 500
"""Longer lists are compared exactly: engines bound how deep conditions nest."""

_FINE: Final = frozenset({TimeEncoding.TIMESTAMP, TimeEncoding.TIMESTAMPTZ, TimeEncoding.ISO_TEXT})
_MILLISECOND: Final = timedelta(milliseconds=1)
_LAST_MILLISECOND: Final = datetime(9999, 12, 31, 23, 59, 59, 999_000)  # noqa: DTZ001 - naive UTC
_AFTER: Final[Mapping[Comparison, Comparison]] = MappingProxyType(
    {Comparison.GREATER: Comparison.GREATER_OR_EQUAL, Comparison.LESS_OR_EQUAL: Comparison.LESS}
)


@dataclass(frozen=True, slots=True)
class FilterMoment:
    """A moment that a filter names, naive UTC: an exact one, or a millisecond.

    `until` is where the millisecond ends; None: with the calendar.
    """

    since: datetime
    until: datetime | None = None
    is_exact: bool = True


def filter_moment(value: Any, *, column: str, hours: int) -> FilterMoment:
    """Return the moment of a filter's value, `hours` earlier, as it is stored.

    Raises:
        FilterValueError: the value is no moment, or lies at the ends of the calendar.
    """
    try:
        value = milliseconds_in(value)
        since = as_moment(value, column=column) - timedelta(hours=hours)
        is_integer = isinstance(value, int | float) and value == int(value)
        if not is_integer:
            return FilterMoment(since)
        until = since + _MILLISECOND if since <= _LAST_MILLISECOND - _MILLISECOND else None
        return FilterMoment(since, until, is_exact=False)
    except OverflowError:
        raise FilterValueError(f"column {column!r} takes dates between the years 1 and 9999") from None


def compare_moment(left: PlanExpr, op: Comparison, moment: FilterMoment) -> Predicate:
    """Return `left op moment`."""
    if moment.is_exact or not _is_fine(left):
        return Compare(left, op, moment.since)
    if op is Comparison.EQUAL:
        return _inside_millisecond(left, moment)
    if op is Comparison.NOT_EQUAL:
        return _outside_millisecond(left, moment)
    if op in _AFTER and moment.until is None:
        return _NONE if op is Comparison.GREATER else _all(left)
    if op in _AFTER:
        return Compare(left, _AFTER[op], moment.until)
    return Compare(left, op, moment.since)


def member_moments(left: PlanExpr, moments: Sequence[FilterMoment], *, with_null: bool, negated: bool) -> Predicate:
    """Return that `left` is one of the moments, or none of them; see `InValues` for NULL."""
    distinct = tuple(dict.fromkeys(moments))
    ranges = [moment for moment in distinct if not moment.is_exact] if _is_fine(left) else []
    if not 0 < len(ranges) <= MOST_RANGES:
        return InValues(left, tuple(moment.since for moment in distinct), with_null=with_null, negated=negated)
    exact = tuple(moment.since for moment in distinct if moment.is_exact)
    rest: list[Predicate] = []
    if exact or with_null:
        rest.append(InValues(left, exact, with_null=with_null, negated=negated))
    if negated:
        return AllOf((*rest, *(_outside_millisecond(left, moment) for moment in ranges)))
    return AnyOf((*rest, *(_inside_millisecond(left, moment) for moment in ranges)))


def _is_fine(left: PlanExpr) -> bool:
    """Tell whether a column may hold parts of milliseconds; buckets and encoded days do not."""
    if not isinstance(left, ColumnExpr | FragmentExpr) or left.time is None:
        return False
    return left.time.encoding in _FINE or left.time.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL)


def _inside_millisecond(left: PlanExpr, moment: FilterMoment) -> Predicate:
    assert isinstance(left, ColumnExpr | FragmentExpr)  # noqa: S101 - fine ones are; tells the type checker
    return Within(left, moment.since, moment.until)


def _outside_millisecond(left: PlanExpr, moment: FilterMoment) -> Predicate:
    before = Compare(left, Comparison.LESS, moment.since)
    if moment.until is None:
        return before
    return AnyOf((before, Compare(left, Comparison.GREATER_OR_EQUAL, moment.until)))


_NEGATED = frozenset({FilterOperator.NOT_EQUALS, FilterOperator.NOT_IN})
_ORDERED = {
    FilterOperator.GREATER: Comparison.GREATER,
    FilterOperator.GREATER_OR_EQUAL: Comparison.GREATER_OR_EQUAL,
    FilterOperator.LESS: Comparison.LESS,
    FilterOperator.LESS_OR_EQUAL: Comparison.LESS_OR_EQUAL,
}


def predicate_of(
    kind: AdvancedDataType,
    left: PlanExpr,
    op: FilterOperator,
    values: Sequence[object],
    *,
    column: str,
    largest: int | None = None,
) -> Predicate:
    """Return the condition of a filter; None among the values stands for NULL.

    `largest` is the largest number that the column can hold, beyond which drivers take none (None: no bound).

    Raises:
        UnknownOperatorError: the type does not know the operator.
        FilterValueError: a value that the type cannot read, or several where one is needed.
    """
    if op not in kind.operators:
        place = f"the filter on {column!r} of type {kind.name}"
        raise UnknownOperatorError(op.value, place=place, known=[known.value for known in kind.operators])
    spans = [span for value in values if value is not None for span in _read(kind, value, column)]
    if op in _ORDERED:
        return _ordered(left, op, spans, column=column, largest=largest)
    reachable = [span if largest is None else Span(span.first, min(span.last, largest)) for span in spans]
    within = [span for span in reachable if span.first <= span.last]
    return _inside(left, within, negated=op in _NEGATED, with_null=None in values)


def _read(kind: AdvancedDataType, value: object, column: str) -> tuple[Span, ...]:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FilterValueError(f"column {column!r} holds a {kind.name}; it is compared with text or whole numbers")
    try:
        return kind.read(str(value))
    except ValueError as problem:
        raise FilterValueError(f"column {column!r}: {problem}") from None


def _ordered(left: PlanExpr, op: FilterOperator, spans: list[Span], *, column: str, largest: int | None) -> Predicate:
    if len(spans) != 1:
        raise FilterValueError(f"filter on {column!r}: {op.value} takes one value that means one range")
    from_its_end = op in (FilterOperator.GREATER, FilterOperator.LESS_OR_EQUAL)
    bound = spans[0].last if from_its_end else spans[0].first
    if largest is None or bound <= largest:
        return Compare(left, _ORDERED[op], bound)
    upwards = op in (FilterOperator.GREATER, FilterOperator.GREATER_OR_EQUAL)
    return AnyOf(()) if upwards else Compare(left, Comparison.LESS_OR_EQUAL, largest)


def _inside(left: PlanExpr, spans: list[Span], *, negated: bool, with_null: bool) -> Predicate:
    """Return that the column is in one of the ranges, or in none; NULL passes neither unless it is asked for."""
    singles = tuple(dict.fromkeys(span.first for span in spans if span.is_single))
    parts: list[Predicate] = [] if not singles else [InValues(left, singles, negated=negated)]
    parts += [_range(left, span, negated=negated) for span in dict.fromkeys(spans) if not span.is_single]
    if with_null:
        parts.append(IsNull(left, negated=negated))
    if negated and not parts:
        return IsNull(left, negated=True)
    if len(parts) == 1:
        return parts[0]
    return AllOf(tuple(parts)) if negated else AnyOf(tuple(parts))


def _range(left: PlanExpr, span: Span, *, negated: bool) -> Predicate:
    if negated:
        return AnyOf((Compare(left, Comparison.LESS, span.first), Compare(left, Comparison.GREATER, span.last)))
    return AllOf(
        (
            Compare(left, Comparison.GREATER_OR_EQUAL, span.first),
            Compare(left, Comparison.LESS_OR_EQUAL, span.last),
        )
    )
