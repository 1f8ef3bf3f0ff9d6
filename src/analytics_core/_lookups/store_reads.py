"""Keeps what was read of the metadata store for a moment, and never past a change made through the same store."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from analytics_core._memo import Memo
from analytics_core.ports import Clock, MetadataStore

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _CachedValue(Generic[Value]):
    value: Value
    revision: int
    ends_s: float


class StoreReadCache(Generic[Key, Value]):
    """Values read from a store, each believed for `seconds`, and none once this store was written to.

    With `nouns` only changes that bear on these kinds of records end the belief.
    A change made by another process is seen at the latest after `seconds`; 0 reads each time.
    """

    def __init__(
        self, store: MetadataStore, clock: Clock, *, seconds: float, capacity: int = 500, nouns: tuple[str, ...] = ()
    ) -> None:
        self._store = store
        self._nouns = nouns
        self._clock = clock
        self._lasts_s = seconds
        self._kept: Memo[Key, _CachedValue[Value]] = Memo(capacity=capacity)

    def get(self, key: Key, read: Callable[[], Value]) -> Value:
        """Return the value of `key`: a fresh one that is kept, else what `read` returns; errors are not kept."""
        if not self._lasts_s:
            return read()
        revision, now_s = self._store.revision(*self._nouns), self._clock.monotonic()
        kept = self._kept.get(key)
        if kept is not None and kept.revision == revision and now_s < kept.ends_s:
            return kept.value
        value = read()
        self._kept.put(key, _CachedValue(value, revision, now_s + self._lasts_s))
        return value
