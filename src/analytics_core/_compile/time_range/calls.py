"""The tree of a time text, part two: the functions, which take moments and name one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from analytics_core._compile.calendar import CalendarUnit, add_units, last_day_of, start_of, units_between
from analytics_core._compile.time_range.holiday import find_holiday
from analytics_core._compile.time_range.moments import FINE_UNITS, Moment
from analytics_core._compile.time_range.reference import Reference


@dataclass(frozen=True, slots=True)
class DateDiff:
    """`DATEDIFF(from, to, unit)`: how many units lie between, as DATEADD's count."""

    left: Moment
    right: Moment
    counted: CalendarUnit

    def count(self, reference: Reference) -> int:
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

    def at(self, reference: Reference) -> datetime:
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

    def at(self, reference: Reference) -> datetime:
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

    def at(self, reference: Reference) -> datetime:
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

    def at(self, reference: Reference) -> datetime:
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
