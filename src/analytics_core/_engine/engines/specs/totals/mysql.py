"""MariaDB and MySQL: what has no value is NULL with a warning; only numbers leave the range of their types."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.engines import totals
from analytics_core._engine.engines.types import ValueKind

_MOST_DIGITS, _MOST_SCALE, _MORE_DIGITS = 65, 30, 4


def _arithmetic(operator: type[exp.Expr], left: totals.Values, right: totals.Values) -> totals.Values | None:
    """Return what an operator gives: whole numbers have 64 bits, a sign only if both have one, decimals 65 digits."""
    if ValueKind.FLOAT in (left.kind, right.kind):
        return _double(operator, left, right)
    if left.low is None or right.low is None:
        return None
    if operator in (exp.Mod, exp.IntDiv, exp.Div):
        return _divided(operator, left, right)
    found = totals.combined(operator, left, right)
    if found is None or not left.kind is right.kind is ValueKind.INTEGER:
        return None if found is None else _decimal(*found)
    low, high, _ = found
    if not (left.is_unsigned or right.is_unsigned):
        return totals.fitting(low, high, bits=64)
    return replace(totals.exact(low, high, size=64), is_unsigned=True) if low >= 0 and high < 2**64 else None


def _divided(operator: type[exp.Expr], left: totals.Values, right: totals.Values) -> totals.Values | None:
    most = totals.largest(left)
    if operator is exp.Div:
        shift = 10 ** (right.scale + _MORE_DIGITS)
        return _decimal(-most * shift, most * shift, left.scale + _MORE_DIGITS)
    if operator is exp.Mod:
        most = totals.largest(right)
        low = 0 if left.is_unsigned else -most
        found = totals.exact(low, most, scale=right.scale, size=right.size, kind=right.kind)
        return replace(found, is_unsigned=left.is_unsigned)
    are_signed = left.kind is right.kind is ValueKind.INTEGER and not (left.is_unsigned or right.is_unsigned)
    return totals.fitting(-most, most, bits=64) if are_signed else None


def _decimal(low: int, high: int, scale: int) -> totals.Values | None:
    if scale > _MOST_SCALE or totals.digits_of(low, high) > _MOST_DIGITS:
        return None
    return totals.exact(low, high, scale=scale, size=_MOST_DIGITS, kind=ValueKind.DECIMAL)


def _double(operator: type[exp.Expr], left: totals.Values, right: totals.Values) -> totals.Values | None:
    """Return what doubles give: they may not grow; zero gives NULL, and what is too small is zero."""
    if operator is exp.Div and left.kind is ValueKind.FLOAT and right.kind is ValueKind.INTEGER:
        return totals.FLOAT
    factor = right if left.kind is ValueKind.FLOAT else left
    if operator is exp.Mul and factor.low is not None and totals.largest(factor) <= 10**factor.scale:
        return totals.FLOAT
    return totals.float_sum(operator, left, right)


def _cast(values: totals.Values, to: exp.DataType, kind: ValueKind) -> totals.Values | None:
    """Return what a cast gives: numbers that are too large become the largest, texts that are none NULL or zero."""
    if kind is ValueKind.TEXT:
        return totals.Values(kind=kind, names=values.names)
    if kind.is_temporal and values.kind.is_temporal:
        return totals.Values(kind=kind)
    if to.this is exp.DType.DOUBLE:
        return totals.FLOAT
    if to.this in (exp.DType.BIGINT, exp.DType.UBIGINT):
        is_signed = to.this is exp.DType.BIGINT
        return totals.of_bits(64) if is_signed else replace(totals.exact(0, 2**64 - 1, size=64), is_unsigned=True)
    if to.this is not exp.DType.DECIMAL:
        return None
    digits, scale = [*(int(part.name) for part in to.expressions), *(10, 0)[len(to.expressions) :]]
    return _decimal(-(10**digits) + 1, 10**digits - 1, scale)


TOTAL = totals.TotalOperations(
    functions=totals.signatures("""
    lower(text) -> text  upper(text) -> text  trim(text) -> text  trim_leading(text) -> text
    trim_trailing(text) -> text  length(text) -> count  left(text, count) -> text  right(text, count) -> text
    substring(text, count) -> text  substring(text, count, count) -> text  strposition(text, word) -> count
    substringindex(text, word, count) -> text  replace(text, word, word) -> text  concat(texts) -> text
    tsordstodate(moment) -> date  tsordstotimestamp(moment) -> timestamp  timetostr(moment, word) -> text
    year(moment) -> count  quarter(moment) -> count  month(moment) -> count  week(moment) -> count
    week(moment, count) -> count  dayofweek(moment) -> count  weekday(moment) -> count  dayofyear(moment) -> count
    dayofmonth(moment) -> count  day(moment) -> count  hour(moment) -> count  minute(moment) -> count
    second(moment) -> count  dayname(moment) -> text  yearweek(moment) -> count  lastday(moment) -> date
    extract(unit, moment) -> count  datediff(moment, moment) -> count  timestampdiff(moment, moment, unit) -> count
    datesub(moment, count, unit) -> timestamp  dateadd(moment, count, unit) -> timestamp
    round(number) -> same  round(number, count) -> same  floor(number) -> same  ceil(number) -> same
    currentdate() -> date  currenttimestamp() -> timestamp  now() -> timestamp
    """),
    arithmetic=_arithmetic,
    units={"unit": totals.ALL_UNITS},
    likes=True,
    mixes_moments=True,
    joins_moments=True,
    moves_moments=True,
    mixes_kinds=True,
    tells_signs=False,
    casts=_cast,
)
