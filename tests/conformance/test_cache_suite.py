"""The library's own cache keeps the promises of the port."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from analytics_core._core.adapters.caches import GuardedCache, MemoryCache
from analytics_core.ports import Cache
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.cache import CacheConformance


class TestMemoryCache(CacheConformance):
    @pytest.fixture
    def clock(self) -> FixedClock:
        return FixedClock(datetime(2026, 1, 1, tzinfo=UTC))

    @pytest.fixture
    def cache(self, clock: FixedClock) -> Cache:
        return MemoryCache(max_bytes=2_000_000, clock=clock)

    @pytest.fixture
    def let_pass(self, clock: FixedClock) -> Callable[[float], None]:
        return lambda seconds: clock.advance(timedelta(seconds=seconds)) and None


class TestGuardedCache(TestMemoryCache):
    """What stands before a host's cache changes nothing of what it promises."""

    @pytest.fixture
    def cache(self, clock: FixedClock) -> Cache:
        return GuardedCache(MemoryCache(max_bytes=2_000_000, clock=clock), wait_s=10)
