"""Administrators keep their own rank: as long as nobody can take it from themselves, somebody is left who has it."""

from __future__ import annotations

from collections.abc import Iterable

from analytics_core._records.people import Role, User
from analytics_core._security.actor import Actor
from analytics_core.errors import AccessError


def require_rank_left(actor: Actor, *, user: User | None, roles: Iterable[Role]) -> None:
    """Check that an administrator who changes themselves is one after it.

    Args:
        actor: who acts.
        user: they, as they would be; None when they would be deleted.
        roles: the roles that they would have.

    Raises:
        AccessError: they would be an administrator no more.
    """
    stays = user is not None and user.active and any(role.is_admin for role in roles)
    if actor.is_admin and not stays:
        raise AccessError(
            "you may not stop being an administrator by yourself, since nobody might be left; ask another one"
        )


def roles_left(actor: Actor, role_id: int, changed: Role | None) -> tuple[Role, ...]:
    """Return the actor's roles after a change of one of them; None when it would be deleted.

    Whom a host's directory gives a role by its name loses it with that name.
    """
    others = tuple(role for role in actor.roles if role.id != role_id)
    stays = changed is not None and (role_id in actor.user.role_ids or changed.name in actor.user.role_names)
    return (*others, changed) if changed is not None and stays else others
