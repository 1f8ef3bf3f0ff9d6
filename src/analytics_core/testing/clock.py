"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FixedClock:
    """Tells the same moment until it is moved (port `Clock`).

    Args:
        moment: an aware datetime; ValueError when it is naive, since nobody could say which moment is meant.
    """

    def __init__(self, moment: datetime) -> None:
        self._moment = _in_utc(moment)
        self._passed_s = 0.0

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""
        return self._moment

    def monotonic(self) -> float:
        """Return the seconds that it was moved forwards; moving it back takes none of them away."""
        return self._passed_s

    def move_to(self, moment: datetime) -> None:
        """Tell `moment` from now on."""
        self.advance(_in_utc(moment) - self._moment)

    def advance(self, step: timedelta) -> datetime:
        """Move by `step`, which may be negative, and return the new moment."""
        self._moment += step
        self._passed_s += max(step.total_seconds(), 0.0)
        return self._moment


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("FixedClock needs an aware moment, for example datetime(2026, 1, 1, tzinfo=UTC)")
    return moment.astimezone(UTC)
