"""`AnalyticsCore`: the one facade; `connect`: the short door to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, Unpack

from analytics_core._adapters.clock import PinnedClock
from analytics_core._adapters.store_backed import StoredUserDirectory
from analytics_core._core.arguments import PersonNames, check_attributes, check_user_key, moment_of
from analytics_core._core.guest_core import GuestCore
from analytics_core._core.operating import Health, PruneCounts, health, prune
from analytics_core._core.wiring import IN_MEMORY, build_runtime, parts_of
from analytics_core._engines.registry import EngineRegistry
from analytics_core._error_types import short_repr
from analytics_core._jobs.handlers import JobHandler, JobKind
from analytics_core._records.people import GuestVisit, Role, User
from analytics_core._records.repositories import ListQuery, UnitOfWork
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
from analytics_core._resources.jobs import Jobs, claimed
from analytics_core._resources.logs import Logs
from analytics_core._resources.namespace import Namespace, live
from analytics_core._resources.people.roles import Roles
from analytics_core._resources.people.users import Users
from analytics_core._resources.permalinks import Permalinks
from analytics_core._resources.row_level_security import RowLevelSecurity
from analytics_core._resources.tags import Tags
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core._security.keys import EntrySeal
from analytics_core._security.policy import Policy
from analytics_core._settings import Settings
from analytics_core.errors import AccessError, ActorRequiredError, AlreadyExistsError
from analytics_core.models.parsing import parse
from analytics_core.models.people import FirstAdministrator
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

ADMINISTRATORS = "Administrators"
UserKey = int | str | User
Part = TypeVar("Part", bound=Namespace)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HostUser:
    """A user whose rights are the host's word; `is_known`: the directory must go on knowing them."""

    user: User
    is_known: bool


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
        engines: EngineRegistry | None = None,
        allowed_files: Sequence[Path | str] = (),
    ) -> None:
        parts = parts_of(
            settings,
            metadata_url=metadata_url,
            store=store,
            cache=cache,
            lock=lock,
            observer=observer,
            jobs=jobs,
            clock=clock,
            policy=policy,
            users=users,
            row_filters=row_filters,
            secret_box=secret_box,
            connector=connector,
            engines=engines,
            allowed_files=allowed_files,
        )
        try:
            self._bind(build_runtime(parts), acting_as)
            self._runtime.job_registry.start(self._job_handlers())
            if isinstance(acting_as, User):
                check_user_key(acting_as)
                self._bind(self._runtime, self._lasting_key(acting_as))
        except BaseException:  # whatever it is goes on upwards; a store of our own must not stay open
            if store is None:
                parts.store.close()
            raise

    def _bind(self, runtime: Runtime, acting_as: UserKey | _HostUser | None) -> None:
        self._runtime = runtime
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
        check_user_key(user)
        bound = self._sibling(self._runtime, self._lasting_key(user))
        bound._actor()
        return bound

    def _lasting_key(self, user: UserKey) -> UserKey | _HostUser:
        """Return what names the same person later: a name may go to somebody else, a record grows old."""
        if not isinstance(user, User):
            return self._actor_of(user).id if isinstance(user, str) else user
        known = self._runtime.known_user(user.id)
        if known is not None and known.rights() == user.rights():
            return user.id
        return _HostUser(user=user, is_known=known is not None)

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
        return self._sibling(replace(self._runtime, clock=PinnedClock(moment_of(moment))), self._acting_as)

    @staticmethod
    def _sibling(runtime: Runtime, acting_as: UserKey | _HostUser | None) -> AnalyticsCore:
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
        requested = parse(FirstAdministrator, {**names, "username": username}, shape="first administrator")
        with self._runtime.store.unit_of_work() as unit:
            _reject_second_start(unit)
            role = unit.roles.add(Role(name=ADMINISTRATORS, is_admin=True), actor_id=None)
            return unit.users.add(User(role_ids=(role.id,), **requested.model_dump()), actor_id=None)

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
        key = self._acting_as
        if key is None:
            raise ActorRequiredError
        if isinstance(key, _HostUser):
            return self._runtime.actors.get(key, partial(self._read_host_user, key))
        return self._actor_of(key)

    def _questions(self) -> ChartQueries:
        """Return the answers of whoever acts, for `testing`."""
        return ChartQueries(self._runtime, self._actor())

    def _actor_of(self, key: UserKey) -> Actor:
        check_user_key(key)
        return self._runtime.actors.get(key, partial(self._read_actor, key))

    def _read_actor(self, key: UserKey) -> Actor:
        people = self._runtime.people
        if isinstance(key, str | int) and isinstance(people, StoredUserDirectory):
            with self._runtime.store.unit_of_work() as unit:  # our own people and their roles are of one moment
                return self._checked_actor(key, people.find_in(unit, key), unit)
        user = key if isinstance(key, User) else people.find(key)
        with self._runtime.store.unit_of_work() as unit:
            return self._checked_actor(key, user, unit)

    @staticmethod
    def _checked_actor(key: UserKey, user: User | None, unit: UnitOfWork) -> Actor:
        if user is None or not user.active:
            named = key.username if isinstance(key, User) else key  # the rest of a user is nobody's business
            raise ActorRequiredError(f"nobody active answers to {short_repr(named)}; this call")
        if user.id < 1:  # people without an id would own each other's jobs and records
            raise ActorRequiredError(f"user {user.username!r} has no id; this call")
        check_attributes(user)
        return Actor(user=user, roles=_roles_of(unit, user))

    def _read_host_user(self, key: _HostUser) -> Actor:
        if key.is_known:
            known = self._runtime.known_user(key.user.id)
            if known is None or not known.active:
                raise ActorRequiredError(f"nobody active answers to {short_repr(key.user.username)}; this call")
        return self._read_actor(key.user)

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
        """Remove what is over: jobs with their results, workers, locks, form data, old revocations of guest tokens.

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

        charts = ChartDataJobs(queries_of=queries_of, find_actor=unbound._actor_of_job, seal=seal)
        warm_ups = WarmUpJobs(runtime_of=runtime_of, find_actor=unbound._actor_of_job)
        return {JobKind.CHART_DATA: charts, JobKind.WARM_UP: warm_ups}

    def _actor_of_job(self, job: JobRecord) -> Actor:
        if job.claims is None:
            return self._actor_of(job.user_id)
        acting = claimed(job)
        if isinstance(acting, GuestVisit):
            return self._runtime.guests.actor(acting)
        return self._read_host_user(_HostUser(user=acting, is_known=True))

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
        return self._open(lambda runtime, actor: RowLevelSecurity(runtime, actor, self._actor_of))

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        key = self._acting_as.user if isinstance(self._acting_as, _HostUser) else self._acting_as
        acting = "nobody" if key is None else f"user {getattr(key, 'id', key)!r}"
        return f"<AnalyticsCore, {acting} acts>"


def _roles_of(unit: UnitOfWork, user: User) -> tuple[Role, ...]:
    """Return the roles that a user names by id or by name and that exist; one that does not gives nothing."""
    held = [*unit.roles.get_many(user.role_ids)] if user.role_ids else []
    for name in user.role_names:
        role = unit.roles.find(name=name)
        if role is not None and role.name == name and role not in held:  # some servers find names in any case
            held.append(role)
    return tuple(held)


def _reject_second_start(unit: UnitOfWork) -> None:
    """Refuse a store that somebody began: a role that was given another name does not make it empty."""
    hint = "this store has its first administrator, go on with core.as_user(...)"
    if unit.roles.find(name=ADMINISTRATORS) is not None:
        raise AlreadyExistsError("role", "name", ADMINISTRATORS, hint=hint)
    _, people = unit.users.list(ListQuery(page_size=1))
    if people:
        raise AlreadyExistsError("user", "id", people[0].id, hint=hint)
