"""The smallest rules of the grammar: a count and a unit."""

from __future__ import annotations

from types import MappingProxyType

from analytics_core._compile.calendar import CalendarUnit
from analytics_core._compile.time_range.tokens import Cursor, TokenKind

UNITS = MappingProxyType({text: unit for unit in CalendarUnit for text in (unit.value, f"{unit.value}s")})
_MOST_DIGITS = 9


def read_count(cursor: Cursor) -> int:
    """`N`, at most nine digits."""
    token = cursor.peek()
    if token.kind is not TokenKind.NUMBER or len(token.text) > _MOST_DIGITS:
        raise cursor.refused(f"a number of at most {_MOST_DIGITS} digits")
    return int(cursor.take().text)


def read_unit(cursor: Cursor) -> CalendarUnit:
    """`second | minute | hour | day | week | month | quarter | year`, also with `s`."""
    return UNITS[cursor.take_word(UNITS, "a unit (second, minute, hour, day, week, month, quarter, year)")]
