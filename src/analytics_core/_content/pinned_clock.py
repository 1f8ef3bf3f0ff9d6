"""A clock that stands at a moment, for queries as of then."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from analytics_core.models.parsing import payload_error
from analytics_core.ports import Clock


class PinnedClock:
    """Tells one moment for ever: what `as_of` puts in the clock's place (port `Clock`).

    What is kept while a moment is pinned ends as ever, by the clock that goes on.
    """

    def __init__(self, moment: datetime, going: Clock) -> None:
        self._moment = moment
        self._going = going

    def now(self) -> datetime:
        """Return the pinned moment, aware, in UTC."""
        return self._moment

    def monotonic(self) -> float:
        """Return seconds that pass."""
        return self._going.monotonic()


def pinned_clock(given: Any, going: Clock, *, shape: str, name: str) -> PinnedClock:
    """Return a clock that stands at a moment, a naive one of which is in UTC; PayloadSchemaError for anything else.

    `shape` and `name` say in the error where the moment was given.
    """
    try:
        if isinstance(given, datetime):
            return PinnedClock(given.replace(tzinfo=UTC) if given.utcoffset() is None else given.astimezone(UTC), going)
    except OverflowError:
        pass
    raise payload_error(shape, name, "must be a datetime between the years 1 and 9999 in UTC")
