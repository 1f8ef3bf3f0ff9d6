"""Our registrations at the providers that guard databases."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from analytics_core._records.datasource import Database
from analytics_core.errors import OAuth2Error, PayloadError, Problem
from analytics_core.models.database import OAuth2Client
from analytics_core.models.parsing import parse

ClientOf: TypeAlias = Callable[[Database], OAuth2Client | None]
"""Finds the registration that a database is reached with; None: the account of its URI is enough."""

CLIENT_KEY = "oauth2_client_info"


def client_of_database(database: Database, clients: Mapping[str, OAuth2Client]) -> OAuth2Client | None:
    """Return the client of a database: the one in its secret options, else the one of its name or of its engine.

    Raises:
        OAuth2Error: the database's own client breaks the shape.
        StoredDataError: the secret options do not open.
    """
    own = _own_client(database)
    return own or clients.get(database.database_name) or clients.get(database.engine)


def client_digest(client: OAuth2Client, database: Database) -> str:
    """Return what tokens and authorizations remember of the client, and of the server, that they were given for.

    It changes with the client's id and with where tokens are renewed: a refresh token never goes elsewhere. And it
    changes with the URI but for user and password: the server that a database is led to later is shown none of them.
    """
    uri = _CREDENTIALS.sub("://", database.uri.reveal(), count=1)
    text = json.dumps([client.id, client.token_request_uri, uri], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


_CREDENTIALS: Final = re.compile(r"://(?:[^:/@]*(?::[^@]*)?@)?")


PLAIN_ADDRESS: Final = re.compile(r"[!-\[\]-~]{1,2000}")
"""Printable ASCII without blanks and without the backslash, which some clients read as a slash."""


def provider_address(uri: str, http_hosts: Collection[str]) -> SplitResult | None:
    """Return the parts of a provider's address; None unless it is https, or http on one of these hosts.

    It names a host, and no user and no fragment.
    """
    parts = web_address(uri)
    return parts if parts is not None and (parts.scheme == "https" or parts.hostname in http_hosts) else None


def web_address(uri: str) -> SplitResult | None:
    """Return the parts of an http or https address that names a host, no user and no fragment; None for all else."""
    try:
        parts = urlsplit(uri) if PLAIN_ADDRESS.fullmatch(uri) else None
        if parts is None or not parts.hostname or parts.port == 0 or parts.scheme not in ("http", "https"):
            return None
    except ValueError:
        return None
    return parts if "@" not in parts.netloc and "#" not in uri else None


def client_problems(client: OAuth2Client) -> tuple[Problem, ...]:
    """Return what keeps a client from being used by anybody."""
    addresses = ("authorization_request_uri", "token_request_uri", *(["redirect_uri"] if client.redirect_uri else ()))
    wrong = [name for name in addresses if web_address(getattr(client, name)) is None]
    problems = [Problem(path=name, message="must be an address such as https://host/path") for name in wrong]
    if not client.id:
        problems.append(Problem(path="id", message="must be what the provider calls us, not empty"))
    return tuple(problems)


def _own_client(database: Database) -> OAuth2Client | None:
    if database.secret_extra is None:
        return None
    try:
        options = json.loads(database.secret_extra.reveal())
        stored = options.get(CLIENT_KEY)
        return None if stored is None else parse(OAuth2Client, stored, shape=CLIENT_KEY)
    except PayloadError as error:
        problem = error.message
    except (ValueError, AttributeError, RecursionError):  # its text may hold the secret
        problem = "it is no JSON object"
    raise OAuth2Error(f"the OAuth 2.0 client of database {database.database_name!r} cannot be used: {problem}")
