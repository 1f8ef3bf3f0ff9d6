"""`core.datasets`: tables and SELECTs that charts are drawn from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import uuid4

from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.dataset_answers import DATASOURCE_TYPE, dataset_get, dataset_item
from analytics_core._resources.dataset_changes import changed_dataset, reads_elsewhere
from analytics_core._resources.dataset_columns import (
    FoundColumn,
    count_metric,
    first_temporal,
    reflected_columns,
    refreshed_columns,
)
from analytics_core._resources.finding import get_database
from analytics_core._resources.listing import ColumnKind, Filters, Listing, Order, only
from analytics_core._resources.page import Page
from analytics_core._resources.people_index import checked_owners, read_people
from analytics_core._resources.readable import Readable
from analytics_core._resources.visibility import visible_datasets
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import InUseError
from analytics_core.models.dataset import DatasetGet, DatasetListItem, DatasetPost, DatasetPut
from analytics_core.models.parsing import Payload, parse

LISTING = Listing(
    shape="dataset",
    item=DatasetListItem,
    columns={
        "id": ColumnKind.INTEGER,
        "uuid": ColumnKind.TEXT,
        "database_id": ColumnKind.INTEGER,
        "table_name": ColumnKind.TEXT,
        "schema": ColumnKind.TEXT,
        "sql": ColumnKind.TEXT,
        "description": ColumnKind.TEXT,
        "is_managed_externally": ColumnKind.BOOLEAN,
        "created_on": ColumnKind.MOMENT,
        "changed_on": ColumnKind.MOMENT,
    },
    stored_as={},
)


class Datasets:
    """Datasets, as one actor may see and change them."""

    def __init__(self, runtime: Runtime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def create(self, payload: Payload) -> DatasetGet:
        """Store a dataset, its columns and their types read from the database (contract, `DatasetRestApi.post`).

        With `sql` it is a virtual one, and needs a grant on the whole database. A metric `count` is added, and the
        first temporal column becomes the main one. Without `owners` the creator owns it.

        Raises:
            PayloadError: the payload breaks the shape.
            DatabaseNotFoundError, DatabaseAccessError: the database is unknown or not for this actor.
            VirtualDatasetError, StatementRefusedError: `sql` is not one SELECT.
            DatabaseError: the table does not exist, or the database cannot be reached.
            AlreadyExistsError: the database has a dataset of this name.
        """
        post = parse(DatasetPost, payload, shape="DatasetRestApi.post")
        with self._runtime.store.unit_of_work() as unit:
            database = get_database(unit, post.database)
        found = self._describe(database, table=post.table_name, schema=post.schema_name, sql=post.sql)
        with self._runtime.store.unit_of_work() as unit:
            record = self._new_record(unit, post, found)
            return self._answer(unit, unit.datasets.add(record, actor_id=self._actor.id), database)

    def get(self, dataset_id: int) -> DatasetGet:
        """Return a dataset with its columns and metrics; NotFoundError or DatasetAccessError otherwise."""
        with self._runtime.store.unit_of_work() as unit:
            dataset = self._readable(unit, dataset_id)
            return self._answer(unit, dataset, get_database(unit, dataset.database_id))

    def list(
        self,
        filters: Filters = (),
        order_by: Order = None,
        page: int = 0,
        page_size: int = 25,
        columns: Iterable[str] | None = None,
    ) -> Page[DatasetListItem]:
        """Return one page of the datasets that the actor may read; the arguments are those of `databases.list`."""
        fields = LISTING.fields(columns)
        with self._runtime.store.unit_of_work() as unit:
            ids = visible_datasets(unit, self._runtime.policy, self._actor)
            query = LISTING.query(filters=filters, order_by=order_by, page=page, page_size=page_size, ids=ids)
            count, found = unit.datasets.list(query)
            databases = {key: get_database(unit, key) for key in {dataset.database_id for dataset in found}}
            people = read_people(unit, (person for dataset in found for person in _people_of(dataset)))
        items = (
            dataset_item(d, database=databases[d.database_id], people=people, readable=self._readable_texts())
            for d in found
        )
        return Page(count=count, result=tuple(only(item, fields) for item in items))

    def update(self, dataset_id: int, payload: Payload) -> DatasetGet:
        """Change a dataset; `columns` and `metrics` replace the stored lists (contract, `DatasetRestApi.put`).

        Raises:
            PayloadError: the payload breaks the shape.
            OwnershipError: the actor does not own it.
            DatabaseAccessError: it would read from where the actor has no grant.
            StaleVersionError: somebody else changed it meanwhile.
        """
        put = parse(DatasetPut, payload, shape="DatasetRestApi.put")
        with self._runtime.store.unit_of_work() as unit:
            before = self._writable(unit, dataset_id)
            after = changed_dataset(before, put, owner_ids=self._owners(unit, before, put), new_uuid=_new_uuid)
            database = get_database(unit, after.database_id)
        if reads_elsewhere(before, after):
            found = self._describe(database, table=after.table_name, schema=after.schema, sql=after.sql)
            after = after if put.columns is not None else _with_found(after, found)
        with self._runtime.store.unit_of_work() as unit:
            return self._answer(unit, unit.datasets.update(after, actor_id=self._actor.id), database)

    def refresh(self, dataset_id: int) -> DatasetGet:
        """Read the columns from the database again: new ones are added, vanished ones dropped, calculated ones kept."""
        with self._runtime.store.unit_of_work() as unit:
            before = self._writable(unit, dataset_id)
            database = get_database(unit, before.database_id)
        found = self._describe(database, table=before.table_name, schema=before.schema, sql=before.sql)
        with self._runtime.store.unit_of_work() as unit:
            refreshed = unit.datasets.update(_with_found(before, found), actor_id=self._actor.id)
            return self._answer(unit, refreshed, database)

    def delete(self, dataset_id: int) -> None:
        """Remove a dataset with its columns and metrics; InUseError while charts are drawn from it."""
        with self._runtime.store.unit_of_work() as unit:
            dataset = self._writable(unit, dataset_id)
            _refuse_while_used(unit, dataset)
            unit.datasets.delete(dataset_id)

    def _describe(
        self, database: Database, *, table: str, schema: str | None, sql: str | None
    ) -> tuple[FoundColumn, ...]:
        """Ask the database for the columns of a table or SELECT; the gate checks that the actor may."""
        probes = self._runtime.probes
        if sql:
            found = probes.select_columns(self._actor, database, sql=sql, place=f"dataset {table!r}")
        else:
            found = probes.table_columns(self._actor, database, table=table, schema=schema or None)
        return found

    def _new_record(self, unit: UnitOfWork, post: DatasetPost, found: tuple[FoundColumn, ...]) -> Dataset:
        columns = reflected_columns(found, _new_uuid)
        return Dataset(
            uuid=_new_uuid(),
            database_id=post.database,
            table_name=post.table_name,
            schema=post.schema_name or None,
            sql=post.sql or None,
            external_url=post.external_url,
            is_managed_externally=bool(post.is_managed_externally),
            main_dttm_col=first_temporal(columns),
            columns=columns,
            metrics=(count_metric(_new_uuid),),
            owner_ids=checked_owners(unit, post.owners, actor=self._actor, shape="DatasetRestApi.post"),
        )

    def _owners(self, unit: UnitOfWork, before: Dataset, put: DatasetPut) -> tuple[int, ...]:
        if put.owners is None:
            return before.owner_ids
        return checked_owners(unit, put.owners, actor=self._actor, shape="DatasetRestApi.put")

    def _answer(self, unit: UnitOfWork, dataset: Dataset, database: Database) -> DatasetGet:
        spec = self._runtime.registry.get(database.engine)
        people = read_people(unit, _people_of(dataset))
        return dataset_get(dataset, database=database, spec=spec, people=people, readable=self._readable_texts())

    def _readable(self, unit: UnitOfWork, dataset_id: int) -> Dataset:
        dataset = unit.datasets.get(dataset_id)
        self._runtime.policy.require_read_dataset(self._actor, dataset)
        return dataset

    def _writable(self, unit: UnitOfWork, dataset_id: int) -> Dataset:
        dataset = self._readable(unit, dataset_id)
        self._runtime.policy.require_write(self._actor, dataset)
        return dataset

    def _readable_texts(self) -> Readable:
        return Readable(now=self._runtime.clock.now(), settings=self._runtime.settings)


def _new_uuid() -> str:
    return str(uuid4())


def _with_found(dataset: Dataset, found: tuple[FoundColumn, ...]) -> Dataset:
    """Return the dataset with its columns as the database has them now, and a main time column that exists."""
    columns = refreshed_columns(dataset.columns, found, _new_uuid)
    names = {column.column_name for column in columns}
    main = dataset.main_dttm_col if dataset.main_dttm_col in names else first_temporal(columns)
    return replace(dataset, columns=columns, main_dttm_col=main)


def _people_of(dataset: Dataset) -> tuple[int | None, ...]:
    return (dataset.audit.created_by, dataset.audit.changed_by, *dataset.owner_ids)


def _refuse_while_used(unit: UnitOfWork, dataset: Dataset) -> None:
    drawn_from_it = (
        ListFilter(col="datasource_id", op="eq", val=dataset.id),
        ListFilter(col="datasource_type", op="in", val=(DATASOURCE_TYPE, "dataset")),
    )
    count, _ = unit.charts.list(ListQuery(filters=drawn_from_it, page_size=1))
    if count:
        raise InUseError(f"dataset {dataset.id} is used by {count} charts; delete or move them first")
