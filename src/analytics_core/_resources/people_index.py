"""The people that records name, as the directory of people knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from analytics_core._records.people import User
from analytics_core._resources.batches import unknown_ids
from analytics_core._security.actor import Actor
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.references import UserDetails, UserFirstName, UserNames, UserReference
from analytics_core.ports import BulkUserDirectory, UserDirectory

_MOST_OWNERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleIndex:
    """Users by id; somebody who was deleted is left out. The reference to a user is made once for a whole page."""

    users: Mapping[int, User]
    _references: dict[int, UserReference] = field(default_factory=dict, init=False, repr=False, compare=False)

    def names(self, user_id: int | None) -> UserNames | None:
        """Return a user's names."""
        user = self.users.get(user_id) if user_id is not None else None
        return UserNames(first_name=user.first_name, last_name=user.last_name) if user else None

    def full_name(self, user_id: int | None) -> str | None:
        """Return a user's first and last name as one text, or the user name when there is neither."""
        user = self.users.get(user_id) if user_id is not None else None
        return name_of(user) if user else None

    def reference(self, user_id: int | None) -> UserReference | None:
        """Return a reference to a user."""
        user = self.users.get(user_id) if user_id is not None else None
        if user is None:
            return None
        if user.id not in self._references:
            self._references[user.id] = UserReference(id=user.id, first_name=user.first_name, last_name=user.last_name)
        return self._references[user.id]

    def first_name(self, user_id: int | None) -> UserFirstName | None:
        """Return a user by id and first name."""
        user = self.users.get(user_id) if user_id is not None else None
        return UserFirstName(id=user.id, first_name=user.first_name) if user else None

    def details(self, user_id: int | None) -> UserDetails | None:
        """Return a reference to a user with the user name."""
        user = self.users.get(user_id) if user_id is not None else None
        if user is None:
            return None
        return UserDetails(id=user.id, first_name=user.first_name, last_name=user.last_name, username=user.username)

    def references(self, user_ids: Iterable[int]) -> tuple[UserReference, ...]:
        """Return references to the users that still exist, in the order given."""
        found = (self.reference(user_id) for user_id in user_ids)
        return tuple(reference for reference in found if reference is not None)


def name_of(user: User) -> str:
    """Return how a person is called among choices; the store sorts by the same (`full_name`)."""
    return f"{user.first_name} {user.last_name}".strip() or user.username


def read_people(directory: UserDirectory, user_ids: Iterable[int | None]) -> PeopleIndex:
    """Return the people of these ids; call it outside of a unit of work, since the directory may open its own."""
    wanted = {user_id for user_id in user_ids if user_id is not None}
    if isinstance(directory, BulkUserDirectory):
        return PeopleIndex(users={user.id: user for user in directory.find_many(sorted(wanted))} if wanted else {})
    found = ((user_id, directory.find(user_id)) for user_id in sorted(wanted))
    return PeopleIndex(users={user_id: user for user_id, user in found if user is not None})


def checked_owners(
    directory: UserDirectory, owners: Iterable[int] | None, *, actor: Actor, shape: str
) -> tuple[int, ...]:
    """Return the owners of a record: those named, and the actor where nobody is or they would lose it.

    Raises:
        PayloadSchemaError: an owner that is not a user, or more than a thousand of them.
    """
    named = tuple(dict.fromkeys(owners or ()))
    if len(named) > _MOST_OWNERS:  # each is looked up by itself
        problem = Problem(path="owners", message=f"may name {_MOST_OWNERS} users at most")
        raise PayloadSchemaError(shape=shape, problems=[problem])
    problems = unknown_ids(named, read_people(directory, named).users, path="owners", noun="user")
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
    if not named or (actor.id not in named and not actor.is_admin):
        return (*named, actor.id)
    return named
