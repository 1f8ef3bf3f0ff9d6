"""No payload leads a connection to an address that the network policy refuses, and no failure tells of a network."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.execution import KEY, MARIADB_ENDLESS, POSTGRES_ENDLESS, REGISTRY, Target, database, limits, settings
from tests.support.shop import SIZE, add_reader, context, hosted_core
from tests.support.stalling_proxy import stalling_proxy

from analytics_core import AnalyticsCore, Settings, connect
from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._core.adapters.network import PublicNetworkPolicy
from analytics_core._engine.execution.statements import StatementRunner
from analytics_core._engine.network import AddressFinder
from analytics_core.errors import AnalyticsError, ConnectionUriError, DatabaseError, ErrorType, StatementTimeoutError
from analytics_core.testing.sample_data import make_shop

SCHEMES = ("postgresql", "postgresql+psycopg", "mysql", "mariadb+pymysql")

THIS_MACHINE = (
    *("127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001"),
    *("017700000001", "0x7F.1", "127.0.0.01", "0", "0.0.0.0", "localhost", "LOCALHOST", "localhost.", "localhost.."),
    *("[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::]"),
    *("[64:ff9b::7f00:1]", "[2002:7f00:1::]"),
    *("%31%32%37.0.0.1", "127.0.0.1%00", "127.0.0.1%2e", "localhost%2E", "[::1%25lo]", "[fe80::1%25lo]"),
    *("\uff11\uff12\uff17.\uff10.\uff10.\uff11", "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54"),
    *("①②⑦.⓪.⓪.①", "127。0。0。1", "ⓛocalhost", "ip6-localhost", "ip6-loopback"),
    *("127.0.0.1,127.0.0.1", "8.8.8.8,127.0.0.1", "127.0.0.1,", ",127.0.0.1", "127.0.0.1;127.0.0.1", "127.0.0.1 "),
    *("/tmp", "%2Ftmp", "@abstract", "%40abstract", "\\\\localhost", "localhost\\x", "db@127.0.0.1", ""),
    *("127.0.0.1/x@8.8.8.8", "127.0.0.1#", "127.0.0.1?host=8.8.8.8", "user@127.0.0.1"),
)
OTHER_PLACES = ("169.254.169.254", "[fd00:ec2::254]", "[::ffff:a9fe:a9fe]", "100.100.100.200", "10.0.0.1", "[fe80::1]")

OPTIONS: tuple[Mapping[str, str], ...] = (
    *({"host": "127.0.0.1"}, {"hostaddr": "127.0.0.1"}, {"host": "/tmp"}, {"host": "127.0.0.1:{port}"}),
    *(
        {"port": "{port}"},
        {"service": "x"},
        {"servicefile": "/tmp/x"},
        {"passfile": "/tmp/x"},
        {"unix_socket": "/tmp/x"},
    ),
    *(
        {"bind_address": "127.0.0.1"},
        {"read_default_file": "/tmp/x"},
        {"db": "x"},
        {"sock": "x"},
        {"server_public_key": "x"},
    ),
    *(
        {"defer_connect": "1"},
        {"load_balance_hosts": "random"},
        {"options": "-c x=1"},
        {"dsn": "x"},
        {"odbc_connect": "x"},
    ),
)
REFUSED = frozenset({ErrorType.CONNECTION_ACCESS_DENIED_ERROR, ErrorType.CONNECTION_INVALID_HOSTNAME_ERROR})


@dataclass(frozen=True, slots=True)
class Trap:
    """Listens on every address of this machine, and tells whether anybody came."""

    listeners: tuple[socket.socket, ...]

    @property
    def port(self) -> int:
        return int(self.listeners[0].getsockname()[1])

    @property
    def was_reached(self) -> bool:
        return bool(select.select(self.listeners, [], [], 0)[0])


@contextmanager
def trap_on(address: str, port: int = 0) -> Iterator[Trap]:
    with socket.create_server((address, port)) as listener:
        yield Trap((listener,))


@pytest.fixture
def trap() -> Iterator[Trap]:
    if not socket.has_dualstack_ipv6():
        with trap_on("0.0.0.0") as found:
            yield found
        return
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        yield Trap((listener,))


@pytest.fixture(scope="module")
def admin() -> Iterator[AnalyticsCore]:
    """The administrator of a core that stores nothing of what is refused here."""
    with AnalyticsCore(Settings(secret_key=KEY, statement_timeout_s=5.0)) as host:
        yield host.as_user(host.create_first_administrator("admin").id)


def rejection(call: Callable[[], object]) -> AnalyticsError:
    """Return the typed error of a call, which must come before a connection would have timed out."""
    started = time.monotonic()
    with pytest.raises(AnalyticsError) as caught:
        call()
    assert time.monotonic() - started < 4.0
    return caught.value


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("host", THIS_MACHINE)
def test_no_spelling_leads_to_this_machine(scheme: str, host: str, trap: Trap, admin: AnalyticsCore) -> None:
    error = rejection(
        lambda: admin.databases.test_connection({"orm_uri": f"{scheme}://u:hunter2@{host}:{trap.port}/d"})
    )
    assert isinstance(error, ConnectionUriError) or error.error_type in REFUSED, repr(error)
    assert "hunter2" not in f"{error} {json.dumps(error.to_payload())}"
    assert not trap.was_reached


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("host", OTHER_PLACES)
def test_no_spelling_leads_to_places_that_are_not_public(scheme: str, host: str, admin: AnalyticsCore) -> None:
    error = rejection(lambda: admin.databases.test_connection({"orm_uri": f"{scheme}://u@{host}:80/d"}))
    assert error.error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_no_option_names_another_host(
    scheme: str, options: Mapping[str, str], trap: Trap, admin: AnalyticsCore
) -> None:
    given = {name: value.format(port=trap.port) for name, value in options.items()}
    url = sa.URL.create(scheme, username="u", host="8.8.8.8", port=trap.port, database="d")
    in_query = {"database_name": "x", "orm_uri": url.set(query=given).render_as_string()}
    extra = json.dumps({"engine_params": {"connect_args": given}})
    in_extra = {"database_name": "x", "orm_uri": url.render_as_string(), "extra": extra}
    for payload in (in_query, in_extra):
        for call in (admin.databases.create, admin.databases.test_connection):
            assert isinstance(rejection(lambda call=call, payload=payload: call(payload)), ConnectionUriError)  # type: ignore[misc]
    assert not trap.was_reached


@pytest.mark.parametrize("host", ["a,b", "%2Ftmp", "a b", "(DESCRIPTION=(ADDRESS=(HOST=a)))", "a;Server=b", "[a"])
@pytest.mark.parametrize(
    "scheme", [*SCHEMES, "oracle", "mssql", "trino", "clickhouse", "snowflake", "databricks", "druid"]
)
def test_lists_and_descriptions_of_hosts_are_not_even_saved(scheme: str, host: str, admin: AnalyticsCore) -> None:
    error = rejection(lambda: admin.databases.create({"database_name": "x", "orm_uri": f"{scheme}://u@{host}/d"}))
    assert isinstance(error, ConnectionUriError)


def test_a_stored_password_is_not_sent_to_another_host(trap: Trap, admin: AnalyticsCore) -> None:
    stored = "postgresql://u:hunter2@db.example.com/d"
    made = admin.databases.create({"database_name": "stored", "orm_uri": stored})
    elsewhere = f"postgresql://u:XXXXXXXXXX@127.0.0.1:{trap.port}/d"
    error = rejection(lambda: admin.databases.test_connection({"database_name": "stored", "orm_uri": elsewhere}))
    assert isinstance(error, ConnectionUriError)
    assert isinstance(rejection(lambda: admin.databases.update(made.id, {"orm_uri": elsewhere})), ConnectionUriError)
    assert not trap.was_reached


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("postgresql://u@127.0.0.1:6543/d", "127.0.0.1:6543"),
        ("postgresql://u@[::1]/d", "[::1]:5432"),
        ("postgresql:///d", "localhost:5432"),
        ("mariadb+pymysql://u@db.internal/d", "db.internal:3306"),
    ],
)
def test_a_notebook_reaches_the_server_of_its_url_alone(url: str, allowed: str, trap: Trap) -> None:
    with connect(url, lazy=True) as core:
        assert core._runtime.parts.settings.allowed_networks == (allowed,)
        error = rejection(
            lambda: core.databases.test_connection({"orm_uri": f"postgresql://u@127.0.0.1:{trap.port}/d"})
        )
        assert error.error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR
    assert not trap.was_reached


# -------------------------------------------------------------------------------------------------------- real servers
class _Rebinding:
    """A lookup whose name leads to `first` as often as `times`, and to `then` afterwards."""

    def __init__(self, first: Sequence[str], then: Sequence[str], *, times: int) -> None:
        self._answers = [first] * times
        self._then = then

    def __call__(self, _host: str, _port: int | None) -> Sequence[str]:
        return self._answers.pop(0) if self._answers else self._then


OUR_SERVER, TRAP_ADDRESS = "127.0.0.1", "127.0.0.9"


@pytest.fixture(params=["postgresql", "mysql"])
def url(
    request: pytest.FixtureRequest,
    make_postgres_database: Callable[..., str],
    make_mariadb_database: Callable[[], str],
) -> sa.URL:
    made = make_postgres_database() if request.param == "postgresql" else make_mariadb_database()
    return sa.make_url(made).set(host="rebinding.invalid")


@contextmanager
def rebinding(url: sa.URL, lookup: _Rebinding, *, driver: str | None = None) -> Iterator[Target]:
    """Give a target whose name leads where the lookup says; the server's address alone is allowed."""
    chosen = settings(allowed_networks=(f"{OUR_SERVER}/32",), statement_timeout_s=5.0, pool_size=1)
    addresses = AddressFinder(PublicNetworkPolicy(chosen.allowed_networks), lookup=lookup)
    spec = REGISTRY.get(url.get_backend_name())
    if driver:  # one that looks names up itself
        spec = replace(spec, drivers=(driver,), registered_as={driver: url.drivername})
        url = url.set(drivername=f"{spec.name}+{driver}")
    connector = SqlAlchemyConnector(settings=chosen, specs=lambda _name: spec, addresses=addresses)
    record = database(url.render_as_string(hide_password=False), engine=spec.name)
    try:
        yield Target(connector=connector, runner=StatementRunner(connector), record=record)
    finally:
        connector.close()


