"""What every `Cache` must keep."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from analytics_core.ports import Cache

Pass = Callable[[float], None]


class CacheConformance:
    """Subclass it and override the fixtures `cache` and `let_pass`."""

    @pytest.fixture
    def cache(self) -> Cache:
        """Return the cache under test, empty and with room for a megabyte at least."""
        raise NotImplementedError("override the fixture `cache`")

    @pytest.fixture
    def let_pass(self) -> Pass:
        """Return a function that lets some seconds pass for the cache: moves its clock, or sleeps."""
        raise NotImplementedError("override the fixture `let_pass`")

    @pytest.mark.parametrize("value", [b"", b"\x00\xff" * 1_000, b"x" * 100_000], ids=len)
    def test_stored_bytes_come_back_unchanged(self, cache: Cache, value: bytes) -> None:
        """Giving back other bytes is not allowed."""
        cache.set("key", value, timeout_s=60)
        found = cache.get("key")
        assert found == value
        assert type(found) is bytes  # what only compares equal to bytes is taken for somebody else's entry

    def test_an_unknown_key_is_a_miss(self, cache: Cache) -> None:
        """None, not an exception."""
        assert cache.get("never stored") is None

    def test_keys_that_look_alike_are_different(self, cache: Cache) -> None:
        """Case, blanks and accents count."""
        keys = ("key", "KEY", "key ", "kéy", "ke\u0301y")
        for key in keys:
            cache.set(key, key.encode(), timeout_s=60)
        assert [cache.get(key) for key in keys] == [key.encode() for key in keys]

    def test_a_second_set_replaces_the_first(self, cache: Cache) -> None:
        """The last value counts."""
        cache.set("key", b"one", timeout_s=60)
        cache.set("key", b"two", timeout_s=60)
        assert cache.get("key") == b"two"

    def test_an_entry_ends_with_its_time(self, cache: Cache, let_pass: Pass) -> None:
        """An expired entry is a miss."""
        cache.set("key", b"value", timeout_s=1)
        let_pass(1.1)
        assert cache.get("key") is None

    def test_an_entry_lives_for_its_time(self, cache: Cache, let_pass: Pass) -> None:
        """Its time is in seconds, however long; None keeps it until room is needed."""
        times = (None, 10, 3_600, 90 * 86_400, 2**31 - 1)
        for time in times:
            cache.set(f"for {time}", b"value", timeout_s=time)
        let_pass(1.1)
        assert [cache.get(f"for {time}") for time in times] == [b"value"] * len(times)

    def test_setting_anew_gives_new_time(self, cache: Cache, let_pass: Pass) -> None:
        """The time of the first value does not end the second."""
        cache.set("key", b"one", timeout_s=1)
        cache.set("key", b"two", timeout_s=3_600)
        let_pass(1.1)
        assert cache.get("key") == b"two"

    def test_deleted_entries_are_gone(self, cache: Cache) -> None:
        """And no others; deleting twice, or what never was, does nothing."""
        cache.set("key", b"value", timeout_s=60)
        cache.set("key 2", b"kept", timeout_s=60)
        cache.delete("key")
        cache.delete("key")
        assert cache.get("key") is None
        assert cache.get("key 2") == b"kept"

    def test_many_threads_may_use_it(self, cache: Cache) -> None:
        """A value under a key is one that was stored under it, whoever writes meanwhile."""

        def use(number: int) -> bool:
            key = f"key {number % 5}"
            cache.set(key, key.encode() * 100, timeout_s=60)
            found = cache.get(key)
            return found is None or found == key.encode() * 100

        with ThreadPoolExecutor(max_workers=8) as pool:
            assert all(pool.map(use, range(400)))
