"""The tree of a time text, part two: nodes that name a range, `since <= t < until`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from analytics_core._compile.calendar import CalendarUnit, add_units, start_of
from analytics_core._compile.time_range.moments import (
    FINE_UNITS,
    Moment,
    RelativeUnit,
    TimeDirection,
    TimeReference,
    counted_text,
)

Bounds = tuple[datetime | None, datetime | None]


class RangeNode(Protocol):
    """A node that names a range."""

    @property
    def needs_seconds(self) -> bool:
        """Whether the text counts in seconds or minutes."""

    def bounds(self, reference: TimeReference) -> Bounds:
        """Return both bounds, aware, in UTC; None is open."""

    def render(self) -> str:
        """Return the canonical text of the node."""


class CalendarPeriod(StrEnum):
    """Which unit of the calendar is meant."""

    PREVIOUS = "previous calendar"
    CURRENT = "current"


@dataclass(frozen=True, slots=True)
class NoFilter:
    """`No filter`: open at both ends."""

    needs_seconds: bool = False

    def bounds(self, reference: TimeReference) -> Bounds:  # noqa: ARG002 - the same at any time
        """Return open bounds."""
        return None, None

    def render(self) -> str:
        """Return the text of the contract."""
        return "No filter"


@dataclass(frozen=True, slots=True)
class Between:
    """`since : until`, each side a moment or empty."""

    since: Moment | None
    until: Moment | None

    @property
    def needs_seconds(self) -> bool:
        """Whether a side counts in seconds or minutes."""
        return any(side is not None and side.needs_seconds for side in (self.since, self.until))

    def bounds(self, reference: TimeReference) -> Bounds:
        """Return the moments of both sides."""
        return (
            None if self.since is None else self.since.at(reference),
            None if self.until is None else self.until.at(reference),
        )

    def render(self) -> str:
        """Return both sides with the separator."""
        since, until = ("" if side is None else side.render() for side in (self.since, self.until))
        return f"{since} : {until}"


@dataclass(frozen=True, slots=True)
class WholeUnit:
    """A moment given alone, for the unit that it names: a date is that day, a year that year."""

    moment: Moment
    unit: CalendarUnit
    needs_seconds: bool = False

    def bounds(self, reference: TimeReference) -> Bounds:
        """Return the unit that starts at the moment."""
        since = self.moment.at(reference)
        return since, add_units(since, 1, self.unit)

    def render(self) -> str:
        """Return the moment's text."""
        return self.moment.render()


@dataclass(frozen=True, slots=True)
class CountedRange:
    """`Last N unit` up to the reference's end, or `Next N unit` from its start."""

    scope: TimeDirection
    count: int
    counted: CalendarUnit

    @property
    def needs_seconds(self) -> bool:
        """Whether seconds or minutes are counted."""
        return self.counted in FINE_UNITS

    def bounds(self, reference: TimeReference) -> Bounds:
        """Return the counted units before or after the base."""
        base, moved = reference.base(self.counted), RelativeUnit(self.scope, self.count, self.counted).at(reference)
        return (moved, reference.limit(self.counted)) if self.scope is TimeDirection.LAST else (base, moved)

    def render(self) -> str:
        """Return for example `Last 7 days`."""
        return f"{self.scope.value.title()} {counted_text(self.count, self.counted)}"


@dataclass(frozen=True, slots=True)
class CalendarRange:
    """`previous calendar month`, `current quarter`: one whole unit of the calendar."""

    period: CalendarPeriod
    unit: CalendarUnit

    @property
    def needs_seconds(self) -> bool:
        """Whether the unit is a second; a minute is the same within the minute."""
        return self.unit is CalendarUnit.SECOND

    def bounds(self, reference: TimeReference) -> Bounds:
        """Return the unit before the present one, or the present one."""
        start = start_of(reference.now, self.unit)
        if self.period is CalendarPeriod.PREVIOUS:
            return add_units(start, -1, self.unit), start
        return start, add_units(start, 1, self.unit)

    def render(self) -> str:
        """Return for example `previous calendar month`."""
        return f"{self.period.value} {self.unit.value}"


@dataclass(frozen=True, slots=True)
class FirstOf:
    """`first week of last month`: one unit from the start of the other."""

    unit: CalendarUnit
    scoped: RelativeUnit

    @property
    def needs_seconds(self) -> bool:
        """Whether the outer unit is a second."""
        return self.scoped.counted is CalendarUnit.SECOND

    def bounds(self, reference: TimeReference) -> Bounds:
        """Return one unit from the start of the outer one; it may reach past its end."""
        start = start_of(self.scoped.at(reference), self.scoped.counted)
        return start, add_units(start, 1, self.unit)

    def render(self) -> str:
        """Return for example `first week of last 1 month`."""
        return f"first {self.unit.value} of {self.scoped.render()}"
