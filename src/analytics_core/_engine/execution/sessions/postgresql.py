"""PostgreSQL through psycopg 3: read-only sessions, chunked rows off the wire, everything discarded on return.

Also what its databases tell of what they hold.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain, islice
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.engines.specs.postgresql import NOT_DETERMINISTIC
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.driver_limits import CONNECT_TIMEOUT_S, allow_answer, bound_waits
from analytics_core._engine.execution.fetching import FetchedResult, fetch_rows
from analytics_core._engine.execution.handed_over import HandedEngine
from analytics_core._engine.execution.sessions.base import (
    ANSWER_GRACE_S,
    BACKSTOP_S,
    READING_WORDS,
    OpenRequest,
    RunRequest,
    Session,
    checker,
    columns_of,
    expect_answers,
    reject_unless_reading,
)
from analytics_core._engine.execution.sessions.metadata import UNKNOWN, EngineMetadata, names_in_rows, quoted_name
from analytics_core._records.datasource import Access

_READ_ONLY = "-c default_transaction_read_only=on "
_SESSION_SETTINGS = {
    "TimeZone": "UTC",
    "standard_conforming_strings": "on",
    "DateStyle": "ISO",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
}
_SESSION_OPTIONS = " ".join(f"-c {name}={value}" for name, value in _SESSION_SETTINGS.items())
_SESSION_STATEMENTS = "; ".join(f"SET {name} = '{value}'" for name, value in _SESSION_SETTINGS.items())
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
_ROWS_PER_CHUNK = 16
"""The client library and Python both hold a chunk before anybody can weigh it: rows that may be long come in fewer."""

_CANCEL_TIMEOUT_S = 2.0
_CURSOR = "analytics_core_rows"
_WATCH = "set_config('client_connection_check_interval', '1s', true)"
"""Has the server end a statement whose client is gone; not every system can, nor all that speak the protocol."""

_WATCHED = "is_watched"


class PostgresqlSession(Session):
    """PostgreSQL, and servers that speak its protocol, through psycopg 3."""

    reading_words = READING_WORDS
    without_parameters: ClassVar[dict[str, Any]] = {}

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
        event.listen(engine, "connect", _set_up)
        event.listen(engine.pool, "reset", _discard_session)
        if isinstance(request.handed_over, HandedEngine):
            event.listen(engine, "checkout", _pin_handed_over)
        bound_waits(engine, answer_s=request.answer_s, before_connect=request.before_connect)
        return engine

    def run(self, request: RunRequest) -> FetchedResult:
        """Run with the server's own time limit, row chunks read as they are asked for."""
        reject_unless_reading(request.statement.sql)
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

    def read(self, request: RunRequest) -> FetchedResult:
        """Run a query in a script: through a cursor of the server, whose end leaves the transaction as it is."""
        raw: Any = request.connection.connection.driver_connection
        expect_answers(request)
        with raw.cursor(name=_CURSOR) as cursor:
            cursor.itersize = _ROWS_PER_CHUNK
            cursor.execute(request.statement.sql, request.statement.parameters or {})
            return _fetched(cursor, iter(cursor), request)

    @contextmanager
    def limited(self, connection: sa.Connection, stopper: Stopper, *, timeout_s: float) -> Iterator[None]:
        """Set the server's own time limit; a cancel and the end of the connection follow where it does not answer."""
        raw: Any = connection.connection.driver_connection
        allow_answer(raw, timeout_s + ANSWER_GRACE_S)
        stopper.arm(
            lambda: raw.cancel_safe(timeout=_CANCEL_TIMEOUT_S), after_s=timeout_s + BACKSTOP_S, repeat_s=self.repeat_s
        )
        watch = f", {_WATCH}" if connection.connection.info.get(_WATCHED) else ""
        # A query, not SET LOCAL: it takes a snapshot, after which the transaction can no longer be made writable.
        limit_ms = max(timeout_s * 1000, 1)  # 0 would be no limit
        raw.execute(f"BEGIN; SELECT set_config('statement_timeout', '{limit_ms:.0f}', true){watch}")
        yield


def _patience(request: OpenRequest) -> dict[str, Any]:
    """Return what libpq and the kernel are told about servers that are gone without a word, where the URL does not."""
    unacknowledged_ms = round(request.answer_s * 1000)
    patience = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        "tcp_user_timeout": unacknowledged_ms,
        "keepalives_idle": 30,
        "keepalives_interval": 5,
        "keepalives_count": 3,
    }
    return {name: value for name, value in patience.items() if name not in request.url.query}


def _rows_per_chunk(statement: Statement) -> int:
    are_short = statement.kinds and _SHORT_KINDS.issuperset(statement.kinds)
    return _SHORT_ROWS_PER_CHUNK if are_short else _ROWS_PER_CHUNK


def _read(cursor: Any, rows: Iterator[tuple[Any, ...]], request: RunRequest) -> FetchedResult:
    first = list(islice(rows, 1))
    statement = request.statement
    if not first and not statement.labels:
        # A stream without rows does not tell its columns; a plain run of the statement (again without rows) does.
        cursor.execute(statement.sql, statement.parameters or {})
    fetched = _fetched(cursor, chain(first, rows), request)
    # A stream that is closed before its end is cancelled through a second connection; few rows are cheaper to read.
    deque(islice(rows, _FEW_ROWS), maxlen=0)
    return fetched


def _fetched(cursor: Any, rows: Iterator[tuple[Any, ...]], request: RunRequest) -> FetchedResult:
    described = cursor.description or ()
    labels, kinds = columns_of(request.statement, [column.name for column in described])
    return fetch_rows(
        rows,
        labels=labels,
        kinds=[*map(_known_kind, kinds, described)] or kinds,
        limits=request.limits,
        check=checker(request),
        give=request.give,
        fixed=[place for place, column in enumerate(described) if column.internal_size is not None],
    )


