"""ClickHouse through its own driver over HTTP: read-only and in time by settings of each statement, KILL QUERY to stop.

Nothing is kept in a session of the server: what a statement needs travels with it, so that no earlier one can have
changed it. The driver would follow a redirection to any host; here it asks the server of its connection alone. Also
what databases tell of what they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, Final
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.driver_limits import CONNECT_TIMEOUT_S
from analytics_core._engine.execution.fetching import FetchedResult, fetch_rows
from analytics_core._engine.execution.sessions.base import (
    ANSWER_GRACE_S,
    BACKSTOP_S,
    STREAM_OPTION,
    OpenRequest,
    RunRequest,
    Session,
    checker,
    columns_of,
    no_rows,
)
from analytics_core._engine.execution.sessions.metadata import BoundQuery, EngineMetadata, ReflectedTable
from analytics_core._engine.execution.sessions.opening import opener
from analytics_core._records.datasource import Access

_PINNED: Final = {"join_use_nulls": 1, "timeout_overflow_mode": "throw"}
"""What answers depend on: rows that an outer join adds hold NULL, not 0 or an empty text; and a statement whose time is
over fails: `break` would give what it has found by then."""

_SWITCHED_OFF: Final = {"use_query_condition_cache": "0"}
"""Of newer servers. After some joins version 26.9 remembers of a condition on one side that it holds for no row, and
statements with this condition (a row rule) then find none: 13 of 300 random queries were wrong."""

_ACCESS_OPTION: Final = "analytics_core_access"
_NAME_OPTION: Final = "analytics_core_query"
_SETTINGS_OPTION: Final = "settings"
"""The option of the driver's dialect for the settings of a statement."""

_READ_ONLY: Final = "readonly"
_TIME_LIMIT: Final = "max_execution_time"
_KILL_TIMEOUT_S: Final = 2
_DATABASES_OF_THE_ENGINE: Final = frozenset({"system", "information_schema"})


