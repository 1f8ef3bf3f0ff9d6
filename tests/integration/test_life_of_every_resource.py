"""Every resource from its creation to its deletion: its owner, a reader, a stranger and a guest, in two kinds of store.

The owner and the reader may query database 1, the stranger has no grant, the guest holds a token of dashboard 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.guests import NOW, QUERY, GuestWorld, chart, dashboard, guest_world

from analytics_core import AnalyticsCore
from analytics_core.errors import (
    AccessError,
    AnalyticsError,
    ChartAccessError,
    DashboardAccessError,
    DatabaseAccessError,
    DatasetAccessError,
    GuestAccessError,
    NotFoundError,
    OwnershipError,
)

Key = Any
Refusal = type[AnalyticsError] | None
EVENT = {"start_dttm": NOW.isoformat(), "end_dttm": NOW.isoformat(), "short_descr": "first"}
RULE = {"name": "first", "clause": "amount > 1", "filter_type": "Regular", "roles": [2], "tables": [1]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """How one resource is made, read, listed, changed and deleted, and what others meet.

    `reader`, `stranger` and `guest` say what reading it raises for them (None: they read it), `maker` who makes it.
    """

    make: Callable[[AnalyticsCore], Key]
    read: Callable[[AnalyticsCore, Key], Any]
    change: Callable[[AnalyticsCore, Key], Any]
    delete: Callable[[AnalyticsCore, Key], Any]
    listed: Callable[[AnalyticsCore], set[Key]]
    maker: str = "owner"
    reader: Refusal = None
    stranger: Refusal = None
    guest: Refusal = GuestAccessError


def plain(namespace: str, first: dict[str, Any], field: str, **more: Any) -> Life:
    """Return the life of a resource with the usual five methods, whose `field` is changed."""
    return Life(
        make=lambda core: getattr(core, namespace).create(first).id,
        read=lambda core, key: getattr(getattr(core, namespace).get(key), field),
        change=lambda core, key: getattr(core, namespace).update(key, {field: "second"}),
        delete=lambda core, key: getattr(core, namespace).delete(key),
        listed=lambda core: {item.id for item in getattr(core, namespace).list(page_size=100)},
        **more,
    )


def _annotation(core: AnalyticsCore) -> Key:
    layer = core.annotation_layers.create({"name": "a layer"})
    return layer.id, core.annotations.create(layer.id, EVENT).id


def _embedded(core: AnalyticsCore) -> Key:
    made = core.dashboards.create(dashboard("first", 1))
    core.embedded.create(made.id, {"allowed_domains": ["https://first.example"]})
    return made.id


LIVES = {
    "databases": plain(
        "databases",
        {"database_name": "first", "orm_uri": "sqlite://"},
        "database_name",
        maker="admin",
        reader=DatabaseAccessError,
        stranger=DatabaseAccessError,
    ),
    "datasets": plain(
        "datasets",
        {"database": 1, "table_name": "first", "sql": "SELECT city FROM sales"},
        "table_name",
        stranger=DatasetAccessError,
    ),
    "charts": plain(
        "charts",
        chart("first", 1, QUERY),
        "slice_name",
        stranger=ChartAccessError,
        guest=ChartAccessError,
    ),
    "dashboards": plain(
        "dashboards",
        dashboard("first", 1),
        "dashboard_title",
        stranger=DashboardAccessError,
        guest=DashboardAccessError,
    ),
    "annotation_layers": plain("annotation_layers", {"name": "first"}, "name"),
    "annotations": Life(
        make=_annotation,
        read=lambda core, key: core.annotations.get(*key).short_descr,
        change=lambda core, key: core.annotations.update(*key, {"short_descr": "second"}),
        delete=lambda core, key: core.annotations.delete(*key),
        listed=lambda core: {
            (layer.id, item.id) for layer in core.annotation_layers.list() for item in core.annotations.list(layer.id)
        },
    ),
    "css_templates": plain("css_templates", {"template_name": "first", "css": "a {}"}, "template_name"),
    "tags": plain("tags", {"name": "first"}, "name"),
    "row_level_security": plain(
        "row_level_security",
        RULE,
        "name",
        maker="admin",
        reader=AccessError,
        stranger=AccessError,
    ),
    "embedded": Life(
        make=_embedded,
        read=lambda core, key: core.embedded.get(key).allowed_domains[0].removeprefix("https://").split(".")[0],
        change=lambda core, key: core.embedded.update(key, {"allowed_domains": ["https://second.example"]}),
        delete=lambda core, key: core.embedded.delete(key),
        listed=lambda core: {int(item.dashboard_id or 0) for item in core.embedded.list()},
        reader=OwnershipError,
        stranger=OwnershipError,
    ),
    "users": plain(
        "users",
        {"username": "new", "first_name": "first"},
        "first_name",
        maker="admin",
        reader=AccessError,
        stranger=AccessError,
    ),
    "roles": plain(
        "roles",
        {"name": "first"},
        "name",
        maker="admin",
        reader=AccessError,
        stranger=AccessError,
    ),
}


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


@pytest.fixture
def people(tmp_path: Path, metadata_url: str) -> Iterator[People]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", metadata_url=metadata_url) as world:
        role = world.admin.roles.create({"name": "analysts"})
        world.admin.roles.grant(role, on=("database", 1))
        roles = {"owner": [role.id], "reader": [role.id], "stranger": []}
        made = {name: world.admin.users.create({"username": name, "roles": held}) for name, held in roles.items()}
        cores = {name: world.host.as_user(user.id) for name, user in made.items()}
        yield People(world=world, guest=world.guest(), **cores)


@pytest.mark.parametrize("name", LIVES)
def test_who_made_it_reads_changes_and_deletes_it(people: People, name: str) -> None:
    life = LIVES[name]
    core = people.maker(life)
    before = life.listed(core)
    key = life.make(core)
    assert life.read(core, key) == "first"
    assert life.listed(core) - before == {key}
    life.change(core, key)
    assert life.read(core, key) == "second"
    life.delete(core, key)
    assert life.listed(core) == before
    for act in (life.read, life.change, life.delete):
        with pytest.raises(NotFoundError):
            act(core, key)


@pytest.mark.parametrize("name", LIVES)
def test_others_see_what_the_policy_lets_them_see_and_change_nothing(people: People, name: str) -> None:
    life = LIVES[name]
    key = life.make(people.maker(life))
    for core, refusal in ((people.reader, life.reader), (people.stranger, life.stranger)):
        if refusal is None:
            assert life.read(core, key) == "first"
            assert key in life.listed(core)
        else:
            assert refused(refusal, life.read, core, key)
            assert is_not_listed(life, core, key)
        for act in (life.change, life.delete):
            assert refused(refusal or OwnershipError, act, core, key)  # who may not read learns no more
    assert life.read(people.maker(life), key) == "first"


@pytest.mark.parametrize("name", LIVES)
def test_a_guest_makes_sees_and_changes_nothing(people: People, name: str) -> None:
    life = LIVES[name]
    key = life.make(people.maker(life))
    assert refused(GuestAccessError, life.make, people.guest)
    assert life.guest is not None
    assert refused(life.guest, life.read, people.guest, key)
    assert is_not_listed(life, people.guest, key)
    for act in (life.change, life.delete):
        assert refused(GuestAccessError, act, people.guest, key)
    assert life.read(people.maker(life), key) == "first"


@pytest.mark.parametrize("name", ["charts", "dashboards", "datasets"])
def test_what_another_system_manages_changes_only_for_that_system(people: People, name: str) -> None:
    first = {
        "charts": chart("first", 1, QUERY),
        "dashboards": dashboard("first", 1),
        "datasets": {"database": 1, "table_name": "first", "sql": "SELECT city FROM sales"},
    }[name]
    life, owner, admin = LIVES[name], people.owner, people.world.admin
    address = "https://elsewhere.example/1"
    key = getattr(owner, name).create({**first, "is_managed_externally": True, "external_url": address}).id
    with owner._runtime.store.unit_of_work() as unit:
        assert getattr(unit, name).get(key).external_url == address
    assert getattr(owner, name).get(key).is_managed_externally
    for core in (owner, admin):
        for act in (life.change, life.delete):
            assert refused(OwnershipError, act, core, key)
    admin.users.update(1, {"attributes": {"manages_externally": "true"}})
    life.change(admin, key)
    assert life.read(owner, key) == "second"
    life.delete(admin, key)
    assert key not in life.listed(owner)


def refused(error: type[AnalyticsError], act: Callable[..., Any], *arguments: Any) -> bool:
    """Tell that the act raises this very error."""
    with pytest.raises(error) as refusal:
        act(*arguments)
    return refusal.type is error


def is_not_listed(life: Life, core: AnalyticsCore, key: Key) -> bool:
    """Tell that a list leaves the record out, or is refused as a whole."""
    try:
        return key not in life.listed(core)
    except AccessError:
        return True
