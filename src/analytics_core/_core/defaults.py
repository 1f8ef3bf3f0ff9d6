"""What stands behind a port that the host left to the library, and what guards the one that it brought.

A host's object is used whatever its truth value is: an empty cache, or a store that counts its records, is no None.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analytics_core._adapters.caches import GuardedCache, MemoryCache
from analytics_core._adapters.clock import SystemClock
from analytics_core._adapters.connector import SqlAlchemyConnector
from analytics_core._adapters.job_runners import ThreadJobRunner
from analytics_core._adapters.observers import GuardedObserver, LogObserver
from analytics_core._adapters.secret_box import AesGcmSecretBox
from analytics_core._adapters.store_lock import StoreLock
from analytics_core._adapters.user_directory import StoredUserDirectory
from analytics_core._core.wiring import Parts, added_by_packages
from analytics_core._engines.registry import ENTRY_POINTS as ENGINES
from analytics_core._engines.registry import EngineRegistry, installed_engines
from analytics_core._security.policy import Policy
from analytics_core._settings import Settings
from analytics_core._storage.store import SqlMetadataStore
from analytics_core.errors import SettingsError
from analytics_core.ports import (
    Cache,
    Clock,
    Connector,
    JobRunner,
    Lock,
    MetadataStore,
    Observer,
    RowFilterSource,
    SecretBox,
    UserDirectory,
)

IN_MEMORY = "sqlite://"
"""The URL of a metadata store in the memory of the process."""


def parts_of(
    settings: Settings,
    *,
    metadata_url: str,
    store: MetadataStore | None,
    cache: Cache | None,
    lock: Lock | None,
    observer: Observer | None,
    jobs: JobRunner | None,
    clock: Clock | None,
    policy: Policy | None,
    users: UserDirectory | None,
    row_filters: Sequence[RowFilterSource],
    secret_box: SecretBox | None,
    connector: Connector | None,
    engines: EngineRegistry | None,
    allowed_files: Sequence[Path | str],
) -> Parts:
    """Return what a host chose with the library's own parts for the rest; the arguments are the facade's."""
    clock = SystemClock() if clock is None else clock
    added = added_by_packages()
    registry = installed_engines(added[ENGINES]) if engines is None else engines
    box = _secret_box_of(secret_box, settings)
    if connector is None:
        connector = SqlAlchemyConnector(settings=settings, specs=registry.get, allowed_files=allowed_files)
    cache, runner = _cache_of(cache, settings, clock), _runner_of(jobs, settings)
    # The last: what fails before it leaves no store open.
    store = _store_of(store, metadata_url, settings=settings, secret_box=box, clock=clock)
    return Parts(
        settings=settings,
        clock=clock,
        store=store,
        cache=cache,
        lock=StoreLock(store) if lock is None else lock,
        observer=LogObserver() if observer is None else GuardedObserver(observer),
        jobs=runner,
        connector=connector,
        registry=registry,
        policy=Policy() if policy is None else policy,
        row_filters=row_filters,
        allowed_files=allowed_files,
        people=StoredUserDirectory(store) if users is None else users,
        secret_box=box,
        added=added,
    )


def _secret_box_of(secret_box: SecretBox | None, settings: Settings) -> SecretBox:
    """Return what seals secrets; the default uses the settings' key."""
    if secret_box is not None:
        return secret_box
    return AesGcmSecretBox(settings.key, previous_keys=settings.older_keys)


def _store_of(
    store: MetadataStore | None, metadata_url: str, *, settings: Settings, secret_box: SecretBox, clock: Clock
) -> MetadataStore:
    """Return the metadata store; SettingsError for one beside a URL, since records are kept in one place."""
    if store is None:
        return SqlMetadataStore(metadata_url, secret_box=secret_box, clock=clock, timeout_s=settings.store_timeout_s)
    if metadata_url != IN_MEMORY:
        raise SettingsError("records are kept in one place: give AnalyticsCore either metadata_url or store")
    return store


def _cache_of(cache: Cache | None, settings: Settings, clock: Clock) -> Cache:
    """Return the cache; what a host passed stands behind a guard, since it may raise or hang."""
    if cache is None:
        return MemoryCache(max_bytes=settings.cache_max_bytes, clock=clock)
    return cache if isinstance(cache, MemoryCache) else GuardedCache(cache)


def _runner_of(jobs: JobRunner | None, settings: Settings) -> JobRunner:
    """Return what runs background work; the default is threads."""
    if jobs is not None:
        return jobs
    return ThreadJobRunner(workers=settings.job_workers, workers_per_queue=settings.job_workers_per_database)
