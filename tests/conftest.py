"""Fixtures for everybody: private database servers, shared by all workers of a run."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import hypothesis
import pytest
from tests.support.missing import skip_or_fail
from tests.support.servers import (
    MariadbServer,
    PostgresServer,
    PrivateServers,
    ServerMissingError,
    TlsMariadb,
    TlsPostgres,
    make_server_folder,
)
from tests.support.stores import empty_store

pytest_plugins = ["tests.support.secret_watch", "tests.support.lean_run", "tests.support.shared_statements"]

Server = TypeVar("Server")
SERVERS = pytest.StashKey[PrivateServers]()


# How long an example takes says nothing about the code: the machine may be busy with other tests.
hypothesis.settings.register_profile("house", deadline=None)
hypothesis.settings.load_profile("house")


def pytest_configure(config: pytest.Config) -> None:
    """Give the run one folder of servers; workers of pytest-xdist get the controller's."""
    worker_input = getattr(config, "workerinput", None)
    folder = Path(worker_input["server_folder"]) if worker_input else make_server_folder()
    config.stash[SERVERS] = PrivateServers(folder)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist where the servers are."""
    node.workerinput["server_folder"] = str(node.config.stash[SERVERS].folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the servers, after all workers have ended."""
    if not hasattr(config, "workerinput") and SERVERS in config.stash:
        config.stash[SERVERS].stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the session `faults`, as `long`, two of three of the tests that repeat on MariaDB what others try.

    Which ones is told by their names, so that most modules keep some; tests of row rules and of security all stay.
    """
    for item in items:
        folder, module = item.path.parts[-2:]
        waits = folder in {"integration", "conformance"} and not re.search("rule|security", module)
        repeats = re.search(r"maria_?db|mysql", item.nodeid.partition("::")[2], re.IGNORECASE)
        if waits and repeats and zlib.crc32(item.nodeid.encode()) % 3:
            item.add_marker("long")


def _or_skip(start: Callable[[], Server]) -> Server:
    try:
        return start()
    except ServerMissingError as missing:
        skip_or_fail(str(missing))


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> PostgresServer:
    """The run's private PostgreSQL."""
    return _or_skip(pytestconfig.stash[SERVERS].postgres)


@pytest.fixture(scope="session")
def mariadb_server(pytestconfig: pytest.Config) -> MariadbServer:
    """The run's private MariaDB."""
    return _or_skip(pytestconfig.stash[SERVERS].mariadb)


@pytest.fixture(scope="session", params=["postgresql", "mysql"])
def tls_server(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> TlsPostgres | TlsMariadb:
    """The run's private PostgreSQL, then MariaDB, that take encrypted connections."""
    return _or_skip(lambda: pytestconfig.stash[SERVERS].tls(request.param))


@pytest.fixture(scope="session")
def make_postgres_database(postgres_server: PostgresServer) -> Callable[..., str]:
    """Make an empty database and return its URL; options `icu_locale="en"` or `locale="C"`."""

    def make(*, icu_locale: str | None = None, locale: str | None = None) -> str:
        if icu_locale and not postgres_server.supports_icu():
            pytest.skip("this PostgreSQL was built without ICU")
        return postgres_server.make_database(icu_locale=icu_locale, locale=locale)

    return make


@pytest.fixture(scope="session")
def make_mariadb_database(mariadb_server: MariadbServer) -> Callable[[], str]:
    """Make an empty database and return its URL."""
    return mariadb_server.make_database


@pytest.fixture(scope="session")
def postgres_url(make_postgres_database: Callable[..., str]) -> str:
    """The URL of a PostgreSQL database that starts empty and is shared by the session's tests."""
    return make_postgres_database()


@pytest.fixture(scope="session")
def mariadb_url(make_mariadb_database: Callable[[], str]) -> str:
    """The URL of a MariaDB database that starts empty and is shared by the session's tests."""
    return make_mariadb_database()


@pytest.fixture(scope="session")
def postgres_store_url(make_postgres_database: Callable[..., str]) -> str:
    """The URL of a PostgreSQL database that keeps records; `metadata_url` empties it for each test."""
    return make_postgres_database()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def metadata_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty metadata store: one in memory, then one on PostgreSQL."""
    if request.param == "sqlite":
        return "sqlite://"
    url: str = request.getfixturevalue("postgres_store_url")
    empty_store(url)
    return url


@pytest.fixture(
    scope="module",
    params=[
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.server),
        pytest.param("mariadb", marks=pytest.mark.server),
    ],
)
def module_store_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty metadata store that a module's tests share: in memory, on PostgreSQL, on MariaDB."""
    if request.param == "sqlite":
        return "sqlite://"
    url: str = request.getfixturevalue(f"make_{request.param}_database")()
    return url
