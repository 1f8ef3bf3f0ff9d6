"""What MariaDB and MySQL tell of what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from analytics_core._execution.query_columns import UNKNOWN
from analytics_core._execution.sessions.metadata import EngineMetadata, names_in_rows

# Type texts by PyMySQL's field types; FIELD_TYPE constants of the protocol, which never change.
_TYPES = {
    0: "DECIMAL", 1: "TINYINT", 2: "SMALLINT", 3: "INT", 4: "FLOAT", 5: "DOUBLE", 7: "TIMESTAMP", 8: "BIGINT",
    9: "MEDIUMINT", 10: "DATE", 11: "TIME", 12: "DATETIME", 13: "YEAR", 14: "DATE", 15: "VARCHAR", 16: "BIT",
    245: "JSON", 246: "DECIMAL", 247: "ENUM", 248: "SET", 249: "TEXT", 250: "TEXT", 251: "TEXT", 252: "TEXT",
    253: "VARCHAR", 254: "CHAR", 255: "GEOMETRY",
}  # fmt: skip
_TINYINT, _BOOLEAN_WIDTH = 1, 1


class MysqlMetadata(EngineMetadata):
    """Collations, and types by the numbers of the protocol."""

    holds_keys = True

    def functions_sql(self, connection: sa.Connection) -> str | None:
        """Ask MariaDB; MySQL does not tell."""
        if not getattr(connection.dialect, "is_mariadb", False):
            return None
        return "SELECT DISTINCT FUNCTION FROM information_schema.SQL_FUNCTIONS WHERE FUNCTION IS NOT NULL"

    def collations(self, connection: sa.Connection, table: str, schema: str | None) -> Mapping[str, str]:
        """Return the collations of the columns."""
        found = connection.exec_driver_sql(_COLLATIONS, (schema, table))
        return {name: collation for name, collation in found if collation is not None}

    def computed_columns(self, connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
        """Return virtual columns; None: a view, or a table of a storage engine that may fetch its rows elsewhere."""
        return names_in_rows(connection, _COMPUTED, (schema, table))

    def described_types(self, _connection: sa.Connection, description: Sequence[Sequence[Any]]) -> Sequence[str]:
        """Return the types by their numbers."""
        return [_type_text(item) for item in description]


def _type_text(item: Sequence[Any]) -> str:
    _, code, _, length, precision, scale = item[:6]
    text = _TYPES.get(code, UNKNOWN)
    if code == _TINYINT and length == _BOOLEAN_WIDTH:
        return "TINYINT(1)"
    return f"{text}({precision},{scale})" if text == "DECIMAL" and precision else text


_COLLATIONS = """
SELECT column_name, collation_name FROM information_schema.columns
WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s
"""
_COMPUTED = """
SELECT CASE WHEN c.extra LIKE '%%VIRTUAL%%' THEN c.column_name END
FROM information_schema.tables AS t JOIN information_schema.columns AS c
  ON c.table_schema = t.table_schema AND c.table_name = t.table_name
WHERE t.table_schema = COALESCE(%s, DATABASE()) AND t.table_name = %s
  AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')
  AND t.engine IN ('InnoDB', 'MyISAM', 'Aria', 'MEMORY', 'ARCHIVE', 'CSV', 'ROCKSDB', 'ColumnStore', 'ndbcluster')
"""
