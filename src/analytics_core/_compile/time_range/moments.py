"""The tree of a time text, part one: nodes that name one moment, by itself or by a function.

Each node can be resolved against a `TimeReference`, rendered as canonical text, and says how it depends on the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Protocol

from analytics_core._compile.calendar import CalendarUnit, add_units, last_day_of, start_of, units_between
from analytics_core._compile.time_range.tokens import render_iso, shown
from analytics_core.errors import MissingExtraError, TimeRangeError, nearest
from analytics_core.models.enums import RelativeTime


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeReference:
    """What relative texts count from: `now` (aware, UTC) and the ends of relative ranges.

    `start` is what `last` and `next` count from in days or longer, `end` is where `Last ...` stops.
    """

    now: datetime
    start: RelativeTime = RelativeTime.TODAY
    end: RelativeTime = RelativeTime.TODAY

    @classmethod
    def at(cls, now: datetime, *, start: RelativeTime, end: RelativeTime) -> TimeReference:
        """Return the reference at `now`; a naive `now` is UTC."""
        aware = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
        return cls(now=aware, start=start, end=end)

    @property
    def today(self) -> datetime:
        """Midnight of the present day."""
        return start_of(self.now, CalendarUnit.DAY)

    def base(self, unit: CalendarUnit) -> datetime:
        """Return what a count of `unit` starts from: now for clock units, else the relative start."""
        return self.now if unit.is_clock or self.start is RelativeTime.NOW else self.today

    def limit(self, unit: CalendarUnit) -> datetime:
        """Return where a range of past units ends: now for clock units, else the relative end."""
        return self.now if unit.is_clock or self.end is RelativeTime.NOW else self.today


FINE_UNITS = (CalendarUnit.SECOND, CalendarUnit.MINUTE)
"""Counting in these, a minute more or less changes what is meant."""


class Moment(Protocol):
    """A node that names one moment."""

    @property
    def unit(self) -> CalendarUnit | None:
        """The unit that the text stands for when it is given alone (a date: its day); None: it is only a moment."""

    @property
    def needs_seconds(self) -> bool:
        """Whether the text counts in seconds or minutes, so that a minute more or less changes its meaning."""

    def at(self, reference: TimeReference) -> datetime:
        """Return the moment, aware, in UTC."""

    def render(self) -> str:
        """Return the canonical text of the node."""


class TimeDirection(StrEnum):
    """On which side of the present a count of units lies."""

    THIS = "this"
    LAST = "last"
    NEXT = "next"


class Edge(StrEnum):
    """Which end of a unit is meant; the end is 00:00 of its last day."""

    START = "start"
    END = "end"


class Day(StrEnum):
    """The words for moments near the present."""

    NOW = "now"
    TODAY = "today"
    YESTERDAY = "yesterday"
    TOMORROW = "tomorrow"


@dataclass(frozen=True, slots=True)
class IsoMoment:
    """An ISO 8601 text: `2024`, `2024-01`, `2024-W05`, `2024-01-31`, `2024-01-31T10:00:00Z`."""

    moment: datetime
    unit: CalendarUnit | None
    needs_seconds: bool = False

    def at(self, reference: TimeReference) -> datetime:  # noqa: ARG002 - the same at any time
        """Return the moment itself."""
        return self.moment

    def render(self) -> str:
        """Return the ISO 8601 text that names the same unit or moment."""
        return render_iso(self.moment, self.unit)


@dataclass(frozen=True, slots=True)
class NamedDay:
    """`now`, `today`, `yesterday`, `tomorrow`; days are meant at 00:00."""

    day: Day
    needs_seconds: bool = False

    @property
    def unit(self) -> CalendarUnit | None:
        """A day, but for `now`."""
        return None if self.day is Day.NOW else CalendarUnit.DAY

    def at(self, reference: TimeReference) -> datetime:
        """Return now, or midnight of the day."""
        if self.day is Day.NOW:
            return reference.now
        days = {Day.YESTERDAY: -1, Day.TODAY: 0, Day.TOMORROW: 1}[self.day]
        return add_units(reference.today, days, CalendarUnit.DAY)

    def render(self) -> str:
        """Return the word."""
        return self.day.value


@dataclass(frozen=True, slots=True)
class Delta:
    """`N unit ago` (negative count) or `N unit from now`: from now for clock units, else from today."""

    count: int
    counted: CalendarUnit
    is_ago: bool
    unit: CalendarUnit | None = None

    @property
    def signed(self) -> int:
        """The count, negative for the past."""
        return -self.count if self.is_ago else self.count

    @property
    def needs_seconds(self) -> bool:
        """Whether seconds or minutes are counted."""
        return self.counted in FINE_UNITS

    def at(self, reference: TimeReference) -> datetime:
        """Return the moved moment; a day that the month lacks becomes its last day."""
        base = reference.now if self.counted.is_clock else reference.today
        return add_units(base, self.signed, self.counted)

    def render(self) -> str:
        """Return for example `5 days ago`."""
        return f"{counted_text(self.count, self.counted)} {'ago' if self.is_ago else 'from now'}"


@dataclass(frozen=True, slots=True)
class RelativeUnit:
    """`this unit`, `last N unit`, `next N unit` as one moment: the unit's start, or the base moved by the count."""

    scope: TimeDirection
    count: int
    counted: CalendarUnit
    unit: CalendarUnit | None = None

    @property
    def needs_seconds(self) -> bool:
        """Whether seconds or minutes are counted."""
        return self.counted in FINE_UNITS

    def at(self, reference: TimeReference) -> datetime:
        """Return the start of the present unit, or the base moved back or on."""
        if self.scope is TimeDirection.THIS:
            return start_of(reference.now, self.counted)
        sign = -1 if self.scope is TimeDirection.LAST else 1
        return add_units(reference.base(self.counted), sign * self.count, self.counted)

    def render(self) -> str:
        """Return for example `last 3 months`."""
        return f"{self.scope.value} {counted_text(self.count, self.counted)}"