@pytest.mark.server
def test_a_name_that_leads_elsewhere_later_is_not_followed(url: sa.URL) -> None:
    assert url.port is not None
    with (
        trap_on(TRAP_ADDRESS, url.port) as trap,
        rebinding(url, _Rebinding([OUR_SERVER], [TRAP_ADDRESS], times=1)) as shop,
    ):
        assert shop.rows("SELECT 1") == [(1,)]
        assert shop.rows("SELECT 2") == [(2,)]  # the connection that is open leads where it led
        shop.connector.dispose(shop.record.id)
        error = rejection(lambda: shop.run("SELECT 3"))
        assert error.error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR
        assert not trap.was_reached


@pytest.mark.server
def test_of_several_addresses_the_allowed_ones_alone_are_tried(url: sa.URL) -> None:
    assert url.port is not None
    answer = [TRAP_ADDRESS, OUR_SERVER, TRAP_ADDRESS]
    with trap_on(TRAP_ADDRESS, url.port) as trap, rebinding(url, _Rebinding(answer, answer, times=1)) as shop:
        assert shop.rows("SELECT 1") == [(1,)]
        assert not trap.was_reached


@pytest.mark.server
def test_what_stops_a_statement_goes_to_no_other_address(url: sa.URL) -> None:
    assert url.port is not None
    endless = POSTGRES_ENDLESS if url.get_backend_name() == "postgresql" else MARIADB_ENDLESS
    with (
        trap_on(TRAP_ADDRESS, url.port) as trap,
        rebinding(url, _Rebinding([OUR_SERVER], [TRAP_ADDRESS], times=1)) as shop,
    ):
        with pytest.raises(StatementTimeoutError):
            shop.run(endless, limits=limits(timeout_s=0.5))
        assert not trap.was_reached


