"""Trino through its own client, held to the server of the connection.

A server's answers name the address of the next one. The client would follow it, and redirects, to any host: a hostile
server could have us ask whatever this machine reaches, and hand what it said to whoever asked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import event

from analytics_core._engine.execution.sessions.base import OpenRequest, Session

_PORTS: Final = {"https": 443, "http": 80}
_DRIVERS_PORT: Final = 8080
"""What the driver takes for a URL without a port, where it is not encrypted."""


class TrinoSession(Session):
    """Trino and its client, which asks no other server than the one that it was connected to."""

    def make_engine(self, request: OpenRequest) -> sa.Engine:
        """Return a pooled engine; connections of a tunnel stay at its end."""
        engine = super().make_engine(replace(request, before_connect=(*request.before_connect, _stay_at_server)))
        event.listen(engine, "connect", _keep_to_session)
        return engine


def _stay_at_server(named: dict[str, Any]) -> None:
    """Give the driver a session of HTTP that knows the way to one server alone; results come in its answers."""
    import requests  # the driver's own

    host = f"[{named['host']}]" if ":" in named["host"] else str(named["host"])
    scheme = named.get("http_scheme") or ("https" if named.get("port") == _PORTS["https"] else "http")
    port = named.get("port") or (_PORTS["https"] if scheme == "https" else _DRIVERS_PORT)
    session = requests.Session()
    session.verify = named.pop("verify", True)
    session.adapters.clear()
    for known in {"https", scheme}:  # never from an encrypted connection to another
        for place in (f"{host}:{port}", *([host] if port == _PORTS[known] else [])):
            session.mount(f"{known}://{place}/", requests.adapters.HTTPAdapter())
    named |= {"http_session": session, "encoding": None}


def _keep_to_session(raw: Any, _record: Any) -> None:
    """Have the driver fetch what an answer says to be elsewhere by the same session, not by one of its own."""
    create = raw._create_request

    def create_request() -> Any:
        request = create()
        request.unauthenticated = lambda: request
        return request

    raw._create_request = create_request
