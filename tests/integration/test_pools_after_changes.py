"""Pooled connections when their database is changed or removed, here or by another core, or its server restarts."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.faults.servers import KINDS, _restart, _signal, own_server
from tests.support.execution import REGISTRY, limits, settings, target
from tests.support.servers import LOOPBACK, MariadbServer, PostgresServer, ServerMissingError, _is_alive
from tests.support.small_core import KEY

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._records.datasource import Access, Identity
from analytics_core.errors import DatabaseError, DatabaseNotFoundError, ErrorType

pytestmark = pytest.mark.server


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server of the run, and how many sessions somebody else has in one of its databases."""

    server: PostgresServer | MariadbServer

    def database(self) -> str:
        return self.server.make_database()

    def sessions(self, url: str) -> int:
        name = sa.make_url(url).database
        table, column = (
            ("pg_stat_activity", "datname")
            if isinstance(self.server, PostgresServer)
            else ("information_schema.processlist", "db")
        )
        (row,) = self.server.execute(f"SELECT count(*) FROM {table} WHERE {column} = '{name}'")
        return int(row[0])

    def has(self, url: str, count: int, within_s: float = 3.0) -> bool:
        """Tell whether so many sessions are there, at the latest after so many seconds."""
        latest = time.monotonic() + within_s
        while self.sessions(url) != count and time.monotonic() < latest:
            time.sleep(0.02)
        return self.sessions(url) == count


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    return Server(server=request.getfixturevalue(f"{request.param}_server"))


@pytest.fixture
def cores(tmp_path: Path) -> Iterator[tuple[AnalyticsCore, AnalyticsCore]]:
    """Two cores on one store, each as the administrator, as two processes would have them."""
    chosen = Settings(secret_key=KEY, allowed_networks=LOOPBACK, metadata_freshness_s=0)
    url = f"sqlite:///{tmp_path / 'meta.db'}"
    connector = SqlAlchemyConnector(settings=chosen, specs=REGISTRY.get, idle_s=0.05)
    with (
        AnalyticsCore(chosen, metadata_url=url, connector=connector) as one,
        AnalyticsCore(chosen, metadata_url=url) as other,
    ):
        admin = one.create_first_administrator("ada")
        yield one.as_user(admin.id), other.as_user(admin.id)


