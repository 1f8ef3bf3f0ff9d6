"""Steps before each new connection choose where it connects and as whom: of pools, of cancels and of KILL QUERY."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.execution import MARIADB_ENDLESS, POSTGRES_ENDLESS
from tests.support.stalling_proxy import stalling_proxy

from analytics_core._engine.execution.cancel import Stopper, StopReason
from analytics_core._engine.execution.sessions.base import OpenRequest, Session
from analytics_core._engine.execution.sessions.choice import make_session
from analytics_core._engine.execution.sessions.opening import ADDRESSES, PEER, BeforeConnect
from analytics_core.errors import DatabaseError

pytestmark = pytest.mark.server

NOWHERE = "no-such-host.invalid"


@pytest.fixture(params=["postgresql", "mysql"])
def url(
    request: pytest.FixtureRequest,
    make_postgres_database: Callable[..., str],
    make_mariadb_database: Callable[[], str],
) -> sa.URL:
    made = make_postgres_database() if request.param == "postgresql" else make_mariadb_database()
    return sa.make_url(made)


@pytest.fixture
def session(url: sa.URL) -> Session:
    return make_session(url.get_backend_name())


@pytest.fixture
def open_engine(session: Session) -> Iterator[Callable[..., sa.Engine]]:
    opened: list[sa.Engine] = []

    def make(url: sa.URL, *steps: BeforeConnect) -> sa.Engine:
        opened.append(session.make_engine(OpenRequest(url=url, answer_s=10.0, before_connect=steps)))
        return opened[-1]

    yield make
    for engine in opened:
        engine.dispose()


def leads_to(url: sa.URL, *addresses: str, port: int | None = None) -> BeforeConnect:
    def step(named: dict[str, Any]) -> None:
        named[ADDRESSES] = ",".join(addresses)
        named["port"] = port or url.port

    return step


def answer(engine: sa.Engine) -> object:
    with engine.connect() as connection:
        return connection.exec_driver_sql("SELECT 1").scalar_one()


def test_each_new_connection_runs_every_step_in_turn(url: sa.URL, open_engine: Callable[..., sa.Engine]) -> None:
    seen: list[str] = []

    def first(named: dict[str, Any]) -> None:
        seen.append(f"first sees {named['user']}")
        named["user"] = "somebody"

    def second(named: dict[str, Any]) -> None:
        seen.append(f"second sees {named['user']}")
        named["user"] = url.username

    engine = open_engine(url, first, second)
    with engine.connect(), engine.connect():
        assert seen == [f"first sees {url.username}", "second sees somebody"] * 2
    assert answer(engine) == 1
    assert len(seen) == 4


def test_addresses_go_before_a_name_that_leads_nowhere(url: sa.URL, open_engine: Callable[..., sa.Engine]) -> None:
    engine = open_engine(url.set(host=NOWHERE, port=1), leads_to(url, "127.0.0.1"))
    assert answer(engine) == 1


def test_addresses_are_tried_in_turn(url: sa.URL, open_engine: Callable[..., sa.Engine]) -> None:
    engine = open_engine(url.set(host=NOWHERE), leads_to(url, "127.0.0.9", "127.0.0.1"))
    assert answer(engine) == 1


def test_an_address_at_which_nobody_listens_is_a_failure_of_the_driver(
    url: sa.URL, open_engine: Callable[..., sa.Engine]
) -> None:
    engine = open_engine(url, leads_to(url, "127.0.0.9"))
    with pytest.raises(sa.exc.OperationalError):
        answer(engine)


def test_a_typed_error_of_a_step_is_what_the_caller_gets(url: sa.URL, open_engine: Callable[..., sa.Engine]) -> None:
    def refuse(_named: dict[str, Any]) -> None:
        raise DatabaseError("not today")

    engine = open_engine(url, refuse)
    with pytest.raises(DatabaseError, match="not today"):
        answer(engine)


def test_a_statement_is_stopped_where_its_connection_leads(
    url: sa.URL, session: Session, open_engine: Callable[..., sa.Engine]
) -> None:
    assert url.port is not None
    with stalling_proxy(url.port) as proxy:
        engine = open_engine(url.set(host=NOWHERE, port=1), leads_to(url, "127.0.0.1", port=proxy.port))
        stopper = Stopper()
        started = time.monotonic()
        timer = threading.Timer(0.5, stopper.stop, [StopReason.CANCELLED])
        with engine.connect() as connection, session.limited(connection, stopper, timeout_s=20.0):
            timer.start()
            with pytest.raises(sa.exc.DBAPIError):
                connection.exec_driver_sql(endless_of(url))
            stopper.finish()
        assert time.monotonic() - started < 5.0


def test_what_stops_a_statement_goes_to_the_address_that_its_connection_reached(
    url: sa.URL, session: Session, open_engine: Callable[..., sa.Engine]
) -> None:
    if url.get_backend_name() == "postgresql":
        pytest.skip("libpq's cancel does so of itself")
    peers = []

    def lead(named: dict[str, Any]) -> None:
        peers.append(named.get(PEER))
        named[ADDRESSES] = named.get(PEER, "127.0.0.1")

    stopper = Stopper()
    timer = threading.Timer(0.3, stopper.stop, [StopReason.CANCELLED])
    engine = open_engine(url.set(host=NOWHERE), lead)
    with engine.connect() as connection, session.limited(connection, stopper, timeout_s=20.0):
        timer.start()
        with pytest.raises(sa.exc.DBAPIError):
            connection.exec_driver_sql(endless_of(url))
        stopper.finish()
    assert peers[:2] == [None, "127.0.0.1"]


def endless_of(url: sa.URL) -> str:
    return POSTGRES_ENDLESS if url.get_backend_name() == "postgresql" else MARIADB_ENDLESS


@pytest.mark.long
def test_limits_hold_on_a_socket_of_ours(url: sa.URL, open_engine: Callable[..., sa.Engine]) -> None:
    assert url.port is not None
    with stalling_proxy(url.port) as proxy:
        engine = open_engine(url, leads_to(url, "127.0.0.1", port=proxy.port))
        assert answer(engine) == 1
        proxy.stall()
        started = time.monotonic()
        with pytest.raises(sa.exc.OperationalError), engine.connect() as connection:
            connection.exec_driver_sql("SELECT 1")
        assert time.monotonic() - started < 15.0


def test_the_generic_session_runs_the_steps_too(url: sa.URL) -> None:
    def right_port(named: dict[str, Any]) -> None:
        named["port"] = url.port

    engine = Session().make_engine(OpenRequest(url=url.set(port=1), before_connect=(right_port,)))
    try:
        assert answer(engine) == 1
    finally:
        engine.dispose()
