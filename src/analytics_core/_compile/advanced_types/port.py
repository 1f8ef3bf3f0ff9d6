"""Ports of internet services: numbers, ranges, and the names of well-known services."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from analytics_core._compile.advanced_types.base import AdvancedDataType, Span, number_span
from analytics_core.errors import nearest

_LARGEST = 65_535

_SERVICES: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "ftp": (20, 21),
        "ssh": (22,),
        "telnet": (23,),
        "smtp": (25,),
        "dns": (53,),
        "dhcp": (67, 68),
        "tftp": (69,),
        "http": (80,),
        "kerberos": (88,),
        "pop3": (110,),
        "ntp": (123,),
        "netbios": (137, 138, 139),
        "imap": (143,),
        "snmp": (161, 162),
        "bgp": (179,),
        "irc": (194,),
        "ldap": (389,),
        "https": (443,),
        "smb": (445,),
        "smtps": (465,),
        "syslog": (514,),
        "submission": (587,),
        "ldaps": (636,),
        "ftps": (989, 990),
        "imaps": (993,),
        "pop3s": (995,),
        "mssql": (1433,),
        "oracle": (1521,),
        "nfs": (2049,),
        "mysql": (3306,),
        "rdp": (3389,),
        "sip": (5060, 5061),
        "postgresql": (5432,),
        "amqp": (5672,),
        "vnc": (5900,),
        "redis": (6379,),
        "mongodb": (27017,),
    }
)
"""Services by name, as the register of service names assigns them."""


def read_ports(text: str) -> tuple[Span, ...]:
    """Return the ports of a number, a range such as `8000-8010`, or the name of a service; ValueError otherwise."""
    numbers = number_span(text, largest=_LARGEST)
    if numbers is not None:
        return (numbers,)
    name = text.strip().casefold()
    if name in _SERVICES:
        return tuple(Span(port, port) for port in _SERVICES[name])
    close = nearest(name[:100], _SERVICES)
    hint = f"did you mean {close[0]!r}?" if close else "write 443, 8000-8010 or the name of a service such as https"
    raise ValueError(f"{text[:100]!r} is no port; {hint}")


PORT = AdvancedDataType(name="port", read=read_ports, show=str)
