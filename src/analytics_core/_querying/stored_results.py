"""Keeps results in the cache and finds them again; what does not decode is a miss."""

from __future__ import annotations

from dataclasses import replace

from analytics_core._querying.answer import QueryResult
from analytics_core._querying.cache_entry import decode_entry, encode_entry
from analytics_core._querying.cache_rules import CacheKey, CacheTimeout
from analytics_core.ports import Cache, Clock


class StoredResults:
    """Results by key."""

    def __init__(self, cache: Cache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock

    def find(self, key: CacheKey, timeout: CacheTimeout) -> QueryResult | None:
        """Return the kept result, marked as cached, or None."""
        kept = self._cache.get(key.text)
        result = None if kept is None else decode_entry(kept, key=key.text)
        return None if result is None else replace(result, is_cached=True, cache_timeout=timeout.seconds)

    def keep(self, key: CacheKey, timeout: CacheTimeout, result: QueryResult) -> QueryResult:
        """Keep a fresh result and return it with its place in the cache; errors are never kept."""
        moment = self._clock.now().replace(tzinfo=None, microsecond=0).isoformat()
        dated = replace(result, cache_key=key.text, cache_timeout=timeout.seconds, cached_dttm=moment)
        entry = encode_entry(dated, key=key.text)
        if entry is not None:
            self._cache.set(key.text, entry, timeout_s=timeout.timeout_s)
        return replace(dated, cached_dttm=None)
