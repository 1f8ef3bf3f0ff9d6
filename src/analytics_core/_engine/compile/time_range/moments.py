"""What time texts name: moments and ranges, `since <= t < until`, each with its canonical text.

Each can be asked for its meaning by a `TimeReference`, and says how it depends on the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from enum import StrEnum

from analytics_core._engine.compile.calendar import CalendarUnit, add_units, last_day_of, start_of, units_between
from analytics_core._engine.compile.time_range.tokens import quoted_text, render_iso
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


_FINE_UNITS = (CalendarUnit.SECOND, CalendarUnit.MINUTE)
"""Counting in these, a minute more or less changes what is meant."""


class TimeDirection(StrEnum):
    """On which side of the present a count of units lies."""

    THIS = "this"
    LAST = "last"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class UnitCount:
    """`this unit`, `last N unit`, `next N unit`."""

    direction: TimeDirection
    count: int
    unit: CalendarUnit

    @property
    def signed(self) -> int:
        """The count, negative for the past."""
        return -self.count if self.direction is TimeDirection.LAST else self.count

    @property
    def is_fine(self) -> bool:
        """Whether seconds or minutes are counted."""
        return self.unit in _FINE_UNITS

    @property
    def counted(self) -> str:
        """The text without its direction: `1 day`, `3 months`."""
        return f"{self.count} {self.unit.value}{'' if self.count == 1 else 's'}"

    def at(self, reference: TimeReference) -> datetime:
        """Return the start of the present unit, or the base moved back or on."""
        if self.direction is TimeDirection.THIS:
            return start_of(reference.now, self.unit)
        return add_units(reference.base(self.unit), self.signed, self.unit)

    def __str__(self) -> str:
        return f"{self.direction.value} {self.counted}"


# ----------------------------------------------------------------------------------------------------------- moments
@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A part of a time text that names one moment.

    Attributes:
        text: its canonical text.
        at: gives the moment by a reference, aware, in UTC.
        unit: what the text stands for when it is given alone (a date: its day); None: it is only a moment.
        needs_seconds: whether it counts in seconds or minutes, so that a minute more or less changes its meaning.
        date: the moment of an ISO 8601 text, else None.
        shift: the count of `N unit ago` and `N unit from now`, else None.
        scope: the count of `last N unit` and its like, else None.
    """

    text: str
    at: Callable[[TimeReference], datetime] = field(compare=False, repr=False)
    unit: CalendarUnit | None = None
    needs_seconds: bool = False
    date: datetime | None = None
    shift: UnitCount | None = None
    scope: UnitCount | None = None


def iso_moment(moment: datetime, unit: CalendarUnit | None) -> Moment:
    """Return the moment of an ISO 8601 text: `2024`, `2024-W05`, `2024-01-31`, `2024-01-31T10:00:00Z`."""
    return Moment(text=render_iso(moment, unit), at=lambda _: moment, unit=unit, date=moment)


DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
"""The words for days near the present, with their distance; they are meant at 00:00."""


def named_day(word: str) -> Moment:
    """Return the moment of `now` or of a word for a day."""
    if word == "now":
        return Moment(text=word, at=lambda reference: reference.now)
    distance, unit = DAYS[word], CalendarUnit.DAY
    return Moment(text=word, at=lambda reference: add_units(reference.today, distance, unit), unit=unit)


def delta(count: UnitCount) -> Moment:
    """Return `N unit ago` or `N unit from now`: from now for clock units, else from today.

    A day that the month lacks becomes its last day.
    """

    def at(reference: TimeReference) -> datetime:
        base = reference.now if count.unit.is_clock else reference.today
        return add_units(base, count.signed, count.unit)

    side = "ago" if count.direction is TimeDirection.LAST else "from now"
    return Moment(text=f"{count.counted} {side}", at=at, needs_seconds=count.is_fine, shift=count)


def scoped(count: UnitCount) -> Moment:
    """Return a count of units as one moment."""
    return Moment(text=str(count), at=count.at, needs_seconds=count.is_fine, scope=count)


class Edge(StrEnum):
    """Which end of a unit is meant; the end is 00:00 of its last day."""

    START = "start"
    END = "end"


