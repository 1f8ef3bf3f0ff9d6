"""Datasets copied, found or made, cut down, and what hangs on them; what databases tell of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import AnalyticsCore
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowRule
from analytics_core.errors import (
    AccessError,
    AlreadyExistsError,
    DatabaseAccessError,
    DatabaseError,
    DatabaseNotFoundError,
    DatasetAccessError,
    ErrorType,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
)

VIRTUAL = {"database": 1, "table_name": "recent", "sql": "SELECT day, amount FROM orders"}


@pytest.fixture
def shop(tmp_path: Path, metadata_url: str) -> Iterator[SmallCore]:
    with small_core(tmp_path, ports={"metadata_url": metadata_url}, metadata_freshness_s=0) as made:
        made.orders()
        yield made


def virtual(shop: SmallCore) -> int:
    made = shop.core.datasets.create(VIRTUAL)
    metrics = [{"metric_name": "total", "expression": "SUM(amount)", "d3format": ".2f"}]
    changes = {"metrics": metrics, "description": "d", "cache_timeout": 7, "is_managed_externally": False}
    return int(shop.core.datasets.update(made.id, changes).id)


# ------------------------------------------------------------------------------------------------------------- copies
def test_a_copy_of_a_virtual_dataset_has_all_but_the_name_and_the_owner(shop: SmallCore) -> None:
    base = shop.core.datasets.get(virtual(shop))
    analyst = shop.reader(("database", 1))
    copy = analyst.datasets.duplicate({"base_model_id": base.id, "table_name": "mine"})
    assert (copy.table_name, [owner.id for owner in copy.owners]) == ("mine", [2])
    same = ("sql", "description", "cache_timeout", "main_dttm_col", "kind", "schema")
    assert [getattr(copy, name) for name in same] == [getattr(base, name) for name in same]
    assert [(m.metric_name, m.expression, m.d3format) for m in copy.metrics] == [("total", "SUM(amount)", ".2f")]
    assert [column.column_name for column in copy.columns] == ["day", "amount"]
    assert {column.uuid for column in copy.columns}.isdisjoint(column.uuid for column in base.columns)
    analyst.datasets.update(copy.id, {"metrics": []})
    assert len(shop.core.datasets.get(base.id).metrics) == 1
    analyst.datasets.delete(copy.id)


def test_a_physical_dataset_is_not_copied(shop: SmallCore) -> None:
    with pytest.raises(PayloadSchemaError, match="only virtual datasets"):
        shop.core.datasets.duplicate({"base_model_id": 1, "table_name": "mine"})


def test_columns_that_another_process_added_are_found_by_the_next_refresh(shop: SmallCore) -> None:
    """SQLite's own look at a view knows the schema that the connection has read before."""
    base = shop.core.datasets.create({"database": 1, "table_name": "all", "sql": "SELECT * FROM orders"}).id
    for number in range(3):  # connections of a pool that have read it
        shop.run(f"ALTER TABLE orders ADD COLUMN more_{number} INTEGER")
        names = {column.column_name for column in shop.core.datasets.refresh(base).columns}
        assert f"more_{number}" in names


def test_a_copy_needs_what_a_virtual_dataset_needs(shop: SmallCore) -> None:
    base = virtual(shop)
    wish = {"base_model_id": base, "table_name": "mine"}
    with pytest.raises(DatasetAccessError):
        shop.reader(username="stranger").datasets.duplicate(wish)
    with pytest.raises(DatabaseAccessError):
        shop.reader(("dataset", base)).datasets.duplicate(wish)
    with pytest.raises(AlreadyExistsError):
        shop.core.datasets.duplicate({**wish, "table_name": "recent"})
    with pytest.raises(NotFoundError):
        shop.core.datasets.duplicate({**wish, "base_model_id": 99})


