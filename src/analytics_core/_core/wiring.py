"""The composition root: the library's own parts where a host chose none, and which part is given which others."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from importlib.metadata import Distribution, EntryPoint, EntryPoints, distribution, distributions
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from analytics_core._content.cache import WarmUpJobs
from analytics_core._content.guests.namespaces import GuestQueries
from analytics_core._content.jobs.handlers import JobHandler, JobKind, JobOutcome
from analytics_core._content.jobs.registry import JobRegistry
from analytics_core._content.lookups.chart_contexts import ChartContexts
from analytics_core._content.lookups.guests import Guests
from analytics_core._content.lookups.loading import AnnotationReader, ChartLoader, DatasetLoader, StoreReadCache
from analytics_core._content.lookups.rule_sets import StoredRuleSets
from analytics_core._content.questions.queries import ChartDataJobs, ChartQueries, JobQueries
from analytics_core._content.runtime import Components, Runtime
from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._core.adapters.caches import GuardedCache, MemoryCache
from analytics_core._core.adapters.clock import SystemClock
from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._core.adapters.job_runners import ThreadJobRunner
from analytics_core._core.adapters.network import PublicNetworkPolicy
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._core.adapters.token_endpoint import HttpsTokenEndpoint, place_of
from analytics_core._core.adapters.vega_renderer import VegaRenderer, can_draw
from analytics_core._engine.compile.advanced_types import ENTRY_POINTS as ADVANCED_DATA_TYPES
from analytics_core._engine.compile.advanced_types import installed_advanced_types
from analytics_core._engine.compile.fragments import FragmentParser
from analytics_core._engine.compile.planning_context import PlanLimits
from analytics_core._engine.compile.templates import TemplateRenderer
from analytics_core._engine.engines.registry import ENTRY_POINTS as ENGINES
from analytics_core._engine.engines.registry import EngineRegistry, installed_engines
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.statements import StatementRunner, ledger_of
from analytics_core._engine.execution.table_loader import TableLoader
from analytics_core._engine.frames.registry import ENTRY_POINTS as OPERATIONS
from analytics_core._engine.frames.registry import installed_operations
from analytics_core._engine.gate.gate import Gate
from analytics_core._engine.gate.metadata import CachedNames, MetadataReader
from analytics_core._engine.gate.partitions import Partitions
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.gate.tables import TableReader
from analytics_core._engine.gate.uploads import FileUploads
from analytics_core._engine.network import AddressFinder, system_lookup
from analytics_core._engine.oauth.clients import client_of_database, client_problems
from analytics_core._engine.oauth.exchange import TokenRequests
from analytics_core._engine.oauth.flow import AuthorizationFlow
from analytics_core._engine.oauth.state import StateSigner
from analytics_core._engine.oauth.stored_tokens import StoredTokens
from analytics_core._engine.oauth.tokens import OAuthTokens
from analytics_core._engine.oauth.user_tokens import UserTokens
from analytics_core._engine.querying.alert_query import AlertQueries
from analytics_core._engine.querying.annotations import Annotator
from analytics_core._engine.querying.batch_queries import BatchQueries
from analytics_core._engine.querying.preparing import Preparer, StoredFragments
from analytics_core._engine.querying.reading import LISTS_OF_VALUES, ContextReader
from analytics_core._engine.querying.ready_query import ReadyQueries
from analytics_core._engine.querying.result_cache import StoredResults
from analytics_core._engine.querying.runner import QueryRunner
from analytics_core._engine.querying.simulation import Simulations
from analytics_core._engine.querying.stored_statements import StoredStatements
from analytics_core._engine.querying.template_lookups import LookupFactory
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.network import DestinationPurpose
from analytics_core._records.settings import Settings
from analytics_core._records.shared_state import JobRecord
from analytics_core._reports.delivery import ENTRY_POINTS as NOTIFIERS
from analytics_core._reports.delivery import Deliveries
from analytics_core._reports.runner import ReportRuns
from analytics_core._superset.registry import ENTRY_POINTS as CHART_KINDS
from analytics_core._superset.registry import installed_chart_kinds
from analytics_core.errors import DatabaseError, SettingsError, TokenEndpointError
from analytics_core.ports import (
    Cache,
    Clock,
    Connector,
    JobRunner,
    Lock,
    MetadataStore,
    NetworkPolicy,
    Notifier,
    Observer,
    Progress,
    Renderer,
    RowFilterSource,
    SecretBox,
    Sleeper,
    TokenEndpoint,
    UserDirectory,
)

_FILE: Final = "entry_points.txt"
GROUPS = (ADVANCED_DATA_TYPES, CHART_KINDS, ENGINES, NOTIFIERS, OPERATIONS)


Added = Mapping[str, Iterable[EntryPoint]]
"""The entry points of our groups, which installed packages have."""


def added_by_packages() -> Added:
    """Return the entry points of our groups, looked for once a core.

    Files that do not name a group of ours are not parsed, which takes a third of the time of `entry_points()`.
    """
    ours = [each for each in distributions() if _names_a_group(each)]
    first = [each for each in ours if each.read_text(_FILE) == distribution(each.name).read_text(_FILE)]
    found = EntryPoints(dict.fromkeys(point for each in first for point in each.entry_points))
    return {group: found.select(group=group) for group in GROUPS}


def _names_a_group(package: Distribution) -> bool:
    text = package.read_text(_FILE) or ""
    return any(f"[{group}]" in text for group in GROUPS)


def build_runtime(parts: Components, added: Mapping[str, Iterable[EntryPoint]]) -> Runtime:
    """Return the object graph of a core: the one place where everything is wired."""
    settings, store, clock = parts.settings, parts.store, parts.clock
    advanced_types = installed_advanced_types(added[ADVANCED_DATA_TYPES])
    parser = FragmentParser(max_length=settings.max_fragment_length, allowed=settings.allowed_functions)
    books = StoredRuleSets(store, clock, freshness_s=settings.metadata_freshness_s)
    # Templates of row rules render whether or not other templates may.
    row_security = RowSecurity(books=books, sources=parts.row_filters, renderer=TemplateRenderer(), parser=parser)
    planning = Preparer(parser=parser, limits=_limits(settings), advanced_types=advanced_types)
    loader = DatasetLoader(store, parts.registry, clock, freshness_s=settings.metadata_freshness_s)
    oauth_flow, oauth_tokens, user_tokens = _oauth(parts)
    gate = _gate(parts, books, row_security, user_tokens)
    partitions = Partitions(gate=gate, row_security=row_security, timeout_s=settings.statement_timeout_s)
    lookups = LookupFactory(loader=loader, gate=gate, policy=parts.policy, preparer=planning, partitions=partitions)
    renderer = TemplateRenderer() if settings.enable_templates else None
    templates = QueryTemplates(renderer, _limits(settings), lookups=lookups)
    operations = installed_operations(added[OPERATIONS])
    ready = ReadyQueries(gate=gate, preparer=planning, templates=templates, settings=settings, operations=operations)
    chart_contexts = ChartContexts(installed_chart_kinds(added[CHART_KINDS]))
    databases = _databases(parts, gate, row_security, user_tokens, templates)
    found = StoreReadCache[Any, Any](store, clock, seconds=settings.metadata_freshness_s)
    statements = StoredStatements(
        store, parts.registry, parts.policy, databases["metadata"], templates, columns=found.get
    )
    queries = _queries(parts, loader, statements, gate, ready, chart_contexts=chart_contexts)
    return Runtime(
        **{field.name: getattr(parts, field.name) for field in fields(parts)},
        wall_clock=clock,
        gate=gate,
        statements=gate.statements,
        **databases,
        row_security=row_security,
        simulations=Simulations(loader, planning, policy=parts.policy, row_security=row_security, templates=templates),
        templates=templates,
        stored_fragments=StoredFragments(planning, templates),
        guests=Guests(store, clock, settings),
        known_users=StoreReadCache(store, clock, seconds=settings.metadata_freshness_s, nouns=("user",)),
        actors=StoreReadCache(store, clock, seconds=settings.metadata_freshness_s, nouns=("user", "role")),
        contexts=_contexts(settings),
        chart_contexts=chart_contexts,
        queries=queries,
        batches=BatchQueries(runner=queries, ready=ready, gate=gate, settings=settings, observer=parts.observer),
        charts=ChartLoader(store, clock, freshness_s=settings.metadata_freshness_s),
        job_registry=JobRegistry(store=store, runner=parts.jobs, settings=settings, sleeper=parts.sleeper),
        oauth_flow=oauth_flow,
        oauth_tokens=oauth_tokens,
        advanced_types=advanced_types,
        deliveries=_deliveries(parts),
    )


def _gate(parts: Components, books: StoredRuleSets, row_security: RowSecurity, tokens: UserTokens) -> Gate:
    return Gate(
        policy=parts.policy,
        registry=parts.registry,
        runner=StatementRunner(parts.connector, tokens, ledger_of(parts.settings, parts.store, parts.clock)),
        row_security=row_security,
        books=books,
        tokens=tokens,
        allowed_functions=parts.settings.allowed_functions,
    )


def _deliveries(parts: Components) -> Deliveries:
    def addresses(host: str, port: int, purpose: DestinationPurpose) -> Sequence[str]:
        return parts.addresses.find(host, port, purpose=purpose)

    for notifier in parts.notifiers:
        notifier.start(addresses)
    return Deliveries(parts.notifiers, clock=parts.clock, sleeper=parts.sleeper, jitter=random.random)


def _oauth(parts: Components) -> tuple[AuthorizationFlow, OAuthTokens, UserTokens]:
    settings = parts.settings
    for name, client in settings.clients.items():
        for problem in client_problems(client):
            raise SettingsError(f"Settings.oauth2_clients of {name!r}: {problem.path} {problem.message}")
    client_of = partial(client_of_database, clients=settings.clients)
    stored, requests = StoredTokens(parts.store, parts.clock), TokenRequests(parts.token_endpoint)
    signer = StateSigner(settings, parts.clock)
    flow = AuthorizationFlow(settings=settings, signer=signer, stored=stored, requests=requests, client_of=client_of)
    tokens = OAuthTokens(
        stored=stored,
        lock=parts.lock,
        clock=parts.clock,
        sleeper=parts.sleeper,
        requests=requests,
        client_of=client_of,
        timeout_s=settings.oauth2_timeout_s,
    )
    return flow, tokens, UserTokens(flow=flow, tokens=tokens, client_of=client_of)


def _queries(
    parts: Components,
    loader: DatasetLoader,
    statements: StoredStatements,
    gate: Gate,
    ready: ReadyQueries,
    *,
    chart_contexts: ChartContexts,
) -> QueryRunner:
    settings = parts.settings
    return QueryRunner(
        loader=loader,
        statements=statements,
        gate=gate,
        ready=ready,
        results=StoredResults(parts.cache, parts.clock, secret=settings.key, most_bytes=settings.cache_max_bytes),
        settings=settings,
        annotator=_annotator(parts, chart_contexts),
        observer=parts.observer,
        progress=parts.progress,
    )


def _contexts(settings: Settings) -> ContextReader:
    return ContextReader(
        most_queries=settings.max_queries_per_context,
        most_items=settings.max_items_per_list,
        most_values=settings.max_in_values * LISTS_OF_VALUES,
    )


def _databases(
    parts: Components, gate: Gate, row_security: RowSecurity, tokens: UserTokens, templates: QueryTemplates
) -> dict[str, Any]:
    """Return what reads databases' own facts, what uploads into them and what asks them by SQL of owners."""
    limit_s = parts.settings.statement_timeout_s
    reflector = Reflector(
        parts.connector,
        tokens,
        timeout_s=limit_s,
        may_see=lambda asked, schema: parts.policy.can_read_tables(asked.actor, asked.database, schema=schema),
    )
    names = CachedNames(reflector, parts.cache, EntrySeal(parts.settings.key))
    metadata = MetadataReader(
        gate=gate,
        policy=parts.policy,
        reflector=reflector,
        names=names,
        row_security=row_security,
        timeout_s=limit_s,
    )
    tables = TableReader(gate=gate, reflector=reflector, row_security=row_security, settings=parts.settings)
    loader = TableLoader(parts.connector, tokens)
    uploads = FileUploads(
        gate=gate, reflector=reflector, names=names, loader=loader, settings=parts.settings, progress=parts.progress
    )
    alerts = AlertQueries(
        gate=gate, metadata=metadata, row_security=row_security, templates=templates, settings=parts.settings
    )
    return {
        "reflector": reflector,
        "metadata": metadata,
        "tables": tables,
        "table_names": names,
        "uploads": uploads,
        "alert_queries": alerts,
    }


