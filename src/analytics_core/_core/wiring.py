"""The composition root: the library's own parts where a host chose none, and which part is given which others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from analytics_core._adapters.caches import GuardedCache, MemoryCache
from analytics_core._adapters.clock import SystemClock
from analytics_core._adapters.connector import SqlAlchemyConnector
from analytics_core._adapters.job_runners import ThreadJobRunner
from analytics_core._adapters.observers import GuardedObserver, LogObserver
from analytics_core._adapters.secret_box import AesGcmSecretBox
from analytics_core._adapters.store_backed import StoredUserDirectory, StoreLock
from analytics_core._compile.advanced_types import ENTRY_POINTS as ADVANCED_DATA_TYPES
from analytics_core._compile.advanced_types import installed_advanced_types
from analytics_core._compile.fragments import FragmentParser
from analytics_core._compile.planning_context import PlanLimits
from analytics_core._compile.templates import TemplateRenderer
from analytics_core._engines.registry import ENTRY_POINTS as ENGINES
from analytics_core._engines.registry import EngineRegistry, installed_engines
from analytics_core._execution.reflection import Reflector
from analytics_core._execution.statements import StatementRunner
from analytics_core._frames.registry import ENTRY_POINTS as OPERATIONS
from analytics_core._frames.registry import installed_operations
from analytics_core._gate.gate import Gate
from analytics_core._gate.metadata import CachedNames, MetadataReader
from analytics_core._gate.partitions import Partitions
from analytics_core._gate.row_security import RowSecurity
from analytics_core._jobs.registry import JobRegistry
from analytics_core._lookups.guests import Guests
from analytics_core._lookups.loading import AnnotationReader, ChartLoader, DatasetLoader
from analytics_core._lookups.rule_sets import StoredRuleSets
from analytics_core._lookups.store_reads import StoreReadCache
from analytics_core._querying.annotations import Annotator
from analytics_core._querying.batch_queries import BatchQueries
from analytics_core._querying.preparing import Preparer, StoredFragments
from analytics_core._querying.reading import LISTS_OF_VALUES, ContextReader
from analytics_core._querying.ready_query import ReadyQueries
from analytics_core._querying.result_cache import StoredResults
from analytics_core._querying.runner import QueryRunner
from analytics_core._querying.simulation import Simulations
from analytics_core._querying.template_lookups import LookupFactory
from analytics_core._querying.templating import QueryTemplates
from analytics_core._runtime import Runtime
from analytics_core._security.keys import EntrySeal
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """What a host chose, defaults filled in: everything else of a core is made of these."""

    settings: Settings
    clock: Clock
    store: MetadataStore
    cache: Cache
    lock: Lock
    observer: Observer
    jobs: JobRunner
    connector: Connector
    registry: EngineRegistry
    policy: Policy
    row_filters: Sequence[RowFilterSource]
    allowed_files: Sequence[Path | str]
    people: UserDirectory
    added: Mapping[str, Iterable[EntryPoint]]


def added_by_packages() -> Mapping[str, Iterable[EntryPoint]]:
    """Return the entry points of our groups; they are looked for once a core, which takes long."""
    found = entry_points()
    return {group: found.select(group=group) for group in (ADVANCED_DATA_TYPES, ENGINES, OPERATIONS)}


def build_runtime(parts: Components) -> Runtime:
    """Return the object graph of a core: the one place where everything is wired."""
    settings, store, clock, policy = parts.settings, parts.store, parts.clock, parts.policy
    advanced_types = installed_advanced_types(parts.added[ADVANCED_DATA_TYPES])
    parser = FragmentParser(max_length=settings.max_fragment_length, allowed=settings.allowed_functions)
    books = StoredRuleSets(store, clock, freshness_s=settings.metadata_freshness_s)
    row_security = _row_security(parts, books, parser)
    planning = Preparer(parser=parser, limits=_limits(settings), advanced_types=advanced_types)
    loader = DatasetLoader(store, parts.registry, clock, freshness_s=settings.metadata_freshness_s)
    gate = _gate(parts, row_security, books)
    partitions = Partitions(gate=gate, row_security=row_security, timeout_s=settings.statement_timeout_s)
    lookups = LookupFactory(loader=loader, gate=gate, policy=policy, preparer=planning, partitions=partitions)
    renderer = TemplateRenderer() if settings.enable_templates else None
    templates = QueryTemplates(renderer, _limits(settings), lookups=lookups)
    queries, batches = _queries(parts, loader=loader, gate=gate, preparer=planning, templates=templates)
    return Runtime(
        settings=settings,
        clock=clock,
        wall_clock=clock,
        store=store,
        cache=parts.cache,
        lock=parts.lock,
        observer=parts.observer,
        jobs=parts.jobs,
        connector=parts.connector,
        registry=parts.registry,
        policy=policy,
        metadata=_metadata(parts, gate, row_security),
        row_security=row_security,
        simulations=Simulations(loader, planning, policy=policy, row_security=row_security, templates=templates),
        templates=templates,
        stored_fragments=StoredFragments(planning, templates),
        people=parts.people,
        guests=Guests(store, clock, settings),
        known_users=StoreReadCache(store, clock, seconds=settings.metadata_freshness_s, nouns=("user",)),
        actors=StoreReadCache(store, clock, seconds=settings.metadata_freshness_s, nouns=("user", "role")),
        contexts=_contexts(settings),
        queries=queries,
        batches=batches,
        charts=ChartLoader(store, clock, freshness_s=settings.metadata_freshness_s),
        job_registry=JobRegistry(store=store, runner=parts.jobs, settings=settings),
        advanced_types=advanced_types,
        allowed_files=tuple(Path(file).resolve() for file in parts.allowed_files),
    )


def _queries(
    parts: Components, *, loader: DatasetLoader, gate: Gate, preparer: Preparer, templates: QueryTemplates
) -> tuple[QueryRunner, BatchQueries]:
    settings = parts.settings
    ready = ReadyQueries(
        gate=gate,
        preparer=preparer,
        templates=templates,
        settings=settings,
        operations=installed_operations(parts.added[OPERATIONS]),
    )
    runner = QueryRunner(
        loader=loader,
        gate=gate,
        ready=ready,
        results=StoredResults(parts.cache, parts.clock, secret=settings.key, most_bytes=settings.cache_max_bytes),
        settings=settings,
        annotator=_annotator(parts),
        observer=parts.observer,
    )
    return runner, BatchQueries(runner=runner, ready=ready, gate=gate, settings=settings, observer=parts.observer)


def _contexts(settings: Settings) -> ContextReader:
    return ContextReader(
        most_queries=settings.max_queries_per_context,
        most_items=settings.max_items_per_list,
        most_values=settings.max_in_values * LISTS_OF_VALUES,
    )


def _gate(parts: Components, row_security: RowSecurity, books: StoredRuleSets) -> Gate:
    return Gate(
        policy=parts.policy,
        registry=parts.registry,
        runner=StatementRunner(parts.connector),
        row_security=row_security,
        books=books,
    )


def _metadata(parts: Components, gate: Gate, row_security: RowSecurity) -> MetadataReader:
    limit_s = parts.settings.statement_timeout_s
    reflector = Reflector(parts.connector, timeout_s=limit_s)
    return MetadataReader(
        gate=gate,
        policy=parts.policy,
        reflector=reflector,
        names=CachedNames(reflector, parts.cache, EntrySeal(parts.settings.key)),
        row_security=row_security,
        timeout_s=limit_s,
    )


def _annotator(parts: Components) -> Annotator:
    return Annotator(
        reader=AnnotationReader(parts.store, most=parts.settings.max_annotations),
        policy=parts.policy,
        limits=_limits(parts.settings),
        most_layers=parts.settings.max_annotation_layers,
    )


def _row_security(parts: Components, books: StoredRuleSets, parser: FragmentParser) -> RowSecurity:
    """Return what binds row rules; their templates render whether or not other templates may."""
    return RowSecurity(books=books, sources=parts.row_filters, renderer=TemplateRenderer(), parser=parser)


def _limits(settings: Settings) -> PlanLimits:
    return PlanLimits(
        default_row_limit=settings.default_row_limit,
        max_row_limit=settings.max_row_limit,
        samples_row_limit=settings.samples_row_limit,
        stream_row_limit=settings.stream_row_limit,
        max_in_values=settings.max_in_values,
        relative_start=settings.relative_start,
        relative_end=settings.relative_end,
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
) -> Components:
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
    return Components(
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
