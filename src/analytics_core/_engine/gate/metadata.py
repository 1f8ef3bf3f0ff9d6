"""What databases tell of themselves: schemas, tables, functions, columns of a source; names of tables are cached."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.connection_uri import masked
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.fetching import FetchLimits
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.sessions.metadata import ReflectedColumn, ReflectedTable
from analytics_core._engine.gate.gate import DatabaseUse, Gate, SchemaTables, StatementTables
from analytics_core._engine.gate.relations import reject_revealing_table, tables_of
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.keys import SEAL_BYTES, EntrySeal
from analytics_core._engine.rights.policy import Policy
from analytics_core._engine.rights.row_rules import TableName
from analytics_core._records.datasource import Database, Dataset, DatasetColumn
from analytics_core._tools.once import Once
from analytics_core.errors import DatabaseAccessError, DatabaseError, Problem, VirtualDatasetError
from analytics_core.ports import Cache

if TYPE_CHECKING:
    from analytics_core._engine.gate.row_security import RowSecurity

_LONGEST_TRIAL_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundColumn:
    """A column as the database describes it; `type` is the engine's own text, `nullable` None means unknown.

    `key_position` is its place in the primary key, from 1; `leads_index`, `collation` and `is_stored` are as reflected.
    """

    name: str
    type: str
    kind: ValueKind
    nullable: bool | None = None
    key_position: int | None = None
    leads_index: bool | None = None
    collation: str | None = None
    is_stored: bool = False

    def as_dataset_column(self) -> DatasetColumn:
        """Return the column of a dataset that it is; one of moments is marked as such."""
        return DatasetColumn(
            column_name=self.name,
            type=self.type,
            is_dttm=self.kind.is_temporal,
            nullable=self.nullable,
            leads_index=self.leads_index,
            collation=self.collation,
            stored_type=self.stored_type,
        )

    @property
    def stored_type(self) -> str | None:
        """The type, if the column is stored and not computed."""
        return self.type if self.is_stored else None


class MetadataReader:
    """Asks databases about themselves, through the gate."""

    def __init__(
        self,
        *,
        gate: Gate,
        policy: Policy,
        reflector: Reflector,
        names: CachedNames,
        row_security: Once[RowSecurity],
        timeout_s: float,
    ) -> None:
        self._gate = gate
        self._policy = policy
        self._reflector = reflector
        self._names = names
        self._made_row_security = row_security
        self._trial = FetchLimits(max_rows=1, max_bytes=1_000_000, timeout_s=min(timeout_s, _LONGEST_TRIAL_S))

    @property
    def _row_security(self) -> RowSecurity:
        return self._made_row_security()

    def columns_of(
        self, actor: Actor, dataset: Dataset, database: Database, *, sql: str | None, is_statement: bool = False
    ) -> tuple[FoundColumn, ...]:
        """Return the columns of a dataset's table, or of `sql`: the dataset's own, with its templates rendered.

        What the database looks at to tell them are the actor's rows: names of columns (PIVOT), types and errors may
        come from rows. A stored statement is for whoever may read each of its tables.

        Raises:
            DatabaseAccessError: the actor may not read this schema, or run SQL on this database.
            TableAccessError: a stored statement reads tables on which the actor has no grant.
            VirtualDatasetError, StatementRefusedError: `sql` is not one SELECT with distinct column names, or the table
                may not be read by anybody.
            DatabaseError: there is no such table, or the database cannot be reached.
            TemplateError, RowRuleError: a row rule that binds the actor on a relation in `sql` cannot be evaluated.
        """
        if sql is None:
            return self._columns_of_table(actor, dataset, database)
        from analytics_core._engine.compile.render import render_source
        from analytics_core._engine.gate.guard import check_select

        spec, place = self._gate.spec_of(database), f"dataset {dataset.table_name!r}"
        admission = None if is_statement else self._gate.admit(actor, database, on=DatabaseUse.QUERY)
        checked = check_select(sql, spec=spec, place=place)
        tables = StatementTables.of_dataset(dataset, checked)
        admission = admission or self._gate.admit(actor, database, on=tables)
        source = self._row_security.in_source(self._row_security.ruled(actor, dataset, spec), checked)
        if isinstance(source.tree, exp.Query):
            _reject_twins(source.tree.named_selects, place, spec)
        permitted = render_source(source, spec) if source.rules else None
        found = self._reflector.columns_of_select(admission, source.sql, permitted=permitted)
        if self.are_stored(admission, tables_of(tables.tree, spec)):
            found = tuple(replace(column, is_stored=True) for column in found)
        columns = with_kinds(found, spec)
        _reject_twins((column.name for column in columns), place, spec)
        return columns

    def columns_of_relation(self, actor: Actor, database: Database, table: TableName) -> tuple[FoundColumn, ...]:
        """Return the columns of a table that a statement may read: by its schema, or by a dataset over it.

        Raises:
            DatabaseAccessError: the actor may not read it.
            StatementRefusedError, DatabaseError: as for `columns_of`.
        """
        named = Dataset(
            uuid="", database_id=database.id, table_name=table.table, schema=table.schema, catalog=table.catalog
        )
        return self._reflected(self._gate.admit(actor, database, on=table), named)

    def _columns_of_table(self, actor: Actor, dataset: Dataset, database: Database) -> tuple[FoundColumn, ...]:
        return self._reflected(self._gate.admit(actor, database, on=SchemaTables(dataset.schema)), dataset)

    def _reflected(self, admission: Admission, dataset: Dataset) -> tuple[FoundColumn, ...]:
        reject_revealing_table(dataset, admission.spec)
        found = self._reflector.columns(
            admission, table=dataset.table_name, schema=dataset.schema, catalog=dataset.catalog
        )
        return with_kinds(found, admission.spec)

    def are_stored(self, admission: Admission, tables: Iterable[TableRef]) -> bool:
        """Tell whether all of some relations are stored tables, so that no view is among them."""
        read = [(t.table, ".".join(filter(None, (t.catalog, t.schema))) or None) for t in tables]
        return self._reflector.stores(admission, read)

    def schemas_of(self, actor: Actor, database: Database, *, force: bool = False) -> tuple[str, ...]:
        """Return the schemas of a database whose tables the actor may read; `force` passes the cache over.

        Raises:
            DatabaseAccessError: the actor may not see the database.
            DatabaseError: the database cannot be reached.
        """
        found = self._names.schemas(self._gate.admit(actor, database, on=DatabaseUse.LIST), force=force)
        return tuple(name for name in found if self._policy.can_read_tables(actor, database, schema=name))

    def catalogs_of(self, actor: Actor, database: Database) -> tuple[str, ...]:
        """Return the catalogs whose tables statements on a database may name; they are not kept.

        Raises:
            DatabaseAccessError: the actor has no grant on the whole database.
            DatabaseError: the database cannot be reached.
        """
        return self._reflector.catalogs(self._gate.admit(actor, database, on=SchemaTables(None)))

    def tables_of(
        self, actor: Actor, database: Database, *, schema: str | None, force: bool = False
    ) -> tuple[ReflectedTable, ...]:
        """Return the tables and views of a schema (None: the default one); `force` passes the cache over.

        Raises:
            DatabaseAccessError: the actor may not read this schema.
            DatabaseError: there is no such schema, or the database cannot be reached.
        """
        return self._names.tables(self._gate.admit(actor, database, on=SchemaTables(schema)), schema, force=force)

    def default_schema_of(self, actor: Actor, database: Database) -> str | None:
        """Return the schema that a name without one means; None where the database does not tell the actor."""
        try:
            return self._reflector.default_schema(self._gate.admit(actor, database, on=SchemaTables(None)))
        except (DatabaseAccessError, DatabaseError):  # what is asked for may be known without it
            return None

    def functions_of(self, actor: Actor, database: Database) -> tuple[str, ...]:
        """Return the names of the functions that SQL on the database may call, sorted.

        Raises:
            DatabaseAccessError: the actor may not see the database.
            DatabaseError: the database cannot be reached.
        """
        admission = self._gate.admit(actor, database, on=DatabaseUse.LIST)
        denied = admission.spec.guards.denied_functions
        return tuple(name for name in self._reflector.functions(admission) if name.casefold() not in denied)

    def try_connection(self, actor: Actor, database: Database) -> None:
        """Connect and run the smallest statement; a DatabaseError says what went wrong."""
        admission = self._gate.admit(actor, database, on=DatabaseUse.MANAGE)
        statement = Statement(
            sql="SELECT 1", parameters=(), display_sql="SELECT 1", labels=("one",), kinds=(ValueKind.INTEGER,)
        )
        self._gate.statements.run(admission.to_run(statement), limits=self._trial)


def with_kinds(columns: Iterable[ReflectedColumn], spec: EngineSpec) -> tuple[FoundColumn, ...]:
    """Return reflected columns with their kinds of value."""
    return tuple(
        FoundColumn(
            name=column.name,
            type=column.type_text,
            kind=spec.value_kind(column.type_text),
            nullable=column.nullable,
            key_position=column.key_position,
            leads_index=column.leads_index,
            collation=column.collation,
            is_stored=column.is_stored,
        )
        for column in columns
    )


def _reject_twins(names: Iterable[str], place: str, spec: EngineSpec) -> None:
    """Refuse two columns of one name: engines disagree on what to call the second, or give the first for both."""
    known: set[str] = set()
    for name in names:
        folded = name.casefold() if spec.folds_names else name
        if folded in known:
            raise VirtualDatasetError(f"{place}: two columns are called {name!r}; give each an alias of its own")
        if name not in ("", "*"):
            known.add(folded)


Rows = list[list[Any]]
_OPTION: Final = "metadata_cache_timeout"
_TIMEOUTS: Final = ("schema_cache_timeout", "table_cache_timeout")
_LONGEST_S: Final = 2**31 - 1


class CachedNames:
    """Asks databases for their schemas and tables, or the cache where `extra` of the database lets it keep them.

    A list belongs to one version of a database, one schema and, where the database impersonates, one user: a changed
    database is asked anew. Errors are never kept. Which of the names somebody may see is for the caller to decide.
    Entries are sealed: a cache that others can write to gives no names of theirs.
    """

    def __init__(self, reflector: Reflector, cache: Cache, seal: EntrySeal) -> None:
        self._reflector = reflector
        self._cache = cache
        self._seal = seal

    def schemas(self, admission: Admission, *, force: bool) -> tuple[str, ...]:
        """Return the schema names, sorted; `force` asks the database and keeps its answer."""

        def ask() -> Rows:
            return [[name] for name in self._reflector.schemas(admission)]

        timeout_s = _timeout(admission.database, "schema_cache_timeout")
        rows = self._rows(_key("schemas", admission), timeout_s, ask, force=force)
        return tuple(row[0] for row in rows)

    def tables(self, admission: Admission, schema: str | None, *, force: bool) -> tuple[ReflectedTable, ...]:
        """Return tables and views of a schema, sorted by name; `force` asks the database and keeps its answer."""

        def ask() -> Rows:
            return [
                [table.name, table.is_view, table.is_materialized]
                for table in self._reflector.tables(admission, schema)
            ]

        timeout_s = _timeout(admission.database, "table_cache_timeout")
        generation = None if timeout_s is None else self._generation(admission)
        rows = self._rows(_key("tables and views", admission, schema, generation), timeout_s, ask, force=force)
        return tuple(
            ReflectedTable(name=name, is_view=is_view, is_materialized=is_materialized)
            for name, is_view, is_materialized in rows
        )

    def forget_tables(self, admission: Admission) -> None:
        """Forget the tables of a database, for they have changed: the lists of all its users and schemas."""
        self._begin_generation(admission)

    def _generation(self, admission: Admission) -> str:
        """Return which lists of tables are believed; what the cache has dropped begins anew, lest old ones return."""
        cached = self._cache.get(_generation_key(admission))
        return cached.hex() if cached else self._begin_generation(admission)

    def _begin_generation(self, admission: Admission) -> str:
        made = secrets.token_bytes(16)
        self._cache.set(_generation_key(admission), made, timeout_s=None)
        return made.hex()

    def _rows(self, key: str, timeout_s: int | None, ask: Callable[[], Rows], *, force: bool) -> Rows:
        """Return the rows of a list; a `timeout_s` of None keeps nothing, 0 keeps for ever."""
        if timeout_s is None:
            return ask()
        cached = None if force else self._read(key)
        if cached is not None:
            return cached
        rows = ask()
        content = json.dumps(rows).encode()
        self._cache.set(key, self._seal.made(key, (content,)) + content, timeout_s=timeout_s or None)
        return rows

    def _read(self, key: str) -> Rows | None:
        """Return the rows of an entry; what was not sealed for this key is a miss."""
        entry = self._cache.get(key) or b""
        seal, content = entry[:SEAL_BYTES], entry[SEAL_BYTES:]
        if len(seal) < SEAL_BYTES or not self._seal.holds(key, seal, content):
            return None
        rows: Rows = json.loads(content)
        return rows


def timeout_problems(extra: str | None) -> tuple[Problem, ...]:
    """Return what is wrong with `metadata_cache_timeout` in the JSON text `extra`; null stands for unset."""
    found = _timeouts(extra)
    if found is not None and not isinstance(found, dict):
        return (Problem(path=_OPTION, message=f"must be an object with {' and '.join(_TIMEOUTS)}"),)
    message = "must be a whole number of seconds, 0 for names that are kept for ever"
    return tuple(
        Problem(path=f"{_OPTION}.{name}", message=message)
        for name in _TIMEOUTS
        if found and found.get(name) is not None and _seconds(found[name]) is None
    )


def _timeouts(extra: str | None) -> Any:
    try:
        options = json.loads(extra or "{}")
    except (ValueError, RecursionError):
        return None
    return options.get(_OPTION) if isinstance(options, dict) else None


def _timeout(database: Database, name: str) -> int | None:
    """Return seconds; None where nothing is kept: unset, or not what may be set (older hosts may have stored it)."""
    found = _timeouts(database.extra)
    return _seconds(found.get(name)) if isinstance(found, dict) else None


def _seconds(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _LONGEST_S else None


def _key(kind: str, admission: Admission, schema: str | None = None, generation: str | None = None) -> str:
    """Return the key of a list."""
    identity = admission.identity
    return _hashed(kind, *_address(admission), None if identity is None else identity.key, schema, generation)


def _generation_key(admission: Admission) -> str:
    return f"generation-{_hashed(*_address(admission))}"


def _address(admission: Admission) -> tuple[Any, ...]:
    """Return what tells databases apart: the URI, without its secrets, for stores that share uuids and a cache."""
    database = admission.database
    return database.id, database.uuid, database.audit.version, masked(database.uri)


def _hashed(*parts: Any) -> str:
    return f"database-names-{hashlib.sha256(repr(parts).encode()).hexdigest()}"
