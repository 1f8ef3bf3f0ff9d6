"""SSH tunnels: opened on first use, shared by all connections of a database, opened again when they drop.

It loads paramiko; import it where there is a tunnel.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from analytics_core._engine.execution.forwarder import (
    CHANNEL_TIMEOUT_S,
    OPEN_TIMEOUT_S,
    AddressLookup,
    Forwarder,
    hanging,
)
from analytics_core._engine.execution.sessions.opening import ADDRESSES
from analytics_core._records.ssh_tunnel import StoredTunnel
from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core._tools.forks import forkable_lock, tell_of_forks
from analytics_core.errors import ErrorType, SshTunnelError


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
        self._of_the_parent: list[Forwarder] = []
        tell_of_forks(self)

    def lead(self, named: dict[str, Any]) -> None:
        """Have a driver's new connection go through the tunnel (a `BeforeConnect`); TLS still verifies the host.

        Raises:
            SshTunnelError: the tunnel cannot be opened, or does not lead to the database.
        """
        forwarder = self._ready_forwarder()
        named[ADDRESSES], named["port"] = forwarder.address

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
            self._forwarder.forget()
            self._of_the_parent.append(self._forwarder)
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
            return hanging()
        try:
            pending.result()
        except SshTunnelError as error:
            return error
        return None

    def _opened(self) -> Forwarder:
        with self._one_at_a_time():
            forwarder = self._forwarder
            if forwarder is None or not forwarder.is_active:
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
            raise hanging()
        try:
            yield
        finally:
            self._turn.release()

    def _open_in_time(self) -> Forwarder:
        pending = self._calls.start(Forwarder(self.plan, self.target, self._addresses).start)
        if pending.wait(OPEN_TIMEOUT_S):
            return pending.result()
        pending.abandon(lambda late: late.close() if late is not None else None)
        raise hanging()

    def _reject_closed(self) -> None:
        if self._is_closed:
            raise SshTunnelError(
                "was closed, since its database was changed or closed; ask again",
                reason="closed",
                error_type=ErrorType.CONNECTION_HOST_DOWN_ERROR,
                retryable=True,
            )
