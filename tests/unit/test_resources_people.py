"""Users, roles and what grants open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._records.people import User
from analytics_core.errors import (
    AccessError,
    AlreadyExistsError,
    DatabaseNotFoundError,
    InUseError,
    NotFoundError,
    PayloadSchemaError,
)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


@pytest.fixture
def core(shop: SmallCore) -> AnalyticsCore:
    return shop.core


# -------------------------------------------------------------------------------------------------------------- users
def test_a_user_is_stored_with_roles_and_attributes(core: AnalyticsCore) -> None:
    role = core.roles.create({"name": "analysts"})
    made = core.users.create({"username": "bea", "roles": [role.id], "attributes": {"country": "France"}})
    assert (made.username, made.active, made.attributes) == ("bea", True, {"country": "France"})
    assert [(r.id, r.name) for r in made.roles] == [(role.id, "analysts")]
    assert core.users.get(made.id) == made


def test_a_user_name_is_taken_once(core: AnalyticsCore) -> None:
    with pytest.raises(AlreadyExistsError):
        core.users.create({"username": "admin"})


@pytest.mark.parametrize("payload", [{}, {"username": ""}, {"username": "x" * 65}, {"username": "x", "nam": "y"}])
def test_a_wrong_user_is_refused(core: AnalyticsCore, payload: dict[str, Any]) -> None:
    with pytest.raises(PayloadSchemaError):
        core.users.create(payload)


def test_a_role_that_does_not_exist_is_refused(core: AnalyticsCore) -> None:
    with pytest.raises(PayloadSchemaError, match="there is no role 99"):
        core.users.create({"username": "bea", "roles": [99]})


def test_an_update_of_a_user_changes_what_it_names(core: AnalyticsCore) -> None:
    made = core.users.create({"username": "bea", "email": "bea@shop.example", "first_name": "Bea"})
    changed = core.users.update(made.id, {"email": None, "attributes": {"a": "b"}})
    assert (changed.first_name, changed.email, changed.attributes) == ("Bea", None, {"a": "b"})


def test_a_user_who_is_no_longer_active_cannot_act(core: AnalyticsCore) -> None:
    made = core.users.create({"username": "bea"})
    core.users.update(made.id, {"active": False})
    with pytest.raises(Exception, match="active"):
        core.as_user(made.id)


def test_a_deleted_user_leaves_what_they_made(shop: SmallCore) -> None:
    reader = shop.reader(("database", 1))
    made = reader.datasets.create({"database": 1, "table_name": "orders"})
    shop.core.users.delete(2)
    dataset = shop.core.datasets.get(made.id)
    assert (dataset.owners, dataset.created_by) == ((), None)


def test_everybody_reads_their_own_record_and_no_other(shop: SmallCore) -> None:
    reader = shop.reader()
    assert reader.users.get(2).username == "reader"
    for call in (
        lambda: reader.users.get(1),
        reader.users.list,
        lambda: reader.users.create({"username": "x"}),
        lambda: reader.users.update(2, {"roles": [1]}),
        lambda: reader.users.delete(1),
        reader.roles.list,
        lambda: reader.roles.create({"name": "x"}),
        lambda: reader.roles.update(2, {"is_admin": True}),
        lambda: reader.roles.grant(2, on=("database", 1)),
        lambda: reader.roles.revoke(1, on=("database", 1)),
    ):
        with pytest.raises(AccessError):
            call()


def test_administrators_keep_their_own_rank_so_that_one_is_always_left(core: AnalyticsCore) -> None:
    for call in (
        lambda: core.users.delete(1),
        lambda: core.users.update(1, {"active": False}),
        lambda: core.users.update(1, {"roles": []}),
        lambda: core.roles.update(1, {"is_admin": False}),
    ):
        with pytest.raises(AccessError, match="ask another one"):
            call()
    assert core.users.update(1, {"first_name": "Ada"}).roles == core.users.get(1).roles
    assert core.roles.update(1, {"name": "rulers"}).is_admin


def test_an_administrator_by_two_roles_may_give_one_away_and_another_takes_the_rest(core: AnalyticsCore) -> None:
    second = core.roles.create({"name": "deputies", "is_admin": True})
    core.users.update(1, {"roles": [1, second.id]})
    assert not core.roles.update(second.id, {"is_admin": False}).is_admin
    core.users.update(1, {"roles": [1]})
    bea = core.as_user(core.users.create({"username": "bea", "roles": [1]}).id)
    bea.users.update(1, {"active": False})
    with pytest.raises(Exception, match="active"):
        core.as_user(1)


def test_users_are_listed(core: AnalyticsCore) -> None:
    core.users.create({"username": "bea"})
    page = core.users.list(filters=[{"col": "username", "op": "neq", "val": "admin"}])
    assert (page.count, page.result[0].username) == (1, "bea")


# -------------------------------------------------------------------------------------------------------------- roles
def test_a_role_is_granted_and_revoked(shop: SmallCore) -> None:
    core = shop.core
    role = core.roles.create({"name": "analysts"})
    dataset = shop.orders()
    for on in (core.databases.get(1), dataset, ("schema", 1, "main"), dataset):
        role = core.roles.grant(role, on=on)
    assert [(g.on, g.id, g.schema_name) for g in role.grants] == [
        ("database", 1, None),
        ("dataset", dataset.id, None),
        ("schema", 1, "main"),
    ]
    assert [g.on for g in core.roles.revoke("analysts", on=("database", 1)).grants] == ["dataset", "schema"]
    assert core.roles.revoke(role.id, on=("database", 1)).grants == core.roles.get(role.id).grants


def test_a_grant_opens_a_dataset_at_once(shop: SmallCore) -> None:
    dataset = shop.orders()
    reader = shop.reader()
    assert reader.datasets.list().count == 0
    shop.core.roles.grant("role of reader", on=dataset)
    assert reader.datasets.get(dataset.id).table_name == "orders"
    shop.core.roles.revoke("role of reader", on=dataset)
    assert reader.datasets.list().count == 0


@for_each("on", [("table", 1), ("schema", 1), ("schema", 1, ""), ("database", "1"), 5, None, "database"])
def test_a_grant_on_nothing_known_is_refused(core: AnalyticsCore, on: Any) -> None:
    with pytest.raises(PayloadSchemaError, match="on: must be"):
        core.roles.grant(1, on=on)


def test_a_grant_on_a_record_that_does_not_exist_is_refused(core: AnalyticsCore) -> None:
    with pytest.raises(DatabaseNotFoundError):
        core.roles.grant(1, on=("database", 99))
    with pytest.raises(NotFoundError):
        core.roles.grant(1, on=("dataset", 99))
    with pytest.raises(NotFoundError, match="nobodies"):
        core.roles.grant("nobodies", on=("database", 1))


def test_a_role_changes_its_name_and_keeps_its_grants(core: AnalyticsCore) -> None:
    role = core.roles.create({"name": "a"})
    core.roles.grant(role, on=("database", 1))
    changed = core.roles.update(role.id, {"name": "b"})
    assert (changed.name, len(changed.grants)) == ("b", 1)
    with pytest.raises(AlreadyExistsError):
        core.roles.create({"name": "b"})


def test_a_role_that_somebody_has_stays(shop: SmallCore) -> None:
    shop.reader()
    role = next(role for role in shop.core.roles.list() if role.name == "role of reader")
    with pytest.raises(InUseError):
        shop.core.roles.delete(role.id)
    shop.core.users.update(2, {"roles": []})
    shop.core.roles.delete(role.id)
    with pytest.raises(NotFoundError):
        shop.core.roles.get(role.id)


# -------------------------------------------------------------------------------------------------- a host's people
class HostPeople:
    """People of a host, none of whom the metadata store knows."""

    def find(self, key: int | str) -> User | None:
        """Return user 70, who is called hal."""
        hal = User(id=70, username="hal", first_name="Hal", last_name="Host", role_ids=(1,))
        return hal if key in (hal.id, hal.username) else None


def test_people_of_a_host_own_and_sign_what_they_make(tmp_path: Path) -> None:
    with small_core(tmp_path, people=HostPeople()) as shop:
        made = shop.orders(owners=[70])
        assert [(owner.id, owner.first_name) for owner in made.owners] == [(70, "Hal")]
        assert made.created_by is not None
        assert made.created_by.last_name == "Host"
        with pytest.raises(PayloadSchemaError, match="there is no user 1"):
            shop.core.datasets.update(made.id, {"owners": [1]})
