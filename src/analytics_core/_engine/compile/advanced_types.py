"""Advanced data types: what the numbers of a column stand for, such as internet addresses, and how people write it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from types import MappingProxyType
from typing import Final

from analytics_core.errors import SettingsError, nearest
from analytics_core.models.enums import FilterOperator

ALL_COMPARISONS = (
    FilterOperator.EQUALS,
    FilterOperator.NOT_EQUALS,
    FilterOperator.IN,
    FilterOperator.NOT_IN,
    FilterOperator.GREATER,
    FilterOperator.GREATER_OR_EQUAL,
    FilterOperator.LESS,
    FilterOperator.LESS_OR_EQUAL,
)


@dataclass(frozen=True, slots=True)
class Span:
    """The numbers from `first` to `last`, both included."""

    first: int
    last: int

    @property
    def is_single(self) -> bool:
        """Whether it holds one number only."""
        return self.first == self.last

    def __str__(self) -> str:
        return str(self.first) if self.is_single else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvancedDataType:
    """One advanced data type; a dataset's column names it in `advanced_data_type`.

    Args:
        name: what columns and callers call it.
        read: returns the numbers that a text means; ValueError, with a message for people, when it means none.
        show: returns how people write a range of numbers.
        operators: the filter operators that make sense for it.
    """

    name: str
    read: Callable[[str], tuple[Span, ...]]
    show: Callable[[Span], str]
    operators: tuple[FilterOperator, ...] = ALL_COMPARISONS


def number_span(text: str, *, largest: int) -> Span | None:
    """Return the range of `8000` or `8000-8010`; None when the text is not written so.

    Raises:
        ValueError: a number beyond `largest`, or a range that ends before it begins.
    """
    first, dash, last = (part.strip() for part in text.partition("-"))
    if not is_number(first) or (dash and not is_number(last)):
        return None
    span = Span(int(first), int(last) if dash else int(first))
    return checked_span(span, text=text, largest=largest)


def checked_span(span: Span, *, text: str, largest: int) -> Span:
    """Return a range that lies within 0 and `largest` and does not run backwards; ValueError otherwise."""
    if span.last > largest:
        raise ValueError(f"{text!r} is beyond {largest}")
    if span.first > span.last:
        raise ValueError(f"{text!r} ends before it begins")
    return span


def is_number(text: str) -> bool:
    """Tell whether a text is a whole number of ordinary digits, of a length that can be read quickly."""
    return text.isascii() and text.isdigit() and len(text) <= 40


_LARGEST_PORT = 65_535

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
    numbers = number_span(text, largest=_LARGEST_PORT)
    if numbers is not None:
        return (numbers,)
    name = text.strip().casefold()
    if name in _SERVICES:
        return tuple(Span(port, port) for port in _SERVICES[name])
    close = nearest(name[:100], _SERVICES)
    hint = f"did you mean {close[0]!r}?" if close else "write 443, 8000-8010 or the name of a service such as https"
    raise ValueError(f"{text[:100]!r} is no port; {hint}")


PORT = AdvancedDataType(name="port", read=read_ports, show=str)


_LARGEST_ADDRESS = 2**128 - 1
_LARGEST_V4 = 2**32 - 1
_LONGEST_TEXT = 200


def read_addresses(text: str) -> tuple[Span, ...]:
    """Return the numbers of an address, a network (CIDR), a range of addresses, or of the numbers themselves.

    Raises:
        ValueError: the text is none of these.
    """
    numbers = number_span(text, largest=_LARGEST_ADDRESS)
    if numbers is not None:
        return (numbers,)
    try:
        return (_span(text.strip()),)
    except _NoAddressError:
        raise ValueError(
            f"{_shortened(text)!r} is no internet address; write 10.0.0.1, 10.0.0.0/8, 10.0.0.1-10.0.0.9 or 2001:db8::1"
        ) from None


class _NoAddressError(Exception):
    """A text that is no address."""


def _span(text: str) -> Span:
    if "/" in text:
        return _network(text)
    first, dash, last = (part.strip() for part in text.partition("-"))
    begin = _address(first)
    end = _address(last) if dash else begin
    if begin.version != end.version:
        raise ValueError(f"{_shortened(text)!r} runs from one version of addresses to the other")
    return checked_span(Span(int(begin), int(end)), text=text, largest=_LARGEST_ADDRESS)


def _network(text: str) -> Span:
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise _NoAddressError from None
    return Span(int(network.network_address), int(network.broadcast_address))


def _address(text: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address(text)
    except ValueError:
        raise _NoAddressError from None


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def show_addresses(span: Span) -> str:
    """Return a range of numbers as addresses; numbers that fit IPv4 are shown as such."""
    kind = IPv4Address if span.last <= _LARGEST_V4 else IPv6Address
    return str(kind(span.first)) if span.is_single else f"{kind(span.first)}-{kind(span.last)}"


INTERNET_ADDRESS = AdvancedDataType(name="internet_address", read=read_addresses, show=show_addresses)


ENTRY_POINTS = "analytics_core.advanced_data_types"
"""The group of entry points by which a package adds types: each names one `AdvancedDataType`."""


def installed_advanced_types(entries: Iterable[EntryPoint]) -> Mapping[str, AdvancedDataType]:
    """Return all types by name; a package's own goes before the built-in one of the same name.

    Args:
        entries: the entry points of the group.

    Raises:
        SettingsError: an entry point cannot be loaded or names something else than an `AdvancedDataType`.
    """
    added = (_loaded(entry) for entry in entries)
    return MappingProxyType({kind.name: kind for kind in (INTERNET_ADDRESS, PORT, *added)})


def _loaded(entry: EntryPoint) -> AdvancedDataType:
    try:
        kind = entry.load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} cannot be loaded") from error
    if not isinstance(kind, AdvancedDataType):
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} must name an AdvancedDataType")
    return kind
