"""What SQLite tells of what it holds: types as they were declared, for queries too.

SQLAlchemy would turn declared types that it does not know into NUMERIC, and the driver describes no types at all.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from analytics_core._execution.fetching import read_within
from analytics_core._execution.query_columns import BoundQuery, columns_of_rows
from analytics_core._execution.sessions.metadata import EngineMetadata, ReflectedColumn, leading_columns
from analytics_core._execution.sessions.sqlite import authorise_reading, without_authoriser

_SAMPLE_ROWS = 200
_SAMPLE_BYTES = 4 * 1024 * 1024
_SAMPLE_TIMEOUT_S = 5.0
_STEPS_BETWEEN_CLOCK_CHECKS = 10_000
_VIEW = "analytics_core_described"
_HIDDEN = 1  # internal column of a virtual table
_GENERATED = 2  # column that is computed when it is read


class SqliteMetadata(EngineMetadata):
    """One schema; what a session forbids of PRAGMAs is free for our own questions."""

    @contextmanager
    def free(self, raw: Any) -> Iterator[None]:
        """Lift the authoriser; the file stays read-only."""
        with without_authoriser(raw):
            yield

    def default_schema(self, _connection: sa.Connection) -> str | None:
        """Return `main`."""
        return _MAIN

    def functions_sql(self, _connection: sa.Connection) -> str | None:
        """Ask for all but the one that is ours."""
        return "SELECT DISTINCT name FROM pragma_function_list WHERE name <> 'ac_lower'"

    def columns(self, connection: sa.Connection, table: str, schema: str | None) -> tuple[ReflectedColumn, ...]:
        """Return the columns with their declared types."""
        rows = _table_columns(connection, table) if schema in (None, _MAIN) else ()
        leading = leading_columns(sa.inspect(connection), table, schema) if rows else set()
        collation = _collation(connection, table)
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

    def computed_columns(self, connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
        """Return generated columns that are not stored; None: a view or virtual table, or no such table."""
        if schema not in (None, _MAIN) or _definition(connection, table) is None:
            return None
        quoted = connection.dialect.identifier_preparer.quote_identifier(table)
        rows = connection.exec_driver_sql(f"PRAGMA main.table_xinfo({quoted})")
        return frozenset(row.name for row in rows if row.hidden == _GENERATED)

    def query_columns(self, connection: sa.Connection, sql: str, query: BoundQuery) -> tuple[tuple[str, str], ...]:
        """Return declared types for columns of `sql` taken as they are, and read the rest off the rows of `query`.

        A view takes no bound values; it reads no rows either.
        """
        declared = _declared_columns(connection, sql)
        if all(type_text for _, type_text in declared):
            return declared
        names = [name for name, _ in declared]
        sampled = columns_of_rows(names, _sample(connection, query))
        return tuple(one if one[1] else other for one, other in zip(declared, sampled, strict=True))


_MAIN = "main"


def _table_columns(connection: sa.Connection, table: str) -> tuple[tuple[str, str, bool | None, int | None], ...]:
    """Return (name, declared type, nullable, place in the key) of a table or view; none when there is no such table."""
    kinds = connection.exec_driver_sql("SELECT type FROM sqlite_master WHERE lower(name) = lower(?)", (table,))
    is_view = "view" in kinds.scalars().all()
    quoted = connection.dialect.identifier_preparer.quote_identifier(table)
    found = connection.exec_driver_sql(f"PRAGMA main.table_xinfo({quoted})").all()
    rowid = _rowid(found)
    return tuple(
        (row.name, row.type.upper(), None if is_view else not (row.notnull or row.name == rowid), row.pk or None)
        for row in found
        if row.hidden != _HIDDEN
    )


def _collation(connection: sa.Connection, table: str) -> str | None:
    """Return the collation of every column of a table, BINARY where none names another; None where one may."""
    text = _definition(connection, table)
    return "BINARY" if text is not None and "COLLATE" not in text else None


def _definition(connection: sa.Connection, table: str) -> str | None:
    """Return the CREATE TABLE of a table that stores its rows, in capitals; None for anything else."""
    question = "SELECT type, upper(sql) FROM sqlite_master WHERE type IN ('table', 'view') AND lower(name) = lower(?)"
    found = connection.exec_driver_sql(question, (table,)).all()
    is_stored = [(kind, text.split()[:2]) for kind, text in found] == [("table", ["CREATE", "TABLE"])]
    return str(found[0][1]) if is_stored else None


def _rowid(found: Sequence[Any]) -> str | None:
    """Return the name of an INTEGER PRIMARY KEY, which is never null; SQLite's other primary keys may be."""
    key = [row for row in found if row.pk]
    return key[0].name if len(key) == 1 and key[0].type.upper() == "INTEGER" else None


def _declared_columns(connection: sa.Connection, sql: str) -> tuple[tuple[str, str], ...]:
    """Ask what SQLite would say of a view with this text; the view lives in the temporary schema and is rolled back."""
    connection.exec_driver_sql("PRAGMA query_only = OFF")
    connection.exec_driver_sql("BEGIN")
    try:
        connection.exec_driver_sql(f"CREATE TEMP VIEW {_VIEW} AS\n{sql}")
        found = connection.exec_driver_sql(f"PRAGMA temp.table_xinfo({_VIEW})").all()
    finally:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA query_only = ON")
    return tuple((row.name, row.type.upper()) for row in found)


def _sample(connection: sa.Connection, query: BoundQuery) -> Sequence[Any]:
    """Return the first rows, or none when even those take long."""
    raw: Any = connection.connection.driver_connection
    deadline = time.monotonic() + _SAMPLE_TIMEOUT_S
    raw.set_authorizer(authorise_reading)  # a user's text runs here, not ours
    raw.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CLOCK_CHECKS)
    try:
        sql, parameters = query
        found = raw.execute(f"SELECT * FROM (\n{sql}\n) AS source LIMIT {_SAMPLE_ROWS}", parameters or ())
        return read_within(found, most_bytes=_SAMPLE_BYTES)[0]
    except sqlite3.OperationalError:
        if time.monotonic() > deadline:
            return []
        raise
    finally:
        raw.set_progress_handler(None, 0)