def _annotator(parts: Components, chart_contexts: ChartContexts) -> Annotator:
    return Annotator(
        reader=AnnotationReader(parts.store, most=parts.settings.max_annotations),
        policy=parts.policy,
        limits=_limits(parts.settings),
        chart_contexts=chart_contexts,
        most_layers=parts.settings.max_annotation_layers,
    )


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


_PORTS: Mapping[str, type] = MappingProxyType(
    {
        "cache": Cache,
        "clock": Clock,
        "connector": Connector,
        "engines": EngineRegistry,
        "jobs": JobRunner,
        "lock": Lock,
        "network": NetworkPolicy,
        "observer": Observer,
        "policy": Policy,
        "progress": Progress,
        "renderer": Renderer,
        "secret_box": SecretBox,
        "sleeper": Sleeper,
        "store": MetadataStore,
        "token_endpoint": TokenEndpoint,
        "users": UserDirectory,
    }
)


def check_ports(arguments: Mapping[str, Any]) -> None:
    """Refuse what a host hands the core, by name, that does not have what its port needs; None: the library's own.

    Raises:
        SettingsError: which, and what it lacks.
    """
    sources = [
        *(("row_filters", RowFilterSource, source) for source in arguments["row_filters"]),
        *(("notifiers", Notifier, notifier) for notifier in arguments["notifiers"]),
    ]
    for name, port, given in (*((name, port, arguments[name]) for name, port in _PORTS.items()), *sources):
        members = (member for member in dir(port) if not member.startswith("_"))
        lacking = [] if given is None else [member for member in members if not _has(given, member)]
        if lacking:
            raise SettingsError(f"{name}: a {port.__name__} has {', '.join(lacking)}, which {given!r:.100} has not")


