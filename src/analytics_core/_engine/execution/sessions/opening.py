"""How a new connection of an engine is opened: by which driver, and what may change its arguments at that moment.

Every new connection of a pool comes by here, and so does the second one that stops a statement of MariaDB. PostgreSQL's
cancel needs no more: libpq sends it to the address and port at which its connection has found the server.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import sqlalchemy as sa

BeforeConnect = Callable[[dict[str, Any]], None]
"""A step before each new connection: it changes the named arguments of the driver's `connect` in place.

The steps of `OpenRequest.before_connect` run one after the other, each time anew, in the thread that connects and in
its time limit; whatever they wait for must have an end of its own. An AnalyticsError of theirs is what the caller gets.
A tunnel sets `ADDRESSES` and `port` where the driver is one of `ADDRESSED_DRIVERS`, so that TLS still verifies `host`,
and `host` and `port` elsewhere; a token sets the argument that its driver takes, such as `password`.
"""

ADDRESSES: Final = "hostaddr"
"""The argument that names IP addresses to connect to in place of what `host` would resolve to: libpq's own.

Commas stand between several; they are tried in turn. TLS verifies `host` all the same.
"""

PEER: Final = "analytics_core_peer"
"""An argument of ours: the address that an open connection has reached, for a second one that stops its statement.

Steps that would look the name up again take it in place of what they would find: it was allowed when it was found.
"""

ADDRESSED_DRIVERS: Final = frozenset({"psycopg", "pymysql"})
"""The drivers (`engine.dialect.driver`) whose connections obey `ADDRESSES`."""

_CANNOT_CONNECT: Final = 2003
"""MySQL's own number (CR_CONN_HOST_ERROR) for a server that takes no connection."""


def opener(engine: sa.Engine, before_connect: Sequence[BeforeConnect] = ()) -> Callable[..., Any]:
    """Return what opens one connection: it takes what the dialect gives the driver, after the steps."""
    connect: Callable[..., Any] = _CONNECTS.get(engine.dialect.driver, engine.dialect.connect)

    def open_connection(*positional: Any, **named: Any) -> Any:
        for step in before_connect:
            step(named)
        named.pop(PEER, None)
        return connect(*positional, **named)

    return open_connection


def _connect_psycopg(*positional: Any, **named: Any) -> Any:
    from analytics_core._engine.execution.sessions.bounded_psycopg import BoundedConnection

    count = len(str(named.get(ADDRESSES) or "").split(","))
    if count > 1 and named.get("host"):  # libpq wants a host for each address
        named["host"] = ",".join([str(named["host"])] * count)
    return BoundedConnection.connect(*positional, **named)


def _connect_pymysql(*positional: Any, **named: Any) -> Any:
    import pymysql

    addresses = named.pop(ADDRESSES, None)
    if addresses is None:
        return pymysql.connect(*positional, **named)
    connection: Any = pymysql.connect(*positional, **{**named, "defer_connect": True})
    opened = _socket_to(str(addresses).split(","), connection.port, timeout_s=connection.connect_timeout)
    connection.connect(opened)
    return connection


def _socket_to(addresses: Sequence[str], port: int, *, timeout_s: float) -> socket.socket:
    """Return a socket to the first address that takes the connection, as the driver would have opened it."""
    import pymysql

    deadline = time.monotonic() + timeout_s
    failure: OSError | None = None
    for address in addresses:
        try:
            opened = socket.create_connection((address, port), max(deadline - time.monotonic(), 0.001))
        except OSError as error:
            failure = error
            continue
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return opened
    raise pymysql.OperationalError(_CANNOT_CONNECT, f"Can't connect to MySQL server on {addresses[0]!r} ({failure})")


_CONNECTS: Final = {"psycopg": _connect_psycopg, "pymysql": _connect_pymysql}
