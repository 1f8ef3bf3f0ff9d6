"""How each kind of record lies in its tables, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy import Column, ColumnElement, CompoundSelect, Executable, Insert, Select, Table

from analytics_core._records.audit import Audit
from analytics_core._records.chart import Chart
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import Grant, GrantTarget, Role, User
from analytics_core._security.row_rules import key_of_table
from analytics_core._storage import content_tables, tables
from analytics_core._storage.column_types import LongBytes, Name
from analytics_core._storage.parts import ItemParts, Parts, RowReader, ValueParts, links_statement
from analytics_core._storage.scopes import is_drawn_from_dataset
from analytics_core.errors import DatabaseNotFoundError, NotFoundError

AUDIT_COLUMNS: Final = ("created_on", "changed_on", "created_by", "changed_by", "version")
"""What the store itself keeps of every record: who made and changed it, when, and how often."""


class StoredRecord(Protocol):
    """What all records have."""

    @property
    def id(self) -> int:
        """The record's number; 0 before it is stored."""

    @property
    def audit(self) -> Audit:
        """Who made and changed it, when, and its version."""


Record = TypeVar("Record", bound=StoredRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A field whose ids must name stored records; `missing` makes the error for one that does not."""

    attribute: str
    table: Table
    missing: Callable[[int], NotFoundError]


@dataclass(frozen=True, slots=True, kw_only=True)
class Referrer:
    """Records of another kind that keep one of this kind from being deleted."""

    column: Column[Any]
    nouns: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrowed:
    """A listed value that is told by another kind of record: the `column` of the one that `key` names, where `holds`.

    It is read from there for each list, so that it is never stale.
    """

    column: Column[Any]
    key: Column[Any]
    holds: ColumnElement[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind(Generic[Record]):
    """How one kind of record is kept.

    `sealed` fields are secrets. In `blank_for_none` fields the store holds an empty text for None, since NULLs are
    never equal in a unique key. `pairs` fields are JSON texts of (name, value) pairs, `texts` fields JSON texts of
    texts; `enums` fields hold an enum's value. `named_by` are ids of other kinds' records that name one of this kind:
    lists are filtered by them, records do not hold them. Of `borrowed` fields lists see what another kind's records say
    now; `computed` ones are made of other columns, for lists alone. `links` are the parts that are ids of others, such
    as owners, and those that name a record. `derived` columns are written with each record and
    found by, never read. `forget` gives the statements that remove what
    other tables say about a deleted id without a foreign key. Nobody keeps records of an `is_journal` kind, so they do
    not move the store's revision.
    """

    noun: str
    table: Table
    record_type: Callable[..., Record]
    missing: Callable[[object], NotFoundError]
    sealed: frozenset[str] = frozenset()
    blank_for_none: frozenset[str] = frozenset()
    pairs: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    enums: Mapping[str, type[StrEnum]] = field(default_factory=dict)
    parts: tuple[Parts, ...] = ()
    named_by: tuple[ValueParts, ...] = ()
    borrowed: Mapping[str, Borrowed] = field(default_factory=dict)
    computed: Mapping[str, ColumnElement[str]] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Record], object]] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    referrers: tuple[Referrer, ...] = ()
    forget: Callable[[int], tuple[Executable, ...]] = lambda _id: ()
    is_journal: bool = False
    # What is used all the time is built once: how rows are read, the columns that fields are written to, statements.
    reader: RowReader = field(init=False)
    field_columns: tuple[str, ...] = field(init=False)
    listed_columns: Mapping[str, ColumnElement[Any]] = field(init=False)
    links: Mapping[str, ValueParts] = field(init=False)
    version_statement: Select[Any] = field(init=False)
    get_statement: Select[Any] = field(init=False)
    get_many_statement: Select[Any] = field(init=False)
    insert_statement: Insert = field(init=False)
    links_statement: CompoundSelect[Any] | None = field(init=False)

    def __post_init__(self) -> None:
        table, by_id = self.table, self.table.c.id == sa.bindparam("record_id")
        among = table.c.id.in_(sa.bindparam("record_ids", expanding=True, literal_execute=True))
        reader, hidden = RowReader(table, without=frozenset(self.derived)), {*AUDIT_COLUMNS, *self.derived, "id"}
        names = tuple(column.name for column in table.columns if column.name not in hidden)
        object.__setattr__(self, "reader", reader)
        object.__setattr__(self, "field_columns", names)
        object.__setattr__(self, "listed_columns", self._listed_columns())
        parts = (*self.parts, *self.named_by)
        links = {part.attribute: part for part in parts if isinstance(part, ValueParts) and part.is_ids}
        object.__setattr__(self, "links", links)
        object.__setattr__(self, "version_statement", sa.select(table.c.version).where(by_id))
        object.__setattr__(self, "get_statement", sa.select(*reader.columns).where(by_id))
        object.__setattr__(self, "get_many_statement", sa.select(*reader.columns).where(among).order_by(table.c.id))
        object.__setattr__(self, "insert_statement", sa.insert(table))
        object.__setattr__(self, "links_statement", links_statement(self.parts))

    def _listed_columns(self) -> Mapping[str, ColumnElement[Any]]:
        """Return what lists filter and order by; secrets, lists as JSON and bytes are none of it."""
        hidden = self.sealed | self.pairs | self.texts
        shown = (one for one in self.table.columns if one.name not in hidden and not isinstance(one.type, LongBytes))
        return {**{column.name: column for column in shown}, **self.computed}


def missing_record(noun: str) -> Callable[[object], NotFoundError]:
    """Return what makes the error of a record that is not there."""
    return lambda key: NotFoundError(noun, key)


def owner_parts(table: Table, parent: Column[Any]) -> ValueParts:
    """Return the owners of a record as a part of it."""
    return id_parts("owner_ids", noun="owner", parent=parent, column=table.c.user_id)


def id_parts(attribute: str, *, noun: str, parent: Column[Any], column: Column[Any]) -> ValueParts:
    """Return the ids in `column` of a table of pairs as a part of the record that `parent` names."""
    name = column.name
    return ValueParts(
        attribute=attribute,
        noun=noun,
        table=parent.table,
        parent=parent,
        read=None,
        write=lambda value: {name: value},
        collection=tuple,
    )


def _forget_user(user_id: int) -> tuple[Executable, ...]:
    """Take a deleted user out of ownerships, stars and audit columns, which hold ids that a host may have given.

    The user's jobs go with what came out of them: nobody else may read them, and a process that runs one finds none.
    """
    everything = content_tables.ALL_TABLES.tables.values()
    owned = (tables.DATASET_OWNERS, tables.CHART_OWNERS, content_tables.DASHBOARD_OWNERS)
    held = (*owned, content_tables.FAVOURITES, content_tables.JOBS)
    signed = [
        (table, table.c[name])
        for table in everything
        for name in ("created_by", "changed_by", "last_saved_by")
        if name in table.c
    ]
    return (
        *(sa.delete(table).where(table.c.user_id == user_id) for table in held),
        *(sa.update(table).where(column == user_id).values({column: None}) for table, column in signed),
    )


def forget_favourites(target: str) -> Callable[[int], tuple[Executable, ...]]:
    """Return what gives the statement that removes the stars of a deleted record."""
    table = content_tables.FAVOURITES
    return lambda record_id: (sa.delete(table).where(table.c.target == target, table.c.target_id == record_id),)


def _forget_grants(*targets: GrantTarget) -> Callable[[int], tuple[Executable, ...]]:
    grants = tables.ROLE_GRANTS
    names = [target.value for target in targets]
    return lambda target_id: (sa.delete(grants).where(grants.c.target.in_(names), grants.c.target_id == target_id),)


_COLUMNS: Final = ItemParts(
    attribute="columns",
    noun="column",
    name_field="column_name",
    table=tables.DATASET_COLUMNS,
    parent=tables.DATASET_COLUMNS.c.dataset_id,
    item_type=DatasetColumn,
)

_METRICS: Final = ItemParts(
    attribute="metrics",
    noun="metric",
    name_field="metric_name",
    table=tables.DATASET_METRICS,
    parent=tables.DATASET_METRICS.c.dataset_id,
    item_type=DatasetMetric,
)

_ROLE_IDS: Final = id_parts(
    "role_ids", noun="role", parent=tables.USER_ROLES.c.user_id, column=tables.USER_ROLES.c.role_id
)

_GRANTS: Final = ValueParts(
    attribute="grants",
    noun="grant",
    table=tables.ROLE_GRANTS,
    parent=tables.ROLE_GRANTS.c.role_id,
    read=lambda target, target_id, schema: Grant(
        target=GrantTarget(target), target_id=target_id, schema=schema or None
    ),
    write=lambda grant: {
        "target": grant.target.value,
        "target_id": grant.target_id,
        "schema": grant.schema or "",
    },
    collection=frozenset,
)


def _full_name() -> ColumnElement[str]:
    """Return how a user is called: first and last name, or the user name where there is neither."""
    user = tables.USERS.c
    both = sa.func.trim(user.first_name.concat(sa.literal_column("' '")).concat(user.last_name))
    return sa.type_coerce(sa.func.coalesce(sa.func.nullif(both, sa.literal_column("''")), user.username), Name())


USER_KIND: Final[RecordKind[User]] = RecordKind(
    noun="user",
    table=tables.USERS,
    record_type=User,
    missing=missing_record("user"),
    pairs=frozenset({"attributes"}),
    computed={"full_name": _full_name()},
    parts=(_ROLE_IDS,),
    references=(Reference(attribute="role_ids", table=tables.ROLES, missing=missing_record("role")),),
    forget=_forget_user,
)

ROLE_KIND: Final[RecordKind[Role]] = RecordKind(
    noun="role",
    table=tables.ROLES,
    record_type=Role,
    missing=missing_record("role"),
    parts=(_GRANTS,),
    referrers=(
        Referrer(column=tables.USER_ROLES.c.role_id, nouns="users"),
        Referrer(column=content_tables.DASHBOARD_ROLES.c.role_id, nouns="dashboards"),
        Referrer(column=content_tables.ROW_RULE_ROLES.c.role_id, nouns="row rules"),
    ),
)

DATABASE_KIND: Final[RecordKind[Database]] = RecordKind(
    noun="database",
    table=tables.DATABASES,
    record_type=Database,
    missing=DatabaseNotFoundError,
    sealed=frozenset({"uri", "ssh_tunnel"}),
    referrers=(Referrer(column=tables.DATASETS.c.database_id, nouns="datasets"),),
    forget=_forget_grants(GrantTarget.DATABASE, GrantTarget.SCHEMA),
)

DATASET_KIND: Final[RecordKind[Dataset]] = RecordKind(
    noun="dataset",
    table=tables.DATASETS,
    record_type=Dataset,
    missing=missing_record("dataset"),
    blank_for_none=frozenset({"catalog", "schema"}),
    texts=frozenset({"primary_key"}),
    derived={"table_key": key_of_table},
    parts=(_COLUMNS, _METRICS, owner_parts(tables.DATASET_OWNERS, tables.DATASET_OWNERS.c.dataset_id)),
    references=(Reference(attribute="database_id", table=tables.DATABASES, missing=DatabaseNotFoundError),),
    referrers=(Referrer(column=content_tables.ROW_RULE_DATASETS.c.dataset_id, nouns="row rules"),),
    forget=_forget_grants(GrantTarget.DATASET),
)

CHART_KIND: Final[RecordKind[Chart]] = RecordKind(
    noun="chart",
    table=tables.CHARTS,
    record_type=Chart,
    missing=missing_record("chart"),
    parts=(
        owner_parts(tables.CHART_OWNERS, tables.CHART_OWNERS.c.chart_id),
        id_parts(
            "tag_ids",
            noun="tag",
            parent=content_tables.CHART_TAGS.c.chart_id,
            column=content_tables.CHART_TAGS.c.tag_id,
        ),
    ),
    named_by=(
        id_parts(
            "dashboard_ids",
            noun="dashboard",
            parent=content_tables.DASHBOARD_CHARTS.c.chart_id,
            column=content_tables.DASHBOARD_CHARTS.c.dashboard_id,
        ),
    ),
    borrowed={
        "datasource_name": Borrowed(
            column=tables.DATASETS.c.table_name, key=tables.CHARTS.c.datasource_id, holds=is_drawn_from_dataset()
        )
    },
    references=(Reference(attribute="tag_ids", table=content_tables.TAGS, missing=missing_record("tag")),),
    forget=forget_favourites("chart"),
)
