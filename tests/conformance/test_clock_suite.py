"""The library's own clocks keep the promises of the port."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from analytics_core._core.adapters.clock import SystemClock
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.clock import ClockConformance


class TestSystemClock(ClockConformance):
    @pytest.fixture
    def clock(self) -> SystemClock:
        return SystemClock()


class TestFixedClock(ClockConformance):
    @pytest.fixture
    def clock(self) -> FixedClock:
        return FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
