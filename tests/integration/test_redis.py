"""Entries on a Redis server are bounded and checked; one that is away, hangs, is full or read-only is told in time."""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from tests.support.redis_server import RedisServer, redis_server, sentinel_of

from analytics_core.errors import SettingsError, StoreUnavailableError
from analytics_core.ports import Cache, ExtendableLock, Lease
from analytics_core.redis import RedisCache, RedisLock

PATIENT_S = 20.0
"""The machine may be busy with other tests."""

NOWHERE = "redis://:hunter2@127.0.0.1:1/0"


@pytest.fixture
def prefix() -> str:
    return secrets.token_hex(8)


@pytest.fixture
def cache(redis_server: RedisServer, prefix: str) -> RedisCache:
    return RedisCache(redis_server.url, prefix=prefix, timeout_s=PATIENT_S, max_entry_bytes=10_000)


def keys_of(server: RedisServer, prefix: str) -> list[bytes]:
    return sorted(server.ask("KEYS", f"{prefix}:*"))


# ----------------------------------------------------------------------------------------------------------- entries
def test_an_entry_is_found_by_other_clients_of_its_prefix_alone(
    redis_server: RedisServer, cache: RedisCache, prefix: str
) -> None:
    cache.set("key", b"value", timeout_s=60)
    other = RedisCache(redis.Redis(port=redis_server.port), prefix=prefix)
    assert other.get("key") == b"value"
    assert RedisCache(redis_server.url, prefix=f"{prefix}2", timeout_s=PATIENT_S).get("key") is None
    assert keys_of(redis_server, prefix) == [f"{prefix}:cache:key".encode()]


def test_what_is_no_entry_of_the_key_is_a_miss(redis_server: RedisServer, cache: RedisCache, prefix: str) -> None:
    cache.set("key", b"value" * 100, timeout_s=60)
    place = f"{prefix}:cache:key"
    entry = redis_server.ask("GET", place)
    altered = bytes([*entry[:-1], entry[-1] ^ 1])
    torn = [entry[:size] for size in (0, 1, 10, 30, len(entry) - 1)]
    foreign = [b"\x00", b"text", pickle.dumps({"a": 1}), b"x" * 1_000_000, entry + b"x", altered]
    for content in (*torn, *foreign, entry.replace(b"entry 1", b"entry 2")):
        redis_server.ask("SET", place, content)
        assert cache.get("key") is None
    redis_server.ask("SET", place, entry)
    assert cache.get("key") == b"value" * 100
    redis_server.ask("RENAME", place, f"{prefix}:cache:other")
    assert cache.get("other") is None


def test_another_type_of_value_under_a_key_is_replaced(
    redis_server: RedisServer, cache: RedisCache, prefix: str
) -> None:
    redis_server.ask("LPUSH", f"{prefix}:cache:key", "a list")
    with pytest.raises(redis.ResponseError):
        cache.get("key")
    cache.set("key", b"value", timeout_s=60)
    assert cache.get("key") == b"value"


def test_an_entry_that_is_too_large_is_not_stored_and_ends_the_former_one(
    redis_server: RedisServer, cache: RedisCache, prefix: str
) -> None:
    cache.set("key", b"x" * 10_000, timeout_s=60)
    assert cache.get("key") == b"x" * 10_000
    cache.set("key", b"x" * 10_001, timeout_s=60)
    assert (cache.get("key"), keys_of(redis_server, prefix)) == (None, [])


@pytest.mark.parametrize(("timeout_s", "seconds"), [(None, 1_000), (10, 10), (2**31 - 1, 1_000)])
def test_every_entry_has_an_end(redis_server: RedisServer, prefix: str, timeout_s: int | None, seconds: int) -> None:
    cache = RedisCache(redis_server.url, prefix=prefix, timeout_s=PATIENT_S, max_age_s=1_000)
    cache.set("key", b"value", timeout_s=timeout_s)
    assert seconds - 5 <= redis_server.ask("TTL", f"{prefix}:cache:key") <= seconds


@pytest.mark.parametrize("timeout_s", [0, -1])
def test_an_entry_without_time_is_none(
    redis_server: RedisServer, cache: RedisCache, prefix: str, timeout_s: int
) -> None:
    cache.set("key", b"former", timeout_s=60)
    cache.set("key", b"value", timeout_s=timeout_s)
    assert (cache.get("key"), keys_of(redis_server, prefix)) == (None, [])


