"""SQLite: files opened `mode=ro` behind an authoriser that knows only reading.

A database in memory is shared by name inside the process (`file:NAME?mode=memory&cache=shared`); whoever fills it
opens the same name. Its connections are `query_only`, and the authoriser keeps that from being switched off.

Also what databases tell of what they hold: types as they were declared, for queries too. SQLAlchemy would turn declared
types that it does not know into NUMERIC, and the driver describes no types at all.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.cancel import Stopper, StopReason
from analytics_core._engine.execution.fetching import FetchedResult, WeighedRows
from analytics_core._engine.execution.sessions.base import (
    ANSWER_GRACE_S,
    READING_WORDS,
    OpenRequest,
    RunRequest,
    Session,
    read_cursor,
    reject_missing_file,
    reject_unless_reading,
)
from analytics_core._engine.execution.sessions.metadata import (
    BoundQuery,
    EngineMetadata,
    ReflectedColumn,
    columns_of_rows,
    leading_columns,
)
from analytics_core._records.datasource import Access
from analytics_core.errors import DatabaseError, StatementRefusedError

_STEPS_BETWEEN_CLOCK_CHECKS = 50_000
"""Some milliseconds of common work; calling back into Python more often slows long statements down."""
_LONGEST_LOCK_WAIT_S = 5.0
"""For a file that another program has locked; a shorter time limit of statements goes before it."""
_RECURSIVE = 33  # SQLITE_RECURSIVE, not named by the module
_READING_ACTIONS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, _RECURSIVE})
_DENIED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "fsdir", "lsmode"})
_HARMLESS_PRAGMAS = frozenset(
    {"read_uncommitted", "data_version"}
)  # SQLAlchemy asks the one, full-text tables the other
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 100_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 1_000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 500,
}


class SqliteSession(Session):
    """SQLite through the standard library's driver; holds databases in memory open, which else end with their users."""

    reading_words = READING_WORDS

    def __init__(self) -> None:
        self._anchors: dict[str, sqlite3.Connection] = {}

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return an engine on the file, or on the shared database in memory."""
        target = sqlite_target(request)
        if request.file is None and target not in self._anchors:
            self._anchors[target] = _connect(target)
        lock_wait_s = min(_LONGEST_LOCK_WAIT_S, request.answer_s - ANSWER_GRACE_S)

        def open_connection() -> sqlite3.Connection:
            reject_missing_file(request, engine="sqlite")
            raw = _connect(target, lock_wait_s=lock_wait_s)
            if request.file is not None:
                raw = _with_header_read(raw, request, lock_wait_s)
            elif request.access is Access.READ:
                raw.execute("PRAGMA query_only = ON")
            _furnish(raw)
            raw.set_authorizer(_AUTHORISERS[request.access])
            return raw

        options = {"poolclass": sa.QueuePool, **request.pool_options}
        engine = sa.create_engine("sqlite+pysqlite://", creator=open_connection, hide_parameters=True, **options)
        event.listen(engine, "connect", _restore_floor)
        if request.file is not None and request.may_change:
            event.listen(engine, "checkout", _replace_before_rollback)
        return engine

    def run(self, request: RunRequest) -> FetchedResult:
        """Run under a clock that SQLite itself asks every few thousand steps; an interrupt comes from elsewhere."""
        reject_unless_reading(request.statement.sql)
        self.reject(request.connection.connection.driver_connection, request.statement.sql)
        with self.limited(request.connection, request.stopper, timeout_s=request.limits.timeout_s):
            return self.read(request)

    def begin(self, raw: Any, access: Access) -> None:
        """Begin where the connection may write, and wait for whoever writes now; the others have no transactions."""
        if access is Access.WRITE:
            raw.execute("BEGIN IMMEDIATE")

    def reject(self, raw: Any, sql: str) -> None:
        """Refuse the tables behind full-text and spatial indexes."""
        _reject_parts_of_indexes(raw, sql)

    def read(self, request: RunRequest) -> FetchedResult:
        """Run a query and read its rows."""
        raw: Any = request.connection.connection.driver_connection
        with closing(raw.cursor()) as cursor:
            cursor.execute(request.statement.sql, request.statement.parameters or ())
            return read_cursor(cursor, request, stored_as=_STORED_KINDS)

    @contextmanager
    def limited(self, connection: sa.Connection, stopper: Stopper, *, timeout_s: float) -> Iterator[None]:
        """Let SQLite itself look at the clock every few thousand steps; an interrupt comes from elsewhere."""
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)  # noqa: S101 - tells the type checker
        stopper.arm(raw.interrupt, after_s=None)
        raw.set_progress_handler(_clock(stopper, timeout_s), _STEPS_BETWEEN_CLOCK_CHECKS)
        try:
            yield
        finally:
            raw.set_progress_handler(None, 0)

    @contextmanager
    def writer(self, request: OpenRequest) -> Iterator[sqlite3.Connection]:
        """Give a writable connection to the database in memory; what it does is committed when the block ends well."""
        with closing(_connect(sqlite_target(request))) as raw, raw:
            yield raw

    def release(self, request: OpenRequest) -> None:
        """Let a database in memory go."""
        if anchor := self._anchors.pop(sqlite_target(request), None):
            anchor.close()


_PART_OF_INDEX = re.compile(
    r"_(?:data|idx|content|docsize|config|segments|segdir|stat|node|rowid|parent)\b", re.IGNORECASE
)
_VIRTUAL_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'"


def _reject_parts_of_indexes(raw: sqlite3.Connection, sql: str) -> None:
    """Refuse a statement that names a shadow table of a full-text or spatial index: rules stand on the index alone.

    The name counts wherever it stands, in a text too: SQLite reads a table by its name in single quotes.
    """
    if not _PART_OF_INDEX.search(sql):
        return
    for (name,) in raw.execute(_VIRTUAL_TABLES).fetchall():
        written = re.escape(name.replace('"', '""'))
        if re.search(rf"(?<!\w){written}{_PART_OF_INDEX.pattern}", sql, re.IGNORECASE):
            raise StatementRefusedError(
                f"the tables behind the index {name} are not allowed: they show its rows; read {name} itself"
            )


def _connect(target: str, *, lock_wait_s: float = _LONGEST_LOCK_WAIT_S) -> sqlite3.Connection:
    return sqlite3.connect(target, uri=True, check_same_thread=False, isolation_level=None, timeout=lock_wait_s)


def _with_header_read(raw: sqlite3.Connection, request: OpenRequest, lock_wait_s: float) -> sqlite3.Connection:
    """Return the connection; where a process died while it wrote, what it wrote is rolled back first, and a new one.

    A connection for reading only cannot do that, and would fail until somebody writes.
    """
    try:
        _read_header(raw)
    except sqlite3.OperationalError as error:
        if not _needs_rollback(error):
            raise
    else:
        return raw
    if not request.may_change:
        raise DatabaseError(
            "a program died while it wrote to this file; open the file once with one that may write, so that what it "
            "began is rolled back",
            engine="sqlite",
        )
    writing = _connect(sqlite_target(replace(request, access=Access.WRITE)), lock_wait_s=lock_wait_s)
    _read_header(writing)
    writing.close()
    raw = _connect(sqlite_target(request), lock_wait_s=lock_wait_s)
    _read_header(raw)
    return raw


def _needs_rollback(error: sqlite3.Error) -> bool:
    return error.sqlite_errorname == "SQLITE_READONLY_ROLLBACK"


def _replace_before_rollback(raw: Any, _record: Any, _proxy: Any) -> None:
    """Let the pool open another connection in place of one that finds a journal which must be rolled back."""
    try:
        raw.execute("PRAGMA data_version").fetchone()
    except sqlite3.OperationalError as error:
        if _needs_rollback(error):
            raise sa.exc.DisconnectionError from None


def _read_header(raw: sqlite3.Connection) -> None:
    """Read the first page: SQLite opens any file, and finds out that it is no database when it first reads it."""
    try:
        raw.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error:
        raw.close()
        raise


def sqlite_target(request: OpenRequest) -> str:
    """Return the `file:` URI of a checked request."""
    if request.file is None:
        return f"file:{quote(request.memory_name or '', safe='')}?mode=memory&cache=shared"
    immutable = request.url.query.get("immutable")
    # Quoted: a value may hold an `&` that would start an option of its own (`vfs`, `mode`).
    flag = f"&immutable={quote(str(immutable), safe='')}" if immutable is not None else ""
    mode = "ro" if request.access is Access.READ else "rw"
    return f"{request.file.as_uri()}?mode={mode}{flag}"


def authorise_reading(action: int, first: str | None, second: str | None, _database: Any, _trigger: Any) -> int:
    """Allow reading tables, calling functions and recursion; deny all else. Called by SQLite while it prepares."""
    if action in _READING_ACTIONS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        return sqlite3.SQLITE_DENY if (second or "").casefold() in _DENIED_FUNCTIONS else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _HARMLESS_PRAGMAS and second is None else sqlite3.SQLITE_DENY
    # Table-valued functions (json_each) declare themselves this way; the file is read-only, so nothing is written.
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def authorise_writing(action: int, first: str | None, second: str | None, _database: Any, _trigger: Any) -> int:
    """Allow all that stays inside the database: no other file, no dangerous function, no setting."""
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    if action in (sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_PRAGMA):
        return authorise_reading(action, first, second, _database, _trigger)
    return sqlite3.SQLITE_OK


_AUTHORISERS = {Access.READ: authorise_reading, Access.WRITE: authorise_writing}


@contextmanager
def without_authoriser(raw: sqlite3.Connection) -> Iterator[None]:
    """Let our own reflection ask PRAGMAs on a read-only connection that nobody else holds meanwhile."""
    raw.set_authorizer(None)
    try:
        yield
    finally:
        raw.set_authorizer(authorise_reading)


def _furnish(raw: sqlite3.Connection) -> None:
    raw.create_function("ac_lower", 1, _lower, deterministic=True)
    for limit, most in _LIMITS.items():
        raw.setlimit(limit, most)


def _lower(value: Any) -> Any:
    """Fold case as Unicode does; SQLite's own LOWER knows ASCII only."""
    return value.lower() if isinstance(value, str) else value


