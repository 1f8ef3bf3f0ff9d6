"""What every `Clock` must keep."""

from __future__ import annotations

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