class ClickhouseSession(Session):
    """ClickHouse and its driver."""

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return an engine whose connections keep no session on the server, but for scripts that change something."""
        patience = {"connect_timeout": CONNECT_TIMEOUT_S, "send_receive_timeout": request.answer_s}
        unsaid = {name: limit_s for name, limit_s in patience.items() if name not in request.url.query}
        keeps = {"autogenerate_session_id": request.access is Access.WRITE}
        arguments = {**unsaid, **request.connect_args, **keeps, **_PINNED}
        steps = (*request.before_connect, _stay_at_server)
        engine = super().make_engine(replace(request, connect_args=arguments, before_connect=steps))
        event.listen(engine, "close", _let_go)
        positional, named = engine.dialect.create_connect_args(request.url)
        short = dict.fromkeys(patience, _KILL_TIMEOUT_S)
        connect = partial(opener(engine, steps), *positional, **{**named, **arguments, **short})
        return engine.execution_options(**{STREAM_OPTION: connect, _ACCESS_OPTION: request.access})

    @contextmanager
    def limited(self, connection: sa.Connection, stopper: Stopper, *, timeout_s: float) -> Iterator[None]:
        """Send time limit and wall with each statement of the block; KILL QUERY by its name follows the limit."""
        client, name = _client(connection), str(uuid4())
        is_reading = connection.get_execution_options().get(_ACCESS_OPTION) is not Access.WRITE
        wanted = {_TIME_LIMIT: f"{timeout_s:.3f}"} | ({_READ_ONLY: "1"} if is_reading else {})
        wanted |= {key: value for key, value in _SWITCHED_OFF.items() if key in client.server_settings}
        # An account that may not change a setting has a wall already, and the limit that its administrator chose.
        settings = {key: value for key, value in wanted.items() if not _is_fixed(client, key)}
        _expect_answer(client, timeout_s)
        connection.execution_options(**{_SETTINGS_OPTION: settings, _NAME_OPTION: name})
        stopper.arm(_killer(connection, name), after_s=timeout_s + BACKSTOP_S, repeat_s=self.repeat_s)
        yield

    def read(self, request: RunRequest) -> FetchedResult:
        """Run a query and read its rows block by block; a result that is left early is stopped by the server."""
        options, client = request.connection.get_execution_options(), _client(request.connection)
        if request.limits.answer_s is not None:
            _expect_answer(client, request.limits.answer_s)
        settings = {**options.get(_SETTINGS_OPTION, {}), "query_id": f"{options.get(_NAME_OPTION)}-{uuid4()}"}
        text = _written(request)
        with client.query_rows_stream(text, settings=settings) as rows:
            names = tuple(rows.source.column_names) or _names_of_empty(client, text, settings, request)
            labels, kinds = columns_of(request.statement, names)
            return fetch_rows(
                rows, labels=labels, kinds=kinds, limits=request.limits, check=checker(request), give=request.give
            )


def _client(connection: sa.Connection) -> Any:
    raw: Any = connection.connection.driver_connection
    return raw.client


def _written(request: RunRequest) -> str:
    """Return the statement with its values, as the driver writes them.

    The driver itself would look for placeholders of its own, such as `{name:String}`, in the texts of the statement.
    """
    parameters = request.statement.parameters
    named = parameters if isinstance(parameters, dict) else {}
    return request.statement.sql % {name: _literal(value) for name, value in named.items()}


def _literal(value: Any) -> Any:
    """Return a value as SQL; a bare decimal would be read as a double."""
    from clickhouse_connect.driver.binding import format_query_value

    if isinstance(value, list | tuple):
        return f"({', '.join(str(_literal(member)) for member in value)})"
    if not isinstance(value, Decimal) or not value.is_finite():
        return format_query_value(value)
    digits = f"{value:f}"
    return f"toDecimal256('{digits}', {len(digits.partition('.')[2])})"


def _names_of_empty(client: Any, text: str, settings: dict[str, Any], request: RunRequest) -> Sequence[str]:
    """Return the names of the columns of a result without rows, which the server sends without anything else."""
    if request.statement.labels:
        return request.statement.labels
    from clickhouse_connect.driver.exceptions import DatabaseError

    try:
        described = client.query(f"DESCRIBE TABLE (\n{text}\n)", settings={**settings, "query_id": str(uuid4())})
    except DatabaseError:
        raise no_rows() from None  # it is no query: SHOW and EXPLAIN are none that can be described
    return [str(row[0]) for row in described.result_rows]


def _is_fixed(client: Any, setting: str) -> bool:
    known = client.server_settings.get(setting)
    return known is not None and (bool(known.readonly) or (setting == _READ_ONLY and known.value != "0"))


def _expect_answer(client: Any, seconds: float) -> None:
    """Let the server take so long for each answer; an embedded one has no connection to wait at."""
    if hasattr(client, "timeout"):
        client.timeout = type(client.timeout)(connect=CONNECT_TIMEOUT_S, read=seconds + ANSWER_GRACE_S)


def _killer(connection: sa.Connection, name: str) -> Callable[[], None]:
    """Return what stops the statements of this name from a second connection."""
    open_connection = connection.get_execution_options()[STREAM_OPTION]

    def kill() -> None:
        with closing(open_connection()) as second:
            try:
                second.client.command(f"KILL QUERY WHERE startsWith(query_id, '{name}') ASYNC")
            finally:
                _let_go(second, None)

    return kill


def _stay_at_server(named: dict[str, Any]) -> None:
    """Give the driver a pool of its own, which follows no redirection."""
    from clickhouse_connect.driver.common import coerce_bool
    from clickhouse_connect.driver.httputil import check_env_proxy, get_pool_manager_options
    from urllib3 import PoolManager, ProxyManager

    if "protocol" in named:  # an option of URLs, which the driver knows by another name
        named["interface"] = named.pop("protocol")
    trust = {key: named[key] for key in ("ca_cert", "client_cert", "client_cert_key") if key in named}
    options = get_pool_manager_options(verify=coerce_bool(named.get("verify", True)), **trust)
    is_encrypted = str(named.get("secure", "")).lower() == "true" or named.get("interface") == "https"
    scheme = "https" if is_encrypted or str(named.get("port")) in ("443", "8443") else "http"
    proxy = check_env_proxy(scheme, named.get("host") or "localhost", named.get("port") or 0)
    manager = ProxyManager(proxy, **options) if proxy else PoolManager(**options)
    manager.urlopen = partial(manager.urlopen, redirect=False)  # type: ignore[method-assign]
    named["pool_mgr"] = manager


def _let_go(raw: Any, _record: Any) -> None:
    """Close the sockets of a connection's own pool, which the driver leaves to whoever gave it."""
    if hasattr(raw.client, "http"):
        raw.client.http.clear()


class ClickhouseMetadata(EngineMetadata):
    """Databases are schemas; the driver lists views among the tables too."""

    def schemas(self, connection: sa.Connection) -> tuple[str, ...]:
        """Return the databases but those of the engine itself."""
        return tuple(name for name in super().schemas(connection) if name.lower() not in _DATABASES_OF_THE_ENGINE)

    def tables(self, connection: sa.Connection, schema: str | None) -> tuple[ReflectedTable, ...]:
        """Return each table and view once, without the tables in which materialised views keep their rows."""
        rows = connection.execute(sa.text(_TABLES), {"schema": schema or ""})
        return tuple(
            ReflectedTable(name=name, is_view="View" in kind, is_materialized=kind == "MaterializedView")
            for name, kind in rows
        )

    def functions_sql(self, _connection: sa.Connection) -> str | None:
        """Ask for all of them."""
        return "SELECT DISTINCT name FROM system.functions"

    def query_columns(self, connection: sa.Connection, _sql: str, query: BoundQuery) -> tuple[tuple[str, str], ...]:
        """Return what the engine says of the query, without running it."""
        text, parameters = query
        rows = connection.exec_driver_sql(f"DESCRIBE TABLE (\n{text}\n)", parameters).all()
        return tuple((row[0], row[1]) for row in rows)


_TABLES = """
SELECT name, engine FROM system.tables
WHERE database = if(:schema = '', currentDatabase(), :schema) AND NOT startsWith(name, '.inner')
ORDER BY name
"""
