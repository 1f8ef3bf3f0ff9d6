"""What changes the SQL of a dataset takes the right to write SQL: owning the dataset does not do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.tenant_world import TenantWorld, ask, tenant_world

from analytics_core.errors import AnalyticsError, DatabaseAccessError

SQL = "SELECT id, region FROM sales WHERE region = {{ wanted }}"
COLUMNS = [{"column_name": "id"}, {"column_name": "region"}]
COUNT = {"metric_name": "count", "expression": "COUNT(*)"}
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "sql": {"sql": "SELECT 1 AS id, tenant AS region FROM sales"},
    "schema": {"schema": "main"},
    "template parameters": {"template_params": '{"wanted": "west"}'},
    "no template parameters": {"template_params": None},
    "fetch values predicate": {"fetch_values_predicate": "id < 0"},
    "extra": {"extra": '{"a": 1}'},
    "calculated column": {"columns": [*COLUMNS, {"column_name": "made", "expression": "id + 1"}]},
    "expression of a column": {"columns": [COLUMNS[0], {"column_name": "region", "expression": "'x'"}]},
    "format of dates": {"columns": [COLUMNS[0], {"column_name": "region", "python_date_format": "%Y"}]},
    "type of a column": {"columns": [COLUMNS[0], {"column_name": "region", "type": "INTEGER"}]},
    "temporal column": {"columns": [COLUMNS[0], {"column_name": "region", "is_dttm": True}]},
    "advanced type": {"columns": [COLUMNS[0], {"column_name": "region", "advanced_data_type": "port"}]},
    "extra of a column": {"columns": [COLUMNS[0], {"column_name": "region", "extra": '{"a": 1}'}]},
    "new metric": {"metrics": [COUNT, {"metric_name": "made", "expression": "MAX(id)"}]},
    "expression of a metric": {"metrics": [{"metric_name": "count", "expression": "COUNT(id)"}]},
    "extra of a metric": {"metrics": [{**COUNT, "extra": '{"a": 1}'}]},
}
HARMLESS: Mapping[str, Mapping[str, Any]] = {
    "description": {"description": "Sales of the west"},
    "cache timeout": {"cache_timeout": 60},
    "name of a column": {
        "columns": [COLUMNS[0], {"column_name": "region", "verbose_name": "Region", "groupby": False}]
    },
    "number format": {"metrics": [{**COUNT, "d3format": ",d", "warning_text": "estimated"}]},
    "less columns": {"columns": [COLUMNS[0]]},
    "no metric": {"metrics": []},
    "the same again": {"template_params": '{"wanted": "north"}', "sql": SQL, "columns": COLUMNS, "metrics": [COUNT]},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("rights")
    with tenant_world("sqlite", f"sqlite:///{folder}/shop.db", folder) as world:
        role = world.admin.roles.create({"name": "owners"})
        world.admin.roles.grant(role, on=("dataset", 1))
        world.admin.users.create({"username": "olga", "roles": [role.id]})
        yield world


@pytest.fixture
def virtual(world: TenantWorld) -> Iterator[int]:
    """A templated virtual dataset that olga owns, who has no grant on its database."""
    dataset = world.virtual("shown", "SELECT id, region FROM sales")
    parameters = '{"wanted": "north"}'
    owners = [1, next(user.id for user in world.admin.users.list(page_size=100).result if user.username == "olga")]
    world.admin.datasets.update(dataset, {"sql": SQL, "template_params": parameters, "owners": owners})
    yield dataset
    world.admin.datasets.delete(dataset)


@pytest.mark.slow
@for_each("change", CHANGES)
def test_an_owner_without_the_right_to_write_sql_does_not_change_it(
    world: TenantWorld, virtual: int, change: str
) -> None:
    before = world.admin.datasets.get(virtual)
    with pytest.raises(DatabaseAccessError, match="grant on the whole database"):
        world.user("olga").datasets.update(virtual, CHANGES[change])
    assert world.admin.datasets.get(virtual) == before


@for_each("change", [name for name in CHANGES if name != "no template parameters"])
def test_whoever_may_write_sql_changes_it(world: TenantWorld, virtual: int, change: str) -> None:
    world.admin.datasets.update(virtual, CHANGES[change])


@pytest.mark.slow
@pytest.mark.parametrize("change", HARMLESS)
def test_an_owner_changes_what_is_no_sql(world: TenantWorld, virtual: int, change: str) -> None:
    world.user("olga").datasets.update(virtual, HARMLESS[change])


def test_parameters_of_a_new_dataset_take_the_right_too(world: TenantWorld) -> None:
    role = world.admin.roles.create({"name": "readers of main"})
    world.admin.roles.grant(role, on=("schema", 1, "main"))
    world.admin.users.create({"username": "sam", "roles": [role.id]})
    requested = {"database_id": 1, "schema": "main", "table_name": "targets"}
    with pytest.raises(DatabaseAccessError, match="grant on the whole database"):
        world.user("sam").datasets.get_or_create({**requested, "template_params": '{"a": 1}'})
    assert world.user("sam").datasets.get_or_create(requested).template_params is None


@pytest.mark.parametrize(
    "value", ["north' OR '1'='1", "north') UNION SELECT id, tenant FROM sales --", "{{ 1 }}", "a\\' OR 1=1 --"]
)
def test_parameters_stand_in_the_sql_as_literals(world: TenantWorld, virtual: int, value: str) -> None:
    world.admin.datasets.update(virtual, {"template_params": json.dumps({"wanted": value})})
    assert ask(world.admin, {"columns": ["id"]}, dataset=virtual).data == []
    world.admin.datasets.update(virtual, {"template_params": '{"wanted": "west"}'})
    assert [row["id"] for row in ask(world.admin, {"columns": ["id"]}, dataset=virtual).data] == [5]


def test_a_parameter_cannot_be_the_name_of_a_table(world: TenantWorld, virtual: int) -> None:
    with pytest.raises(AnalyticsError):
        world.admin.datasets.update(
            virtual, {"sql": "SELECT id FROM sales_{{ wanted }}", "template_params": '{"wanted": "north"}'}
        )


def test_metrics_of_a_new_dataset_take_the_right_to_write_sql(world: TenantWorld) -> None:
    role = world.admin.roles.create({"name": "of one schema, without SQL"})
    world.admin.roles.grant(role, on=("schema", 1, "main"))
    world.admin.users.create({"username": "siri", "roles": [role.id]})
    siri = world.host.as_user("siri")
    payload = {"database": 1, "table_name": "sales", "schema": "main"}
    with pytest.raises(DatabaseAccessError):
        siri.datasets.create({**payload, "metrics": [{"metric_name": "made", "expression": "MAX(id)"}]})
    made = siri.datasets.create({**payload, "metrics": [COUNT]})
    assert [metric.metric_name for metric in made.metrics] == ["count"]
    world.admin.datasets.delete(made.id)
