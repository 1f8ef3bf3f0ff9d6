"""From the name of a host to the addresses that the network policy allows: all that payloads lead to comes by here."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import ip_address
from typing import Final

from analytics_core._records.network import Destination, DestinationPurpose
from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core._tools.log import line_log
from analytics_core.errors import AnalyticsError, DatabaseError, ErrorType
from analytics_core.ports import NetworkPolicy

_LOG = line_log(__name__)

LOOKUP_TIMEOUT_S: Final = 10.0
"""What finding and checking the addresses of a name may take."""

_NAME: Final = re.compile(r"[\w.-]{1,253}")

Lookup = Callable[[str, int | None], Iterable[str]]
"""Gives the addresses that a host name and port stand for; OSError or ValueError where there are none."""


def is_host(text: str) -> bool:
    """Tell whether a text can be one host: a name, or an address without brackets; no list, path, scope or escape."""
    if _NAME.fullmatch(text):
        return True
    try:
        return "%" not in text and str(ip_address(text)) != ""
    except ValueError:
        return False


def system_lookup(host: str, port: int | None) -> Sequence[str]:
    """Return the addresses that the system knows for a host, each once, in its order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return tuple(dict.fromkeys(str(place[0]) for *_, place in found))


class AddressFinder:
    """Finds the addresses of hosts to which the network policy lets connections lead; any thread may use it.

    Whoever connects must use what it returns, not the name again: a name may lead elsewhere a moment later.

    Args:
        policy: says of each address whether it may be reached; one that raises allows nothing.
        lookup: knows the addresses of names.
        timeout_s: what the lookup and the policy may take together, in seconds.
        advice: what a refusal says besides.
    """

    def __init__(
        self,
        policy: NetworkPolicy,
        *,
        lookup: Lookup = system_lookup,
        timeout_s: float = LOOKUP_TIMEOUT_S,
        advice: str = "",
    ) -> None:
        self._policy = policy
        self._lookup = lookup
        self._timeout_s = timeout_s
        self._advice = advice
        self._calls = BoundedCalls("finding addresses")

    def find(
        self, host: str, port: int | None, *, purpose: DestinationPurpose, must_allow_all: bool = False
    ) -> tuple[str, ...]:
        """Return the addresses of `host` that connections may lead to, at least one, in the order of the lookup.

        With `must_allow_all`, for clients that look the name up themselves, one address that is not allowed is a
        refusal.

        Raises:
            DatabaseError: CONNECTION_ACCESS_DENIED_ERROR where the policy refuses, CONNECTION_INVALID_HOSTNAME_ERROR
                for a name that leads nowhere, CONNECTION_HOST_DOWN_ERROR where that cannot be told in time.
            ThreadLimitError: the system gives no thread to look the name up.
        """
        if not is_host(host):
            raise _no_such_host(host)
        pending = self._calls.start(lambda: [*self._destinations(host, port, purpose)])
        if not pending.wait(self._timeout_s):
            pending.abandon(lambda _late: None)
            raise DatabaseError(
                f"the addresses of the host {host[:_LONGEST]} could not be found within {self._timeout_s:g} seconds",
                error_type=ErrorType.CONNECTION_HOST_DOWN_ERROR,
                extra={"host": host},
            )
        allowed = [str(destination.address) for destination, is_allowed in pending.result() if is_allowed]
        if not allowed or (must_allow_all and len(allowed) < len(pending.result())):
            raise _refused(host, port, self._advice)
        return tuple(allowed)

    def close(self) -> None:
        """Let the threads without work go; the object may be used again."""
        self._calls.close()

    def _destinations(
        self, host: str, port: int | None, purpose: DestinationPurpose
    ) -> Iterator[tuple[Destination, bool]]:
        try:
            addresses = [ip_address(address) for address in self._lookup(host, port)]
        except (OSError, ValueError):  # ValueError: a name that no name server could know
            addresses = []
        if not addresses:
            raise _no_such_host(host)
        for address in addresses:
            destination = Destination(purpose=purpose, host=host, address=address, port=port)
            yield destination, self._allows(destination)

    def _allows(self, destination: Destination) -> bool:
        try:
            return self._policy.may_reach(destination) is True
        except AnalyticsError:
            raise
        except Exception as error:  # border: a host's own code, whose failure must not open the network
            _LOG.warning("the network policy failed (%s); nothing is reached", type(error).__name__)
            return False


_LONGEST: Final = 120


def _no_such_host(host: str) -> DatabaseError:
    return DatabaseError(
        f"the host name {host[:_LONGEST]} cannot be found",
        error_type=ErrorType.CONNECTION_INVALID_HOSTNAME_ERROR,
        extra={"host": host[:_LONGEST]},
    )


def _refused(host: str, port: int | None, advice: str) -> DatabaseError:
    place = host[:_LONGEST] if port is None else f"{host[:_LONGEST]}, port {port},"
    return DatabaseError(
        f"the network policy does not let {place} be reached{advice}",
        error_type=ErrorType.CONNECTION_ACCESS_DENIED_ERROR,
        extra={"host": host[:_LONGEST]},
        retryable=False,
    )
