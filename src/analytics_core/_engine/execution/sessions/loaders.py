"""How SQLite, DuckDB, PostgreSQL and MySQL or MariaDB take rows."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar, Final

import pyarrow as pa
import sqlalchemy as sa

from analytics_core._engine.execution.sessions.loading import (
    Loader,
    LoadRequest,
    RejectedRow,
    create,
    drop,
    insert,
    rows_of,
)
from analytics_core._engine.files.names import RESERVED_PREFIX
from analytics_core.errors import UnsupportedByEngineError
from analytics_core.models.enums import TableExists


class SqliteLoader(Loader):
    """One transaction; a process that dies leaves a journal, which the next one that may write rolls back."""

    takes_infinity = False
    most_digits = 15

    def load(self, connection: sa.Connection, request: LoadRequest) -> int:
        """Insert many rows at a time; dates and moments are texts, decimals doubles, as everywhere in SQLite."""
        raw: Any = connection.connection.driver_connection
        table, count = request.sql_table(), 0
        raw.execute("BEGIN IMMEDIATE")
        try:
            for statement in _made_ready(table, request, connection):
                raw.execute(statement)
            sql = insert(table, connection)
            for first, batch in self.checked(request):
                raw.executemany(sql, _sqlite_rows(batch, first, request.rejected))
                count += len(batch)
            request.rejected.place = None  # the last one that it took
            request.begin_to_commit()
            raw.execute("COMMIT")
        except BaseException:  # whatever happens, an interruption too: nothing is left
            if raw.in_transaction:
                raw.execute("ROLLBACK")
            raise
        return count


def _sqlite_rows(batch: pa.RecordBatch, first: int, rejected: RejectedRow) -> Iterator[tuple[Any, ...]]:
    """Yield rows, each of which the engine takes before it asks for the next one."""
    for rejected.place, row in enumerate(rows_of(batch), first):
        yield tuple(map(_sqlite_value, row))


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


class DuckdbLoader(Loader):
    """One transaction and one statement, which takes the batches over as they are."""

    def load(self, connection: sa.Connection, request: LoadRequest) -> int:
        """Insert from a stream that has a name in this connection alone.

        It is named before the transaction begins: what is named inside one is kept in memory until its end.
        """
        raw: Any = connection.connection.driver_connection
        native, table, rows = raw.native, request.sql_table(), _CountedBatches(self.checked(request))
        preparer = connection.dialect.identifier_preparer
        names = ", ".join(preparer.quote(column.name) for column in table.columns)
        stream = f"rows_{secrets.token_hex(8)}"
        schema = pa.schema([(column.name, column.type.arrow) for column in request.columns])
        native.register(stream, pa.RecordBatchReader.from_batches(schema, rows))
        raw.begin()
        try:
            for statement in _made_ready(table, request, connection):
                native.execute(statement)
            native.execute(f"INSERT INTO {preparer.format_table(table)} ({names}) SELECT {names} FROM {stream}")
            request.begin_to_commit()
            native.commit()
        except BaseException as error:  # whatever happens, an interruption too: nothing is left
            native.rollback()
            raise rows.failure or error from None
        finally:
            native.unregister(stream)
        return rows.count


class _CountedBatches:
    """Batches, how many rows they had, and what stopped them: DuckDB tells that as text alone."""

    def __init__(self, batches: Iterator[tuple[int, pa.RecordBatch]]) -> None:
        self._batches = batches
        self.count = 0
        self.failure: Exception | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for _, batch in self._batches:
                self.count += len(batch)
                yield batch
        except Exception as error:  # whatever it is, the upload raises it
            self.failure = error
            raise


class PostgresqlLoader(Loader):
    """One transaction, rows by COPY."""

    own_columns = re.compile("ctid|xmin|xmax|cmin|cmax|tableoid")

    def is_of_rows(self, error: Exception) -> bool:
        """Tell it by the class too; a key of the catalogue is of a table that others make in the same moment."""
        return super().is_of_rows(error) and error.diag.schema_name != "pg_catalog"  # type: ignore[attr-defined]

    def load(self, connection: sa.Connection, request: LoadRequest) -> int:
        """Send each batch as CSV, in which only null is written without quotes or digits."""
        raw: Any = connection.connection.driver_connection
        table, lines = request.sql_table(), _CopiedLines()
        preparer = connection.dialect.identifier_preparer
        names = ", ".join(preparer.quote(column.name) for column in table.columns)
        with raw.cursor() as cursor:
            for statement in _made_ready(table, request, connection):
                cursor.execute(statement)
            sql = f"COPY {preparer.format_table(table)} ({names}) FROM STDIN (FORMAT csv, ENCODING 'UTF8')"
            try:
                with cursor.copy(sql) as copy:
                    self._write(copy, request, lines)
            except connection.dialect.loaded_dbapi.Error as error:
                lines.find(error, request)
                raise
            request.begin_to_commit()
            cursor.execute("COMMIT")  # what fails before is rolled back when the connection goes back
        return lines.rows

    def _write(self, copy: Any, request: LoadRequest, lines: _CopiedLines) -> None:
        from pyarrow import csv

        options = csv.WriteOptions(include_header=False, quoting_style="needed")
        for _, batch in self.checked(request):
            sink = pa.BufferOutputStream()
            csv.write_csv(batch, sink, options)
            written = sink.getvalue().to_pybytes()
            lines.add(len(batch), written.count(b"\n"))
            copy.write(written)


class _CopiedLines:
    """How many lines the rows of each batch took: PostgreSQL counts lines, and texts may have several."""

    def __init__(self) -> None:
        self.rows = 0
        self._lines = 0
        self._ends: list[tuple[int, int, bool]] = []

    def add(self, rows: int, lines: int) -> None:
        """Count a batch."""
        self.rows, self._lines = self.rows + rows, self._lines + lines
        self._ends.append((self._lines, self.rows, rows == lines))

    def find(self, error: Any, request: LoadRequest) -> None:
        """Say which row and column an error is of; in a batch with texts of several lines the row stays unknown."""
        found = _COPIED.match(error.diag.context or "")
        if found is None:
            return
        line, column = int(found["line"]), found["column"] or error.diag.column_name
        if column in {known.name for known in request.columns}:
            request.rejected.column = column
        end, row, is_plain = next((one for one in self._ends if one[0] >= line), (0, 0, False))
        if is_plain:
            request.rejected.place = row - (end - line)


_COPIED: Final = re.compile(r"COPY \w+, \w+ (?P<line>\d+)(?:, \w+ (?P<column>\w+))?")
"""Where PostgreSQL was in what it copied, in whatever language."""


_LOCK_WAIT_S: Final = 5


class MysqlLoader(Loader):
    """CREATE TABLE commits there: rows go into a table of another name, which gets its own in one step at the end.

    A process that dies leaves that table; the next upload into the schema drops it. Whose upload goes on holds a lock.
    """

    own_schemas = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
    own_columns = re.compile("db_row_id|db_trx_id|db_roll_ptr", re.IGNORECASE)
    takes_infinity = False
    prefix: ClassVar[str] = RESERVED_PREFIX

    def is_of_rows(self, error: Exception) -> bool:
        """Tell it by the server's code: this driver's classes of errors say less."""
        return bool(error.args) and error.args[0] in _OF_ROWS

    def load(self, connection: sa.Connection, request: LoadRequest) -> int:
        """Insert many rows at a time, then rename; rows to append are one transaction in the table itself."""
        raw: Any = connection.connection.driver_connection
        with raw.cursor() as cursor:
            self._drop_leftovers(cursor, connection, request)
            if request.if_exists is TableExists.APPEND:
                return self._append(raw, cursor, connection, request)
            name = f"{self.prefix}{secrets.token_hex(8)}"
            with self._name_lock(cursor, name):
                return self._replace(raw, cursor, connection, request, name)

    def _append(self, raw: Any, cursor: Any, connection: sa.Connection, request: LoadRequest) -> int:
        cursor.execute(_STORAGE, (request.schema, request.table))
        found = cursor.fetchone()
        if found is None or found[0] != "InnoDB":
            raise UnsupportedByEngineError(
                "rows are appended all or none, which takes a table of InnoDB; replace the table, or convert it"
            )
        count = self._insert(cursor, connection, request, request.sql_table())
        request.begin_to_commit()
        raw.commit()
        return count

    def _replace(self, raw: Any, cursor: Any, connection: sa.Connection, request: LoadRequest, name: str) -> int:
        table, final = request.sql_table(name), request.sql_table()
        old = request.sql_table(f"{name}_old")
        written = connection.dialect.identifier_preparer.format_table
        if request.if_exists is TableExists.REPLACE:
            cursor.execute(_REFERRING, (request.schema, request.table, request.table))
            if cursor.fetchone() is not None:  # their keys would go on to refer to the table that is put away
                raise UnsupportedByEngineError(
                    "other tables refer to this one by foreign keys, so that it cannot be replaced; append to it, or "
                    "drop these keys first"
                )
        try:
            cursor.execute(create(table, connection))
            count = self._insert(cursor, connection, request, table)
            raw.commit()
            cursor.execute(_STORAGE, (request.schema, request.table))
            exists = cursor.fetchone() is not None and request.if_exists is TableExists.REPLACE
            request.begin_to_commit()
            away = f"{written(final)} TO {written(old)}, " if exists else ""
            cursor.execute(f"RENAME TABLE {away}{written(table)} TO {written(final)}")
        except BaseException:  # whatever happens, an interruption too: nothing is left
            with suppress(connection.dialect.loaded_dbapi.Error):  # lost: the next upload drops it
                raw.rollback()
                cursor.execute(drop(table, connection))
            raise
        cursor.execute(drop(old, connection))
        return count

    def _insert(self, cursor: Any, connection: sa.Connection, request: LoadRequest, table: sa.Table) -> int:
        sql, count = insert(table, connection), 0
        for first, batch in self.checked(request):
            rows = list(rows_of(batch))
            cursor.execute("SAVEPOINT batch_of_upload")
            try:
                cursor.executemany(sql, rows)
            except connection.dialect.loaded_dbapi.Error as error:
                if self.is_of_rows(error):
                    cursor.execute("ROLLBACK TO SAVEPOINT batch_of_upload")
                    self._find(cursor, sql, rows, first, request.rejected)
                raise
            count += len(batch)
        return count

    def _find(self, cursor: Any, sql: str, rows: Sequence[Any], first: int, rejected: RejectedRow) -> None:
        """Insert rows one by one until the one that is refused, and raise what the server says of it."""
        for rejected.place, row in enumerate(rows, first):
            cursor.execute(sql, row)
        rejected.place = None

    def _drop_leftovers(self, cursor: Any, connection: sa.Connection, request: LoadRequest) -> None:
        """Drop tables of uploads whose connection is gone, and with it its lock."""
        cursor.execute(_LEFTOVERS, (request.schema, self.prefix.replace("_", r"\_") + "%"))
        for (name,) in cursor.fetchall():
            cursor.execute("SELECT IS_FREE_LOCK(%s)", (name.removesuffix("_old"),))
            if cursor.fetchone()[0] == 1:
                cursor.execute(drop(request.sql_table(name), connection))

    @contextmanager
    def _name_lock(self, cursor: Any, name: str) -> Iterator[None]:
        """Hold the lock of a name that nobody else has; the server lets it go with the connection."""
        cursor.execute("SELECT GET_LOCK(%s, %s)", (name, _LOCK_WAIT_S))
        cursor.fetchone()
        yield


_OF_ROWS: Final = frozenset({1048, 1062, 1264, 1265, 1292, 1364, 1366, 1406, 1452, 1526, 3819, 4025})
"""Null, duplicate, out of range, truncated, wrong, no default, too long, no such reference, no partition, CHECK."""

_STORAGE = """
SELECT engine FROM information_schema.tables
WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s AND table_type = 'BASE TABLE'
"""
_REFERRING = """
SELECT 1 FROM information_schema.key_column_usage
WHERE referenced_table_schema = COALESCE(%s, DATABASE()) AND referenced_table_name = %s AND table_name <> %s LIMIT 1
"""
_LEFTOVERS = """
SELECT table_name FROM information_schema.tables
WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name LIKE %s AND table_type = 'BASE TABLE'
"""


def _made_ready(table: sa.Table, request: LoadRequest, connection: sa.Connection) -> Iterator[str]:
    """Yield what is run before the rows come."""
    if request.if_exists is TableExists.APPEND:
        return
    if request.if_exists is TableExists.REPLACE:
        yield drop(table, connection)
    yield create(table, connection)
