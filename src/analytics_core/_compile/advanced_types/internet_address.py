"""Internet addresses (IPv4 and IPv6) kept as numbers; `10.0.0.0/8` means the whole network."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from analytics_core._compile.advanced_types.base import AdvancedDataType, Span, checked_span, number_span

_LARGEST = 2**128 - 1
_LARGEST_V4 = 2**32 - 1
_LONGEST_TEXT = 200


def read_addresses(text: str) -> tuple[Span, ...]:
    """Return the numbers of an address, a network (CIDR), a range of addresses, or of the numbers themselves.

    Raises:
        ValueError: the text is none of these.
    """
    numbers = number_span(text, largest=_LARGEST)
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
    return checked_span(Span(int(begin), int(end)), text=text, largest=_LARGEST)


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
