"""The grammar of time texts, by recursive descent; each function reads one rule, which stands in its docstring.

Names of functions ignore case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from analytics_core._engine.compile.calendar import CalendarUnit
from analytics_core._engine.compile.time_range.moments import (
    DAYS,
    DEFAULT_COUNTRY,
    Amount,
    Edge,
    Moment,
    RangeNode,
    TimeDirection,
    UnitCount,
    between,
    calendar_range,
    counted_range,
    date_add,
    date_diff,
    date_trunc,
    delta,
    edge_of,
    first_of,
    holiday,
    iso_moment,
    last_day,
    named_day,
    no_filter,
    scoped,
    unit_range,
)
from analytics_core._engine.compile.time_range.tokens import Cursor, TokenKind, impossible, parse_iso

UNITS = MappingProxyType({text: unit for unit in CalendarUnit for text in (unit.value, f"{unit.value}s")})
_MOST_DIGITS = 9


def read_count(cursor: Cursor) -> int:
    """`N`, at most nine digits."""
    token = cursor.peek()
    if token.kind is not TokenKind.NUMBER or len(token.text) > _MOST_DIGITS:
        raise cursor.rejected(f"a number of at most {_MOST_DIGITS} digits")
    return int(cursor.take().text)


def read_unit(cursor: Cursor) -> CalendarUnit:
    """`second | minute | hour | day | week | month | quarter | year`, also with `s`."""
    return UNITS[cursor.take_word(UNITS, "a unit (second, minute, hour, day, week, month, quarter, year)")]


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
    amount = _datediff(cursor, read_moment) if cursor.at_word("datediff") else _signed(cursor)
    cursor.take_mark(",")
    return date_add(base, amount, read_unit(cursor))


def _signed(cursor: Cursor) -> Amount:
    """`["-" | "+"] N`."""
    sign = -1 if cursor.skip_mark("-") else 1
    if sign > 0:
        cursor.skip_mark("+")
    count = sign * read_count(cursor)
    return Amount(str(count), lambda _: count)


def _datediff(cursor: Cursor, read_moment: ReadMoment) -> Amount:
    """`DATEDIFF(moment, moment [, unit])`; without a unit: days."""
    cursor.take()
    cursor.take_mark("(")
    left = read_moment(cursor)
    cursor.take_mark(",")
    right = read_moment(cursor)
    cursor.skip_mark(",")
    counted = CalendarUnit.DAY if cursor.at_mark(")") else read_unit(cursor)
    _close(cursor)
    return date_diff(left, right, counted)


def _datetrunc(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`DATETRUNC(moment, unit)`."""
    base = read_moment(cursor)
    cursor.take_mark(",")
    return date_trunc(base, read_unit(cursor))


