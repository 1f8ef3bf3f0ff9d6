"""Time texts cut into tokens, ISO 8601 dates among them, and how a text is refused; linear in the text."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from enum import StrEnum, auto
from types import MappingProxyType

from analytics_core._engine.compile.calendar import CalendarUnit
from analytics_core.errors import TimeRangeError, nearest

# A calendar day, a day of a week, a day of a year, and a day without hyphens (only before a time: else it is a number).
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-?W[0-9]{2}-?[1-7]|[0-9]{4}-[0-9]{3}|[0-9]{8}(?=T)"
_FRACTION = r"[.,][0-9]{1,9}"
_LONG_TIME = rf"[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:{_FRACTION})?)?"
_SHORT_TIME = rf"[0-9]{{2}}(?:[0-9]{{2}}(?:[0-9]{{2}}(?:{_FRACTION})?)?)?"
_ZONE = r"\s?(?:Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)"

ISO_MOMENT = (
    rf"(?:{_DATE})(?:(?:T(?:{_LONG_TIME}|{_SHORT_TIME})|\s{_LONG_TIME})(?:{_ZONE})?)?"
    r"|[0-9]{4}-[0-9]{2}|[0-9]{4}-?W[0-9]{2}"
)
"""Regular expression (ignoring case) of the accepted forms, but those that are digits only (`2024`, `20240131`)."""

_CALENDAR_DAY = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})")
_ORDINAL_DAY = re.compile(r"([0-9]{4})-([0-9]{3})")
_WEEK = re.compile(r"([0-9]{4})-?W([0-9]{2})(?:-?([1-7]))?")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_CLOCK = re.compile(r"([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]+))?)?)?")
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})?")
_SPLIT = re.compile(rf"(.+?)(?:[T\s]([0-9:.,]+?)({_ZONE})?)?")


def parse_iso(text: str) -> tuple[datetime, CalendarUnit | None]:
    """Return the moment (aware, UTC) that an ISO text names, and the unit it names: year, month, week or day.

    The unit is None for a date-time. A text without a zone is UTC; digits past the microsecond are cut.

    Raises:
        ValueError: there is no such date, time or zone.
        OverflowError: the moment lies outside the years 1 to 9999.
    """
    found = _SPLIT.fullmatch(text.upper())
    if found is None:
        raise ValueError(f"no ISO 8601 date: {text}")
    day_text, clock_text, zone_text = found.groups()
    day, unit = _parse_day(day_text)
    midnight = datetime.combine(day, time(), tzinfo=UTC)
    if clock_text is None:
        return midnight, unit
    moment = midnight + _parse_clock(clock_text)
    return moment - _parse_zone(zone_text), None


def _parse_day(text: str) -> tuple[date, CalendarUnit]:
    if text.isdigit() and len(text) == 4:
        return date(int(text), 1, 1), CalendarUnit.YEAR
    if found := _CALENDAR_DAY.fullmatch(text):
        year, month, day = (int(part) for part in found.groups())
        return date(year, month, day), CalendarUnit.DAY
    if found := _MONTH.fullmatch(text):
        return date(int(found[1]), int(found[2]), 1), CalendarUnit.MONTH
    if found := _WEEK.fullmatch(text):
        unit = CalendarUnit.DAY if found[3] else CalendarUnit.WEEK
        return date.fromisocalendar(int(found[1]), int(found[2]), int(found[3] or 1)), unit
    found = _ORDINAL_DAY.fullmatch(text)
    if found is None:
        raise ValueError(f"no ISO 8601 date: {text}")
    first = date(int(found[1]), 1, 1)
    day_of_year = first + timedelta(days=int(found[2]) - 1)
    if day_of_year.year != first.year:
        raise ValueError("day of the year out of range")
    return day_of_year, CalendarUnit.DAY


def _parse_clock(text: str) -> timedelta:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError(f"no ISO 8601 time: {text}")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    microsecond = int((found[4] or "0")[:6].ljust(6, "0"))
    if (hour, minute, second, microsecond) == (24, 0, 0, 0):
        return timedelta(days=1)
    clock = time(hour, minute, second, microsecond)
    return timedelta(hours=clock.hour, minutes=clock.minute, seconds=clock.second, microseconds=clock.microsecond)


def _parse_zone(text: str | None) -> timedelta:
    found = _OFFSET.fullmatch((text or "").strip())
    if found is None:
        return timedelta(0)
    hours, minutes = int(found[2]), int(found[3] or 0)
    if minutes > 59:
        raise ValueError("zone minutes must be below 60")
    ahead = timezone(timedelta(hours=hours, minutes=minutes)).utcoffset(None)
    return ahead if found[1] == "+" else -ahead


def render_iso(moment: datetime, unit: CalendarUnit | None = None) -> str:
    """Return the text that `parse_iso` reads back as the same moment and unit."""
    if unit is CalendarUnit.YEAR:
        return f"{moment.year:04}"
    if unit is CalendarUnit.MONTH:
        return f"{moment.year:04}-{moment.month:02}"
    if unit is CalendarUnit.WEEK:
        year, week, _ = moment.isocalendar()
        return f"{year:04}-W{week:02}"
    if unit is CalendarUnit.DAY:
        return moment.date().isoformat()
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


_DISPLAYED_CHARACTERS = 60

_FORMS = (
    "Last {n} seconds", "Last {n} minutes", "Last {n} hours", "Last {n} days", "Last {n} weeks", "Last {n} months",
    "Last {n} quarters", "Last {n} years", "Next {n} hours", "Next {n} days", "Next {n} weeks", "Next {n} months",
    "Next {n} years", "Last day", "Last week", "Last month", "Last quarter", "Last year", "Next week", "Next month",
    "Next year", "No filter", "previous calendar week", "previous calendar month", "previous calendar quarter",
    "previous calendar year", "current day", "current week", "current month", "current quarter", "current year",
    "first week of this month", "first month of last quarter", "start of this month : now", "today", "yesterday",
    "tomorrow", "{n} days ago", "{n} hours ago", "{n} weeks ago", "{n} months ago", "{n} years ago",
    "{n} days from now", "{n} days ago : now", "{n} months ago : today",
)  # fmt: skip

_EXAMPLES = "'2024-01-01 : 2024-02-01', 'Last 7 days', '7 days ago : now', 'previous calendar month' or 'No filter'"


def quoted_text(text: str) -> str:
    """Return the text as messages quote it, cut to a readable length."""
    return repr(text if len(text) <= _DISPLAYED_CHARACTERS else text[:_DISPLAYED_CHARACTERS] + "…")


def impossible(text: str, reason: str) -> TimeRangeError:
    """Return the error for a text that is understood but means nothing; `reason` says what would work."""
    return TimeRangeError(f"time range {quoted_text(text)} {reason}")


def rejection(text: str, reason: str) -> TimeRangeError:
    """Return the error for a text that is not understood: why, the nearest accepted form if any, and examples."""
    near = nearest(text[:_DISPLAYED_CHARACTERS], _forms_for(text))
    hint = f"did you mean {near[0]!r}? Other forms" if near else "write for example"
    return TimeRangeError(f"time range {quoted_text(text)} {reason}; {hint}: {_EXAMPLES}")


def _forms_for(text: str) -> tuple[str, ...]:
    number = re.search(r"(?<![0-9])[0-9]{1,4}(?![0-9])", text)
    count = number.group() if number else "7"
    return tuple(form.format(n=count) for form in _FORMS)


LONGEST_TEXT = 500
"""Characters that a time text may have."""

MOST_CALLS = 20
"""Function calls that a time text may hold, nested or not."""


class TokenKind(StrEnum):
    """What a token is."""

    MOMENT = auto()
    NUMBER = auto()
    WORD = auto()
    QUOTED = auto()
    MARK = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text; words are in lower case, quoted text is without its quotes."""

    kind: TokenKind
    text: str