@dataclass(frozen=True, slots=True)
class EdgeOf:
    """`start of last month`, `first day of next year`, `end of this quarter`."""

    edge: Edge
    scoped: RelativeUnit

    @property
    def unit(self) -> CalendarUnit | None:
        """The day that is named; None for clock units."""
        return None if self.scoped.counted.is_clock else CalendarUnit.DAY

    @property
    def needs_seconds(self) -> bool:
        """Whether seconds are counted; the start of a minute is the same within the minute."""
        return self.scoped.counted is CalendarUnit.SECOND

    def at(self, reference: TimeReference) -> datetime:
        """Return the unit's first moment, or 00:00 of its last day."""
        of_unit = start_of if self.edge is Edge.START else last_day_of
        return of_unit(self.scoped.at(reference), self.scoped.counted)

    def render(self) -> str:
        """Return for example `start of last month`."""
        return f"{self.edge.value} of {self.scoped.render()}"


def counted_text(count: int, unit: CalendarUnit) -> str:
    """Return for example `1 day` or `3 months`."""
    return f"{count} {unit.value}{'' if count == 1 else 's'}"


DEFAULT_COUNTRY = "US"
_FIRST_YEAR, _LAST_YEAR = 1900, 2100  # outside, the rules of most countries say nothing


def find_holiday(name: str, *, year: int, country: str) -> datetime:
    """Return midnight (UTC) of the first holiday of the year whose name starts with `name`, case ignored.

    Days on which a holiday is observed instead do not count. Names are the country's own or English.

    Raises:
        TimeRangeError: no such country, no such holiday in that year, or a year outside 1900 to 2100.
        MissingExtraError: the package `holidays` is not installed.
    """
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise TimeRangeError(f"HOLIDAY knows the years {_FIRST_YEAR} to {_LAST_YEAR}, not {year}")
    days = _holidays_of(_country_name(country), year)
    prefix = name.casefold()
    found = [day for day, known in days if known.casefold().startswith(prefix)] if prefix else []
    if not found:
        names = tuple(known for _, known in days)
        listed = ", ".join(nearest(name, names, most=3) or dict.fromkeys(names)) or "none"
        raise TimeRangeError(f"there is no holiday {shown(name)} in {country} in {year}; it has: {listed}")
    return datetime.combine(min(found), time(), tzinfo=UTC)


def _holidays_of(country: str, year: int) -> list[tuple[date, str]]:
    """Return the country's days and names, in its own language and in English.

    Languages are always named: without one, the package takes that of the process's environment.
    """
    from holidays import country_holidays

    known = country_holidays(country)
    languages = dict.fromkeys(one for one in (known.default_language, "en_US") if one in known.supported_languages)
    calendars = (country_holidays(country, years=year, observed=False, language=one) for one in languages or (None,))
    return [
        (day, name.strip()) for calendar in calendars for day, names in calendar.items() for name in names.split(";")
    ]


