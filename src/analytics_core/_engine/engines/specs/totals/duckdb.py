"""DuckDB: `/` makes doubles, doubles become infinite, whole numbers and short decimals overflow with an error."""

from __future__ import annotations

from sqlglot import exp

from analytics_core._engine.engines import kinds, totals
from analytics_core._engine.engines.types import ValueKind

_BITS = {
    "TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "UTINYINT": -8, "USMALLINT": -16, "UINTEGER": -32,
}  # fmt: skip
_numbers = kinds.range_reader(_BITS)


def _arithmetic(operator: type[exp.Expr], left: totals.Values, right: totals.Values) -> totals.Values | None:
    """Return what an operator gives: `/` makes doubles, doubles become infinite, and the rest must fit its type."""
    if ValueKind.FLOAT in (left.kind, right.kind):
        return None if operator is exp.IntDiv else totals.FLOAT
    are_integers = left.kind is right.kind is ValueKind.INTEGER
    if operator in (exp.Mod, exp.IntDiv, exp.Div):
        return _divided(operator, left, right, are_integers=are_integers)
    found = totals.combined(operator, left, right)
    if found is None:
        return None
    if are_integers:
        return totals.fitting(*found[:2], bits=max(left.size, right.size))
    return _decimal(operator, left, right, found)


_SHORT_DECIMAL, _LONG_DECIMAL = 18, 38


def _divided(
    operator: type[exp.Expr], left: totals.Values, right: totals.Values, *, are_integers: bool
) -> totals.Values | None:
    """Return what a quotient gives; the least integer by -1 has no place, of `/` too where a setting makes it `//`."""
    least = left.low is None or left.low <= -(2 ** (left.size - 1))
    if are_integers and least and (right.low is None or right.low <= -1):
        return None
    if operator is exp.Div:
        return totals.FLOAT
    return totals.of_bits(64) if are_integers else None


def _decimal(
    operator: type[exp.Expr], left: totals.Values, right: totals.Values, found: tuple[int, int, int]
) -> totals.Values | None:
    """Return a decimal that fits its type: of operands up to 18 digits it has 18, else 38; sums share one scale."""
    low, high, scale = found
    widest = max(values.digits + values.scale for values in (left, right))
    most = _SHORT_DECIMAL if widest <= _SHORT_DECIMAL else _LONG_DECIMAL
    is_product = operator is exp.Mul
    inside = [] if is_product else [bound for one in (left, right) for bound in totals.at_scale(one, scale)]
    if scale > most or totals.digits_of(low, high, *inside) > most:
        return None
    digits = left.digits + right.digits if is_product else max(left.digits, right.digits) + 1
    return totals.exact(low, high, scale=scale, size=min(digits + scale, most), kind=ValueKind.DECIMAL)


def _widened(type_text: str) -> str | None:
    """Return the type with which the engine computes in more digits than a product of two short columns has.

    Numbers without a sign stay: the engine takes `-1` of one for its largest, and the answer would be another.
    """
    numbers = _numbers(type_text)
    if numbers is None:
        return None
    if type_text.upper().split("(")[0].strip() in _BITS:
        return "BIGINT" if numbers.high < 2**31 and numbers.low < 0 else None
    return f"DECIMAL({_SHORT_DECIMAL + 1}, {numbers.scale})" if numbers.high < 10**_SHORT_DECIMAL else None


def _cast(values: totals.Values, to: exp.DataType, kind: ValueKind) -> totals.Values | None:
    if kind is ValueKind.TEXT and values.kind is not ValueKind.UNKNOWN and not to.expressions:
        return totals.Values(kind=kind, names=values.names)
    if to.this is exp.DType.DOUBLE and values.kind.is_numeric:
        return totals.FLOAT
    from_moment = values.kind in (ValueKind.TIMESTAMP, ValueKind.DATE)
    return totals.Values(kind=kind) if kind is ValueKind.DATE and from_moment else None


TOTAL = totals.TotalOperations(
    functions=totals.signatures("""
    lower(text) -> text  upper(text) -> text  trim(text) -> text  trim_leading(text) -> text
    trim_trailing(text) -> text  length(text) -> count  left(text, count) -> text  right(text, count) -> text
    substring(text, count) -> text  substring(text, count, count) -> text  strposition(text, word) -> count
    contains(text, word) -> boolean  startswith(text, word) -> boolean  endswith(text, word) -> boolean
    year(moment) -> count  quarter(moment) -> count  month(moment) -> count  week(timestamp) -> count
    dayofweek(moment) -> count  dayofweekiso(moment) -> count  dayofyear(moment) -> count
    dayofmonth(moment) -> count  day(moment) -> count  hour(moment) -> count  minute(moment) -> count
    second(moment) -> count  monthname(moment) -> text  dayname(moment) -> text
    extract(unit, timestamp) -> count  extract(part, date) -> count
    timestamptrunc(timestamp, short) -> timestamp  timetostr(moment, word) -> text
    round(number) -> same  round(number, count) -> same  floor(number) -> same  ceil(number) -> same
    datediff(timestamp, timestamp, short) -> count  datediff(date, date, part) -> count
    currentdate() -> date  currenttimestamp() -> timestamptz  now() -> timestamptz
    """),
    arithmetic=_arithmetic,
    units={"unit": totals.ALL_UNITS, "part": totals.DAYS | totals.TIMES, "short": totals.TIMES | {"day"}},
    likes=True,
    casts=_cast,
    tries=True,
    most_digits=_LONG_DECIMAL,
    widened=_widened,
)
