"""A port that forwards through an SSH connection: what goes through, and what is closed at the end of it."""

from __future__ import annotations

import queue
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from paramiko import ChannelException, SSHException

from analytics_core._engine.execution.forwarder import Forwarder
from analytics_core._records.secret import Secret
from analytics_core._records.ssh_tunnel import StoredTunnel
from analytics_core.errors import AnalyticsError, SshTunnelError, ThreadLimitError

TARGET = ("db.example", 5432)
PLAN = StoredTunnel(server_address="gate.example", server_port=22, username="maria", password=Secret("hunter2"))


class FakeChannel:
    """A way to the target, which says everything twice, and ends its side when it was sent a `bye`."""

    eof_received = False

    def __init__(self) -> None:
        self.closed = False
        self.sent: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._retained: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def sendall(self, data: bytes) -> None:
        self.sent.put(data)
        self._retained.put(data * 2)
        if data == b"bye":
            self._retained.put(b"")

    def recv(self, _size: int) -> bytes:
        return self._retained.get()

    def close(self) -> None:
        self.closed = True
        self._retained.put(b"")


class FakeTransport:
    """An SSH connection that opens channels, or raises what it is told to."""

    is_alive = True

    def __init__(self) -> None:
        self.sock = socket.socket()
        self.opened: list[FakeChannel] = []
        self.queried: list[Any] = []
        self.error: Exception | None = None
        self.is_closed = False

    def is_active(self) -> bool:
        return not self.is_closed

    def connect(self, **_login: Any) -> None:
        if self.error is not None:
            raise self.error

    def open_channel(self, kind: str, target: Any, origin: Any, *, timeout: float) -> FakeChannel:
        self.queried.append((kind, target, origin))
        if self.error is not None:
            raise self.error
        self.opened.append(FakeChannel())
        return self.opened[-1]

    def close(self) -> None:
        self.is_closed = True
        self.sock.close()


class OverFake(Forwarder):
    """A forwarder through a connection that is there already."""

    def __init__(self, transport: Any) -> None:
        super().__init__(PLAN, TARGET, lambda host, _port: [host])
        self._given = transport

    def _get_transport(self) -> Any:
        return self._given


@pytest.fixture
def transport() -> Iterator[FakeTransport]:
    made = FakeTransport()
    yield made
    made.sock.close()


@contextmanager
def forwarder(transport: Any) -> Iterator[Forwarder]:
    made = OverFake(transport).start()
    try:
        yield made
    finally:
        made.close()


def test_a_connection_takes_the_way_that_was_prepared_for_it_and_others_their_own(transport: FakeTransport) -> None:
    with forwarder(transport) as made:
        made.prepare()
        origins = [made.address]
        for said in (b"first", b"second"):
            with socket.create_connection(made.address, timeout=5) as local:
                origins.append(local.getsockname())
                local.sendall(said)
                assert local.recv(100) == said * 2
        assert transport.queried == [("direct-tcpip", TARGET, origin) for origin in (origins[0], origins[2])]


def test_a_driver_reads_all_that_came_before_the_database_ended_and_may_still_send(transport: FakeTransport) -> None:
    with forwarder(transport) as made, socket.create_connection(made.address, timeout=5) as local:
        local.sendall(b"bye")
        assert (local.recv(100), local.recv(100)) == (b"byebye", b"")
        local.sendall(b"more")
        assert [transport.opened[0].sent.get(timeout=5) for _ in range(2)] == [b"bye", b"more"]


def test_at_the_end_the_listener_is_closed_and_the_connections_in_it_too(transport: FakeTransport) -> None:
    with forwarder(transport) as made:
        assert made.is_active
        local = socket.create_connection(made.address, timeout=5)
        local.sendall(b"first")
        assert local.recv(100) == b"firstfirst"
    with local:
        assert (local.recv(100), transport.is_closed, made.is_active) == (b"", True, False)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(made.address, timeout=5)


def test_a_forked_child_closes_its_own_ends_and_ends_nothing(transport: FakeTransport) -> None:
    with forwarder(transport) as made:
        made.prepare()
        with socket.create_connection(made.address, timeout=5) as local:
            local.sendall(b"first")
            assert local.recv(100) == b"firstfirst"
            own_ends = [*made.links, transport.sock]
            made.forget()
            assert [own.fileno() for own in own_ends] == [-1, -1]
            assert (transport.is_closed, [channel.closed for channel in transport.opened]) == (False, [False])


def test_a_way_that_cannot_be_opened_is_an_error_of_ours(transport: FakeTransport) -> None:
    with forwarder(transport) as made:
        for error, what in (
            (ChannelException(1, "hunter2"), "does not allow connections to the database's host"),
            (ChannelException(2, "hunter2"), "cannot connect to the database"),
            (ChannelException(3, "hunter2"), "was lost or does not answer"),
            (SSHException("hunter2"), "was lost or does not answer"),
        ):
            transport.error = error
            with pytest.raises(SshTunnelError, match=what) as caught:
                made.prepare()
            assert "hunter2" not in caught.value.message


def test_what_ends_a_start_is_an_error_of_ours_and_leaves_nothing_open(transport: FakeTransport) -> None:
    for error, expected in (
        (RuntimeError("can't start new thread"), ThreadLimitError),
        (SSHException("hunter2"), SshTunnelError),
        (OSError("hunter2"), SshTunnelError),
    ):
        transport.error, transport.is_closed = error, False
        with pytest.raises(AnalyticsError) as caught:
            OverFake(transport).start()
        assert (type(caught.value), caught.value.__context__, transport.is_closed) == (expected, None, True)
        assert "hunter2" not in caught.value.message


def test_a_password_is_in_no_text_of_a_forwarder(transport: FakeTransport) -> None:
    made = OverFake(transport)
    assert "hunter2" not in f"{made} {made!r}"
