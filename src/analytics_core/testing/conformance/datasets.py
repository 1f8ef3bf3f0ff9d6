"""What every `MetadataStore` must keep about datasets: their columns, metrics, owners and version."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._security.row_rules import TableName, table_key
from analytics_core.errors import AlreadyExistsError, NotFoundError, PayloadSchemaError
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.records import START, StoreSuite, a_database, a_dataset


class DatasetConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    @pytest.fixture
    def dataset(self, store: MetadataStore) -> Dataset:
        """Return a stored dataset with the columns day and country."""
        with store.unit_of_work() as unit:
            database = unit.databases.add(a_database(), actor_id=None)
            return unit.datasets.add(a_dataset(database.id, owner_ids=(5, 3)), actor_id=None)

    def _update(self, store: MetadataStore, dataset: Dataset) -> Dataset:
        with store.unit_of_work() as unit:
            return unit.datasets.update(dataset, actor_id=None)

    def test_items_get_ids_uuids_and_times_and_keep_their_order(self, dataset: Dataset) -> None:
        """What the caller did not give, the store gives."""
        assert [column.column_name for column in dataset.columns] == ["day", "country"]
        items: tuple[DatasetColumn | DatasetMetric, ...] = (*dataset.columns, *dataset.metrics)
        assert all(item.id and item.uuid and item.created_on == item.changed_on == START for item in items)

    def test_known_items_keep_their_identity_and_others_are_new_or_gone(
        self, store: MetadataStore, dataset: Dataset, clock: FixedClock
    ) -> None:
        """A replaced list keeps items by id, in the new order."""
        later = clock.advance(timedelta(days=1))
        day, country = dataset.columns
        renamed = replace(country, column_name="land", uuid=None, created_on=None)
        changed = self._update(store, replace(dataset, columns=(DatasetColumn(column_name="city"), renamed)))
        city, land = changed.columns
        assert (city.column_name, city.created_on) == ("city", later)
        assert (land.id, land.uuid, land.created_on, land.changed_on) == (country.id, country.uuid, START, later)
        assert day.id not in {city.id, land.id}

    def test_unchanged_items_are_not_signed_as_changed(
        self, store: MetadataStore, dataset: Dataset, clock: FixedClock
    ) -> None:
        """A change of the dataset alone is none of its columns."""
        clock.advance(timedelta(days=1))
        assert self._update(store, replace(dataset, description="new")).columns == dataset.columns

    def test_items_may_swap_names(self, store: MetadataStore, dataset: Dataset) -> None:
        """No intermediate state gets in the way."""
        day, country = dataset.columns
        swapped = (replace(day, column_name="country"), replace(country, column_name="day"))
        changed = self._update(store, replace(dataset, columns=swapped))
        assert {column.id: column.column_name for column in changed.columns} == {day.id: "country", country.id: "day"}

    def test_an_item_of_another_dataset_is_not_taken_away(self, store: MetadataStore, dataset: Dataset) -> None:
        """An id that belongs elsewhere makes a new item here."""
        with store.unit_of_work() as unit:
            thief = replace(a_dataset(dataset.database_id, "other"), columns=dataset.columns)
            other = unit.datasets.add(thief, actor_id=None)
            assert unit.datasets.get(dataset.id) == dataset
        assert not {column.id for column in other.columns} & {column.id for column in dataset.columns}

    def test_every_field_of_an_item_survives(self, store: MetadataStore, dataset: Dataset) -> None:
        """Also the ones that nobody gives at first."""
        text = "Größe 😀 " * 200
        column = DatasetColumn(
            column_name="c",
            verbose_name=text,
            description=text,
            expression=text,
            extra="{}",
            type=text,
            advanced_data_type="port",
            python_date_format="epoch_ms",
            filterable=False,
            groupby=False,
            is_active=False,
            is_dttm=True,
            nullable=False,
        )
        metric = DatasetMetric(
            metric_name="m",
            expression=text,
            verbose_name=text,
            metric_type="sum",
            d3format=",d",
            currency="{}",
            warning_text=text,
        )
        changed = self._update(store, replace(dataset, columns=(column,), metrics=(metric,), offset=-3, sql="SELECT 1"))
        blank: dict[str, Any] = {"id": 0, "uuid": None, "created_on": None, "changed_on": None}
        assert replace(changed.columns[0], **blank) == column
        assert replace(changed.metrics[0], **blank) == metric
        assert (changed.offset, changed.sql) == (-3, "SELECT 1")

    def test_two_items_of_one_name_are_refused(self, store: MetadataStore, dataset: Dataset) -> None:
        """Columns and metrics are told apart; a column and a metric may share a name."""
        metric = DatasetMetric(metric_name="day", expression="1")
        with pytest.raises(AlreadyExistsError, match="metric_name 'day'"):
            self._update(store, replace(dataset, metrics=(metric, metric)))
        assert self._update(store, replace(dataset, metrics=(metric,))).metrics[0].metric_name == "day"

    def test_an_item_that_cannot_be_stored_names_itself(self, store: MetadataStore, dataset: Dataset) -> None:
        """The message says which column and which field."""
        bad = DatasetColumn(column_name="c", python_date_format="x" * 256)
        with pytest.raises(PayloadSchemaError, match=r"column 'c'.*python_date_format"):
            self._update(store, replace(dataset, columns=(bad,)))

    def test_owners_are_a_set_of_ids(self, store: MetadataStore, dataset: Dataset) -> None:
        """They come back in the order of their ids, each once."""
        assert dataset.owner_ids == (3, 5)
        assert self._update(store, replace(dataset, owner_ids=(9, 3, 9))).owner_ids == (3, 9)

    def test_the_version_is_told_without_the_dataset(self, store: MetadataStore, dataset: Dataset) -> None:
        """Every change counts, also one of columns alone."""
        self._update(store, replace(dataset, columns=()))
        with store.unit_of_work() as unit:
            assert unit.datasets.version(dataset.id) == 2
            with pytest.raises(NotFoundError):
                unit.datasets.version(dataset.id + 1)

    def test_a_deleted_dataset_takes_its_items_along(self, store: MetadataStore, dataset: Dataset) -> None:
        """A new dataset of the same table starts without them."""
        with store.unit_of_work() as unit:
            unit.datasets.delete(dataset.id)
            again = unit.datasets.add(a_dataset(dataset.database_id, columns=(), metrics=()), actor_id=None)
        assert (again.columns, again.metrics, again.owner_ids) == ((), (), ())

    def test_two_hundred_columns_are_kept_in_order(self, store: MetadataStore, dataset: Dataset) -> None:
        """Wide tables are common."""
        wide = tuple(DatasetColumn(column_name=f"c{number}") for number in range(200))
        changed = self._update(store, replace(dataset, columns=wide))
        assert [column.column_name for column in changed.columns] == [f"c{number}" for number in range(200)]

    def test_datasets_are_found_by_the_key_of_their_table(self, store: MetadataStore, dataset: Dataset) -> None:
        """Row rules are read by it (`table_key`): it follows the name, and a virtual dataset has none."""

        def found(name: str) -> tuple[int, ...]:
            item = ListFilter(col="table_key", op="eq", val=table_key(TableName(table=name)))
            with store.unit_of_work() as unit:
                return tuple(one.id for one in unit.datasets.list(ListQuery(filters=(item,)))[1])

        assert found(dataset.table_name.upper()) == (dataset.id,)
        renamed = self._update(store, replace(dataset, table_name="sales.renamed"))
        assert (found(dataset.table_name), found("renamed")) == ((), (dataset.id,))
        self._update(store, replace(renamed, sql="SELECT 1 AS one"))
        assert found("renamed") == ()
