"""What a host says of a user beyond its directory, kept with the user's job: sealed, since it gives rights."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Final

from analytics_core._records.people import User
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import ActorRequiredError, StoredDataError

_CONTEXT: Final = "jobs.claims"


def claims_of(runtime: Runtime, actor: Actor) -> str | None:
    """Return the sealed claims of an actor whose rights are not those of the directory; None where they are.

    Raises:
        ActorRequiredError: the directory does not know the actor, so that no other process could ask about them.
    """
    known = runtime.known_user(actor.id)
    if known is None:
        raise ActorRequiredError(
            f"user {actor.username!r} is in no directory, so that no worker could find them; a job in the background"
        )
    if known.rights() == actor.user.rights():
        return None
    claimed = {name: value for name, value in asdict(actor.user).items() if name != "audit"}
    return runtime.secret_box.seal(json.dumps(claimed), context=_CONTEXT)


def claimed_user(runtime: Runtime, claims: str) -> User:
    """Return the user whom `claims_of` wrote; StoredDataError for anything else."""
    try:
        fields = json.loads(runtime.secret_box.open(claims, context=_CONTEXT))
        lists = {name: tuple(fields[name]) for name in ("role_ids", "role_names")}
        return User(**{**fields, **lists, "attributes": tuple(map(tuple, fields["attributes"]))})
    except (KeyError, TypeError, ValueError):
        raise StoredDataError("the claims of a job are none that this version reads") from None
