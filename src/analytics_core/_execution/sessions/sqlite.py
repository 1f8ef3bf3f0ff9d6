"""SQLite: files opened `mode=ro` behind an authoriser that knows only reading (SECURITY.md 3.7, SQL_TRAPS.md 7).

A database in memory is shared by name inside the process (`file:NAME?mode=memory&cache=shared`); whoever fills it
opens the same name. Its connections are `query_only`, and the authoriser keeps that from being switched off.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from analytics_core._engines.types import ValueKind
from analytics_core._execution.cancel import Stopper, StopReason
from analytics_core._execution.fetching import FetchedResult
from analytics_core._execution.sessions.base import (
    ANSWER_GRACE_S,
    OpenRequest,
    RunRequest,
    Session,
    read_result,
    refuse_missing_file,
    refuse_unless_reading,
    start_statement,
)
from analytics_core._records.database import Access
from analytics_core.errors import StatementRefusedError

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

    def __init__(self) -> None:
        self._anchors: dict[str, sqlite3.Connection] = {}

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return an engine on the file, or on the shared database in memory."""
        target = sqlite_target(request)
        if request.file is None and target not in self._anchors:
            self._anchors[target] = _connect(target)
        lock_wait_s = min(_LONGEST_LOCK_WAIT_S, request.answer_s - ANSWER_GRACE_S)

        def open_connection() -> sqlite3.Connection:
            refuse_missing_file(request, engine="sqlite")
            raw = _connect(target, lock_wait_s=lock_wait_s)
            if request.file is not None:
                _read_header(raw)
            elif request.access is Access.READ:
                raw.execute("PRAGMA query_only = ON")
            _furnish(raw)
            raw.set_authorizer(_AUTHORISERS[request.access])
            return raw

        options = {"poolclass": sa.QueuePool, **request.pool_options}
        return sa.create_engine("sqlite+pysqlite://", creator=open_connection, hide_parameters=True, **options)

    def run(self, request: RunRequest) -> FetchedResult:
        """Run under a clock that SQLite itself asks every few thousand steps; an interrupt comes from elsewhere."""
        refuse_unless_reading(request.statement.sql)
        raw: Any = request.connection.connection.driver_connection
        _refuse_parts_of_indexes(raw, request.statement.sql)
        with self.limited(request.connection, request.stopper, timeout_s=request.limits.timeout_s):
            return read_result(start_statement(request), request, kept_as=_KEPT_AS)

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


def _refuse_parts_of_indexes(raw: sqlite3.Connection, sql: str) -> None:
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


def _clock(stopper: Stopper, timeout_s: float) -> Any:
    deadline = time.monotonic() + timeout_s

    def is_over() -> int:
        if time.monotonic() > deadline:
            stopper.note(StopReason.TIMED_OUT)
        return stopper.reason is not None

    return is_over


_KEPT_AS = MappingProxyType({ValueKind.DECIMAL: ValueKind.FLOAT})
"""SQLite keeps decimals as floats."""