def test_the_row_rules_of_a_dataset_bind_its_copy(shop: SmallCore) -> None:
    base = virtual(shop)
    store = shop.core._runtime.content.store
    with store.unit_of_work() as unit:
        of_it = unit.row_rules.add(RowRule(name="a", clause="1 = 1", dataset_ids=(base,)), actor_id=1)
        other = unit.row_rules.add(RowRule(name="b", clause="1 = 1", dataset_ids=(1,)), actor_id=1)
    copy = shop.core.datasets.duplicate({"base_model_id": base, "table_name": "mine"})
    with store.unit_of_work() as unit:
        assert set(unit.row_rules.get(of_it.id).dataset_ids) == {base, copy.id}
        assert unit.row_rules.get(other.id).dataset_ids == (1,)


# ------------------------------------------------------------------------------------------------------ get or create
def test_a_dataset_is_made_once_and_found_afterwards(shop: SmallCore) -> None:
    wish = {"database_id": 1, "table_name": "people", "template_params": '{"a": 1}'}
    made = shop.core.datasets.get_or_create(wish)
    assert (made.table_name, made.template_params) == ("people", '{"a": 1}')
    assert [column.column_name for column in made.columns] == ["name", "born"]
    assert shop.core.datasets.get_or_create({**wish, "template_params": "{}"}).to_payload() == made.to_payload()
    assert shop.core.datasets.list().count == 2


@pytest.mark.each_store
def test_many_who_ask_at_once_get_the_same_dataset(shop: SmallCore) -> None:
    wish = {"database_id": 1, "table_name": "people"}
    with ThreadPoolExecutor(6) as pool:
        ids = {done.id for done in pool.map(lambda _: shop.core.datasets.get_or_create(wish), range(12))}
    assert len(ids) == 1
    assert shop.core.datasets.list().count == 2


