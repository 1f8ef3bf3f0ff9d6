"""SSH tunnels: opened on first use, shared by all connections of a database, opened again when they drop."""

from __future__ import annotations

import contextlib
import hmac
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from analytics_core._bounded_calls import BoundedCalls
from analytics_core._execution.forwarder import CHANNEL_TIMEOUT_S, LOOPBACK, Forwarder, end_transport
from analytics_core._execution.sessions.opening import ADDRESSES
from analytics_core._execution.ssh_keys import KeyProblemError, read_host_key, read_private_key
from analytics_core._forks import forkable_lock, tell_of_forks
from analytics_core._records.ssh_tunnel import StoredTunnel
from analytics_core.errors import ErrorType, SshTunnelError

if TYPE_CHECKING:
    from paramiko import Transport

OPEN_TIMEOUT_S: Final = 10.0
"""What opening a tunnel may take in all: name, connection, keys and log-in."""

_KEEPALIVE_S: Final = 15
_UNHEARD_MS: Final = 30_000
"""How long what was sent may stay without a sign that it arrived."""

_LOG_NAME: Final = "analytics_core tunnel"
_RSA_SIGNATURES: Final = ("rsa-sha2-512", "rsa-sha2-256")

AddressLookup = Callable[[str, int], Sequence[str]]
"""Gives the addresses of an SSH server that may be reached; typed errors pass through."""


class Tunnel:
    """The way to one database behind an SSH server, for all of its pools; any thread may use it.

    Args:
        plan: server, credentials and pinned key.
        target: host and port of the database, as the SSH server sees them.
        addresses: finds those of the SSH server.
    """

    def __init__(self, plan: StoredTunnel, target: tuple[str, int], *, addresses: AddressLookup) -> None:
        self.plan = plan
        self.target = target
        self._addresses = addresses
        self._turn = forkable_lock()
        self._forwarder: Forwarder | None = None
        self._is_closed = False
        self._calls = BoundedCalls("SSH tunnel")
        self._of_the_parent: list[Any] = []
        tell_of_forks(self)

    def lead(self, named: dict[str, Any]) -> None:
        """Have a driver's new connection go through the tunnel (a `BeforeConnect`); TLS still verifies the host.

        Raises:
            SshTunnelError: the tunnel cannot be opened, or does not lead to the database.
        """
        forwarder = self._ready_forwarder()
        named[ADDRESSES], named["port"] = LOOPBACK, forwarder.port

    def close(self) -> None:
        """End the tunnel for good, and the connections in it."""
        self._is_closed = True
        forwarder, self._forwarder = self._forwarder, None
        if forwarder is not None:
            forwarder.close()
        self._calls.close()

    def before_fork(self) -> None:
        """Go on: the child gives up its copies."""

    def after_fork(self) -> None:
        """Open a tunnel of one's own when it is needed; the parent's goes on in the parent."""
        if self._forwarder is not None:
            self._of_the_parent.append(self._forwarder.forget())
        self._forwarder = None

    def _ready_forwarder(self) -> Forwarder:
        """Return an open forwarder with a way that waits; one that turns out to be lost is replaced, once."""
        forwarder = self._opened()
        failure = self._prepared(forwarder)
        if failure is not None and failure.reason == "lost":
            forwarder.close()
            forwarder = self._opened()
            failure = self._prepared(forwarder)
        if failure is not None:
            raise failure
        return forwarder

    def _prepared(self, forwarder: Forwarder) -> SshTunnelError | None:
        pending = self._calls.start(forwarder.prepare)
        if not pending.wait(CHANNEL_TIMEOUT_S + 1):
            pending.abandon(lambda _none: None)
            forwarder.close()
            return _hanging()
        try:
            pending.result()
        except SshTunnelError as error:
            return error
        return None

    def _opened(self) -> Forwarder:
        with self._one_at_a_time():
            forwarder = self._forwarder
            if forwarder is None or not forwarder.is_open:
                if forwarder is not None:
                    forwarder.close()
                self._reject_closed()
                forwarder = self._forwarder = self._open_in_time()
            if self._is_closed:
                forwarder.close()
        self._reject_closed()
        return forwarder

    @contextlib.contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        if not self._turn.acquire(timeout=OPEN_TIMEOUT_S):
            raise _hanging()
        try:
            yield
        finally:
            self._turn.release()

    def _open_in_time(self) -> Forwarder:
        pending = self._calls.start(lambda: open_forwarder(self.plan, self.target, self._addresses))
        if pending.wait(OPEN_TIMEOUT_S):
            return pending.result()
        pending.abandon(lambda late: late.close() if late is not None else None)
        raise _hanging()

    def _reject_closed(self) -> None:
        if self._is_closed:
            raise SshTunnelError(
                "was closed, since its database was changed or closed; ask again",
                reason="closed",
                error_type=ErrorType.CONNECTION_HOST_DOWN_ERROR,
                retryable=True,
            )


