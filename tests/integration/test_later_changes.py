"""Changes on what the caller read: nobody writes over what somebody else changed since, in any namespace and store."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.support.guests import NOW, GuestWorld, guest_world
from tests.support.lives import LIVES, Key, Life

from analytics_core import AnalyticsCore
from analytics_core.errors import AccessError, NotFoundError, PayloadSchemaError, StaleVersionError

NAMESPACES = {
    name: member.fget
    for name, member in inspect.getmembers(AnalyticsCore)
    if isinstance(member, property) and not name.startswith("_")
}
MICROSECOND = timedelta(microseconds=1)
EAST = timezone(timedelta(hours=14))


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A record of some namespace, and when it was changed last as its callers read it."""

    world: GuestWorld
    life: Life
    key: Key
    changed_on: Any

    def change(self, word: str, unchanged_since: Any) -> None:
        self.life.change(self.world.admin, self.key, word, unchanged_since=unchanged_since)

    def now_says(self) -> str:
        return self.life.read(self.world.admin, self.key)

    def again(self) -> Any:
        """Return when it was changed last."""
        return self.life.get(self.world.admin, self.key).changed_on


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, module_store_url: str) -> Iterator[GuestWorld]:
    shop = tmp_path_factory.mktemp("later") / "shop.db"
    with guest_world(f"sqlite:///{shop}", metadata_url=module_store_url) as made:
        made.admin.roles.create({"name": "analysts"})
        yield made


@pytest.fixture(params=LIVES)
def read(world: GuestWorld, request: pytest.FixtureRequest) -> Iterator[Read]:
    """A record that two people have read, while the clock stands still."""
    life = LIVES[request.param]
    world.clock.move_to(NOW)
    key = life.make(world.admin)
    yield Read(world=world, life=life, key=key, changed_on=life.get(world.admin, key).changed_on)
    with suppress(NotFoundError):
        life.delete(world.admin, key)


@pytest.mark.slow
def test_every_update_takes_the_moment_and_is_tried_here(world: GuestWorld) -> None:
    """A namespace that comes later must take it, too."""
    types = {name: type(getattr(world.admin, name)) for name in NAMESPACES}
    with_update = {name: found for name, found in types.items() if hasattr(found, "update")}
    assert with_update.keys() == LIVES.keys()
    for name, found in with_update.items():
        parameter = inspect.signature(found.update).parameters.get("unchanged_since")
        assert parameter is not None, f"{name}.update does not take unchanged_since"
        assert (parameter.kind, parameter.default) == (inspect.Parameter.KEYWORD_ONLY, None), name
        assert "unchanged_since" in (found.update.__doc__ or ""), name
        assert "StaleVersionError" in (found.update.__doc__ or ""), name


@pytest.mark.each_store
@pytest.mark.slow
def test_a_change_that_somebody_else_made_is_not_written_over(read: Read) -> None:
    assert read.changed_on == NOW
    read.change("theirs", read.changed_on)
    with pytest.raises(StaleVersionError, match="was changed by somebody else since it was read") as rejection:
        read.change("mine", read.changed_on)
    assert (rejection.value.resource, rejection.value.key) == (read.life.noun, read.key[-1])
    assert not rejection.value.retryable
    assert read.now_says() == "theirs"
    read.change("mine", read.again())
    assert read.now_says() == "mine"
    read.change("whatever", None)
    assert read.now_says() == "whatever"


@pytest.mark.slow
def test_quick_changes_have_moments_of_their_own_also_when_the_clock_goes_back(read: Read) -> None:
    seen = [read.changed_on]
    for step in (0, 0, -3600, -1, 0):
        read.world.clock.advance(timedelta(seconds=step))
        read.change(f"step{len(seen)}", seen[-1])
        seen.append(read.again())
    assert seen == [NOW + count * MICROSECOND for count in range(6)]
    for earlier in seen[:-1]:
        with pytest.raises(StaleVersionError):
            read.change("mine", earlier)
    assert read.now_says() == "step5"


