"""Tells relations whose rows are stored from those that compute them: views, foreign tables, virtual columns.

What a relation computes may fail on any row, so that an error tells of rows that a row rule hides.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from analytics_core._execution import sqlite_reflection


def computed_columns(connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
    """Return the columns of a table that are computed when they are read; None: it is no stored table, or not known."""
    match connection.dialect.name:
        case "sqlite":
            return sqlite_reflection.computed_columns(connection, table) if schema in (None, "main") else None
        case "duckdb":
            return _on_duckdb(connection, table, schema)
        case "postgresql":
            quote = connection.dialect.identifier_preparer.quote_identifier
            name = ".".join(quote(part) for part in (schema, table) if part)
            return _in_rows(connection, _POSTGRES, (name,))
        case "mysql" | "mariadb":
            return _in_rows(connection, _MYSQL, (schema, table))
    return _elsewhere(sa.inspect(connection), table, schema)


def _on_duckdb(connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
    """A generated column cannot fail there: no row is taken for which it does."""
    catalog, _, name = (schema or "main").rpartition(".")
    values = {"catalog": catalog or None, "schema": name, "table": table}
    return frozenset() if connection.exec_driver_sql(_DUCKDB, values).first() else None


def _in_rows(connection: sa.Connection, statement: str, values: tuple[Any, ...]) -> frozenset[str] | None:
    rows = connection.exec_driver_sql(statement, values).all()
    return frozenset(name for (name,) in rows if name is not None) if rows else None


def _elsewhere(inspector: sa.Inspector, table: str, schema: str | None) -> frozenset[str] | None:
    if table not in inspector.get_table_names(schema):
        return None
    computed = [(column["name"], column.get("computed")) for column in inspector.get_columns(table, schema)]
    return frozenset(name for name, how in computed if how is not None and not how.get("persisted"))


_DUCKDB = """
SELECT 1 FROM duckdb_tables() AS t JOIN duckdb_databases() AS d ON d.database_oid = t.database_oid AND d.type = 'duckdb'
WHERE t.database_name = coalesce($catalog, current_database()) AND t.schema_name = $schema
  AND lower(t.table_name) = lower($table)
"""
# A row of NULL tells that the table stores its rows, one more each virtual column; `v` is of PostgreSQL 18.
# A table is read with all tables that inherit from it, its partitions and theirs among them.
_POSTGRES = """
WITH RECURSIVE parts AS (
  SELECT c.oid, c.relkind FROM pg_catalog.pg_class AS c WHERE c.oid = pg_catalog.to_regclass(%s)
  UNION
  SELECT c.oid, c.relkind FROM parts JOIN pg_catalog.pg_inherits AS i ON i.inhparent = parts.oid
  JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid)
SELECT DISTINCT CASE WHEN a.attgenerated = 'v' THEN a.attname END
FROM parts LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = parts.oid AND a.attnum > 0
WHERE NOT EXISTS (SELECT 1 FROM parts AS part WHERE part.relkind NOT IN ('r', 'p', 'm'))
"""
_MYSQL = """
SELECT CASE WHEN c.extra LIKE '%%VIRTUAL%%' THEN c.column_name END
FROM information_schema.tables AS t JOIN information_schema.columns AS c
  ON c.table_schema = t.table_schema AND c.table_name = t.table_name
WHERE t.table_schema = COALESCE(%s, DATABASE()) AND t.table_name = %s
  AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
  AND t.engine IN ('InnoDB', 'MyISAM', 'Aria', 'MEMORY', 'ARCHIVE', 'CSV', 'ROCKSDB', 'ColumnStore', 'ndbcluster')
"""
