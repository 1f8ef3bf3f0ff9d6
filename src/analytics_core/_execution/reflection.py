"""What a user's database holds: schemas, tables, columns with the engine's own type texts, columns of a query."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import NoSuchTableError

from analytics_core._engines.spec import ParamStyle
from analytics_core._engines.specs.postgresql import NOT_DETERMINISTIC
from analytics_core._error_texts import short_repr
from analytics_core._execution import sqlite_reflection
from analytics_core._execution.admission import Admission
from analytics_core._execution.connections import Connections, OpenConnection
from analytics_core._execution.query_columns import BoundQuery, describe_columns
from analytics_core._execution.sessions.postgresql import reading_json
from analytics_core._execution.sessions.sqlite import without_authoriser
from analytics_core._execution.stored_relations import computed_columns
from analytics_core._records.identity import Access
from analytics_core.errors import AnalyticsError, DatabaseError, ErrorType, nearest
from analytics_core.ports import Connector

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectedTable:
    """A table or view, by the name that the database knows."""

    name: str
    is_view: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectedColumn:
    """A column with its type as the engine writes it; `nullable` None: not known (views, query results).

    `key_position` is its place in the primary key, from 1; None: it is no part of it, or the engine does not hold to
    its keys. `leads_index` tells whether an index over all rows begins with it, `collation` how its text is compared;
    both None: not asked of this engine. `is_stored`: its values are stored, not computed when they are read.
    """

    name: str
    type_text: str
    nullable: bool | None = None
    key_position: int | None = None
    leads_index: bool | None = None
    collation: str | None = None
    is_stored: bool = False


class Reflector:
    """Asks databases what they hold, on their read-only connections; any thread may use it.

    Each question takes the admission of who asks.

    Args:
        connector: gives the engines.
        timeout_s: seconds that one question may take.
    """

    def __init__(self, connector: Connector, *, timeout_s: float = 60.0) -> None:
        self._connections = Connections(connector)
        self._timeout_s = timeout_s

    def schemas(self, admission: Admission) -> tuple[str, ...]:
        """Return the schema names, sorted."""
        return self._ask(admission, _schemas)

    def tables(self, admission: Admission, schema: str | None = None) -> tuple[ReflectedTable, ...]:
        """Return tables and views of a schema (None: the default one), sorted by name.

        Raises:
            DatabaseError: the database does not answer, or there is no such schema.
        """
        try:
            found = self._ask(admission, lambda connection: _tables(connection, schema), names=(schema,))
        except DatabaseError as error:
            if schema and error.error_type in _NOT_THERE:
                self._check_schema(admission, schema)
            raise
        if not found and schema:
            self._check_schema(admission, schema)
        return found

    def default_schema(self, admission: Admission) -> str | None:
        """Return the schema that a name without one means; None on engines without any."""
        return self._ask(admission, _default_schema)

    def functions(self, admission: Admission) -> tuple[str, ...]:
        """Return the names of the functions that the database knows, sorted; none where it does not tell."""
        return self._ask(admission, _functions)

    def columns(
        self,
        admission: Admission,
        *,
        table: str,
        schema: str | None = None,
        catalog: str | None = None,
    ) -> tuple[ReflectedColumn, ...]:
        """Return the columns of a table or view, in their order.

        Raises:
            DatabaseError: of type TABLE_DOES_NOT_EXIST_ERROR, with the nearest names, when there is no such table, and
                SCHEMA_DOES_NOT_EXIST_ERROR when there is no such schema.
        """
        full_schema = f"{catalog}.{schema}" if catalog and schema else schema
        names = (table, schema, catalog)
        columns = self._ask(admission, lambda connection: _with_storage(connection, table, full_schema), names=names)
        if not columns:
            if schema and not catalog:
                self._check_schema(admission, schema)
            raise self._no_table(admission, table=table, schema=schema)
        return columns

    def stores(self, admission: Admission, relations: Iterable[tuple[str, str | None]]) -> bool:
        """Tell whether relations (name and schema) are stored tables without columns that are computed."""

        def question(connection: sa.Connection) -> bool:
            return all(computed_columns(connection, *relation) == frozenset() for relation in relations)

        return self._ask(admission, question)

    def columns_of_select(
        self, admission: Admission, sql: str, *, permitted: BoundQuery | None = None
    ) -> tuple[ReflectedColumn, ...]:
        """Return the columns of one checked SELECT, without reading more than a few rows.

        Types come from the engine; what SQLite does not know of an expression is read off the first rows.

        Args:
            admission: where it runs, and as whom.
            sql: the SELECT.
            permitted: the SELECT over the rows that may be read, as the driver takes it; None: over all rows.

        Raises:
            DatabaseError: the statement fails.
        """
        query = permitted or (sql.replace("%", "%%") if admission.spec.paramstyle is ParamStyle.PYFORMAT else sql, None)
        pairs = self._ask(admission, lambda connection: _query_columns(connection, sql, query), sql=sql)
        return tuple(ReflectedColumn(name=name, type_text=type_text) for name, type_text in pairs)

    def _ask(
        self,
        admission: Admission,
        question: Callable[[sa.Connection], Result],
        *,
        names: Sequence[str | None] = (),
        sql: str = "",
    ) -> Result:
        """Answer a question on one connection in time; an error may repeat `names`, and those in `sql`."""

        def ask(lent: OpenConnection) -> Result:
            connection = lent.connection
            with (
                lent.session.limited(connection, lent.stopper, timeout_s=lent.left_s),
                _free_to_reflect(connection),
            ):
                return question(connection)

        sent, reading = tuple(filter(None, names)), replace(admission, access=Access.READ)
        return self._connections.use(reading, ask, timeout_s=self._timeout_s, sql=sql, names=sent)

    def _check_schema(self, admission: Admission, schema: str) -> None:
        """Raise DatabaseError with the nearest names when there is no such schema; what cannot be listed may be one."""
        try:
            known = self._ask(admission, _every_schema)
        except AnalyticsError:
            return
        if not known or schema.casefold() in (name.casefold() for name in known):
            return
        near = nearest(schema, known, most=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        database = admission.database
        raise DatabaseError(
            f"database {database.database_name!r} has no schema {short_repr(schema)}{hint}",
            error_type=ErrorType.SCHEMA_DOES_NOT_EXIST_ERROR,
            engine=database.engine,
            extra={"schema": schema, "suggestions": list(near)},
        )

    def _no_table(self, admission: Admission, *, table: str, schema: str | None) -> DatabaseError:
        try:
            known = [found.name for found in self.tables(admission, schema)]
        except AnalyticsError:  # the list is only a help; without it the error is still right
            known = []
        near = nearest(table, known, most=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        place, database = f"schema {schema!r} of " if schema else "", admission.database
        return DatabaseError(
            f"{place}database {database.database_name!r} has no table {table!r}{hint}",
            error_type=ErrorType.TABLE_DOES_NOT_EXIST_ERROR,
            engine=database.engine,
            extra={"table": table, "suggestions": list(near)},
        )


@contextmanager
def _free_to_reflect(connection: sa.Connection) -> Iterator[None]:
    """Lift for our own questions what a session forbids or changes: the file stays read-only.

    SQLite's authoriser forbids PRAGMAs; on PostgreSQL sessions leave JSON as text.
    """
    raw: Any = connection.connection.driver_connection
    if isinstance(raw, sqlite3.Connection):
        with without_authoriser(raw):
            yield
    elif _is_postgresql(connection):
        with reading_json(raw):
            yield
    else:
        yield


def _schemas(connection: sa.Connection) -> tuple[str, ...]:
    if connection.dialect.name == "duckdb":
        return tuple(connection.exec_driver_sql(_DUCKDB_SCHEMAS).scalars())
    return tuple(sorted(sa.inspect(connection).get_schema_names()))


def _default_schema(connection: sa.Connection) -> str | None:
    return "main" if connection.dialect.name in ("sqlite", "duckdb") else connection.dialect.default_schema_name


def _every_schema(connection: sa.Connection) -> tuple[str, ...]:
    """Return the schema names with those of the engine itself."""
    if connection.dialect.name == "duckdb":
        return tuple(connection.exec_driver_sql("SELECT DISTINCT schema_name FROM duckdb_schemas()").scalars())
    return (*sa.inspect(connection).get_schema_names(), *(("pg_catalog",) if _is_postgresql(connection) else ()))


def _is_postgresql(connection: sa.Connection) -> bool:
    return connection.dialect.name == "postgresql"


def _tables(connection: sa.Connection, schema: str | None) -> tuple[ReflectedTable, ...]:
    if connection.dialect.name == "duckdb":
        rows = connection.exec_driver_sql(_DUCKDB_TABLES, {"schema": schema or "main"})
        return tuple(ReflectedTable(name=name, is_view=is_view) for name, is_view in rows)
    inspector = sa.inspect(connection)
    tables = [ReflectedTable(name=name) for name in inspector.get_table_names(schema)]
    views = [ReflectedTable(name=name, is_view=True) for name in _view_names(inspector, schema)]
    return tuple(sorted((*tables, *views), key=lambda found: found.name))


def _functions(connection: sa.Connection) -> tuple[str, ...]:
    is_mariadb = getattr(connection.dialect, "is_mariadb", False)
    statement = _FUNCTIONS.get("mariadb" if is_mariadb else connection.dialect.name)
    if statement is None:
        return ()
    found = {str(function).lower() for function in connection.exec_driver_sql(statement).scalars()}
    return tuple(sorted(function for function in found if _IS_NAME.fullmatch(function)))


def _with_storage(connection: sa.Connection, table: str, schema: str | None) -> tuple[ReflectedColumn, ...]:
    """Return the columns with whether each is stored; none when there is no such table."""
    found = _columns(connection, table, schema)
    computed = computed_columns(connection, table, schema) if found else None
    if computed is None:
        return found
    return tuple(replace(column, is_stored=column.name not in computed) for column in found)


def _columns(connection: sa.Connection, table: str, schema: str | None) -> tuple[ReflectedColumn, ...]:
    """Return the columns; none when there is no such table."""
    if connection.dialect.name == "sqlite":
        rows = sqlite_reflection.table_columns(connection, table) if schema in (None, "main") else ()
        leading = _leading_columns(sa.inspect(connection), table, schema) if rows else set()
        collation = sqlite_reflection.collation(connection, table)
        return tuple(
            ReflectedColumn(
                name=row[0],
                type_text=row[1],
                nullable=row[2],
                key_position=row[3],
                leads_index=row[0] in leading or row[3] == 1,
                collation=collation,
            )
            for row in rows
        )
    if connection.dialect.name == "duckdb":
        return _duckdb_columns(connection, table, schema)
    inspector = sa.inspect(connection)
    try:
        found = inspector.get_columns(table, schema)
        is_view = table in _view_names(inspector, schema)
        key = _primary_key(inspector, table, schema)
        asks_indexes = not is_view and connection.dialect.name in _KEEPS_KEYS
        leading = _leading_columns(inspector, table, schema) if asks_indexes else set()
        collations = _collations(connection, table, schema)
    except NoSuchTableError:
        return ()
    return tuple(
        ReflectedColumn(
            name=column["name"],
            type_text=_type_text(column["type"], connection.dialect),
            nullable=None if is_view else bool(column["nullable"]),
            key_position=_position(column["name"], key),
            leads_index=column["name"] in leading or column["name"] in key[:1] if asks_indexes else None,
            collation=collations.get(column["name"]),
        )
        for column in found
    )


def _view_names(inspector: sa.Inspector, schema: str | None) -> tuple[str, ...]:
    """Return the names of views, materialised ones too where the engine has them."""
    views = inspector.get_view_names(schema)
    if inspector.dialect.name != "postgresql":
        return tuple(views)
    return (*views, *inspector.get_materialized_view_names(schema))


def _primary_key(inspector: sa.Inspector, table: str, schema: str | None) -> Sequence[str]:
    """Return the columns of the primary key, in its order; none on engines that only take note of keys."""
    if inspector.dialect.name not in _KEEPS_KEYS:
        return ()
    return inspector.get_pk_constraint(table, schema)["constrained_columns"]


def _leading_columns(inspector: sa.Inspector, table: str, schema: str | None) -> set[str | None]:
    """Return the first columns of the indexes that hold every row in order."""
    found = [index for index in inspector.get_indexes(table, schema) if not index.keys() & {"type", "expressions"}]
    options = [(index["column_names"][:1], index.get("dialect_options", {})) for index in found]
    return {
        name
        for names, option in options
        for name in names
        if option.get("postgresql_using", "btree") == "btree"
        and not option.get("postgresql_where")
        and option.get("sqlite_where") is None
        and not option.get("mysql_length")
        and not option.get("mariadb_length")
    }


def _collations(connection: sa.Connection, table: str, schema: str | None) -> dict[str, str]:
    """Return the collations of the columns that have one, the database's by its own name."""
    dialect = connection.dialect
    if dialect.name in ("mysql", "mariadb"):
        found = connection.exec_driver_sql(_MYSQL_COLLATIONS, (schema, table))
    elif dialect.name == "postgresql":
        quote = dialect.identifier_preparer.quote_identifier
        name = ".".join(quote(part) for part in (schema, table) if part)
        found = connection.exec_driver_sql(_POSTGRES_COLLATIONS, (name,))
    else:
        return {}
    return {name: collation for name, collation in found if collation is not None}


