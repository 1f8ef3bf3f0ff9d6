"""What the runner needs of an engine's connections: open them walled, read rows within a time limit, interrupt."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import sqlalchemy as sa

from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.cancel import Stopper, StopReason
from analytics_core._engine.execution.driver_limits import allow_answer, open_by
from analytics_core._engine.execution.fetching import FetchedResult, FetchLimits, Give, fetch_rows
from analytics_core._engine.execution.handed_over import HandedOver
from analytics_core._engine.execution.sessions.opening import BeforeConnect, opener
from analytics_core._records.datasource import Access
from analytics_core.errors import (
    ConnectionUriError,
    DatabaseError,
    ErrorType,
    ResultTooLargeError,
    StatementRefusedError,
)

if TYPE_CHECKING:
    from analytics_core._engine.engines.costs import CostEstimates, Costs

CODE_ATTRIBUTES = ("sqlstate", "pgcode", "sqlite_errorname")
"""Where the exceptions of drivers keep the code of an error."""

PAGE_ATTRIBUTE = "info_uri"
"""Where cursors of drivers name the page on which their server shows the statement."""

STREAM_OPTION = "analytics_core_open"
"""Execution option of our engines: a callable that opens one more connection (for KILL QUERY)."""

BACKSTOP_S = 0.5
"""The server's own time limit comes first; ours follows, in case the statement has lifted the server's."""

ANSWER_GRACE_S = 1.0
"""How long after its time limit a statement's connection waits for the server; then the connection is given up."""

READING_WORDS = frozenset({"select", "with", "values", "table", "from", "explain", "show", "describe", "desc"})
_MAY_WRITE = frozenset({"explain"})
"""EXPLAIN PLAN FOR of Oracle writes a table: a word for sessions that cannot write."""

_RUNS_ITS_STATEMENT = re.compile(r"explain\b.*\banaly[sz]e\b", re.IGNORECASE | re.DOTALL)
"""EXPLAIN ANALYZE; PostgreSQL lets one of CREATE TABLE through in a read-only transaction."""

