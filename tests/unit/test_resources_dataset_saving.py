"""What is saved with a dataset is read first: SQL that no chart could use is refused where it was written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import small_core
from tests.support.templates import sample_shop

import analytics_core
from analytics_core import AnalyticsCore, errors

REVENUE = {"metric_name": "revenue", "expression": "SUM(amount)"}


@pytest.fixture
def core(tmp_path: Path) -> Iterator[AnalyticsCore]:
    with analytics_core.connect(sample_shop(tmp_path / "shop.db")) as core:
        core.datasets.create({"database": 1, "table_name": "orders", "metrics": [REVENUE]})
        yield core


def paths(error: errors.PayloadSchemaError) -> list[str]:
    return [problem.path for problem in error.problems]


def test_metrics_are_given_when_a_dataset_is_created(core: AnalyticsCore) -> None:
    assert [metric.metric_name for metric in core.datasets.get(1).metrics] == ["count", "revenue"]
    own = {"metric_name": "count", "expression": "COUNT(id)"}
    made = core.datasets.create({"database": 1, "table_name": "customers", "metrics": [own]})
    assert [(metric.metric_name, metric.expression) for metric in made.metrics] == [("count", "COUNT(id)")]


@pytest.mark.parametrize("expression", ["SUM(amont)", "SUM(amount", "SUM(amount); DROP TABLE orders"])
def test_a_metric_that_cannot_be_read_is_refused_with_its_place(core: AnalyticsCore, expression: str) -> None:
    bad = {"metric_name": "bad", "expression": expression}
    with pytest.raises(errors.PayloadSchemaError) as rejected:
        core.datasets.update(1, {"metrics": [REVENUE, bad]})
    assert paths(rejected.value) == ["metrics.1.expression"]
    with pytest.raises(errors.PayloadSchemaError):
        core.datasets.set_metric(1, bad)
    with pytest.raises(errors.PayloadSchemaError):
        core.datasets.create({"database": 1, "table_name": "customers", "metrics": [bad]})
    assert [metric.metric_name for metric in core.datasets.get(1).metrics] == ["count", "revenue"]
    assert core.datasets.list().count == 1


def test_calculated_columns_and_predicates_are_read_too(core: AnalyticsCore) -> None:
    columns = [*core.datasets.get(1).to_payload()["columns"], {"column_name": "half", "expression": "nosuch / 2"}]
    with pytest.raises(errors.PayloadSchemaError) as rejected:
        core.datasets.update(
            1, {**core.datasets.get(1).to_payload(), "columns": columns, "fetch_values_predicate": "x = 1"}
        )
    assert paths(rejected.value) == [f"columns.{len(columns) - 1}.expression", "fetch_values_predicate"]


def test_a_template_that_waits_for_a_query_is_saved(core: AnalyticsCore) -> None:
    waiting = {"metric_name": "since", "expression": "SUM(CASE WHEN order_date >= '{{ from_dttm }}' THEN 1 END)"}
    core.datasets.set_metric(1, waiting)
    assert core.datasets.get(1).metrics[-1].metric_name == "since"


def test_what_was_wrong_before_does_not_stop_other_changes(core: AnalyticsCore) -> None:
    core.datasets.set_column(1, {"column_name": "double", "expression": "amount * 2"})
    core.datasets.set_metric(1, {"metric_name": "doubled", "expression": "SUM(amount)"})
    amount = next(column for column in core.datasets.get(1).columns if column.column_name == "amount")
    core.datasets.delete_column(1, amount.id)
    assert core.datasets.update(1, {"description": "still"}).description == "still"


def test_one_metric_or_column_is_set_and_the_others_stay(core: AnalyticsCore) -> None:
    changed = core.datasets.set_metric(1, {"metric_name": "revenue", "expression": "SUM(amount) / 100"})
    assert [(m.metric_name, m.expression) for m in changed.metrics][1:] == [("revenue", "SUM(amount) / 100")]
    before = core.datasets.get(1)
    changed = core.datasets.set_column(1, {"column_name": "amount", "verbose_name": "Amount"})
    assert [column.id for column in changed.columns] == [column.id for column in before.columns]
    assert [c.verbose_name for c in changed.columns if c.column_name == "amount"] == ["Amount"]
    taken = {"id": changed.metrics[0].id, "metric_name": "revenue", "expression": "COUNT(*)"}
    with pytest.raises(errors.PayloadSchemaError, match="twice"):
        core.datasets.set_metric(1, taken)


def test_a_column_that_the_table_lacks_and_that_is_not_calculated_is_refused(core: AnalyticsCore) -> None:
    with pytest.raises(errors.PayloadSchemaError, match=r"no column 'amonut'; did you mean 'amount'\? .*`expression`"):
        core.datasets.set_column(1, {"column_name": "amonut", "verbose_name": "Amount"})
    columns = [{"id": c.id, "column_name": c.column_name} for c in core.datasets.get(1).columns]
    with pytest.raises(errors.PayloadSchemaError) as rejected:
        core.datasets.update(1, {"columns": [*columns, {"column_name": "ghost"}]})
    assert paths(rejected.value) == [f"columns.{len(columns)}.column_name"]
    renamed = [{**columns[0], "column_name": "ghost"}, *columns[1:]]
    with pytest.raises(errors.PayloadSchemaError, match="no column 'ghost'"):
        core.datasets.update(1, {"columns": renamed})
    core.datasets.set_column(1, {"column_name": "double", "expression": "amount * 2"})
    with pytest.raises(errors.PayloadSchemaError, match="no column 'double'"):
        core.datasets.set_column(1, {"column_name": "double", "expression": None})


def test_a_column_that_the_table_has_since_then_is_set_without_a_refresh(tmp_path: Path) -> None:
    with small_core(tmp_path) as world:
        world.orders()
        world.run("ALTER TABLE orders ADD COLUMN paid TIMESTAMP")
        changed = world.core.datasets.set_column(1, {"column_name": "paid", "verbose_name": "Paid"})
        assert [(c.type, c.is_dttm) for c in changed.columns if c.column_name == "paid"] == [("TIMESTAMP", True)]


def test_the_main_time_column_holds_moments(core: AnalyticsCore) -> None:
    with pytest.raises(errors.PayloadSchemaError, match="column 'country' holds no moments; set its is_dttm"):
        core.datasets.update(1, {"main_dttm_col": "country"})


def test_a_query_that_names_a_newer_column_hears_of_refresh(tmp_path: Path) -> None:
    with small_core(tmp_path) as world:
        world.orders()
        world.run("ALTER TABLE orders ADD COLUMN voucher TEXT")
        query = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["voucher"]}]}
        with pytest.raises(errors.UnknownColumnError, match=r"if its table has it by now, use datasets\.refresh"):
            world.core.charts.data(query).raise_for_error()


def test_update_takes_what_get_gave(core: AnalyticsCore) -> None:
    found = core.datasets.get(1)
    assert core.datasets.update(1, found).columns == found.columns
    payload: dict[str, Any] = found.to_payload()
    payload["description"] = "new"
    payload["metrics"][1]["verbose_name"] = "Revenue"
    changed = core.datasets.update(1, payload)
    assert (changed.description, changed.metrics[1].verbose_name) == ("new", "Revenue")
    assert changed.owners == found.owners
    with pytest.raises(errors.PayloadSchemaError, match="descrption"):
        core.datasets.update(1, {**payload, "descrption": "?"})


def test_columns_that_get_gave_are_taken_alone_and_none_of_them_is_made_older(core: AnalyticsCore) -> None:
    before = core.datasets.get(1)
    columns: list[dict[str, Any]] = before.to_payload()["columns"]
    assert core.datasets.update(1, {"columns": columns}) == before
    with pytest.raises(errors.PayloadSchemaError) as rejected:
        core.datasets.update(1, {"columns": [{**columns[0], "created_on": "2020-01-01T00:00:00Z"}, *columns[1:]]})
    assert paths(rejected.value) == ["columns.0.created_on"]
    shorter = core.datasets.update(1, {"columns": [{**columns[1], "verbose_name": "Day"}]})
    assert [(column.id, column.verbose_name) for column in shorter.columns] == [(columns[1]["id"], "Day")]


def test_a_dataset_is_found_by_its_name(core: AnalyticsCore) -> None:
    assert core.datasets.get("orders").id == 1
    with pytest.raises(errors.NotFoundError, match="nosuch"):
        core.datasets.get("nosuch")
    core.datasets.create({"database": 1, "table_name": "orders", "schema": "main"})
    assert core.datasets.get("main.orders").id == 2
    with pytest.raises(errors.NotFoundError, match="1, 2"):
        core.datasets.get("orders")


def test_the_default_schema_is_none_or_its_name(core: AnalyticsCore) -> None:
    requested = {"database_id": 1, "table_name": "orders"}
    assert core.datasets.get_or_create({**requested, "schema": "main"}).id == 1
    other = core.datasets.get_or_create({"database_id": 1, "table_name": "customers", "schema": "main"})
    assert core.datasets.get_or_create({"database_id": 1, "table_name": "customers"}).id == other.id


def test_a_name_of_a_dataset_that_is_not_for_the_actor_is_of_none(core: AnalyticsCore) -> None:
    stranger = core.as_user(core.users.create({"username": "stranger"}).id)
    with pytest.raises(errors.NotFoundError):
        stranger.datasets.get("orders")


def test_connect_opens_the_database_once_and_closes_what_it_opened(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/nosuch.db"
    with pytest.raises(errors.DatabaseError, match=r"there is no file 'nosuch\.db'"):
        analytics_core.connect(url)
    with analytics_core.connect(url, lazy=True) as core, pytest.raises(errors.DatabaseError):
        core.databases.tables(1)


def test_a_schema_that_does_not_exist_is_told(core: AnalyticsCore) -> None:
    with pytest.raises(errors.DatabaseError, match="no schema 'mian'; did you mean 'main'") as rejected:
        core.databases.tables(1, "mian")
    assert rejected.value.error_type == "SCHEMA_DOES_NOT_EXIST_ERROR"
    with pytest.raises(errors.DatabaseError) as rejected:
        core.datasets.create({"database": 1, "table_name": "orders", "schema": "mian"})
    assert rejected.value.error_type == "SCHEMA_DOES_NOT_EXIST_ERROR"
