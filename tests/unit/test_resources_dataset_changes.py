"""What reflection, a refresh and an update make of a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._content.datasets.records import (
    changed_dataset,
    count_metric,
    first_temporal,
    reads_another_source,
    reflected_columns,
    refreshed_columns,
)
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.gate.metadata import FoundColumn
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core.errors import PayloadSchemaError
from analytics_core.models import DatasetPut
from analytics_core.models.parsing import parse

DAY = DatasetColumn(id=1, uuid="u1", column_name="day", type="DATE", is_dttm=True, verbose_name="Day")
AMOUNT = DatasetColumn(id=2, uuid="u2", column_name="amount", type="INTEGER", nullable=True, description="in euros")
TWICE = DatasetColumn(id=3, uuid="u3", column_name="twice", type="INTEGER", expression="amount * 2")
TOTAL = DatasetMetric(id=5, uuid="m5", metric_name="total", expression="SUM(amount)", d3format=",.2f")
DATASET = Dataset(
    id=9,
    uuid="x",
    database_id=1,
    table_name="orders",
    main_dttm_col="day",
    description="orders",
    columns=(DAY, AMOUNT, TWICE),
    metrics=(TOTAL,),
    owner_ids=(1,),
)


class Uuids:
    """Gives uuid-1, uuid-2, ..."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = count(1)

    def __call__(self) -> str:
        return f"uuid-{next(self._numbers)}"


def found(name: str, type_text: str, kind: ValueKind, nullable: bool | None = None) -> FoundColumn:
    return FoundColumn(name=name, type=type_text, kind=kind, nullable=nullable)


def changed(**payload: Any) -> Dataset:
    put = parse(DatasetPut, payload, shape="DatasetRestApi.put")
    return changed_dataset(DATASET, put, owner_ids=(1,), new_uuid=Uuids())


def rejection(**payload: Any) -> str:
    with pytest.raises(PayloadSchemaError) as caught:
        changed(**payload)
    return str(caught.value)


# ---------------------------------------------------------------------------------------------------------- reflection
@for_each(
    ("kind", "is_dttm"),
    [
        (ValueKind.DATE, True),
        (ValueKind.TIMESTAMP, True),
        (ValueKind.TIMESTAMPTZ, True),
        (ValueKind.TIME, False),
        (ValueKind.TEXT, False),
        (ValueKind.INTEGER, False),
        (ValueKind.UNKNOWN, False),
    ],
)
def test_dates_and_moments_are_temporal_columns(kind: ValueKind, is_dttm: bool) -> None:
    (column,) = reflected_columns([found("a", "T", kind, nullable=False)], Uuids())
    assert column.is_dttm is is_dttm
    assert (column.type, column.nullable, column.uuid) == ("T", False, "uuid-1")


def test_the_first_temporal_column_is_the_main_one() -> None:
    assert first_temporal([AMOUNT, DAY]) == "day"
    assert first_temporal([AMOUNT]) is None


def test_a_new_dataset_counts_its_rows() -> None:
    metric = count_metric(Uuids())
    assert (metric.metric_name, metric.expression) == ("count", "COUNT(*)")


def test_a_refresh_adds_new_columns_drops_vanished_ones_and_keeps_calculated_ones() -> None:
    now = [found("amount", "BIGINT", ValueKind.INTEGER, False), found("new", "TEXT", ValueKind.TEXT)]
    names = [column.column_name for column in refreshed_columns(DATASET.columns, now, Uuids())]
    assert names == ["amount", "new", "twice"]


def test_a_refresh_keeps_what_people_said_and_takes_what_the_database_says() -> None:
    (amount, *_) = refreshed_columns([AMOUNT], [found("amount", "BIGINT", ValueKind.INTEGER, False)], Uuids())
    assert (amount.id, amount.description) == (2, "in euros")
    assert (amount.type, amount.nullable) == ("BIGINT", False)


def test_a_refresh_leaves_a_time_column_that_people_marked() -> None:
    marked = DatasetColumn(id=4, column_name="epoch", type="INTEGER", is_dttm=True, python_date_format="epoch_s")
    (same,) = refreshed_columns([marked], [found("epoch", "INTEGER", ValueKind.INTEGER)], Uuids())
    assert same.is_dttm


def test_a_real_column_takes_the_place_of_a_calculated_one_of_its_name() -> None:
    names = [c.column_name for c in refreshed_columns([TWICE], [found("twice", "INT", ValueKind.INTEGER)], Uuids())]
    assert names == ["twice"]


# ------------------------------------------------------------------------------------------------------------- update
def test_fields_that_an_update_does_not_name_stay() -> None:
    assert changed(sql=None, cache_timeout=60).description == "orders"


