"""The one way to a user's database: who acts and on what is decided first; only then can a statement run."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self, overload

from sqlglot import exp

from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.statements import StatementRunner
from analytics_core._engine.gate.loaded_datasets import LoadedDataset
from analytics_core._engine.gate.relations import (
    exact_name,
    exact_names,
    reject_revealing_table,
    table_name,
    tables_of,
    unlisted_names,
)
from analytics_core._engine.oauth.user_tokens import UserTokens
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Permission, Policy
from analytics_core._engine.rights.row_rules import StoredRules, TableName, ruled_dataset
from analytics_core._engine.rights.scopes import decides_by_table
from analytics_core._records.datasource import Access, Database, Dataset, Identity
from analytics_core._records.people import RowFilter
from analytics_core._records.repositories import Snapshot
from analytics_core._tools.memo import Memo
from analytics_core._tools.once import Once
from analytics_core.errors import DatabaseAccessError, StatementError, TableAccessError
from analytics_core.errors.base import known_list

if TYPE_CHECKING:
    from analytics_core._engine.compile.plan import SqlSource, TableSource
    from analytics_core._engine.gate.row_security import RowSecurity, RuledActor

_ADMITTING: Final = ("can_read_dataset", "require_read_dataset", "can_query_database")


class DatabaseUse(StrEnum):
    """What an actor wants of a whole database: to list what is in it, to run SQL of their own, or to manage it."""

    LIST = "list"
    QUERY = "query"
    MANAGE = "manage"


@dataclass(frozen=True, slots=True)
class SchemaTables:
    """The tables of a schema (None: the default one)."""

    schema: str | None


@dataclass(frozen=True, slots=True)
class StatementTables:
    """The tables that a checked statement of a person reads; `written` is the text that they sent."""

    tree: exp.Expr
    written: str

    @classmethod
    def of_dataset(cls, statement: Dataset, checked: SqlSource) -> Self:
        """Return the tables of a stored statement, as a dataset, after its check."""
        assert checked.tree is not None  # noqa: S101 - the guard gives a source with its tree; tells the type checker
        return cls(checked.tree, f"{statement.sql} {statement.schema}")


@dataclass(frozen=True, slots=True)
class UploadSchema:
    """The schema that a file is uploaded into, and whether a table that is there is to be changed."""

    schema: str | None
    changes_tables: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetAdmission(Admission):
    """Proof that an actor may read a dataset, with the row filters that bind them there.

    Attributes:
        loaded: the dataset.
        ruled: knows the rules on the relations that the dataset's SQL may read.
        writes_sql: whether the actor may run SQL of their own on the database.
        recall_key: what a prepared query depends on, beyond its payload and the moment: who asks, the state of the
            dataset, and its rules; None: prepare every query anew. What binds on the tables inside the SQL of a virtual
            dataset is told by `Gate.rules_on`.
    """

    loaded: LoadedDataset
    row_filters: tuple[RowFilter, ...]
    ruled: RuledActor
    writes_sql: bool
    recall_key: Hashable | None


class Gate:
    """Admits actors to databases and what is in them.

    Attributes:
        statements: runs what was made from an admission.
    """

    def __init__(
        self,
        *,
        policy: Policy,
        registry: EngineRegistry,
        runner: StatementRunner,
        row_security: Once[RowSecurity],
        books: StoredRules,
        tokens: UserTokens | None = None,
        allowed_functions: Mapping[str, AbstractSet[str]] = MappingProxyType({}),
    ) -> None:
        self._policy = policy
        self._registry = registry
        self.statements = runner
        self._made_row_security = row_security
        self._books = books
        self._tokens = tokens
        self._allowed_functions = allowed_functions
        self._checked: Memo[Hashable, SqlSource] = Memo(capacity=500)
        self._admitted: Memo[Hashable, DatasetAdmission] = Memo()

    @property
    def _row_security(self) -> RowSecurity:
        return self._made_row_security()

    @overload
    def admit(self, actor: Actor, database: Database, *, on: LoadedDataset) -> DatasetAdmission: ...

    @overload
    def admit(
        self,
        actor: Actor,
        database: Database,
        *,
        on: SchemaTables | TableName | DatabaseUse | StatementTables | UploadSchema,
        access: Access = Access.READ,
    ) -> Admission: ...

    def admit(
        self,
        actor: Actor,
        database: Database,
        *,
        on: LoadedDataset | SchemaTables | TableName | DatabaseUse | StatementTables | UploadSchema,
        access: Access = Access.READ,
    ) -> Admission:
        """Return the actor's admission to a dataset, the tables of a schema, one table, a whole database, or an upload.

        One table is for those who may read its schema, or a dataset over it. So are the tables of a statement, each by
        its one name; all of them are for whoever may run SQL on the whole database.

        Raises:
            TableAccessError: a statement reads tables without a grant.
            DatasetAccessError, DatabaseAccessError: no grant; a guest on a database that is asked in the name of its
                users; or write access to a database that does not allow it.
            TemplateError: a row rule names an attribute that the actor does not have.
        """
        if isinstance(on, LoadedDataset):
            return self._admit_to_dataset(actor, on)
        match on:
            case SchemaTables(schema):
                self._policy.require_read_table(actor, database, schema=schema)
            case TableName():
                self._require_table(actor, database, on)
            case DatabaseUse.LIST:
                self._policy.require_read_database(actor, database)
            case DatabaseUse.QUERY:
                self._policy.require_query_database(actor, database)
            case DatabaseUse.MANAGE:
                self._policy.require_manage_databases(actor)
            case StatementTables():
                self._require_tables(actor, database, on)
            case UploadSchema():
                self._require_upload(actor, database, on)
        uploads, makes = isinstance(on, UploadSchema), database.allow_ctas or database.allow_cvas
        if access is Access.WRITE and not uploads and not (on is DatabaseUse.QUERY and (database.allow_dml or makes)):
            raise DatabaseAccessError(
                f"database {database.id} does not let SQL change its data; an administrator may set allow_dml"
            )
        spec, identity = self._registry.get(database.engine), self._identity(actor, database)
        return Admission(
            actor=actor,
            database=database,
            spec=spec,
            identity=identity,
            access=access,
            may_know_why=self._policy.sees_all(Permission.WRITE_DATABASE, actor),
        )

    def read_ahead(self, actor: Actor, loaded: LoadedDataset, at: Snapshot) -> None:
        """Read the rules that an admission to a dataset asks for; they are remembered for a moment."""
        self._row_security.read_ahead(actor, loaded.ruled, at)

    def spec_of(self, database: Database) -> EngineSpec:
        """Return the facts of a database's engine, by which statements are read before anybody is admitted."""
        return self._registry.get(database.engine)

    def _require_upload(self, actor: Actor, database: Database, target: UploadSchema) -> None:
        """Let pass where the database takes uploads; tables that are there change in schemas named for it alone.

        Administrators, who name the schemas, may change tables in each that takes uploads.
        """
        self._policy.require_upload(actor, database, schema=target.schema)
        named = upload_schemas(database)
        if not database.allow_file_upload or (named and target.schema not in named):
            raise DatabaseAccessError(
                f"database {database.id} takes no files in this schema; an administrator may set allow_file_upload, "
                "and name the schema in schemas_allowed_for_file_upload of its extra"
            )
        is_administrator = self._policy.sees_all(Permission.UPLOAD_FILES, actor)
        if target.changes_tables and not named and not is_administrator:
            raise DatabaseAccessError(
                f"you may upload new tables into database {database.id}, not replace or append to those there are; an "
                "administrator may name the schema in schemas_allowed_for_file_upload"
            )

    def _admit_to_dataset(self, actor: Actor, loaded: LoadedDataset) -> DatasetAdmission:
        """Return the admission; of the same actor to the same state of a dataset, under the same rules, it is known.

        The policy's table decides by the actor and the records alone, so it is not asked twice of the same ones. What
        methods of a host's policy, its own sources or a guest's token say besides is asked for each time.
        """
        row_security = self._row_security
        asks_others = row_security.asks_a_host or actor.guest is not None
        signs_in = self._takes_tokens(loaded.database)  # or out, at any moment
        remembers = not (asks_others or signs_in) and decides_by_table(self._policy, *_ADMITTING)
        key = (actor, loaded.versions)
        known = self._admitted.get(key) if remembers else None
        if known is not None and known.loaded is not loaded and known.loaded != loaded:
            known = None
        if known is None:
            self._require_dataset(actor, loaded)
        ruled = row_security.ruled(actor, loaded.dataset, loaded.spec, loaded.ruled)
        if known is not None and known.ruled.book.digest == ruled.book.digest:
            return known
        admission = self._admission(ruled, loaded, asks_others=asks_others)
        if remembers:
            self._admitted.put(key, admission)
        return admission

    def _require_dataset(self, actor: Actor, loaded: LoadedDataset) -> None:
        if actor.guest is not None or not loaded.is_statement:  # whose tables are looked at in `source`
            self._policy.require_read_dataset(actor, loaded.dataset)
        if actor.guest is not None and (loaded.database.impersonate_user or self._takes_tokens(loaded.database)):
            raise DatabaseAccessError(
                f"database {loaded.database.id} is asked in the name of its users, and guests are none; "
                "embed charts of another connection"
            )

    def _identity(self, actor: Actor, database: Database) -> Identity | None:
        if self._tokens is None or not self._tokens.are_needed_by(database):
            return actor.identity_on(database)
        return actor.identity_on(database, by_token=True, authorization=self._tokens.authorization(database, actor.id))

    def _takes_tokens(self, database: Database) -> bool:
        return self._tokens is not None and self._tokens.are_needed_by(database)

    def _admission(self, ruled: RuledActor, loaded: LoadedDataset, *, asks_others: bool) -> DatasetAdmission:
        actor, database = ruled.actor, loaded.database
        row_filters = self._row_security.on_dataset(ruled)
        writes_sql = self._policy.can_query_database(actor, database)
        identity = self._identity(actor, database)
        rules = (actor, loaded.versions, row_filters, ruled.book.digest, writes_sql, identity)
        by_tables = loaded.is_statement and not writes_sql  # the datasets over them change at any moment
        return DatasetAdmission(
            actor=actor,
            database=database,
            loaded=loaded,
            spec=loaded.spec,
            row_filters=row_filters,
            ruled=ruled,
            identity=identity,
            writes_sql=writes_sql,
            may_know_why=self._policy.sees_all(Permission.WRITE_DATABASE, actor),
            recall_key=None if loaded.dataset.sql and (asks_others or by_tables) else rules,
        )

    def _require_table(self, actor: Actor, database: Database, name: TableName) -> None:
        """Let pass who may read the tables of the schema, or a dataset over this one."""
        if self._policy.can_read_tables(actor, database, schema=name.schema):
            return
        over = self._over(database, name, exact_name(name, self.spec_of(database)))
        if not any(self._policy.can_read_dataset(actor, dataset) for dataset in over):
            self._policy.require_read_table(actor, database, schema=name.schema)

    def _require_tables(self, actor: Actor, database: Database, on: StatementTables) -> None:
        """Let pass who may run SQL on the whole database, or has a grant on each table of the statement.

        Nobody looks whether a table is there: one that is missing and one that is not granted are refused alike. So are
        functions and types beyond the lists: owners' functions read tables, and each table is a type on PostgreSQL.
        """
        if self._policy.can_query_database(actor, database):
            return
        spec = self.spec_of(database)
        added = self._allowed_functions.get(spec.name, frozenset())
        if unlisted := next(unlisted_names(on.tree, spec, added), None):
            named = unlisted if unlisted.lower() in on.written.lower() else "a function or type of its own"
            raise TableAccessError(
                f"SQL that uses {named}, which may read any table, needs a grant on the whole database {database.id}; "
                "an administrator may also list it in Settings.allowed_functions"
            )
        tables = dict.fromkeys(exact_names(on.tree, spec))
        if not tables and not self._policy.can_read_database(actor, database):
            raise DatabaseAccessError(
                f"SQL that reads no table needs a grant on database {database.id} or a schema of it; ask an admin"
            )
        closed = {str(ref) for ref, name in tables if not self._may_query(actor, database, table_name(ref), name)}
        if closed:
            raise _closed_tables(database, sorted(closed), on.written)

    def _may_query(self, actor: Actor, database: Database, written: TableName, name: TableName | None) -> bool:
        """Tell whether SQL of the actor's own may read a table, by a grant on its schema or on a dataset over it.

        `name` is its one name as the engine compares it; None is that of no table with a grant.
        """
        if name is not None and name.schema and not name.catalog:
            granted = {grant.schema for grant in actor.grants if grant.target_id == database.id and grant.schema}
            folded, spec = TableName(table=name.schema), self.spec_of(database)
            schemas = {one for one in granted if exact_name(TableName(table=one), spec) == folded} | {name.schema}
            if any(self._policy.can_query_tables(actor, database, schema=schema) for schema in schemas):
                return True
        return any(self._policy.can_query_table_of(actor, dataset) for dataset in self._over(database, written, name))

    def _over(self, database: Database, written: TableName, name: TableName | None) -> Iterator[Dataset]:
        """Yield the datasets over the table of this one name, and not those over others that `written` may mean."""
        spec = self.spec_of(database)
        for dataset in () if name is None else self._books.tables(database.id, written):
            own = ruled_dataset(dataset).name
            if own is not None and exact_name(own, spec) == name:
                yield dataset

    def source(self, admission: DatasetAdmission, sql: str | None) -> TableSource | SqlSource:
        """Return what the dataset reads: its table, or `sql` (its own, rendered) as one checked SELECT.

        Each relation in the SQL carries the row rules that bind the actor on its table; in a stored statement it takes
        a grant, too.

        Raises:
            TableAccessError, DatabaseAccessError: a stored statement reads tables on which the actor has no grant.
            VirtualDatasetError, StatementRefusedError: the SQL is not one SELECT.
        """
        dataset = admission.loaded.dataset
        if sql is None:
            reject_revealing_table(dataset, admission.spec)
            from analytics_core._engine.compile.planning_context import table_of

            return table_of(dataset)
        checked = self._check(dataset, sql, admission.spec)
        if admission.loaded.is_statement:
            self._require_tables(admission.actor, admission.database, StatementTables.of_dataset(dataset, checked))
        return self._row_security.in_source(admission.ruled, checked)

    def _check(self, dataset: Dataset, sql: str, spec: EngineSpec) -> SqlSource:
        """Return the checked SELECT; the same SQL of the same engine is not checked again."""
        key = (dataset.table_name, sql, spec.name)
        checked = self._checked.get(key)
        if checked is None:
            from analytics_core._engine.gate.guard import check_select

            checked = check_select(sql, spec=spec, place=f"dataset {dataset.table_name!r}")
            self._checked.put(key, checked)
        return checked

    def statement(self, spec: EngineSpec, sql: str) -> SqlSource:
        """Return a statement that a person wrote as one checked query; the same one is not checked again.

        Raises:
            StatementError: it is no statement of the engine's SQL.
            StatementRefusedError: it is not one query that only reads, or reads what cannot be told to be a table.
        """
        key = (StatementError, sql, spec.name)
        checked = self._checked.get(key)
        if checked is None:
            from analytics_core._engine.gate.guard import BESIDE_QUERIES, check_select

            checked = check_select(
                sql, spec=spec, place="the statement", invalid_as=StatementError, hint=BESIDE_QUERIES
            )
            self._checked.put(key, checked)
        return checked

    def tables_in(
        self, admission: DatasetAdmission, sources: Iterable[TableSource | SqlSource]
    ) -> frozenset[TableName]:
        """Return the tables that statements of a virtual dataset read inside its SQL."""
        from analytics_core._engine.compile.plan import SqlSource

        trees = (source.tree for source in sources if isinstance(source, SqlSource) and source.tree is not None)
        return frozenset(table_name(table) for tree in trees for table in tables_of(tree, admission.spec))

    def rules_on(self, admission: DatasetAdmission, tables: frozenset[TableName]) -> str:
        """Return a digest of the stored rules on tables for the actor; another one tells that they changed."""
        return self._row_security.digest(admission.ruled, tables)

    def still_ruled(self, admission: DatasetAdmission, sources: Iterable[TableSource | SqlSource]) -> bool:
        """Tell whether the SQL of a virtual dataset has the rules that are stored now, and not older ones."""
        from analytics_core._engine.compile.plan import SqlSource

        return all(
            self._row_security.in_source(admission.ruled, replace(source, rules=())) == source
            for source in sources
            if isinstance(source, SqlSource)
        )


def _closed_tables(database: Database, tables: Sequence[str], written: str) -> TableAccessError:
    """Return the refusal of a statement; it repeats the names that the statement holds as it was sent, and no other."""
    named = [table for table in tables if all(part in written for part in table.split("."))]
    which = f"read {known_list(named)}" if len(named) == len(tables) else "read all tables that this reads"
    return TableAccessError(
        f"you may not {which} on database {database.id}; ask an administrator for a grant on each, on its schema or on "
        "the database. A name without a schema is that of a dataset without one: write the schema that you mean",
        extra={"tables": named},
    )


def upload_schemas(database: Database) -> tuple[str, ...]:
    """Return the schemas that `extra` names for uploads; none: any. What cannot be read names one that is not there."""
    try:
        options = json.loads(database.extra or "{}")
        named = options.get("schemas_allowed_for_file_upload")
    except (ValueError, RecursionError, AttributeError):
        return ("",)
    if named is None:
        return ()
    if not isinstance(named, list):
        return ("",)
    return tuple(name if isinstance(name, str) else "" for name in named)
