"""Moments as the time formats of a chart write them: those of d3 (`%Y-%m-%d`) and `smart_date`, in English; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

SMART_DATE: Final = "smart_date"
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DIRECTIVE: Final = re.compile(r"%([-_0])?(.)", re.DOTALL)
_PADS: Final = {"-": "", "_": " ", "0": "0"}


def format_time(value: Any, d3_time_format: str) -> str:
    """Return a moment as a d3 time format writes it, in UTC.

    Moments are datetimes (naive ones are UTC), dates, and numbers of milliseconds since 1970; None is empty, and what
    is no moment is its text. `smart_date` writes the part that tells a moment from its neighbours: `2025`, `March`,
    `Mon 03`, `09 AM`.

    Examples:
        >>> format_time(datetime(2025, 3, 3, 9), "%d %b %Y, %-I %p")
        '03 Mar 2025, 9 AM'
    """
    moment = _moment(value)
    if moment is None:
        return "" if value is None else str(value)
    written = _smart_format(moment) if d3_time_format == SMART_DATE else d3_time_format

    def directive(found: re.Match[str]) -> str:
        name = found[2]
        if name in _FIELDS:
            number, width = _FIELDS[name](moment)
            pad = _PADS[found[1]] if found[1] else " " if name == "e" else "0"
            sign, digits = ("-", str(-number)) if number < 0 else ("", str(number))
            return sign + (digits.rjust(width, pad) if pad else digits)
        return _TEXTS[name](moment) if name in _TEXTS else name

    return _DIRECTIVE.sub(directive, written)


def _moment(value: Any) -> datetime | None:
    """Return a moment in UTC; None where a value is none."""
    if isinstance(value, datetime):
        if value != value:  # noqa: PLR0124 - pandas' NaT
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return _EPOCH + timedelta(milliseconds=value)
    except (OverflowError, ValueError):
        return None


def _smart_format(moment: datetime) -> str:
    if moment.microsecond:
        return ".%L"
    if moment.second:
        return ":%S"
    if moment.minute:
        return "%I:%M"
    if moment.hour:
        return "%I %p"
    if moment.day != 1:
        return "%b %d" if moment.isoweekday() == 7 else "%a %d"
    return "%B" if moment.month != 1 else "%Y"


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


_FIELDS: Final[Mapping[str, Callable[[datetime], tuple[int, int]]]] = {
    "d": lambda m: (m.day, 2),
    "e": lambda m: (m.day, 2),
    "f": lambda m: (m.microsecond // 1000 * 1000, 6),
    "g": lambda m: (m.isocalendar().year % 100, 2),
    "G": lambda m: (m.isocalendar().year % 10_000, 4),
    "H": lambda m: (m.hour, 2),
    "I": lambda m: (m.hour % 12 or 12, 2),
    "j": lambda m: (m.timetuple().tm_yday, 3),
    "L": lambda m: (m.microsecond // 1000, 3),
    "m": lambda m: (m.month, 2),
    "M": lambda m: (m.minute, 2),
    "S": lambda m: (m.second, 2),
    "U": lambda m: ((m.timetuple().tm_yday + 6 - m.isoweekday() % 7) // 7, 2),
    "V": lambda m: (m.isocalendar().week, 2),
    "W": lambda m: ((m.timetuple().tm_yday + 6 - m.weekday()) // 7, 2),
    "y": lambda m: (m.year % 100, 2),
    "Y": lambda m: (m.year, 4),
}
"""Numbers of a moment, and to how many digits each is filled."""

_TEXTS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "a": lambda m: _DAYS[m.weekday()][:3],
    "A": lambda m: _DAYS[m.weekday()],
    "b": lambda m: _MONTHS[m.month - 1][:3],
    "B": lambda m: _MONTHS[m.month - 1],
    "c": lambda m: format_time(m, "%x, %X"),
    "p": lambda m: "PM" if m.hour >= 12 else "AM",
    "q": lambda m: str((m.month + 2) // 3),
    "Q": lambda m: str(_milliseconds(m)),
    "s": lambda m: str(_milliseconds(m) // 1000),
    "u": lambda m: str(m.isoweekday()),
    "w": lambda m: str(m.isoweekday() % 7),
    "x": lambda m: format_time(m, "%-m/%-d/%Y"),
    "X": lambda m: format_time(m, "%-I:%M:%S %p"),
    "Z": lambda _: "+0000",
    "%": lambda _: "%",
}
