"""A port of this machine from which connections go through an SSH connection to one server behind it."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from analytics_core._bounded_calls import start_thread
from analytics_core.errors import AnalyticsError, ErrorType, SshTunnelError, ThreadLimitError

if TYPE_CHECKING:
    from paramiko import Channel, Transport

LOOPBACK: Final = "127.0.0.1"
CHANNEL_TIMEOUT_S: Final = 8.0
"""What the SSH server may take to open a way to the database."""

_LOOK_S: Final = 0.5
"""How often it is seen whether the SSH connection still stands."""

_FRESH_S: Final = 5.0
"""How long a way that was opened waits for its driver."""

_CHUNK: Final = 32_768
_PROHIBITED: Final = 1
_CONNECT_FAILED: Final = 2


class Forwarder:
    """Forwards a loopback port through `transport` to `target` until it is closed or the transport drops.

    Ways to the target are opened before the driver connects (`prepare`), so that a refusal is an error of ours; the
    second connection of libpq that stops a statement comes without and opens its own.
    """

    def __init__(self, transport: Transport, target: tuple[str, int]) -> None:
        self._transport = transport
        self._target = target
        self._guard = threading.Lock()
        self._ready: deque[tuple[float, Channel]] = deque()
        self._links: set[socket.socket] = set()
        self._is_closed = False
        self._listener = socket.create_server((LOOPBACK, 0), backlog=128)
        self._listener.settimeout(_LOOK_S)
        self.port: int = self._listener.getsockname()[1]
        try:
            self._threads = [self._start(self._accept)]
        except ThreadLimitError:
            self._listener.close()
            raise

    @property
    def is_open(self) -> bool:
        """Whether new connections may come this way."""
        return not self._is_closed and self._transport.is_active()

    def prepare(self) -> None:
        """Open a way to the target for the connection that comes next; SshTunnelError when there is none."""
        channel = self._open_channel()
        with self._guard:
            self._ready.append((time.monotonic(), channel))

    def close(self) -> None:
        """End all connections and threads; the SSH connection too."""
        with self._guard:
            self._is_closed = True
            links, ready = tuple(self._links), tuple(self._ready)
            self._ready.clear()
        self._listener.close()
        for _, channel in ready:
            _end_channel(channel)
        end_transport(self._transport)
        for local in links:
            _shut(local, socket.SHUT_RDWR)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_LOOK_S * 4)

    def forget(self) -> list[Any]:
        """Close this process's copies of the sockets, in a forked child, and return what must not be collected."""
        self._is_closed = True
        for held in (self._listener, self._transport.sock, *self._links):
            held.close()
        return [self._transport, self._ready, self._links]

    def _start(self, target: Any, *args: Any) -> threading.Thread:
        return start_thread(target, *args, name="SSH tunnel")

    def _accept(self) -> None:
        while self.is_open:
            self._drop_stale()
            try:
                local, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:  # closed, or no file is left to the process for a moment
                time.sleep(_LOOK_S / 10)
                continue
            self._lend(local)
        self.close()

    def _lend(self, local: socket.socket) -> None:
        local.settimeout(None)
        local.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._guard:
            is_late = self._is_closed
            self._links.add(local)
            self._threads = [thread for thread in self._threads if thread.is_alive()]
        try:
            if not is_late:
                thread = self._start(self._serve, local)
                with self._guard:
                    self._threads.append(thread)
                return
        except AnalyticsError:  # no thread: the driver sees a closed connection
            pass
        self._end(local)

    def _serve(self, local: socket.socket) -> None:
        """Carry what the driver sends, and in a second thread what comes back, until one of them ends."""
        try:
            channel = self._take_ready() or self._open_channel()
        except AnalyticsError:
            self._end(local)
            return
        back: threading.Thread | None = None
        try:
            back = self._start(_carry, channel.recv, local.sendall, lambda: _shut(local, socket.SHUT_WR))
            _carry(local.recv, channel.sendall, channel.close)
        except AnalyticsError:
            _end_channel(channel)
        finally:
            _shut(local, socket.SHUT_RDWR)
            if back is not None:
                back.join()
            self._end(local)

    def _end(self, local: socket.socket) -> None:
        with self._guard:
            self._links.discard(local)
        local.close()

    def _take_ready(self) -> Channel | None:
        with self._guard:
            while self._ready:
                _, channel = self._ready.popleft()
                if not channel.closed and not channel.eof_received:
                    return channel
        return None

    def _drop_stale(self) -> None:
        stale = []
        with self._guard:
            while self._ready and time.monotonic() - self._ready[0][0] > _FRESH_S:
                stale.append(self._ready.popleft()[1])
        for channel in stale:
            _end_channel(channel)

    def _open_channel(self) -> Channel:
        from paramiko import ChannelException, SSHException

        code: int | None = None
        try:
            return self._transport.open_channel(
                "direct-tcpip", self._target, (LOOPBACK, self.port), timeout=CHANNEL_TIMEOUT_S
            )
        except ChannelException as error:
            code = error.code
        except (SSHException, OSError, EOFError):
            pass
        raise _refused(code)


def end_transport(transport: Transport) -> None:
    """End an SSH connection, also one whose server hangs."""
    with contextlib.suppress(OSError):
        transport.sock.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError, EOFError):
        transport.close()
    transport.sock.close()


def _carry(read: Any, write: Any, end: Any) -> None:
    try:
        while data := read(_CHUNK):
            write(data)
    except (OSError, EOFError):  # either side is gone
        pass
    with contextlib.suppress(OSError, EOFError):
        end()


def _end_channel(channel: Channel) -> None:
    with contextlib.suppress(OSError, EOFError):  # its connection is gone already
        channel.close()


def _shut(local: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError):
        local.shutdown(how)


def _refused(code: int | None) -> SshTunnelError:
    if code == _PROHIBITED:
        return SshTunnelError(
            "does not allow connections to the database's host and port; allow them there (PermitOpen of OpenSSH)",
            reason="forbidden",
            error_type=ErrorType.CONNECTION_ACCESS_DENIED_ERROR,
        )
    if code == _CONNECT_FAILED:
        return SshTunnelError(
            "cannot connect to the database; check host and port of its URI, as they are seen from there",
            reason="refused",
            error_type=ErrorType.CONNECTION_PORT_CLOSED_ERROR,
        )
    return SshTunnelError(
        "was lost or does not answer", reason="lost", error_type=ErrorType.CONNECTION_HOST_DOWN_ERROR, retryable=True
    )
