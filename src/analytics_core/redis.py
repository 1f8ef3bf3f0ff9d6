"""Shared memory on a Redis server (extra `redis`): one cache and one lock for all processes of a service.

Both take the address of a server, or a client of the package `redis`. A server of version 6 or later is needed.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core.errors import AnalyticsError, MissingExtraError, SettingsError, StoreUnavailableError
from analytics_core.ports import Lease

if TYPE_CHECKING:
    import redis

__all__ = ["RedisCache", "RedisLock"]

Result = TypeVar("Result")

_FORMAT: Final = b"analytics_core entry 1\n"
_DIGEST_BYTES: Final = 16
_HEAD_BYTES: Final = len(_FORMAT) + _DIGEST_BYTES
_READ_BYTES: Final = 2**18
"""What one look at a socket takes: the client's own 32 KiB make the reading of a megabyte take twice as long."""

_ACQUIRE: Final = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local time = redis.call('TIME')
local latest = tonumber(redis.call('GET', KEYS[2])) or 0
local number = math.max(latest + 1, time[1] * 1000000 + time[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[2], string.format('%.0f', number))
return number
"""
"""The number is the server's time in microseconds: it grows also where the latest one was flushed or evicted."""

_RELEASE: Final = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"
_EXTEND: Final = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0"


class RedisCache:
    """Keeps bytes on a Redis server, for all processes that name it (port `Cache`).

    An entry has a format with a version and a digest of its key and its bytes: what is torn, foreign, too long or moved
    from another key is a miss. A core seals its entries with `Settings.secret_key` besides, so that whoever writes to
    the server gives no answers; nothing is encrypted, and whoever reads the server reads rows.

    Each entry has an end, `max_age_s` for those that never expire. The bytes of all entries together are for the server
    to bound: set its `maxmemory`, and an eviction policy such as `allkeys-lru`.

    A call raises what the client raises; a core takes that for a miss, and leaves the server alone for a while.

    Args:
        server: `redis://`, `rediss://` or `unix://` with user, password and number of the database; or a client, with
            its own time limits and retries.
        prefix: begins each key; services that share a server have different ones.
        timeout_s: seconds that a core waits for one call. An answer makes five at most.
        max_entry_bytes: what one entry may take; a larger one is not kept.
        max_age_s: seconds after which every entry is over.

    Raises:
        MissingExtraError: the package `redis` is not installed.
        SettingsError: an address or a number that cannot be; a client that decodes what it reads.

    Examples:
        >>> cache = RedisCache("redis://cache.example:6379/0", prefix="sales")
        >>> cache.close()
    """

    def __init__(
        self,
        server: str | redis.Redis,
        *,
        prefix: str = "analytics_core",
        timeout_s: float = 0.05,
        max_entry_bytes: int = 2**20,
        max_age_s: int = 30 * 86_400,
    ) -> None:
        if min(max_entry_bytes, max_age_s) < 1:
            raise SettingsError("a cache keeps entries of one byte or more for one second or more")
        self.longest_call_s = timeout_s
        self._client = _client(server, timeout_s)
        self._prefix = f"{prefix}:cache:"
        self._most_bytes = _HEAD_BYTES + max_entry_bytes
        self._max_age_s = max_age_s

    def get(self, key: str) -> bytes | None:
        """Return the stored bytes, or None when there are none or their time is over.

        Raises:
            redis.RedisError: the server does not serve.
        """
        place = self._place(key)
        entry = self._client.getrange(place, 0, self._most_bytes)  # one byte more than any entry of ours
        if type(entry) is not bytes or not entry.startswith(_FORMAT) or len(entry) > self._most_bytes:
            return None
        value = entry[_HEAD_BYTES:]
        return value if hmac.compare_digest(entry[len(_FORMAT) : _HEAD_BYTES], _digest(place, value)) else None

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        """Keep `value` for `timeout_s` seconds, `max_age_s` at most; 0 and less keep nothing.

        Raises:
            redis.RedisError: the server does not serve, or is full.
        """
        place = self._place(key)
        life_s = self._max_age_s if timeout_s is None else min(timeout_s, self._max_age_s)
        if life_s <= 0 or _HEAD_BYTES + len(value) > self._most_bytes:
            self._client.delete(place)
        else:
            self._client.set(place, b"".join((_FORMAT, _digest(place, value), value)), ex=life_s)

    def delete(self, key: str) -> None:
        """Forget the entry; nothing happens when there is none.

        Raises:
            redis.RedisError: the server does not serve.
        """
        self._client.delete(self._place(key))

    def close(self) -> None:
        """Let the connections go; the next call opens another."""
        self._client.connection_pool.disconnect()

    def _place(self, key: str) -> bytes:
        return (self._prefix + key).encode("utf-8", "surrogatepass")


class RedisLock:
    """Locks among all processes that name a Redis server; they end by its clock (port `ExtendableLock`).

    A lock is a key with an owner and an end, which only its owner gives back or extends. It lives on one server: who
    flushes it, restarts it without its data, or replaces it by a replica that had not heard of the lock yet, lets a
    second holder in while the first one works. What must not happen twice compares fencing numbers: they grow also
    then, as long as clocks of the servers agree.

    Args:
        server: as for `RedisCache`.
        prefix: begins each key; services that share a server have different ones.
        timeout_s: seconds that one call waits for the server.

    Raises:
        MissingExtraError: the package `redis` is not installed.
        SettingsError: an address or a number that cannot be; a client that decodes what it reads.
    """

    def __init__(self, server: str | redis.Redis, *, prefix: str = "analytics_core", timeout_s: float = 0.1) -> None:
        self._client = _client(server, timeout_s)
        self._prefix = f"{prefix}:lock:"
        self._latest = f"{prefix}:latest-lease"
        self._timeout_s = timeout_s
        self._calls = BoundedCalls("Redis lock")

    def acquire(self, name: str, *, ttl_s: float) -> Lease | None:
        """Return a lease for `ttl_s` seconds from this call, or None when somebody else holds the lock.

        Raises:
            StoreUnavailableError: the server does not answer; nobody can tell who holds the lock.
        """
        owner = secrets.token_urlsafe(16)

        def ask() -> Lease | None:
            number = int(self._run(_ACQUIRE, (self._place(name), self._latest), (owner, _milliseconds(ttl_s))))
            return Lease(name=name, owner=owner, fencing_number=number) if number else None

        return self._ask(ask, late=self._give_back)

    def extend(self, lease: Lease, *, ttl_s: float) -> bool:
        """Have the lease last for `ttl_s` seconds from this call; False when it was over.

        Raises:
            StoreUnavailableError: the server does not answer.
        """
        return self._ask(lambda: self._owns(_EXTEND, lease, _milliseconds(ttl_s)))

    def release(self, lease: Lease) -> bool:
        """Give the lock back; False when its time was over.

        Raises:
            StoreUnavailableError: the server does not answer; the lock ends by itself.
        """
        return self._ask(lambda: self._owns(_RELEASE, lease))

    def close(self) -> None:
        """Let the connections and threads without work go; the next call opens another."""
        self._client.connection_pool.disconnect()
        self._calls.close()

    def _place(self, name: str) -> bytes:
        return (self._prefix + name).encode("utf-8", "surrogatepass")

    def _owns(self, script: str, lease: Lease, *arguments: int) -> bool:
        return bool(self._run(script, (self._place(lease.name),), (lease.owner, *arguments)))

    def _run(self, script: str, keys: tuple[str | bytes, ...], arguments: tuple[str | int, ...]) -> Any:
        return self._client.eval(script, len(keys), *keys, *arguments)

    def _give_back(self, lease: Lease | None) -> None:
        """Release a lease that nobody waited for; whatever the server says, it ends by itself."""
        if lease is not None:
            with suppress(Exception):
                self._owns(_RELEASE, lease)

    def _ask(self, work: Callable[[], Result], *, late: Callable[[Result | None], object] = lambda _: None) -> Result:
        """Return what the server says, in time: looking up its name has no limit of its own."""
        pending = self._calls.start(work)
        if not pending.wait(self._timeout_s):
            pending.abandon(late)
            raise StoreUnavailableError(f"Redis did not answer a lock within {self._timeout_s:g} s")
        try:
            return pending.result()
        except AnalyticsError:
            raise
        except Exception as error:  # border to the client, whose texts may hold what the server says
            failed = type(error).__name__
        raise StoreUnavailableError(f"Redis does not serve a lock ({failed})")


def _client(server: str | redis.Redis, timeout_s: float) -> redis.Redis:
    """Return a client of the server that tries once, whose sockets wait a little longer than its callers do."""
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise MissingExtraError(needed_for="shared memory on a Redis server", extra_name="redis") from None
    if timeout_s <= 0:
        raise SettingsError("a call of Redis takes longer than 0 seconds")
    if not isinstance(server, str):
        if server.get_encoder().decode_responses:
            raise SettingsError("the client of Redis decodes what it reads; give it decode_responses=False")
        return server
    socket_s = 2 * timeout_s
    try:
        return redis.Redis.from_url(
            server,
            socket_timeout=socket_s,
            socket_connect_timeout=socket_s,
            retry=Retry(NoBackoff(), 0),
            socket_read_size=_READ_BYTES,
            protocol=2,  # a new connection asks nothing then but what the address says: password, database
            driver_info=None,
        )
    except ValueError:
        pass  # its text may hold the password
    raise SettingsError("the address of Redis is no URL that begins with redis://, rediss:// or unix://")


def _digest(place: bytes, value: bytes) -> bytes:
    made = hashlib.blake2b(len(place).to_bytes(8, "big"), digest_size=_DIGEST_BYTES)
    made.update(place)
    made.update(value)
    return made.digest()


def _milliseconds(seconds: float) -> int:
    return max(1, math.ceil(seconds * 1_000))