def _known_kind(kind: ValueKind, column: Any) -> ValueKind:
    """Return the kind of a column; dates and times that the plan does not know are told by their type."""
    if kind is not ValueKind.UNKNOWN:
        return kind
    return _KINDS_OF_TEXTS.get(column.type_display.partition("(")[0], kind)


def _set_up(raw: Any, record: Any) -> None:
    """Leave transactions to `limited`, which begins each in one message with its time limit, and register loaders."""
    from psycopg import Error
    from psycopg.adapt import Loader
    from psycopg.types.string import TextLoader

    class SingleLoader(Loader):
        """Reads `real` as the double that it is; its shortest text means another one."""

        def load(self, data: Any) -> float:
            number: float = struct.unpack("f", struct.pack("f", float(bytes(data))))[0]
            return number

    raw.autocommit = True
    with suppress(Error):
        raw.execute(f"SELECT {_WATCH}")
        record.info[_WATCHED] = True
    for name in _AS_TEXT:
        if raw.adapters.types.get(name) is not None:
            raw.adapters.register_loader(name, TextLoader)
    raw.adapters.register_loader("float4", SingleLoader)


def _pin_handed_over(raw: Any, _record: Any, _proxy: Any) -> None:
    """Make a session of a host's engine read-only and in UTC: it was opened without our options."""
    raw.execute(f"SET default_transaction_read_only = on; {_SESSION_STATEMENTS}")


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
    if not state.terminate_only:
        raw.execute("DISCARD ALL")


class PostgresqlMetadata(EngineMetadata):
    """Collations, materialised views, and types by their names in the catalog."""

    holds_keys = True

    @contextmanager
    def free(self, raw: Any) -> Iterator[None]:
        """Read JSON as values, which sessions leave as text."""
        with reading_json(raw):
            yield

    def every_schema(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the schema names, the catalog's too."""
        return (*super().every_schema(connection), "pg_catalog")

    def view_names(self, inspector: sa.Inspector, schema: str | None) -> Sequence[str]:
        """Return the names of views and materialised views."""
        return (*inspector.get_view_names(schema), *self.materialized_view_names(inspector, schema))

    def materialized_view_names(self, inspector: sa.Inspector, schema: str | None) -> Sequence[str]:
        """Return the names of materialised views."""
        return inspector.get_materialized_view_names(schema)

    def catalogs(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the database of the connection: statements reach no other."""
        return tuple(connection.exec_driver_sql("SELECT pg_catalog.current_database()::text").scalars())

    def functions_sql(self, _connection: sa.Connection) -> str | None:
        """Ask for what can be called without naming its schema."""
        return "SELECT DISTINCT proname FROM pg_catalog.pg_proc WHERE pg_catalog.pg_function_is_visible(oid)"

    def collations(self, connection: sa.Connection, table: str, schema: str | None) -> Mapping[str, str]:
        """Return the collations of the columns, and of which it is not told how they compare."""
        found = connection.exec_driver_sql(_COLLATIONS, (quoted_name(connection, table, schema),))
        return {name: collation for name, collation in found if collation is not None}

    def computed_columns(self, connection: sa.Connection, table: str, schema: str | None) -> frozenset[str] | None:
        """Return virtual columns; None where the table, or one that inherits from it, stores no rows."""
        return names_in_rows(connection, _COMPUTED, (quoted_name(connection, table, schema),))

    def described_types(self, connection: sa.Connection, description: Sequence[Sequence[Any]]) -> Sequence[str]:
        """Return the names of the types, of which the driver tells the numbers."""
        oids = [int(item[1]) for item in description]
        rows = connection.exec_driver_sql(
            "SELECT oid, upper(format_type(oid, NULL)) FROM pg_type WHERE oid = ANY(%(oids)s)", {"oids": oids}
        )
        texts = {row[0]: row[1] for row in rows}
        return [texts.get(oid, UNKNOWN) for oid in oids]


_COLLATIONS = f"""
SELECT a.attname, CASE
  WHEN pg_catalog.to_jsonb(c) ->> 'collisdeterministic' = 'false' THEN c.collname || '{NOT_DETERMINISTIC}'
  WHEN c.collname <> 'default' THEN c.collname
  WHEN COALESCE(pg_catalog.to_jsonb(d) ->> 'datlocprovider', 'c') = 'c' THEN d.datcollate
  ELSE 'of the database' END
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_collation AS c ON c.oid = a.attcollation
CROSS JOIN pg_catalog.pg_database AS d
WHERE a.attrelid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND d.datname = pg_catalog.current_database()
"""
# A row of NULL tells that the table stores its rows, one more each virtual column; `v` is of PostgreSQL 18.
# A table is read with all tables that inherit from it, its partitions and theirs among them.
_COMPUTED = """
WITH RECURSIVE parts AS (
  SELECT c.oid, c.relkind FROM pg_catalog.pg_class AS c WHERE c.oid = pg_catalog.to_regclass(%s)
  UNION
  SELECT c.oid, c.relkind FROM parts JOIN pg_catalog.pg_inherits AS i ON i.inhparent = parts.oid
  JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid)
SELECT DISTINCT CASE WHEN a.attgenerated = 'v' THEN a.attname END
FROM parts LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = parts.oid AND a.attnum > 0
WHERE NOT EXISTS (SELECT 1 FROM parts AS part WHERE part.relkind NOT IN ('r', 'p', 'm'))
"""
