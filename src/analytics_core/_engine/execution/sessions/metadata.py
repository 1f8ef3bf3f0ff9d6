"""What a database tells of what it holds: asked by SQLAlchemy, as suits most engines, or read off a few rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.exc import NoSuchTableError

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.conversion import values_by_kind
from analytics_core._engine.execution.sessions.table_details import TableDetails, duckdb_details, inspected_details

_IS_NAME = re.compile(r"[a-z_][a-z0-9_]*")  # what is not one, such as DuckDB's `+`, is an operator


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectedTable:
    """A table or view, by the name that the database knows; a materialised view is a view."""

    name: str
    is_view: bool = False
    is_materialized: bool = False


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


class EngineMetadata:
    """How an engine is asked what a database of it holds, on a connection that may ask."""

    holds_keys: ClassVar[bool] = False
    """Whether it holds to its keys; others only take note of them, and their indexes are not asked for."""

    @contextmanager
    def free(self, _raw: Any) -> Iterator[None]:
        """Lift for our own questions what a session forbids or changes; `raw` is the driver's connection."""
        yield

    def schemas(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the names of the schemas that people work with, sorted."""
        return tuple(sorted(sa.inspect(connection).get_schema_names()))

    def every_schema(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the schema names with those of the engine itself."""
        return tuple(sa.inspect(connection).get_schema_names())

    def default_schema(self, connection: sa.Connection) -> str | None:
        """Return the schema that a name without one means; None where there are none."""
        return connection.dialect.default_schema_name

    def tables(self, connection: sa.Connection, schema: str | None) -> tuple[ReflectedTable, ...]:
        """Return tables and views of a schema (None: the default one), sorted by name."""
        inspector = sa.inspect(connection)
        tables = [ReflectedTable(name=name) for name in inspector.get_table_names(schema)]
        materialized = set(self.materialized_view_names(inspector, schema))
        names = self.view_names(inspector, schema)
        views = [ReflectedTable(name=name, is_view=True, is_materialized=name in materialized) for name in names]
        return tuple(sorted((*tables, *views), key=lambda found: found.name))

    def view_names(self, inspector: sa.Inspector, schema: str | None) -> Sequence[str]:
        """Return the names of views, materialised ones too where the engine has them."""
        return inspector.get_view_names(schema)

    def materialized_view_names(self, _inspector: sa.Inspector, _schema: str | None) -> Sequence[str]:
        """Return the names of materialised views; none where the engine has none."""
        return ()

    def catalogs(self, _connection: sa.Connection) -> tuple[str, ...]:
        """Return the names of the catalogs whose tables a statement may name, sorted; none where there is only one."""
        return ()

    def details(self, connection: sa.Connection, table: str, schema: str | None) -> TableDetails:
        """Return keys, indexes, defaults and comments of a table that there is."""
        return inspected_details(connection, table, schema)

    def functions(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the names of the functions, sorted; none where the engine does not tell."""
        statement = self.functions_sql(connection)
        if statement is None:
            return ()
        found = {str(function).lower() for function in connection.exec_driver_sql(statement).scalars()}
        return tuple(sorted(function for function in found if _IS_NAME.fullmatch(function)))

    def functions_sql(self, _connection: sa.Connection) -> str | None:
        """Return the statement that tells the names of the functions."""
        return None

    def columns(self, connection: sa.Connection, table: str, schema: str | None) -> tuple[ReflectedColumn, ...]:
        """Return the columns of a table or view; none when there is no such table."""
        inspector = sa.inspect(connection)
        try:
            found = inspector.get_columns(table, schema)
            is_view = table in self.view_names(inspector, schema)
            key = inspector.get_pk_constraint(table, schema)["constrained_columns"] if self.holds_keys else []
            asks_indexes = self.holds_keys and not is_view
            leading = leading_columns(inspector, table, schema) if asks_indexes else set()
            collations = self.collations(connection, table, schema)
        except NoSuchTableError:
            return ()
        return tuple(
            ReflectedColumn(
                name=column["name"],
                type_text=_type_text(column["type"], connection.dialect),
                nullable=None if is_view else bool(column["nullable"]),
                key_position=position_in(key, column["name"]),
                leads_index=column["name"] in leading or column["name"] in key[:1] if asks_indexes else None,
                collation=collations.get(column["name"]),
            )
            for column in found
        )

    def collations(self, _connection: sa.Connection, _table: str, _schema: str | None) -> Mapping[str, str]:
        """Return the collations of the columns that have one, the database's by its own name."""
        return {}

    def computed_columns(self, connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
        """Return the columns of a table that are computed when they are read; None: it is no stored table.

        What a relation computes (views, foreign tables, virtual columns) may fail on any row, so that an error tells of
        rows that a row rule hides.
        """
        inspector = sa.inspect(connection)
        if table not in inspector.get_table_names(schema):
            return None
        computed = [(column["name"], column.get("computed")) for column in inspector.get_columns(table, schema)]
        return frozenset(name for name, how in computed if how is not None and not how.get("persisted"))

    def query_columns(self, connection: sa.Connection, _sql: str, query: BoundQuery) -> tuple[tuple[str, str], ...]:
        """Return (name, type) of a SELECT; what may look at rows is `query`, which reads the permitted ones alone."""
        text, parameters = query
        result = connection.exec_driver_sql(f"SELECT * FROM (\n{text}\n) AS source LIMIT 0", parameters)
        assert result.cursor is not None  # noqa: S101 - a SELECT has one
        described = result.cursor.description
        texts = self.described_types(connection, described)
        return tuple((item[0], text) for item, text in zip(described, texts, strict=True))

    def described_types(self, _connection: sa.Connection, description: Sequence[Sequence[Any]]) -> Sequence[str]:
        """Return the type texts of a driver's description."""
        return [UNKNOWN if item[1] is None else str(item[1]).upper() for item in description]


def leading_columns(inspector: sa.Inspector, table: str, schema: str | None) -> set[str | None]:
    """Return the first columns of the indexes that hold every row in order."""
    found = [index for index in inspector.get_indexes(table, schema) if not index.keys() & {"type", "expressions"}]
    return {name for index in found if _holds_all_in_order(index) for name in index["column_names"][:1]}


def _holds_all_in_order(index: Mapping[str, Any]) -> bool:
    """Tell by the options of the dialect, whose names begin with its own: no hash, no condition, no cut values."""
    options = {name.partition("_")[2]: value for name, value in index.get("dialect_options", {}).items()}
    return options.get("using", "btree") == "btree" and options.get("where") is None and not options.get("length")


def position_in(key: Sequence[str], name: str) -> int | None:
    """Return the place of a column in a key, from 1."""
    return key.index(name) + 1 if name in key else None


def quoted_name(connection: sa.Connection, table: str, schema: str | None) -> str:
    """Return the name of a table as the engine reads it in a statement."""
    quote = connection.dialect.identifier_preparer.quote_identifier
    return ".".join(quote(part) for part in (schema, table) if part)


def names_in_rows(connection: sa.Connection, statement: str, values: tuple[Any, ...]) -> frozenset[str] | None:
    """Return the names that a statement tells; None when it gives no row."""
    rows = connection.exec_driver_sql(statement, values).all()
    return frozenset(name for (name,) in rows if name is not None) if rows else None


def _type_text(column_type: Any, dialect: sa.Dialect) -> str:
    if isinstance(column_type, sa.types.NullType):  # a type that SQLAlchemy does not know
        return "OTHER"
    return str(column_type.compile(dialect=dialect))


BoundQuery = tuple[str, Any]
"""A query as a driver takes it, and its bound values; None: it has none."""

UNKNOWN = "UNKNOWN"
"""The type text of a column whose type nobody tells."""

_KIND_TEXTS = {
    ValueKind.INTEGER: "INTEGER",
    ValueKind.FLOAT: "REAL",
    ValueKind.TEXT: "TEXT",
    ValueKind.BYTES: "BLOB",
    ValueKind.UNKNOWN: UNKNOWN,
    ValueKind.OTHER: UNKNOWN,
}


def columns_of_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[tuple[str, str], ...]:
    """Return (name, type text) read off rows; text that is a date or moment in every row counts as one."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return tuple((name, _text_of_values(values)) for name, values in zip(names, columns, strict=True))


def _text_of_values(values: Sequence[Any]) -> str:
    kind, plain = values_by_kind(ValueKind.UNKNOWN, values)
    if kind is ValueKind.TEXT:
        texts = [value for value in plain if value is not None]
        is_date, is_moment = (all(_is_written(text, read) for text in texts) for read in _READERS)
        return "DATE" if is_date else "TIMESTAMP" if is_moment else "TEXT"
    return _KIND_TEXTS.get(kind, UNKNOWN)


_READERS = (date.fromisoformat, datetime.fromisoformat)


def _is_written(text: str, read: Callable[[str], object]) -> bool:
    """Tell whether a text is a date, or a moment, with hyphens: ISO 8601 has shorter forms, which may be numbers."""
    try:
        read(text)
    except ValueError:
        return False
    return len(text) >= len("2024-01-31") and text[4] == "-"


class DuckdbMetadata(EngineMetadata):
    """Tables of attached databases too, whose schemas are named `catalog.schema`."""

    def schemas(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the schemas of the database itself."""
        return tuple(connection.exec_driver_sql(_SCHEMAS).scalars())

    def every_schema(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the schemas of all databases, those of the engine too."""
        return tuple(connection.exec_driver_sql("SELECT DISTINCT schema_name FROM duckdb_schemas()").scalars())

    def default_schema(self, _connection: sa.Connection) -> str | None:
        """Return `main`."""
        return _MAIN

    def tables(self, connection: sa.Connection, schema: str | None) -> tuple[ReflectedTable, ...]:
        """Return tables and views of a schema, sorted by name."""
        rows = connection.exec_driver_sql(_TABLES, {"schema": schema or _MAIN})
        return tuple(ReflectedTable(name=name, is_view=is_view) for name, is_view in rows)

    def catalogs(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the attached databases."""
        return tuple(connection.exec_driver_sql(_CATALOGS).scalars())

    def details(self, connection: sa.Connection, table: str, schema: str | None) -> TableDetails:
        """Return what the engine's own functions tell."""
        catalog, _, name = (schema or _MAIN).rpartition(".")
        return duckdb_details(connection, table, schema=name, catalog=catalog or None)

    def functions_sql(self, _connection: sa.Connection) -> str | None:
        """Ask for all but those of settings."""
        return "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type <> 'pragma'"

    def columns(self, connection: sa.Connection, table: str, schema: str | None) -> tuple[ReflectedColumn, ...]:
        """Return the columns with the types as the engine writes them."""
        catalog, _, name = (schema or _MAIN).rpartition(".")
        rows = connection.exec_driver_sql(_COLUMNS, {"catalog": catalog or None, "schema": name, "table": table})
        return tuple(
            ReflectedColumn(
                name=column,
                type_text=type_text,
                nullable=None if is_view else nullable,
                key_position=position_in(key or (), column),
            )
            for column, type_text, nullable, is_view, key in rows
        )

    def computed_columns(self, connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
        """Return none: a generated column cannot fail there, for no row is taken for which it does."""
        catalog, _, name = (schema or _MAIN).rpartition(".")
        values = {"catalog": catalog or None, "schema": name, "table": table}
        return frozenset() if connection.exec_driver_sql(_STORED, values).first() else None

    def query_columns(self, connection: sa.Connection, _sql: str, query: BoundQuery) -> tuple[tuple[str, str], ...]:
        """Return what the engine says of the query, without running it."""
        text, parameters = query
        rows = connection.exec_driver_sql(f"DESCRIBE {text}", parameters).all()
        return tuple((row[0], row[1]) for row in rows)


_MAIN = "main"
_CATALOGS = "SELECT database_name FROM duckdb_databases() WHERE NOT internal ORDER BY 1"
_SCHEMAS = """
SELECT DISTINCT schema_name FROM duckdb_schemas()
WHERE database_name = current_database() AND schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY 1
"""
_TABLES = """
SELECT table_name, table_type = 'VIEW' FROM information_schema.tables
WHERE table_catalog = current_database() AND table_schema = $schema ORDER BY 1
"""
_COLUMNS = """
SELECT c.column_name, c.data_type, c.is_nullable, t.table_type = 'VIEW', k.constraint_column_names
FROM duckdb_columns() AS c JOIN information_schema.tables AS t
  ON t.table_catalog = c.database_name AND t.table_schema = c.schema_name AND t.table_name = c.table_name
LEFT JOIN duckdb_constraints() AS k ON k.table_oid = c.table_oid AND k.database_oid = c.database_oid
  AND k.constraint_type = 'PRIMARY KEY'
WHERE c.database_name = coalesce($catalog, current_database()) AND c.schema_name = $schema
  AND lower(c.table_name) = lower($table)
ORDER BY c.column_index
"""
_STORED = """
SELECT 1 FROM duckdb_tables() AS t JOIN duckdb_databases() AS d ON d.database_oid = t.database_oid AND d.type = 'duckdb'
WHERE t.database_name = coalesce($catalog, current_database()) AND t.schema_name = $schema
  AND lower(t.table_name) = lower($table)
"""
