"""Results in the cache: how long one is kept, and under which key (contract, cache_timeout)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._compile.fingerprint import fingerprint
from analytics_core._compile.plan import QueryPlan
from analytics_core._lookups.loading import LoadedDataset
from analytics_core._records.datasource import Database, Dataset, Identity
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
        if kept is None:
            return None
        return decode_entry(kept, key=key.text, seal=self._seal, cache_timeout=timeout.seconds)

    def keep(self, key: CacheKey, timeout: CacheTimeout, result: QueryResult) -> None:
        """Keep a fresh result; errors are never kept."""
        moment = self._clock.now().replace(tzinfo=None, microsecond=0).isoformat()
        entry = encode_entry(result, key=key.text, seal=self._seal, most_bytes=self._most_bytes, cached_dttm=moment)
        if entry is not None:
            self._cache.set(key.text, entry, timeout_s=timeout.timeout_s)


NO_CACHE = -1
_LONGEST_S: Final = 2**31 - 1
"""Caches take no longer times: 68 years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTimeout:
    """Seconds, and who set them; 0 never expires, -1 keeps nothing."""

    seconds: int
    set_by: str

    @property
    def keeps(self) -> bool:
        """Whether results are kept at all."""
        return self.seconds >= 0

    @property
    def timeout_s(self) -> int | None:
        """What a cache is told: None for entries that never expire."""
        return self.seconds or None

    def __str__(self) -> str:
        if not self.keeps:
            return f"nothing is kept ({self.set_by})"
        return f"kept for {self.seconds} s ({self.set_by})" if self.seconds else f"kept for ever ({self.set_by})"


def cache_timeout(*, custom: int | None, chart: int | None, loaded: LoadedDataset, default: int) -> CacheTimeout:
    """Return the timeout that counts: custom, else the chart's, the dataset's, the database's, the setting's."""
    candidates = (
        (custom, "custom_cache_timeout"),
        (chart, "chart"),
        (loaded.dataset.cache_timeout, "dataset"),
        (loaded.database.cache_timeout, "database"),
        (default, "Settings.cache_timeout_s"),
    )
    seconds, set_by = next((value, name) for value, name in candidates if value is not None)
    return CacheTimeout(seconds=min(max(seconds, NO_CACHE), _LONGEST_S), set_by=set_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """A key with the parts that it was made of; equal parts give equal keys, any difference another key."""

    text: str
    parts: Mapping[str, Any]


def cache_key(
    plans: Sequence[QueryPlan], loaded: LoadedDataset, *, identity: Identity | None, options: Mapping[str, str]
) -> CacheKey:
    """Return the key of a result: its plans (rules, resolved bounds and limits are in them), versions and options."""
    parts = {
        "plan": fingerprint(plans[0], *(fingerprint(plan) for plan in plans[1:])),
        # The uuids keep stores that share a cache apart: their ids are alike.
        "dataset": _version(loaded.dataset),
        "generation": loaded.generation,
        "database": _version(loaded.database),
        "identity": None if identity is None else identity.username,
        "rules": [str(clause.origin) for clause in plans[0].row_rules],
        **options,
    }
    digest = hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()
    return CacheKey(text=f"chart-data-{digest}", parts=parts)


def _version(record: Dataset | Database) -> str:
    return f"{record.id} ({record.uuid}), version {record.audit.version}"
