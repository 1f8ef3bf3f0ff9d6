"""Checks of what hosts pass to the facade: who acts, what is now, and the names of settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypedDict

from analytics_core._error_types import short_repr
from analytics_core._records.people import User
from analytics_core._settings import Settings
from analytics_core.errors import ActorRequiredError, PayloadSchemaError, Problem, SettingsError, nearest


class PersonNames(TypedDict, total=False):
    """What is told of the first administrator beside their login."""

    first_name: str
    last_name: str
    email: str | None


def check_user_key(key: Any) -> None:
    """Raise ActorRequiredError for what names nobody, though it may equal a key: True and 1.0 equal the id 1."""
    if isinstance(key, bool) or not isinstance(key, int | str | User):
        raise ActorRequiredError(f"{short_repr(key)} names nobody, give an id, a user name or a User; this call")
    try:
        hash(key)
    except TypeError:
        raise ActorRequiredError("role_ids, role_names and attributes of a User are tuples; this call") from None
    if isinstance(key, User):
        check_attributes(key)


def check_attributes(user: User) -> None:
    """Raise ActorRequiredError for attributes that may equal others and mean other rows, as True and 1.0 equal 1."""
    if not all(map(_is_pair_of_texts, user.attributes)):
        raise ActorRequiredError("attributes of a User are pairs of texts; this call")


def _is_pair_of_texts(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(text, str) for text in pair)


def check_setting_names(given: Mapping[str, Any]) -> None:
    """Raise SettingsError for a name that is no field of `Settings`, with the one that comes nearest."""
    known = [field.name for field in fields(Settings)]
    for name in given:
        if name not in known:
            close = nearest(name, known)
            near = f"; did you mean {close[0]!r}?" if close else f"; it has: {', '.join(known)}"
            raise SettingsError(f"Settings has no field {name!r}{near}")


def moment_of(given: Any) -> datetime:
    """Return a moment that can be now, in UTC; PayloadSchemaError for anything else."""
    try:
        if isinstance(given, datetime):
            return given.replace(tzinfo=UTC) if given.utcoffset() is None else given.astimezone(UTC)
    except OverflowError:
        pass
    problem = Problem(path="moment", message="must be a datetime between the years 1 and 9999 in UTC")
    raise PayloadSchemaError(shape="as_of", problems=[problem])
