"""A guest walks through logs, stored form data, permalinks and the cache of a store with content, and all else.

What is refused here works for an administrator with the same arguments, and nothing in the store changes by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.doors import NAMESPACES, closed_doors, methods
from tests.support.guests import GuestWorld, guest_world

from analytics_core import AnalyticsCore
from analytics_core._content.storage.tables import METADATA
from analytics_core.errors import ErrorType, GuestAccessError

FORM = {"datasource_id": 1, "datasource_type": "table", "chart_id": 1, "form_data": '{"viz_type": "table"}'}
EXPLORED = {"formData": {"datasource": "1__table", "slice_id": 1, "viz_type": "table"}}
FILTERED = {"dataMask": {"NATIVE_FILTER-city": {"filterState": {"value": ["Bonn"]}}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A world in whose store an administrator keeps things about the guest's dashboard and chart."""

    world: GuestWorld
    guest: AnalyticsCore
    form: str
    chart_link: str
    dashboard_link: str

    @property
    def admin(self) -> AnalyticsCore:
        return self.world.admin


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    shop = tmp_path_factory.mktemp("walk") / "shop.db"
    with guest_world(f"sqlite:///{shop}") as world:
        yield Stored(
            world=world,
            guest=world.guest(),
            form=world.admin.explore.create_form_data(FORM),
            chart_link=world.admin.permalinks.create_for_chart(EXPLORED).key,
            dashboard_link=world.admin.permalinks.create_for_dashboard(1, FILTERED).key,
        )


def rows(world: Stored) -> dict[str, list[Any]]:
    """Return everything that is in the store."""
    with world.admin._runtime.content.store._engine.connect() as connection:
        tables = sorted(METADATA.tables.values(), key=lambda table: table.name)
        return {table.name: sorted(map(repr, connection.execute(sa.select(table)))) for table in tables}


Call = Callable[[AnalyticsCore, Stored], Any]
CALLS: dict[str, Call] = {
    "logs.create": lambda core, _stored: core.logs.create({"action": "dashboard.view", "dashboard_id": 1}),
    "logs.get": lambda core, _stored: core.logs.get(1),
    "logs.list": lambda core, _stored: core.logs.list(),
    "logs.recent_activity": lambda core, _stored: core.logs.recent_activity(),
    "logs.prune": lambda core, _stored: core.logs.prune(30),
    "logs.related": lambda core, _stored: core.logs.related("user"),
    "logs.distinct": lambda core, _stored: core.logs.distinct("action"),
    "explore.create_form_data": lambda core, _stored: core.explore.create_form_data(FORM),
    "explore.get_form_data": lambda core, walk: core.explore.get_form_data(walk.form),
    "explore.update_form_data": lambda core, walk: core.explore.update_form_data(walk.form, FORM),
    "explore.delete_form_data": lambda core, walk: core.explore.delete_form_data(walk.form),
    "explore.advanced_data_types": lambda core, _stored: core.explore.advanced_data_types,
    "explore.advanced_data_type": lambda core, _stored: core.explore.advanced_data_type("port", ["80"]),
    "explore.context": lambda core, walk: core.explore.context(permalink_key=walk.chart_link),
    "permalinks.create_for_chart": lambda core, _stored: core.permalinks.create_for_chart(EXPLORED),
    "permalinks.get_for_chart": lambda core, walk: core.permalinks.get_for_chart(walk.chart_link),
    "permalinks.create_for_dashboard": lambda core, _stored: core.permalinks.create_for_dashboard(1, FILTERED),
    "permalinks.get_for_dashboard": lambda core, walk: core.permalinks.get_for_dashboard(walk.dashboard_link),
    "permalinks.prune": lambda core, _stored: core.permalinks.prune(30),
    "cache.invalidate": lambda core, _stored: core.cache.invalidate({"datasource_uids": ["1__table"]}),
    "cache.warm_up_chart": lambda core, _stored: core.cache.warm_up_chart({"chart_id": 1}),
    "cache.warm_up_dataset": lambda core, _stored: core.cache.warm_up_dataset(
        {"db_name": "shop", "table_name": "sales"}
    ),
    "cache.warm_up_many": lambda core, _stored: core.cache.warm_up_many([1]),
    "cache.submit_warm_up": lambda core, _stored: core.cache.submit_warm_up([1]).result(30),
}


def test_every_method_of_these_namespaces_is_walked(walk: Stored) -> None:
    namespaces = ("logs", "explore", "permalinks", "cache")
    found = {f"{name}.{method}" for name in namespaces for method in methods(walk.admin, name)}
    assert found == CALLS.keys() - {"explore.advanced_data_types"}  # an attribute


@pytest.mark.slow
@for_each("name", CALLS)
def test_a_guest_is_refused_what_works_for_others(walk: Stored, name: str) -> None:
    before = rows(walk)
    with pytest.raises(GuestAccessError) as rejection:
        CALLS[name](walk.guest, walk)
    assert (rejection.value.status, rejection.value.error_type) == (403, ErrorType.DASHBOARD_SECURITY_ACCESS_ERROR)
    assert rows(walk) == before
    if name != "explore.delete_form_data":  # the one whose record the others need
        CALLS[name](walk.admin, walk)


@pytest.mark.slow
def test_the_whole_walk_leaves_the_store_as_it_was(walk: Stored) -> None:
    before, walked = rows(walk), 0
    for namespace in NAMESPACES:
        for name, positional, named in closed_doors(walk.admin, namespace):
            with pytest.raises(GuestAccessError):
                getattr(getattr(walk.guest, namespace), name)(*positional, **named)
            walked += 1
    assert walked > 100
    assert rows(walk) == before


def test_what_a_guest_may_do_writes_nothing_either(walk: Stored) -> None:
    before, guest = rows(walk), walk.guest
    assert {row["city"] for row in guest.charts.data(1).raise_for_error().results[0].data} == {"Bonn", "Kiel"}
    assert guest.dashboards.filter_options(1, "NATIVE_FILTER-city")
    for answer in (guest.charts.get(1), guest.dashboards.get(1), *guest.charts.list(), *guest.dashboards.list()):
        assert answer.to_payload()
    assert guest.dashboards.charts(1)
    assert guest.dashboards.datasets(1)
    assert rows(walk) == before
