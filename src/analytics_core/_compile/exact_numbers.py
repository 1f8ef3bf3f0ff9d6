"""Compares columns of exact numbers with numbers that they cannot hold: more decimal places, or out of their range.

Bound as they are, such numbers would make engines go through doubles, which lose digits beyond 2^53, or cast the
column to a wider type, which fails by the value of a row (DuckDB) and keeps an index from being used. So the
comparison becomes the same one with a number that the column can hold: `quantity > 2.5` is `quantity >= 3`. Where the
range of a column is known, none of these can fail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from analytics_core._compile.plan import AnyOf, Compare, Comparison, IsNull, PlanExpr, Predicate
from analytics_core._engines.spec import BindValue
from analytics_core._engines.types import NumberRange, ValueKind

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
    left: PlanExpr, op: Comparison, value: Number, kind: ValueKind, held: NumberRange | None
) -> Predicate:
    """Return `left op value`, exact whatever numbers `left` holds.

    Args:
        left: what is compared.
        op: how.
        value: the number; doubles only where they part whole numbers as the decimal does.
        kind: the kind of `left`.
        held: the numbers that `left` can hold; None: not known.
    """
    scale = _scale(value, kind, held)
    if scale is None:
        return Compare(left, op, value)
    steps = Fraction(value) * 10**scale
    if held is not None and not held.low <= steps <= held.high:
        return _all(left) if op in (_UPWARDS if steps < held.low else _DOWNWARDS) or op in _UNEQUAL else _NONE
    if steps.denominator == 1:
        return Compare(left, op, value)
    if op not in _BETWEEN_STEPS:
        return _all(left) if op in _UNEQUAL else _NONE
    nearest = math.ceil(steps) if op in _UPWARDS else math.floor(steps)
    return Compare(left, _BETWEEN_STEPS[op], _number(nearest, scale))


def can_equal(value: BindValue, kind: ValueKind, held: NumberRange | None) -> bool:
    """Tell whether a column of such numbers can hold the value."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return True
    scale = _scale(value, kind, held)
    if scale is None:
        return True
    steps = Fraction(value) * 10**scale
    return steps.denominator == 1 and (held is None or held.low <= steps <= held.high)


def _scale(value: Number, kind: ValueKind, held: NumberRange | None) -> int | None:
    """Return how many decimal places the column has; None where the comparison is exact as it is."""
    if held is not None:
        return held.scale
    return 0 if kind is ValueKind.INTEGER and isinstance(value, Decimal) else None


def _number(steps: int, scale: int) -> int | Decimal:
    # Made of its digits: arithmetic with decimals rounds to 28 of them.
    return Decimal((int(steps < 0), tuple(map(int, str(abs(steps)))), -scale)) if scale else steps


def _all(left: PlanExpr) -> Predicate:
    return IsNull(left, negated=True)


_NONE: Final = AnyOf(())