def surroundings(arguments: Mapping[str, Any]) -> tuple[Added, AddressFinder, Clock, EngineRegistry]:
    """Return what the parts of a core stand on: arguments of its constructor, which are checked, or our own.

    Raises:
        SettingsError: as `check_ports`, and for packages that cannot be loaded.
    """
    check_ports(arguments)
    added, clock, engines = added_by_packages(), arguments["clock"], arguments["engines"]
    return (
        added,
        address_finder(arguments["settings"], arguments["network"]),
        SystemClock() if clock is None else clock,
        installed_engines(added[ENGINES]) if engines is None else engines,
    )


def _has(given: object, member: str) -> bool:
    """Whether an object has a member; one that fails to give it, as a proxy of a server that is away, has it."""
    try:
        getattr(given, member)
    except AttributeError:
        return False
    except Exception:  # a host's own object; it is told where it is asked, as a part that is away
        return True
    return True


IN_MEMORY = "sqlite://"
"""The URL of a metadata store in the memory of the process."""


@contextmanager
def opened_store(
    store: MetadataStore | None, url: str, settings: Settings, clock: Clock, secret_box: SecretBox | None
) -> Iterator[MetadataStore]:
    """Give the store of a host, or else the one at a URL, where the settings' keys seal what no host's box does.

    A store of our own is closed when the block fails.

    Raises:
        SettingsError: a store and a URL: records are kept in one place.
    """
    if store is not None:
        if url != IN_MEMORY:
            raise SettingsError("records are kept in one place: give AnalyticsCore either metadata_url or store")
        yield store
        return
    box = AesGcmSecretBox(settings.key, previous_keys=settings.older_keys) if secret_box is None else secret_box
    own = SqlMetadataStore(url, secret_box=box, clock=clock, timeout_s=settings.store_timeout_s)
    try:
        yield own
    except BaseException:  # whatever it is goes on upwards; connections must not stay open
        own.close()
        raise


