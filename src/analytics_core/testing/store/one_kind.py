"""What a store must keep of one kind of record alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from analytics_core._engine.rights.row_rules import TableName, table_key
from analytics_core._records.dashboard import CssTemplate, Favourite
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import Grant, GrantTarget, Role
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import JobResultPart
from analytics_core.errors import AlreadyExistsError, PayloadSchemaError
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.fixtures import StoreSuite
from analytics_core.testing.store.kinds import NamedIds
from analytics_core.testing.store.records import START, a_chart, a_dashboard, a_database, a_dataset, a_job, a_user

_HOUR = timedelta(hours=1)


class OneKindConformance(StoreSuite):
    """The items of datasets, and what ends where no field of a record says so."""

    # -------------------------------------------------------------------------------------------------- datasets
    @pytest.fixture
    def dataset(self, store: MetadataStore) -> Dataset:
        """Return a stored dataset with the columns day and country."""
        with store.unit_of_work() as unit:
            database = unit.databases.append(a_database(), actor_id=None)
            return unit.datasets.add(a_dataset(database, owner_ids=(5, 3)), actor_id=None)

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

    def test_an_item_of_another_dataset_is_not_taken_away(self, dataset: Dataset, unit: UnitOfWork) -> None:
        """An id that belongs elsewhere makes a new item here, when a dataset is stored and when it is changed."""
        thief = replace(a_dataset(dataset.database_id, "other"), columns=dataset.columns)
        other = unit.datasets.add(thief, actor_id=None)
        changed = unit.datasets.update(replace(other, columns=dataset.columns), actor_id=None)
        assert unit.datasets.get(dataset.id) == dataset
        ids = {column.id for column in (*other.columns, *changed.columns)}
        assert not ids & {column.id for column in dataset.columns}

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

    def test_a_change_of_items_alone_is_a_version(self, store: MetadataStore, dataset: Dataset) -> None:
        """Every change counts, also one of columns alone."""
        self._update(store, replace(dataset, columns=()))
        with store.unit_of_work() as unit:
            assert unit.datasets.version(dataset.id) == 2

    def test_two_hundred_columns_are_kept_in_order(self, store: MetadataStore, dataset: Dataset) -> None:
        """Wide tables are common."""
        wide = tuple(DatasetColumn(column_name=f"c{number}") for number in range(200))
        changed = self._update(store, replace(dataset, columns=wide))
        assert [column.column_name for column in changed.columns] == [f"c{number}" for number in range(200)]

    def test_a_table_of_a_database_has_one_dataset_also_without_schema(
        self, named: NamedIds, dataset: Dataset, unit: UnitOfWork
    ) -> None:
        """No schema equals no schema; another schema, catalog, case or database is another table."""
        one = dataset.database_id
        with pytest.raises(AlreadyExistsError, match="table_name 'orders'"):
            unit.datasets.add(a_dataset(one), actor_id=None)
        others = (a_dataset(one, schema="s"), a_dataset(one, catalog="s"), a_dataset(one, "Orders"))
        for other in (*others, a_dataset(named.first["databases"])):
            assert unit.datasets.add(other, actor_id=None).schema == other.schema

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

    # --------------------------------------------------------------------------------------------------- endings
    def test_grants_end_with_what_they_were_for(self, unit: UnitOfWork) -> None:
        """A role keeps only grants on what is there."""
        database = unit.databases.add(a_database(), actor_id=None)
        dataset = unit.datasets.add(a_dataset(database.id), actor_id=None)
        on_schema = Grant(target=GrantTarget.SCHEMA, target_id=database.id, schema="s")
        on_database = Grant(target=GrantTarget.DATABASE, target_id=database.id)
        on_dataset = Grant(target=GrantTarget.DATASET, target_id=dataset.id)
        grants = frozenset({on_schema, on_database, on_dataset})
        role = unit.roles.add(Role(name="r", grants=grants), actor_id=None)
        assert role.grants == grants
        unit.datasets.delete(dataset.id)
        assert unit.roles.get(role.id).grants == {on_schema, on_database}
        unit.databases.delete(database.id)
        assert unit.roles.get(role.id).grants == frozenset()

    @pytest.mark.parametrize("how", ["delete_matching", "user"])
    def test_what_goes_with_a_job_goes_and_nothing_else(self, store: MetadataStore, how: str) -> None:
        """Those that are over, those of a deleted user: with their results."""
        with store.unit_of_work() as unit:
            user = unit.users.append(a_user(), actor_id=None)
            ends = {"gone": START, "stays": START + timedelta(days=2), "for ever": None}
            owners = {"gone": user, "stays": user + 1, "for ever": user + 2}
            ids = {
                name: unit.jobs.append(a_job(name, user_id=owners[name], expires_on=end), actor_id=owners[name])
                for name, end in ends.items()
            }
            for job in ids.values():
                for position in range(2):
                    part = JobResultPart(job_record_id=job, position=position, data=b"x")
                    unit.job_results.append(part, actor_id=user)
        with store.unit_of_work() as unit:
            if how == "user":
                unit.users.delete(user)
            else:
                over = ListFilter(col="expires_on", op="lt", val=START + timedelta(days=1))
                assert unit.jobs.delete_matching([over]) == 1
        with store.unit_of_work() as unit:
            jobs = [job.job_id for job in unit.jobs.list(ListQuery())[1]]
            parts = [part.job_record_id for part in unit.job_results.list(ListQuery())[1]]
        assert jobs == ["stays", "for ever"]
        assert parts == [ids["stays"]] * 2 + [ids["for ever"]] * 2

    def test_a_star_goes_with_its_record_and_its_user(self, unit: UnitOfWork) -> None:
        """Stars have no foreign keys; the store forgets them itself."""
        user, page = (
            unit.users.append(a_user(), actor_id=None),
            unit.dashboards.append(a_dashboard(), actor_id=None),
        )
        chart = unit.charts.append(a_chart(), actor_id=None)
        for target, key in (("dashboard", page), ("chart", chart), ("dashboard", page + 1)):
            unit.favourites.append(Favourite(user_id=user, target=target, target_id=key), actor_id=user)
        unit.dashboards.delete(page)
        stars = [(star.target, star.target_id) for star in unit.favourites.list(ListQuery())[1]]
        assert stars == [("chart", chart), ("dashboard", page + 1)]
        unit.charts.delete(chart)
        assert unit.favourites.list(ListQuery())[0] == 1
        unit.users.delete(user)
        assert unit.favourites.list(ListQuery())[0] == 0

    def test_any_number_of_records_may_go_without_a_slug_or_share_the_name_of_a_template(
        self, unit: UnitOfWork
    ) -> None:
        """None is never taken, and names of CSS templates are no keys."""
        pages = {unit.dashboards.append(a_dashboard(slug=None), actor_id=None) for _ in range(2)}
        templates = {unit.css_templates.append(CssTemplate(template_name="t"), actor_id=None) for _ in range(2)}
        assert (len(pages), len(templates)) == (2, 2)
