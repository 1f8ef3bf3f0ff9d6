"""Parameters of a connection and its URI: one from the other on every engine, and what is refused before a server."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connection_parameters import (
    look_at_server,
    parameter_faults,
    parameters_of,
    port_number,
    uri_of,
)
from analytics_core._engine.execution.connection_uri import is_secret_name, parse_uri
from analytics_core._engine.network import AddressFinder
from analytics_core._records.network import DestinationPurpose
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import ConnectionUriError, ErrorType

REGISTRY = installed_engines()
ENGINES = [REGISTRY.get(name) for name in REGISTRY.names()]
E = ErrorType


class _Anywhere:
    """A network policy that allows everything."""

    def may_reach(self, _destination: object) -> bool:
        return True


ADDRESSES = partial(AddressFinder(_Anywhere()).find, purpose=DestinationPurpose.DATABASE)
FULL: dict[str, Any] = {
    "host": "db.example",
    "port": 1234,
    "database": "sales",
    "username": "ann",
    "password": "p@ss:w/rd%",
    "encryption": True,
}


def of_engine(spec: EngineSpec) -> dict[str, Any]:
    """Return every parameter that the engine takes, with one option of its URI."""
    free = sorted(name for name, words in spec.guards.uri_options.items() if words is None)
    query = dict.fromkeys(free[:1], "x")
    return {name: value for name, value in (FULL | {"query": query}).items() if name in spec.parameters.names}


@for_each("spec", ENGINES, ids=lambda spec: spec.name)
def test_parameters_come_back_from_their_uri(spec: EngineSpec) -> None:
    parameters = of_engine(spec)
    assert parameter_faults(parameters, spec) == ()
    result = parameters_of(uri_of(parameters, spec.name, spec), spec)
    masked = {"password": MASK} if "password" in parameters else {}
    secrets = {name: MASK for name in parameters.get("query", {}) if is_secret_name(name)}
    query = {"query": parameters["query"] | secrets} if "query" in parameters else {}
    assert result == parameters | masked | query


@for_each("spec", ENGINES, ids=lambda spec: spec.name)
def test_what_encrypts_is_an_option_that_connections_may_have(spec: EngineSpec) -> None:
    assert set(spec.parameters.encryption) <= set(spec.guards.uri_options)
    assert bool(spec.parameters.encryption) == ("encryption" in spec.parameters.names)
    assert set(spec.parameters.required) <= set(spec.parameters.names)


@given(username=st.text(min_size=1), password=st.text(min_size=1), database=st.text(min_size=1))
def test_no_text_leaks_from_one_part_of_the_uri_into_another(username: str, password: str, database: str) -> None:
    parameters = {"host": "db.example", "username": username, "password": password, "database": database}
    try:
        url = parse_uri(uri_of(parameters, "postgresql+psycopg", REGISTRY.get("postgresql")))
    except ConnectionUriError:  # characters that no URI may hold
        return
    assert (url.username, url.password, url.database, url.host) == (username, password, database, "db.example")
    assert not url.query


@for_each(
    ("change", "path", "error_type"),
    [
        ({"host": None}, "host", E.CONNECTION_MISSING_PARAMETERS_ERROR),
        ({"username": ""}, "username", E.CONNECTION_MISSING_PARAMETERS_ERROR),
        ({"host": "db.example:5432"}, "host", E.CONNECTION_INVALID_HOSTNAME_ERROR),
        ({"host": "evil@db/x?y"}, "host", E.CONNECTION_INVALID_HOSTNAME_ERROR),
        ({"port": 0}, "port", E.CONNECTION_INVALID_PORT_ERROR),
        ({"port": 65_536}, "port", E.CONNECTION_INVALID_PORT_ERROR),
        ({"port": "5432x"}, "port", E.CONNECTION_INVALID_PORT_ERROR),
        ({"query": {"sslmode": "disable"}}, "encryption", None),
    ],
)
def test_a_fault_names_its_parameter(change: dict[str, Any], path: str, error_type: ErrorType | None) -> None:
    faults = parameter_faults(FULL | change, REGISTRY.get("postgresql"))
    assert [(fault.path, fault.error_type) for fault in faults] == [(f"parameters.{path}", error_type)]


def test_a_file_takes_nothing_but_its_path() -> None:
    faults = parameter_faults(FULL, REGISTRY.get("sqlite"))
    assert {fault.path for fault in faults} == {
        f"parameters.{name}" for name in ("host", "port", "username", "password", "encryption")
    }


def test_a_uri_that_parameters_cannot_say_shows_none() -> None:
    assert parameters_of("sqlite:///shop.db?mode=ro", REGISTRY.get("sqlite")) is None


@for_each(("text", "number"), [("5432", 5432), (1, 1), ("٣", None), (True, None), ("9" * 5_000, None)])
def test_a_port_is_read_from_a_number_or_its_digits(text: Any, number: int | None) -> None:
    assert port_number(text) == number


# ----------------------------------------------------------------------------------------------------- at the server
@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_a_port_that_listens_is_well_and_one_that_does_not_is_closed(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    assert look_at_server("127.0.0.1", port, find=ADDRESSES) is None
    listener.close()
    fault = look_at_server("127.0.0.1", port, find=ADDRESSES)
    assert fault is not None
    assert (fault.path, fault.error_type) == ("parameters.port", E.CONNECTION_PORT_CLOSED_ERROR)


@pytest.mark.parametrize("host", ["nosuch.invalid", "a" * 70 + ".example"])
def test_a_host_that_does_not_resolve_is_invalid(host: str) -> None:
    fault = look_at_server(host, None, find=ADDRESSES)
    assert fault is not None
    assert fault.error_type is E.CONNECTION_INVALID_HOSTNAME_ERROR


def test_a_host_that_does_not_answer_is_down() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        sockets = [socket.socket() for _ in range(4)]
        for one in sockets:  # a backlog that is full drops what comes: nobody answers
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        fault = look_at_server("127.0.0.1", port, find=ADDRESSES, timeout_s=0.3)
        for one in sockets:
            one.close()
    assert fault is not None
    assert fault.error_type is E.CONNECTION_HOST_DOWN_ERROR