def memory_or_guarded(cache: Cache | None, settings: Settings, clock: Clock) -> Cache:
    """Return the cache; what a host passed stands behind a guard, since it may raise or hang."""
    if cache is None:
        return MemoryCache(max_bytes=settings.cache_max_bytes, clock=clock)
    return cache if isinstance(cache, MemoryCache) else GuardedCache(cache)


def address_finder(settings: Settings, network: NetworkPolicy | None) -> AddressFinder:
    """Return what finds the addresses that may be reached, by the policy of a host or else the library's own."""
    if network is not None:
        return AddressFinder(network)
    advice = "; a host allows private addresses by Settings.allowed_networks"
    return AddressFinder(PublicNetworkPolicy(settings.allowed_networks), advice=advice)


def pools(
    settings: Settings, engines: EngineRegistry, allowed_files: Iterable[Path | str], addresses: AddressFinder
) -> Connector:
    """Return what reaches users' databases by pools of SQLAlchemy engines."""
    return SqlAlchemyConnector(settings=settings, specs=engines.get, allowed_files=allowed_files, addresses=addresses)


def job_threads(settings: Settings) -> JobRunner:
    """Return what runs background work in threads of this process."""
    return ThreadJobRunner(workers=settings.job_workers, workers_per_queue=settings.job_workers_per_database)


