"""DuckDB: one locked root per file, a cursor of it per pooled connection, read-only transactions, Arrow out.

A process opens a file once: for reading only, unless its database takes writes. Settings belong to the database
instance, so the root is configured and locked once. Only one statement of kind SELECT or EXPLAIN runs per call, so that
a connection goes back as it came, and no statement ends its read-only transaction.

A connection that a host handed over is the root of its database as it is: neither configured nor locked here, and not
closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import sqlalchemy as sa
from duckdb_sqlalchemy import ConnectionWrapper

from analytics_core._engine.engines.costs import CostEstimates, Costs
from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.fetching import FetchedResult, fetch_arrow
from analytics_core._engine.execution.handed_over import HandedConnection, HandedTables
from analytics_core._engine.execution.sessions.base import (
    READING_WORDS,
    DriverFailureError,
    OpenRequest,
    RunRequest,
    Session,
    checker,
    columns_of,
    no_rows,
    read_cursor,
    reject_missing_file,
    reject_plan_that_runs,
)
from analytics_core._engine.execution.sessions.csv_texts import CsvWatch
from analytics_core._engine.execution.sessions.duckdb_tables import open_tables
from analytics_core._records.datasource import Access
from analytics_core._tools.forks import forkable_rlock
from analytics_core.errors import DatabaseError

_CONFIG: dict[str, Any] = {
    "enable_external_access": False,
    "python_enable_replacements": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_community_extensions": False,
}
_READING_TYPES = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})
_SHORT_TYPES = re.compile(
    r"U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|BOOLEAN|DATE|TIME[^\[]*|DECIMAL\(\d+,\d+\)|UUID"
)
_ROWS_PER_BATCH = 512
_SHORT_ROWS_PER_BATCH = 10_000


def _open_root(request: OpenRequest) -> duckdb.DuckDBPyConnection:
    """Return a configured and locked connection; a file is opened for reading only, unless its database may change."""
    config = {**_CONFIG, **{name: str(value) for name, value in request.url.query.items()}}
    is_file = request.file is not None
    if isinstance(request.handed_over, HandedTables):
        return open_tables(request.handed_over.tables, {**config, "enable_external_access": True})
    if isinstance(request.handed_over, HandedConnection):
        own: duckdb.DuckDBPyConnection = request.handed_over.connection.cursor()  # closing it leaves the host's open
        return own
    read_only = is_file and not request.may_change
    root = duckdb.connect(str(request.file) if is_file else ":memory:", read_only=read_only, config=config)
    is_locked = root.execute("SELECT current_setting('lock_configuration')").fetchone()
    if is_locked != (True,):  # another connector of this process may have opened and locked the same file
        root.execute("SET GLOBAL TimeZone = 'UTC'")
        root.execute("SET lock_configuration = true")
    return root


class PooledCursor(ConnectionWrapper):
    """A cursor of the root as SQLAlchemy's dialect wants it; `native` is the driver's own connection.

    Its transactions are read-only unless write access was asked for: the second wall of databases in memory, and of
    files that may change. `changes` watches the CSV files behind its tables.
    """

    def __init__(
        self, native: duckdb.DuckDBPyConnection, access: Access = Access.READ, changes: CsvWatch | None = None
    ) -> None:
        super().__init__(native)
        self.native = native
        self.changes = changes
        self._access = access

    def begin(self) -> None:
        """Begin a transaction; SQLAlchemy calls this before its first statement."""
        self.native.execute(f"BEGIN TRANSACTION READ {'ONLY' if self._access is Access.READ else 'WRITE'}")


@dataclass(frozen=True, slots=True)
class _Root:
    """The connection that opened a file or a memory, whether what it opened may change, and its CSV files."""

    connection: duckdb.DuckDBPyConnection
    may_change: bool
    changes: CsvWatch


class DuckdbSession(Session):
    """DuckDB through `duckdb_sqlalchemy`; the roots of one connector, by file or by name in memory."""

    opens_files_once = True
    reading_words = READING_WORDS

    def __init__(self) -> None:
        self._lock = forkable_rlock()
        self._roots: dict[str, _Root] = {}

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return an engine over cursors of the shared root, which the first connection opens."""

        def open_connection() -> PooledCursor:
            root = self._root(request)
            cursor = root.connection.cursor()
            if isinstance(request.handed_over, HandedConnection):
                _set_apart(cursor)
            return PooledCursor(cursor, request.access, root.changes)

        options = {"poolclass": sa.QueuePool, **request.pool_options}
        return sa.create_engine("duckdb://", creator=open_connection, hide_parameters=True, **options)

    def run(self, request: RunRequest) -> FetchedResult:
        """Run in a read-only transaction; the time limit is an interrupt from a timer thread."""
        raw: Any = request.connection.connection.driver_connection
        native = raw.native
        _reject_unless_one_query(native, request.statement.sql)
        raw.begin()
        try:
            with self.limited(request.connection, request.stopper, timeout_s=request.limits.timeout_s):
                return self.read(request)
        finally:
            native.rollback()

    def estimate(self, request: RunRequest, costs: CostEstimates) -> Costs:
        """Ask in a read-only transaction."""
        raw: Any = request.connection.connection.driver_connection
        raw.begin()
        try:
            return super().estimate(request, costs)
        finally:
            raw.native.rollback()

    def ask_costs(self, request: RunRequest, costs: CostEstimates) -> Costs:
        """Ask on the cursor itself: another one would be another connection."""
        raw: Any = request.connection.connection.driver_connection
        return costs.ask(raw.native, request.statement.sql, request.statement.parameters or None)

    def begin(self, raw: Any, _access: Access) -> None:
        """Begin, read-only unless the cursor may write."""
        raw.begin()

    def read(self, request: RunRequest) -> FetchedResult:
        """Run a query and read its rows as Arrow."""
        raw, statement = request.connection.connection.driver_connection, request.statement
        assert isinstance(raw, PooledCursor)  # noqa: S101 - tells the type checker
        if raw.changes is not None:
            raw.changes.check(raw.native, statement.sql)
        raw.native.execute(statement.sql, statement.parameters or None)
        if written := _written_out(raw.native.description, statement.sql):
            raw.native.execute(written, statement.parameters or None)
        return _read(raw.native, request)

    def change(self, request: RunRequest, *, gives_rows: bool) -> FetchedResult | int | None:
        """Run another statement, of which DuckDB gives the count as a row."""
        raw: Any = request.connection.connection.driver_connection
        native, statement = raw.native, request.statement
        if len(native.extract_statements(statement.sql)) != 1:
            raise no_rows()
        native.execute(statement.sql, statement.parameters or None)
        if gives_rows:
            return read_cursor(native, request)
        counted = native.fetchone()
        return int(counted[0]) if counted and isinstance(counted[0], int) else None

    @contextmanager
    def limited(self, connection: sa.Connection, stopper: Stopper, *, timeout_s: float) -> Iterator[None]:
        """Interrupt from a timer thread once the time is over."""
        raw: Any = connection.connection.driver_connection
        stopper.arm(raw.native.interrupt, after_s=timeout_s)
        yield

    @contextmanager
    def writer(self, request: OpenRequest) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a writable cursor of the database in memory; external access stays off."""
        with closing(self._root(request).connection.cursor()) as cursor:
            yield cursor

    def release(self, request: OpenRequest) -> None:
        """Close the root: the file is free for others then, a database in memory is gone."""
        with self._lock:
            root = self._roots.pop(_place(request), None)
        if root is not None:
            root.connection.close()

    def is_open_to_change(self, request: OpenRequest) -> bool | None:
        """Tell how the root is open; None without one."""
        root = self._roots.get(_place(request))
        return None if root is None else root.may_change

    def _root(self, request: OpenRequest) -> _Root:
        with self._lock:
            if _place(request) not in self._roots:
                reject_missing_file(request, engine="duckdb")
                tables = request.handed_over.tables if isinstance(request.handed_over, HandedTables) else {}
                changes = CsvWatch(tables)
                self._roots[_place(request)] = _Root(_open_root(request), request.may_change, changes)
            root = self._roots[_place(request)]
            if request.access is Access.WRITE and request.file is not None and not root.may_change:
                raise DatabaseError(
                    "the database file is being read by a connection that opened it for reading only; try again when "
                    "that has finished",
                    engine="duckdb",
                    retryable=True,
                )
            return root


def _set_apart(cursor: duckdb.DuckDBPyConnection) -> None:
    """Set what one cursor of a host's connection can set for itself: UTC, and no variables of Python as tables."""
    for name, value in (("TimeZone", "UTC"), ("python_enable_replacements", "false")):
        with suppress(duckdb.InvalidInputException):  # the host has locked the configuration
            cursor.execute(f"SET SESSION {name} = '{value}'")