# -------------------------------------------------------------------------------------------------------- construction
@pytest.mark.parametrize("made", [RedisCache, RedisLock])
def test_an_address_that_is_none_is_refused_without_its_password(made: Callable[[str], object]) -> None:
    for address in ("http://:hunter2@cache:6379", "cache:6379", "redis://:hunter2@cache:port/0", ""):
        with pytest.raises(SettingsError, match="redis://") as caught:
            made(address)
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("made", [RedisCache, RedisLock])
def test_a_client_that_decodes_and_numbers_that_cannot_be_are_refused(made: Callable[..., object]) -> None:
    with pytest.raises(SettingsError, match="decode_responses"):
        made(redis.Redis(decode_responses=True))
    with pytest.raises(SettingsError, match="longer than 0"):
        made(NOWHERE, timeout_s=0)


@pytest.mark.parametrize("numbers", [{"max_entry_bytes": 0}, {"max_age_s": 0}])
def test_a_cache_that_can_have_no_entry_is_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match="one byte or more"):
        RedisCache(NOWHERE, **numbers)


# --------------------------------------------------------------------------------------------------------------- lock
def test_fencing_numbers_grow_after_a_flush(redis_server: RedisServer, prefix: str) -> None:
    lock = RedisLock(redis_server.url, prefix=prefix, timeout_s=PATIENT_S)
    numbers = []
    for _ in range(3):
        lease = lock.acquire("door", ttl_s=60)
        assert lease is not None
        numbers.append(lease.fencing_number)
        redis_server.ask("DEL", *keys_of(redis_server, prefix))
        assert lock.release(lease) is False
    assert numbers == sorted(set(numbers))


def test_a_number_in_advance_of_the_clock_goes_on_growing(redis_server: RedisServer, prefix: str) -> None:
    lock = RedisLock(redis_server.url, prefix=prefix, timeout_s=PATIENT_S)
    ahead = 4_000_000_000_000_000
    redis_server.ask("SET", f"{prefix}:latest-lease", ahead)
    assert [acquired(lock, name).fencing_number for name in ("door", "window")] == [ahead + 1, ahead + 2]
    redis_server.ask("SET", f"{prefix}:latest-lease", "no number")
    assert 0 < acquired(lock, "roof").fencing_number < ahead


def test_after_a_failover_a_second_holder_has_the_higher_number(own_redis: RedisServer, tmp_path: Any) -> None:
    former = RedisLock(own_redis.url, timeout_s=PATIENT_S)
    with redis_server(tmp_path / "replica") as replica:
        first = acquired(former, "door")
        own_redis.kill()  # before the replica has heard of the lock
        second = acquired(RedisLock(replica.url, timeout_s=PATIENT_S), "door")
    assert second.fencing_number > first.fencing_number


@pytest.mark.slow
def test_the_master_that_sentinel_names_is_followed(own_redis: RedisServer, tmp_path: Any) -> None:
    follows = ("--replicaof", "127.0.0.1", str(own_redis.port))
    with redis_server(tmp_path / "replica", *follows), sentinel_of(own_redis, tmp_path) as sentinel:
        client = sentinel.master_for("cache", socket_timeout=10, retry=Retry(NoBackoff(), 0))
        cache, lock = RedisCache(client), RedisLock(client, timeout_s=PATIENT_S)
        cache.set("key", b"value", timeout_s=60)
        first = acquired(lock, "door")
        own_redis.kill()
        calls = {"set": lambda: cache.set("key", b"later", timeout_s=60)}
        assert errors_of(calls) == {"set": "ConnectionError"}
        eventually(lambda: errors_of(calls) == {})
        assert cache.get("key") == b"later"
        assert acquired(lock, "window").fencing_number > first.fencing_number
        client.close()


def acquired(lock: RedisLock, name: str) -> Lease:
    lease = lock.acquire(name, ttl_s=60)
    assert lease is not None
    return lease


# ------------------------------------------------------------------------------------------------------ what goes wrong
def every_call(cache: Cache, lock: ExtendableLock) -> dict[str, Callable[[], Any]]:
    lease = Lease(name="door", owner="nobody", fencing_number=1)
    return {
        "get": lambda: cache.get("key"),
        "set": lambda: cache.set("key", b"value", timeout_s=60),
        "delete": lambda: cache.delete("key"),
        "acquire": lambda: lock.acquire("door", ttl_s=60),
        "extend": lambda: lock.extend(lease, ttl_s=60),
        "release": lambda: lock.release(lease),
    }


def errors_of(calls: dict[str, Callable[[], Any]]) -> dict[str, str]:
    """Make each call, none of which may take long, and return what it raised."""
    found = {}
    for name, call in calls.items():
        began = time.monotonic()
        try:
            call()
        except (redis.RedisError, StoreUnavailableError) as error:
            found[name] = type(error).__name__ if "hunter2" not in str(error) else "a secret"
        assert time.monotonic() - began < 5
    return found


