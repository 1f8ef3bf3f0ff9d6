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


class SystemSleeper:
    """Lets time pass (port `Sleeper`)."""

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)