def _place(request: OpenRequest) -> str:
    return str(request.file) if request.file is not None else f":memory:{request.memory_name}"


def _reject_unless_one_query(native: Any, sql: str) -> None:
    reject_plan_that_runs(sql)
    statements = native.extract_statements(sql)
    if len(statements) != 1 or statements[0].type not in _READING_TYPES:
        raise no_rows()


_CHANGED_BY_ARROW = re.compile(
    r"\b(?:TIME WITH TIME ZONE|TIMETZ|TIME_NS|INTERVAL|BIT|UHUGEINT|BIGNUM)\b|\b(?:DATE|TIMESTAMP|TIME)\b.*[\])]"
    r"|\bSTRUCT\(\w+[(),\[]"
)
"""Types whose values Arrow has no like of, alone or in lists and structs, and dates in those: they come as text.

So do rows whose fields have no names, `STRUCT(INTEGER, DECIMAL(5,2))`.
"""


def _written_out(description: Any, sql: str) -> str | None:
    """Return the statement with columns of such types written as text by DuckDB; None where there are none."""
    changed = [bool(_CHANGED_BY_ARROW.search(str(column[1]))) for column in description]
    if not any(changed):
        return None
    names = [f"c{position}" for position in range(len(changed))]
    expressions = [
        f"CAST({name} AS VARCHAR)" if is_changed else name for name, is_changed in zip(names, changed, strict=True)
    ]
    aliases = [_quoted(column[0]) for column in description]
    selected = ", ".join(f"{value} AS {alias}" for value, alias in zip(expressions, aliases, strict=True))
    return f"SELECT {selected} FROM (\n{sql}\n) AS shown({', '.join(names)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _read(native: Any, request: RunRequest) -> FetchedResult:
    def next_batch() -> Any | None:
        try:
            return reader.read_next_batch()
        except StopIteration:
            return None
        except (pa.ArrowException, OSError) as error:
            # Border: Arrow wraps what DuckDB raised; its text is diagnosed and goes no further.
            failure = DriverFailureError(str(error))
        raise failure

    are_short = all(_SHORT_TYPES.fullmatch(str(column[1])) for column in native.description)
    most = _SHORT_ROWS_PER_BATCH if are_short else _ROWS_PER_BATCH
    reader = native.to_arrow_reader(min(most, request.limits.max_rows + 1))
    try:
        labels, kinds = columns_of(request.statement, reader.schema.names)
        return fetch_arrow(
            next_batch,
            schema=reader.schema,
            labels=labels,
            kinds=kinds,
            limits=request.limits,
            check=checker(request),
            give=request.give,
        )
    finally:
        reader.close()