def installed_renderer() -> Renderer | None:
    """Return what draws pictures; None where the extra that brings it is not installed."""
    return VegaRenderer() if can_draw() else None


def https_endpoint(settings: Settings, addresses: AddressFinder) -> TokenEndpoint:
    """Return what asks token endpoints by HTTPS, where the network policy and the settings' own clients lead."""
    named = {place_of(client.token_request_uri) for client in settings.clients.values()}

    def resolve(host: str, port: int) -> Sequence[str]:
        if (host, port) in named:  # a host's own code says so, no payload
            return system_lookup(host, port)
        try:
            return addresses.find(host, port, purpose=DestinationPurpose.TOKEN_ENDPOINT)
        except DatabaseError as refusal:
            problem = TokenEndpointError(refusal.message, retryable=refusal.retryable)
        raise problem

    return HttpsTokenEndpoint(settings, resolve=resolve)


def job_handlers(
    runtime: Runtime, find_actor: Callable[[JobRecord], Actor], find_person: Callable[[int], Actor]
) -> dict[JobKind, JobHandler]:
    """Return what runs each kind of job, each as its own actor, at the moment that its question was pinned to."""

    def runtime_of(job: JobRecord) -> Runtime:
        return runtime if job.moment is None else runtime.pinned_at(job.moment)

    def queries_of(job: JobRecord, actor: Actor) -> JobQueries:
        of_whom = ChartQueries if actor.guest is None else GuestQueries
        return of_whom(runtime_of(job), actor)

    seal = EntrySeal(runtime.settings.key)
    return {
        JobKind.CHART_DATA: ChartDataJobs(queries_of=queries_of, find_actor=find_actor, seal=seal),
        JobKind.WARM_UP: WarmUpJobs(runtime_of=runtime_of, find_actor=find_actor),
        JobKind.REPORT: ReportRuns(runtime_of=runtime_of, find_actor=find_person),
        JobKind.SQL: _SqlHandler(runtime_of=runtime_of, find_actor=find_actor, seal=seal),
    }


class _SqlHandler:
    """Runs and reads the executions of the SQL editor (a `JobHandler`), which is loaded with the first of them."""

    def __init__(self, **parts: Any) -> None:
        self._parts = parts

    def run(self, job: JobRecord, cancel: CancelToken) -> JobOutcome:
        """Run the statement of the execution."""
        return self._jobs().run(job, cancel)

    def may_read(self, job: JobRecord, actor: Actor) -> bool:
        """Tell whether an actor may read its rows."""
        return self._jobs().may_read(job, actor)

    def read(self, job: JobRecord, data: bytes) -> Any:
        """Return its rows."""
        return self._jobs().read(job, data)

    def _jobs(self) -> JobHandler:
        from analytics_core._sql.runs import SqlJobs

        return SqlJobs(**self._parts)
