"""SSH tunnels: a real sshd before a real PostgreSQL and MariaDB; what goes through, and what each failure is called."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.execution import POSTGRES_ENDLESS
from tests.support.missing import skip_or_fail
from tests.support.servers import ServerMissingError, TlsMariadb, TlsPostgres
from tests.support.small_core import SmallCore, small_core
from tests.support.ssh_server import (
    PASSPHRASE,
    PASSWORD,
    OpensshServer,
    PasswordServer,
    free_port,
    make_keys,
    openssh_server,
)
from tests.support.tunnel_churn import churn

from analytics_core import AnalyticsCore
from analytics_core._engine.execution.cancel import Stopper, StopReason
from analytics_core._engine.execution.forwarder import Forwarder
from analytics_core._engine.execution.sessions.choice import session_of
from analytics_core._records.datasource import Access, Database
from analytics_core._records.secret import Secret
from analytics_core._records.ssh_tunnel import StoredTunnel
from analytics_core.errors import DatabaseError, ErrorType, SshTunnelError

pytestmark = pytest.mark.server

LOOPBACK = ("127.0.0.0/8",)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    try:
        make_keys(folder)
    except ServerMissingError as missing:
        skip_or_fail(str(missing))
    return folder


@pytest.fixture
def sshd(tmp_path: Path, keys: Path) -> Iterator[OpensshServer]:
    try:
        with openssh_server(tmp_path / "sshd", keys=keys) as server:
            yield server
    except ServerMissingError as missing:
        skip_or_fail(str(missing))


@pytest.fixture
def by_password() -> Iterator[PasswordServer]:
    server = PasswordServer()
    yield server
    server.close()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path, allowed_networks=LOOPBACK) as made:
        yield made


@pytest.fixture
def core(shop: SmallCore) -> AnalyticsCore:
    return shop.core


def try_through(core: AnalyticsCore, url: str, tunnel: dict[str, Any]) -> None:
    core.databases.test_connection({"orm_uri": url, "ssh_tunnel": tunnel})


def test_trials_at_the_same_time_end_nothing_of_each_other(
    core: AnalyticsCore, sshd: OpensshServer, postgres_url: str
) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: try_through(core, postgres_url, sshd.tunnel()), range(12)))


def failure_of(core: AnalyticsCore, url: str, tunnel: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(SshTunnelError) as caught:
        try_through(core, url, tunnel)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert not any(word in str(caught.value).casefold() for word in ("127.0.0.1", "paramiko"))
    return caught.value.reason, str(caught.value.error_type)


def stored(core: AnalyticsCore, url: str, tunnel: dict[str, Any], **more: Any) -> Database:
    made = core.databases.create({"database_name": "behind", "orm_uri": url, "ssh_tunnel": tunnel, **more})
    with core._runtime.content.store.unit_of_work() as unit:
        return unit.databases.get(made.id)


def engine_of(core: AnalyticsCore, database: Database, access: Access = Access.READ) -> sa.Engine:
    engine: sa.Engine = core._runtime.parts.connector.engine(database, access=access)
    return engine


def answer(engine: sa.Engine) -> object:
    with engine.connect() as connection:
        return connection.exec_driver_sql("SELECT 42").scalar_one()


def listeners() -> set[tuple[str, int]]:
    """Return the addresses at which this process listens."""
    sockets = {os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if _exists(number)}
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    mine = [row[1].split(":") for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]
    return {(socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16)) for host, port in mine}


def _exists(number: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{number}")


# ---------------------------------------------------------------------------------------------------- what goes through
@pytest.mark.parametrize("key", ["ed25519", "rsa", "ecdsa", "encrypted"])
def test_each_type_of_key_leads_to_the_database(
    core: AnalyticsCore, sshd: OpensshServer, postgres_url: str, key: str
) -> None:
    secret = {"private_key_password": PASSPHRASE} if key == "encrypted" else {}
    try_through(core, postgres_url, sshd.tunnel(private_key=sshd.key(key), **secret))


def test_a_password_leads_to_the_database(core: AnalyticsCore, by_password: PasswordServer, postgres_url: str) -> None:
    try_through(core, postgres_url, by_password.tunnel())
    assert by_password.seen == [PASSWORD]


def test_mariadb_is_reached_as_well(core: AnalyticsCore, sshd: OpensshServer, mariadb_url: str) -> None:
    try_through(core, mariadb_url, sshd.tunnel())


def test_any_server_is_trusted_only_when_that_is_asked_for(
    core: AnalyticsCore, sshd: OpensshServer, postgres_url: str
) -> None:
    try_through(core, postgres_url, sshd.tunnel(host_key=None, insecure_host_key=True))


def test_all_pools_of_a_database_share_one_tunnel(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    database = stored(core, postgres_url, sshd.tunnel(), allow_dml=True)
    before = listeners()
    assert answer(engine_of(core, database)) == 42
    assert answer(engine_of(core, database, Access.WRITE)) == 42
    opened = listeners() - before
    assert [host for host, _ in opened] == ["127.0.0.1"]
    core.databases.delete(database.id)
    assert not listeners() - before


def test_a_statement_is_stopped_through_the_tunnel(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    engine = engine_of(core, stored(core, postgres_url, sshd.tunnel()))
    stopper = Stopper()
    timer = threading.Timer(0.5, stopper.stop, [StopReason.CANCELLED])
    started = time.monotonic()
    with engine.connect() as connection, session_of(engine).limited(connection, stopper, timeout_s=30.0):
        timer.start()
        with pytest.raises(sa.exc.DBAPIError):
            connection.exec_driver_sql(POSTGRES_ENDLESS)
        stopper.finish()
    assert time.monotonic() - started < 10


# --------------------------------------------------------------------------------------------------- what it survives
def test_a_tunnel_that_drops_is_opened_again(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    engine = engine_of(core, stored(core, postgres_url, sshd.tunnel()))
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT 1")
        assert sshd.cut() == 1
        with pytest.raises(sa.exc.DBAPIError):
            connection.exec_driver_sql("SELECT 2")
    assert answer(engine) == 42
    sshd.stop()
    with pytest.raises(SshTunnelError):
        answer(engine)
    sshd.start()
    assert answer(engine) == 42


def test_a_fork_opens_a_tunnel_of_its_own(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    database = stored(core, postgres_url, sshd.tunnel())
    engine = engine_of(core, database)
    assert answer(engine) == 42
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if answer(engine_of(core, database)) == 42 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 42").scalar_one() == 42
    latest = time.monotonic() + 10  # the server notices in its own time that the child is gone
    while len(sshd.sessions()) > 1 and time.monotonic() < latest:
        time.sleep(0.05)
    assert len(sshd.sessions()) == 1


@pytest.mark.long
def test_a_hanging_server_hangs_nobody(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    sshd.hang()
    started = time.monotonic()
    with pytest.raises(DatabaseError) as caught:
        try_through(core, postgres_url, sshd.tunnel())
    assert time.monotonic() - started < 20
    assert caught.value.error_type in (ErrorType.CONNECTION_HOST_DOWN_ERROR, ErrorType.CONNECTION_DATABASE_TIMEOUT)


def test_nothing_is_left_when_the_core_is_closed(
    tmp_path: Path, sshd: OpensshServer, postgres_url: str, make_postgres_database: Callable[..., str]
) -> None:
    before = (listeners(), {thread.ident for thread in threading.enumerate()})
    with small_core(tmp_path, allowed_networks=LOOPBACK) as shop:
        for name, url in (("a", postgres_url), ("b", make_postgres_database())):
            made = shop.core.databases.create({"database_name": name, "orm_uri": url, "ssh_tunnel": sshd.tunnel()})
            assert shop.core.databases.schemas(made.id)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and (sshd.sessions() or _more_threads(before[1])):
        time.sleep(0.05)
    assert (listeners(), _more_threads(before[1]), sshd.sessions()) == (before[0], [], [])


def test_connections_churn_through_a_tunnel_that_is_cut(tmp_path: Path, sshd: OpensshServer, postgres_url: str) -> None:
    found = churn(tmp_path, sshd, postgres_url, seconds=10.0)
    assert (found.wrong, found.residue) == ([], [])
    assert found.cuts >= 1
    assert found.answered > 0


def _more_threads(known: set[int | None]) -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.ident not in known]


# --------------------------------------------------------------------------------------------- what failures are called
def test_a_server_with_another_key_is_sent_nothing(
    core: AnalyticsCore, by_password: PasswordServer, sshd: OpensshServer, postgres_url: str
) -> None:
    expected = ("host_key", "CONNECTION_ACCESS_DENIED_ERROR")
    other = (sshd.folder / "other_key.pub").read_text()
    assert failure_of(core, postgres_url, sshd.tunnel(host_key=other)) == expected
    assert failure_of(core, postgres_url, by_password.tunnel(host_key=sshd.host_key)) == expected
    assert by_password.seen == []


def test_a_wrong_password_is_told(core: AnalyticsCore, by_password: PasswordServer, postgres_url: str) -> None:
    tunnel = by_password.tunnel(password="wr0ng-word")
    assert failure_of(core, postgres_url, tunnel) == ("password", "CONNECTION_INVALID_PASSWORD_ERROR")


def test_a_key_that_may_not_log_in_is_told(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    tunnel = sshd.tunnel(private_key=sshd.key("stranger"))
    assert failure_of(core, postgres_url, tunnel) == ("private_key", "CONNECTION_ACCESS_DENIED_ERROR")


def test_a_server_that_takes_no_passwords_is_told(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    tunnel = {name: value for name, value in sshd.tunnel(password=PASSWORD).items() if name != "private_key"}
    assert failure_of(core, postgres_url, tunnel)[0] == "password"


def test_a_port_at_which_no_ssh_server_listens_is_told(
    core: AnalyticsCore, sshd: OpensshServer, postgres_url: str
) -> None:
    tunnel = sshd.tunnel(server_port=free_port())
    assert failure_of(core, postgres_url, tunnel) == ("unreachable", "CONNECTION_PORT_CLOSED_ERROR")


def test_a_server_that_speaks_no_ssh_is_told(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    tunnel = sshd.tunnel(server_port=sa.make_url(postgres_url).port)
    assert failure_of(core, postgres_url, tunnel)[0] == "unreachable"


def test_a_name_that_leads_nowhere_is_told(core: AnalyticsCore, sshd: OpensshServer, postgres_url: str) -> None:
    tunnel = sshd.tunnel(server_address="no-such-host.invalid")
    with pytest.raises(DatabaseError) as caught:
        try_through(core, postgres_url, tunnel)
    assert caught.value.error_type is ErrorType.CONNECTION_INVALID_HOSTNAME_ERROR


def test_the_network_policy_is_asked_of_the_ssh_server_and_not_of_what_is_behind(
    tmp_path: Path, sshd: OpensshServer, postgres_url: str
) -> None:
    with small_core(tmp_path) as shop, pytest.raises(DatabaseError) as caught:
        try_through(shop.core, postgres_url, sshd.tunnel())
    assert caught.value.error_type is ErrorType.CONNECTION_ACCESS_DENIED_ERROR
    assert not sshd.sessions()
    (tmp_path / "shop.db").unlink()
    with small_core(tmp_path, allowed_networks=(f"127.0.0.1:{sshd.port}",)) as shop:
        try_through(shop.core, postgres_url, sshd.tunnel())


def test_a_database_port_that_is_closed_there_is_told(
    core: AnalyticsCore, sshd: OpensshServer, postgres_url: str
) -> None:
    url = sa.make_url(postgres_url).set(port=free_port()).render_as_string(hide_password=False)
    assert failure_of(core, url, sshd.tunnel()) == ("refused", "CONNECTION_PORT_CLOSED_ERROR")


def test_a_server_that_forbids_forwarding_is_told(
    core: AnalyticsCore, tmp_path: Path, keys: Path, postgres_url: str
) -> None:
    with openssh_server(tmp_path / "strict", keys=keys, options=["AllowTcpForwarding no"]) as strict:
        assert failure_of(core, postgres_url, strict.tunnel()) == ("forbidden", "CONNECTION_ACCESS_DENIED_ERROR")


def test_a_server_that_hangs_up_is_told(core: AnalyticsCore, by_password: PasswordServer, postgres_url: str) -> None:
    by_password.hangs_up = True
    assert failure_of(core, postgres_url, by_password.tunnel()) == ("lost", "CONNECTION_HOST_DOWN_ERROR")
    assert len(by_password.seen) == 2  # lost once, it is opened again


@pytest.mark.parametrize("passphrase", [None, "wr0ng-word"])
def test_a_stored_passphrase_that_does_not_open_the_key_is_told(
    core: AnalyticsCore, sshd: OpensshServer, postgres_url: str, passphrase: str | None
) -> None:
    tunnel = sshd.tunnel(private_key=sshd.key("encrypted"), private_key_password=PASSPHRASE)
    sealed = stored(core, postgres_url, tunnel).ssh_tunnel
    assert sealed is not None
    broken = replace(
        StoredTunnel.from_secret(sealed), private_key_password=None if passphrase is None else Secret(passphrase)
    )
    with pytest.raises(SshTunnelError) as caught:
        Forwarder(broken, ("127.0.0.1", 5432), lambda host, _port: [host]).start()
    assert (caught.value.reason, caught.value.__cause__) == ("passphrase", None)
    assert caught.value.error_type is ErrorType.CONNECTION_MISSING_PARAMETERS_ERROR


@pytest.mark.parametrize("change", ["delete", "update"])
def test_a_pool_of_a_database_that_changed_is_told_so(
    core: AnalyticsCore, sshd: OpensshServer, postgres_url: str, change: str
) -> None:
    database = stored(core, postgres_url, sshd.tunnel())
    engine = engine_of(core, database)
    assert answer(engine) == 42
    if change == "delete":
        core.databases.delete(database.id)
    else:
        core.databases.update(database.id, {"ssh_tunnel": sshd.tunnel(private_key=sshd.key("rsa"))})
    with pytest.raises(SshTunnelError) as caught:
        answer(engine)
    assert (caught.value.reason, caught.value.retryable) == ("closed", True)


# ---------------------------------------------------------------------------------------------- TLS inside the tunnel
@pytest.mark.parametrize("tls_server", ["postgres", "mariadb"], indirect=True)
def test_tls_through_a_tunnel_verifies_the_name_of_the_uri(
    core: AnalyticsCore, sshd: OpensshServer, tls_server: TlsPostgres | TlsMariadb
) -> None:
    authority = json.dumps({"server_cert": (tls_server.folder / "authority.pem").read_text()})
    url = sa.make_url(tls_server.make_database())

    def trial(host: str) -> None:
        uri = url.set(host=host).render_as_string(hide_password=False)
        core.databases.test_connection({"orm_uri": uri, "extra": authority, "ssh_tunnel": sshd.tunnel()})

    trial("127.0.0.1")
    with pytest.raises(DatabaseError) as caught:
        trial("localhost")  # the certificate is for 127.0.0.1: it is the same server, by a name that it does not prove
    assert "certificate is for another name" in caught.value.message


def test_nothing_of_the_library_is_logged(
    core: AnalyticsCore, sshd: OpensshServer, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    try_through(core, postgres_url, sshd.tunnel())
    failure_of(core, postgres_url, sshd.tunnel(private_key=sshd.key("stranger")))
    said = [record.name for record in caplog.records]
    assert not [name for name in said if "paramiko" in name or "ssh" in name]
    assert "auth" not in " ".join(r.getMessage() for r in caplog.records if not r.name.startswith(("psycopg", "sql")))
