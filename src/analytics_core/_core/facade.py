"""`AnalyticsCore`: the one facade; `connect`: the short door to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from analytics_core._content.storage.store_backed import StoredUserDirectory, StoreLock
from analytics_core._core.actors import Actors, HostUser, UserKey
from analytics_core._core.adapters.clock import SystemSleeper
from analytics_core._core.adapters.observers import guarded
from analytics_core._core.adapters.progress_bars import SilentProgress
from analytics_core._core.operator_calls import OperatorCalls
from analytics_core._core.runtime import Components, CoreRuntime
from analytics_core._core.wiring.parts import (
    IN_MEMORY,
    all_notifiers,
    https_endpoint,
    installed_renderer,
    job_threads,
    memory_or_guarded,
    opened_store,
    pools,
    surroundings,
)
from analytics_core._core.wiring.rooms import build_runtime, job_handlers
from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.people import GuestVisit, User
from analytics_core._records.settings import Settings
from analytics_core._tools.display.blocks import Blocks
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core.errors import ActorRequiredError
from analytics_core.models.dataset import DatasetGet
from analytics_core.models.parsing import payload_error
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

if TYPE_CHECKING:
    from analytics_core._content.bundles.databases import StandIns
    from analytics_core._content.bundles.report import BundleReport
    from analytics_core._content.bundles.selection import ExportedIds
    from analytics_core._content.checks.difference import DiffReport
    from analytics_core._content.checks.report import CheckReport
    from analytics_core._core.guest_core import GuestCore
    from analytics_core._notebook.sources.reading import ReadingFields
    from analytics_core._notebook.sources.taking import Table


class AnalyticsCore(OperatorCalls):
    """A headless analytics engine: databases, datasets and charts behind one object.

    Args:
        settings: the host's choices; `Settings(secret_key=...)` is the least.
        metadata_url: where records are kept: `sqlite:///meta.db`, `postgresql+psycopg://...`, `mysql+pymysql://...`;
            `sqlite://` keeps them in memory.
        store: a host's own metadata store, in place of the URL.
        acting_as: who acts: an id, a user name or a `User`; None: every call needs `as_user`.
        cache: keeps results; the default is bounded memory. One that raises or hangs is left alone for a while.
        lock: what one process at a time may do; the default is a table of the metadata store.
        observer: is told of every question, a `WorkObserver` of all work, never of values; the default writes a log
            record.
        progress: shows how far long work has come; the default shows nothing. `connect` shows bars.
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
        notifiers: hand alerts and reports to people; the first one that takes a recipient gets them. Those of installed
            packages come after them.
        renderer: draws pictures of charts and dashboards; the default is `VegaRenderer` where the extra `charts` is
            installed, else there are no pictures.
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
        progress: Progress | None = None,
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
        notifiers: Sequence[Notifier] = (),
        renderer: Renderer | None = None,
        engines: EngineRegistry | None = None,
        allowed_files: Sequence[Path | str] = (),
    ) -> None:
        added, addresses, clock, engines = surroundings(AnalyticsCore.__init__, locals())
        with opened_store(store, metadata_url, settings, clock, secret_box) as meta_store:
            components = Components(
                settings=settings,
                clock=clock,
                store=meta_store,
                cache=memory_or_guarded(cache, settings, clock),
                lock=StoreLock(meta_store) if lock is None else lock,
                observer=guarded(observer),
                progress=SilentProgress() if progress is None else progress,
                jobs=job_threads(settings) if jobs is None else jobs,
                connector=pools(settings, engines, allowed_files, addresses) if connector is None else connector,
                registry=engines,
                policy=Policy() if policy is None else policy,
                people=StoredUserDirectory(meta_store) if users is None else users,
                row_filters=tuple(row_filters),
                sleeper=SystemSleeper() if sleeper is None else sleeper,
                token_endpoint=https_endpoint(settings, addresses) if token_endpoint is None else token_endpoint,
                allowed_files=tuple(Path(file).resolve() for file in allowed_files),
                addresses=addresses,
                notifiers=all_notifiers(notifiers, added),
                renderer=installed_renderer() if renderer is None else renderer,
            )
            self._begin(build_runtime(components, added), acting_as)

    def _begin(self, runtime: CoreRuntime, acting_as: UserKey | None) -> None:
        self._bind(runtime, acting_as)
        actors = Actors(runtime)
        runtime.content.job_registry.start(job_handlers(runtime, actors.of_job, actors.find))
        if isinstance(acting_as, User):
            self._bind(runtime, self._actors.lasting_key(acting_as))

    def _bind(self, runtime: CoreRuntime, acting_as: UserKey | HostUser | None) -> None:
        self._runtime = runtime
        self._actors = Actors(runtime)
        self._acting_as = acting_as

    # ------------------------------------------------------------------------------------------------- who and when
    def as_user(self, user: UserKey) -> AnalyticsCore:
        """Return the same core with another acting user: an id, a user name or a `User`.

        The core and its namespaces may be kept: each call asks anew whether the person is active, and for their roles.
        A `User` whose rights differ from those in the directory is the host's word: they count as given, for as long as
        the directory, if it knows the person, has them active.

        Raises:
            ActorRequiredError: nobody answers to it, or the person is not active.

        Examples:
            >>> grace = core.as_user("grace")
            >>> [row[0] for row in grace.charts.data(1)[0]]
            ['Germany']
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

        Examples:
            >>> page = core.embedded.create(1, {"allowed_domains": ["https://shop.example"]})
            >>> token = core.embedded.guest_token(
            ...     {"resources": [{"type": "dashboard", "id": page.uuid}], "rls": [{"clause": "country = 'France'"}]}
            ... )
            >>> guest = core.as_guest(token, origin="https://shop.example")
            >>> [row[0] for row in guest.charts.data(1)[0]]
            ['France']
        """
        from analytics_core._core.guest_core import GuestCore

        guest = GuestCore(self, GuestVisit(grant=self._runtime.content.guests.tokens.read(token), origin=origin))
        guest._actor()
        return guest

    def as_of(self, moment: datetime) -> AnalyticsCore:
        """Return the same core with `moment` as now for time ranges and templates; a naive moment is UTC.

        What really happens keeps its time, such as what is logged.

        Raises:
            PayloadSchemaError: it is no `datetime`, or none between the years 1 and 9999 in UTC.

        Examples:
            >>> from datetime import datetime
            >>> question = core.dataset("orders").query("revenue").during("Last month").payload()
            >>> core.as_of(datetime(2024, 12, 1)).charts.data(question)[0].from_dttm
            1730419200000
        """
        return self._sibling(self._runtime.pinned_at(moment), self._acting_as)

    @staticmethod
    def _sibling(runtime: CoreRuntime, acting_as: UserKey | HostUser | None) -> AnalyticsCore:
        core = AnalyticsCore.__new__(AnalyticsCore)
        core._bind(runtime, acting_as)
        return core

    def _actor(self) -> Actor:
        """Return who acts, with the roles that they have now."""
        if self._acting_as is None:
            raise ActorRequiredError
        return self._actors.find(self._acting_as)

    def load_bundle(
        self,
        source: Any,
        *,
        rules: bool = False,
        dry_run: bool = False,
        on_problem: Literal["refuse", "leave_out"] = "refuse",
        **stand_ins: Unpack[StandIns],
    ) -> BundleReport:
        """Store the content that a Superset, or `export_bundle` of another store, exported: all of it or nothing.

        Records are known by their UUIDs, or else by their names: one that is here already is changed, as its owner may.
        Whoever loads owns what is new. Charts need no query context.

        Args:
            source: the path of a ZIP file or a folder, the bytes of a ZIP file, or a binary file object.
            rules: load roles, row rules, and for which roles dashboards are; for administrators.
            dry_run: try it, and store nothing.
            on_problem: `leave_out` stores the rest without what is wrong, and lists that in `left_out`: a metric or
                column, the place of a chart or a filter on a dashboard, else a record with what needs it. Roles and row
                rules, and files that cannot be read, refuse the bundle all the same.
            stand_ins: what takes the place of what the bundle has: `databases`, `datasets`, `passwords`.

        Raises:
            PayloadSchemaError: all that is wrong, with file and field.
            NotFoundError, AccessError: what is named here is unknown, or not for the actor: databases take a grant on
                all of them, connections and `rules` an administrator.
            AnalyticsError: what is `retryable`: a database or the store cannot be reached now.

        Examples:
            >>> backup = core.export_bundle(dashboards=[1])
            >>> core.dashboards.delete(1)
            >>> print(core.load_bundle(backup))
            1 dataset, 2 charts, 1 dashboard, 1 tag
            >>> core.dashboards.get("sales").charts
            ('Revenue by country', 'Revenue by month')
        """
        from analytics_core._content.bundles.databases import checked_stand_ins
        from analytics_core._content.bundles.loading import BundleLoader

        given = checked_stand_ins(stand_ins)
        if on_problem not in ("refuse", "leave_out"):
            raise payload_error("load_bundle", "on_problem", "must be 'refuse' or 'leave_out'")
        loader = BundleLoader(self._runtime.content, self._actor())
        leaves_out = on_problem == "leave_out"
        return loader.load(source, given, with_rules=rules, leaves_out=leaves_out, dry_run=dry_run)

    def export_bundle(self, path: str | os.PathLike[str] | None = None, **named: Unpack[ExportedIds]) -> bytes:
        """Return a ZIP file that `load_bundle` of another store takes: what is named by ids, and what it needs.

        The same content on databases of the same UUIDs gives the same bytes in every store, for version control.
        Connections, people and secrets are not in it. Dashboards and row rules name their roles.

        Args:
            path: where to write the file too, as a whole or not at all; None: nowhere.
            named: ids of `dashboards`, `charts`, `datasets`, `saved_queries`, `annotation_layers`, `css_templates`, and
                by administrators of `roles` and `row_rules`.

        Raises:
            PayloadSchemaError: nothing is named, or no list of ids; something that no bundle can hold; a path that
                cannot be written.
            NotFoundError, AccessError: something is unknown, or not for this actor.

        Examples:
            >>> content = core.export_bundle("sales.zip", dashboards=[1])
            >>> content[:2]
            b'PK'
        """
        from analytics_core._content.bundles.writing import BundleWriter

        return BundleWriter(self._runtime.content, self._actor()).write(path, named)

    def check(self, *, answers: bool = False) -> CheckReport:
        """Compile all charts against their tables as they are today, and return what broke and why; nothing is changed.

        Looked at is what the actor may read: datasets with their calculated columns and metrics, the queries of charts,
        what layouts and filters of dashboards name; as whom active alerts and reports run, and what they need; tables
        and columns of saved queries.

        Args:
            answers: ask the charts, too, which finds what only the database knows.

        Raises:
            StoredDataError: no connection opens with the secret key, which says nothing about content.

        Examples:
            >>> print(core.check())
            0 of 6 records broken
            >>> (revenue,) = core.datasets.get(1).metrics
            >>> _ = core.datasets.delete_metric(1, revenue.id)
            >>> [record.name for record in core.check().broken]
            ['Revenue by country', 'Revenue by month']
        """
        from analytics_core._content.checks.checking import ContentCheck
        from analytics_core._content.checks.report import CheckReport
        from analytics_core._reports.checks import checked_schedule

        of_schedule = partial(checked_schedule, self._runtime.content, find_actor=self._actors.find)
        report = ContentCheck(self._runtime.content, self._actor(), of_schedule).report(answers=answers)
        return CheckReport(records=(*report.records, *self.saved_queries._checked()))

    def diff(self, a: Any, b: Any = None, *, answers: bool = True, **stand_ins: Unpack[StandIns]) -> DiffReport:
        """Return which charts and saved queries differ between two states of content; nothing is stored.

        Charts differ in SQL, columns and rows, saved queries in their texts.

        Charts are known by their UUIDs, and asked of the databases here, at one moment, under the actor's rights and
        row rules. One whose statement and steps are the same in both is equal, and is not asked.

        Args:
            a: a bundle, as `load_bundle` takes it, or None for the stored charts that the actor may read.
            b: likewise.
            answers: ask the charts that differ, to tell their columns and rows; else their statements alone are told.
            stand_ins: as for `load_bundle`, but for URLs: no connection is made.

        Raises:
            PayloadSchemaError: a bundle that cannot be read, or whose datasets cannot be here, with file and field.
            NotFoundError, AccessError: as for `load_bundle`.

        Examples:
            >>> backup = core.export_bundle(dashboards=[1])
            >>> _ = core.datasets.set_metric(1, {"metric_name": "revenue", "expression": "SUM(amount) - 1"})
            >>> [chart.name for chart in core.diff(backup).changed]
            ['Revenue by country', 'Revenue by month']
        """
        from analytics_core._content.bundles.databases import checked_stand_ins
        from analytics_core._content.checks.comparing import ContentDiff

        given = checked_stand_ins(stand_ins)
        return ContentDiff(self._runtime.content, self._actor()).report(a, b, given, answers=answers)

    # ------------------------------------------------------------------------------------------------------- in hand
    def dataset_from(
        self, frame: Table, name: str, *, replace: bool = False, **reading: Unpack[ReadingFields]
    ) -> DatasetGet:
        """Store a dataset of what is in hand, beside the others, and return it with its columns and a metric `count`.

        It goes into a DuckDB in the memory of this process: that of `connect`, where it was given frames or files, else
        one called `frames`. The rows are read where they lie, and are gone with the process; the dataset and its charts
        stay in the store. Who acts must be an administrator.

        Args:
            frame: a frame of pandas, Polars or Arrow, a list of dicts, or a path, a glob or a list of paths of files,
                which are one dataset.
            name: of the dataset: letters, digits, underscores, hyphens and blanks.
            replace: put it in the place of the one of this name that was handed over before; charts stay, answers that
                were kept do not.
            reading: `delimiter`, `decimal_character`, `thousands_character`, `date_format`, `encoding`, `header_row`
                and `skip_rows`, as `connect` takes them.

        Raises:
            SourceError: it is no table that can be read, or the name is none; the message says what would work.
            AlreadyExistsError: a dataset is called so, and `replace` is not given, or it is of another database.
            AccessError: somebody else than an administrator acts.
            MissingExtraError: DuckDB, or what reads the file, is not installed.

        Examples:
            >>> import analytics_core
            >>> core = analytics_core.connect([{"city": "Rome", "visits": 3}, {"city": "Oslo", "visits": 5}])
            >>> parks = core.dataset_from([{"city": "Oslo", "park": "Frogner"}], "parks")
            >>> [column.column_name for column in parks.columns]
            ['city', 'park']
            >>> [dataset.table_name for dataset in core.datasets.list(order_by="table_name").result]
            ['data', 'parks']
            >>> core.close()
        """
        from analytics_core._notebook.sources.reading import FileReading
        from analytics_core._notebook.sources.registering import dataset_from

        self._runtime.content.policy.require_manage_databases(self._actor())
        how = FileReading(settings=self._runtime.parts.settings, **reading)
        return dataset_from(self, self._runtime.content, frame, name, how, may_replace=replace)

    # --------------------------------------------------------------------------------------------------------- jobs
    # ---------------------------------------------------------------------------------------------------- operating
    # ------------------------------------------------------------------------------------------------------ life time
    def close(self) -> None:
        """Stop background work, statements, streams and uploads that are not committed, close all connections.

        Whoever waits for a statement gets a StatementStoppedError. The handler of a signal may call it.
        It waits for OAuth 2.0 tokens that are renewed, at most `Settings.oauth2_timeout_s` and ten seconds: a new one
        that is not stored is lost. What is asked afterwards is a StoreUnavailableError.
        That holds for what the cache could still answer, and for cores of other users of the same core.

        Examples:
            >>> core.close()
            >>> core.charts.list()
            Traceback (most recent call last):
                ...
            analytics_core.errors.StoreUnavailableError: the metadata store is closed
        """
        self._runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<AnalyticsCore, {self._acting()}>"

    def _acting(self) -> str:
        key = self._acting_as.user if isinstance(self._acting_as, HostUser) else self._acting_as
        acting = "nobody" if key is None else f"user {getattr(key, 'id', key)!r}"
        return f"{acting} acts"

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        from analytics_core._core.display import core_blocks

        return core_blocks(self, acting=self._acting())
