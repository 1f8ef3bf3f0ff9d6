"""A cache in this process's memory, bounded by bytes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from analytics_core._forks import forkable_lock
from analytics_core.ports import Clock

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
        self._held_bytes = 0

    @property
    def held_bytes(self) -> int:
        """What the entries take now."""
        return self._held_bytes

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
            while self._held_bytes + size > self._max_bytes:
                self._drop(next(iter(self._entries)))
            self._entries[key] = _Entry(bytes(value), ends_s, size)
            self._held_bytes += size

    def delete(self, key: str) -> None:
        """Forget the entry; nothing happens when there is none."""
        with self._lock:
            self._drop(key)

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._held_bytes -= entry.size
