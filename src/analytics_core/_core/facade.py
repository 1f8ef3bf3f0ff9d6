"""`AnalyticsCore`: the one facade; `connect`: the short door to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack

from analytics_core._adapters.clock import PinnedClock, SystemClock, SystemSleeper
from analytics_core._adapters.observers import GuardedObserver, LogObserver
from analytics_core._adapters.store_backed import StoredUserDirectory, StoreLock
from analytics_core._core.actors import Actors, HostUser, UserKey
from analytics_core._core.guest_core import GuestCore
from analytics_core._core.operating import Health, PersonNames, PruneCounts, create_first_administrator, health, prune
from analytics_core._core.wiring import (
    IN_MEMORY,
    added_by_packages,
    address_finder,
    build_runtime,
    https_endpoint,
    job_threads,
    memory_or_guarded,
    opened_store,
    pools,
)
from analytics_core._engines.registry import ENTRY_POINTS as ENGINES
from analytics_core._engines.registry import EngineRegistry, installed_engines
from analytics_core._jobs.handlers import JobHandler, JobKind
from analytics_core._records.people import GuestVisit, User
from analytics_core._records.shared_state import JobRecord
from analytics_core._resources.annotations import AnnotationLayers, Annotations
from analytics_core._resources.cache import CacheControl, WarmUpJobs
from analytics_core._resources.charts.namespace import Charts
from analytics_core._resources.charts.queries import ChartDataJobs, ChartQueries, JobQueries
from analytics_core._resources.css_templates import CssTemplates
from analytics_core._resources.dashboards.namespace import Dashboards
from analytics_core._resources.databases.namespace import Databases
from analytics_core._resources.datasets.namespace import Datasets
from analytics_core._resources.explore import Explore
from analytics_core._resources.guests.embedded import EmbeddedDashboards
from analytics_core._resources.guests.namespaces import GuestQueries
from analytics_core._resources.jobs import Jobs
from analytics_core._resources.logs import Logs
from analytics_core._resources.namespace import Namespace, live
from analytics_core._resources.oauth import OAuth
from analytics_core._resources.people.roles import Roles
from analytics_core._resources.people.users import Users
from analytics_core._resources.permalinks import Permalinks
from analytics_core._resources.row_level_security import RowLevelSecurity
from analytics_core._resources.tags import Tags
from analytics_core._runtime import Components, Runtime
from analytics_core._security.actor import Actor
from analytics_core._security.keys import EntrySeal
from analytics_core._security.policy import Policy
from analytics_core._settings import Settings
from analytics_core.errors import AccessError, ActorRequiredError
from analytics_core.models.parsing import payload_error
from analytics_core.ports import (
    Cache,
    Clock,
    Connector,
    JobRunner,
    Lock,
    MetadataStore,
    NetworkPolicy,
    Observer,
    RowFilterSource,
    SecretBox,
    Sleeper,
    TokenEndpoint,
    UserDirectory,
)

Part = TypeVar("Part", bound=Namespace)


class AnalyticsCore:
    """A headless analytics engine: databases, datasets and charts behind one object.

    Args:
        settings: the host's choices; `Settings(secret_key=...)` is the least.
        metadata_url: where records are kept: `sqlite:///meta.db`, `postgresql+psycopg://...`, `mysql+pymysql://...`;
            `sqlite://` keeps them in memory.
        store: a host's own metadata store, in place of the URL.
        acting_as: who acts: an id, a user name or a `User`; None: every call needs `as_user`.
        cache: keeps results; the default is bounded memory. One that raises or hangs is left alone for a while.
        lock: what one process at a time may do; the default is a table of the metadata store.
        observer: is told of every question, never of values; the default writes a log record.
        jobs: runs background work; the default is threads.
        clock: tells the time.
        policy: who may do what; the default is the table `analytics_core.policy.RULES`.
        users: the host's people; the default is the store's own tables.
        row_filters: say which rows a person may see; all of them bind.
        secret_box: seals secrets; the default uses the settings' key.
        connector: reaches users' databases; the default are pools of SQLAlchemy engines.
        token_endpoint: asks the token endpoints of OAuth 2.0 providers; the default is a client of HTTPS.
        sleeper: lets time pass while another process renews a token.
        network: says where connections may lead that people configure; the default allows public addresses and
            `Settings.allowed_networks`. A connector of the host's own is not asked.
        engines: the engines that databases may have; the default are those of the library and of installed packages.
        allowed_files: database files that may be opened although no data root holds them.

    What a host hands over is the core's from then on: `close` closes it. Where the constructor fails, it is left alone.

    Raises:
        SettingsError: settings that must not start.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        metadata_url: str = IN_MEMORY,
        store: MetadataStore | None = None,
        acting_as: UserKey | None = None,
        cache: Cache | None = None,
        lock: Lock | None = None,
        observer: Observer | None = None,
        jobs: JobRunner | None = None,
        clock: Clock | None = None,
        policy: Policy | None = None,
        users: UserDirectory | None = None,
        row_filters: Sequence[RowFilterSource] = (),
        secret_box: SecretBox | None = None,
        connector: Connector | None = None,
        token_endpoint: TokenEndpoint | None = None,
        sleeper: Sleeper | None = None,
        network: NetworkPolicy | None = None,
        engines: EngineRegistry | None = None,
        allowed_files: Sequence[Path | str] = (),
    ) -> None:
        added = added_by_packages()
        clock = SystemClock() if clock is None else clock
        engines = installed_engines(added[ENGINES]) if engines is None else engines
        addresses = address_finder(settings, network)
        with opened_store(store, metadata_url, settings, clock, secret_box) as kept:
            components = Components(
                settings=settings,
                clock=clock,
                store=kept,
                cache=memory_or_guarded(cache, settings, clock),
                lock=StoreLock(kept) if lock is None else lock,
                observer=LogObserver() if observer is None else GuardedObserver(observer),
                jobs=job_threads(settings) if jobs is None else jobs,
                connector=pools(settings, engines, allowed_files, addresses) if connector is None else connector,
                registry=engines,
                policy=Policy() if policy is None else policy,
                people=StoredUserDirectory(kept) if users is None else users,
                row_filters=tuple(row_filters),
                sleeper=SystemSleeper() if sleeper is None else sleeper,
                token_endpoint=https_endpoint(settings, addresses) if token_endpoint is None else token_endpoint,
                allowed_files=tuple(Path(file).resolve() for file in allowed_files),
                addresses=addresses,
            )
            self._begin(build_runtime(components, added), acting_as)

    def _begin(self, runtime: Runtime, acting_as: UserKey | None) -> None:
        self._bind(runtime, acting_as)
        runtime.job_registry.start(self._job_handlers())
        if isinstance(acting_as, User):
            self._bind(runtime, self._actors.lasting_key(acting_as))

    def _bind(self, runtime: Runtime, acting_as: UserKey | HostUser | None) -> None:
        self._runtime = runtime
        self._actors = Actors(runtime)
        self._acting_as = acting_as

    # ------------------------------------------------------------------------------------------------- who and when
    def as_user(self, user: UserKey) -> AnalyticsCore:
        """Return the same core with another acting user: an id, a user name or a `User`.

        The core and its namespaces may be kept: each call asks anew whether the person is active and which roles they
        have. A `User` whose rights differ from those in the directory is the host's word: they count as given, for as
        long as the directory, if it knows the person, has them active.

        Raises:
            ActorRequiredError: nobody answers to it, or the person is not active.
        """
        bound = self._sibling(self._runtime, self._actors.lasting_key(user))
        bound._actor()
        return bound

    def as_guest(self, token: str, *, origin: str | None = None) -> GuestCore:
        """Return what the guest of a token has of this core (`embedded.guest_token` mints them).

        Guests read the dashboards that the token names, and their charts as they are stored; all else is refused. Each
        call asks anew whether the token is over or revoked.

        Args:
            token: as it was minted.
            origin: of the page that shows the dashboards, for example the header `Origin` of the request.

        Raises:
            GuestTokenError: the token is none of ours, for another use, over, or revoked.
            GuestAccessError: pages of this origin may not show its dashboards.
        """
        guest = GuestCore(self, GuestVisit(grant=self._runtime.guests.tokens.read(token), origin=origin))
        guest._actor()
        return guest

    def as_of(self, moment: datetime) -> AnalyticsCore:
        """Return the same core with `moment` as now for time ranges and templates; a naive moment is UTC.

        What really happens keeps its time: what is logged, what is said to be changed an hour ago.

        Raises:
            PayloadSchemaError: it is no `datetime`, or none between the years 1 and 9999 in UTC.
        """
        return self._sibling(replace(self._runtime, clock=PinnedClock(_moment_of(moment))), self._acting_as)

    @staticmethod
    def _sibling(runtime: Runtime, acting_as: UserKey | HostUser | None) -> AnalyticsCore:
        core = AnalyticsCore.__new__(AnalyticsCore)
        core._bind(runtime, acting_as)
        return core

    def create_first_administrator(self, username: str, **names: Unpack[PersonNames]) -> User:
        """Create user 1, an administrator, in a store without people, and return them.

        Args:
            username: at most 64 characters.
            names: `first_name`, `last_name`, `email`.

        Raises:
            PayloadError: a name that no user may have.
            AlreadyExistsError: the store has people already; an administrator creates the others with `core.users`.
        """
        return create_first_administrator(self._runtime, username, names)

    def reseal_secrets(self) -> int:
        """Seal all stored secrets anew with `Settings.secret_key`, and return how many there are.

        Afterwards `previous_secret_keys` may be dropped, as soon as what else they signed (guest tokens) is over. It
        needs no actor; who acts must be an administrator.

        Raises:
            AccessError: somebody else acts.
            StoredDataError: a secret does not open with any of the keys; the message names its record.
        """
        self._require_operator("seal secrets anew")
        return self._runtime.store.reseal_secrets()

    def _actor(self) -> Actor:
        """Return who acts, with the roles that they have now."""
        if self._acting_as is None:
            raise ActorRequiredError
        return self._actors.find(self._acting_as)

    def _questions(self) -> ChartQueries:
        """Return the answers of whoever acts, for `testing`."""
        return ChartQueries(self._runtime, self._actor())

    # --------------------------------------------------------------------------------------------------------- jobs
    def run_job(self, job_id: str) -> None:
        """Run a job that was submitted to a runner of a host: what a worker calls, in any process on any machine.

        It returns when the job is over, and raises nothing for one that fails: its state tells. One that runs
        elsewhere, or is over, is left alone. It needs no actor; who acts must be an administrator.

        Raises:
            AccessError: somebody else acts.
        """
        self._require_operator("run jobs")
        self._runtime.job_registry.run(job_id)

    # ---------------------------------------------------------------------------------------------------- operating
    def health(self) -> Health:
        """Return how store, cache and jobs are; databases are not asked, and a part that is away is told, not raised.

        It needs no actor; who acts must be an administrator.

        Raises:
            AccessError: somebody else acts.
        """
        self._require_operator("ask how a core is")
        return health(self._runtime)

    def prune(self, *, logs_older_than_days: int | None = None) -> PruneCounts:
        """Remove what is over: jobs with their results, workers, locks, form data, old revocations, OAuth 2.0 tokens.

        At most 10,000 records of a kind go in one call, in small transactions; one process at a time prunes. It needs
        no actor; who acts must be an administrator.

        Args:
            logs_older_than_days: also log entries of more than so many days ago; None: none.

        Raises:
            AccessError: somebody else acts.
            PayloadSchemaError: days that are no whole number above 0.
        """
        self._require_operator("prune")
        return prune(self._runtime, logs_older_than_days=logs_older_than_days)

    def _require_operator(self, what: str) -> None:
        if self._acting_as is not None and not self._actor().is_admin:
            raise AccessError(f"only an administrator may {what}")

    def _job_handlers(self) -> dict[JobKind, JobHandler]:
        """Return what runs each kind of job, on a core that nobody acts on: each job has an actor of its own."""
        unbound = self._sibling(self._runtime, None)
        seal = EntrySeal(self._runtime.settings.key)

        def runtime_of(job: JobRecord) -> Runtime:
            return unbound._runtime if job.moment is None else unbound.as_of(job.moment)._runtime

        def queries_of(job: JobRecord, actor: Actor) -> JobQueries:
            of_whom = ChartQueries if actor.guest is None else GuestQueries
            return of_whom(runtime_of(job), actor)

        charts = ChartDataJobs(queries_of=queries_of, find_actor=unbound._actors.of_job, seal=seal)
        warm_ups = WarmUpJobs(runtime_of=runtime_of, find_actor=unbound._actors.of_job)
        return {JobKind.CHART_DATA: charts, JobKind.WARM_UP: warm_ups}

    # --------------------------------------------------------------------------------------------------- namespaces
    def _open(self, kind: Callable[[Runtime, Actor], Part]) -> Part:
        """Return a namespace that asks at each of its calls who acts."""
        return live(lambda: kind(self._runtime, self._actor()))

    @property
    def databases(self) -> Databases:
        """The connections to databases that users query."""
        return self._open(Databases)

    @property
    def datasets(self) -> Datasets:
        """Physical and virtual tables with their columns and metrics."""
        return self._open(Datasets)

    @property
    def charts(self) -> Charts:
        """Saved charts, and the answers to chart queries."""
        return self._open(Charts)

    @property
    def annotation_layers(self) -> AnnotationLayers:
        """Named collections of annotations that charts show."""
        return self._open(AnnotationLayers)

    @property
    def annotations(self) -> Annotations:
        """What happened when, layer by layer."""
        return self._open(Annotations)

    @property
    def css_templates(self) -> CssTemplates:
        """Style sheets that dashboards may start from."""
        return self._open(CssTemplates)

    @property
    def dashboards(self) -> Dashboards:
        """Charts on pages, for those whom their owners publish them to."""
        return self._open(Dashboards)

    @property
    def embedded(self) -> EmbeddedDashboards:
        """Dashboards inside other pages, and the tokens of their guests."""
        return self._open(EmbeddedDashboards)

    @property
    def tags(self) -> Tags:
        """Labels on charts and dashboards."""
        return self._open(Tags)

    @property
    def users(self) -> Users:
        """The people of the metadata store."""
        return self._open(Users)

    @property
    def roles(self) -> Roles:
        """Roles and their grants."""
        return self._open(Roles)

    @property
    def row_level_security(self) -> RowLevelSecurity:
        """The rules on which rows whom may see."""
        return self._open(lambda runtime, actor: RowLevelSecurity(runtime, actor, self._actors.find))

    @property
    def logs(self) -> Logs:
        """Who did what, when."""
        return self._open(Logs)

    @property
    def explore(self) -> Explore:
        """What the explore view starts from, and form data that is not saved in a chart yet."""
        return self._open(Explore)

    @property
    def cache(self) -> CacheControl:
        """Kept answers: made unreachable, and computed ahead."""
        return self._open(CacheControl)

    @property
    def jobs(self) -> Jobs:
        """Work in the background: all jobs that the actor submitted."""
        return self._open(Jobs)

    @property
    def permalinks(self) -> Permalinks:
        """Addresses of the state of a chart or a dashboard."""
        return self._open(Permalinks)

    @property
    def oauth(self) -> OAuth:
        """The actor's authorizations to reach databases on their behalf."""
        return self._open(OAuth)

    # ------------------------------------------------------------------------------------------------------ life time
    def close(self) -> None:
        """Stop background work and streams, close all connections; what is asked afterwards is a StoreUnavailableError.

        That holds for what the cache could still answer, too, and for cores of other users of the same core.
        """
        runtime = self._runtime
        runtime.job_registry.close()
        runtime.batches.close()
        runtime.observer.close()
        runtime.connector.close()
        runtime.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        key = self._acting_as.user if isinstance(self._acting_as, HostUser) else self._acting_as
        acting = "nobody" if key is None else f"user {getattr(key, 'id', key)!r}"
        return f"<AnalyticsCore, {acting} acts>"


def _moment_of(given: Any) -> datetime:
    """Return a moment that can be now, in UTC; PayloadSchemaError for anything else."""
    try:
        if isinstance(given, datetime):
            return given.replace(tzinfo=UTC) if given.utcoffset() is None else given.astimezone(UTC)
    except OverflowError:
        pass
    raise payload_error("as_of", "moment", "must be a datetime between the years 1 and 9999 in UTC")
