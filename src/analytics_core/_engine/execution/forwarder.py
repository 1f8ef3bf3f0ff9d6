"""A port of this machine from which connections go through an SSH server: `sshtunnel`'s, with typed errors.

Of `sshtunnel` are the log-in, the listener, its threads and the order in which they end. Ours is what it leaves open:
the addresses that may be reached, what a failure is called, and how data is carried.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from paramiko import AuthenticationException, Channel, ChannelException, PKey, SSHException, Transport
from sshtunnel import SSHTunnelForwarder, _ForwardHandler, _ThreadingForwardServer

from analytics_core._engine.execution.ssh_keys import KeyProblemError, read_host_key, read_private_key
from analytics_core._records.ssh_tunnel import StoredTunnel
from analytics_core._tools.bounded_calls import start_thread
from analytics_core.errors import AnalyticsError, ErrorType, SshTunnelError, ThreadLimitError

LOOPBACK: Final = "127.0.0.1"
OPEN_TIMEOUT_S: Final = 10.0
"""What opening a tunnel may take in all: name, connection, keys and log-in."""

CHANNEL_TIMEOUT_S: Final = 8.0
"""What the SSH server may take to open a way to the database."""

_FRESH_S: Final = 5.0
"""How long a way that was opened waits for its driver."""

_KEEPALIVE_S: Final = 15
_UNHEARD_MS: Final = 30_000
"""How long what was sent may stay without a sign that it arrived."""

_PAUSE_S: Final = 0.05
_CHUNK: Final = 32_768
_PROHIBITED: Final = 1
_CONNECT_FAILED: Final = 2

AddressLookup = Callable[[str, int], Sequence[str]]
"""Gives the addresses of an SSH server that may be reached; typed errors pass through."""


class Forwarder(SSHTunnelForwarder):  # type: ignore[misc]  # untyped
    """Forwards a loopback port through an SSH server to `target` from `start` until it is closed.

    Ways to the target are opened before the driver connects (`prepare`), so that a refusal is an error of ours; the
    second connection of libpq that stops a statement comes without and opens its own.
    """

    def __init__(self, plan: StoredTunnel, target: tuple[str, int], addresses: AddressLookup) -> None:
        self._addresses = addresses
        self._guard = threading.Lock()
        self._ready: deque[tuple[float, Channel]] = deque()
        self.links: set[socket.socket] = set()
        super().__init__(
            (plan.server_address, plan.server_port),
            ssh_config_file=None,
            allow_agent=False,
            host_pkey_directories=[],
            ssh_host_key=None if plan.host_key is None else read_host_key(plan.host_key),
            ssh_username=plan.username,
            ssh_password=None if plan.password is None else plan.password.reveal(),
            ssh_pkey=_private_key(plan) if plan.password is None else None,
            local_bind_address=(LOOPBACK, 0),
            remote_bind_address=target,
            logger=_silent_logger(),
        )

    __repr__ = __str__ = object.__repr__  # the library's show the password

    def __del__(self) -> None:
        """End nothing: the library's waits, in a forked child for threads that it has not."""

    def start(self) -> Forwarder:
        """Return itself, connected, logged in and listening; SshTunnelError when that fails, and nothing stays open."""
        failure: AnalyticsError
        try:
            super().start()
            self.address: tuple[str, int] = self._server_list[0].local_address
            return self
        except AnalyticsError as error:
            failure = error
        except RuntimeError:
            failure = ThreadLimitError()
        except Exception as error:  # whatever the libraries make of what a server sends
            failure = _unreachable(error)
        self.close()
        raise failure

    def prepare(self) -> None:
        """Open a way to the target for the connection that comes next; SshTunnelError when there is none."""
        self._ready.append((time.monotonic(), self._way(self.address)))

    def open_channel(self, *, src_addr: tuple[str, int], **_same: Any) -> Channel:
        """Return a way that waits, or a new one, to the handler of a connection; it takes this for its transport."""
        with contextlib.suppress(IndexError):
            while True:
                opened_s, channel = self._ready.popleft()
                if time.monotonic() - opened_s < _FRESH_S and not channel.closed and not channel.eof_received:
                    return channel
                _end(channel.close)
        return self._way(src_addr)

    def close(self) -> None:
        """End all connections and threads; the SSH connection too, also one whose server hangs."""
        with self._guard:
            if hasattr(self, "_transport"):
                self._transport.close()
            for local in tuple(self.links):
                _end(local.shutdown, socket.SHUT_RDWR)
            if self.is_alive:
                self.stop(force=True)
            for server in self._server_list:  # one that got no thread
                server.server_close()

    def forget(self) -> None:
        """Close this process's copies of the sockets, in a forked child; the object must not be collected there."""
        for sock in (self._transport.sock, *(server.socket for server in self._server_list), *self.links):
            sock.close()

    def _get_transport(self) -> _Transport:
        transport = _Transport(_socket_to(self._addresses(self.ssh_host, self.ssh_port), self.ssh_port))
        transport.set_log_channel(self.logger.name)
        transport.set_keepalive(_KEEPALIVE_S)
        transport.banner_timeout = transport.auth_timeout = OPEN_TIMEOUT_S
        return transport

    def _make_ssh_forward_handler_class(self, remote_address: tuple[str, int]) -> type[_Handler]:
        facts = {"remote_address": remote_address, "ssh_transport": self, "logger": self.logger}
        return type("Handler", (_Handler,), facts)

    def _make_ssh_forward_server_class(self, _remote_address: tuple[str, int]) -> type[_Server]:
        return _Server

    def _way(self, origin: tuple[str, int]) -> Channel:
        code: int | None = None
        try:
            return self._transport.open_channel(
                "direct-tcpip", self._remote_binds[0], origin, timeout=CHANNEL_TIMEOUT_S
            )
        except ChannelException as error:
            code = error.code
        except (SSHException, OSError, EOFError):
            pass
        raise _no_way(code)


