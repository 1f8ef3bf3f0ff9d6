"""The parameters of a connection (host, port, database ...) and its URI: one from the other, and what is wrong there.

Names are those of forms that clients show: `host`, `port`, `database`, `username`, `password`, `encryption`, `query`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connection_uri import LARGEST_PORT, is_secret_name, parse_uri
from analytics_core._engine.network import is_host
from analytics_core._records.secret import Secret
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import ConnectionUriError, DatabaseError, ErrorType, Problem

Parameters = Mapping[str, Any]
"""Name of a parameter -> its value; the password is plain here."""

LOOK_S: Final = 5.0
"""How long trying the port at one address may take, in seconds."""

_PLACE: Final = "parameters."


def parameter_faults(given: Parameters, spec: EngineSpec) -> tuple[Problem, ...]:
    """Return what is wrong with parameters as they stand, field by field; no server is asked."""
    facts = spec.parameters
    missing = [
        _fault(name, f"is required to connect to {spec.label}", ErrorType.CONNECTION_MISSING_PARAMETERS_ERROR)
        for name in facts.required
        if given.get(name) in (None, "")
    ]
    strange = [
        Problem(path=_PLACE + name, message=f"{spec.label} takes no {name}; it takes {', '.join(facts.names)}")
        for name, value in given.items()
        if name not in facts.names and value not in (None, "", {}, False)
    ]
    return (*missing, *strange, *_value_faults(given, spec))


def _value_faults(given: Parameters, spec: EngineSpec) -> Iterator[Problem]:
    host, port, query = given.get("host"), given.get("port"), given.get("query") or {}
    if host and not is_host(host):
        message = "must be one host name or address, without port, user or path"
        yield _fault("host", message, ErrorType.CONNECTION_INVALID_HOSTNAME_ERROR)
    if port is not None and port_number(port) is None:
        message = f"must be a whole number from 1 to {LARGEST_PORT}"
        yield _fault("port", message, ErrorType.CONNECTION_INVALID_PORT_ERROR)
    encrypted = spec.parameters.encryption
    if given.get("encryption") and any(query.get(name, value) != value for name, value in encrypted.items()):
        yield Problem(path=f"{_PLACE}encryption", message="query says otherwise; leave one of them out")


def _fault(name: str, message: str, error_type: ErrorType) -> Problem:
    return Problem(path=_PLACE + name, message=message, error_type=error_type)


def port_number(port: Any) -> int | None:
    """Return a port given as number or digits; None for what is no port."""
    text = str(port)
    is_port = len(text) <= len(str(LARGEST_PORT)) and text.isascii() and text.isdigit()
    return int(text) if is_port and 1 <= int(text) <= LARGEST_PORT else None


def uri_of(given: Parameters, backend: str, spec: EngineSpec) -> str:
    """Return the URI that parameters without faults mean; `backend` is the engine, perhaps with `+driver`.

    Raises:
        ConnectionUriError: they cannot be written as a URI that reads back the same.
    """
    query = {name: str(value) for name, value in (given.get("query") or {}).items()}
    if given.get("encryption"):
        query |= spec.parameters.encryption
    port = given.get("port")
    url = sa.URL.create(
        backend,
        username=given.get("username") or None,
        password=given.get("password") or None,
        host=given.get("host") or None,
        port=None if port is None else port_number(port),
        database=given.get("database") or None,
        query=query,
    )
    text = url.render_as_string(hide_password=False)
    if parse_uri(text) != url:
        raise ConnectionUriError("the parameters cannot be written as a URI; look for unusual characters in them")
    return text


def parameters_of(uri: str | Secret, spec: EngineSpec) -> dict[str, Any] | None:
    """Return the parameters of a URI with its secrets masked; None where they cannot say all that the URI says."""
    try:
        url = parse_uri(uri)
    except ConnectionUriError:
        return None
    facts = spec.parameters
    is_encrypted = bool(facts.encryption) and all(url.query.get(k) == v for k, v in facts.encryption.items())
    query = {k: v for k, v in url.query.items() if not (is_encrypted and k in facts.encryption)}
    parameters = {
        "host": url.host,
        "port": url.port,
        "database": url.database,
        "username": url.username,
        "password": None if url.password is None else MASK,
        "encryption": is_encrypted,
        "query": {name: MASK if is_secret_name(name) else value for name, value in query.items()},
    }
    if any(parameters[name] for name in parameters if name not in facts.names):
        return None
    return {name: parameters[name] for name in facts.names}


Look = Callable[[str, int | None], Problem | None]
"""Looks whether a server listens at host and port; the problem with it, None when all is well."""

Find = Callable[[str, int | None], Sequence[str]]
"""Gives the addresses of a host that the network policy allows; DatabaseError where there are none."""


def look_at_server(host: str, port: int | None, *, find: Find, timeout_s: float = LOOK_S) -> Problem | None:
    """Return what keeps a connection from a server: an unknown host, a closed port, a host that does not answer.

    `find` gives the addresses of the host that may be reached, or raises; with a port a connection is opened to one of
    them and closed, within `timeout_s` each.

    Raises:
        ThreadLimitError: the system gives no thread to look the name up.
    """
    try:
        addresses = find(host, port)
    except DatabaseError as error:
        return _fault("host", error.message, error.error_type)
    return None if port is None else _port_fault(addresses, port, timeout_s)


def _port_fault(addresses: Sequence[str], port: int, timeout_s: float) -> Problem | None:
    """Try the first addresses; the port is closed when one of them says so and none takes the connection."""
    is_closed = False
    for address in addresses[:2]:
        try:
            socket.create_connection((address, port), timeout=timeout_s).close()
        except ConnectionRefusedError:
            is_closed = True
        except OSError:  # no route, or no answer in time
            continue
        else:
            return None
    if is_closed:
        return _fault("port", "is closed", ErrorType.CONNECTION_PORT_CLOSED_ERROR)
    return _fault("host", "does not answer", ErrorType.CONNECTION_HOST_DOWN_ERROR)
