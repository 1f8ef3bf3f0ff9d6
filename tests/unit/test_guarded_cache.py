"""A cache that raises or hangs is a miss, in time, without its own words, and is tried again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from analytics_core._core.adapters.caches import GuardedCache

SECRET = "redis://:hunter2@cache:6379"
WAIT_S = 0.5


class Broken:
    """A cache that does what a test tells it to, and counts how often it is asked."""

    def __init__(self) -> None:
        self.requested = 0
        self.act: Callable[[], bytes | None] = lambda: b"kept"

    def get(self, key: str) -> bytes | None:
        self.requested += 1
        return self.act()

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        self.get(key)

    def delete(self, key: str) -> None:
        self.get(key)


class Watch:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def fail() -> bytes | None:
    raise ConnectionError(f"cannot reach {SECRET}")


def end_the_thread() -> bytes | None:
    raise SystemExit(SECRET)


@pytest.fixture
def guarded() -> Iterator[threading.Event]:
    """An event that hanging calls wait for; it comes when the test is over."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def broken() -> Broken:
    return Broken()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def cache(broken: Broken, watch: Watch) -> GuardedCache:
    return GuardedCache(broken, wait_s=WAIT_S, monotonic=watch)


def use(cache: GuardedCache) -> bytes | None:
    cache.set("key", b"value", timeout_s=60)
    cache.delete("key")
    return cache.get("key")


@pytest.mark.parametrize("act", [fail, end_the_thread])
def test_what_raises_is_a_miss(cache: GuardedCache, broken: Broken, act: Callable[[], bytes | None]) -> None:
    broken.act = act
    assert use(cache) is None


def test_what_hangs_is_a_miss_in_time_and_is_not_asked_again(
    cache: GuardedCache, broken: Broken, guarded: threading.Event
) -> None:
    broken.act = lambda: guarded.wait(20) and None
    started = time.monotonic()
    for _ in range(50):
        assert use(cache) is None
    assert time.monotonic() - started < 2
    assert broken.requested == 1


@pytest.mark.parametrize("found", ["text", bytearray(b"bytes"), 7])
def test_what_is_no_bytes_is_a_miss(cache: GuardedCache, broken: Broken, found: object) -> None:
    broken.act = lambda: found  # type: ignore[assignment,return-value]
    assert cache.get("key") is None


def test_three_failures_in_a_row_open_the_circuit(cache: GuardedCache, broken: Broken) -> None:
    broken.act = fail
    for _ in range(20):
        use(cache)
    assert broken.requested == 3


def test_single_failures_leave_it_closed(cache: GuardedCache, broken: Broken) -> None:
    for act in (fail, lambda: b"kept") * 10:
        broken.act = act
        cache.get("key")
    assert broken.requested == 20


def test_the_circuit_closes_when_the_cache_serves_again(cache: GuardedCache, broken: Broken, watch: Watch) -> None:
    broken.act = fail
    use(cache)
    broken.act = lambda: b"kept"
    assert cache.get("key") is None
    watch.now += 1.1
    assert [cache.get("key"), cache.get("key")] == [b"kept", b"kept"]


def test_pauses_grow_while_it_fails(cache: GuardedCache, broken: Broken, watch: Watch) -> None:
    broken.act = fail
    use(cache)
    for _ in range(600):
        watch.now += 0.5
        cache.get("key")
    assert 3 + 5 <= broken.requested <= 3 + 16  # 300 seconds: pauses of 1, 2, 4, 8, 16 and then 30


def test_one_caller_tries_and_the_others_do_not_wait(
    cache: GuardedCache, broken: Broken, watch: Watch, guarded: threading.Event
) -> None:
    broken.act = fail
    use(cache)
    watch.now += 1.1
    broken.act = lambda: guarded.wait(20) and None
    threads = [threading.Thread(target=use, args=(cache,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert broken.requested == 4


def test_the_log_tells_it_once_and_in_our_words(
    cache: GuardedCache, broken: Broken, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    broken.act = fail
    for _ in range(20):
        use(cache)
    broken.act = lambda: b"kept"
    watch.now += 1.1
    cache.get("key")
    records = [record for record in caplog.records if record.levelno >= logging.INFO]
    assert [record.getMessage() for record in records] == [
        "the cache failed: its set raised ConnectionError; the answer is computed",
        "the cache is left alone for a while: its get raised ConnectionError; answers are computed",
        "the cache answers again and is used",
    ]
    assert not any(record.exc_info or SECRET in record.getMessage() for record in caplog.records)


def test_a_cache_that_fails_now_and_then_has_a_line_of_the_log_in_half_a_minute(
    cache: GuardedCache, broken: Broken, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    lines = []
    for _ in range(70):  # as one that is full: it gives what it has and takes nothing
        broken.act = fail
        cache.set("key", b"value", timeout_s=60)
        broken.act = lambda: b"kept"
        assert cache.get("key") == b"kept"
        watch.now += 1.0
        lines.append(len(caplog.records))
    assert (lines[0], lines[29], lines[30], lines[69]) == (1, 1, 2, 3)


def test_what_is_beside_the_cache_shares_its_circuit(cache: GuardedCache, broken: Broken) -> None:
    assert cache.ask("lock", lambda: ("lease",)) == ("lease",)
    for _ in range(3):
        assert cache.ask("lock", fail) is None
    assert (cache.get("key"), broken.requested) == (None, 0)
    assert cache.ask("lock", lambda: ("lease",)) is None


def test_many_calls_that_hang_for_ever_hold_few_threads(broken: Broken, watch: Watch, guarded: threading.Event) -> None:
    cache, begun = GuardedCache(broken, wait_s=0.001, monotonic=watch), threading.Semaphore(0)

    def hang() -> None:
        begun.release()
        guarded.wait(20)

    broken.act = hang
    for _ in range(60):
        watch.now += 100
        cache.get("key")
    assert all(begun.acquire(timeout=10) for _ in range(20))
    assert not begun.acquire(timeout=0.1)


def test_pauses_are_short_again_after_the_cache_served(cache: GuardedCache, broken: Broken, watch: Watch) -> None:
    for _ in range(2):
        broken.act = fail
        for _ in range(10):
            use(cache)
            watch.now += 100
        broken.act = lambda: b"kept"
        assert cache.get("key") == b"kept"
    broken.act = fail
    use(cache)
    broken.act = lambda: b"kept"
    watch.now += 1.1
    assert cache.get("key") == b"kept"


def test_calls_that_hung_and_came_back_keep_nobody_from_asking(
    broken: Broken, watch: Watch, guarded: threading.Event
) -> None:
    cache = GuardedCache(broken, wait_s=0.02, monotonic=watch)
    broken.act = lambda: guarded.wait(20) and None
    for _ in range(25):
        watch.now += 100
        cache.get("key")
    broken.act = lambda: b"kept"
    guarded.set()
    ends = time.monotonic() + 10
    while (found := cache.get("key")) is None and time.monotonic() < ends:
        watch.now += 100
        time.sleep(0.01)
    assert found == b"kept"
