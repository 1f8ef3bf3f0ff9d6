"""A core, a namespace, a method, a job or an iterator that is kept acts with the rights of the moment it is used."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.doors import NAMESPACES, anything
from tests.support.guests import guest_world, later
from tests.support.many_records import statements_of
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._content.namespace import Namespace
from analytics_core.errors import (
    AccessError,
    ActorRequiredError,
    AnalyticsError,
    DatasetAccessError,
    GuestTokenError,
    JobNotFoundError,
)

COUNT = {"datasource": {"id": 1, "type": "table"}, "queries": [{"metrics": ["count"]}]}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path, metadata_freshness_s=3600) as world:
        world.orders()
        yield world


def calls(core: AnalyticsCore) -> dict[str, Callable[[], Any]]:
    """Return a call of each public name of each namespace, on namespaces and methods that are kept from now on."""
    found: dict[str, Callable[[], Any]] = {}
    for part in NAMESPACES:
        namespace = getattr(core, part)
        for name in (name for name in dir(namespace) if not name.startswith("_")):
            if isinstance(inspect.getattr_static(namespace, name), property):
                found[f"{part}.{name}"] = partial(getattr, namespace, name)
            else:
                method = getattr(namespace, name)
                positional, named = anything(method)
                found[f"{part}.{name}"] = partial(method, *positional, **named)
    return found


def outcome(call: Callable[[], Any]) -> object:
    try:
        return call()
    except AnalyticsError as error:
        return type(error)


def admin_named_bob(shop: SmallCore) -> AnalyticsCore:
    user = shop.core.users.create({"username": "bob", "first_name": "Bob", "roles": [1]})
    assert user.id == 2
    return shop.core.as_user(user.id)


def deactivated(shop: SmallCore) -> None:
    shop.core.users.update(2, {"active": False})


def deleted(shop: SmallCore) -> None:
    shop.core.users.delete(2)


def renamed_and_another_one_came(shop: SmallCore) -> None:
    shop.core.users.update(2, {"active": False, "username": "former"})
    shop.core.users.create({"username": "bob", "first_name": "New", "roles": [1]})


@pytest.mark.slow
@pytest.mark.parametrize("change", [deactivated, deleted, renamed_and_another_one_came])
@pytest.mark.parametrize("key", [2, "bob", "record"])
def test_each_public_call_of_a_kept_namespace_is_refused_when_its_user_is_gone(
    shop: SmallCore, change: Callable[[SmallCore], None], key: int | str
) -> None:
    user = admin_named_bob(shop)._actor().user
    bob = shop.core.as_user(user if key == "record" else key)
    methods = calls(bob)
    assert len(methods) > 120
    change(shop)
    assert {name: outcome(call) for name, call in methods.items()} == dict.fromkeys(methods, ActorRequiredError)


def test_every_namespace_of_the_facade_is_one_that_may_be_kept(shop: SmallCore) -> None:
    assert len(NAMESPACES) >= 16
    assert all(isinstance(getattr(shop.core, part), Namespace) for part in NAMESPACES)


def test_a_kept_namespace_has_the_roles_of_the_moment(shop: SmallCore) -> None:
    bob = admin_named_bob(shop)
    users, charts, create = bob.users, bob.charts, bob.databases.create
    assert users.list().count == 2
    shop.core.users.update(2, {"roles": []})
    with pytest.raises(AccessError):
        create({"database_name": "x", "orm_uri": "sqlite://"})
    with pytest.raises(DatasetAccessError):
        charts.data(COUNT)
    with pytest.raises(AccessError):
        users.update(2, {"roles": [1]})
    shop.core.users.update(2, {"roles": [1]})
    assert charts.data(COUNT).results[0].data == [{"count": 2}]


@pytest.mark.parametrize("change", [deactivated, deleted])
def test_a_user_whom_the_host_vouches_for_acts_while_the_directory_has_them_active(
    shop: SmallCore, change: Callable[[SmallCore], None]
) -> None:
    given = replace(admin_named_bob(shop)._actor().user, attributes=(("tenant", "7"),))
    charts = shop.core.as_user(given).charts
    stranger = shop.core.as_user(replace(given, id=900, username="stranger")).charts
    assert charts.data(COUNT).results[0].data == stranger.data(COUNT).results[0].data == [{"count": 2}]
    shop.core.users.update(2, {"roles": []})  # the host's word on roles goes before the directory's
    assert charts.data(COUNT).results[0].data == [{"count": 2}]
    change(shop)
    with pytest.raises(ActorRequiredError):
        charts.data(COUNT)
    assert stranger.data(COUNT).results[0].data == [{"count": 2}]  # whom the directory never knew


@pytest.mark.parametrize("changed", [{}, {"attributes": (("tenant", "7"),)}, {"id": 900, "username": "stranger"}])
def test_a_user_who_acts_again_and_again_is_looked_up_once(shop: SmallCore, changed: dict[str, Any]) -> None:
    user = replace(admin_named_bob(shop)._actor().user, **changed)
    assert shop.core.as_user(user)._actor().user == user
    with statements_of(shop.core) as seen:
        shop.core.as_user(user)
    assert seen == []


def test_an_iterator_that_goes_on_asks_again_at_each_step(shop: SmallCore) -> None:
    bob = admin_named_bob(shop)
    chart = {"slice_name": "c", "datasource_id": 1, "datasource_type": "table", "query_context": json.dumps(COUNT)}
    ids = [bob.charts.create(chart).id for _ in range(3)]
    steps = bob.cache.warm_up_many(ids)
    assert next(steps).viz_error is None
    deactivated(shop)
    with pytest.raises(ActorRequiredError):
        next(steps)


class WaitingRunner:
    """A job runner that runs its jobs when the test says so."""

    is_local = True

    def __init__(self) -> None:
        self.works: list[Callable[[], None]] = []

    def start(self, run_job: Callable[[str], None]) -> None:
        self._run_job = run_job

    def submit(self, job_id: str, *, queue: str = "") -> None:
        self.works.append(lambda: self._run_job(job_id))

    def close(self) -> None:
        self.works.clear()


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[tuple[SmallCore, WaitingRunner]]:
    runner = WaitingRunner()
    with small_core(tmp_path, ports={"jobs": runner}) as world:
        world.orders()
        yield world, runner


def without_roles(shop: SmallCore) -> None:
    shop.core.users.update(2, {"roles": []})


REFUSALS = [(deactivated, ActorRequiredError), (deleted, ActorRequiredError), (without_roles, DatasetAccessError)]


@pytest.mark.parametrize(("change", "refusal"), REFUSALS)
def test_a_job_runs_with_the_rights_of_the_moment_it_starts(
    waiting: tuple[SmallCore, WaitingRunner], change: Callable[[SmallCore], None], refusal: type[AnalyticsError]
) -> None:
    shop, runner = waiting
    job = admin_named_bob(shop).charts.submit(COUNT)
    change(shop)
    runner.works[0]()
    states = [job.state for job in shop.core.jobs.list().result]
    assert states == ([] if change is deleted else ["failed"])  # the jobs of a deleted person go with them
    with pytest.raises(refusal):
        job.result(1)


@pytest.mark.parametrize(("change", "refusal"), REFUSALS)
def test_the_result_of_a_job_is_read_with_the_rights_of_the_moment(
    waiting: tuple[SmallCore, WaitingRunner], change: Callable[[SmallCore], None], refusal: type[AnalyticsError]
) -> None:
    shop, runner = waiting
    job = admin_named_bob(shop).charts.submit(COUNT)
    runner.works[0]()
    assert job.result(1).results[0].data == [{"count": 2}]
    change(shop)
    with pytest.raises(refusal):
        job.result(1)


def test_the_result_of_a_job_is_not_for_whom_another_rule_binds_since(waiting: tuple[SmallCore, WaitingRunner]) -> None:
    shop, runner = waiting
    job = admin_named_bob(shop).charts.submit(COUNT)
    runner.works[0]()
    rule = {"name": "r", "clause": "country = 'France'", "filter_type": "Base", "roles": [], "tables": [1]}
    shop.core.row_level_security.create(rule)
    with pytest.raises(JobNotFoundError):
        job.result(1)


def test_a_call_has_one_actor_from_its_beginning_to_its_end(shop: SmallCore) -> None:
    """Calls of a namespace by itself, inside an open unit of work too, do not ask the store who acts."""
    bob = admin_named_bob(shop)
    charts, explore = bob.charts, bob.explore
    requested: list[str] = []
    for namespace in (charts, explore):
        make = namespace._make
        assert make is not None
        namespace._make = lambda make=make: requested.append("") or make()  # type: ignore[assignment,misc]
    charts.list()
    charts.data(COUNT)
    explore.advanced_data_type("port", ["80"])  # which reads another public member
    assert len(requested) == 3


@pytest.mark.parametrize("end", ["expiry", "revocation", "deleted dashboard"])
def test_what_is_kept_of_a_guest_ends_with_their_token(tmp_path: Path, end: str) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", metadata_freshness_s=3600) as world:
        guest = world.guest()
        charts, dashboards, data = guest.charts, guest.dashboards, guest.charts.data
        methods = [
            lambda: charts.get(1),
            charts.list,
            lambda: data(1),
            lambda: dashboards.get(1),
            dashboards.list,
            lambda: dashboards.charts(1),
            lambda: dashboards.datasets(1),
            lambda: dashboards.filter_options(1, "f"),
        ]
        assert data(1).results[0].error is None
        match end:
            case "expiry":
                later(world, 3_600)
            case "revocation":
                world.admin.embedded.revoke_guest_tokens(dashboard_id=1)
            case _:
                world.admin.dashboards.delete(1)
        assert [outcome(call) for call in methods] == [GuestTokenError] * len(methods)