def test_null_clears_what_may_be_empty() -> None:
    assert changed(description=None).description is None
    assert changed(main_dttm_col=None).main_dttm_col is None


@pytest.mark.parametrize("name", ["table_name", "offset", "filter_select_enabled", "is_sqllab_view"])
def test_null_leaves_what_cannot_be_empty(name: str) -> None:
    assert getattr(changed(**{name: None}), name) == getattr(DATASET, name)


def test_columns_replace_the_list_and_a_known_id_keeps_the_column() -> None:
    day, new = changed(columns=[{"id": 1, "column_name": "date"}, {"column_name": "new"}]).columns
    assert (day.id, day.uuid, day.column_name, day.verbose_name, day.is_dttm) == (1, "u1", "date", "Day", True)
    assert (new.id, new.uuid) == (0, "uuid-1")


def test_null_leaves_the_uuid_of_a_column_and_of_a_metric() -> None:
    same = changed(
        columns=[{"id": 1, "column_name": "day", "uuid": None}],
        metrics=[{"id": 5, "metric_name": "total", "expression": "SUM(amount)", "uuid": None}],
    )
    assert (same.columns[0].uuid, same.metrics[0].uuid) == ("u1", "m5")


def test_a_column_without_an_id_is_known_by_its_name() -> None:
    (amount,) = changed(columns=[{"column_name": "amount", "verbose_name": "Amount"}], main_dttm_col=None).columns
    assert (amount.id, amount.description, amount.verbose_name) == (2, "in euros", "Amount")


def test_a_renamed_column_leaves_its_old_name_to_a_new_one() -> None:
    columns = changed(columns=[{"id": 2, "column_name": "sum"}, {"column_name": "amount"}], main_dttm_col=None).columns
    assert [(column.id, column.column_name) for column in columns] == [(2, "sum"), (0, "amount")]


def test_metrics_replace_the_list_and_a_known_id_keeps_the_metric() -> None:
    (total,) = changed(metrics=[{"id": 5, "metric_name": "sum", "expression": "SUM(a)"}]).metrics
    assert (total.id, total.uuid, total.metric_name, total.d3format) == (5, "m5", "sum", ",.2f")


def test_an_empty_list_removes_all() -> None:
    assert changed(metrics=[]).metrics == ()


def test_an_unknown_id_is_refused() -> None:
    assert "columns.0.id: the dataset has none with id 99" in rejection(columns=[{"id": 99, "column_name": "a"}])
    assert "metrics.0.id" in rejection(metrics=[{"id": 99, "metric_name": "a", "expression": "1"}])


def test_a_name_given_twice_is_refused() -> None:
    assert "columns.1.column_name" in rejection(columns=[{"column_name": "a"}, {"column_name": "a"}])
    metric = {"metric_name": "m", "expression": "1"}
    assert "metrics.1.metric_name" in rejection(metrics=[metric, metric])


def test_the_main_time_column_must_be_one_of_the_columns() -> None:
    assert "did you mean 'day'?" in rejection(main_dttm_col="dya")
    assert changed(main_dttm_col="new", columns=[{"column_name": "new", "is_dttm": True}]).main_dttm_col == "new"
    assert "set its is_dttm" in rejection(main_dttm_col="amount")


def test_a_main_time_column_that_went_away_is_no_longer_named() -> None:
    assert changed(columns=[{"column_name": "other"}]).main_dttm_col is None


@for_each(
    ("payload", "elsewhere"),
    [
        ({"table_name": "sales"}, True),
        ({"schema": "hr"}, True),
        ({"database_id": 2}, True),
        ({"sql": "SELECT 1 AS a"}, True),
        ({"schema": None, "table_name": "orders", "database_id": 1, "sql": None}, False),
        ({"description": "x", "metrics": []}, False),
    ],
)
def test_an_update_that_reads_other_rows_is_recognised(payload: dict[str, Any], elsewhere: bool) -> None:
    assert reads_another_source(DATASET, changed(**payload)) is elsewhere


def test_a_virtual_dataset_may_be_renamed_without_being_read_again_but_not_moved() -> None:
    virtual = Dataset(id=1, uuid="v", database_id=1, table_name="v", sql="SELECT 1 AS a")
    for change, is_read in (("table_name", False), ("schema", True)):
        put = parse(DatasetPut, {change: "other"}, shape="DatasetRestApi.put")
        after = changed_dataset(virtual, put, owner_ids=(1,), new_uuid=Uuids())
        assert reads_another_source(virtual, after) is is_read, change
