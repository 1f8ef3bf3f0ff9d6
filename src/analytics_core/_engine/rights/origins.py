"""The origins of pages that bring guests, or that people come back to from a provider."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

_LONGEST_ORIGIN: Final = 300
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_HOST: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_BRACKETED: Final = re.compile(r"\[[0-9A-Fa-f:.]+\](?::[0-9]+)?")
"""An address of IPv6 and perhaps a port; some parsers pass over what else stands behind the bracket."""

_PLAIN: Final = re.compile(r"[!-\[\]-~]+")
"""Printable ASCII without blanks and without the backslash, which some clients read as a slash."""


def read_origin(text: object) -> str | None:
    """Return an origin in its one spelling, for example `https://shop.example`; None for what is no origin.

    An origin is http or https, a host and perhaps a port: no user, path, query, fragment or wildcard.
    """
    if not isinstance(text, str) or len(text) > _LONGEST_ORIGIN or not _PLAIN.fullmatch(text):
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname or ""
    extra = parts.path not in ("", "/") or "?" in text or "#" in text or "@" in text or parts.netloc.endswith(":")
    if parts.scheme not in _DEFAULT_PORTS or extra or not _is_host(host, parts.netloc):
        return None
    address = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{address}" + ("" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}")


def allows_origin(allowed: tuple[str, ...], origin: str | None) -> bool:
    """Tell whether a page of this origin may show what `allowed` guards; an empty list allows every page."""
    if not allowed:
        return True
    asking = read_origin(origin) if origin is not None else None
    return asking is not None and asking in {read_origin(domain) for domain in allowed}


def _is_host(host: str, netloc: str) -> bool:
    if netloc.startswith("["):
        return ":" in host and _BRACKETED.fullmatch(netloc) is not None
    return _HOST.fullmatch(host) is not None
