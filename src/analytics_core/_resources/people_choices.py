"""All people there are, as choices for administrators: found, sorted and cut to pages by the store.

A host's own directory names people by their ids alone: whom records name, and the store does not know, is asked for and
put between those of the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analytics_core._adapters.user_directory import StoredUserDirectory
from analytics_core._records.people import User
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.batches import by_ids
from analytics_core._resources.people_index import name_of, read_people
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.models.related import RelatedItem, RelatedResponse

_FULL_NAME = "full_name"
_PARTS = frozenset({"role_ids"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
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


def people_unstored(unit: UnitOfWork, runtime: Runtime, actor: Actor, named: Iterable[int]) -> set[int]:
    """Return which of the actor and the people whom records name (`named`, read if need be) the store does not hold."""
    is_own = isinstance(runtime.people, StoredUserDirectory)  # it knows nobody whom the store does not list
    ids = {actor.id} if is_own else {actor.id, *named}
    return ids - by_ids(unit.users, ids, without=_PARTS).keys()


def all_people(runtime: Runtime, actor: Actor, strangers: set[int], wanted: Wanted) -> RelatedResponse:
    """Return the choices among all stored users, and of the `strangers` those whom a host's directory knows."""
    hosted = {user.id: user for user in read_people(runtime.people, strangers - {actor.id}).users.values()}
    if actor.id in strangers:
        hosted[actor.id] = actor.user
    between = in_order(user for user in hosted.values() if wanted.text.casefold() in name_of(user).casefold())
    with runtime.store.unit_of_work() as unit:
        return _page_with(unit, between, wanted)


def in_order(people: Iterable[User]) -> list[User]:
    """Return people by their names, and by their ids where those are alike."""
    return sorted(people, key=lambda user: (name_of(user), user.id))


def response(count: int, shown: Iterable[User]) -> RelatedResponse:
    """Return people as the contract shows choices."""
    items = (RelatedItem(value=user.id, text=name_of(user), extra={"active": user.active}) for user in shown)
    return RelatedResponse(count=count, result=tuple(items))


def _page_with(unit: UnitOfWork, between: Sequence[User], wanted: Wanted) -> RelatedResponse:
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
