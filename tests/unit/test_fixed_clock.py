"""The clock of tests moves only when told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from analytics_core.testing.clock import FixedClock


def test_it_stands_still_until_moved():
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    assert clock.now() == clock.now() == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.advance(timedelta(hours=2)) == clock.now() == datetime(2026, 1, 1, 2, tzinfo=UTC)


def test_other_zones_are_told_in_utc():
    assert FixedClock(datetime(2026, 1, 1, 3, tzinfo=timezone(timedelta(hours=2)))).now().hour == 1


def test_a_naive_moment_is_refused():
    with pytest.raises(ValueError, match="aware"):
        FixedClock(datetime(2026, 1, 1))


def test_its_seconds_pass_and_are_never_taken_back():
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    clock.advance(timedelta(seconds=5))
    clock.advance(timedelta(hours=-1))
    clock.move_to(datetime(2025, 1, 1, tzinfo=UTC))
    assert clock.monotonic() == 5.0
