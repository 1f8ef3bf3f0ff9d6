"""A tunnel through an SSH server of this process: where it leads drivers, and what is left of it at its end."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from tests.support.ssh_server import PASSWORD, PasswordServer

from analytics_core._engine.execution.sessions.opening import ADDRESSES
from analytics_core._engine.execution.tunnels import Tunnel
from analytics_core._records.secret import Secret
from analytics_core._records.ssh_tunnel import StoredTunnel
from analytics_core.errors import SshTunnelError


@pytest.fixture
def server() -> Iterator[PasswordServer]:
    with closing(PasswordServer()) as made:
        yield made


@pytest.fixture
def target() -> Iterator[tuple[str, int]]:
    """A database that says hello to each driver and hangs up."""

    def greet() -> None:
        while client := _accepted(listener):
            client.sendall(b"hello")
            client.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=greet, daemon=True).start()
        yield listener.getsockname()
        listener.shutdown(socket.SHUT_RDWR)


def _accepted(listener: socket.socket) -> socket.socket | None:
    try:
        return listener.accept()[0]
    except OSError:
        return None


def tunnel_to(target: tuple[str, int], server: PasswordServer, *, password: str = PASSWORD) -> Tunnel:
    plan = StoredTunnel(
        server_address="127.0.0.1",
        server_port=server.port,
        username="maria",
        password=Secret(password),
        host_key=server.host_key,
    )
    return Tunnel(plan, target, addresses=lambda host, _port: [host])


def led(tunnel: Tunnel) -> tuple[str, int]:
    named: dict[str, Any] = {"port": 5432}
    tunnel.lead(named)
    return named[ADDRESSES], named["port"]


def test_drivers_are_led_to_the_database_through_one_login(server: PasswordServer, target: tuple[str, int]) -> None:
    with closing(tunnel_to(target, server)) as tunnel:
        for _ in range(2):
            with socket.create_connection(led(tunnel), timeout=5) as driver:
                assert driver.recv(5) == b"hello"
    assert server.seen == [PASSWORD]


def test_at_its_end_nothing_listens_and_whoever_comes_is_told(server: PasswordServer, target: tuple[str, int]) -> None:
    tunnel = tunnel_to(target, server)
    address = led(tunnel)
    tunnel.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=5)
    with pytest.raises(SshTunnelError, match="was closed"):
        led(tunnel)


def test_a_server_that_hangs_up_on_the_way_is_asked_once_more_and_then_told(
    server: PasswordServer, target: tuple[str, int]
) -> None:
    server.hangs_up = True
    with closing(tunnel_to(target, server)) as tunnel, pytest.raises(SshTunnelError, match="was lost"):
        led(tunnel)
    assert server.seen == [PASSWORD] * 2


def test_a_login_that_is_refused_says_what_to_check(server: PasswordServer, target: tuple[str, int]) -> None:
    refused = pytest.raises(SshTunnelError, match="does not accept the user name and password; check them")
    with closing(tunnel_to(target, server, password="wr0ng")) as tunnel, refused:
        led(tunnel)
