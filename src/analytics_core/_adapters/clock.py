"""The system's clock: the only place that reads the time of day."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """Tells the machine's time (port `Clock`)."""

    def now(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        return datetime.now(UTC)