def open_forwarder(plan: StoredTunnel, target: tuple[str, int], addresses: AddressLookup) -> Forwarder:
    """Connect to the SSH server of a tunnel, check its key, log in and return what forwards to the target.

    Raises:
        SshTunnelError: whatever prevents it; nothing stays open.
    """
    from paramiko import SSHException

    failure: SshTunnelError | None = None
    transport: Transport | None = None
    try:
        transport = _transport(plan, addresses)
        failure = _proof_failure(plan, transport) or _login_failure(plan, transport)
        if failure is None:
            forwarder, transport = Forwarder(transport, target), None
            return forwarder
    except SshTunnelError as error:
        failure = error
    except (SSHException, OSError, EOFError) as error:
        failure = _unreachable(error)
    finally:
        if transport is not None:  # whatever happened, no thread for the forwarder or an interruption too
            end_transport(transport)
    raise failure


def _transport(plan: StoredTunnel, addresses: AddressLookup) -> Transport:
    from paramiko import Transport

    opened = _socket_to(addresses(plan.server_address, plan.server_port), plan.server_port)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNHEARD_MS)
    transport = Transport(opened)
    silent = logging.getLogger(_LOG_NAME)
    if not silent.handlers:
        silent.addHandler(logging.NullHandler())
    silent.propagate, silent.disabled = False, True
    transport.set_log_channel(_LOG_NAME)
    transport.banner_timeout = transport.auth_timeout = OPEN_TIMEOUT_S
    return transport


def _socket_to(addresses: Sequence[str], port: int) -> socket.socket:
    failure: OSError = OSError("no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout=OPEN_TIMEOUT_S / len(addresses))
        except OSError as error:
            failure = error
    raise failure


def _proof_failure(plan: StoredTunnel, transport: Transport) -> SshTunnelError | None:
    """Agree on keys with the server; return what is wrong with the one it shows, before anything secret is sent."""
    from paramiko.ssh_exception import IncompatiblePeer

    pinned = None if plan.host_key is None else read_host_key(plan.host_key)
    if pinned is not None:
        name = pinned.get_name()
        transport.get_security_options().key_types = _RSA_SIGNATURES if name == "ssh-rsa" else (name,)
    try:
        transport.start_client(timeout=OPEN_TIMEOUT_S)
    except IncompatiblePeer as error:
        if "host key" not in str(error):
            raise
        return _unknown_host_key()
    shown = transport.get_remote_server_key().asbytes()
    if pinned is not None and not hmac.compare_digest(shown, pinned.asbytes()):
        return _unknown_host_key()
    return None


def _login_failure(plan: StoredTunnel, transport: Transport) -> SshTunnelError | None:
    from paramiko import AuthenticationException

    what = "password" if plan.password is not None else "private key"
    try:
        if plan.password is not None:
            further = transport.auth_password(plan.username, plan.password.reveal())
        else:
            passphrase = plan.private_key_password
            key = read_private_key(
                plan.private_key.reveal() if plan.private_key else "", passphrase.reveal() if passphrase else None
            )
            further = transport.auth_publickey(plan.username, key)
    except KeyProblemError as problem:
        return SshTunnelError(
            f"cannot be logged in to: {problem.message}",
            reason="passphrase" if problem.field.endswith("password") else "private_key",
            error_type=ErrorType.CONNECTION_MISSING_PARAMETERS_ERROR,
        )
    except AuthenticationException:
        further = [] if transport.is_active() else None
        if further is None:
            return _hanging()
        return _rejected(what)
    if further:
        return _rejected(f"{what} alone")
    transport.set_keepalive(_KEEPALIVE_S)
    return None


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


def _hanging() -> SshTunnelError:
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
        return _hanging()
    return SshTunnelError(
        "cannot be reached, or speaks no SSH that is understood here; check server_address and server_port",
        reason="unreachable",
        error_type=ErrorType.CONNECTION_HOST_DOWN_ERROR,
    )
