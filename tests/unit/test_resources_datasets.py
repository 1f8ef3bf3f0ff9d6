"""Datasets: what reflection finds, who may read and change them, and the computed fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._records.chart import DATASET_TYPES
from analytics_core.errors import (
    AlreadyExistsError,
    DatabaseAccessError,
    DatabaseError,
    DatabaseNotFoundError,
    DatasetAccessError,
    ErrorType,
    InUseError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
    QueryError,
    VirtualDatasetError,
)
from analytics_core.models.enums import DatasourceType
from analytics_core.testing.clock import FixedClock


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        yield made


@pytest.fixture
def core(shop: SmallCore) -> AnalyticsCore:
    return shop.core


def virtual(core: AnalyticsCore, sql: str, name: str = "v") -> Any:
    return core.datasets.create({"database": 1, "table_name": name, "sql": sql})


# ------------------------------------------------------------------------------------------------------------- create
def test_a_table_becomes_a_dataset_with_its_columns(shop: SmallCore) -> None:
    made = shop.orders()
    assert [(c.column_name, c.type, c.is_dttm) for c in made.columns] == [
        ("id", "INTEGER", False),
        ("day", "DATE", True),
        ("country", "VARCHAR(20)", False),
        ("amount", "DECIMAL(10, 2)", False),
    ]
    assert [c.type_generic for c in made.columns] == [0, 2, 1, 0]
    assert all(c.groupby and c.filterable and c.is_active and c.uuid and c.id for c in made.columns)


def test_a_new_dataset_counts_rows_and_has_a_main_time_column(shop: SmallCore) -> None:
    made = shop.orders()
    assert [(m.metric_name, m.expression) for m in made.metrics] == [("count", "COUNT(*)")]
    assert made.main_dttm_col == "day"


def test_a_table_without_times_has_no_main_time_column(shop: SmallCore) -> None:
    shop.run("CREATE TABLE plain (a INTEGER)")
    assert shop.core.datasets.create({"database": 1, "table_name": "plain"}).main_dttm_col is None


def test_the_creator_owns_a_dataset_unless_owners_are_named(shop: SmallCore) -> None:
    assert [owner.id for owner in shop.orders().owners] == [1]
    other = shop.core.users.create({"username": "other"})
    made = shop.core.datasets.create({"database": 1, "table_name": "people", "owners": [other.id]})
    assert [owner.id for owner in made.owners] == [other.id]


def test_somebody_who_names_others_stays_an_owner(shop: SmallCore) -> None:
    reader = shop.reader(("database", 1))
    made = reader.datasets.create({"database": 1, "table_name": "orders", "owners": [1]})
    assert [owner.first_name for owner in made.owners] == ["Ada", "Reader"]


def test_an_owner_who_does_not_exist_is_refused(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="there is no user 99"):
        shop.orders(owners=[1, 99])


def test_a_table_that_does_not_exist_is_refused_with_the_nearest_one(core: AnalyticsCore) -> None:
    with pytest.raises(DatabaseError, match="did you mean 'orders'") as caught:
        core.datasets.create({"database": 1, "table_name": "order"})
    assert caught.value.error_type is ErrorType.TABLE_DOES_NOT_EXIST_ERROR


def test_a_database_that_does_not_exist_is_refused(core: AnalyticsCore) -> None:
    with pytest.raises(DatabaseNotFoundError):
        core.datasets.create({"database": 99, "table_name": "orders"})


def test_a_table_is_registered_once(shop: SmallCore) -> None:
    shop.orders()
    with pytest.raises(AlreadyExistsError):
        shop.orders()
    with pytest.raises(AlreadyExistsError):
        shop.orders(schema="")


# ------------------------------------------------------------------------------------------------------------ virtual
def test_a_select_becomes_a_dataset_with_its_columns(core: AnalyticsCore) -> None:
    made = virtual(core, "SELECT day, amount * 2 AS twice, upper(country) AS land FROM orders;")
    assert [c.column_name for c in made.columns] == ["day", "twice", "land"]
    assert (made.kind, made.main_dttm_col, made.select_star) == ("virtual", "day", None)


@for_each(
    "sql", ["", "DROP TABLE orders", "SELECT 1; SELECT 2", "DELETE FROM orders", "not sql at all", "SELECT 1 AS a -- x"]
)
def test_only_one_select_becomes_a_virtual_dataset(shop: SmallCore, sql: str) -> None:
    if sql.startswith("SELECT 1 AS"):
        assert [c.column_name for c in virtual(shop.core, sql).columns] == ["a"]
    elif sql:
        with pytest.raises(QueryError):
            virtual(shop.core, sql)
    else:
        with pytest.raises(DatabaseError):  # no SQL: the table of this name is looked for
            virtual(shop.core, sql)


def test_two_columns_of_one_name_are_refused(core: AnalyticsCore) -> None:
    with pytest.raises(VirtualDatasetError, match="'a'"):
        virtual(core, "SELECT id AS a, amount AS a FROM orders")


def test_templates_of_a_virtual_dataset_are_rendered_before_it_is_read(core: AnalyticsCore) -> None:
    made = virtual(core, "SELECT id FROM orders WHERE {{ 1 + 1 }} = 2")
    assert [c.column_name for c in made.columns] == ["id"]


def test_a_virtual_dataset_needs_a_grant_on_the_whole_database(shop: SmallCore) -> None:
    reader = shop.reader(("schema", 1, "main"))
    with pytest.raises(DatabaseAccessError, match="whole database"):
        virtual(reader, "SELECT * FROM people")


# --------------------------------------------------------------------------------------------------------------- read
def test_computed_fields_are_filled(shop: SmallCore) -> None:
    made = shop.orders()
    assert (made.name, made.datasource_name, made.datasource_type, made.kind) == (
        "orders",
        "orders",
        "table",
        "physical",
    )
    assert made.uid == f"{made.id}__table"
    assert made.granularity_orm == (("day", "day"),)
    assert ("P1D", "Day") in (made.time_grain_orm or ())
    assert (made.verbose_map or {})["count"] == "COUNT(*)"
    assert (made.verbose_map or {})["__timestamp"] == "Time"
    assert ('["amount", true]', "amount [asc]") in (made.order_by_choices or ())
    assert made.database.backend == "sqlite"
    assert made.url is None
    assert "LIMIT 100" in (made.select_star or "")
    assert '"orders"' in (made.select_star or "")


def test_formats_are_gathered_from_the_metrics(shop: SmallCore) -> None:
    metric = {"metric_name": "sum", "expression": "SUM(amount)", "d3format": ",.2f", "currency": '{"symbol": "EUR"}'}
    changed = shop.core.datasets.update(shop.orders().id, {"metrics": [metric]})
    assert changed.column_formats == {"sum": ",.2f"}
    assert changed.currency_formats == {"sum": {"symbol": "EUR"}}


def test_times_are_told_as_of_now(tmp_path: Path) -> None:
    clock = FixedClock(datetime(2024, 1, 1, tzinfo=UTC))
    with small_core(tmp_path, ports={"clock": clock}) as shop:
        made = shop.orders()
        clock.move_to(datetime(2026, 1, 1, tzinfo=UTC))
        assert shop.core.datasets.get(made.id).changed_on_humanized == "2 years ago"
        assert made.changed_on == datetime(2024, 1, 1, tzinfo=UTC)


def test_a_host_gives_the_addresses(tmp_path: Path) -> None:
    with small_core(
        tmp_path, url_for=lambda kind, values: f"/{kind}/{values['id']}" if "id" in values else None
    ) as shop:
        assert shop.orders().url == "/dataset/1"


def test_an_answer_is_plain_json_with_the_contract_names(shop: SmallCore) -> None:
    payload = json.loads(json.dumps(shop.orders().to_payload()))
    assert payload["schema"] is None
    assert payload["columns"][1]["column_name"] == "day"
    assert "schema_name" not in payload


# ------------------------------------------------------------------------------------------------------------- update
def test_an_update_replaces_lists_and_keeps_known_columns(shop: SmallCore) -> None:
    made = shop.orders()
    day = made.columns[1]
    columns = [{"id": day.id, "column_name": "day", "verbose_name": "Day"}, {"column_name": "x", "expression": "1"}]
    changed = shop.core.datasets.update(made.id, {"columns": columns, "description": "d"})
    assert [(c.column_name, c.id == day.id, c.uuid == day.uuid) for c in changed.columns] == [
        ("day", True, True),
        ("x", False, False),
    ]
    assert shop.core.datasets.get(made.id).to_payload() == changed.to_payload()


def test_an_update_to_another_table_reads_its_columns(shop: SmallCore) -> None:
    changed = shop.core.datasets.update(shop.orders().id, {"table_name": "people"})
    assert [c.column_name for c in changed.columns] == ["name", "born"]
    assert changed.main_dttm_col == "born"


def test_an_update_cannot_lead_where_the_actor_has_no_grant(shop: SmallCore) -> None:
    made = shop.orders()
    reader = shop.reader(("dataset", made.id))
    owner_ids = [1, reader.users.get(2).id]
    shop.core.datasets.update(made.id, {"owners": owner_ids})
    assert reader.datasets.update(made.id, {"description": "mine too"}).description == "mine too"
    for elsewhere in ({"table_name": "people"}, {"sql": "SELECT * FROM people"}):
        with pytest.raises(DatabaseAccessError):
            reader.datasets.update(made.id, elsewhere)


def test_a_reader_may_not_change_a_dataset(shop: SmallCore) -> None:
    made = shop.orders()
    reader = shop.reader(("dataset", made.id))
    for call in (
        lambda: reader.datasets.update(made.id, {"description": "x"}),
        lambda: reader.datasets.refresh(made.id),
        lambda: reader.datasets.delete(made.id),
    ):
        with pytest.raises(OwnershipError):
            call()


def test_a_dataset_managed_elsewhere_refuses_changes(shop: SmallCore) -> None:
    made = shop.orders(is_managed_externally=True)
    with pytest.raises(OwnershipError, match="another system"):
        shop.core.datasets.update(made.id, {"description": "x"})
    shop.core.users.update(1, {"attributes": {"manages_externally": "true"}})
    assert shop.core.datasets.update(made.id, {"description": "x"}).description == "x"


# ------------------------------------------------------------------------------------------------------------ refresh
def test_a_refresh_follows_the_table(shop: SmallCore) -> None:
    made = shop.orders()
    shop.core.datasets.update(
        made.id, {"columns": [{"id": made.columns[1].id, "column_name": "day", "description": "d"}]}
    )
    shop.run("ALTER TABLE orders ADD COLUMN note TEXT; ALTER TABLE orders DROP COLUMN country")
    fresh = shop.core.datasets.refresh(made.id)
    assert [c.column_name for c in fresh.columns] == ["id", "day", "amount", "note"]
    assert next(c for c in fresh.columns if c.column_name == "day").description == "d"


# ------------------------------------------------------------------------------------------------------ lists, delete
def test_a_list_shows_only_what_the_actor_may_read(shop: SmallCore) -> None:
    orders = shop.orders()
    people = shop.core.datasets.create({"database": 1, "table_name": "people"})
    by_dataset = shop.reader(("dataset", people.id), username="a")
    by_database = shop.reader(("database", 1), username="b")
    anonymous = shop.reader(username="c")
    assert [d.id for d in by_dataset.datasets.list()] == [people.id]
    assert [d.id for d in by_database.datasets.list()] == [orders.id, people.id]
    assert anonymous.datasets.list().count == 0
    with pytest.raises(DatasetAccessError):
        by_dataset.datasets.get(orders.id)


def test_a_listed_dataset_names_its_database_and_people(shop: SmallCore) -> None:
    shop.orders()
    (item,) = shop.core.datasets.list()
    assert (item.database.database_name, item.kind, item.changed_by_name) == ("shop", "physical", "Ada Admin")
    assert [owner.last_name for owner in item.owners] == ["Admin"]


def test_a_list_gives_back_the_fields_asked_for(shop: SmallCore) -> None:
    shop.orders()
    page = shop.core.datasets.list(columns=["id", "table_name", "schema"])
    assert page.to_payload() == {"count": 1, "result": [{"id": 1, "table_name": "orders", "schema": None}]}


def test_a_deleted_dataset_is_gone_and_its_name_is_free(shop: SmallCore) -> None:
    made = shop.orders()
    shop.core.datasets.delete(made.id)
    with pytest.raises(NotFoundError):
        shop.core.datasets.get(made.id)
    assert shop.orders().id != made.id


def test_a_dataset_that_charts_are_drawn_from_stays(shop: SmallCore) -> None:
    made = shop.orders()
    shop.core.charts.create({"slice_name": "c", "datasource_id": made.id, "datasource_type": "table"})
    with pytest.raises(InUseError, match="1 chart"):
        shop.core.datasets.delete(made.id)


def test_a_chart_whose_stored_type_is_not_named_is_drawn_from_the_dataset_everywhere(shop: SmallCore) -> None:
    made = shop.orders()
    given = {"slice_name": "c", "datasource_id": made.id, "datasource_type": "table"}
    chart_id = shop.core.charts.create(given).id
    with shop.core._runtime.content.store.unit_of_work() as unit:
        unit.charts.update(replace(unit.charts.get(chart_id), datasource_type=None), actor_id=1)
    reader = shop.reader(("dataset", made.id))
    assert [item.id for item in reader.charts.list()] == [chart_id]
    assert reader.charts.datasource(chart_id).result is not None
    assert [item.id for item in reader.datasets.related_objects(made.id).charts.result] == [chart_id]
    with pytest.raises(InUseError, match="1 chart"):
        shop.core.datasets.delete(made.id)


def test_the_types_of_charts_on_datasets_are_types_of_the_contract() -> None:
    assert {DatasourceType(name) for name in DATASET_TYPES if name} == {DatasourceType.TABLE, DatasourceType.DATASET}