@pytest.mark.server
@pytest.mark.parametrize("answer", [[TRAP_ADDRESS], [OUR_SERVER, TRAP_ADDRESS]], ids=["refused", "one of two refused"])
def test_a_driver_that_looks_names_up_itself_is_refused_before_it_connects(url: sa.URL, answer: list[str]) -> None:
    assert url.port is not None
    with (
        trap_on(TRAP_ADDRESS, url.port) as trap,
        rebinding(url.set(host=TRAP_ADDRESS), _Rebinding(answer, answer, times=1), driver="other") as shop,
    ):
        error = rejection(lambda: shop.run("SELECT 1"))
        assert error.error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR
        assert not trap.was_reached


@pytest.mark.server
def test_people_who_may_not_create_connections_learn_nothing_of_a_network(url: sa.URL) -> None:
    good = url.set(host=OUR_SERVER)
    make_shop(good.render_as_string(hide_password=False), **SIZE)
    assert good.port is not None
    with (
        socket.create_server((OUR_SERVER, 0)) as closed,
        stalling_proxy(good.port) as hanging,
        hosted_core(
            good.render_as_string(hide_password=False),
            settings={"statement_timeout_s": 1.0, "allowed_networks": (f"{OUR_SERVER}/32",), "metadata_freshness_s": 0},
        ) as host,
    ):
        closed_port = int(closed.getsockname()[1])
        closed.close()
        hanging.stall()
        reader, admin = add_reader(host, "reader"), host.as_user("admin")
        places = {
            "refused by the policy": good.set(host=TRAP_ADDRESS),
            "a closed port": good.set(port=closed_port),
            "no such name": good.set(host="no-such-host.invalid"),
            "no such database": good.set(database="no_such_database"),
            "no such user": good.set(username="nobody_at_all", password="hunter2"),
            "no answer": good.set(port=hanging.port),
        }
        outcomes: dict[str, Any] = {}
        for what, place in places.items():
            admin.databases.update(1, {"orm_uri": place.render_as_string(hide_password=False)})
            outcomes[what] = _outcome(reader), _outcome(admin)
        for_readers = {json.dumps(reader_sees, sort_keys=True) for reader_sees, _ in outcomes.values()}
        for_admins = {json.dumps(admin_sees, sort_keys=True) for _, admin_sees in outcomes.values()}
        assert len(for_readers) == 1, outcomes
        assert len(for_admins) > 3


def _outcome(core: AnalyticsCore) -> Any:
    """Return the error body of a chart, None when it is answered."""
    data = core.charts.data(context({"columns": ["country"], "metrics": ["count"]}), force=True)
    try:
        data.raise_for_error()
    except DatabaseError as error:
        return error.to_payload()
    return None
