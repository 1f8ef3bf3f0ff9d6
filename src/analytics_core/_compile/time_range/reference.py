"""The present moment as a time text sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from analytics_core._compile.calendar import CalendarUnit, start_of
from analytics_core.models.enums import RelativeTime


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What relative texts count from: `now` (aware, UTC) and the ends of relative ranges.

    `start` is what `last` and `next` count from in days or longer, `end` is where `Last ...` stops.
    """

    now: datetime
    start: RelativeTime = RelativeTime.TODAY
    end: RelativeTime = RelativeTime.TODAY

    @classmethod
    def at(cls, now: datetime, *, start: RelativeTime, end: RelativeTime) -> Reference:
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
