"""What a metadata store promises: repositories inside one unit of work, their lists, scopes and short names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar

from analytics_core._records.audit import LogEntry
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, EmbeddedDashboard, Favourite, Tag
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.people import Role, RowRule, User
from analytics_core._records.report import ReportDelivery, ReportExecution, ReportProgress, ReportSchedule
from analytics_core._records.shared_state import (
    JobRecord,
    JobResultPart,
    JobWorker,
    KeyValue,
    LockRecord,
    OAuth2TokenRecord,
)
from analytics_core._records.sql_query import SavedQuery, SqlQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Records of one kind: those to which at least one way leads; without any way there are none.

    A way holds where its kind has what it needs: `database_ids` and `schemas` (pairs of a database's id and a name)
    are ways to datasets, `drawn_from` is one to charts, `audience` one to dashboards.
    """

    everything: bool = False
    ids: frozenset[int] = frozenset()
    owner_id: int | None = None
    database_ids: frozenset[int] = frozenset()
    schemas: frozenset[tuple[int, str]] = frozenset()
    drawn_from: Scope | None = None
    audience: Audience | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no way leads anywhere, so that nothing need be read."""
        return self == _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Published dashboards that name none of the roles or one of these, and of whose charts one is drawn from these.

    A dashboard without charts needs no dataset.
    """

    role_ids: frozenset[int]
    datasets: Scope


_NOTHING = Scope()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesQuery:
    """Whose names are wanted, by id; `dashboards_of` are charts, of whose dashboards those of `dashboards` are wanted.

    `dashboards` and `among_datasets` are a scope or ids, None for all. `with_metadata` also reads the JSON text of the
    dashboards.
    """

    tags: frozenset[int] = frozenset()
    roles: frozenset[int] = frozenset()
    datasets: frozenset[int] = frozenset()
    among_datasets: frozenset[int] | Scope | None = None
    databases: frozenset[int] = frozenset()
    dashboards_of: frozenset[int] = frozenset()
    dashboards: frozenset[int] | Scope | None = None
    with_metadata: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TagName:
    """A tag; `type` is the contract's number."""

    id: int
    name: str
    type: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleName:
    """A role."""

    id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetName:
    """A dataset."""

    id: int
    table_name: str
    default_endpoint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseName:
    """A database."""

    id: int
    database_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardName:
    """A dashboard; `json_metadata` is None where it was not asked for."""

    id: int
    dashboard_title: str | None
    json_metadata: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names found, by id; what does not exist is left out. `dashboards` go by the id of a chart, in their order."""

    tags: Mapping[int, TagName] = field(default_factory=dict)
    roles: Mapping[int, RoleName] = field(default_factory=dict)
    datasets: Mapping[int, DatasetName] = field(default_factory=dict)
    databases: Mapping[int, DatabaseName] = field(default_factory=dict)
    dashboards: Mapping[int, tuple[DashboardName, ...]] = field(default_factory=dict)


Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFilter:
    """One condition of a list: `op` is one of eq, neq, gt, lt, in, contains, starts_with, is_null."""

    col: str
    op: str
    val: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Which records of a list: all conditions hold; `ids` narrows to what the actor may see (None: no narrowing).

    `ids` are numbers or a scope. `order_by` is (column, descending) pairs, completed by the id so that pages never
    overlap; `page` counts from 0. `without` names parts of the records that are left unread; a record that lacks some
    cannot be stored. To a list of charts that is filtered or ordered by `datasource_name`, datasets have the names that
    they have now, and those that are not `among_datasets` (numbers or a scope, None: all) have none. Datasets are also
    found by `table_key`, which the store makes of their table's name when it writes them. `list` counts no more matches
    than `count_up_to` (None: all).
    """

    filters: tuple[ListFilter, ...] = ()
    order_by: tuple[tuple[str, bool], ...] = ()
    page: int = 0
    page_size: int = 25
    ids: frozenset[int] | Scope | None = None
    among_datasets: frozenset[int] | Scope | None = None
    without: frozenset[str] = frozenset()
    count_up_to: int | None = None


class Repository(Protocol[Record]):
    """Records of one kind inside a unit of work."""

    def get(self, record_id: int) -> Record:
        """Return the record; NotFoundError when there is none."""

    def find(self, **unique: Any) -> Record | None:
        """Return the one record whose columns equal `unique`, or None."""

    def get_many(self, record_ids: Collection[int], *, without: frozenset[str] = frozenset()) -> Sequence[Record]:
        """Return the records of these ids that exist, in the order of their ids; `without` is as in `ListQuery`."""

    def list(self, query: ListQuery) -> tuple[int, Sequence[Record]]:
        """Return how many records match in all, and the ones of the page."""

    def distinct(self, column: str, query: ListQuery) -> tuple[int, Sequence[Any]]:
        """Return how many different values a column has among the records that match, and the ones of the page.

        They come sorted, None left out; the query's own order does not count. The ids of linked records, such as the
        owners, are values too.
        """

    def version(self, record_id: int) -> int:
        """Return the version of the stored record in one small statement; NotFoundError when there is none."""

    def add(self, record: Record, *, actor_id: int | None) -> Record:
        """Store a new record and return it with its id and audit; AlreadyExistsError when a unique name is taken."""

    def append(self, record: Record, *, actor_id: int | None) -> int:
        """Store a new record without reading it back and return its id; AlreadyExistsError as in `add`."""

    def update(self, record: Record, *, actor_id: int | None) -> Record:
        """Store a changed record; StaleVersionError when its `audit.version` is no longer the stored one.

        Its `audit.changed_on` becomes later than it was, also when the clock has not moved on. It stays where OAuth 2.0
        tokens change in `refresh_until` alone, by which somebody holds them for a while.
        """

    def delete(self, record_id: int) -> None:
        """Remove the record and what belongs to it alone; NotFoundError when there is none."""


