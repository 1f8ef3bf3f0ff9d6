"""What every `Clock` must keep."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from analytics_core.ports import Clock


class ClockConformance:
    """Subclass it and override the fixture `clock`."""

    @pytest.fixture
    def clock(self) -> Clock:
        """Return the clock under test."""
        raise NotImplementedError("override the fixture `clock`")

    def test_now_is_aware_and_in_utc(self, clock: Clock) -> None:
        """Nobody has to guess a time zone; one that is UTC in winter alone is another one."""
        now = clock.now()
        assert {now.replace(month=month, day=1).utcoffset() for month in range(1, 13)} == {timedelta(0)}

    def test_now_does_not_run_backwards(self, clock: Clock) -> None:
        """Two looks in a row are in order."""
        first = clock.now()
        assert first <= clock.now()

    def test_seconds_do_not_run_backwards(self, clock: Clock) -> None:
        """They are what freshness and expiry inside a process count by."""
        seconds = [clock.monotonic() for _ in range(100)]
        assert seconds == sorted(seconds)

    def test_seconds_pass_as_moments_do(self, clock: Clock) -> None:
        """They are seconds, not milliseconds; a clock that stands still may stand still in both."""
        moment, second = clock.now(), clock.monotonic()
        time.sleep(0.05)
        by_moments, by_seconds = (clock.now() - moment).total_seconds(), clock.monotonic() - second
        assert abs(by_moments - by_seconds) < 0.04
