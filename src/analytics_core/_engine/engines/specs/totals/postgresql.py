"""PostgreSQL: sums must fit their type, doubles overflow and underflow with an error, zero divides nothing.

Functions that others define for texts that are no `text` stand before those of pg_catalog: only what the grammar
calls, and what takes exactly the stored type, is listed. LIKE fails where a collation is not deterministic, and texts
of two collations fail where a row compares them.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.engines import totals
from analytics_core._engine.engines.types import ValueKind

_MOST_DIGITS = 1_000
_OF_DAYS = {"dow", "isodow", "doy"}


def _arithmetic(operator: type[exp.Expr], left: totals.Values, right: totals.Values) -> totals.Values | None:
    if ValueKind.FLOAT in (left.kind, right.kind):
        return totals.float_sum(operator, left, right)
    are_integers = left.kind is right.kind is ValueKind.INTEGER
    if operator in (exp.Div, exp.Mod):
        return None if right.has_zero else _divided(operator, left, right, are_integers=are_integers)
    found = totals.combined(operator, left, right)
    if found is None:
        return None
    low, high, scale = found
    if not are_integers:
        return totals.exact(low, high, scale=scale, size=_MOST_DIGITS, kind=ValueKind.DECIMAL)
    return totals.fitting(low, high, bits=max(left.size, right.size))


def _divided(
    operator: type[exp.Expr], left: totals.Values, right: totals.Values, *, are_integers: bool
) -> totals.Values | None:
    if left.low is None or right.low is None:
        return None
    if operator is exp.Mod:
        most = totals.largest(right)
        return totals.exact(-most, most, scale=right.scale, size=right.size, kind=right.kind)
    if are_integers:  # the smallest number divided by -1 has no place
        return None if right.low < 0 else replace(left, is_fixed=False, never_zero=False)
    most = totals.largest(left) * 10**right.scale
    return totals.exact(-most, most, scale=left.scale, size=_MOST_DIGITS, kind=ValueKind.DECIMAL)


def _cast(values: totals.Values, to: exp.DataType, kind: ValueKind) -> totals.Values | None:
    if kind is ValueKind.DATE and values.kind in (ValueKind.TIMESTAMP, ValueKind.DATE):
        return totals.Values(kind=kind)
    if to.this is exp.DType.DOUBLE and values.low is not None:
        return totals.FLOAT
    is_wide = to.this in (exp.DType.DECIMAL, exp.DType.BIGINT) and not to.expressions
    return replace(values, kind=kind, size=64) if is_wide and values.kind is ValueKind.INTEGER else None


TOTAL = totals.TotalOperations(
    functions=totals.signatures("""
    trim(text) -> text  substring(text, count) -> text  substring(text, count, count) -> text
    extract(unit, timestamp) -> decimal  extract(part, date) -> decimal
    round(decimal) -> same  round(decimal, count) -> same  floor(decimal) -> same  ceil(decimal) -> same
    currentdate() -> date  currenttimestamp() -> timestamptz
    """),
    arithmetic=_arithmetic,
    units={"unit": totals.ALL_UNITS | _OF_DAYS, "part": totals.DAYS | _OF_DAYS | {"week"}},
    mixes_texts=False,
    mixes_moments=True,
    casts=_cast,
)
