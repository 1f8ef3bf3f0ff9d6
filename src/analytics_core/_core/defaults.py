"""What stands behind a port that the host left to the library, and what guards the one that it brought.

A host's object is used whatever its truth value is: an empty cache, or a store that counts its records, is no None.
"""

from __future__ import annotations

from analytics_core._adapters.guarded_cache import GuardedCache
from analytics_core._adapters.job_runners import ThreadJobRunner
from analytics_core._adapters.memory_cache import MemoryCache
from analytics_core._adapters.secret_box import AesGcmSecretBox
from analytics_core._settings import Settings
from analytics_core._storage.store import SqlMetadataStore
from analytics_core.errors import SettingsError
from analytics_core.ports import Cache, Clock, JobRunner, MetadataStore, SecretBox

IN_MEMORY = "sqlite://"
"""The URL of a metadata store in the memory of the process."""


def secret_box_of(secret_box: SecretBox | None, settings: Settings) -> SecretBox:
    """Return what seals secrets; the default uses the settings' key."""
    if secret_box is not None:
        return secret_box
    return AesGcmSecretBox(settings.key, previous_keys=settings.older_keys)


def store_of(
    store: MetadataStore | None, metadata_url: str, *, settings: Settings, secret_box: SecretBox, clock: Clock
) -> MetadataStore:
    """Return the metadata store; SettingsError for one beside a URL, since records are kept in one place."""
    if store is None:
        return SqlMetadataStore(metadata_url, secret_box=secret_box, clock=clock, timeout_s=settings.store_timeout_s)
    if metadata_url != IN_MEMORY:
        raise SettingsError("records are kept in one place: give AnalyticsCore either metadata_url or store")
    return store


def cache_of(cache: Cache | None, settings: Settings, clock: Clock) -> Cache:
    """Return the cache; what a host passed stands behind a guard, since it may raise or hang."""
    if cache is None:
        return MemoryCache(max_bytes=settings.cache_max_bytes, clock=clock)
    return cache if isinstance(cache, MemoryCache) else GuardedCache(cache)


def runner_of(jobs: JobRunner | None, settings: Settings) -> JobRunner:
    """Return what runs background work; the default is threads."""
    if jobs is not None:
        return jobs
    return ThreadJobRunner(workers=settings.job_workers, workers_per_queue=settings.job_workers_per_database)