def _country_name(country: str) -> str:
    """Return the package's name for a country given by code (`DE`, `DEU`) or name (`Germany`, `United States`)."""
    try:
        from holidays.registry import COUNTRIES
    except ImportError:
        raise MissingExtraError(needed_for="HOLIDAY(...) in a time range", extra_name="holidays") from None
    known = {name.casefold(): name for names in COUNTRIES.values() for name in names}
    wanted = "".join(country.split()).casefold()
    if wanted not in known:
        near = nearest(wanted, known.values(), most=3)
        hint = f"did you mean {', '.join(near)}?" if near else "write its ISO code, for example 'US' or 'DE'"
        raise TimeRangeError(f"HOLIDAY knows no country {shown(country)}; {hint}")
    return known[wanted]


@dataclass(frozen=True, slots=True)
class DateDiff:
    """`DATEDIFF(from, to, unit)`: how many units lie between, as DATEADD's count."""

    left: Moment
    right: Moment
    counted: CalendarUnit

    def count(self, reference: TimeReference) -> int:
        """Return the difference, negative when `right` comes first."""
        return units_between(self.left.at(reference), self.right.at(reference), self.counted)

    def render(self) -> str:
        """Return the call."""
        return f"DATEDIFF({self.left.render()}, {self.right.render()}, {self.counted.value})"


@dataclass(frozen=True, slots=True)
class DateAdd:
    """`DATEADD(moment, count, unit)`."""

    base: Moment
    count: int | DateDiff
    counted: CalendarUnit
    unit: CalendarUnit | None = None

    @property
    def needs_seconds(self) -> bool:
        """Whether seconds or minutes are counted, here or in the base."""
        return self.base.needs_seconds or self.counted in FINE_UNITS

    def at(self, reference: TimeReference) -> datetime:
        """Return the base moved by the count."""
        count = self.count.count(reference) if isinstance(self.count, DateDiff) else self.count
        return add_units(self.base.at(reference), count, self.counted)

    def render(self) -> str:
        """Return the call."""
        count = self.count.render() if isinstance(self.count, DateDiff) else str(self.count)
        return f"DATEADD({self.base.render()}, {count}, {self.counted.value})"


@dataclass(frozen=True, slots=True)
class DateTrunc:
    """`DATETRUNC(moment, unit)`: the first moment of the unit."""

    base: Moment
    truncated: CalendarUnit
    unit: CalendarUnit | None = None

    @property
    def needs_seconds(self) -> bool:
        """Whether the cut is to the second only."""
        return self.base.needs_seconds and self.truncated is CalendarUnit.SECOND

    def at(self, reference: TimeReference) -> datetime:
        """Return the start of the unit."""
        return start_of(self.base.at(reference), self.truncated)

    def render(self) -> str:
        """Return the call."""
        return f"DATETRUNC({self.base.render()}, {self.truncated.value})"


@dataclass(frozen=True, slots=True)
class LastDay:
    """`LASTDAY(moment, unit)`: 00:00 of the unit's last day; a week ends on Sunday."""

    base: Moment
    of_unit: CalendarUnit
    unit: CalendarUnit | None = CalendarUnit.DAY
    needs_seconds: bool = False

    def at(self, reference: TimeReference) -> datetime:
        """Return the last day."""
        return last_day_of(self.base.at(reference), self.of_unit)

    def render(self) -> str:
        """Return the call."""
        return f"LASTDAY({self.base.render()}, {self.of_unit.value})"


@dataclass(frozen=True, slots=True)
class Holiday:
    """`HOLIDAY('name', moment, 'country')`: the first holiday of that year whose name starts so; default year: this."""

    name: str
    within: Moment | None
    country: str
    unit: CalendarUnit | None = CalendarUnit.DAY
    needs_seconds: bool = False

    def at(self, reference: TimeReference) -> datetime:
        """Return the holiday's midnight."""
        moment = reference.now if self.within is None else self.within.at(reference)
        return find_holiday(self.name, year=moment.year, country=self.country)

    def render(self) -> str:
        """Return the call."""
        within = "" if self.within is None else f", {self.within.render()}"
        return f"HOLIDAY({_quoted(self.name)}{within}, {_quoted(self.country)})"


def _quoted(text: str) -> str:
    """Return the text in the quotes that it does not hold itself."""
    return f'"{text}"' if "'" in text else f"'{text}'"
