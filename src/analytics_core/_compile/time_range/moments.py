"""The tree of a time text, part one: nodes that name one moment.

Each node can be resolved against a `Reference`, rendered as canonical text, and says how it depends on the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from analytics_core._compile.calendar import CalendarUnit, add_units, last_day_of, start_of
from analytics_core._compile.time_range.iso import render_iso
from analytics_core._compile.time_range.reference import Reference

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

    def at(self, reference: Reference) -> datetime:
        """Return the moment, aware, in UTC."""

    def render(self) -> str:
        """Return the canonical text of the node."""


class Scope(StrEnum):
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

    def at(self, reference: Reference) -> datetime:  # noqa: ARG002 - the same at any time
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

    def at(self, reference: Reference) -> datetime:
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

    def at(self, reference: Reference) -> datetime:
        """Return the moved moment; a day that the month lacks becomes its last day."""
        base = reference.now if self.counted.is_clock else reference.today
        return add_units(base, self.signed, self.counted)

    def render(self) -> str:
        """Return for example `5 days ago`."""
        return f"{counted_text(self.count, self.counted)} {'ago' if self.is_ago else 'from now'}"


@dataclass(frozen=True, slots=True)
class Scoped:
    """`this unit`, `last N unit`, `next N unit` as one moment: the unit's start, or the base moved by the count."""

    scope: Scope
    count: int
    counted: CalendarUnit
    unit: CalendarUnit | None = None

    @property
    def needs_seconds(self) -> bool:
        """Whether seconds or minutes are counted."""
        return self.counted in FINE_UNITS

    def at(self, reference: Reference) -> datetime:
        """Return the start of the present unit, or the base moved back or on."""
        if self.scope is Scope.THIS:
            return start_of(reference.now, self.counted)
        sign = -1 if self.scope is Scope.LAST else 1
        return add_units(reference.base(self.counted), sign * self.count, self.counted)

    def render(self) -> str:
        """Return for example `last 3 months`."""
        return f"{self.scope.value} {counted_text(self.count, self.counted)}"


@dataclass(frozen=True, slots=True)
class EdgeOf:
    """`start of last month`, `first day of next year`, `end of this quarter`."""

    edge: Edge
    scoped: Scoped

    @property
    def unit(self) -> CalendarUnit | None:
        """The day that is named; None for clock units."""
        return None if self.scoped.counted.is_clock else CalendarUnit.DAY

    @property
    def needs_seconds(self) -> bool:
        """Whether seconds are counted; the start of a minute is the same within the minute."""
        return self.scoped.counted is CalendarUnit.SECOND

    def at(self, reference: Reference) -> datetime:
        """Return the unit's first moment, or 00:00 of its last day."""
        of_unit = start_of if self.edge is Edge.START else last_day_of
        return of_unit(self.scoped.at(reference), self.scoped.counted)

    def render(self) -> str:
        """Return for example `start of last month`."""
        return f"{self.edge.value} of {self.scoped.render()}"


def counted_text(count: int, unit: CalendarUnit) -> str:
    """Return for example `1 day` or `3 months`."""
    return f"{count} {unit.value}{'' if count == 1 else 's'}"
