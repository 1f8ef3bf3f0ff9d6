"""Connection URIs: read, masked, and merged with the stored one when a mask comes back (SECURITY.md 3.11, 3.12)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from analytics_core._records.secret import MASK, Secret
from analytics_core.errors import ConnectionUriError

LONGEST_URI = 4_096
_SECRET_NAME = re.compile(
    r"pass|pwd|secret|token|key|credential|auth|signature|private|sas|jwt|bearer|cookie", re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHAPE = "engine://user:password@host:port/database"


def parse_uri(uri: str | Secret) -> sa.URL:
    """Return the parts of a URI.

    Raises:
        ConnectionUriError: it is malformed; the URI is not repeated.
    """
    text = uri.reveal() if isinstance(uri, Secret) else uri
    url = _read(text)
    if url is None:
        raise ConnectionUriError(f"the connection URI cannot be read; it looks like {_SHAPE}")
    # The rest of a password with a bare '@' or '/' would be shown as part of host or database.
    if url.host and "@" in f"{url.host}{url.database or ''}":
        raise ConnectionUriError(
            "the connection URI has a second '@'; inside user name or password write it as %40, and '/' as %2F"
        )
    return url


def _read(text: str) -> sa.URL | None:
    if not text or len(text) > LONGEST_URI or _CONTROL.search(text):
        return None
    try:
        return sa.make_url(text)
    except (ArgumentError, ValueError):  # ValueError: a port that is no number
        return None


def masked(uri: str | Secret) -> str:
    """Return the URI with its password and secret-looking query values masked; a malformed URI is all mask."""
    try:
        url = parse_uri(uri)
    except ConnectionUriError:
        return MASK
    if url.password is not None:
        url = url.set(password=MASK)
    query = {name: MASK if is_secret_name(name) else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=False)


def is_secret_name(name: str) -> bool:
    """Whether an option of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def mask_options(options: Any) -> Any:
    """Return options (JSON values) with the values of secret-looking names masked, at any depth."""
    if isinstance(options, Mapping):
        return {name: MASK if is_secret_name(str(name)) else mask_options(value) for name, value in options.items()}
    return [mask_options(item) for item in options] if isinstance(options, list | tuple) else options


def merge_masked(new_uri: str, stored: Secret) -> Secret:
    """Return the URI to store: `new_uri`, with masks in it replaced by what is stored.

    Stored secrets are used again only for the same engine, user, host, port and options: otherwise whoever edits a
    connection could have the password sent to a server of their own.

    Raises:
        ConnectionUriError: the URI is malformed, or a mask comes with another server or other options.
    """
    new = parse_uri(new_uri)
    masked_names = [name for name, value in new.query.items() if value == MASK]
    if new.password != MASK and not masked_names:
        return Secret(new_uri)
    old = parse_uri(stored)
    known_names = all(is_secret_name(name) and name in old.query for name in masked_names)
    if not known_names or _server(new) != _server(old):
        raise ConnectionUriError("the server or its options changed: give the password again")
    merged = new.set(query={name: old.query[name] if name in masked_names else v for name, v in new.query.items()})
    if new.password == MASK:
        merged = merged.set(password=old.password)
    return Secret(merged.render_as_string(hide_password=False))


def _server(url: sa.URL) -> tuple[Any, ...]:
    options = frozenset((name, value) for name, value in url.query.items() if not is_secret_name(name))
    return (url.drivername.casefold(), url.username, (url.host or "").casefold(), url.port, options)
