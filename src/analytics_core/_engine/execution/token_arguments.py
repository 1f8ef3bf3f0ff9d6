"""What comes into the arguments of a driver beside the URI: the token of a user, and secret options of `extra`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import sqlalchemy as sa

from analytics_core._engine.engines.spec import EngineSpec, TokenWrapper, UserToken
from analytics_core._engine.execution.sessions.opening import BeforeConnect
from analytics_core._records.datasource import Database
from analytics_core._records.secret import Secret
from analytics_core.errors import ConnectionUriError, StoredDataError

Load = Callable[[str], Any]
"""Imports a package of a driver, which is there where the driver is."""


def required_token(spec: EngineSpec) -> UserToken:
    """Return how tokens reach the driver of an engine; ConnectionUriError where it takes none."""
    if spec.user_token is None:
        raise ConnectionUriError(
            f"{spec.label} takes no OAuth 2.0 tokens of its users; leave its client out of extra (oauth2_client_info) "
            "and of Settings.oauth2_clients",
            engine=spec.name,
        )
    return spec.user_token


def giving_token(spec: EngineSpec, url: sa.URL, token: Secret, *, load: Load = import_module) -> BeforeConnect:
    """Return the step that puts a token into the arguments of each new connection; it belongs after all others."""
    how = required_token(spec)

    def give(named: dict[str, Any]) -> None:
        for name in how.replaces:
            named.pop(name, None)
        named.update(how.beside)
        made: Any = token.reveal()
        for wrapper in how.wrappers:
            made = _wrapped(made, wrapper, url, load)
        named[how.argument] = made

    return give


def secret_arguments(database: Database, spec: EngineSpec) -> Mapping[str, Any]:
    """Return the secret options that the dialect of a database takes; StoredDataError where nobody can read them."""
    if database.secret_extra is None or not spec.secret_options:
        return {}
    secrets = stored_secrets(database)
    return {name: secrets[name] for name in spec.secret_options if name in secrets}


def stored_secrets(database: Database) -> dict[str, Any]:
    """Return the secret options of a database; StoredDataError where nobody can read them."""
    text = "{}" if database.secret_extra is None else database.secret_extra.reveal()
    try:
        secrets = json.loads(text)
    except (ValueError, RecursionError):
        secrets = None
    if isinstance(secrets, dict):
        return secrets
    raise StoredDataError(f"the secret options of database {database.database_name!r} cannot be read; give them again")


def _wrapped(made: Any, wrapper: TokenWrapper, url: sa.URL, load: Load) -> Any:
    module, _, name = wrapper.path.partition(":")
    named = {} if wrapper.host_as is None else {wrapper.host_as: url.host}
    make = getattr(load(module), name)
    return make(made, **named) if wrapper.argument is None else make(**{wrapper.argument: made}, **named)