class _Transport(Transport):  # type: ignore[misc]  # untyped
    """An SSH connection that names what fails, and ends although its server hangs."""

    def connect(
        self, hostkey: PKey | None = None, username: str = "", password: str | None = None, pkey: PKey | None = None
    ) -> None:
        """Agree on keys, compare the server's with `hostkey` before anything secret is sent, and log in."""
        what = "password" if pkey is None else "private key"
        failure: SshTunnelError | None = None
        try:
            super().connect(hostkey, username, password, pkey)
            if self.is_active() and not self.is_authenticated():
                failure = _rejected(f"{what} alone")
        except AuthenticationException:
            failure = _rejected(what) if self.is_active() else hanging()
        except (SSHException, OSError, EOFError) as error:
            failure = _unknown_host_key() if "host key" in str(error) else _unreachable(error)
        if failure is not None:
            raise failure

    def close(self) -> None:
        """End it."""
        _end(self.sock.shutdown, socket.SHUT_RDWR)
        _end(super().close)
        self.sock.close()


class _Server(_ThreadingForwardServer):  # type: ignore[misc]  # untyped
    """Takes many connections at once, and waits when the process has no file left for one."""

    request_queue_size = 128

    def get_request(self) -> Any:
        """Return the next connection."""
        try:
            return super().get_request()
        except OSError:  # `serve_forever` asks again at once
            time.sleep(_PAUSE_S)
            raise


class _Handler(_ForwardHandler):  # type: ignore[misc]  # untyped
    """Carries what a driver sends, and in a second thread what comes back, until one of them ends.

    The library's own takes no file above 1023, and stops when both sides write more than the buffers hold.
    """

    def _redirect(self, channel: Channel) -> None:
        local, links = self.request, self.ssh_transport.links
        local.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        links.add(local)
        try:
            back = start_thread(
                _carry, channel.recv, local.sendall, partial(local.shutdown, socket.SHUT_WR), name="SSH tunnel"
            )
            _carry(local.recv, channel.sendall, channel.close)
            _end(local.shutdown, socket.SHUT_RDWR)
            back.join()
        finally:
            links.discard(local)


def _carry(read: Callable[[int], bytes], write: Callable[[bytes], object], end: Callable[[], object]) -> None:
    try:
        while data := read(_CHUNK):
            write(data)
    except (OSError, EOFError):  # either side is gone
        pass
    _end(end)


def _end(end: Callable[..., object], *args: Any) -> None:
    with contextlib.suppress(OSError, EOFError):  # it is gone already
        end(*args)


def _silent_logger() -> logging.Logger:
    silent = logging.getLogger("analytics_core tunnel")
    if not silent.handlers:
        silent.addHandler(logging.NullHandler())
    silent.propagate, silent.disabled = False, True
    return silent


def _private_key(plan: StoredTunnel) -> PKey:
    passphrase = plan.private_key_password
    try:
        return read_private_key(
            plan.private_key.reveal() if plan.private_key else "", passphrase.reveal() if passphrase else None
        )
    except KeyProblemError as error:
        problem = error
    raise SshTunnelError(
        f"cannot be logged in to: {problem.message}",
        reason="passphrase" if problem.field.endswith("password") else "private_key",
        error_type=ErrorType.CONNECTION_MISSING_PARAMETERS_ERROR,
    )


def _socket_to(addresses: Sequence[str], port: int) -> socket.socket:
    failure: OSError = OSError("no address")
    for address in addresses:
        try:
            opened = socket.create_connection((address, port), timeout=OPEN_TIMEOUT_S / len(addresses))
        except OSError as error:
            failure = error
            continue
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNHEARD_MS)
        return opened
    raise _unreachable(failure)


def _rejected(what: str) -> SshTunnelError:
    by_password = what.startswith("password")
    return SshTunnelError(
        f"does not accept the user name and {what}; check them, and that the user may log in there by it",
        reason="password" if by_password else "private_key",
        error_type=ErrorType.CONNECTION_INVALID_PASSWORD_ERROR
        if by_password
        else ErrorType.CONNECTION_ACCESS_DENIED_ERROR,
    )


def _unknown_host_key() -> SshTunnelError:
    return SshTunnelError(
        "does not show the key that is stored as host_key; nothing was sent to it. If its key was changed on purpose, "
        "store the new one",
        reason="host_key",
        error_type=ErrorType.CONNECTION_ACCESS_DENIED_ERROR,
    )


def hanging() -> SshTunnelError:
    """Return the error of a server that does not answer in time."""
    return SshTunnelError(
        "does not answer in time; check its address, and that it runs",
        reason="unreachable",
        error_type=ErrorType.CONNECTION_HOST_DOWN_ERROR,
        retryable=True,
    )


def _unreachable(error: Exception) -> SshTunnelError:
    if isinstance(error, ConnectionRefusedError):
        return SshTunnelError(
            "takes no connection on its port; check server_port, and that it runs",
            reason="unreachable",
            error_type=ErrorType.CONNECTION_PORT_CLOSED_ERROR,
        )
    if isinstance(error, TimeoutError):
        return hanging()
    return SshTunnelError(
        "cannot be reached, or speaks no SSH that is understood here; check server_address and server_port",
        reason="unreachable",
        error_type=ErrorType.CONNECTION_HOST_DOWN_ERROR,
    )


def _no_way(code: int | None) -> SshTunnelError:
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
