"""MySQL and MariaDB through PyMySQL: settings pinned before each statement, rows streamed, KILL QUERY to stop.

Also what their databases tell of what they hold.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.cancel import Stopper, StopReason
from analytics_core._engine.execution.driver_limits import CONNECT_TIMEOUT_S, allow_answer, bound_waits
from analytics_core._engine.execution.fetching import FetchedResult, fetch_rows
from analytics_core._engine.execution.sessions.base import (
    ANSWER_GRACE_S,
    BACKSTOP_S,
    READING_WORDS,
    STREAM_OPTION,
    DriverFailureError,
    OpenRequest,
    RunRequest,
    Session,
    checker,
    columns_of,
    expect_answers,
    no_rows,
    reject_unless_reading,
    run_statement,
)
from analytics_core._engine.execution.sessions.metadata import UNKNOWN, EngineMetadata, ReflectedColumn, names_in_rows
from analytics_core._engine.execution.sessions.opening import PEER, opener
from analytics_core._engine.execution.sessions.table_details import TableDetails
from analytics_core._records.datasource import Access
from analytics_core.errors import AnalyticsError, ResultTooLargeError, StatementRefusedError

_SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
_PINNED = f"time_zone = '+00:00', sql_mode = '{_SQL_MODE}'"
_LITERALS_AND_COMMENTS = re.compile(
    r"""'(?:[^'\\]|''|\\.)*' | "(?:[^"\\]|""|\\.)*" | `(?:[^`]|``)*` | --[ \t][^\n]* | \#[^\n]* | /\*(?!M?!).*?\*/""",
    re.DOTALL | re.VERBOSE,
)
_RESET_CONNECTION = 0x1F
"""The command of the protocol (COM_RESET_CONNECTION) that makes a session new without a new log-in."""

_ACCESS_OPTION = "analytics_core_access"
_KILL_TIMEOUT_S = 2
"""What each wait of the second connection may take that stops a statement."""

_FEW_ROWS = 1_000
"""Unread rows up to this many are read to the end, which is cheaper than another connection."""

_WRITES_FILE = re.compile(r"\bINTO\s+(?:OUTFILE|DUMPFILE)\b|/\*M?!", re.IGNORECASE)


class MysqlSession(Session):
    """MySQL and MariaDB."""

    reading_words = READING_WORDS
    without_parameters: ClassVar[dict[str, Any]] = {}

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return an engine of sessions in UTC, read-only unless write access was asked for; it sends no local files."""
        patience = dict.fromkeys(("connect_timeout", "read_timeout", "write_timeout"), CONNECT_TIMEOUT_S)
        unsaid = {name: limit_s for name, limit_s in patience.items() if name not in request.url.query}
        arguments = {**unsaid, "charset": "utf8mb4", **request.connect_args, "local_infile": False}
        if request.url.get_driver_name() == "pymysql":
            arguments |= {"conv": _converters()} | encryption({**request.url.query, **request.connect_args})
        engine = sa.create_engine(
            request.url,
            connect_args=arguments,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_reset_on_return=None,
            **request.pool_options,
        )
        pin = partial(_pin_session, access=request.access)
        event.listen(engine, "connect", pin)
        event.listen(engine.pool, "reset", partial(_discard_session, pin))
        bound_waits(engine, answer_s=request.answer_s, before_connect=request.before_connect)
        positional, named = engine.dialect.create_connect_args(request.url)
        short = dict.fromkeys(patience, _KILL_TIMEOUT_S)
        connect = opener(engine, request.before_connect)
        open_connection = partial(connect, *positional, **{**named, **arguments, **short})
        return engine.execution_options(**{STREAM_OPTION: open_connection, _ACCESS_OPTION: request.access})

    def run(self, request: RunRequest) -> FetchedResult:
        """Pin the session again (a statement may have changed it), then stream the rows."""
        reject_unless_reading(request.statement.sql)
        self.reject(None, request.statement.sql)
        timeout_s = request.limits.timeout_s
        with self.limited(request.connection, request.stopper, timeout_s=timeout_s):
            expect_answers(request)
            started = time.monotonic()
            fetched = _read_stream(request)
        if time.monotonic() - started > timeout_s:
            # Some functions (BENCHMARK, SLEEP) end early at the limit and give 0 as if all were well.
            request.stopper.note(StopReason.TIMED_OUT)
        return fetched

    def reject(self, _raw: Any, sql: str) -> None:
        """Refuse statements that write files on the server."""
        reject_file_writing(sql)

    def read(self, request: RunRequest) -> FetchedResult:
        """Run a query and stream its rows."""
        return _read_stream(request)

    @contextmanager
    def limited(self, connection: sa.Connection, stopper: Stopper, *, timeout_s: float) -> Iterator[None]:
        """Pin the session with the server's own time limit; KILL and the end of the connection follow it."""
        allow_answer(connection.connection.driver_connection, timeout_s + ANSWER_GRACE_S)
        stopper.arm(_killer(connection), after_s=timeout_s + BACKSTOP_S, repeat_s=self.repeat_s)
        connection.exec_driver_sql(_session_settings(connection, timeout_s))
        yield