_BEFORE_FIRST_WORD = re.compile(r"(?:\s+|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
_WORD = re.compile(r"\w+")
_PAGE = re.compile(r"https?://[!-~]{1,2000}")


class DriverFailureError(Exception):
    """A driver's failure that comes as no exception of its own class; the text is for diagnosis only."""


VALUE_FAILURES = (DriverFailureError, ArithmeticError, RuntimeError, ValueError, OSError)
"""What runs into a driver's C code: values that no driver takes (lone surrogates, integers beyond 64 bits), values of
rows that Python cannot hold, and C++ exceptions that DuckDB hands on as RuntimeError; and what drivers over HTTP let
through of their sockets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """What an engine of SQLAlchemy is made from; the policy has checked all of it.

    `file` is the resolved path of a file-based engine; None with `memory_name` for a database in memory. `may_change`
    says whether the database takes writes at all, with whatever access this engine is opened. `answer_s` is how long a
    server may leave a connection without an answer. `before_connect` are the steps that choose where and as whom each
    new connection to a server connects; connections to files have none. `handed_over` is what a host handed over in
    place of the URL.
    """

    url: sa.URL
    file: Path | None = None
    memory_name: str | None = None
    access: Access = Access.READ
    may_change: bool = False
    connect_args: Mapping[str, Any] = field(default_factory=dict)
    pool_options: Mapping[str, Any] = field(default_factory=dict)
    answer_s: float = 60.0
    before_connect: tuple[BeforeConnect, ...] = ()
    handed_over: HandedOver | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One statement on one connection; `give` takes its rows in parts while they are read."""

    connection: sa.Connection
    statement: Statement
    limits: FetchLimits
    stopper: Stopper
    give: Give | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptStatement:
    """A statement of a script, and what comes of it: `is_query` reads rows, `gives_rows` changes them and tells which.

    A plan display has rows and is no query. One that `has_plan` reads or changes rows, so that its cost is estimated.
    """

    statement: Statement
    is_query: bool
    gives_rows: bool
    has_plan: bool = True


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """Statements for one transaction on one connection.

    Attributes:
        access: with which the connection was opened.
        done: is told how many rows each statement gave or changed; None: not known.
        begin_to_commit: is called right before the commit; what it raises undoes everything.
        begins: is told of each statement right before it runs, and may ask about it on the connection; likewise.
    """

    connection: sa.Connection
    statements: Sequence[ScriptStatement]
    limits: FetchLimits
    stopper: Stopper
    access: Access
    done: Callable[[int | None], None]
    begin_to_commit: Callable[[], None]
    begins: Callable[[ScriptStatement, RunRequest], None] | None = None


class Session:
    """How the connections of an engine are opened, walled, timed and interrupted; this one suits most DBAPI drivers.

    Without a server-side time limit of its own, the statement is cancelled from a timer thread. With `opens_files_once`
    a process reads the file that it opened first until all connections to it are closed. `reading_words` begin what may
    run where nothing may be written. `without_parameters` is what the driver gets for a statement without values.
    """

    opens_files_once: ClassVar[bool] = False
    repeat_s: ClassVar[float] = 0.25
    reading_words: ClassVar[frozenset[str]] = READING_WORDS - _MAY_WRITE
    without_parameters: ClassVar[dict[str, Any] | None] = None

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return a pooled engine; with `Access.READ` its connections can only read, by a wall of the engine's own."""
        engine = sa.create_engine(
            request.url, connect_args=dict(request.connect_args), hide_parameters=True, **request.pool_options
        )
        open_by(engine, opener(engine, request.before_connect))
        return engine

    def run(self, request: RunRequest) -> FetchedResult:
        """Run the statement and read its rows; driver exceptions pass through.

        Raises:
            StatementRefusedError: the statement gives no rows.
            ResultTooLargeError: the byte budget is crossed; the statement was stopped.
        """
        reject_unless_reading(request.statement.sql, words=self.reading_words)
        try:
            with self.limited(request.connection, request.stopper, timeout_s=request.limits.timeout_s):
                return self.read(request)
        except (ResultTooLargeError, DriverFailureError):
            # The statement may still run: the pool opens a fresh connection in its place.
            request.connection.invalidate()
            raise

    def run_script(self, request: ScriptRequest) -> FetchedResult | None:
        """Run statements in one transaction, commit, and return the rows of the last one that gave some.

        When this raises, all is undone that the engine undoes. The connection is closed in any case: nothing that a
        script left in its session reaches whoever comes next.

        Raises:
            StatementRefusedError: a statement that the session lets nobody run.
            ResultTooLargeError: the byte budget is crossed.
        """
        connection, last = request.connection, None
        raw: Any = connection.connection.driver_connection
        try:
            with self.limited(connection, request.stopper, timeout_s=request.limits.timeout_s):
                self.begin(raw, request.access)
                for one in request.statements:
                    outcome = self._run_one(one, request)
                    last = outcome if isinstance(outcome, FetchedResult) else last
                    request.done(len(outcome.frame) if isinstance(outcome, FetchedResult) else outcome)
                request.begin_to_commit()
                raw.commit()
        except BaseException:  # whatever happens, an interruption too: nothing is left
            with suppress(connection.dialect.loaded_dbapi.Error, *VALUE_FAILURES):
                raw.rollback()
            raise
        finally:
            connection.invalidate()
        return last

    def _run_one(self, one: ScriptStatement, request: ScriptRequest) -> FetchedResult | int | None:
        connection, statement = request.connection, one.statement
        if request.access is not Access.WRITE:
            reject_unless_reading(statement.sql, words=self.reading_words)
        self.reject(connection.connection.driver_connection, statement.sql)
        alone = RunRequest(connection=connection, statement=statement, limits=request.limits, stopper=request.stopper)
        if request.begins is not None:
            request.begins(one, alone)
        return self.read(alone) if one.is_query else self.change(alone, gives_rows=one.gives_rows)

    def estimate(self, request: RunRequest, costs: CostEstimates) -> Costs:
        """Return what the engine estimates for the statement, which does not run; driver exceptions pass through."""
        with self.limited(request.connection, request.stopper, timeout_s=request.limits.timeout_s):
            return self.ask_costs(request, costs)

    def ask_costs(self, request: RunRequest, costs: CostEstimates) -> Costs:
        """Return the same in the transaction that is open."""
        statement = request.statement
        with closing(request.connection.connection.cursor()) as cursor:
            return costs.ask(cursor, statement.sql, statement.parameters or self.without_parameters)

    def begin(self, _raw: Any, _access: Access) -> None:
        """Begin the transaction of a script on a driver's connection, unless `limited` or the driver did."""

    def reject(self, _raw: Any, _sql: str) -> None:
        """Refuse a statement that this engine's sessions let nobody run; StatementRefusedError."""

    def read(self, request: RunRequest) -> FetchedResult:
        """Run a query on the connection, in the transaction that is open, and read its rows."""
        return run_statement(request)

    def change(self, request: RunRequest, *, gives_rows: bool) -> FetchedResult | int | None:
        """Run another statement there; return its rows where it gives any, or how many it changed (None: unknown)."""
        statement = request.statement
        result = request.connection.exec_driver_sql(statement.sql, statement.parameters or None)
        if gives_rows:
            return read_cursor(result.cursor, request)
        return result.rowcount if result.rowcount >= 0 else None

    @contextmanager
    def limited(self, connection: sa.Connection, stopper: Stopper, *, timeout_s: float) -> Iterator[None]:
        """Hold what the block runs on the connection to a time limit, and tell `stopper` how to interrupt it."""
        raw = connection.connection.driver_connection
        interrupt = getattr(raw, "cancel", None) or connection.invalidate
        stopper.arm(interrupt, after_s=timeout_s, repeat_s=self.repeat_s)
        yield

    def writer(self, _request: OpenRequest) -> AbstractContextManager[Any]:
        """Give the host a writable connection to a database in memory; only engines that have such databases."""
        raise ConnectionUriError("this engine has no databases in memory")

    def is_open_to_change(self, _request: OpenRequest) -> bool | None:
        """Tell whether a file that a process opens once is open to be changed, or for reading only; None: not open."""
        return None

    def release(self, _request: OpenRequest) -> None:
        """Close what the engines on this file or memory shared; nothing by default."""


def ends_stops(stopper: Stopper, commits: threading.Event) -> Callable[[], None]:
    """Return what ends the time in which the work may be stopped: from there on it is committed, and that is told."""

    def end() -> None:
        if stopper.reason is not None:
            raise DriverFailureError("stopped before the commit")
        stopper.finish()
        commits.set()

    return end


def reject_missing_file(request: OpenRequest, *, engine: str) -> None:
    """Raise DatabaseError for a database file that is not there; its name is told, not the folders before it."""
    file = request.file
    if file is None or file.is_file():
        return
    what = f"{file.name!r} is a folder, no file" if file.is_dir() else f"there is no file {file.name!r}"
    raise DatabaseError(
        f"{what} where the URL of the database leads; relative paths begin at the folder that the process runs in",
        error_type=ErrorType.CONNECTION_UNKNOWN_DATABASE_ERROR,
        engine=engine,
    )


def reject_unless_reading(sql: str, *, words: AbstractSet[str] = READING_WORDS) -> None:
    """Refuse a text whose first word does not begin a query: a second wall for engines that others leave open."""
    position = _first_word(sql)
    word = _WORD.match(sql, position)
    if word is None or word.group().casefold() not in words or _RUNS_ITS_STATEMENT.match(sql, position):
        raise no_rows()


def reject_plan_that_runs(sql: str) -> None:
    """Refuse a plan display that executes what it shows; StatementRefusedError."""
    if _RUNS_ITS_STATEMENT.match(sql, _first_word(sql)):
        raise no_rows()


def _first_word(sql: str) -> int:
    start = _BEFORE_FIRST_WORD.match(sql)
    return start.end() if start else 0


def no_rows() -> StatementRefusedError:
    """Return the error for a statement that is no query."""
    return StatementRefusedError("this is not a query: only statements that read rows may run on this database")


def run_statement(request: RunRequest) -> FetchedResult:
    """Run the statement through SQLAlchemy and read its rows.

    Raises:
        StatementRefusedError: it gives no rows.
    """
    statement = request.statement
    result = request.connection.exec_driver_sql(statement.sql, statement.parameters or None)
    return read_cursor(result.cursor, request)


def read_cursor(
    cursor: Any,
    request: RunRequest,
    *,
    stored_as: Mapping[ValueKind, ValueKind] = MappingProxyType({}),
) -> FetchedResult:
    """Read tuples off a driver's cursor on which the statement ran; `stored_as` says what an engine makes of kinds.

    Raises:
        StatementRefusedError: the statement gave no rows.
    """
    if cursor is None or cursor.description is None:
        raise no_rows()
    labels, kinds = columns_of(request.statement, [item[0] for item in cursor.description])
    rows = cursor if isinstance(cursor, Iterator) else iter(cursor.fetchone, None)
    fetched = fetch_rows(
        rows,
        labels=labels,
        kinds=list(map(stored_as.get, kinds, kinds)),
        limits=request.limits,
        check=checker(request),
        give=request.give,
    )
    page = str(getattr(cursor, PAGE_ATTRIBUTE, None))
    return replace(fetched, tracking_url=page) if _PAGE.fullmatch(page) else fetched


def expect_answers(request: RunRequest) -> None:
    """Let the server take no longer for each answer than the request says, where it says that."""
    if request.limits.answer_s is not None:
        allow_answer(request.connection.connection.driver_connection, request.limits.answer_s + ANSWER_GRACE_S)


def columns_of(statement: Statement, names: Sequence[str]) -> tuple[Sequence[str], Sequence[ValueKind]]:
    """Return labels and kinds by position; a statement without labels takes the names of the result."""
    if statement.labels:
        return statement.labels, statement.kinds
    return names, [ValueKind.UNKNOWN] * len(names)


def checker(request: RunRequest) -> Callable[[], None]:
    """Return a check between batches: it ends the reading once the run was stopped or its time is over."""
    deadline = time.monotonic() + request.limits.timeout_s
    stopper = request.stopper

    def check() -> None:
        if stopper.reason is None and time.monotonic() > deadline:
            stopper.note(StopReason.TIMED_OUT)
        if stopper.reason is not None:
            raise DriverFailureError("stopped between two batches")

    return check
