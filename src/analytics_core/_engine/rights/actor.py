"""Who acts in a call: a stored user with their roles, or a guest."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from analytics_core._records.datasource import Database, Identity
from analytics_core._records.people import Grant, GuestPass, Role, User

EXTERNAL_MANAGER: Final = ("manages_externally", "true")
"""The attribute of a user that acts for the system which manages `is_managed_externally` records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A user and the roles that count for this call; every decision of the policy starts from it.

    A guest is nobody whom the store knows: `guest` says what they may read, their id is 0, and their roles count for
    row rules only.

    Attributes:
        is_admin: whether one of the roles may do everything.
        role_ids: the ids of the roles.
        role_names: the names of the roles, for the permissions that a host's table gives by role; none for a guest.
        grants: what the roles give access to, together; nothing for a guest.
    """

    user: User
    roles: tuple[Role, ...] = ()
    guest: GuestPass | None = None
    # What every decision asks for is put together once.
    is_admin: bool = field(init=False, repr=False, compare=False)
    role_ids: frozenset[int] = field(init=False, repr=False, compare=False)
    role_names: frozenset[str] = field(init=False, repr=False, compare=False)
    grants: frozenset[Grant] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        counting = self.roles if self.guest is None else ()
        object.__setattr__(self, "is_admin", any(map(attrgetter("is_admin"), counting)))
        object.__setattr__(self, "role_ids", frozenset(map(attrgetter("id"), self.roles)))
        object.__setattr__(self, "role_names", frozenset(map(attrgetter("name"), counting)))
        object.__setattr__(self, "grants", frozenset().union(*map(attrgetter("grants"), counting)))

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

    def identity_on(
        self, database: Database, *, by_token: bool = False, authorization: int | None = None
    ) -> Identity | None:
        """Return whom the database sees where it impersonates its users or takes their tokens, else None."""
        if not (database.impersonate_user or by_token):
            return None
        return Identity(username=self.username, user_id=self.id if by_token else None, authorization=authorization)

    @property
    def manages_externally(self) -> bool:
        """Whether the user acts for a system that manages records from outside."""
        return self.guest is None and EXTERNAL_MANAGER in self.user.attributes
