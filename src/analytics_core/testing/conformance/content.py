"""What every `MetadataStore` must keep of content: datasets, dashboards, stars, layers, embeddings, row rules."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from analytics_core._engine.rights.row_rules import TableName, table_key
from analytics_core._records.chart import Annotation, AnnotationLayer
from analytics_core._records.dashboard import CssTemplate, EmbeddedDashboard, Favourite, Tag
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import Role, RowRule
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core.errors import AlreadyExistsError, FilterValueError, NotFoundError, PayloadSchemaError
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.records import (
    START,
    NamedIds,
    StoreSuite,
    a_chart,
    a_dashboard,
    a_database,
    a_dataset,
    a_user,
)

_HOUR = timedelta(hours=1)


class ContentConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

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

    def test_owners_are_a_set_of_ids(self, store: MetadataStore, dataset: Dataset) -> None:
        """They come back in the order of their ids, each once."""
        assert dataset.owner_ids == (3, 5)
        assert self._update(store, replace(dataset, owner_ids=(9, 3, 9))).owner_ids == (3, 9)

    def test_the_version_is_told_without_the_dataset(self, store: MetadataStore, dataset: Dataset) -> None:
        """Every change counts, also one of columns alone."""
        self._update(store, replace(dataset, columns=()))
        with store.unit_of_work() as unit:
            assert unit.datasets.version(dataset.id) == 2

    def test_a_deleted_dataset_takes_its_items_along(self, dataset: Dataset, unit: UnitOfWork) -> None:
        """A new dataset of the same table starts without them."""
        unit.datasets.delete(dataset.id)
        again = unit.datasets.add(a_dataset(dataset.database_id, columns=(), metrics=()), actor_id=None)
        assert (again.columns, again.metrics, again.owner_ids) == ((), (), ())

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
        for other in (*others, a_dataset(named.database)):
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

    # ------------------------------------------------------------------------------------------------ dashboards
    def test_a_deleted_chart_or_tag_leaves_the_dashboard(self, unit: UnitOfWork) -> None:
        """The dashboard stays without them; a deleted dashboard leaves its charts."""
        chart, tag = unit.charts.append(a_chart(), actor_id=None), unit.tags.append(Tag(name="t"), actor_id=None)
        tagged = unit.charts.append(a_chart("b", tag_ids=(tag,)), actor_id=None)
        stored = unit.dashboards.append(a_dashboard(chart_ids=(chart, tagged), tag_ids=(tag,)), actor_id=None)
        unit.charts.delete(chart)
        unit.tags.delete(tag)
        left = unit.dashboards.get(stored)
        assert (left.chart_ids, left.tag_ids, unit.charts.get(tagged).tag_ids) == ((tagged,), (), ())
        unit.dashboards.delete(stored)
        assert unit.charts.get(tagged).slice_name == "b"

    def test_dashboards_are_found_by_their_links(self, unit: UnitOfWork) -> None:
        """By chart, role, tag and owner; by one of several too."""
        one, two = (unit.charts.append(a_chart(name), actor_id=None) for name in ("a", "b"))
        first = unit.dashboards.append(a_dashboard(chart_ids=(one, two), owner_ids=(7,)), actor_id=None)
        second = unit.dashboards.append(a_dashboard(chart_ids=(two,)), actor_id=None)

        def found(col: str, op: str, val: object) -> list[int]:
            query = ListQuery(filters=(ListFilter(col=col, op=op, val=val),))
            return [dashboard.id for dashboard in unit.dashboards.list(query)[1]]

        assert found("chart_ids", "eq", one) == [first]
        assert found("chart_ids", "in", [one, two]) == [first, second]
        assert found("owner_ids", "eq", 7) == [first]
        assert found("tag_ids", "in", [1]) == found("role_ids", "in", []) == []
        with pytest.raises(FilterValueError):
            found("chart_ids", "eq", "1")

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
        left = [(star.target, star.target_id) for star in unit.favourites.list(ListQuery())[1]]
        assert left == [("chart", chart), ("dashboard", page + 1)]
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

    # ----------------------------------------------------------------------------------------------- annotations
    def test_a_layer_goes_with_its_annotations_and_no_others(self, store: MetadataStore) -> None:
        """Those of another layer stay."""
        with store.unit_of_work() as unit:
            gone, kept = _two_layers(unit)
            lost = unit.annotations.append(_annotation(gone), actor_id=None)
            left = unit.annotations.add(_annotation(kept), actor_id=None)
            unit.annotation_layers.delete(gone)
        with store.unit_of_work() as unit:
            assert unit.annotations.get(left.id) == left
            with pytest.raises(NotFoundError):
                unit.annotations.get(lost)

    def test_annotations_of_a_layer_are_found_by_time_in_their_order(self, unit: UnitOfWork) -> None:
        """Earliest first, ties by id; the bounds are exact to the microsecond; other layers stay out."""
        first, second = _two_layers(unit)
        for text, start in (("late", START + _HOUR), ("one", START), ("two", START), ("early", START - _HOUR)):
            unit.annotations.append(replace(_annotation(first, text), start_dttm=start, end_dttm=start), actor_id=1)
        unit.annotations.append(_annotation(second, "other"), actor_id=None)
        filters = (
            ListFilter(col="layer_id", op="eq", val=first),
            ListFilter(col="start_dttm", op="lt", val=START + _HOUR),
            ListFilter(col="end_dttm", op="gt", val=START - timedelta(microseconds=1)),
        )
        count, found = unit.annotations.list(ListQuery(filters=filters, order_by=(("start_dttm", False),)))
        assert (count, [item.short_descr for item in found]) == (2, ["one", "two"])

    # ----------------------------------------------------------------------------------- embeddings and row rules
    def test_an_embedding_is_found_by_uuid_and_by_dashboard_and_ends_with_it(self, store: MetadataStore) -> None:
        """Several uuids are found by one list; of a deleted dashboard nothing is left that a token could name."""
        with store.unit_of_work() as unit:
            pages = [unit.dashboards.append(a_dashboard(), actor_id=1) for _ in range(3)]
            stored = [unit.embedded.add(_embedded(page), actor_id=1) for page in pages]
            assert unit.embedded.find(uuid=stored[1].uuid) == stored[1]
            assert unit.embedded.find(dashboard_id=pages[2]) == stored[2]
            wanted = ListFilter(col="uuid", op="in", val=(stored[0].uuid, stored[2].uuid, str(uuid.uuid4())))
            count, found = unit.embedded.list(ListQuery(filters=(wanted,)))
            assert (count, list(found)) == (2, [stored[0], stored[2]])
        with store.unit_of_work() as unit:
            unit.dashboards.delete(pages[1])
        with store.unit_of_work() as unit:
            assert unit.embedded.find(uuid=stored[1].uuid) is None

    def test_a_dashboard_is_embedded_once_under_a_uuid_of_its_own(self, named: NamedIds, unit: UnitOfWork) -> None:
        """A second embedding of one dashboard is refused, and a uuid that another one has."""
        stored = unit.embedded.add(_embedded(named.dashboard), actor_id=1)
        other = unit.dashboards.append(a_dashboard(), actor_id=1)
        with pytest.raises(AlreadyExistsError, match="dashboard_id"):
            unit.embedded.append(_embedded(named.dashboard), actor_id=1)
        with pytest.raises(AlreadyExistsError, match="uuid"):
            unit.embedded.append(replace(_embedded(other), uuid=stored.uuid), actor_id=1)

    def test_a_changed_embedding_keeps_its_uuid(self, named: NamedIds, unit: UnitOfWork) -> None:
        """Pages of hosts name it."""
        stored = unit.embedded.add(_embedded(named.dashboard, "https://b.example", "http://a:1"), actor_id=1)
        changed = unit.embedded.update(replace(stored, allowed_domains=()), actor_id=2)
        assert stored.allowed_domains == ("https://b.example", "http://a:1")
        assert (changed.uuid, changed.allowed_domains, changed.audit.changed_by) == (stored.uuid, (), 2)

    def test_rules_are_found_by_role_and_dataset_and_lose_what_they_no_longer_name(
        self, store: MetadataStore, named: NamedIds
    ) -> None:
        """Lists filter by what rules name; an update keeps no role and no dataset of before."""

        def found(col: str, value: int) -> list[str]:
            filters = (ListFilter(col=col, op="eq", val=value),)
            with store.unit_of_work() as unit:
                return [rule.name for rule in unit.row_rules.list(ListQuery(filters=filters))[1]]

        with store.unit_of_work() as unit:
            role = unit.roles.append(Role(name="editors"), actor_id=None)
            other = unit.datasets.append(a_dataset(named.database, "lines"), actor_id=None)
            both = RowRule(name="both", clause="1 = 0", role_ids=(named.role,), dataset_ids=(named.dataset, other))
            stored: Any = unit.row_rules.add(both, actor_id=None)
            unit.row_rules.append(replace(both, name="second", role_ids=(), dataset_ids=(other,)), actor_id=None)
        assert (found("dataset_ids", named.dataset), found("role_ids", named.role)) == (["both"], ["both"])
        assert found("dataset_ids", other) == ["both", "second"]
        with store.unit_of_work() as unit:
            unit.row_rules.update(replace(stored, role_ids=(role,), dataset_ids=(other,)), actor_id=None)
        assert (found("dataset_ids", named.dataset), found("role_ids", named.role)) == ([], [])
        assert found("role_ids", role) == ["both"]


def _two_layers(unit: UnitOfWork) -> tuple[int, int]:
    first, second = (unit.annotation_layers.append(AnnotationLayer(name=name), actor_id=None) for name in ("a", "b"))
    return first, second


def _annotation(layer_id: int, text: str = "2.0") -> Annotation:
    return Annotation(layer_id=layer_id, short_descr=text, start_dttm=START, end_dttm=START)


def _embedded(dashboard_id: int, *domains: str) -> EmbeddedDashboard:
    return EmbeddedDashboard(uuid=str(uuid.uuid4()), dashboard_id=dashboard_id, allowed_domains=domains)
