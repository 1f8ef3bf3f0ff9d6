"""The people whom records name, as the directory knows them, and all people as choices for administrators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analytics_core._content.batches import by_ids, unknown_ids
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.storage.store_backed import StoredUserDirectory
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import User
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core.errors import PayloadSchemaError
from analytics_core.models.lists import RelatedItem, RelatedResponse
from analytics_core.models.parsing import payload_error
from analytics_core.models.references import UserDetails, UserFirstName, UserNames, UserReference
from analytics_core.ports import BulkUserDirectory, UserDirectory

_MOST_OWNERS = 1_000
_PARTS = frozenset({"role_ids"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UserIndex:
    """Users by id; somebody who was deleted is left out. The reference to a user is made once for a whole page."""

    users: Mapping[int, User]
    _references: dict[int, UserReference] = field(default_factory=dict, init=False, repr=False, compare=False)

    def names(self, user_id: int | None) -> UserNames | None:
        """Return a user's names."""
        user = self.users.get(user_id or 0)
        return UserNames(first_name=user.first_name, last_name=user.last_name) if user else None

    def full_name(self, user_id: int | None) -> str | None:
        """Return a user's first and last name as one text, or the user name when there is neither."""
        user = self.users.get(user_id or 0)
        return name_of(user) if user else None

    def reference(self, user_id: int | None) -> UserReference | None:
        """Return a reference to a user."""
        user = self.users.get(user_id or 0)
        if user is None:
            return None
        if user.id not in self._references:
            self._references[user.id] = UserReference(id=user.id, first_name=user.first_name, last_name=user.last_name)
        return self._references[user.id]

    def first_name(self, user_id: int | None) -> UserFirstName | None:
        """Return a user by id and first name."""
        user = self.users.get(user_id or 0)
        return UserFirstName(id=user.id, first_name=user.first_name) if user else None

    def details(self, user_id: int | None) -> UserDetails | None:
        """Return a reference to a user with the user name."""
        user = self.users.get(user_id or 0)
        if user is None:
            return None
        return UserDetails(id=user.id, first_name=user.first_name, last_name=user.last_name, username=user.username)

    def references(self, user_ids: Iterable[int]) -> tuple[UserReference, ...]:
        """Return references to the users that still exist, in the order given."""
        return tuple(filter(None, map(self.reference, user_ids)))


def name_of(user: User) -> str:
    """Return how a person is called among choices; the store sorts by the same (`full_name`)."""
    return f"{user.first_name} {user.last_name}".strip() or user.username


def read_users(directory: UserDirectory, user_ids: Iterable[int | None]) -> UserIndex:
    """Return the people of these ids; call it outside of a unit of work, since the directory may open its own."""
    wanted = {user_id for user_id in user_ids if user_id is not None}
    if isinstance(directory, BulkUserDirectory):
        return UserIndex(users={user.id: user for user in directory.find_many(sorted(wanted))} if wanted else {})
    found = ((user_id, directory.find(user_id)) for user_id in sorted(wanted))
    return UserIndex(users={user_id: user for user_id, user in found if user is not None})


def stored_users(unit: UnitOfWork, directory: UserDirectory, user_ids: Iterable[int | None]) -> UserIndex | None:
    """Return the people of these ids, read in a unit that reads more; None: a host's own directory knows them."""
    if not isinstance(directory, StoredUserDirectory):
        return None
    wanted = {user_id for user_id in user_ids if user_id is not None}
    return UserIndex(users={user.id: user for user in unit.users.get_many(wanted, without=_PARTS)} if wanted else {})


def checked_owners(
    directory: UserDirectory, owners: Iterable[int] | None, *, actor: Actor, shape: str
) -> tuple[int, ...]:
    """Return the owners of a record: those named, and the actor where nobody is or they would lose it.

    Raises:
        PayloadSchemaError: an owner that is not a user, or more than a thousand of them.
    """
    named = tuple(dict.fromkeys(owners or ()))
    if len(named) > _MOST_OWNERS:  # each is looked up by itself
        raise payload_error(shape, "owners", f"may name {_MOST_OWNERS} users at most")
    problems = unknown_ids(named, read_users(directory, named).users, path="owners", noun="user")
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
    if not named or (actor.id not in named and not actor.is_admin):
        return (*named, actor.id)
    return named


_FULL_NAME = "full_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceQuery:
    """Which choices: those whose text contains `text`, in any case, and the page of them."""

    text: str
    page: int
    page_size: int

    @property
    def start(self) -> int:
        """How many choices come before the page."""
        return self.page * self.page_size

    def cut(self, people: Iterable[User]) -> RelatedResponse:
        """Return the page of these people, who are all there are."""
        matching = in_order(user for user in people if self.text.casefold() in name_of(user).casefold())
        return response(len(matching), matching[self.start :][: self.page_size])


def people_unstored(unit: UnitOfWork, runtime: ContentRuntime, actor: Actor, named: Iterable[int]) -> set[int]:
    """Return which of the actor and the people whom records name (`named`, read if need be) the store does not hold."""
    is_own = isinstance(runtime.people, StoredUserDirectory)  # it knows nobody whom the store does not list
    ids = {actor.id} if is_own else {actor.id, *named}
    return ids - by_ids(unit.users, ids, without=_PARTS).keys()


def all_users(runtime: ContentRuntime, actor: Actor, strangers: set[int], wanted: ChoiceQuery) -> RelatedResponse:
    """Return the choices among all stored users, and of the `strangers` those whom a host's directory knows."""
    hosted = {user.id: user for user in read_users(runtime.people, strangers - {actor.id}).users.values()}
    if actor.id in strangers:
        hosted[actor.id] = actor.user
    between = in_order(user for user in hosted.values() if wanted.text.casefold() in name_of(user).casefold())
    with runtime.store.unit_of_work() as unit:
        return _page_with(unit, between, wanted)


def in_order(people: Iterable[User]) -> list[User]:
    """Return people by their names, and by their ids where those are alike."""
    return sorted(people, key=lambda user: (name_of(user), user.id))


def response(count: int, users: Iterable[User]) -> RelatedResponse:
    """Return people as the contract shows choices."""
    items = (RelatedItem(value=user.id, text=name_of(user), extra={"active": user.active}) for user in users)
    return RelatedResponse(count=count, result=tuple(items))


def _page_with(unit: UnitOfWork, between: Sequence[User], wanted: ChoiceQuery) -> RelatedResponse:
    """Return a page of the stored users with others in their places between them.

    Of the stored ones only those can be on it that so many places earlier begin as there are others. Reading whole
    pages of that length takes three at most.
    """
    first = max(0, wanted.start - len(between))
    size = max(wanted.page_size, len(between))
    pages = range(first // size, (wanted.start + wanted.page_size - 1) // size + 1)
    count, stored = 0, list[User]()
    for page in pages:
        count, found = unit.users.list(_query(wanted.text, page, size))
        stored += found
    place = wanted.start - pages.start * size
    return response(count + len(between), in_order([*stored, *between])[place:][: wanted.page_size])


def _query(text: str, page: int, size: int) -> ListQuery:
    searched = (ListFilter(col=_FULL_NAME, op="contains", val=text),) if text else ()
    return ListQuery(filters=searched, order_by=((_FULL_NAME, False),), page=page, page_size=size, without=_PARTS)
