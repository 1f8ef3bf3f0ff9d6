"""Who acts in a call: a stored user with their roles, or a guest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analytics_core._records.database import Database
from analytics_core._records.guest import GuestPass
from analytics_core._records.identity import Identity
from analytics_core._records.people import Grant, Role, User

EXTERNAL_MANAGER: Final = ("manages_externally", "true")
"""The attribute of a user that acts for the system which manages `is_managed_externally` records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A user and the roles that count for this call; every decision of the policy starts from it.

    A guest is nobody whom the store knows: `guest` says what they may read, their id is 0, and their roles count for
    row rules only.
    """

    user: User
    roles: tuple[Role, ...] = ()
    guest: GuestPass | None = None

    @property
    def id(self) -> int:
        """The user's id; 0 for a guest."""
        return self.user.id

    @property
    def stored_id(self) -> int | None:
        """The id under which the store knows the user; None for a guest."""
        return self.user.id if self.guest is None else None

    @property
    def username(self) -> str:
        """The user's name, which databases see where they impersonate."""
        return self.user.username

    def identity_on(self, database: Database) -> Identity | None:
        """Whom the database sees where it impersonates its users, else None."""
        return Identity(username=self.username) if database.impersonate_user else None

    @property
    def is_admin(self) -> bool:
        """Whether one of the roles may do everything."""
        return self.guest is None and any(role.is_admin for role in self.roles)

    @property
    def manages_externally(self) -> bool:
        """Whether the user acts for a system that manages records from outside."""
        return self.guest is None and EXTERNAL_MANAGER in self.user.attributes

    @property
    def role_ids(self) -> frozenset[int]:
        """The ids of the roles."""
        return frozenset(role.id for role in self.roles)

    @property
    def role_names(self) -> frozenset[str]:
        """The names of the roles, for the standings that a host's table gives by role; none for a guest."""
        if self.guest is not None:
            return frozenset()
        return frozenset(role.name for role in self.roles)

    @property
    def grants(self) -> frozenset[Grant]:
        """What the roles give access to, together; nothing for a guest."""
        if self.guest is not None:
            return frozenset()
        return frozenset().union(*(role.grants for role in self.roles))
