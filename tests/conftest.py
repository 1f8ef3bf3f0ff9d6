"""What every run of the tests shares: private database servers, the examples of hypothesis, byte code."""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
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
    name_server_folder,
)
from tests.support.stores import empty_store

pytest_plugins = [
    "tests.support.byte_code",
    "tests.support.secret_watch",
    "tests.support.lean_run",
    "tests.support.shared_statements",
    "tests.support.processor_time",
]

Server = TypeVar("Server")
SERVERS = pytest.StashKey[PrivateServers]()


SERVER_FIXTURES = frozenset({"postgres_server", "mariadb_server", "tls_server", "redis_server", "own_redis"})
IN_PROCESS = ("sqlite", "duckdb")
STORES = {"metadata_url": ("postgres",), "module_store_url": ("postgres", "mariadb")}
"""Fixtures of a metadata store, and the servers on which they give one for the mark `each_store`."""

# Each process of a run, and those that it starts, would compile five hundred modules anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests name the authorities that they trust. Each connection to MariaDB would read the system's, for 17 ms.
os.environ["SSL_CERT_FILE"] = os.devnull

# How long an example takes says nothing about the code: the machine may be busy with other tests. The usual run is the
# same each time; `--hypothesis-profile night` searches at random, and prints how to repeat what it finds.
hypothesis.settings.register_profile("usual", deadline=None, max_examples=25, derandomize=True, database=None)
hypothesis.settings.register_profile("night", deadline=None, max_examples=200, print_blob=True)
hypothesis.settings.register_profile("many", deadline=None, max_examples=10_000, print_blob=True, database=None)
hypothesis.settings.load_profile("usual")


def pytest_configure(config: pytest.Config) -> None:
    """Give the run one folder of servers; workers of pytest-xdist get the controller's."""
    worker_input = getattr(config, "workerinput", None)
    folder = Path(worker_input["server_folder"]) if worker_input else name_server_folder()
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
    """Mark what the usual run leaves to the session `servers`.

    That is what takes a fixture of a server (what asks for one by name as it runs is marked by hand), and one of two
    tests that differ in the in-process engine alone: which one is decided by the name, so that each engine has half.
    """
    by_place: dict[str, dict[str, pytest.Item]] = {}
    for item in items:
        if SERVER_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("server")
        engines = set(re.findall("|".join(IN_PROCESS), item.nodeid.partition("[")[2]))
        if len(engines) == 1:
            place = re.sub("|".join(IN_PROCESS), "*", item.nodeid)
            by_place.setdefault(place, {})[engines.pop()] = item
    for place, found in by_place.items():
        if len(found) == len(IN_PROCESS):
            found[IN_PROCESS[zlib.crc32(place.encode()) % 2]].add_marker("repeats")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try what has the mark `each_store` on stores of servers too, and everything else on one in memory."""
    on_servers = metafunc.definition.get_closest_marker("each_store") is not None
    for fixture, servers in STORES.items():
        if fixture in metafunc.fixturenames:
            kinds = [pytest.param(server, marks=pytest.mark.server) for server in servers if on_servers]
            metafunc.parametrize(fixture, ["sqlite", *kinds], indirect=True)


def _or_skip(start: Callable[[], Server], config: pytest.Config) -> Server:
    """Start a server, or skip where its program is missing; a run that leaves out the marker `server` starts none."""
    if "not server" in config.option.markexpr:
        pytest.fail("a test that asks for a server as it runs is marked `server` by hand")
    try:
        return start()
    except ServerMissingError as missing:
        skip_or_fail(str(missing))


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> PostgresServer:
    """The run's private PostgreSQL."""
    return _or_skip(pytestconfig.stash[SERVERS].postgres, pytestconfig)


@pytest.fixture(scope="session")
def mariadb_server(pytestconfig: pytest.Config) -> MariadbServer:
    """The run's private MariaDB."""
    return _or_skip(pytestconfig.stash[SERVERS].mariadb, pytestconfig)


@pytest.fixture(scope="session", params=["postgresql", "mysql"])
def tls_server(request: pytest.FixtureRequest, pytestconfig: pytest.Config) -> TlsPostgres | TlsMariadb:
    """The run's private PostgreSQL, then MariaDB, that take encrypted connections."""
    return _or_skip(lambda: pytestconfig.stash[SERVERS].tls(request.param), pytestconfig)


@pytest.fixture(scope="session")
def redis_server(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A private Redis of the test process; each test has a prefix of its own."""
    from tests.support.redis_server import RedisServer  # its package takes a tenth of a second

    server = _or_skip(lambda: RedisServer(tmp_path_factory.mktemp("redis")), pytestconfig)
    yield server
    server.kill()


@pytest.fixture
def own_redis(pytestconfig: pytest.Config, tmp_path: Path) -> Iterator[Any]:
    """A private Redis of one test, which may kill it."""
    from tests.support.redis_server import RedisServer

    server = _or_skip(lambda: RedisServer(tmp_path / "redis"), pytestconfig)
    yield server
    server.kill()


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


@pytest.fixture
def metadata_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty metadata store in memory; with the mark `each_store`, of one on PostgreSQL too."""
    if request.param == "sqlite":
        return "sqlite://"
    url: str = request.getfixturevalue("postgres_store_url")
    empty_store(url)
    return url


@pytest.fixture(scope="session")
def reused_store(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Return the URL of an empty store on `postgres` or `mariadb`: the same each time, since its tables take a second.

    Who asks for it is done with it when the next one asks.
    """
    urls: dict[str, str] = {}

    def emptied(kind: str) -> str:
        if kind not in urls:
            urls[kind] = request.getfixturevalue(f"make_{kind}_database")()
        empty_store(urls[kind])
        return urls[kind]

    return emptied


@pytest.fixture(scope="module")
def module_store_url(request: pytest.FixtureRequest, reused_store: Callable[[str], str]) -> str:
    """The URL of an empty metadata store that a module's tests share: in memory; with `each_store`, on servers too."""
    return "sqlite://" if request.param == "sqlite" else reused_store(request.param)