def edge_of(edge: Edge, count: UnitCount) -> Moment:
    """Return `start of last month`, `end of this quarter`; the start of a minute is the same within the minute."""
    of_unit = start_of if edge is Edge.START else last_day_of
    return Moment(
        text=f"{edge.value} of {count}",
        at=lambda reference: of_unit(count.at(reference), count.unit),
        unit=None if count.unit.is_clock else CalendarUnit.DAY,
        needs_seconds=count.unit is CalendarUnit.SECOND,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Amount:
    """The second argument of DATEADD: its text, and the number that it gives by a reference."""

    text: str
    value: Callable[[TimeReference], int]


def date_diff(left: Moment, right: Moment, unit: CalendarUnit) -> Amount:
    """Return `DATEDIFF(from, to, unit)`: how many units lie between, negative when `right` comes first."""
    return Amount(
        f"DATEDIFF({left.text}, {right.text}, {unit.value})",
        lambda reference: units_between(left.at(reference), right.at(reference), unit),
    )


def date_add(base: Moment, amount: Amount, unit: CalendarUnit) -> Moment:
    """Return `DATEADD(moment, count, unit)`."""
    return Moment(
        text=f"DATEADD({base.text}, {amount.text}, {unit.value})",
        at=lambda reference: add_units(base.at(reference), amount.value(reference), unit),
        needs_seconds=base.needs_seconds or unit in _FINE_UNITS,
    )


def date_trunc(base: Moment, unit: CalendarUnit) -> Moment:
    """Return `DATETRUNC(moment, unit)`: the first moment of the unit."""
    return Moment(
        text=f"DATETRUNC({base.text}, {unit.value})",
        at=lambda reference: start_of(base.at(reference), unit),
        needs_seconds=base.needs_seconds and unit is CalendarUnit.SECOND,
    )


def last_day(base: Moment, unit: CalendarUnit) -> Moment:
    """Return `LASTDAY(moment, unit)`: 00:00 of the unit's last day; a week ends on Sunday."""
    return Moment(
        text=f"LASTDAY({base.text}, {unit.value})",
        at=lambda reference: last_day_of(base.at(reference), unit),
        unit=CalendarUnit.DAY,
    )


def holiday(name: str, within: Moment | None, country: str) -> Moment:
    """Return `HOLIDAY('name', moment, 'country')`: the first of that year whose name starts so; default year: this."""

    def at(reference: TimeReference) -> datetime:
        moment = reference.now if within is None else within.at(reference)
        return find_holiday(name, year=moment.year, country=country)

    year = "" if within is None else f", {within.text}"
    return Moment(text=f"HOLIDAY({_quoted(name)}{year}, {_quoted(country)})", at=at, unit=CalendarUnit.DAY)


def _quoted(text: str) -> str:
    """Return the text in the quotes that it does not hold itself."""
    return f'"{text}"' if "'" in text else f"'{text}'"


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
        raise TimeRangeError(f"there is no holiday {quoted_text(name)} in {country} in {year}; it has: {listed}")
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
        raise TimeRangeError(f"HOLIDAY knows no country {quoted_text(country)}; {hint}")
    return known[wanted]


# ------------------------------------------------------------------------------------------------------------ ranges
Bounds = tuple[datetime | None, datetime | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeNode:
    """What a whole time text names.

    Attributes:
        text: its canonical text.
        bounds: gives both bounds by a reference, aware, in UTC; None is open.
        needs_seconds: whether it counts in seconds or minutes.
        sides: the moments of `since : until`, None for an empty side; None for all other texts.
    """

    text: str
    bounds: Callable[[TimeReference], Bounds] = field(compare=False, repr=False)
    needs_seconds: bool = False
    sides: tuple[Moment | None, Moment | None] | None = None


def no_filter() -> RangeNode:
    """Return `No filter`: open at both ends."""
    return RangeNode(text="No filter", bounds=lambda _: (None, None))


def between(since: Moment | None, until: Moment | None) -> RangeNode:
    """Return `since : until`, each side a moment or empty."""
    texts = ["" if side is None else side.text for side in (since, until)]
    return RangeNode(
        text=" : ".join(texts),
        bounds=lambda reference: (since.at(reference) if since else None, until.at(reference) if until else None),
        needs_seconds=any(side is not None and side.needs_seconds for side in (since, until)),
        sides=(since, until),
    )


def unit_range(moment: Moment, unit: CalendarUnit) -> RangeNode:
    """Return a moment given alone, for the unit that it names: a date is that day, a year that year."""

    def bounds(reference: TimeReference) -> Bounds:
        since = moment.at(reference)
        return since, add_units(since, 1, unit)

    return RangeNode(text=moment.text, bounds=bounds)


def counted_range(count: UnitCount) -> RangeNode:
    """Return `Last N unit` up to the reference's end, or `Next N unit` from its start."""

    def bounds(reference: TimeReference) -> Bounds:
        base, moved = reference.base(count.unit), count.at(reference)
        return (moved, reference.limit(count.unit)) if count.direction is TimeDirection.LAST else (base, moved)

    text = f"{count.direction.value.title()} {count.counted}"
    return RangeNode(text=text, bounds=bounds, needs_seconds=count.is_fine)


def calendar_range(unit: CalendarUnit, *, is_previous: bool) -> RangeNode:
    """Return `previous calendar month` or `current quarter`: one whole unit of the calendar."""

    def bounds(reference: TimeReference) -> Bounds:
        start = start_of(reference.now, unit)
        return (add_units(start, -1, unit), start) if is_previous else (start, add_units(start, 1, unit))

    text = f"{'previous calendar' if is_previous else 'current'} {unit.value}"
    return RangeNode(text=text, bounds=bounds, needs_seconds=unit is CalendarUnit.SECOND)


def first_of(unit: CalendarUnit, count: UnitCount) -> RangeNode:
    """Return `first week of last month`: one unit from the start of the other; it may reach past its end."""

    def bounds(reference: TimeReference) -> Bounds:
        start = start_of(count.at(reference), count.unit)
        return start, add_units(start, 1, unit)

    text = f"first {unit.value} of {count}"
    return RangeNode(text=text, bounds=bounds, needs_seconds=count.unit is CalendarUnit.SECOND)
