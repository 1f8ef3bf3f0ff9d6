"""The ids that records have in another store, as callers give them; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analytics_core._resources.batches import is_stored_id
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.strict_json import repeated_key

Ids = Mapping[int, int]
"""For the id of a record here, the id in the other store."""


def refuse_repeated_keys(shape: str, **texts: str | None) -> None:
    """Raise PayloadSchemaError for stored JSON that names a key twice: what would move is not what was written."""
    found = ((field, repeated_key(text)) for field, text in texts.items())
    problems = [Problem(path=field, message=str(error)) for field, error in found if error is not None]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def checked_ids(given: Any, *, path: str, shape: str) -> Ids:
    """Return a mapping of ids to ids; None is an empty one.

    Raises:
        PayloadSchemaError: it is anything else, for example read from JSON, where keys are texts.
    """
    if given is None:
        return {}
    ids = dict(given) if isinstance(given, Mapping) else None
    if ids is None or not all(map(is_stored_id, (*ids, *ids.values()))):
        problem = Problem(path=path, message="must map ids here to ids there, such as {1: 7}; both are integers")
        raise PayloadSchemaError(shape=shape, problems=[problem])
    return ids
