"""A guest at every door of the facade: what is not named here is refused."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.doors import GUESTS_MAY, NAMESPACES, closed_doors, methods
from tests.support.guests import KEY, GuestWorld, chart, dashboard, guest_world

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.chart import Chart
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User
from analytics_core._records.repositories import ListQuery


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path_factory.mktemp('guests')}/shop.db", guest_token_max_life_s=9_999) as world:
        yield world


@pytest.fixture(scope="module")
def guest(world: GuestWorld) -> AnalyticsCore:
    return world.host.as_guest(world.token("acme", life_s=9_999))


def test_the_walk_meets_the_namespaces_that_there_are() -> None:
    assert {"charts", "dashboards", "databases", "datasets", "embedded", "users", "roles", "tags"} <= set(NAMESPACES)


@pytest.mark.slow
@for_each("namespace", NAMESPACES)
def test_a_guest_is_refused_everywhere_but_where_it_is_allowed(
    world: GuestWorld, guest: AnalyticsCore, namespace: str
) -> None:
    assert GUESTS_MAY.get(namespace, set()) <= set(methods(world.admin, namespace))
    for name, positional, named in closed_doors(world.admin, namespace):
        with pytest.raises(errors.GuestAccessError) as rejection:
            getattr(getattr(guest, namespace), name)(*positional, **named)
        assert rejection.value.status == 403
        assert rejection.value.error_type is errors.ErrorType.DASHBOARD_SECURITY_ACCESS_ERROR


def test_a_method_that_comes_later_is_refused_until_somebody_allows_it(guest: AnalyticsCore, world: GuestWorld) -> None:
    for namespace, allowed in GUESTS_MAY.items():
        door = getattr(guest, namespace)
        own = {name for kind in type(door).__mro__ for name in vars(kind) if not name.startswith("_")}
        assert own == allowed
        with pytest.raises(AttributeError):
            door.no_such_method  # noqa: B018 - reading it is the act


def test_lists_show_what_the_token_names_only(guest: AnalyticsCore) -> None:
    assert [item.id for item in guest.charts.list()] == [1, 2]
    assert [item.id for item in guest.dashboards.list()] == [1]
    assert guest.charts.list(filters=[{"col": "id", "op": "in", "val": [3, 4]}]).count == 0


def test_other_published_dashboards_on_the_same_dataset_stay_closed(world: GuestWorld, guest: AnalyticsCore) -> None:
    for key in (2, "2", "other", 99, "no-such-slug"):
        with pytest.raises(errors.DashboardAccessError) as rejection:
            guest.dashboards.get(key)
        assert rejection.value.message == f"the guest token does not open dashboard {key!r}"
    for call in (guest.dashboards.charts, guest.dashboards.datasets):
        for dashboard_id in (2, 99):
            with pytest.raises(errors.DashboardAccessError, match="does not open"):
                call(dashboard_id)


def test_answers_tell_nothing_of_people_roles_sql_and_connections(world: GuestWorld, guest: AnalyticsCore) -> None:
    world.admin.roles.create({"name": "secret role"})
    world.admin.users.update(1, {"first_name": "Augusta", "last_name": "Byron"})
    answers: list[Any] = [
        guest.dashboards.get(1),
        guest.charts.get(1),
        *guest.dashboards.list(),
        *guest.charts.list(),
        *guest.dashboards.charts(1),
        *guest.dashboards.datasets(1),
    ]
    text = " ".join(str(answer.to_payload()) for answer in answers)
    for hidden in ("Augusta", "Byron", "admin", "secret role", "SUM(", "SELECT", "sqlite", "'shop'", "[shop]"):
        assert hidden not in text
    assert "by city" in text
    assert "Augusta" in str(world.admin.charts.list().to_payload())


def test_people_cannot_be_found_out_by_filters(guest: AnalyticsCore) -> None:
    by_owner = {"col": "owners", "op": "eq", "val": 1}
    for listed in (guest.charts, guest.dashboards):
        for filters in ([by_owner], iter([by_owner]), [json.dumps(by_owner)]):
            with pytest.raises(errors.GuestAccessError):
                listed.list(filters=filters)
    for order in ("created_by", ["id", "-changed_by"], iter(["changed_by"])):
        with pytest.raises(errors.GuestAccessError):
            guest.dashboards.list(order_by=order)


def test_filters_that_can_be_read_once_count(guest: AnalyticsCore) -> None:
    assert guest.charts.list(filters=iter([{"col": "datasource_name", "op": "eq", "val": "sales"}])).count == 2
    nothing = {"col": "id", "op": "eq", "val": 99}
    assert guest.charts.list(filters=iter([nothing])).count == 0
    assert guest.dashboards.list(filters=iter([nothing])).count == 0
    assert [chart.id for chart in guest.charts.list(order_by=iter(["-id"]))] == [2, 1]


@for_each("filters", [{"col": "id"}, "id", ["id"], [None], [1], 5, [{"col": ["owners"]}]])
def test_filters_of_another_kind_are_refused_to_guests_as_to_everybody(guest: AnalyticsCore, filters: Any) -> None:
    for listed in (guest.charts, guest.dashboards):
        with pytest.raises(errors.PayloadError):
            listed.list(filters=filters)
        assert len(listed.list(filters=None)) > 0
        with pytest.raises(errors.PayloadError):
            listed.list(order_by=[{"owners": 1}])


@for_each("key", [[1], {}, None, "1", 1.0])
def test_what_is_no_id_opens_nothing(guest: AnalyticsCore, key: Any) -> None:
    with pytest.raises(errors.ChartAccessError):
        guest.charts.get(key)
    for call in (guest.dashboards.charts, guest.dashboards.datasets):
        with pytest.raises(errors.DashboardAccessError):
            call(key)


def test_a_guest_is_nobody_in_the_log_and_in_templates(tmp_path: Path) -> None:
    number = "{% if current_user_id() is none %}nobody{% endif %}"
    sql = f"SELECT city, '{{{{ current_username() }}}}' AS who, '{number}' AS number FROM sales"
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        made = world.admin.datasets.create({"database": 1, "table_name": "who", "sql": sql})
        world.admin.charts.create(chart("who", made.id, {"columns": ["who", "number"], "metrics": []}))
        world.admin.dashboards.update(1, {"position_json": layout(1, 2, 5)})
        request = world.request({"clause": "city = 'Bonn'"}, username="anna")
        answer = world.host.as_guest(world.admin.embedded.guest_token(request)).charts.data(5).raise_for_error()
        assert answer.results[0].data == [{"who": "anna", "number": "nobody"}]
        with world.host._runtime.content.store.unit_of_work() as unit:
            _, entries = unit.logs.list(ListQuery(page_size=500))
    assert {entry.user_id for entry in entries} <= {1, None}


def layout(*chart_ids: int) -> str:
    return str(dashboard("x", *chart_ids)["position_json"])


def test_a_guest_looks_like_nothing_that_opens_doors(guest: AnalyticsCore) -> None:
    assert repr(guest) == "<GuestCore>"
    for name in ("as_user", "as_guest", "run_job", "reseal_secrets", "create_first_administrator"):
        with pytest.raises(errors.GuestAccessError):
            getattr(guest, name)
    with pytest.raises(AttributeError):
        guest.no_such_part  # noqa: B018 - reading it is the act


def test_a_charts_answer_is_never_somebody_elses_job(world: GuestWorld, guest: AnalyticsCore) -> None:
    job = world.admin.charts.submit(1)
    with pytest.raises(errors.JobNotFoundError):
        guest.charts.job(job.job_id)
    with pytest.raises(errors.GuestAccessError):
        guest.jobs  # noqa: B018 - reading it is the act


def test_base_rules_bind_guests_and_rules_of_their_roles_do_too(world: GuestWorld) -> None:
    role = world.admin.roles.create({"name": "guests"})
    base = {"name": "base", "clause": "city <> 'Kiel'", "filter_type": "Base", "roles": [], "tables": [1]}
    rule = world.admin.row_level_security.create(base)
    try:
        assert cities(world.guest()) == {"Bonn"}
        world.admin.row_level_security.update(rule.id, {"roles": [role.id]})
        assert cities(world.guest()) == {"Bonn"}
        world.admin.row_level_security.update(rule.id, {"filter_type": "Regular"})
        assert cities(world.guest()) == {"Bonn", "Kiel"}
    finally:
        world.admin.row_level_security.delete(rule.id)


@pytest.mark.parametrize("clause", ["city = {{ current_user_attribute('layoffs') }}", "gone = 1"])
def test_a_rule_that_stops_a_guest_is_told_by_its_number_and_not_by_its_name(tmp_path: Path, clause: str) -> None:
    names = ("id", "tenant", "city", "amount", "day", "gone")
    columns = [{"column_name": name, "type": "VARCHAR(20)"} for name in names]
    rule = {"name": "hide the layoffs", "filter_type": "Base", "roles": [1], "tables": [1], "clause": clause}
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as own:
        with closing(sqlite3.connect(tmp_path / "shop.db")) as shop:
            shop.execute("ALTER TABLE sales ADD COLUMN gone TEXT")
        own.admin.datasets.update(1, {"columns": columns})
        own.admin.row_level_security.create(rule)
        own.admin.datasets.update(1, {"columns": columns[:-1]})
        guest = own.guest("acme")
        for ask in (
            lambda: guest.charts.data(1),
            lambda: guest.dashboards.filter_options(1, "NATIVE_FILTER-city"),
        ):
            with pytest.raises(errors.QueryError, match=r"row rule '?1") as rejection:
                ask().raise_for_error()
            assert "layoffs" not in str(rejection.value.to_payload())
        role = own.admin.roles.create({"name": "readers"})
        own.admin.roles.grant(role, on=("dataset", 1))
        own.admin.users.create({"username": "anna", "roles": [role.id]})
        with pytest.raises(errors.QueryError, match="hide the layoffs"):
            own.host.as_user("anna").charts.data(1).raise_for_error()


def test_roles_of_guests_count_for_rules_and_open_nothing(tmp_path: Any) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", guest_roles=("Administrators",)) as world:
        rule = {"name": "r", "clause": "city = 'Kiel'", "filter_type": "Regular", "roles": [1], "tables": [1]}
        world.admin.row_level_security.create(rule)
        guest = world.guest()
        assert cities(guest) == {"Kiel"}
        for call in (lambda: guest.databases, lambda: guest.charts.data(3), lambda: guest.dashboards.get(2)):
            with pytest.raises(errors.AccessError):
                call()
    with guest_world(f"sqlite:///{tmp_path}/other.db", guest_roles=("nobody",)) as world:
        token = world.token("acme")
        with pytest.raises(errors.SettingsError, match="nobody"):
            world.host.as_guest(token)


def test_attributes_of_the_token_serve_stored_rules(world: GuestWorld) -> None:
    clause = "city IN ({{ current_user_attribute('cities') }})"
    rule = {"name": "mine", "clause": clause, "filter_type": "Base", "roles": [], "tables": [1]}
    stored = world.admin.row_level_security.create(rule)
    try:
        assert cities(world.guest(attributes={"cities": ["Kiel", "Oslo"]})) == {"Kiel"}
        with pytest.raises(errors.TemplateError):
            world.guest().charts.data(1).raise_for_error()
    finally:
        world.admin.row_level_security.delete(stored.id)


def test_a_database_that_is_asked_in_the_name_of_its_users_has_no_guests(tmp_path: Any) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        world.admin.databases.update(1, {"impersonate_user": True})
        with pytest.raises(errors.DatabaseAccessError, match="guests are none"):
            world.guest().charts.data(1)


def test_what_a_host_says_of_rows_binds_guests_too(tmp_path: Any) -> None:
    seen: list[User] = []

    class Source:
        def row_filters(self, user: User, dataset: Any) -> Any:
            seen.append(user)
            return (RowFilter(name="host", clause="city = 'Kiel'"),)

    with guest_world(f"sqlite:///{tmp_path}/shop.db", metadata_url=f"sqlite:///{tmp_path}/store.db") as world:
        token = world.token("acme", username="anna")
        store, settings = f"sqlite:///{tmp_path}/store.db", Settings(secret_key=KEY, data_roots=(tmp_path,))
        with AnalyticsCore(settings, metadata_url=store, clock=world.clock, row_filters=[Source()]) as host:
            assert cities(host.as_guest(token)) == {"Kiel"}
    assert {(user.id, user.username) for user in seen} == {(0, "anna")}


def cities(guest: AnalyticsCore) -> set[str]:
    return {row["city"] for row in guest.charts.data(1).raise_for_error().results[0].data}


class _NothingDrawnFromADataset(Policy):
    """A host's own: guests read no chart that has a dataset."""

    def can_read_chart(self, actor: Actor, chart: Chart, dataset: Dataset | None) -> bool:
        return super().can_read_chart(actor, chart, dataset) and (actor.guest is None or dataset is None)


def test_a_hosts_own_policy_sees_the_dataset_of_a_chart_that_a_guest_asks(tmp_path: Path) -> None:
    with guest_world(f"sqlite:///{tmp_path}/shop.db", policy=_NothingDrawnFromADataset()) as own:
        guest = own.guest()
        for call in (guest.charts.get, guest.charts.data, guest.charts.submit):
            with pytest.raises(errors.ChartAccessError):
                call(1)
