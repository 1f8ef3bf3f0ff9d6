"""A host's own people, with roles of the store by name, and a host's own table of acts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.datasource import Dataset
from analytics_core.errors import AccessError, ActorRequiredError, ChartAccessError, DatabaseAccessError, SettingsError
from analytics_core.policy import RULES, HasRole, Permission, Policy, Relationship
from analytics_core.ports import User

TABLE = {
    **RULES,
    Permission.WRITE_DATABASE: {Relationship.ADMINISTRATOR, HasRole("engineers")},
    Permission.READ_CHART: {Relationship.ADMINISTRATOR, Relationship.OWNER},
    Permission.READ_DASHBOARD: RULES[Permission.READ_DASHBOARD] | {HasRole("auditors")},
}


class Staff:
    """People by id; 70 is the administrator who acts in `small_core`."""

    def __init__(self) -> None:
        self.people = {70: User(id=70, username="ada", role_names=("Administrators",))}

    def find(self, key: int | str) -> User | None:
        return next((user for user in self.people.values() if key in (user.id, user.username)), None)

    def hire(self, number: int, name: str, *groups: str, **more: str) -> None:
        self.people[number] = User(
            id=number, username=name, role_names=groups, attributes=tuple(more.items()), role_ids=()
        )


@pytest.fixture
def staff() -> Staff:
    return Staff()


@pytest.fixture
def shop(tmp_path: Path, staff: Staff) -> Iterator[SmallCore]:
    with small_core(tmp_path, people=staff, policy=Policy(TABLE), metadata_freshness_s=0) as made:
        made.orders()
        for name in ("engineers", "readers", "auditors"):
            made.core.roles.create({"name": name})
        made.core.roles.grant("readers", on=("dataset", 1))
        yield made


def _as(shop: SmallCore, staff: Staff, name: str, *groups: str, **attributes: str) -> AnalyticsCore:
    staff.hire(len(staff.people) + 100, name, *groups, **attributes)
    return shop.core.as_user(name)


def test_roles_that_a_directory_names_give_their_grants_and_unknown_ones_nothing(shop: SmallCore, staff: Staff) -> None:
    reader = _as(shop, staff, "rea", "no such role", "readers")
    assert [dataset.table_name for dataset in reader.datasets.list().result] == ["orders"]
    assert _as(shop, staff, "una", "no such role").datasets.list().count == 0


@pytest.mark.parametrize("change", ["renamed", "deleted"])
def test_who_is_an_administrator_by_the_word_of_a_host_keeps_the_role(
    shop: SmallCore, staff: Staff, change: str
) -> None:
    rulers = shop.core.roles.create({"name": "rulers", "is_admin": True})
    ruler = _as(shop, staff, "rue", "rulers")
    with pytest.raises(AccessError, match="ask another one"):
        ruler.roles.update(rulers.id, {"name": "r"}) if change == "renamed" else ruler.roles.delete(rulers.id)
    assert rulers.id in [role.id for role in ruler.roles.list().result]
    second = _as(shop, staff, "two", "rulers", "Administrators")
    second.roles.delete(rulers.id)
    assert rulers.id not in [role.id for role in second.roles.list().result]


@pytest.mark.parametrize("name", ["administrators", "ADMINISTRATORS", "Administrators ", ""])
def test_a_role_is_held_only_by_its_exact_name(shop: SmallCore, staff: Staff, name: str) -> None:
    with pytest.raises(AccessError):
        _as(shop, staff, "eve", name).roles.list()


@pytest.mark.server
@pytest.mark.parametrize("name", ["administrators", "Administrators "])
def test_a_server_that_finds_names_in_any_case_gives_no_role_by_another_writing(
    tmp_path: Path, staff: Staff, name: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("make_mariadb_database")()
    with small_core(tmp_path, people=staff, metadata_url=url) as made, pytest.raises(AccessError):
        _as(made, staff, "eve", name).roles.list()


def test_what_the_directory_says_later_counts(shop: SmallCore, staff: Staff) -> None:
    reader = _as(shop, staff, "rea", "readers")
    number = next(user.id for user in staff.people.values() if user.username == "rea")
    assert reader.datasets.list().count == 1
    staff.hire(number, "rea")
    assert reader.datasets.list().count == 0
    del staff.people[number]
    with pytest.raises(ActorRequiredError):
        reader.datasets.list()


def test_attributes_of_a_directory_bind_row_rules(shop: SmallCore, staff: Staff) -> None:
    roles = {role.name: role.id for role in shop.core.roles.list().result}
    rule = {
        "name": "own",
        "filter_type": "Regular",
        "roles": [roles["readers"]],
        "tables": [1],
        "clause": "country = {{ current_user_attribute('country') }}",
    }
    shop.core.row_level_security.create(rule)
    question = {"datasource": {"id": 1, "type": "table"}, "queries": [{"metrics": ["count"]}]}
    counts = {
        country: _as(shop, staff, country, "readers", country=country).charts.data(question).results[0].data
        for country in ("France", "Peru")
    }
    assert {name: [dict(row) for row in rows] for name, rows in counts.items()} == {
        "France": [{"count": 1}],
        "Peru": [{"count": 0}],
    }


def test_a_role_of_the_table_creates_databases_and_changes_them_and_others_do_not(
    shop: SmallCore, staff: Staff
) -> None:
    payload = {"database_name": "second", "orm_uri": f"sqlite:///{shop.file}"}
    with pytest.raises(DatabaseAccessError, match="ask an administrator"):
        _as(shop, staff, "rea", "readers").databases.create(payload)
    engineer = _as(shop, staff, "eve", "engineers")
    assert engineer.databases.create(payload).database_name == "second"
    assert engineer.databases.list().count == 0  # to create is not to read


def test_a_standing_that_the_table_takes_away_opens_nothing_any_more(shop: SmallCore, staff: Staff) -> None:
    chart = shop.core.charts.create({"slice_name": "x", "datasource_id": 1, "datasource_type": "table"})
    reader = _as(shop, staff, "rea", "readers")
    assert reader.datasets.get(1).table_name == "orders"
    assert reader.charts.list().count == 0
    with pytest.raises(ChartAccessError):
        reader.charts.get(chart.id)


def test_a_role_of_the_table_reads_drafts_in_lists_and_one_by_one(shop: SmallCore, staff: Staff) -> None:
    draft = shop.core.dashboards.create({"dashboard_title": "Draft"})
    auditor, reader = _as(shop, staff, "ida", "auditors"), _as(shop, staff, "rea", "readers")
    assert (auditor.dashboards.list().count, reader.dashboards.list().count) == (1, 0)
    assert auditor.dashboards.get(draft.id).dashboard_title == "Draft"
    with pytest.raises(AccessError):
        auditor.dashboards.update(draft.id, {"css": ""})


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"read charts": {Relationship.OWNER}}, "'read charts'.*Permission.READ_CHART"),
        ({Permission.READ_CHART: {"readers"}}, "'readers' read this chart; use a Relationship, or HasRole"),
    ],
)
def test_a_table_that_would_bind_nobody_is_refused_at_the_start(
    rules: Mapping[Permission, set[Relationship]], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        Policy(rules)


def test_an_act_that_the_table_lacks_is_refused_to_administrators_too(tmp_path: Path, staff: Staff) -> None:
    table = {act: relationships for act, relationships in RULES.items() if act is not Permission.MANAGE_PEOPLE}
    with small_core(tmp_path, people=staff, policy=Policy(table)) as made, pytest.raises(AccessError):
        made.core.roles.create({"name": "x"})


class _NothingPersonal(Policy):
    """A host's own: nobody asks charts of datasets with a column of countries."""

    def can_read_chart(self, actor: Actor, chart: Chart, dataset: Dataset | None) -> bool:
        return dataset is None or "country" not in {column.column_name for column in dataset.columns}


def test_a_policy_of_its_own_may_look_at_the_columns_behind_a_chart_that_is_asked(tmp_path: Path) -> None:
    with small_core(tmp_path, policy=_NothingPersonal()) as made:
        payload = {"datasource_id": made.orders().id, "datasource_type": "table", "params": "{}"}
        chart = made.core.charts.create({"slice_name": "orders", "viz_type": "table", **payload})
        for call in (made.core.charts.get, made.core.charts.data):
            with pytest.raises(ChartAccessError):
                call(chart.id)
