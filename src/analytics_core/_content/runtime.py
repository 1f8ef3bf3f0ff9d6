"""The wired object graph: what namespaces of resources receive, and the only thing they receive besides the actor."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analytics_core._content.jobs.registry import JobRegistry
from analytics_core._content.lookups.chart_contexts import ChartContexts
from analytics_core._content.lookups.guests import Guests
from analytics_core._content.lookups.loading import ChartLoader, StoreReadCache
from analytics_core._content.pinned_clock import pinned_clock
from analytics_core._engine.compile.advanced_types import AdvancedDataType
from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.execution.connection_uri import CheckedUri, check_uri
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.statements import StatementRunner
from analytics_core._engine.gate.gate import Gate
from analytics_core._engine.gate.metadata import CachedNames, MetadataReader
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.gate.tables import TableReader
from analytics_core._engine.gate.uploads import FileUploads
from analytics_core._engine.network import AddressFinder
from analytics_core._engine.oauth.flow import AuthorizationFlow
from analytics_core._engine.oauth.tokens import OAuthTokens
from analytics_core._engine.querying.alert_query import AlertQueries
from analytics_core._engine.querying.batch_queries import BatchQueries
from analytics_core._engine.querying.preparing import StoredFragments
from analytics_core._engine.querying.reading import ContextReader
from analytics_core._engine.querying.runner import QueryRunner
from analytics_core._engine.querying.simulation import Simulations
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.network import DestinationPurpose
from analytics_core._records.people import User
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings
from analytics_core._reports.delivery import Deliveries
from analytics_core.errors import MissingExtraError
from analytics_core.ports import (
    Cache,
    Clock,
    Connector,
    JobRunner,
    Lock,
    MetadataStore,
    Notifier,
    Observer,
    Progress,
    Renderer,
    RowFilterSource,
    Sleeper,
    TokenEndpoint,
    UserDirectory,
)

if TYPE_CHECKING:
    from analytics_core._engine.querying.sql_queries import SqlQueries
    from analytics_core._engine.querying.sql_scripts import SqlScripts


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """What a host chose for an `AnalyticsCore`, and the library's own parts where it chose none.

    `clock` tells the moment that counts as now for queries, which `as_of` moves. `allowed_files` are single database
    files that may be opened although no data root holds them (the file of `connect(url)`).
    """

    settings: Settings
    clock: Clock
    store: MetadataStore
    cache: Cache
    lock: Lock
    observer: Observer
    progress: Progress
    jobs: JobRunner
    connector: Connector
    registry: EngineRegistry
    policy: Policy
    people: UserDirectory
    row_filters: tuple[RowFilterSource, ...]
    sleeper: Sleeper
    token_endpoint: TokenEndpoint
    notifiers: tuple[Notifier, ...]
    renderer: Renderer | None
    allowed_files: tuple[Path, ...]
    addresses: AddressFinder


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime(Components):
    """The components, and everything that is made of them; `_core` alone builds it, nothing changes it.

    The same runtime serves many actors: the actor is an argument of each namespace. `wall_clock` tells when something
    really happens: what is logged, how long something is kept. The metadata store has a clock of its own for audit
    times.
    """

    wall_clock: Clock
    known_users: StoreReadCache[int, User | None]
    actors: StoreReadCache[Hashable, Actor]
    guests: Guests
    gate: Gate
    statements: StatementRunner
    reflector: Reflector
    metadata: MetadataReader
    tables: TableReader
    uploads: FileUploads
    row_security: RowSecurity
    simulations: Simulations
    templates: QueryTemplates
    stored_fragments: StoredFragments
    contexts: ContextReader
    chart_contexts: ChartContexts
    queries: QueryRunner
    batches: BatchQueries
    charts: ChartLoader
    job_registry: JobRegistry
    oauth_flow: AuthorizationFlow
    oauth_tokens: OAuthTokens
    advanced_types: Mapping[str, AdvancedDataType]
    alert_queries: AlertQueries
    table_names: CachedNames
    deliveries: Deliveries

    @property
    def sql_queries(self) -> SqlQueries:
        """What runs statements that people write; it is loaded with the first of them."""
        from analytics_core._engine.querying.sql_queries import SqlQueries

        return SqlQueries(
            gate=self.gate,
            row_security=self.row_security,
            templates=self.templates,
            settings=self.settings,
            observer=self.observer,
        )

    @property
    def sql_scripts(self) -> SqlScripts:
        """What runs scripts that people write."""
        from analytics_core._engine.querying.sql_scripts import SqlScripts

        return SqlScripts(
            queries=self.sql_queries, gate=self.gate, row_security=self.row_security, names=self.table_names
        )

    def pinned_at(self, moment: Any, *, shape: str = "as_of", name: str = "moment") -> Runtime:
        """Return the runtime for queries as of a moment; PayloadSchemaError for what is none, at `shape` and `name`."""
        return replace(self, clock=pinned_clock(moment, self.wall_clock, shape=shape, name=name))

    @property
    def draws_pictures(self) -> bool:
        """Whether charts and dashboards can be drawn: a renderer is wired."""
        return self.renderer is not None

    def needed_renderer(self) -> Renderer:
        """Return what draws pictures; MissingExtraError where nothing does."""
        if self.renderer is None:
            raise MissingExtraError(needed_for="a picture", extra_name="charts")
        return self.renderer

    def known_user(self, user_id: int) -> User | None:
        """Return the person of this id as the directory knows them, if it does."""
        return self.known_users.get(user_id, lambda: self.people.find(user_id)) if user_id >= 1 else None

    def addresses_of_server(self, host: str, port: int | None) -> tuple[str, ...]:
        """Return the addresses of a database's server that the network policy allows; DatabaseError without any."""
        return self.addresses.find(host, port, purpose=DestinationPurpose.DATABASE)

    def check_uri(self, uri: str | Secret) -> CheckedUri:
        """Return the checked URI; ConnectionUriError when it is malformed or asks for more than is allowed."""
        return check_uri(uri, settings=self.settings, specs=self.registry.get, allowed_files=self.allowed_files)
