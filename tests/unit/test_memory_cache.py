"""The memory cache is bounded by bytes and by time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from analytics_core._core.adapters.caches import MemoryCache
from analytics_core.testing.clock import FixedClock


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(datetime(2026, 1, 1, tzinfo=UTC))


def filled(clock: FixedClock, *, keys: str, max_bytes: int) -> MemoryCache:
    cache = MemoryCache(max_bytes=max_bytes, clock=clock)
    for key in keys:
        cache.set(key, b"x" * 1_000, timeout_s=None)
    return cache


def test_entries_unused_for_longest_go_first(clock: FixedClock) -> None:
    cache = filled(clock, keys="abc", max_bytes=4_000)
    cache.get("a")
    cache.set("d", b"x" * 1_000, timeout_s=None)
    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]


def test_held_bytes_never_pass_the_bound(clock: FixedClock) -> None:
    cache = filled(clock, keys="abcdefghijkl", max_bytes=5_000)
    assert 0 < cache.stored_bytes <= 5_000


def test_an_entry_larger_than_the_cache_is_not_kept_and_drops_the_old_one(clock: FixedClock) -> None:
    cache = filled(clock, keys="ab", max_bytes=4_000)
    cache.set("a", b"x" * 5_000, timeout_s=None)
    assert cache.get("a") is None
    assert cache.get("b") is not None


def test_everything_dropped_gives_all_room_back(clock: FixedClock) -> None:
    cache = filled(clock, keys="abc", max_bytes=10_000)
    for key in "abc":
        cache.delete(key)
    assert cache.stored_bytes == 0


def test_an_entry_does_not_outlive_its_end_when_the_clock_is_put_back(clock: FixedClock) -> None:
    cache = MemoryCache(max_bytes=4_000, clock=clock)
    cache.set("key", b"value", timeout_s=10)
    clock.advance(timedelta(days=-30))
    clock.advance(timedelta(seconds=9.999))
    assert cache.get("key") == b"value"
    clock.advance(timedelta(days=-1))
    clock.advance(timedelta(seconds=0.001))
    assert cache.get("key") is None


def test_an_entry_lives_until_just_before_its_end(clock: FixedClock) -> None:
    cache = MemoryCache(max_bytes=4_000, clock=clock)
    cache.set("key", b"value", timeout_s=10)
    clock.advance(timedelta(seconds=9.999))
    assert cache.get("key") == b"value"
    clock.advance(timedelta(seconds=0.001))
    assert cache.get("key") is None
    assert cache.stored_bytes == 0


@pytest.mark.parametrize("timeout_s", [0, -1])
def test_no_time_at_all_keeps_nothing(clock: FixedClock, timeout_s: int) -> None:
    cache = filled(clock, keys="a", max_bytes=4_000)
    cache.set("a", b"value", timeout_s=timeout_s)
    assert cache.get("a") is None


def test_a_time_beyond_the_calendar_never_ends(clock: FixedClock) -> None:
    cache = MemoryCache(max_bytes=4_000, clock=clock)
    cache.set("key", b"value", timeout_s=10**12)
    assert cache.get("key") == b"value"