def _converters() -> dict[Any, Any]:
    """Return the driver's conversions, but times as the text that the server writes.

    They are spans of up to 838 hours and may be negative, which no time of day says.
    """
    from pymysql.constants import FIELD_TYPE
    from pymysql.converters import conversions, through

    return {**conversions, FIELD_TYPE.TIME: through}


_ENCRYPTION: Final = ("ssl_disabled", "ssl_verify_cert", "ssl_verify_identity")


def encryption(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the driver's arguments for what a connection asks of TLS; it would take any text, `false` too, for true.

    `ssl_verify_cert` also verifies the name, unless `ssl_verify_identity` is false. Without the file `ssl_ca` the
    authorities are the system's, by which the driver itself verifies no names.
    """
    said = {name: str(params[name]).casefold() in ("true", "1", "yes", "on") for name in _ENCRYPTION if name in params}
    arguments: dict[str, Any] = dict.fromkeys(said)
    if "ssl_disabled" in said:
        arguments["ssl_disabled"] = said["ssl_disabled"]
    if arguments.get("ssl_disabled") or not said.keys() - {"ssl_disabled"}:
        return arguments
    context = ssl.create_default_context(cafile=params.get("ssl_ca"))
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # certificates that servers make for themselves do not pass it
    verifies = said.get("ssl_verify_cert", False) or said.get("ssl_verify_identity", False)
    context.check_hostname = verifies and said.get("ssl_verify_identity", True)
    context.verify_mode = ssl.CERT_REQUIRED if verifies else ssl.CERT_NONE
    return arguments | {"ssl": context, "ssl_ca": None}


def reject_file_writing(sql: str) -> None:
    """Refuse INTO OUTFILE and executable comments; texts, quoted names and plain comments are no statement.

    A read-only transaction does not stop a query that writes a file on the server.

    Raises:
        StatementRefusedError: the statement holds one of them.
    """
    if _WRITES_FILE.search(_LITERALS_AND_COMMENTS.sub(" ", sql)):
        raise StatementRefusedError("INTO OUTFILE, INTO DUMPFILE and executable comments may not run on this database")


def _pin_session(raw: Any, _record: Any, *, access: Access) -> None:
    with closing(raw.cursor()) as cursor:
        cursor.execute(f"SET SESSION TRANSACTION READ {'ONLY' if access is Access.READ else 'WRITE'}")
        cursor.execute(f"SET autocommit = 0, {_PINNED}")


def _discard_session(pin: Callable[[Any, Any], None], raw: Any, record: Any, state: Any) -> None:
    """Give a connection back as it came: no transaction, variables, temporary tables or locks of a user.

    A server that does not know how to forget them gets a fresh connection in its place.
    """
    if state.terminate_only:
        return
    from pymysql import MySQLError

    try:
        raw._execute_command(_RESET_CONNECTION, "")  # the driver has no method of its own for it
        raw._read_ok_packet()
        raw.set_character_set(raw.charset, raw.collation)
        pin(raw, record)
    except (MySQLError, OSError):
        record.invalidate()


def _session_settings(connection: sa.Connection, timeout_s: float) -> str:
    """Return one SET of all that a session must hold, in the words of MariaDB or of MySQL."""
    only = int(connection.get_execution_options().get(_ACCESS_OPTION) is not Access.WRITE)
    if getattr(connection.dialect, "is_mariadb", False):
        return f"SET tx_read_only = {only}, max_statement_time = {timeout_s:.3f}, {_PINNED}"
    return f"SET transaction_read_only = {only}, max_execution_time = {timeout_s * 1000:.0f}, {_PINNED}"


def _killer(connection: sa.Connection) -> Callable[[], None]:
    """Return what stops the statement from a second connection."""
    raw: Any = connection.connection.driver_connection
    thread_id = int(raw.thread_id())
    own = connection.get_execution_options().get(STREAM_OPTION)
    open_connection = connection.engine.raw_connection if own is None else partial(own, **_peer_of(raw))

    def kill() -> None:
        with closing(open_connection()) as second, closing(second.cursor()) as cursor:
            cursor.execute(f"KILL QUERY {thread_id}")

    return kill


def _peer_of(raw: Any) -> dict[str, str]:
    """Return the address that a connection has reached, as an argument of its opener."""
    try:
        peer = raw._sock.getpeername()
    except (AttributeError, OSError):  # another driver, or it is lost
        return {}
    return {PEER: str(peer[0])} if isinstance(peer, tuple) and peer else {}


def _read_stream(request: RunRequest) -> FetchedResult:
    """Read rows as the server sends them, off a cursor of our own: SQLAlchemy's streams keep the first rows back."""
    if request.connection.dialect.driver != "pymysql":
        return run_statement(request)
    from pymysql.cursors import SSCursor

    raw: Any = request.connection.connection.driver_connection
    cursor = raw.cursor(SSCursor)
    try:
        return _read(cursor, request)
    except (ResultTooLargeError, DriverFailureError):  # ours: the server would go on sending
        _stop_on_server(request.connection)
        raise
    finally:
        _close(cursor)


def _read(cursor: Any, request: RunRequest) -> FetchedResult:
    statement = request.statement
    cursor.execute(statement.sql, statement.parameters or {})
    if cursor.description is None:
        raise no_rows()
    labels, kinds = columns_of(statement, [item[0] for item in cursor.description])
    fetched = fetch_rows(
        _rows(cursor), labels=labels, kinds=kinds, limits=request.limits, check=checker(request), give=request.give
    )
    fetched = replace(fetched, notes=(*fetched.notes, *_notes_of_types(labels, kinds, cursor.description)))
    if fetched.has_more and sum(1 for _ in islice(cursor, _FEW_ROWS)) == _FEW_ROWS:
        _stop_on_server(request.connection)
    return fetched


def _rows(cursor: Any) -> Iterable[tuple[Any, ...]]:
    """Return the rows of a cursor, with the bits among them as numbers."""
    from pymysql.constants import FIELD_TYPE

    sizes = {place: (item[3] + 7) // 8 for place, item in enumerate(cursor.description) if item[1] == FIELD_TYPE.BIT}
    return (tuple(_with_bits([*row], sizes)) for row in cursor) if sizes else cursor


def _with_bits(row: list[Any], sizes: Mapping[int, int]) -> list[Any]:
    for place, size in sizes.items():
        cell = row[place]
        if cell is not None:  # aggregates send digits
            row[place] = int.from_bytes(cell, "big") if len(cell) == size else int(cell)
    return row


def _notes_of_types(
    labels: Sequence[str], kinds: Sequence[ValueKind], description: Sequence[Sequence[Any]]
) -> Iterator[str]:
    """Yield what the server writes so that something of the values is lost."""
    from pymysql.constants import FIELD_TYPE

    for label, kind, item in zip(labels, kinds, description, strict=True):
        if item[1] == FIELD_TYPE.FLOAT:
            yield f"column {label!r}: the server writes FLOAT with six digits; CAST(... AS DOUBLE) has all of them"
        if item[1] == FIELD_TYPE.BIT and kind is ValueKind.UNKNOWN:
            yield f"column {label!r}: the server writes bits as bytes or digits and does not say which; add 0 to them"


def _stop_on_server(connection: sa.Connection) -> None:
    """Kill the statement; without a second connection to do so, give up this one and leave it to the time limit."""
    try:
        _killer(connection)()
    except (connection.dialect.loaded_dbapi.Error, AnalyticsError):
        connection.invalidate()


def _close(cursor: Any) -> None:
    """Close a stream: the rows that were on their way are read off, a killed statement ends them with its error."""
    from pymysql import MySQLError

    raw = cursor.connection
    with suppress(MySQLError):  # of a connection that was lost, whose rows nobody can read off any more
        if raw.open:
            cursor.close()
    if cursor.connection is not None:
        _forget(cursor)


def _forget(cursor: Any) -> None:
    """Let go of rows that a lost connection held: the driver would read on when Python deletes them."""
    if cursor._result is not None:
        cursor._result.unbuffered_active = False
    cursor.connection = None


# Type texts by PyMySQL's field types; FIELD_TYPE constants of the protocol, which never change.
_TYPES = {
    0: "DECIMAL", 1: "TINYINT", 2: "SMALLINT", 3: "INT", 4: "FLOAT", 5: "DOUBLE", 7: "TIMESTAMP", 8: "BIGINT",
    9: "MEDIUMINT", 10: "DATE", 11: "TIME", 12: "DATETIME", 13: "YEAR", 14: "DATE", 15: "VARCHAR", 16: "BIT",
    245: "JSON", 246: "DECIMAL", 247: "ENUM", 248: "SET", 249: "TEXT", 250: "TEXT", 251: "TEXT", 252: "TEXT",
    253: "VARCHAR", 254: "CHAR", 255: "GEOMETRY",
}  # fmt: skip
_TINYINT, _BOOLEAN_WIDTH = 1, 1


class MysqlMetadata(EngineMetadata):
    """Collations, and types by the numbers of the protocol.

    SQLAlchemy reads names off SHOW CREATE TABLE and leaves each backtick in them doubled, as it stands there.
    """

    holds_keys = True

    def columns(self, connection: sa.Connection, table: str, schema: str | None) -> tuple[ReflectedColumn, ...]:
        """Return the columns of a table or view by their own names."""
        found = super().columns(connection, table, schema)
        return tuple(replace(column, name=_unescaped(column.name)) for column in found)

    def details(self, connection: sa.Connection, table: str, schema: str | None) -> TableDetails:
        """Return the details of a table by the own names of its columns; it knows no key to a name with a backtick."""
        found = super().details(connection, table, schema)
        indexes = (
            replace(index, name=_unescaped(index.name or ""), columns=tuple(c and _unescaped(c) for c in index.columns))
            for index in found.indexes
        )
        return replace(
            found,
            primary_key=tuple(map(_unescaped, found.primary_key)),
            foreign_keys=tuple(replace(key, columns=tuple(map(_unescaped, key.columns))) for key in found.foreign_keys),
            indexes=tuple(indexes),
            defaults={_unescaped(name): text for name, text in found.defaults.items()},
            comments={_unescaped(name): text for name, text in found.comments.items()},
        )

    def functions_sql(self, connection: sa.Connection) -> str | None:
        """Ask MariaDB; MySQL does not tell."""
        if not getattr(connection.dialect, "is_mariadb", False):
            return None
        return "SELECT DISTINCT FUNCTION FROM information_schema.SQL_FUNCTIONS WHERE FUNCTION IS NOT NULL"

    def collations(self, connection: sa.Connection, table: str, schema: str | None) -> Mapping[str, str]:
        """Return the collations of the columns, by the names that SQLAlchemy reads."""
        found = connection.exec_driver_sql(_COLLATIONS, (schema, table))
        return {name.replace("`", "``"): collation for name, collation in found if collation is not None}

    def computed_columns(self, connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
        """Return virtual columns; None: a view, or a table of a storage engine that may fetch its rows elsewhere."""
        return names_in_rows(connection, _COMPUTED, (schema, table))

    def described_types(self, _connection: sa.Connection, description: Sequence[Sequence[Any]]) -> Sequence[str]:
        """Return the types by their numbers."""
        return [_type_text(item) for item in description]


def _unescaped(name: str) -> str:
    return name.replace("``", "`")


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
