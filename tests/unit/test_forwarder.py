"""A port that forwards through an SSH connection: what goes through, and what is closed at the end of it."""

from __future__ import annotations

import queue
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from paramiko import ChannelException, SSHException

from analytics_core._execution.forwarder import Forwarder
from analytics_core.errors import SshTunnelError

TARGET = ("db.example", 5432)


class FakeChannel:
    """A way to the target, which says everything twice."""

    eof_received = False

    def __init__(self) -> None:
        self.closed = False
        self._held: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def sendall(self, data: bytes) -> None:
        self._held.put(data * 2)

    def recv(self, _size: int) -> bytes:
        return self._held.get()

    def close(self) -> None:
        self.closed = True
        self._held.put(b"")


class FakeTransport:
    """An SSH connection that opens channels, or raises what it is told to."""

    def __init__(self) -> None:
        self.sock = socket.socket()
        self.opened: list[FakeChannel] = []
        self.asked: list[Any] = []
        self.error: Exception | None = None
        self.is_closed = False

    def is_active(self) -> bool:
        return not self.is_closed

    def open_channel(self, kind: str, target: Any, origin: Any, *, timeout: float) -> FakeChannel:
        self.asked.append((kind, target, origin))
        if self.error is not None:
            raise self.error
        self.opened.append(FakeChannel())
        return self.opened[-1]

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def transport() -> Iterator[FakeTransport]:
    made = FakeTransport()
    yield made
    made.sock.close()


@contextmanager
def forwarder(transport: Any) -> Iterator[Forwarder]:
    made = Forwarder(transport, TARGET)
    yield made
    transport.is_closed = True
    with suppress(OSError):  # its thread looks only now and then whether the connection stands
        socket.create_connection(("127.0.0.1", made.port), timeout=5).close()
    made.close()


def test_a_connection_takes_the_way_that_was_prepared_for_it_and_others_their_own(transport: FakeTransport) -> None:
    with forwarder(transport) as made:
        made.prepare()
        for said in (b"first", b"second"):
            with socket.create_connection(("127.0.0.1", made.port), timeout=5) as local:
                local.sendall(said)
                assert local.recv(100) == said * 2
        assert transport.asked == [("direct-tcpip", TARGET, ("127.0.0.1", made.port))] * 2


def test_at_the_end_ways_that_nobody_took_are_closed_and_the_connection_too(transport: FakeTransport) -> None:
    with forwarder(transport) as made:
        made.prepare()
        made.prepare()
        assert made.is_open
    # On a slow machine the connection that wakes the thread at the end opens a third one.
    assert [channel.closed for channel in transport.opened[:2]] == [True, True]
    assert (transport.is_closed, transport.sock.fileno(), made.is_open) == (True, -1, False)
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", made.port), timeout=5)


def test_a_forked_child_closes_its_own_ends_and_ends_nothing(transport: FakeTransport) -> None:
    with forwarder(transport) as made:
        made.prepare()
        kept = made.forget()
        assert (made.is_open, transport.sock.fileno()) == (False, -1)
        assert (transport.is_closed, [channel.closed for channel in transport.opened]) == (False, [False])
        assert transport in kept


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