@for_each(
    ("change", "error"),
    [
        ({"table_name": "nothing"}, DatabaseError),
        ({"database_id": 9}, DatabaseNotFoundError),
        ({"table_name": ""}, PayloadSchemaError),
        ({"template_params": "{"}, PayloadSchemaError),
        ({"sql": "SELECT 1"}, PayloadSchemaError),
    ],
)
def test_what_cannot_be_found_or_made_is_refused(
    shop: SmallCore, change: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        shop.core.datasets.get_or_create({"database_id": 1, "table_name": "people", **change})


def test_finding_a_dataset_needs_the_right_to_read_it_and_tells_nobody_else_that_it_is_there(shop: SmallCore) -> None:
    stranger, messages = shop.reader(), set[str]()
    for name in ("orders", "people", "nothing"):  # a dataset, a table, and neither
        with pytest.raises(DatabaseAccessError) as rejected:
            stranger.datasets.get_or_create({"database_id": 1, "table_name": name})
        messages.add(str(rejected.value).replace(name, "..."))
    assert len(messages) == 1
    granted = shop.reader(("dataset", 1), username="granted")
    assert granted.datasets.get_or_create({"database_id": 1, "table_name": "orders"}).id == 1
    assert shop.core.datasets.list().count == 1


def test_a_dataset_that_is_kept_from_readers_of_its_table_is_a_taken_name_to_them(tmp_path: Path) -> None:
    with small_core(tmp_path, policy=OwnDatasetsOnly()) as shop:
        shop.orders()
        with pytest.raises(AlreadyExistsError) as raised:
            shop.reader(("database", 1)).datasets.get_or_create({"database_id": 1, "table_name": "orders"})
        assert "orders" in str(raised.value)


class OwnDatasetsOnly(Policy):
    """A policy that lets people read their own datasets alone."""

    def can_read_dataset(self, actor: Actor, dataset: Dataset) -> bool:
        """Tell whether the actor owns it."""
        return actor.id in dataset.owner_ids


# --------------------------------------------------------------------------------------------------------------- parts
def test_a_column_and_a_metric_are_removed(shop: SmallCore) -> None:
    dataset = shop.core.datasets.get(1)
    ids = {column.column_name: column.id for column in dataset.columns}
    changed = shop.core.datasets.delete_column(1, ids["day"])
    assert [column.column_name for column in changed.columns] == ["id", "country", "amount"]
    assert (dataset.main_dttm_col, changed.main_dttm_col) == ("day", None)
    assert shop.core.datasets.delete_metric(1, dataset.metrics[0].id).metrics == ()
    for act in (shop.core.datasets.delete_column, shop.core.datasets.delete_metric):
        with pytest.raises(NotFoundError, match=r"there is no (column|metric) 1000000 of dataset 1"):
            act(1, 10**6)
    refreshed = shop.core.datasets.refresh(1)
    assert sorted(column.column_name for column in refreshed.columns) == ["amount", "country", "day", "id"]
    logged = [entry.action for entry in shop.core.logs.list(order_by="id", page_size=100)]
    assert logged[-3:] == ["dataset_column.delete", "dataset_metric.delete", "dataset.refresh"]


def test_only_owners_remove_parts(shop: SmallCore) -> None:
    reader = shop.reader(("dataset", 1))
    dataset = reader.datasets.get(1)
    with pytest.raises(OwnershipError):
        reader.datasets.delete_column(1, dataset.columns[0].id)
    with pytest.raises(OwnershipError):
        reader.datasets.delete_metric(1, dataset.metrics[0].id)


# ----------------------------------------------------------------------------------------------------- related objects
def chart(core: AnalyticsCore, name: str, dataset: int = 1, kind: str = "table") -> int:
    given = {"slice_name": name, "datasource_id": dataset, "datasource_type": kind, "viz_type": "pie"}
    return int(core.charts.create(given).id)


def test_what_hangs_on_a_dataset_and_a_database_as_far_as_one_may_see_it(shop: SmallCore) -> None:
    people = shop.core.datasets.create({"database": 1, "table_name": "people"}).id
    first, second, other = chart(shop.core, "a"), chart(shop.core, "b", kind="dataset"), chart(shop.core, "c", people)
    board = Dashboard(
        uuid="00000000-0000-0000-0000-000000000001",
        dashboard_title="Board",
        slug="board",
        json_metadata='{"x": 1}',
        chart_ids=(first, other),
        owner_ids=(1,),
    )
    with shop.core._runtime.content.store.unit_of_work() as unit:
        board_id = unit.dashboards.add(board, actor_id=1).id
    found = shop.core.datasets.related_objects(1).to_payload()
    assert found == {
        "charts": {
            "count": 2,
            "result": [
                {"id": first, "slice_name": "a", "viz_type": "pie"},
                {"id": second, "slice_name": "b", "viz_type": "pie"},
            ],
        },
        "dashboards": {
            "count": 1,
            "result": [{"id": board_id, "slug": "board", "title": "Board", "json_metadata": {"x": 1}}],
        },
    }
    assert [item.id for item in shop.core.databases.related_objects(1).charts.result] == [first, second, other]
    schema_reader = shop.reader(("schema", 1, "elsewhere"), ("dataset", people))
    of_database = schema_reader.databases.related_objects(1)
    assert ([item.id for item in of_database.charts.result], of_database.dashboards.count) == ([other], 0)
    with pytest.raises(DatasetAccessError):
        schema_reader.datasets.related_objects(1)
    with pytest.raises(DatabaseAccessError):
        shop.reader(username="stranger").databases.related_objects(1)
    nothing = shop.core.datasets.related_objects(virtual(shop))
    assert (nothing.charts.count, nothing.dashboards.count) == (0, 0)


# ------------------------------------------------------------------------------------------ what databases tell of
def test_a_database_tells_its_schemas_tables_and_functions(shop: SmallCore) -> None:
    shop.run("CREATE VIEW latest AS SELECT * FROM orders")
    core = shop.core
    assert core.databases.schemas(1) == ("main",)
    tables = [table.to_payload() for table in core.databases.tables(1)]
    assert tables == [
        {"value": "latest", "type": "view", "extra": None},
        {"value": "orders", "type": "table", "extra": None},
        {"value": "people", "type": "table", "extra": None},
    ]
    assert [table.value for table in core.databases.tables(1, "main")] == ["latest", "orders", "people"]
    names = core.databases.function_names(1).function_names
    assert {"count", "lower", "sum"} <= set(names)
    assert not {"load_extension", "ac_lower"} & set(names)  # forbidden, and the library's own
    assert list(names) == sorted(names)


def test_schemas_and_tables_are_those_that_one_may_read(shop: SmallCore) -> None:
    reader = shop.reader(("schema", 1, "main"))
    assert reader.databases.schemas(1) == ("main",)
    assert [table.value for table in reader.databases.tables(1, "main")] == ["orders", "people"]
    with pytest.raises(DatabaseAccessError):
        reader.databases.tables(1)
    elsewhere = shop.reader(("schema", 1, "elsewhere"), username="elsewhere")
    assert elsewhere.databases.schemas(1) == ()
    stranger = shop.reader(("dataset", 1), username="stranger")
    acts: list[Callable[[], Any]] = [
        lambda: elsewhere.databases.tables(1, "main"),
        lambda: stranger.databases.schemas(1),
        lambda: stranger.databases.tables(1),
        lambda: stranger.databases.function_names(1),
        lambda: stranger.databases.schemas_access_for_file_upload(1),
    ]
    for act in acts:
        with pytest.raises(DatabaseAccessError):
            act()
    with pytest.raises(DatabaseNotFoundError):
        shop.core.databases.schemas(9)


def test_uploads_go_to_the_named_schemas_that_one_may_read(shop: SmallCore) -> None:
    extra = '{"schemas_allowed_for_file_upload": ["main", "stage"]}'
    shop.core.databases.update(1, {"extra": extra})
    assert shop.core.databases.schemas_access_for_file_upload(1).schemas == ()
    shop.core.databases.update(1, {"allow_file_upload": True})
    assert shop.core.databases.schemas_access_for_file_upload(1).schemas == ("main", "stage")
    reader = shop.reader(("schema", 1, "stage"))
    assert reader.databases.schemas_access_for_file_upload(1).schemas == ("stage",)


# ---------------------------------------------------------------------------------------------------------- parameters
PARAMETERS = {"configuration_method": "orm_form", "engine": "postgresql", "database_name": "new"}


def test_good_parameters_pass(shop: SmallCore) -> None:
    shop.core.databases.validate_parameters(PARAMETERS)
    shop.core.databases.validate_parameters({**PARAMETERS, "database_name": None})
    shop.core.databases.validate_parameters({**PARAMETERS, "database_name": "shop", "id": 1})
    with pytest.raises(DatabaseNotFoundError):
        shop.core.databases.validate_parameters({**PARAMETERS, "database_name": "shop", "id": 7})
    other = shop.core.databases.create({"database_name": "other", "orm_uri": "sqlite://"})
    with pytest.raises(PayloadSchemaError, match="exists already"):
        shop.core.databases.validate_parameters({**PARAMETERS, "database_name": "shop", "id": other.id})
    shop.core.databases.validate_parameters({**PARAMETERS, "driver": "psycopg", "extra": '{"engine_params": {}}'})


@for_each(
    ("change", "path", "message"),
    [
        ({"engine": "postgres9"}, "engine", "did you mean"),
        ({"database_name": "shop"}, "database_name", "exists already"),
        ({"database_name": ""}, "database_name", "must not be empty"),
        ({"driver": "pickle"}, "driver", "must be one of"),
        ({"extra": '{"engine_params": {"creator": "x"}}'}, "extra", "not allowed"),
        ({"catalog": {"a": "https://x.example"}}, "catalog", "spreadsheets"),
        ({"configuration_method": "x"}, "configuration_method", ""),
    ],
)
def test_wrong_parameters_are_named(shop: SmallCore, change: dict[str, Any], path: str, message: str) -> None:
    with pytest.raises(PayloadSchemaError) as rejection:
        shop.core.databases.validate_parameters({**PARAMETERS, **change})
    assert [problem.path for problem in rejection.value.problems] == [path]
    assert message in rejection.value.message


def test_parameters_are_for_administrators(shop: SmallCore) -> None:
    with pytest.raises(AccessError) as rejection:
        shop.reader(("database", 1)).databases.validate_parameters(PARAMETERS)
    assert rejection.value.error_type is ErrorType.DATABASE_SECURITY_ACCESS_ERROR