@pytest.mark.slow
def test_a_moment_may_be_a_text_naive_or_of_another_zone(read: Read) -> None:
    read.world.clock.advance(timedelta(microseconds=123_457))
    read.change("second", None)
    moment = read.again()
    assert moment == NOW + timedelta(microseconds=123_457)
    forms = (
        lambda given: given,
        lambda given: given.replace(tzinfo=None),
        lambda given: given.astimezone(EAST),
        lambda given: given.isoformat(),
        lambda given: given.replace(tzinfo=None).isoformat(),
        lambda given: given.astimezone(EAST).isoformat(),
        lambda given: given.isoformat().replace("+00:00", "Z"),
    )
    for form in forms:
        with pytest.raises(StaleVersionError):
            read.change("mine", form(moment - MICROSECOND))
        read.change("third", form(moment))
        moment = read.again()
    for long_ago in (datetime(1, 1, 1, tzinfo=EAST), "0001-01-01T00:00:00+14:00"):
        with pytest.raises(StaleVersionError):
            read.change("mine", long_ago)
    read.change("fourth", datetime.max.replace(tzinfo=UTC))
    assert read.now_says() == "fourth"


def test_what_is_no_moment_is_refused(read: Read) -> None:
    for moment in ("yesterday", 3, "", "2024-01-01", ["2024-01-01T00:00"], True):
        with pytest.raises(PayloadSchemaError, match=f"{read.life.namespace}.update is not valid: unchanged_since"):
            read.change("mine", moment)
    assert read.now_says() == "first"


def test_who_may_not_change_it_does_not_learn_that_it_changed(read: Read) -> None:
    stranger = read.world.admin.users.create({"username": "stranger"})
    try:
        with pytest.raises(AccessError) as rejection:
            read.life.change(read.world.host.as_user(stranger.id), read.key, unchanged_since="2000-01-01T00:00")
    finally:
        read.world.admin.users.delete(stranger.id)
    assert not isinstance(rejection.value, StaleVersionError)


def test_lists_tell_the_moment_where_the_contract_has_a_field_for_it(read: Read) -> None:
    fields = {"charts": "changed_on_utc", "datasets": "changed_on_utc", "dashboards": "changed_on_utc"}
    field = fields.get(read.life.namespace, "changed_on")
    of_layer = read.key[:-1]
    items = getattr(read.world.admin, read.life.namespace).list(*of_layer, page_size=1000)
    item = next(item for item in items if _key(item) == read.key[-1])
    read.change("second", getattr(item, field))
    assert read.now_says() == "second"


def _key(item: Any) -> int:
    """Return what `get` knows a record of a list by."""
    return item.id if hasattr(item, "id") else int(item.dashboard_id)


# ------------------------------------------------------------------------------------------- what counts as a change
def test_a_grant_changes_a_role(world: GuestWorld) -> None:
    role = world.admin.roles.create({"name": "graded"})
    world.admin.roles.grant(role, on=("database", 1))
    with pytest.raises(StaleVersionError):
        world.admin.roles.update(role.id, {"is_admin": True}, unchanged_since=role.changed_on)
    world.admin.roles.delete(role.id)


def test_what_hangs_on_a_record_is_no_change_of_it(world: GuestWorld) -> None:
    """Annotations of a layer, records with a tag and the dashboard of an embedding are changed for themselves."""
    admin = world.admin
    layer, tag, embedded = admin.annotation_layers.create({"name": "l"}), admin.tags.create({"name": "t"}), 1
    on = {"layer": layer.changed_on, "tag": tag.changed_on, "embedded": admin.embedded.get(embedded).changed_on}
    day = NOW.isoformat()
    admin.annotations.create(layer.id, {"start_dttm": day, "end_dttm": day, "short_descr": "x"})
    admin.tags.tag("chart", 1, ["t"])
    admin.dashboards.update(embedded, {"css": "a {}"})
    admin.annotation_layers.update(layer.id, {"descr": "new"}, unchanged_since=on["layer"])
    admin.tags.update(tag.id, {"description": "new"}, unchanged_since=on["tag"])
    admin.embedded.update(embedded, {"allowed_domains": []}, unchanged_since=on["embedded"])
    assert admin.annotation_layers.get(layer.id).descr == "new"
    admin.annotation_layers.delete(layer.id)
    admin.tags.delete(tag.id)


def test_the_moment_is_no_field_where_the_contract_has_none(read: Read) -> None:
    answer = read.life.get(read.world.admin, read.key)
    shows = {"datasets", "dashboards", "embedded", *("tags", "users", "roles", "saved_queries")}  # the last are ours
    assert ("changed_on" in answer.to_payload()) is (read.life.namespace in shows)
    assert ("changed_on" in type(answer).model_json_schema()["properties"]) is (read.life.namespace in shows)
    assert type(answer).model_validate(answer.to_payload()).to_payload() == answer.to_payload()