def _restore_floor(raw: sqlite3.Connection, _record: Any) -> None:
    raw.create_function("floor", 1, _floor, deterministic=True)


def _floor(value: Any) -> Any:
    """Answer as SQLite's own FLOOR, which SQLAlchemy hides behind Python's: what has a fraction stays REAL."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value) if {".", "e", "E"} & set(value) else int(value)
    if isinstance(value, float):
        return float(math.floor(value)) if math.isfinite(value) else value
    return value if isinstance(value, int) else None


_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)


def _clock(stopper: Stopper, timeout_s: float) -> Any:
    deadline = time.monotonic() + timeout_s

    def is_over() -> int:
        if time.monotonic() > deadline:
            stopper.note(StopReason.TIMED_OUT)
        return stopper.reason is not None

    return is_over


_STORED_KINDS = MappingProxyType({ValueKind.DECIMAL: ValueKind.FLOAT})
"""SQLite keeps decimals as floats."""


_SAMPLE_ROWS = 200
_SAMPLE_BYTES = 4 * 1024 * 1024
_SAMPLE_TIMEOUT_S = 5.0
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
        # Reads the file, so that a schema which another process changed is known anew; a temporary view would not.
        connection.exec_driver_sql("SELECT 1 FROM main.sqlite_master LIMIT 1").all()
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
        return list(zip(*WeighedRows(found).read(_SAMPLE_ROWS, most_bytes=_SAMPLE_BYTES)[0], strict=True))
    except sqlite3.OperationalError:
        if time.monotonic() > deadline:
            return []
        raise
    finally:
        raw.set_progress_handler(None, 0)
