"""How each kind of record lies in its tables, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, ColumnElement, Executable, Insert, Integer, Select, Table, Update
from sqlalchemy.sql.dml import ReturningInsert, ReturningUpdate

from analytics_core._content.storage import tables
from analytics_core._content.storage.column_types import LongBytes, LongText, Name, RowCheck, UtcMoment
from analytics_core._content.storage.parts import ItemParts, Parts, RecordParts, RowReader, ValueParts, links_of
from analytics_core._content.storage.table_kinds import TABLE_REVISION
from analytics_core._engine.rights.row_rules import key_of_table
from analytics_core._records.audit import LogEntry, StoredRecord
from analytics_core._records.chart import DATASET_TYPES, Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, EmbeddedDashboard, Favourite, Tag
from analytics_core._records.datasource import Database, Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import Grant, GrantTarget, Role, RowRule, RowRuleType, User
from analytics_core._records.report import (
    ReportDelivery,
    ReportExecution,
    ReportProgress,
    ReportSchedule,
    RunCause,
    RunState,
)
from analytics_core._records.shared_state import (
    JobRecord,
    JobResultPart,
    JobWorker,
    KeyValue,
    LockRecord,
    OAuth2TokenRecord,
)
from analytics_core._records.sql_query import QueryState, SavedQuery, SqlQuery
from analytics_core.errors import DatabaseNotFoundError, NotFoundError
from analytics_core.models.enums import JobState

AUDIT_COLUMNS: Final = ("created_on", "changed_on", "created_by", "changed_by", "version")
"""What the store itself keeps of every record: who made and changed it, when, and how often."""

_PLAIN: Final[Mapping[type, type]] = {Name: str, LongText: str, Integer: int, Boolean: bool}

Record = TypeVar("Record", bound=StoredRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A field whose ids must be those of records in a `table`."""

    attribute: str
    table: Table

    @property
    def noun(self) -> str:
        """What the records are called."""
        return self.table.name.removeprefix("ac_").removesuffix("s").replace("_", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Referrer:
    """Records of another kind that keep one of this kind from being deleted."""

    column: Column[Any]
    nouns: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedColumn:
    """A listed value that is told by another kind of record: the `column` of the one that `key` names, where `holds`.

    It is read from there for each list, so that it is never stale.
    """

    column: Column[Any]
    key: Column[Any]
    holds: ColumnElement[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind(Generic[Record]):
    """How one kind of record is kept.

    `sealed` fields are secrets, each sealed for its field of the record that `named_in` tells. In `blank_for_none`
    fields the store holds an empty text for None, since NULLs are never equal in a unique key. `always_set` fields are
    None in no record, though their columns allow it: lists in their order go along their index. `pairs` fields are JSON
    texts of (name, value) pairs, `texts` fields JSON texts of texts; `enums` fields hold an enum's value. `named_by`
    are ids of other kinds' records that name one of this kind: lists are filtered by them, records do not hold them. Of
    `borrowed` fields lists see what another kind's records say now; `computed` ones are made of other columns, also of
    another kind's, for lists alone. `links` are the parts that are ids of others, such as owners, and those that name a
    record. `derived` columns are written with each record and found by, never read. `forget` gives the statements that
    remove what other tables say about a deleted id without a foreign key. Nobody keeps records of an `is_journal` kind,
    so they do not move the store's revision. A change of `marks` fields alone leaves `changed_on` and `changed_by`.

    What is used all the time is built once. `fields` have columns of their own in the table, without id and audit, and
    `getter` gives their values. `plain_types` are the types of the values that listed columns hold, where a value of
    this very type is what the store holds. `members` are the values of `enums`; records that are not `is_encoded` are
    their rows, and those that are `read_as_written` are, when they have been written, what was given. Statements that
    write take moments under the names of `bound_moments`, as the store holds them already: as a type's own work that
    would be a call for each. `revision_insert` and `revision_update` also give the revision of the tables.
    """

    noun: str
    table: Table
    record_type: Callable[..., Record]
    sealed: frozenset[str] = frozenset()
    named_in: tuple[str, ...] = ("uuid",)
    blank_for_none: frozenset[str] = frozenset()
    always_set: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    enums: Mapping[str, type[StrEnum]] = field(default_factory=dict)
    parts: tuple[Parts, ...] = ()
    named_by: tuple[ValueParts, ...] = ()
    borrowed: Mapping[str, JoinedColumn] = field(default_factory=dict)
    computed: Mapping[str, ColumnElement[Any]] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Record], object]] = field(default_factory=dict)
    referrers: tuple[Referrer, ...] = ()
    forget: Callable[[int], tuple[Executable, ...]] = lambda _id: ()
    is_journal: bool = False
    marks: frozenset[str] = frozenset()
    reader: RowReader = field(init=False)
    check: RowCheck = field(init=False)
    members: Mapping[str, Mapping[str, StrEnum]] = field(init=False)
    is_encoded: bool = field(init=False)
    read_as_written: bool = field(init=False)
    bound_moments: Mapping[str, str] = field(init=False)
    listed_columns: Mapping[str, ColumnElement[Any]] = field(init=False)
    plain_types: Mapping[str, type] = field(init=False)
    record_parts: RecordParts = field(init=False)
    links: Mapping[str, ValueParts] = field(init=False)
    references: tuple[Reference, ...] = field(init=False)
    version_statement: Select[Any] = field(init=False)
    get_statement: Select[Any] = field(init=False)
    get_many_statement: Select[Any] = field(init=False)
    insert_statement: Insert = field(init=False)
    update_statement: Update = field(init=False)
    revision_insert: ReturningInsert[Any] = field(init=False)
    revision_update: ReturningUpdate[Any] = field(init=False)
    fields: tuple[str, ...] = field(init=False)
    getter: Callable[[Record], tuple[Any, ...]] = field(init=False)

    def __post_init__(self) -> None:
        encoded = bool(self.blank_for_none or self.pairs or self.texts or self.enums or self.sealed)
        plain = self.is_journal and not (self.parts or self.blank_for_none or self.pairs or self.texts)
        hidden = {*AUDIT_COLUMNS, *self.derived, "id"}
        names = tuple(column.name for column in self.table.columns if column.name not in hidden)
        given = {
            "reader": RowReader(self.table, without=frozenset(self.derived)),
            "check": RowCheck(self.table),
            "members": {name: {one.value: one for one in enum} for name, enum in self.enums.items()},
            "is_encoded": encoded,
            "read_as_written": plain,
            "listed_columns": (listed := self._listed_columns()),
            "plain_types": {name: _PLAIN[type(one.type)] for name, one in listed.items() if type(one.type) in _PLAIN},
            "record_parts": RecordParts(self.parts),
            "links": {part.attribute: part for part in links_of((*self.parts, *self.named_by))},
            "fields": names,
            "getter": attrgetter(*names, "id"),  # of one name alone it would give no tuple
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._set_references()
        self._set_statements()

    def _set_references(self) -> None:
        named = {column.name: column for column in self.table.columns}
        named |= {part.attribute: part.value_column for part in links_of(self.parts)}
        references = ((name, key.column.table) for name, column in named.items() for key in column.foreign_keys)
        object.__setattr__(self, "references", tuple(Reference(attribute=name, table=of) for name, of in references))

    def _set_statements(self) -> None:
        table, by_id = self.table, self.table.c.id == sa.bindparam("record_id")
        among = table.c.id.in_(sa.bindparam("record_ids", expanding=True, literal_execute=True))
        moments = [column.name for column in table.columns if isinstance(column.type, UtcMoment)]
        bound = {name: sa.bindparam(f"at_{name}", type_=sa.DateTime()) for name in moments}
        changed = {name: bind for name, bind in bound.items() if name != "created_on"}
        is_same = table.c.version == sa.bindparam("record_version")
        of_audit, revision = ("created_on", "changed_on"), TABLE_REVISION.scalar_subquery()
        given = {
            "bound_moments": {name: bound[name].key for name in moments if name not in of_audit},
            "version_statement": sa.select(table.c.version).where(by_id),
            "get_statement": sa.select(*self.reader.columns).where(by_id),
            "get_many_statement": sa.select(*self.reader.columns).where(among).order_by(table.c.id),
            "insert_statement": (insert := sa.insert(table).values(bound)),
            "update_statement": (update := sa.update(table).where(by_id, is_same).values(changed)),
            "revision_insert": insert.returning(table.c.id, revision),
            "revision_update": update.returning(revision),
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def _listed_columns(self) -> Mapping[str, ColumnElement[Any]]:
        """Return what lists filter and order by; secrets, lists as JSON and bytes are none of it."""
        hidden = self.sealed | self.pairs | self.texts
        columns = (one for one in self.table.columns if one.name not in hidden and not isinstance(one.type, LongBytes))
        return {**{column.name: column for column in columns}, **self.computed}


def missing_record(noun: str, key: object) -> NotFoundError:
    """Return the error of a record that is not there."""
    return DatabaseNotFoundError(key) if noun == "database" else NotFoundError(noun, key)


def id_parts(table: Table, noun: str, column: str | None = None) -> ValueParts:
    """Return the ids in a column of a table of pairs as a part of the record that the other column names."""
    ids = table.c[column or f"{noun}_id"]
    return ValueParts(
        attribute=f"{noun}_ids",
        noun=noun,
        table=table,
        parent=next(one for one in table.columns if one is not ids),
        read=None,
        to_row=lambda value: {ids.name: value},
        collection=tuple,
    )


def _forget_user(user_id: int) -> tuple[Executable, ...]:
    """Take a deleted user out of ownerships, stars and audit columns, which hold ids that a host may have given.

    The user's tokens go; so do the user's jobs with what came out of them, and their queries: nobody else may read
    them, and a process that runs one finds none.
    """
    everything = tables.METADATA.tables.values()
    owned = (tables.DATASET_OWNERS, tables.CHART_OWNERS, tables.DASHBOARD_OWNERS, tables.REPORT_SCHEDULE_OWNERS)
    personal = (*owned, tables.FAVOURITES, tables.JOBS, tables.OAUTH2_TOKENS, tables.SQL_QUERIES)
    signed = [
        (table, table.c[name])
        for table in everything
        for name in ("created_by", "changed_by", "last_saved_by", "executor_id")
        if name in table.c
    ]
    return (
        *(sa.delete(table).where(table.c.user_id == user_id) for table in personal),
        *(sa.update(table).where(column == user_id).values({column: None}) for table, column in signed),
    )


def forget_favourites(target: str) -> Callable[[int], tuple[Executable, ...]]:
    """Return what gives the statement that removes the stars of a deleted record."""
    table = tables.FAVOURITES
    return lambda record_id: (sa.delete(table).where(table.c.target == target, table.c.target_id == record_id),)


def _forget_grants(*targets: GrantTarget) -> Callable[[int], tuple[Executable, ...]]:
    grants = tables.ROLE_GRANTS
    names = [target.value for target in targets]
    return lambda target_id: (sa.delete(grants).where(grants.c.target.in_(names), grants.c.target_id == target_id),)


_COLUMNS: Final = ItemParts(noun="column", table=tables.DATASET_COLUMNS, item_type=DatasetColumn)

_METRICS: Final = ItemParts(noun="metric", table=tables.DATASET_METRICS, item_type=DatasetMetric)

_GRANTS: Final = ValueParts(
    attribute="grants",
    noun="grant",
    table=tables.ROLE_GRANTS,
    parent=tables.ROLE_GRANTS.c.role_id,
    read=lambda target, target_id, schema: Grant(
        target=GrantTarget(target), target_id=target_id, schema=schema or None
    ),
    to_row=lambda grant: {
        "target": grant.target.value,
        "target_id": grant.target_id,
        "schema": grant.schema or "",
    },
    collection=frozenset,
)


def _of_progress(name: str) -> ColumnElement[Any]:
    """Return a column of where a schedule of reports stands."""
    progress, schedule = tables.REPORT_PROGRESS, tables.REPORT_SCHEDULES
    found = sa.select(progress.c[name]).where(progress.c.schedule_id == schedule.c.id)
    return found.correlate(schedule).scalar_subquery()


def _full_name() -> ColumnElement[str]:
    """Return how a user is called: first and last name, or the user name where there is neither."""
    user = tables.USERS.c
    both = sa.func.trim(user.first_name.concat(sa.literal_column("' '")).concat(user.last_name))
    return sa.type_coerce(sa.func.coalesce(sa.func.nullif(both, sa.literal_column("''")), user.username), Name())


_DATASET_TYPES: Final = tuple(sorted(name for name in DATASET_TYPES if name))


def is_drawn_from_dataset() -> ColumnElement[bool]:
    """Return the condition that what a chart is drawn from is a dataset."""
    kind = tables.CHARTS.c.datasource_type
    return sa.or_(kind.is_(None), kind.in_(_DATASET_TYPES))


USER_KIND: Final[RecordKind[User]] = RecordKind(
    noun="user",
    table=tables.USERS,
    record_type=User,
    pairs=frozenset({"attributes"}),
    computed={"full_name": _full_name()},
    parts=(id_parts(tables.USER_ROLES, "role"),),
    forget=_forget_user,
)

ROLE_KIND: Final[RecordKind[Role]] = RecordKind(
    noun="role",
    table=tables.ROLES,
    record_type=Role,
    parts=(_GRANTS,),
    referrers=(
        Referrer(column=tables.USER_ROLES.c.role_id, nouns="users"),
        Referrer(column=tables.DASHBOARD_ROLES.c.role_id, nouns="dashboards"),
        Referrer(column=tables.ROW_RULE_ROLES.c.role_id, nouns="row rules"),
    ),
)

DATABASE_KIND: Final[RecordKind[Database]] = RecordKind(
    noun="database",
    table=tables.DATABASES,
    record_type=Database,
    sealed=frozenset({"uri", "secret_extra", "ssh_tunnel"}),
    referrers=(
        Referrer(column=tables.DATASETS.c.database_id, nouns="datasets"),
        Referrer(column=tables.REPORT_SCHEDULES.c.database_id, nouns="report schedules"),
    ),
    forget=_forget_grants(GrantTarget.DATABASE, GrantTarget.SCHEMA),
)

DATASET_KIND: Final[RecordKind[Dataset]] = RecordKind(
    noun="dataset",
    table=tables.DATASETS,
    record_type=Dataset,
    blank_for_none=frozenset({"catalog", "schema"}),
    texts=frozenset({"primary_key"}),
    derived={"table_key": key_of_table},
    parts=(_COLUMNS, _METRICS, id_parts(tables.DATASET_OWNERS, "owner", "user_id")),
    referrers=(Referrer(column=tables.ROW_RULE_DATASETS.c.dataset_id, nouns="row rules"),),
    forget=_forget_grants(GrantTarget.DATASET),
)

CHART_KIND: Final[RecordKind[Chart]] = RecordKind(
    noun="chart",
    table=tables.CHARTS,
    record_type=Chart,
    parts=(
        id_parts(tables.CHART_OWNERS, "owner", "user_id"),
        id_parts(tables.CHART_TAGS, "tag"),
    ),
    named_by=(id_parts(tables.DASHBOARD_CHARTS, "dashboard"),),
    borrowed={
        "datasource_name": JoinedColumn(
            column=tables.DATASETS.c.table_name, key=tables.CHARTS.c.datasource_id, holds=is_drawn_from_dataset()
        )
    },
    referrers=(Referrer(column=tables.REPORT_SCHEDULES.c.chart_id, nouns="report schedules"),),
    forget=forget_favourites("chart"),
)


ANNOTATION_LAYER_KIND: Final[RecordKind[AnnotationLayer]] = RecordKind(
    noun="annotation layer", table=tables.ANNOTATION_LAYERS, record_type=AnnotationLayer
)

ANNOTATION_KIND: Final[RecordKind[Annotation]] = RecordKind(
    noun="annotation", table=tables.ANNOTATIONS, record_type=Annotation
)

CSS_TEMPLATE_KIND: Final[RecordKind[CssTemplate]] = RecordKind(
    noun="CSS template", table=tables.CSS_TEMPLATES, record_type=CssTemplate
)

TAG_KIND: Final[RecordKind[Tag]] = RecordKind(noun="tag", table=tables.TAGS, record_type=Tag)

FAVOURITE_KIND: Final[RecordKind[Favourite]] = RecordKind(
    noun="favourite", table=tables.FAVOURITES, record_type=Favourite
)

DASHBOARD_KIND: Final[RecordKind[Dashboard]] = RecordKind(
    noun="dashboard",
    table=tables.DASHBOARDS,
    record_type=Dashboard,
    parts=(
        id_parts(tables.DASHBOARD_OWNERS, "owner", "user_id"),
        id_parts(tables.DASHBOARD_ROLES, "role"),
        id_parts(tables.DASHBOARD_CHARTS, "chart"),
        id_parts(tables.DASHBOARD_TAGS, "tag"),
    ),
    referrers=(Referrer(column=tables.REPORT_SCHEDULES.c.dashboard_id, nouns="report schedules"),),
    forget=forget_favourites("dashboard"),
)

EMBEDDED_DASHBOARD_KIND: Final[RecordKind[EmbeddedDashboard]] = RecordKind(
    noun="embedded dashboard",
    table=tables.EMBEDDED_DASHBOARDS,
    record_type=EmbeddedDashboard,
    texts=frozenset({"allowed_domains"}),
)

ROW_RULE_KIND: Final[RecordKind[RowRule]] = RecordKind(
    noun="row rule",
    table=tables.ROW_RULES,
    record_type=RowRule,
    enums={"filter_type": RowRuleType},
    parts=(
        id_parts(tables.ROW_RULE_ROLES, "role"),
        id_parts(tables.ROW_RULE_DATASETS, "dataset"),
    ),
)

LOG_KIND: Final[RecordKind[LogEntry]] = RecordKind(
    noun="log entry", table=tables.LOGS, record_type=LogEntry, always_set=frozenset({"dttm"}), is_journal=True
)

KEY_VALUE_KIND: Final[RecordKind[KeyValue]] = RecordKind(noun="key", table=tables.KEY_VALUES, record_type=KeyValue)

JOB_KIND: Final[RecordKind[JobRecord]] = RecordKind(
    noun="job",
    table=tables.JOBS,
    record_type=JobRecord,
    sealed=frozenset({"claims"}),
    named_in=("job_id",),
    enums={"state": JobState},
    is_journal=True,
)

JOB_RESULT_KIND: Final[RecordKind[JobResultPart]] = RecordKind(
    noun="job result part", table=tables.JOB_RESULTS, record_type=JobResultPart, is_journal=True
)

JOB_WORKER_KIND: Final[RecordKind[JobWorker]] = RecordKind(
    noun="job worker", table=tables.JOB_WORKERS, record_type=JobWorker, is_journal=True
)

LOCK_KIND: Final[RecordKind[LockRecord]] = RecordKind(
    noun="lock", table=tables.LOCKS, record_type=LockRecord, is_journal=True
)

OAUTH2_TOKEN_KIND: Final[RecordKind[OAuth2TokenRecord]] = RecordKind(
    noun="OAuth 2.0 token",
    table=tables.OAUTH2_TOKENS,
    record_type=OAuth2TokenRecord,
    sealed=frozenset({"access_token", "refresh_token"}),
    named_in=("database_id", "user_id"),
    derived={"useless_after": lambda token: token.useless_after},
    is_journal=True,
    marks=frozenset({"refresh_until"}),
)

REPORT_SCHEDULE_KIND: Final[RecordKind[ReportSchedule]] = RecordKind(
    noun="report schedule",
    table=tables.REPORT_SCHEDULES,
    record_type=ReportSchedule,
    sealed=frozenset({"recipients"}),
    parts=(id_parts(tables.REPORT_SCHEDULE_OWNERS, "owner", "user_id"),),
    computed={name: _of_progress(name) for name in ("last_state", "last_eval_dttm")},
)

REPORT_PROGRESS_KIND: Final[RecordKind[ReportProgress]] = RecordKind(
    noun="report progress", table=tables.REPORT_PROGRESS, record_type=ReportProgress, is_journal=True
)

REPORT_EXECUTION_KIND: Final[RecordKind[ReportExecution]] = RecordKind(
    noun="report execution",
    table=tables.REPORT_EXECUTIONS,
    record_type=ReportExecution,
    enums={"cause": RunCause, "state": RunState},
    is_journal=True,
)

REPORT_DELIVERY_KIND: Final[RecordKind[ReportDelivery]] = RecordKind(
    noun="report delivery", table=tables.REPORT_DELIVERIES, record_type=ReportDelivery, is_journal=True
)

SQL_QUERY_KIND: Final[RecordKind[SqlQuery]] = RecordKind(
    noun="query",
    table=tables.SQL_QUERIES,
    record_type=SqlQuery,
    texts=frozenset({"tables"}),
    computed={"sql_tables": tables.SQL_QUERIES.c.tables},
    enums={"state": QueryState},
    is_journal=True,
)

SAVED_QUERY_KIND: Final[RecordKind[SavedQuery]] = RecordKind(
    noun="saved query",
    table=tables.SAVED_QUERIES,
    record_type=SavedQuery,
    parts=(id_parts(tables.SAVED_QUERY_TAGS, "tag"),),
)
