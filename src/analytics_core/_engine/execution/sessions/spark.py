"""Spark through its Thrift server and PyHive: sessions in UTC, statements in the background, so that they stop.

The server knows no read-only sessions: only the check of a statement's first word stands behind the guard, so that the
database's user should be one who can only read. Also what its databases tell of what they hold.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._engine.engines.literals import LiteralStyle
from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.fetching import FetchedResult
from analytics_core._engine.execution.sessions.base import (
    READING_WORDS,
    DriverFailureError,
    OpenRequest,
    RunRequest,
    Session,
    checker,
    read_cursor,
)
from analytics_core._engine.execution.sessions.metadata import (
    BoundQuery,
    EngineMetadata,
    ReflectedColumn,
    ReflectedTable,
    quoted_name,
)

_LITERALS: Final = LiteralStyle(dialect="spark")
_PINNED: Final = (
    "SET TIME ZONE 'UTC'",
    "SET spark.sql.variable.substitute=false",
    "SET spark.sql.runSQLOnFiles=false",
)
"""What answers depend on; and the server would write its variables, such as `${env:NAME}`, into a statement before it
reads it, bound values too, and take a name such as `text`.`*` for files of its own."""

_FIRST_LOOK_S: Final = 0.01
_LONGEST_LOOK_S: Final = 0.25
_END_OF_COLUMNS: Final = "#"
"""What DESCRIBE TABLE tells of partitions and more stands behind an empty line or one that begins so."""


class SparkSession(Session):
    """Spark's Thrift server."""

    reading_words: ClassVar[frozenset[str]] = READING_WORDS - {"from", "explain"}
    """`FROM t INSERT INTO ...` writes."""

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return an engine of sessions in UTC, whose statements run as they are written."""
        _keep_driver_quiet()
        engine = super().make_engine(request)
        event.listen(engine, "connect", _pin)
        event.listen(engine, "checkout", _require_open)
        return engine

    @contextmanager
    def limited(self, _connection: sa.Connection, stopper: Stopper, *, timeout_s: float) -> Iterator[None]:
        """Hold the block to a time limit; a statement looks at it itself, other questions end with their connection."""
        stopper.arm(lambda: None, after_s=timeout_s, repeat_s=self.repeat_s)
        yield

    def read(self, request: RunRequest) -> FetchedResult:
        """Run a query on the server, look whether it is over until it is, and read its rows."""
        from thrift.Thrift import TException

        raw: Any = request.connection.connection.driver_connection
        try:
            with closing(raw.cursor()) as cursor:
                cursor.execute(_written(request), async_=True)
                _wait(cursor, request)
                return read_cursor(cursor, request)
        except (TException, OSError) as error:  # none of the driver's own: the way to the server is broken
            raw._transport.close()
            raise DriverFailureError(str(error)) from error


def _keep_driver_quiet() -> None:
    """Have the driver log no statement with its values, and no row; a host that wants them gives its logger a level."""
    logger = logging.getLogger("pyhive.hive")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def _pin(raw: Any, _record: Any) -> None:
    with closing(raw.cursor()) as cursor:
        for setting in _PINNED:
            cursor.execute(setting)


def _require_open(raw: Any, _record: Any, _lent: Any) -> None:
    """Have the pool open another connection in the place of one that the server has closed, as by its restart."""
    transport = raw._transport
    if not transport.isOpen():
        transport.close()
        raise sa.exc.DisconnectionError("the server closed the connection")


def _written(request: RunRequest) -> str:
    """Return the statement with its values: the driver writes no decimals, and tabs that are none."""
    parameters = request.statement.parameters
    named = parameters if isinstance(parameters, dict) else {}
    return request.statement.sql % {name: _LITERALS.write(value) for name, value in named.items()}


def _wait(cursor: Any, request: RunRequest) -> None:
    """Return when the statement is over; it is stopped on the server when its time is."""
    from pyhive import exc
    from TCLIService.ttypes import TOperationState

    check, pause_s = checker(request), _FIRST_LOOK_S
    running = (TOperationState.INITIALIZED_STATE, TOperationState.PENDING_STATE, TOperationState.RUNNING_STATE)
    while (status := cursor.poll(get_progress_update=False)).operationState in running:
        try:
            check()
        except DriverFailureError:
            with suppress(exc.Error, OSError):
                cursor.cancel()
            raise
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_LOOK_S)
    if status.operationState != TOperationState.FINISHED_STATE:
        raise exc.OperationalError(status.errorMessage or "the server stopped the statement")


class SparkMetadata(EngineMetadata):
    """Names and types by Spark's own statements: the driver takes the schema of a table for its name."""

    def schemas(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the databases."""
        return tuple(sorted(row[0] for row in connection.exec_driver_sql("SHOW SCHEMAS")))

    def default_schema(self, connection: sa.Connection) -> str | None:
        """Return the database of the connection."""
        return str(connection.exec_driver_sql("SELECT current_schema()").scalar())

    def tables(self, connection: sa.Connection, schema: str | None) -> tuple[ReflectedTable, ...]:
        """Return tables and views, sorted by name."""
        place = f" IN {quoted_name(connection, schema, None)}" if schema else ""
        views = {row[1] for row in connection.exec_driver_sql(f"SHOW VIEWS{place}")}
        names = {row[1] for row in connection.exec_driver_sql(f"SHOW TABLES{place}")} | views
        return tuple(ReflectedTable(name=name, is_view=name in views) for name in sorted(names))

    def columns(self, connection: sa.Connection, table: str, schema: str | None) -> tuple[ReflectedColumn, ...]:
        """Return the columns with the types as Spark writes them; whether they hold nulls it does not tell."""
        if table.casefold() not in {found.name.casefold() for found in self.tables(connection, schema)}:
            return ()
        rows = connection.exec_driver_sql(f"DESCRIBE TABLE {quoted_name(connection, table, schema)}").all()
        found = []
        for name, type_text, *_ in rows:
            if not name or name.startswith(_END_OF_COLUMNS):
                break
            found.append(ReflectedColumn(name=name, type_text=type_text.upper()))
        return tuple(found)

    def computed_columns(self, connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
        """Return none for a table: Spark's own have no columns that are computed when they are read."""
        stored = {found.name.casefold() for found in self.tables(connection, schema) if not found.is_view}
        return frozenset() if table.casefold() in stored else None

    def functions_sql(self, _connection: sa.Connection) -> str | None:
        """Ask for all of them."""
        return "SHOW FUNCTIONS"

    def query_columns(self, connection: sa.Connection, _sql: str, query: BoundQuery) -> tuple[tuple[str, str], ...]:
        """Return what Spark says of the query, without running it."""
        text, parameters = query
        rows = connection.exec_driver_sql(f"DESCRIBE QUERY {text}", parameters or {}).all()
        return tuple((row[0], row[1].upper()) for row in rows)