class ExpendableRepository(Repository[Record], Protocol[Record]):
    """Records that pile up and that nothing else needs."""

    def append_all(self, records: Sequence[Record], *, actor_id: int | None) -> None:
        """Store new records in one go, all or none; AlreadyExistsError where a unique name of one of them is taken."""

    def newest(
        self, columns: Sequence[str], moment: str, query: ListQuery
    ) -> Sequence[tuple[tuple[Any, ...], datetime, int]]:
        """Return the different values of columns together among the records that match, the newest ones first.

        Each comes with the latest `moment`, a column without None among these records, and the highest id that go with
        it. The query's own order does not count.
        """

    def delete_matching(self, filters: Sequence[ListFilter]) -> int:
        """Remove all records for which every condition holds, and return how many they were.

        Raises:
            StaleVersionError: somebody changed or removed one of them meanwhile; the unit may go on without it.
        """


class UnitOfWork(Protocol):
    """One transaction on the metadata store: commits when its `with` block ends well, else leaves nothing behind."""

    def now(self) -> datetime:
        """Return the store's own time when asked, aware and in UTC, as exactly as the store tells it.

        All processes on one store agree about it, whatever their clocks say: what they hold for a time goes by it.
        """

    def names(self, query: NamesQuery) -> Names:
        """Return short names of records, all read by one statement."""

    @property
    def users(self) -> Repository[User]:
        """The stored people; lists also know their `full_name`: first and last name, or the user name without both."""

    @property
    def roles(self) -> Repository[Role]:
        """The roles with their grants."""

    @property
    def databases(self) -> Repository[Database]:
        """The databases that users query."""

    @property
    def datasets(self) -> Repository[Dataset]:
        """The datasets with their columns and metrics."""

    @property
    def charts(self) -> Repository[Chart]:
        """The charts."""

    @property
    def annotation_layers(self) -> Repository[AnnotationLayer]:
        """The annotation layers."""

    @property
    def annotations(self) -> Repository[Annotation]:
        """The annotations of all layers."""

    @property
    def css_templates(self) -> Repository[CssTemplate]:
        """The CSS templates."""

    @property
    def tags(self) -> Repository[Tag]:
        """The tags."""

    @property
    def favourites(self) -> Repository[Favourite]:
        """The stars that people gave."""

    @property
    def dashboards(self) -> Repository[Dashboard]:
        """The dashboards."""

    @property
    def embedded(self) -> Repository[EmbeddedDashboard]:
        """The dashboards that may be shown inside other pages."""

    @property
    def row_rules(self) -> Repository[RowRule]:
        """The row-level security rules."""

    @property
    def logs(self) -> ExpendableRepository[LogEntry]:
        """Who did what, when."""

    @property
    def key_values(self) -> ExpendableRepository[KeyValue]:
        """Small texts under keys."""

    @property
    def jobs(self) -> ExpendableRepository[JobRecord]:
        """The jobs of all users and processes; those of a deleted user go with the user."""

    @property
    def job_results(self) -> ExpendableRepository[JobResultPart]:
        """The results of jobs, in parts that go with their job; lists neither filter nor order by `data`."""

    @property
    def job_workers(self) -> ExpendableRepository[JobWorker]:
        """The processes that hold jobs."""

    @property
    def locks(self) -> ExpendableRepository[LockRecord]:
        """The locks that are held, and those whose time is over."""

    @property
    def oauth2_tokens(self) -> ExpendableRepository[OAuth2TokenRecord]:
        """The OAuth 2.0 tokens of users for databases; they go with either. Lists also know `useless_after`."""

    @property
    def report_schedules(self) -> Repository[ReportSchedule]:
        """The schedules of alerts and reports; what is below of each goes with it.

        Lists also know `last_state` and `last_eval_dttm` of their progress.
        """

    @property
    def report_progress(self) -> ExpendableRepository[ReportProgress]:
        """Where each schedule stands."""

    @property
    def report_executions(self) -> ExpendableRepository[ReportExecution]:
        """The runs of schedules; of one schedule and one moment there is one at the most."""

    @property
    def report_deliveries(self) -> ExpendableRepository[ReportDelivery]:
        """What became of the messages of runs, address by address; they go with their run."""

    @property
    def sql_queries(self) -> ExpendableRepository[SqlQuery]:
        """What people ran in the SQL editor; those of a deleted user or database go with it."""

    @property
    def saved_queries(self) -> Repository[SavedQuery]:
        """The statements that people keep; those of a deleted database go with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """An open unit of work in which several read, and the store's revision before it began.

    What is read in it is remembered only where that is the revision still: it may be older than what was written since.
    """

    unit: UnitOfWork
    revision: int
