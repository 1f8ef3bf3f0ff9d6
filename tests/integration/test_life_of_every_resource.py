"""Every resource from its creation to its deletion: its owner, a reader, a stranger and a guest, in each kind of store.

The owner and the reader may query database 1, the stranger has no grant, the guest holds a token of dashboard 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import QUERY, GuestWorld, chart, dashboard, guest_world, people_of
from tests.support.lives import LIVES, Key, Life

from analytics_core import AnalyticsCore
from analytics_core.errors import AccessError, AnalyticsError, GuestAccessError, NotFoundError, OwnershipError


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Who meets the resource."""

    world: GuestWorld
    owner: AnalyticsCore
    reader: AnalyticsCore
    stranger: AnalyticsCore
    guest: AnalyticsCore

    def maker(self, life: Life) -> AnalyticsCore:
        return self.world.admin if life.maker == "admin" else self.owner


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, module_store_url: str) -> Iterator[People]:
    shop = tmp_path_factory.mktemp("life") / "shop.db"
    with guest_world(f"sqlite:///{shop}", metadata_url=module_store_url) as world:
        yield People(world=world, guest=world.guest(), **people_of(world))


@pytest.fixture
def make(people: People) -> Iterator[Callable[[Life], Key]]:
    """Make a record as who makes such records; it is gone after the test."""
    made: list[tuple[Life, Key]] = []

    def make(life: Life) -> Key:
        key = life.make(people.maker(life))
        made.append((life, key))
        return key

    yield make
    for life, key in made:
        with suppress(NotFoundError):
            life.delete(people.maker(life), key)


@pytest.mark.each_store
@pytest.mark.slow
@for_each("name", LIVES)
def test_who_made_it_reads_changes_and_deletes_it(people: People, make: Callable[[Life], Key], name: str) -> None:
    life = LIVES[name]
    core = people.maker(life)
    before = life.listed(core)
    key = make(life)
    assert life.read(core, key) == "first"
    assert life.listed(core) - before == {key}
    life.change(core, key)
    assert life.read(core, key) == "second"
    life.delete(core, key)
    assert life.listed(core) == before
    for act in (life.read, life.change, life.delete):
        with pytest.raises(NotFoundError):
            act(core, key)


@pytest.mark.slow
@for_each("name", LIVES)
def test_others_see_what_the_policy_lets_them_see_and_change_nothing(
    people: People, make: Callable[[Life], Key], name: str
) -> None:
    life = LIVES[name]
    key = make(life)
    for core, rejection in ((people.reader, life.reader), (people.stranger, life.stranger)):
        if rejection is None:
            assert life.read(core, key) == "first"
            assert key in life.listed(core)
        else:
            assert rejected(rejection, life.read, core, key)
            assert is_not_listed(life, core, key)
        for act in (life.change, life.delete):
            assert rejected(rejection or OwnershipError, act, core, key)  # who may not read learns no more
    assert life.read(people.maker(life), key) == "first"


@pytest.mark.slow
@for_each("name", LIVES)
def test_a_guest_makes_sees_and_changes_nothing(people: People, make: Callable[[Life], Key], name: str) -> None:
    life = LIVES[name]
    key = make(life)
    assert rejected(GuestAccessError, life.make, people.guest)
    assert life.guest is not None
    assert rejected(life.guest, life.read, people.guest, key)
    assert is_not_listed(life, people.guest, key)
    for act in (life.change, life.delete):
        assert rejected(GuestAccessError, act, people.guest, key)
    assert life.read(people.maker(life), key) == "first"


@pytest.mark.slow
@for_each("name", ["charts", "dashboards", "datasets"])
def test_what_another_system_manages_changes_only_for_that_system(people: People, name: str) -> None:
    first = {
        "charts": chart("first", 1, QUERY),
        "dashboards": dashboard("first", 1),
        "datasets": {"database": 1, "table_name": "first", "sql": "SELECT city FROM sales"},
    }[name]
    life, owner, admin = LIVES[name], people.owner, people.world.admin
    address = "https://elsewhere.example/1"
    key = (getattr(owner, name).create({**first, "is_managed_externally": True, "external_url": address}).id,)
    with owner._runtime.content.store.unit_of_work() as unit:
        assert getattr(unit, name).get(*key).external_url == address
    assert life.get(owner, key).is_managed_externally
    for core in (owner, admin):
        for act in (life.change, life.delete):
            assert rejected(OwnershipError, act, core, key)
    admin.users.update(1, {"attributes": {"manages_externally": "true"}})
    life.change(admin, key)
    assert life.read(owner, key) == "second"
    life.delete(admin, key)
    admin.users.update(1, {"attributes": {}})
    assert key not in life.listed(owner)


def rejected(error: type[AnalyticsError], act: Callable[..., Any], *arguments: Any) -> bool:
    """Tell that the act raises this very error."""
    with pytest.raises(error) as rejection:
        act(*arguments)
    return rejection.type is error


def is_not_listed(life: Life, core: AnalyticsCore, key: Key) -> bool:
    """Tell that a list leaves the record out, or is refused as a whole."""
    try:
        return key not in life.listed(core)
    except AccessError:
        return True
