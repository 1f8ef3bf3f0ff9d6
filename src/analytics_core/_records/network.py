"""Where a connection of ours would lead, for the network policy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address


class DestinationPurpose(StrEnum):
    """What a connection to another machine is for."""

    DATABASE = "database"
    TUNNEL = "tunnel"
    TOKEN_ENDPOINT = "token endpoint"  # noqa: S105 - a name, not a secret
    WEB_HOOK = "web hook"
    MAIL = "mail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One address that a connection would lead to; a host has as many destinations as its name has addresses.

    Attributes:
        purpose: what the connection is for.
        host: as it was named: a name or an address in any spelling, without brackets.
        address: what the host resolves to.
        port: None where the driver has one of its own.
    """

    purpose: DestinationPurpose
    host: str
    address: IPv4Address | IPv6Address
    port: int | None
