"""What PostgreSQL tells of what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from analytics_core._engines.specs.postgresql import NOT_DETERMINISTIC
from analytics_core._execution.query_columns import UNKNOWN
from analytics_core._execution.sessions.metadata import EngineMetadata, names_in_rows, quoted_name
from analytics_core._execution.sessions.postgresql import reading_json


class PostgresqlMetadata(EngineMetadata):
    """Collations, materialised views, and types by their names in the catalog."""

    holds_keys = True

    @contextmanager
    def free(self, raw: Any) -> Iterator[None]:
        """Read JSON as values, which sessions leave as text."""
        with reading_json(raw):
            yield

    def every_schema(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the schema names, the catalog's too."""
        return (*super().every_schema(connection), "pg_catalog")

    def view_names(self, inspector: sa.Inspector, schema: str | None) -> Sequence[str]:
        """Return the names of views and materialised views."""
        return (*inspector.get_view_names(schema), *inspector.get_materialized_view_names(schema))

    def functions_sql(self, _connection: sa.Connection) -> str | None:
        """Ask for what can be called without naming its schema."""
        return "SELECT DISTINCT proname FROM pg_catalog.pg_proc WHERE pg_catalog.pg_function_is_visible(oid)"

    def collations(self, connection: sa.Connection, table: str, schema: str | None) -> Mapping[str, str]:
        """Return the collations of the columns, and of which it is not told how they compare."""
        found = connection.exec_driver_sql(_COLLATIONS, (quoted_name(connection, table, schema),))
        return {name: collation for name, collation in found if collation is not None}

    def computed_columns(self, connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
        """Return virtual columns; None where the table, or one that inherits from it, stores no rows."""
        return names_in_rows(connection, _COMPUTED, (quoted_name(connection, table, schema),))

    def described_types(self, connection: sa.Connection, description: Sequence[Sequence[Any]]) -> Sequence[str]:
        """Return the names of the types, of which the driver tells the numbers."""
        oids = [int(item[1]) for item in description]
        rows = connection.exec_driver_sql(
            "SELECT oid, upper(format_type(oid, NULL)) FROM pg_type WHERE oid = ANY(%(oids)s)", {"oids": oids}
        )
        texts = {row[0]: row[1] for row in rows}
        return [texts.get(oid, UNKNOWN) for oid in oids]


_COLLATIONS = f"""
SELECT a.attname, CASE
  WHEN pg_catalog.to_jsonb(c) ->> 'collisdeterministic' = 'false' THEN c.collname || '{NOT_DETERMINISTIC}'
  WHEN c.collname <> 'default' THEN c.collname
  WHEN COALESCE(pg_catalog.to_jsonb(d) ->> 'datlocprovider', 'c') = 'c' THEN d.datcollate
  ELSE 'of the database' END
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_collation AS c ON c.oid = a.attcollation
CROSS JOIN pg_catalog.pg_database AS d
WHERE a.attrelid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND d.datname = pg_catalog.current_database()
"""
# A row of NULL tells that the table stores its rows, one more each virtual column; `v` is of PostgreSQL 18.
# A table is read with all tables that inherit from it, its partitions and theirs among them.
_COMPUTED = """
WITH RECURSIVE parts AS (
  SELECT c.oid, c.relkind FROM pg_catalog.pg_class AS c WHERE c.oid = pg_catalog.to_regclass(%s)
  UNION
  SELECT c.oid, c.relkind FROM parts JOIN pg_catalog.pg_inherits AS i ON i.inhparent = parts.oid
  JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid)
SELECT DISTINCT CASE WHEN a.attgenerated = 'v' THEN a.attname END
FROM parts LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = parts.oid AND a.attnum > 0
WHERE NOT EXISTS (SELECT 1 FROM parts AS part WHERE part.relkind NOT IN ('r', 'p', 'm'))
"""