CACHE_CALLS, LOCK_CALLS = ("get", "set", "delete"), ("acquire", "extend", "release")


def test_a_server_that_is_down_is_told_by_every_call() -> None:
    found = errors_of(every_call(RedisCache(NOWHERE), RedisLock(NOWHERE)))
    assert found == dict.fromkeys(CACHE_CALLS, "ConnectionError") | dict.fromkeys(LOCK_CALLS, "StoreUnavailableError")


def test_a_server_that_hangs_is_told_in_time_and_serves_again(own_redis: RedisServer) -> None:
    cache, lock = RedisCache(own_redis.url), RedisLock(own_redis.url)
    own_redis.hang()
    found = errors_of(every_call(cache, lock))
    assert found == dict.fromkeys(CACHE_CALLS, "TimeoutError") | dict.fromkeys(LOCK_CALLS, "StoreUnavailableError")
    own_redis.go_on()
    eventually(lambda: errors_of(every_call(cache, lock)) == {})


def test_a_server_that_was_killed_serves_again_when_it_is_back(own_redis: RedisServer) -> None:
    cache, lock = RedisCache(own_redis.url), RedisLock(own_redis.url)
    calls = every_call(cache, lock)
    cache.set("key", b"value", timeout_s=60)
    own_redis.kill()
    assert set(errors_of(calls)) == set(calls)
    own_redis.start()
    eventually(lambda: errors_of(calls) == {})


def test_a_server_that_is_full_keeps_nothing_more_and_gives_what_it_has(own_redis: RedisServer) -> None:
    cache = RedisCache(own_redis.url, timeout_s=PATIENT_S)
    lock = RedisLock(own_redis.url, timeout_s=PATIENT_S)
    cache.set("key", b"value", timeout_s=60)
    own_redis.ask("CONFIG", "SET", "maxmemory", "1")
    found = errors_of(every_call(cache, lock))
    assert found == {"set": "OutOfMemoryError", "acquire": "StoreUnavailableError"}
    own_redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert errors_of(every_call(cache, lock)) == {}


def test_a_server_that_evicts_keeps_the_newer_entries(own_redis: RedisServer) -> None:
    cache = RedisCache(own_redis.url, timeout_s=PATIENT_S)
    own_redis.ask("CONFIG", "SET", "maxmemory", 20 * 2**20)
    own_redis.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    for number in range(300):
        cache.set(f"key {number}", bytes([number % 256]) * 200_000, timeout_s=60)
    found = [cache.get(f"key {number}") for number in range(300)]
    assert [one for number, one in enumerate(found) if one not in (None, bytes([number % 256]) * 200_000)] == []
    assert found[-1] is not None
    assert own_redis.ask("INFO", "memory")["used_memory"] <= 20 * 2**20


def test_a_server_that_became_a_replica_takes_nothing(own_redis: RedisServer) -> None:
    cache = RedisCache(own_redis.url, timeout_s=PATIENT_S)
    lock = RedisLock(own_redis.url, timeout_s=PATIENT_S)
    cache.set("key", b"value", timeout_s=60)
    own_redis.ask("REPLICAOF", "127.0.0.1", "1")
    assert cache.get("key") == b"value"
    found = errors_of(every_call(cache, lock))
    assert found["set"] == found["delete"] == "ReadOnlyError"
    assert found["acquire"] == "StoreUnavailableError"
    own_redis.ask("REPLICAOF", "NO", "ONE")
    assert errors_of(every_call(cache, lock)) == {}


def test_a_lease_that_came_too_late_is_given_back(own_redis: RedisServer) -> None:
    lock = RedisLock(own_redis.url, timeout_s=1.0)
    own_redis.ask("CLIENT", "PAUSE", 1_500, "ALL")
    with pytest.raises(StoreUnavailableError, match="within 1 s"):
        lock.acquire("door", ttl_s=600)
    eventually(lambda: acquired_or_none(lock) is not None)


def acquired_or_none(lock: RedisLock) -> Lease | None:
    try:
        return lock.acquire("door", ttl_s=600)
    except StoreUnavailableError:
        return None


def eventually(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.server
def test_a_wrong_password_is_told_without_it(tmp_path: Any) -> None:
    with redis_server(tmp_path / "redis") as server:
        server.ask("CONFIG", "SET", "requirepass", "open sesame")
        address = server.url.replace("redis://", "redis://:hunter2@")
        found = errors_of(every_call(RedisCache(address, timeout_s=PATIENT_S), RedisLock(address, timeout_s=PATIENT_S)))
    assert found == dict.fromkeys(CACHE_CALLS, "AuthenticationError") | dict.fromkeys(
        LOCK_CALLS, "StoreUnavailableError"
    )
