"""The system's clock: the only place that reads the time of day; and what waits."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Tells the machine's time (port `Clock`)."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since some moment, which setting the machine's time does not move."""
        return time.monotonic()


class PinnedClock:
    """Tells one moment for ever: what `as_of` puts in the clock's place (port `Clock`)."""

    def __init__(self, moment: datetime) -> None:
        self._moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)

    def now(self) -> datetime:
        """Return the pinned moment, aware, in UTC."""
        return self._moment

    def monotonic(self) -> float:
        """Return seconds that pass: what is kept while a moment is pinned ends as ever."""
        return time.monotonic()


class SystemSleeper:
    """Lets time pass (port `Sleeper`)."""

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)