def _position(name: str, key: Sequence[str]) -> int | None:
    return key.index(name) + 1 if name in key else None


def _type_text(column_type: Any, dialect: sa.Dialect) -> str:
    if isinstance(column_type, sa.types.NullType):  # a type that SQLAlchemy does not know
        return "OTHER"
    return str(column_type.compile(dialect=dialect))


def _duckdb_columns(connection: sa.Connection, table: str, schema: str | None) -> tuple[ReflectedColumn, ...]:
    catalog, _, name = (schema or "main").rpartition(".")
    rows = connection.exec_driver_sql(_DUCKDB_COLUMNS, {"catalog": catalog or None, "schema": name, "table": table})
    return tuple(
        ReflectedColumn(
            name=column,
            type_text=type_text,
            nullable=None if is_view else nullable,
            key_position=_position(column, key or ()),
        )
        for column, type_text, nullable, is_view, key in rows
    )


_NOT_THERE = frozenset({ErrorType.TABLE_DOES_NOT_EXIST_ERROR, ErrorType.SCHEMA_DOES_NOT_EXIST_ERROR})
_KEEPS_KEYS = frozenset({"postgresql", "mysql", "mariadb"})  # beside SQLite and DuckDB, which are asked their own way
_MYSQL_COLLATIONS = """
SELECT column_name, collation_name FROM information_schema.columns
WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s
"""
_POSTGRES_COLLATIONS = f"""
SELECT a.attname, CASE
  WHEN pg_catalog.to_jsonb(c) ->> 'collisdeterministic' = 'false' THEN c.collname || '{NOT_DETERMINISTIC}'
  WHEN c.collname <> 'default' THEN c.collname
  WHEN COALESCE(pg_catalog.to_jsonb(d) ->> 'datlocprovider', 'c') = 'c' THEN d.datcollate
  ELSE 'of the database' END
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_collation AS c ON c.oid = a.attcollation
CROSS JOIN pg_catalog.pg_database AS d
WHERE a.attrelid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND d.datname = pg_catalog.current_database()
"""
_IS_NAME = re.compile(r"[a-z_][a-z0-9_]*")  # what is not one, such as DuckDB's `+`, is an operator
_FUNCTIONS: Mapping[str, str] = {
    "sqlite": "SELECT DISTINCT name FROM pragma_function_list WHERE name <> 'ac_lower'",
    "duckdb": "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type <> 'pragma'",
    "postgresql": "SELECT DISTINCT proname FROM pg_catalog.pg_proc WHERE pg_catalog.pg_function_is_visible(oid)",
    "mariadb": "SELECT DISTINCT FUNCTION FROM information_schema.SQL_FUNCTIONS WHERE FUNCTION IS NOT NULL",
}
_DUCKDB_SCHEMAS = """
SELECT DISTINCT schema_name FROM duckdb_schemas()
WHERE database_name = current_database() AND schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY 1
"""
_DUCKDB_TABLES = """
SELECT table_name, table_type = 'VIEW' FROM information_schema.tables
WHERE table_catalog = current_database() AND table_schema = $schema ORDER BY 1
"""
_DUCKDB_COLUMNS = """
SELECT c.column_name, c.data_type, c.is_nullable, t.table_type = 'VIEW', k.constraint_column_names
FROM duckdb_columns() AS c JOIN information_schema.tables AS t
  ON t.table_catalog = c.database_name AND t.table_schema = c.schema_name AND t.table_name = c.table_name
LEFT JOIN duckdb_constraints() AS k ON k.table_oid = c.table_oid AND k.database_oid = c.database_oid
  AND k.constraint_type = 'PRIMARY KEY'
WHERE c.database_name = coalesce($catalog, current_database()) AND c.schema_name = $schema
  AND lower(c.table_name) = lower($table)
ORDER BY c.column_index
"""


def _query_columns(connection: sa.Connection, sql: str, query: BoundQuery) -> tuple[tuple[str, str], ...]:
    """Return (name, type) of a SELECT; whatever may look at rows is `query`, which reads the permitted ones alone."""
    text, parameters = query
    if connection.dialect.name == "duckdb":
        rows = connection.exec_driver_sql(f"DESCRIBE {text}", parameters).all()
        return tuple((row[0], row[1]) for row in rows)
    if connection.dialect.name == "sqlite":
        return sqlite_reflection.query_columns(connection, sql, query)
    result = connection.exec_driver_sql(f"SELECT * FROM (\n{text}\n) AS source LIMIT 0", parameters)
    assert result.cursor is not None  # noqa: S101 - a SELECT has one
    return describe_columns(connection, result.cursor.description)
