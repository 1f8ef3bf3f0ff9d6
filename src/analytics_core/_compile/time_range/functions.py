"""The grammar of functions; as in `parser`, each function reads the rule in its docstring. Names ignore case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from analytics_core._compile.calendar import CalendarUnit
from analytics_core._compile.time_range.calls import DateAdd, DateDiff, DateTrunc, Holiday, LastDay
from analytics_core._compile.time_range.holiday import DEFAULT_COUNTRY
from analytics_core._compile.time_range.moments import Moment
from analytics_core._compile.time_range.refusal import impossible
from analytics_core._compile.time_range.tokens import Cursor, TokenKind
from analytics_core._compile.time_range.words import read_count, read_unit

ReadMoment = Callable[[Cursor], Moment]


def read_call(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`name "(" arguments [","] ")"`; `read_moment` reads the rule for a moment."""
    read_arguments = CALLS[cursor.take().text]
    cursor.take_mark("(")
    node = read_arguments(cursor, read_moment)
    _close(cursor)
    return node


def _close(cursor: Cursor) -> None:
    """`[","] ")"`."""
    cursor.skip_mark(",")
    cursor.take_mark(")")


def _datetime(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`DATETIME(quoted moment | moment)`: the moment itself."""
    if cursor.peek().kind is not TokenKind.QUOTED:
        return read_moment(cursor)
    inner = Cursor(cursor.take().text)
    node = read_moment(inner)
    inner.take_end()
    return node


def _dateadd(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`DATEADD(moment, ["-" | "+"] N | DATEDIFF(...), unit)`."""
    base = read_moment(cursor)
    cursor.take_mark(",")
    count = _datediff(cursor, read_moment) if cursor.at_word("datediff") else _signed(cursor)
    cursor.take_mark(",")
    return DateAdd(base, count, read_unit(cursor))


def _signed(cursor: Cursor) -> int:
    """`["-" | "+"] N`."""
    if cursor.skip_mark("-"):
        return -read_count(cursor)
    cursor.skip_mark("+")
    return read_count(cursor)


def _datediff(cursor: Cursor, read_moment: ReadMoment) -> DateDiff:
    """`DATEDIFF(moment, moment [, unit])`; without a unit: days."""
    cursor.take()
    cursor.take_mark("(")
    left = read_moment(cursor)
    cursor.take_mark(",")
    right = read_moment(cursor)
    cursor.skip_mark(",")
    counted = CalendarUnit.DAY if cursor.at_mark(")") else read_unit(cursor)
    _close(cursor)
    return DateDiff(left, right, counted)


def _datetrunc(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`DATETRUNC(moment, unit)`."""
    base = read_moment(cursor)
    cursor.take_mark(",")
    return DateTrunc(base, read_unit(cursor))


def _lastday(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`LASTDAY(moment, unit of a day or longer)`."""
    base = read_moment(cursor)
    cursor.take_mark(",")
    of_unit = read_unit(cursor)
    if of_unit.is_clock:
        raise impossible(cursor.text, f"asks for the last day of one {of_unit.value}; LASTDAY takes day to year")
    return LastDay(base, of_unit)


def _holiday(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`HOLIDAY(quoted name [, moment] [, quoted country])`."""
    if cursor.peek().kind is not TokenKind.QUOTED:
        raise cursor.refused("the quoted name of a holiday")
    name = cursor.take().text
    within = None
    if cursor.skip_mark(",") and cursor.peek().kind in (TokenKind.WORD, TokenKind.NUMBER, TokenKind.MOMENT):
        within = read_moment(cursor)
        cursor.skip_mark(",")
    country = cursor.take().text if cursor.peek().kind is TokenKind.QUOTED else DEFAULT_COUNTRY
    return Holiday(name, within, country)


CALLS: Mapping[str, Callable[[Cursor, ReadMoment], Moment]] = MappingProxyType(
    {
        "datetime": _datetime,
        "dateadd": _dateadd,
        "datetrunc": _datetrunc,
        "lastday": _lastday,
        "holiday": _holiday,
    }
)
