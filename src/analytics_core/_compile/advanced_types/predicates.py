"""Filters on columns of an advanced data type: what people write becomes comparisons of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from analytics_core._compile.advanced_types.base import AdvancedDataType, Span
from analytics_core._compile.plan import AllOf, AnyOf, Compare, Comparison, InValues, IsNull, PlanExpr, Predicate
from analytics_core.errors import FilterValueError, UnknownOperatorError
from analytics_core.models.enums import FilterOperator

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
    held = [span if largest is None else Span(span.first, min(span.last, largest)) for span in spans]
    within = [span for span in held if span.first <= span.last]
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
