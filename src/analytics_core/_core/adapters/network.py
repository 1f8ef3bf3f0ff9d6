"""The default `NetworkPolicy`: addresses of the public internet, and what a host allows besides."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

from analytics_core._engine.network import is_host
from analytics_core._records.network import Destination
from analytics_core.errors import SettingsError

_Address = IPv4Address | IPv6Address
_Network = IPv4Network | IPv6Network

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""What is handed out of IPv6; the rest is local, multicast, or not in use."""

_NAT64: Final = IPv6Network("64:ff9b::/96")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_NEVER: Final[tuple[_Network, ...]] = (
    IPv6Network("2001::/23"),  # protocol assignments, Teredo among them, which carries an IPv4 address
    IPv6Network("3fff::/20"),  # documentation
    IPv4Network("192.0.0.0/24"),  # protocol assignments, the metadata service of a cloud among them
    IPv4Network("192.88.99.0/24"),  # relays of 6to4
    IPv4Network("168.63.129.16/32"),  # the platform behind virtual machines of a large cloud, by a public address
)
_LARGEST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of `Settings.allowed_networks`: a name or a network, and a port (None: all)."""

    name: str | None
    network: _Network | None
    port: int | None

    def covers(self, destination: Destination) -> bool:
        if self.port not in (None, destination.port):
            return False
        if self.network is None:
            return self.name == _folded(destination.host)
        return any(address in self.network for address in (destination.address, _unmapped(destination.address)))


class PublicNetworkPolicy:
    """Lets public addresses be reached, and what `allowed` names.

    Private, loopback, link-local, shared, multicast, reserved and unspecified addresses are not public, in whichever
    form they are written: mapped into IPv6, behind NAT64 or 6to4.

    Args:
        allowed: networks, addresses and host names, with or without a port: `10.1.0.0/16`, `10.1.2.3:5432`,
            `[fd12::1]:5432`, `db.internal:5432`. A name is allowed wherever it leads.

    Raises:
        SettingsError: an entry that is none of these.
    """

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._allowed = tuple(map(_read, allowed))

    def may_reach(self, destination: Destination) -> bool:
        """Tell whether a connection may lead there."""
        return any(entry.covers(destination) for entry in self._allowed) or _is_public(destination.address)


def _is_public(address: _Address) -> bool:
    if any(address in network for network in _NEVER):
        return False
    if isinstance(address, IPv4Address):
        return address.is_global and not (address.is_multicast or address.is_reserved)
    carried = _carried(address)
    if carried is not None:
        return _is_public(carried)
    return address.is_global and address in _GLOBAL_UNICAST and not address.is_multicast


def _carried(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for, None where it stands for itself."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in _SIX_TO_FOUR:
        return address.sixtofour
    return address.ipv4_mapped


def _unmapped(address: _Address) -> _Address:
    """Return the IPv4 address for its form in IPv6, which leads to the same place; else the address."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _folded(host: str) -> str:
    return host.casefold().rstrip(".")


def _read(entry: Any) -> _Entry:
    host, port = _parts(entry) if isinstance(entry, str) else ("", None)
    if port is None or 1 <= port <= _LARGEST_PORT:
        with suppress(ValueError):
            return _Entry(None, ip_network(host), port)
    else:
        host = ""
    if ":" in host or not is_host(host) or host.rpartition(".")[2].isdecimal():  # no address: it has too many digits
        raise SettingsError(
            f"Settings.allowed_networks holds {entry!r}; it takes networks, addresses and names of hosts, such as "
            "'10.1.0.0/16', '10.1.2.3:5432', '[fd12::1]:5432' or 'db.internal:5432'"
        )
    return _Entry(_folded(host), None, port)


def _parts(entry: str) -> tuple[str, int | None]:
    """Return host and port of an entry; an IPv6 address with a port stands in brackets."""
    with suppress(ValueError):
        return str(ip_address(entry)), None
    host, separator, port = entry.rpartition(":")
    if not separator or not port.isascii() or not port.isdigit():
        host, port = entry, ""
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, int(port) if port else None
