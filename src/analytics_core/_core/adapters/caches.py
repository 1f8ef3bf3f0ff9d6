"""The default `Cache`, in this process's memory and bounded by bytes, and the guard before a cache of a host."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core._tools.forks import forkable_lock
from analytics_core._tools.log import line_log
from analytics_core.errors import ThreadLimitError
from analytics_core.ports import Cache, Clock

_OVERHEAD_BYTES: Final = 256
"""What an entry takes beside its key and its value, roughly."""


@dataclass(frozen=True, slots=True)
class _Entry:
    value: bytes
    ends_s: float | None
    size: int


class MemoryCache:
    """Keeps bytes until their time is over or room is needed; then the entries unused for longest go first.

    Safe to use from many threads.

    Args:
        max_bytes: what all entries together may take; an entry larger than that is not kept.
        clock: tells when an entry's time is over.
    """

    def __init__(self, *, max_bytes: int, clock: Clock) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = forkable_lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._stored_bytes = 0

    @property
    def stored_bytes(self) -> int:
        """What the entries take now."""
        return self._stored_bytes

    def get(self, key: str) -> bytes | None:
        """Return the stored bytes, or None when there are none or their time is over."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if entry.ends_s is not None and entry.ends_s <= self._clock.monotonic():
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            return entry.value

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        """Keep `value` for `timeout_s` seconds; None keeps it until room is needed, 0 and less not at all."""
        size = len(key.encode()) + len(value) + _OVERHEAD_BYTES
        keeps = size <= self._max_bytes and (timeout_s is None or timeout_s > 0)
        ends_s = None if timeout_s is None else self._clock.monotonic() + timeout_s
        with self._lock:
            self._drop(key)
            if not keeps:
                return
            while self._stored_bytes + size > self._max_bytes:
                self._drop(next(iter(self._entries)))
            self._entries[key] = _Entry(bytes(value), ends_s, size)
            self._stored_bytes += size

    def delete(self, key: str) -> None:
        """Forget the entry; nothing happens when there is none."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._stored_bytes -= entry.size


_LOG = line_log(__name__)

_WAIT_S: Final = 0.3
_FAILURES_THAT_OPEN: Final = 3
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
_MOST_HANGING: Final = 20
"""So many calls may hang; each holds a thread."""
_LOG_AGAIN_S: Final = 30.0
"""A cache that fails now and then, as one that is full, has a line of the log once in so many seconds."""


class GuardedCache:
    """Asks another cache, and never raises or waits for long (port `Cache`): no answer needs a cache.

    A call that takes longer than `wait_s` opens the circuit at once, three failures in a row do it too: for a second
    the cache is not asked at all, then one call tries it. Pauses double up to half a minute, until a call succeeds.
    The log tells when the cache fails, is left alone and serves again, in our own words: those of a cache may hold its
    address with a password.

    Args:
        cache: what a host passed.
        wait_s: seconds that one call may take.
        monotonic: tells seconds for the pauses.
    """

    def __init__(
        self, cache: Cache, *, wait_s: float = _WAIT_S, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._cache = cache
        self._wait_s = wait_s
        self._monotonic = monotonic
        self._calls = BoundedCalls("cache")
        self._guard = forkable_lock()
        self._failures = 0
        self._hanging = 0
        self._pause_s = _FIRST_PAUSE_S
        self._closed_from: float | None = None
        self._logged_at: float | None = None

    def get(self, key: str) -> bytes | None:
        """Return the stored bytes; None when there are none, or the cache does not say."""
        found = self.ask("get", lambda: self._cache.get(key))
        return found if type(found) is bytes else None

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        """Keep `value` for `timeout_s` seconds, if the cache takes it."""
        self.ask("set", lambda: self._cache.set(key, value, timeout_s=timeout_s))

    def delete(self, key: str) -> None:
        """Forget the entry, if the cache does."""
        self.ask("delete", lambda: self._cache.delete(key))

    def ask(self, act: str, work: Callable[[], Any]) -> Any:
        """Return what a call of the cache, or of a part beside it, returns; None where it raises or takes too long.

        All that is asked this way shares one circuit: when it opens, an answer waits for none of it any more.
        """
        if not self._may_ask():
            return None
        try:
            pending = self._calls.start(work)
        except ThreadLimitError:
            self._failed(act, "found no thread", opens=False)
            return None
        if not pending.wait(self._wait_s):
            with self._guard:
                self._hanging += 1
            pending.abandon(self._returned)
            self._failed(act, f"took longer than {self._wait_s:g} s", opens=True)
            return None
        try:
            found = pending.result()
        except BaseException as error:  # whatever ends a call of a cache ends nothing else
            self._failed(act, f"raised {type(error).__name__}", opens=False)
            return None
        if self._failures:
            self._succeeded()
        return found

    def _may_ask(self) -> bool:
        """Tell whether the circuit is closed, or this call is the one that tries it."""
        if not self._failures:
            return True
        with self._guard:
            if self._closed_from is None:
                return True
            if self._monotonic() < self._closed_from or self._hanging >= _MOST_HANGING:
                return False
            self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)
            self._closed_from = self._monotonic() + self._pause_s  # others wait for what this call finds
            return True

    def _failed(self, act: str, how: str, *, opens: bool) -> None:
        with self._guard:
            self._failures += 1
            was_open = self._closed_from is not None
            first = self._failures == 1 and (
                self._logged_at is None or self._monotonic() - self._logged_at >= _LOG_AGAIN_S
            )
            if first:
                self._logged_at = self._monotonic()
            opened = not was_open and (opens or self._failures >= _FAILURES_THAT_OPEN)
            if opened:
                self._closed_from = self._monotonic() + self._pause_s
        if opened:
            _LOG.warning("the cache is left alone for a while: its %s %s; answers are computed", act, how)
        elif first:
            _LOG.warning("the cache failed: its %s %s; the answer is computed", act, how)

    def _succeeded(self) -> None:
        with self._guard:
            was_open = self._closed_from is not None
            self._failures, self._closed_from, self._pause_s = 0, None, _FIRST_PAUSE_S
        if was_open:
            _LOG.warning("the cache answers again and is used")

    def _returned(self, _late: object) -> None:
        with self._guard:
            self._hanging -= 1
