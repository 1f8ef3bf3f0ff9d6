"""What DuckDB tells of what it holds, by its own tables: SQLAlchemy's questions do not suit it."""

from __future__ import annotations

import sqlalchemy as sa

from analytics_core._execution.sessions.metadata import (
    BoundQuery,
    EngineMetadata,
    ReflectedColumn,
    ReflectedTable,
    position_in,
)


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
