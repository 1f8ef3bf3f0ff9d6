"""PostgreSQL through psycopg 3: read-only sessions, chunked rows off the wire, everything discarded on return."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain, islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._compile.plan import Statement
from analytics_core._engines.types import ValueKind
from analytics_core._execution.cancel import Stopper
from analytics_core._execution.driver_limits import CONNECT_TIMEOUT_S, allow_answer, bound_waits
from analytics_core._execution.fetching import ROWS_UNWEIGHED, FetchedResult, fetch_rows
from analytics_core._execution.sessions.base import (
    ANSWER_GRACE_S,
    BACKSTOP_S,
    OpenRequest,
    RunRequest,
    Session,
    checker,
    columns_of,
    expect_answers,
    refuse_unless_reading,
)
from analytics_core._records.database import Access

_READ_ONLY = "-c default_transaction_read_only=on "
_SESSION_OPTIONS = (
    "-c TimeZone=UTC -c standard_conforming_strings=on "
    "-c DateStyle=ISO -c IntervalStyle=postgres -c extra_float_digits=1"
)
_AS_TEXT = (
    *("date", "timestamp", "timestamptz", "time", "timetz", "interval", "json", "jsonb"),
    *("int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange"),
    *("int4multirange", "int8multirange", "nummultirange", "datemultirange", "tsmultirange", "tstzmultirange"),
)
"""Types that come as the server writes them. The driver would fail on infinity, on years beyond 9999 and before 1 and
on 24:00, take a month for 30 days, and make doubles of the numbers in JSON."""

_KINDS_OF_TEXTS = {
    "date": ValueKind.DATE,
    "timestamp": ValueKind.TIMESTAMP,
    "timestamptz": ValueKind.TIMESTAMPTZ,
    "time": ValueKind.TIME,
}
_FEW_ROWS = 1_000

_SHORT_KINDS = frozenset(
    {ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DECIMAL, ValueKind.BOOLEAN}
    | {ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIMESTAMPTZ, ValueKind.TIME}
)
_SHORT_ROWS_PER_CHUNK = 128
"""The client library holds a whole chunk before anybody can weigh it, so rows that may be long come few at a time."""

_CANCEL_TIMEOUT_S = 2.0


class PostgresqlSession(Session):
    """PostgreSQL, and servers that speak its protocol, through psycopg 3."""

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return an engine of sessions in UTC, read-only unless write access was asked for."""
        arguments = {**_patience(request), "application_name": "analytics_core", **request.connect_args}
        wall = _READ_ONLY if request.access is Access.READ else ""
        arguments |= {"options": wall + _SESSION_OPTIONS, "prepare_threshold": None}
        engine = sa.create_engine(
            request.url,
            connect_args=arguments,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_reset_on_return=None,
            **request.pool_options,
        )
        event.listen(engine, "connect", _register_loaders)
        event.listen(engine.pool, "reset", _discard_session)
        bound_waits(engine, answer_s=request.answer_s)
        return engine

    def run(self, request: RunRequest) -> FetchedResult:
        """Run with the server's own time limit, row chunks read as they are asked for."""
        refuse_unless_reading(request.statement.sql)
        raw: Any = request.connection.connection.driver_connection
        statement = request.statement
        with (
            self.limited(request.connection, request.stopper, timeout_s=request.limits.timeout_s),
            raw.cursor() as cursor,
            # `stream` uses the extended protocol, which takes one statement only. Closing it cancels on the server.
            closing(cursor.stream(statement.sql, statement.parameters or {}, size=_rows_per_chunk(statement))) as rows,
        ):
            expect_answers(request)
            return _read(cursor, rows, request)

    @contextmanager
    def limited(self, connection: sa.Connection, stopper: Stopper, *, timeout_s: float) -> Iterator[None]:
        """Set the server's own time limit; a cancel and the end of the connection follow where it does not answer."""
        raw: Any = connection.connection.driver_connection
        allow_answer(raw, timeout_s + ANSWER_GRACE_S)
        stopper.arm(
            lambda: raw.cancel_safe(timeout=_CANCEL_TIMEOUT_S), after_s=timeout_s + BACKSTOP_S, repeat_s=self.repeat_s
        )
        with raw.cursor() as cursor:
            # A query, not SET LOCAL: it takes a snapshot, after which the transaction can no longer be made writable.
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{timeout_s * 1000:.0f}"])
        yield


def _patience(request: OpenRequest) -> dict[str, Any]:
    """Return what libpq and the kernel are told about servers that are gone without a word."""
    unacknowledged_ms = round(request.answer_s * 1000)
    return {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "tcp_user_timeout": unacknowledged_ms,
        "keepalives_idle": 30,
        "keepalives_interval": 5,
        "keepalives_count": 3,
    }


def _rows_per_chunk(statement: Statement) -> int:
    are_short = statement.kinds and _SHORT_KINDS.issuperset(statement.kinds)
    return _SHORT_ROWS_PER_CHUNK if are_short else ROWS_UNWEIGHED


def _read(cursor: Any, rows: Iterator[tuple[Any, ...]], request: RunRequest) -> FetchedResult:
    first = list(islice(rows, 1))
    statement = request.statement
    if not first and not statement.labels:
        # A stream without rows does not tell its columns; a plain run of the statement (again without rows) does.
        cursor.execute(statement.sql, statement.parameters or {})
    labels, kinds = columns_of(statement, [column.name for column in cursor.description or ()])
    kinds = [*map(_known_kind, kinds, cursor.description or ())] or kinds
    all_rows = chain(first, rows)
    fetched = fetch_rows(
        all_rows, labels=labels, kinds=kinds, limits=request.limits, check=checker(request), give=request.give
    )
    # A stream that is closed before its end is cancelled through a second connection; few rows are cheaper to read.
    deque(islice(rows, _FEW_ROWS), maxlen=0)
    return fetched


def _known_kind(kind: ValueKind, column: Any) -> ValueKind:
    """Return the kind of a column; dates and times that the plan does not know are told by their type."""
    if kind is not ValueKind.UNKNOWN:
        return kind
    return _KINDS_OF_TEXTS.get(column.type_display.partition("(")[0], kind)


def _register_loaders(raw: Any, _record: Any) -> None:
    from psycopg.adapt import Loader
    from psycopg.types.string import TextLoader

    class SingleLoader(Loader):
        """Reads `real` as the double that it is; its shortest text means another one."""

        def load(self, data: Any) -> float:
            number: float = struct.unpack("f", struct.pack("f", float(bytes(data))))[0]
            return number

    for name in _AS_TEXT:
        if raw.adapters.types.get(name) is not None:
            raw.adapters.register_loader(name, TextLoader)
    raw.adapters.register_loader("float4", SingleLoader)


@contextmanager
def reading_json(raw: Any) -> Iterator[None]:
    """Let SQLAlchemy's reflection have JSON as values: so it asks for identities and for collations of columns."""
    from psycopg.types.json import JsonLoader
    from psycopg.types.string import TextLoader

    raw.adapters.register_loader("json", JsonLoader)
    try:
        yield
    finally:
        raw.adapters.register_loader("json", TextLoader)


def _discard_session(raw: Any, _record: Any, state: Any) -> None:
    """Give a connection back as it came: no transaction, settings, temporary tables, locks or channels of a user."""
    raw.rollback()
    if state.terminate_only:
        return
    raw.autocommit = True
    raw.execute("DISCARD ALL")
    raw.autocommit = False
