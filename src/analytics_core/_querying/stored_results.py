"""Keeps results in the cache and finds them again; what does not decode is a miss."""

from __future__ import annotations

from dataclasses import replace

from analytics_core._querying.cache_rules import CacheKey, CacheTimeout
from analytics_core._records.secret import Secret
from analytics_core._results.answer import QueryResult
from analytics_core._results.answer_bytes import decode_entry, encode_entry
from analytics_core._security.keys import EntrySeal
from analytics_core.ports import Cache, Clock


class StoredResults:
    """Results by key; one that takes more than `most_bytes` is not kept.

    Entries are sealed with a key derived from `secret`: a cache that others can write to gives no answers of theirs.
    """

    def __init__(self, cache: Cache, clock: Clock, *, secret: Secret, most_bytes: int) -> None:
        self._cache = cache
        self._seal = EntrySeal(secret)
        self._most_bytes = most_bytes
        self._clock = clock

    def find(self, key: CacheKey, timeout: CacheTimeout) -> QueryResult | None:
        """Return the kept result, marked as cached, or None."""
        kept = self._cache.get(key.text)
        result = None if kept is None else decode_entry(kept, key=key.text, seal=self._seal)
        if result is None:
            return None
        return replace(result, cache_key=key.text, cache_timeout=timeout.seconds)

    def keep(self, key: CacheKey, timeout: CacheTimeout, result: QueryResult) -> QueryResult:
        """Keep a fresh result and return it with its place in the cache; errors are never kept."""
        placed = replace(result, cache_key=key.text, cache_timeout=timeout.seconds)
        moment = self._clock.now().replace(tzinfo=None, microsecond=0).isoformat()
        dated = replace(placed, cached_dttm=moment)
        entry = encode_entry(dated, key=key.text, seal=self._seal, most_bytes=self._most_bytes)
        if entry is not None:
            self._cache.set(key.text, entry, timeout_s=timeout.timeout_s)
        return placed