# ---------------------------------------------------------------------------------------- changed and removed databases
CHANGES: Mapping[str, Callable[[AnalyticsCore, int], Any]] = {
    "changed": lambda core, number: core.databases.update(number, {"cache_timeout": 5}),
    "removed": lambda core, number: core.databases.delete(number),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_core_that_changes_a_database_closes_its_connections(
    server: Server, cores: tuple[AnalyticsCore, AnalyticsCore], change: str
) -> None:
    core, url = cores[0], server.database()
    made = core.databases.create({"database_name": "d", "orm_uri": url})
    core.databases.schemas(made.id)
    assert server.sessions(url) == 1
    CHANGES[change](core, made.id)
    assert server.has(url, 0)


def test_a_core_learns_by_the_version_of_the_record_what_another_one_changed(
    server: Server, cores: tuple[AnalyticsCore, AnalyticsCore]
) -> None:
    core, other = cores
    first, second = server.database(), server.database()
    made = core.databases.create({"database_name": "d", "orm_uri": first})
    core.databases.schemas(made.id)
    other.databases.update(made.id, {"orm_uri": second})
    core.databases.schemas(made.id)
    assert server.has(first, 0)
    assert server.has(second, 1)


def test_connections_to_a_database_that_another_core_removed_end_when_nobody_asks_for_them(
    server: Server, cores: tuple[AnalyticsCore, AnalyticsCore]
) -> None:
    core, other = cores
    url, beside = server.database(), server.database()
    gone = core.databases.create({"database_name": "gone", "orm_uri": url})
    stays = core.databases.create({"database_name": "stays", "orm_uri": beside})
    core.databases.schemas(gone.id)
    other.databases.delete(gone.id)
    with pytest.raises(DatabaseNotFoundError):
        core.databases.schemas(gone.id)
    time.sleep(0.1)
    core.databases.schemas(stays.id)
    assert server.has(url, 0)
    assert server.has(beside, 1)


def test_a_new_version_closes_the_connections_of_everybody_to_older_ones(server: Server) -> None:
    url = server.database()
    with target(url) as shop:
        record = replace(shop.record, impersonate_user=True)
        name = str(sa.make_url(url).username)
        for identity in (Identity(username=name), None):
            with shop.connector.engine(record, identity=identity).connect():
                pass
        assert server.sessions(url) == 2
        newer = replace(record, audit=replace(record.audit, version=record.audit.version + 1))
        with shop.connector.engine(newer, identity=None).connect():
            pass
        assert server.has(url, 1)
        with shop.connector.engine(record, identity=None).connect():  # somebody who read the record before
            pass
        shop.connector.engine(newer, identity=None)
        assert server.has(url, 1)


def test_connections_in_use_are_not_idle(server: Server) -> None:
    url, beside = server.database(), server.database()
    connector = SqlAlchemyConnector(settings=settings(), specs=REGISTRY.get, idle_s=0.05)
    try:
        with target(url) as shop, target(beside) as other:
            with connector.engine(shop.record).connect() as connection:
                time.sleep(0.1)
                connector.engine(replace(other.record, id=2, uuid="uuid-2"))
                assert connection.exec_driver_sql("SELECT 1").scalar() == 1
            assert server.sessions(url) == 1
            time.sleep(0.1)
            connector.engine(replace(other.record, id=2, uuid="uuid-2"))
            assert server.has(url, 0)
    finally:
        connector.close()


def test_what_is_in_memory_is_never_idle() -> None:
    connector = SqlAlchemyConnector(settings=settings(), specs=REGISTRY.get, idle_s=0.0)
    with target("sqlite://") as shop, target("sqlite://") as other:
        with connector.memory_connection(shop.record) as raw:
            raw.execute("CREATE TABLE t (a INTEGER)")
            raw.commit()
        connector.engine(replace(other.record, id=2, uuid="uuid-2"))
        with connector.engine(shop.record, access=Access.READ).connect() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
    connector.close()


# ------------------------------------------------------------------------------------------------------ broken ones
def sockets() -> int:
    paths = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    return sum(os.path.lexists(path) and os.readlink(path).startswith("socket:") for path in paths)


def stop(server: Any) -> None:
    _signal(server, server.stop_signal)
    while _is_alive(server.pid):
        time.sleep(0.02)


AT_ONCE = 4


@pytest.fixture(params=KINDS)
def restarted(request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """A kind of server, and one that this test may stop."""
    try:
        KINDS[request.param].find_binaries()
    except ServerMissingError as missing:
        pytest.skip(str(missing))
    with own_server(request.param) as server:
        yield request.param, server


def test_a_pool_survives_restarts_of_its_server_without_a_raw_error_or_a_leak(restarted: tuple[str, Any]) -> None:
    kind, started = restarted
    url, before, threads = started.make_database(), sockets(), {thread.ident for thread in threading.enumerate()}
    with target(url, engine=kind, statement_timeout_s=5.0) as shop, ThreadPoolExecutor(AT_ONCE) as many:

        def ask(_number: int = 0) -> list[Any]:
            return shop.rows("SELECT 1", limits=limits(timeout_s=5))

        assert list(many.map(ask, range(8))) == [[(1,)]] * 8
        stop(started)
        for _ in range(2):
            with pytest.raises(DatabaseError) as down:
                ask()
            assert down.value.error_type in (
                ErrorType.CONNECTION_PORT_CLOSED_ERROR,
                ErrorType.CONNECTION_HOST_DOWN_ERROR,
            )
            assert down.value.retryable
            assert down.value.__cause__ is down.value.__context__ is None
        _restart(started)
        assert list(many.map(ask, range(8))) == [[(1,)]] * 8
        stop(started)
        _restart(started)
        assert list(many.map(ask, range(8))) == [[(1,)]] * 8  # nobody asked meanwhile, nobody is told
        assert shop.is_returned()
        assert sockets() - before <= AT_ONCE
        shop.runner._connections.calls.close()
    assert sockets() == before
    latest = time.monotonic() + 3
    while remaining := [thread.name for thread in threading.enumerate() if thread.ident not in threads]:
        assert time.monotonic() < latest, remaining
        time.sleep(0.02)