_TOKEN = re.compile(
    rf"""
      (?P<moment>{ISO_MOMENT})(?![A-Za-z0-9-])
    | (?P<word>(?:1st|[A-Za-z]+))(?![A-Za-z0-9])
    | (?P<number>[0-9]+)(?![A-Za-z0-9])
    | '(?P<single>[^']*)'
    | "(?P<double>[^"]*)"
    | (?P<mark>[():,+-])
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)

_KINDS = MappingProxyType(
    {
        "moment": TokenKind.MOMENT,
        "word": TokenKind.WORD,
        "number": TokenKind.NUMBER,
        "single": TokenKind.QUOTED,
        "double": TokenKind.QUOTED,
        "mark": TokenKind.MARK,
    }
)
_END = Token(TokenKind.END, "")


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of `text` without its blanks.

    Raises:
        TimeRangeError: the text is too long or holds something that no time text holds.
    """
    if len(text) > LONGEST_TEXT:
        raise rejection(text, f"is longer than {LONGEST_TEXT} characters")
    plain = " ".join(text.split())
    tokens: list[Token] = []
    place = 0
    while place < len(plain):
        found = _TOKEN.match(plain, place)
        if found is None:
            raise rejection(text, f"is not understood at {plain[place : place + 10]!r}")
        tokens.append(_token(found))
        place = found.end()
        place += plain[place : place + 1] == " "
    return tuple(tokens)


def _token(found: re.Match[str]) -> Token:
    group = found.lastgroup or ""
    kind = _KINDS[group]
    value = found.group(group)
    return Token(kind, value.lower() if kind is TokenKind.WORD else value)


class Cursor:
    """Reads tokens from left to right; `text` is the whole text, for messages."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokenize(text)
        self._place = 0
        if self._tokens.count(Token(TokenKind.MARK, "(")) > MOST_CALLS:
            raise rejection(text, f"holds more than {MOST_CALLS} function calls")

    def peek(self, ahead: int = 0) -> Token:
        """Return the token `ahead` of the cursor; an END token behind the last one."""
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else _END

    def take(self) -> Token:
        """Return the next token and step over it."""
        token = self.peek()
        self._place += 1
        return token

    def has(self, text: str) -> bool:
        """Return whether the text has this mark anywhere outside quotes."""
        return Token(TokenKind.MARK, text) in self._tokens

    def at_word(self, *words: str) -> bool:
        """Return whether exactly these words come next."""
        return all(self.peek(i) == Token(TokenKind.WORD, word) for i, word in enumerate(words))

    def at_mark(self, mark: str) -> bool:
        """Return whether this mark comes next."""
        return self.peek() == Token(TokenKind.MARK, mark)

    def skip_word(self, *words: str) -> bool:
        """Step over these words if exactly they come next; return whether they did."""
        found = self.at_word(*words)
        self._place += len(words) if found else 0
        return found

    def skip_mark(self, mark: str) -> bool:
        """Step over this mark if it comes next; return whether it did."""
        found = self.at_mark(mark)
        self._place += found
        return found

    def take_word(self, words: Collection[str], expected: str) -> str:
        """Return the next word, which must be one of `words`; else refuse with what was expected."""
        token = self.peek()
        if token.kind is not TokenKind.WORD or token.text not in words:
            raise self.rejected(expected)
        return self.take().text

    def take_mark(self, mark: str) -> None:
        """Step over this mark, which must come next."""
        if not self.skip_mark(mark):
            raise self.rejected(repr(mark))

    def take_end(self) -> None:
        """Make sure that nothing is left."""
        if self.peek() != _END:
            raise self.rejected("the end")

    def rejected(self, expected: str) -> TimeRangeError:
        """Return the error that names what was expected at the cursor and what stands there."""
        token = self.peek()
        relationship = "the text ends" if token.kind is TokenKind.END else f"{token.text[:20]!r} stands"
        return rejection(self.text, f"is not understood: {relationship} where {expected} is expected")
