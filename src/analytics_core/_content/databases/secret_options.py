"""The secrets in `extra` of a database: split off and sealed, masked when shown, kept where the mask comes back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connection_uri import CheckedUri, mask_options, parse_uri, server_of
from analytics_core._engine.execution.token_arguments import stored_secrets
from analytics_core._engine.oauth.clients import CLIENT_KEY, client_problems
from analytics_core._records.datasource import Database
from analytics_core._records.secret import Secret
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import AnalyticsError, ConnectionUriError, PayloadSchemaError, Problem
from analytics_core.models.database import OAuth2Client
from analytics_core.models.parsing import parse, payload_error

_SHAPE: Final = "database extra"
_CLIENTS_SECRET: Final = "secret"  # noqa: S105 - the name of a field
_SENT_TO: Final = ("id", "token_request_uri")
"""Whose secret it is, and where it is sent; a stored one goes nowhere else."""


def split_options(
    extra: str | None, checked: CheckedUri, *, stored: Database | None = None
) -> tuple[str | None, Secret | None]:
    """Return `extra` without its secrets, and these as JSON text; masks in it stand for what `stored` has.

    Secrets that nobody can read are not shown, and so not taken away by an `extra` without them.

    Raises:
        ConnectionUriError: another option holds what looks like a secret.
        PayloadSchemaError: an OAuth 2.0 client that breaks its shape, one for an engine that takes no tokens, or a mask
            for which nothing may be filled in.
    """
    options: dict[str, Any] = json.loads(extra) if extra else {}
    secrets = {name: value for name, value in options.items() if name in {CLIENT_KEY, *checked.spec.secret_options}}
    remaining = {name: value for name, value in options.items() if name not in secrets}
    if mask_options(remaining) != remaining or _holds_mask(remaining):
        known = " and ".join((CLIENT_KEY, *checked.spec.secret_options))
        raise ConnectionUriError(
            f"extra holds what looks like a secret; secrets belong into the connection URI, and of extra into {known}",
            engine=checked.spec.name,
        )
    if not secrets:
        return extra, None if stored is None or _readable(stored) is not None else stored_options(checked, stored)
    filled = {name: _filled(name, value, checked, stored) for name, value in secrets.items()}
    if CLIENT_KEY in filled:
        _check_client(filled[CLIENT_KEY], checked.spec)
    return (json.dumps(remaining) if remaining else None), Secret(json.dumps(filled))


def stored_options(checked: CheckedUri, stored: Database) -> Secret | None:
    """Return the secrets of a database whose `extra` an update does not name.

    Raises:
        PayloadSchemaError: the server changed, and the secrets would reach another one.
    """
    if stored.secret_extra is None or not is_elsewhere(checked, stored):
        return stored.secret_extra
    names = [name for name in stored_secrets(stored) if name != CLIENT_KEY]
    if names:
        raise _give_again(names[0], "the server or its options changed")
    if checked.spec.user_token is None:
        raise payload_error(_SHAPE, CLIENT_KEY, _takes_no_tokens(checked.spec))
    return stored.secret_extra


def masked_options(database: Database, *, of_clients: bool = True) -> str | None:
    """Return `extra` of a database with its secrets masked; `of_clients` shows clients but for theirs."""
    secrets = _readable(database)
    if not secrets:
        return database.extra
    displayed = {name: _masked(name, value) if of_clients else MASK for name, value in secrets.items()}
    return json.dumps({**json.loads(database.extra or "{}"), **displayed})


def _readable(database: Database) -> dict[str, Any] | None:
    """Return the secret options of a database; None where they do not open here: all else can still be read."""
    try:
        return stored_secrets(database)
    except AnalyticsError:
        return None


def is_elsewhere(checked: CheckedUri, stored: Database) -> bool:
    """Tell whether a URI leads elsewhere than that of a stored database, or as another account."""
    try:
        before = parse_uri(stored.uri)
    except AnalyticsError:  # nobody knows where it led
        return True
    return checked.spec.name != stored.engine or server_of(checked.url)[1:] != server_of(before)[1:]


def _masked(name: str, value: Any) -> Any:
    if name == CLIENT_KEY and isinstance(value, Mapping):
        return {**value, _CLIENTS_SECRET: MASK}
    return MASK


def _filled(name: str, value: Any, checked: CheckedUri, stored: Database | None) -> Any:
    """Return a secret option whose masks are replaced by what is stored."""
    if not _holds_mask(value):
        return value
    known = stored_secrets(stored).get(name) if stored is not None and stored.secret_extra is not None else None
    if known is None:
        raise _give_again(name, "nothing is stored for this mask")
    if name == CLIENT_KEY and isinstance(value, Mapping) and isinstance(known, Mapping):
        others = {key: own for key, own in value.items() if key != _CLIENTS_SECRET}
        if _holds_mask(others) or any(value.get(key) != known.get(key) for key in _SENT_TO):
            raise _give_again(f"{name}.{_CLIENTS_SECRET}", "the client or its token_request_uri changed")
        return {**value, _CLIENTS_SECRET: known.get(_CLIENTS_SECRET)}
    if value != MASK:
        raise _give_again(name, "a mask stands for the whole option")
    assert stored is not None  # noqa: S101 - something was found in it; tells the type checker
    if is_elsewhere(checked, stored):
        raise _give_again(name, "the server or its options changed")
    return known


def _holds_mask(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_mask, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_mask, value))
    return bool(value == MASK)


def _check_client(value: Any, spec: EngineSpec) -> None:
    if spec.user_token is None:
        raise payload_error(_SHAPE, CLIENT_KEY, _takes_no_tokens(spec))
    try:
        found = client_problems(parse(OAuth2Client, value if isinstance(value, Mapping) else {}, shape=CLIENT_KEY))
    except PayloadSchemaError as error:
        found = error.problems
    if found:
        problems = [Problem(path=f"{CLIENT_KEY}.{one.path}", message=one.message) for one in found]
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)


def _takes_no_tokens(spec: EngineSpec) -> str:
    return f"is of no use: {spec.label} takes no OAuth 2.0 tokens of its users; leave it out"


def _give_again(name: str, why: str) -> PayloadSchemaError:
    return payload_error(_SHAPE, name, f"{why}: give it again")