def _lastday(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`LASTDAY(moment, unit of a day or longer)`."""
    base = read_moment(cursor)
    cursor.take_mark(",")
    of_unit = read_unit(cursor)
    if of_unit.is_clock:
        raise impossible(cursor.text, f"asks for the last day of one {of_unit.value}; LASTDAY takes day to year")
    return last_day(base, of_unit)


def _holiday(cursor: Cursor, read_moment: ReadMoment) -> Moment:
    """`HOLIDAY(quoted name [, moment] [, quoted country])`."""
    if cursor.peek().kind is not TokenKind.QUOTED:
        raise cursor.rejected("the quoted name of a holiday")
    name = cursor.take().text
    within = None
    if cursor.skip_mark(",") and cursor.peek().kind in (TokenKind.WORD, TokenKind.NUMBER, TokenKind.MOMENT):
        within = read_moment(cursor)
        cursor.skip_mark(",")
    country = cursor.take().text if cursor.peek().kind is TokenKind.QUOTED else DEFAULT_COUNTRY
    return holiday(name, within, country)


CALLS: Mapping[str, Callable[[Cursor, ReadMoment], Moment]] = MappingProxyType(
    {
        "datetime": _datetime,
        "dateadd": _dateadd,
        "datetrunc": _datetrunc,
        "lastday": _lastday,
        "holiday": _holiday,
    }
)


_SCOPES = MappingProxyType(
    {"this": TimeDirection.THIS, "last": TimeDirection.LAST, "prior": TimeDirection.LAST, "next": TimeDirection.NEXT}
)
_DAYS = frozenset({"now", *DAYS})


def parse_time_range(text: str) -> RangeNode:
    """Return the tree of a time range: `nothing | "no filter" | [moment] ":" [moment] | lone`.

    Raises:
        TimeRangeError: the text is not of the grammar, too long, or names an impossible date.
    """
    cursor = Cursor(text)
    node = _between(cursor) if cursor.has(":") else _lone(cursor)
    cursor.take_end()
    return node


def parse_moment(text: str) -> Moment:
    """Return the tree of one moment, as one side of a range is written.

    Raises:
        TimeRangeError: the text is not of the grammar, too long, or names an impossible date.
    """
    cursor = Cursor(text)
    node = _moment(cursor)
    cursor.take_end()
    return node


def _between(cursor: Cursor) -> RangeNode:
    """`[moment] ":" [moment]`."""
    since = None if cursor.at_mark(":") else _moment(cursor)
    cursor.take_mark(":")
    until = None if cursor.peek().kind is TokenKind.END else _moment(cursor)
    return between(since, until)


def _lone(cursor: Cursor) -> RangeNode:
    """`nothing | "no filter" | "previous calendar" unit | "current" unit | first unit "of" scoped | moment`."""
    if cursor.peek().kind is TokenKind.END or cursor.skip_word("no", "filter"):
        return no_filter()
    if cursor.skip_word("previous", "calendar"):
        return calendar_range(read_unit(cursor), is_previous=True)
    if cursor.skip_word("current"):
        return calendar_range(read_unit(cursor), is_previous=False)
    if cursor.at_word("first") or cursor.at_word("1st"):
        return _first(cursor)
    node = _moment(cursor)
    cursor.take_end()
    return _as_range(node, cursor.text)


def _first(cursor: Cursor) -> RangeNode:
    """`("first" | "1st") [unit] "of" scoped`: a range of that unit; without a unit, the day."""
    cursor.take()
    inner = CalendarUnit.DAY if cursor.at_word("of") else read_unit(cursor)
    if not cursor.skip_word("of"):
        raise cursor.rejected("'of'")
    return first_of(inner, _outer(cursor))


def _as_range(node: Moment, text: str) -> RangeNode:
    """Return what a moment means when it stands alone."""
    if count := node.shift or node.scope:
        is_present = count.direction is TimeDirection.THIS
        return calendar_range(count.unit, is_previous=False) if is_present else counted_range(count)
    if node.unit is None:
        raise impossible(text, "names a moment, not a range: put ' : ' after it (since) or before it (until)")
    return unit_range(node, node.unit)


def _moment(cursor: Cursor) -> Moment:
    """`iso | N unit [ago | later | from now] | day word | edge "of" scoped | scope [N] unit | function`."""
    token = cursor.peek()
    if token.kind is TokenKind.MOMENT:
        return _iso_moment(cursor)
    if token.kind is TokenKind.NUMBER:
        return _delta(cursor) if cursor.peek(1).text in UNITS else _iso_moment(cursor)
    if token.kind is TokenKind.WORD and token.text in CALLS:
        return read_call(cursor, _moment)
    if token.kind is TokenKind.WORD and token.text in _DAYS:
        return named_day(cursor.take().text)
    if token.kind is TokenKind.WORD and token.text in _SCOPES:
        return scoped(_scoped(cursor))
    return _edge(cursor)


def _iso_moment(cursor: Cursor) -> Moment:
    """`2024 | 2024-01 | 2024-W05 | 2024-01-31 [time [zone]]`."""
    token = cursor.peek()
    if token.kind is TokenKind.NUMBER and len(token.text) not in (4, 8):
        raise cursor.rejected("a date such as 2024-01-31 or a count with its unit such as '7 days'")
    try:
        named, of_unit = parse_iso(cursor.take().text)
    except (ValueError, OverflowError):
        raise impossible(
            cursor.text, f"holds {token.text!r}, which no calendar or clock shows; write a date such as 2024-02-29"
        ) from None
    return iso_moment(named, of_unit)


def _delta(cursor: Cursor) -> Moment:
    """`N unit ["ago" | "later" | "from now"]`; without a direction: ago."""
    count, counted = read_count(cursor), read_unit(cursor)
    if cursor.skip_word("later") or cursor.skip_word("from", "now"):
        return delta(UnitCount(TimeDirection.NEXT, count, counted))
    cursor.skip_word("ago")
    return delta(UnitCount(TimeDirection.LAST, count, counted))


def _edge(cursor: Cursor) -> Moment:
    """`("start" | "beginning" | "end") "of" scoped | ("first" | "1st") ["day"] "of" scoped`."""
    words = ("start", "beginning", "end", "first", "1st")
    word = cursor.take_word(words, "a date, a count such as '7 days ago' or a word such as 'now'")
    if word in ("first", "1st"):
        cursor.skip_word("day")
    if not cursor.skip_word("of"):
        raise cursor.rejected("'of'")
    edge, count = (Edge.END if word == "end" else Edge.START), _outer(cursor)
    if edge is Edge.END and count.unit.is_clock:
        raise impossible(cursor.text, "asks for the last day of a unit shorter than a day; write 'start of next hour'")
    return edge_of(edge, count)


def _outer(cursor: Cursor) -> UnitCount:
    """`["the"] [scope] ["the"] [N] unit`; without a scope: this."""
    cursor.skip_word("the")
    if cursor.peek().text in _SCOPES:
        return _scoped(cursor)
    return UnitCount(TimeDirection.THIS, 1, read_unit(cursor))


def _scoped(cursor: Cursor) -> UnitCount:
    """`("this" | "last" | "prior" | "next") ["the"] [N] unit`."""
    scope = _SCOPES[cursor.take_word(_SCOPES, "'this', 'last', 'prior' or 'next'")]
    cursor.skip_word("the")
    count = read_count(cursor) if cursor.peek().kind is TokenKind.NUMBER else 1
    if scope is TimeDirection.THIS and count != 1:
        raise impossible(cursor.text, f"says 'this' of {count} units; write 'last {count} ...' or 'next {count} ...'")
    return UnitCount(scope, count, read_unit(cursor))
