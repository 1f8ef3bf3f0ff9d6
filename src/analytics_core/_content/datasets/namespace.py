"""`core.datasets`: tables and SELECTs that charts are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from analytics_core._content.batches import every, is_list
from analytics_core._content.changes import LoggedAction, begin_act, reject_later_change, repeated
from analytics_core._content.datasets.answers import dataset_get, dataset_item
from analytics_core._content.datasets.records import (
    changed_dataset,
    changes_sql,
    copied_dataset,
    count_metric,
    has_row_rules,
    is_as_found,
    moves_its_rules,
    new_dataset,
    new_source_columns,
    primary_key,
    reads_another_source,
    with_facts,
    with_found,
    with_new_columns,
    with_part,
    without_part,
)
from analytics_core._content.field_formatter import readable_now
from analytics_core._content.lists import DATABASES, DATASETS, Listing, ResourceLists, anybody, makers_and_owners
from analytics_core._content.lookups.loading import forget_generation
from analytics_core._content.namespace import NamespaceWithDistinct
from analytics_core._content.related_names import charts_drawn_from, related_objects
from analytics_core._content.user_directory import checked_owners, read_users
from analytics_core._content.written_back import read_changes
from analytics_core._engine.gate.metadata import FoundColumn
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, NamesQuery, UnitOfWork
from analytics_core.errors import AlreadyExistsError, InUseError, PayloadSchemaError, StaleVersionError
from analytics_core.models.dataset import (
    ColumnPut,
    DatasetDuplicate,
    DatasetGet,
    DatasetListItem,
    DatasetPost,
    DatasetPut,
    GetOrCreateDataset,
    MetricPut,
)
from analytics_core.models.lists import RelatedObjects
from analytics_core.models.parsing import Payload, parse, payload_error

if TYPE_CHECKING:
    from analytics_core._engine.results.batch_stream import BatchStream

LISTS = ResourceLists(
    listing=Listing(
        shape="dataset",
        item=DatasetListItem,
        integers=("database_id", "database"),
        texts=("uuid", "table_name", "catalog", "schema", "sql", "description"),
        booleans=("is_managed_externally",),
        links=("owners",),
        stored_as={"database": "database_id", "owners": "owner_ids"},
        without=frozenset({"columns", "metrics"}),
    ),
    repository=lambda unit: unit.datasets,
    item=lambda dataset, facts: dataset_item(
        dataset, database=facts.linked[dataset.database_id], people=facts.people, readable=facts.readable
    ),
    permission=anybody,
    linked=lambda reader, found: reader.names(NamesQuery(databases=frozenset(d.database_id for d in found))).databases,
    people_of=makers_and_owners,
    visibility=DATASETS.visibility,
    people=("owners", "created_by", "changed_by"),
    records={"database": DATABASES},
    distinct=("catalog", "schema", "table_name"),
)


class Datasets(NamespaceWithDistinct[DatasetListItem]):
    """Datasets, as one actor may see and change them.

    `related` takes `owners`, `created_by`, `changed_by` or `database`; `distinct` takes `catalog`, `schema` or
    `table_name`.
    """

    _resource = LISTS

    def create(self, payload: DatasetPost | Payload) -> DatasetGet:
        """Store a dataset, its columns and their types read from the database (contract, `DatasetRestApi.post`).

        With `sql` it is a virtual one, and needs a grant on the whole database. A metric `count` is added to its
        `metrics`, and the first temporal column becomes the main one. Without `owners` the creator owns it.

        Raises:
            PayloadError: the payload breaks the shape, or SQL in it cannot be read.
            DatabaseNotFoundError, DatabaseAccessError: the database is unknown or not for this actor; metrics of its
                own take the right to write SQL there.
            VirtualDatasetError, StatementRefusedError: `sql` is not one SELECT.
            DatabaseError: the table does not exist, or the database cannot be reached.
            AlreadyExistsError: the database has a dataset of this name.

        Examples:
            >>> core.datasets.create({"database": 1, "table_name": "products"}).columns[1].column_name
            'name'
        """
        return self._answer(*self._created(payload))

    def get_or_create(self, payload: GetOrCreateDataset | Payload) -> DatasetGet:
        """Return the dataset of a table, stored now if there was none (contract, `GetOrCreateDatasetSchema`).

        When many ask at once, one of them stores it and all get the same. `template_params` count for a new one only.
        A dataset that the actor may not read is to them as if it were not there.

        Raises:
            PayloadError: the payload breaks the shape.
            DatabaseNotFoundError, DatabaseAccessError: unknown, or not for this actor; `template_params` take a grant
                on the whole database.
            AlreadyExistsError: they may read the table, but not the dataset that there is of it.
            DatabaseError: the table does not exist, or the database cannot be reached.

        Examples:
            >>> core.datasets.get_or_create({"database_id": 1, "table_name": "orders"}).id
            1
        """
        requested = parse(GetOrCreateDataset, payload, shape="GetOrCreateDatasetSchema")
        with self._acting("dataset.create") as (act, unit):
            database = unit.databases.get(requested.database_id)
        found = self._find_readable(requested, database)
        if found is not None:
            return found
        post = DatasetPost(
            database=requested.database_id, table_name=requested.table_name, schema=requested.schema_name
        )
        plain = new_dataset(post, owner_ids=(self._actor.id,), new_uuid=_new_uuid)
        record = replace(plain, template_params=requested.template_params)
        self._require_sql_rights(plain, record, database)
        try:
            return self._answer(self._store_new(record, database, act), database)
        except (AlreadyExistsError, StaleVersionError):  # some servers call it a deadlock
            found = self._find_readable(requested, database)
            if found is None:  # stored and deleted by somebody else in this moment, or not for the actor
                raise
            return found

    @repeated
    def duplicate(self, payload: DatasetDuplicate | Payload) -> DatasetGet:
        """Store a copy of a virtual dataset under another name, owned by the actor (`DatasetDuplicateSchema`).

        Columns and metrics are copied, and the row rules that bind the original bind the copy too. It takes the right
        to read the original and, as for every virtual dataset, a grant on the whole database.

        Raises:
            PayloadError: the payload breaks the shape, or the dataset is a physical one.
            NotFoundError, DatasetAccessError, DatabaseAccessError: it is unknown or not for this actor.
            AlreadyExistsError: the database has a dataset of this name.

        Examples:
            >>> core.datasets.duplicate({"base_model_id": 2, "table_name": "large_orders"}).sql
            'SELECT * FROM orders WHERE amount > 100'
        """
        requested = parse(DatasetDuplicate, payload, shape="DatasetDuplicateSchema")
        with self._acting("dataset.duplicate") as (act, unit):
            base = self._reader(unit).dataset(requested.base_model_id)
            database = unit.databases.get(base.database_id)
            copy = copied_dataset(base, table_name=requested.table_name, owner_id=self._actor.id, new_uuid=_new_uuid)
            self._runtime.policy.require_query_database(self._actor, database)
            stored = unit.datasets.add(copy, actor_id=self._actor.id)
            bound = _bind_rules_of(unit, base, stored, actor_id=self._actor.id)
            details = {"dataset_id": stored.id, "base_model_id": base.id, **({"row_rule_ids": bound} if bound else {})}
            act.log(unit, details=details)
        return self._answer(stored, database)

    def get(self, dataset_id: int | str) -> DatasetGet:
        """Return a dataset, by its id or name (`orders`, `sales.orders`), with its columns and metrics.

        Raises:
            NotFoundError: there is none that the actor may read, or the name means several.
            DatasetAccessError: the dataset of this id is not for the actor.

        Examples:
            >>> core.datasets.get("orders").metrics[0].expression
            'SUM(amount)'
        """
        from analytics_core._content.datasets.sources import dataset_called

        with self._runtime.store.unit_of_work() as unit:
            if isinstance(dataset_id, str):
                dataset = dataset_called(self._reader(unit), dataset_id)
            else:
                dataset = self._reader(unit).dataset(dataset_id)
            database = unit.databases.get(dataset.database_id)
        return self._answer(dataset, database)

    @repeated
    def update(
        self,
        dataset_id: int,
        payload: DatasetPut | DatasetGet | DatasetListItem | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> DatasetGet:
        """Change a dataset; `columns` and `metrics` replace the stored lists (contract, `DatasetRestApi.put`).

        What `get` gave is taken too, with changes made in it. New metrics, calculated columns, predicates and date
        formats are read before they are stored.

        With `unchanged_since`, the `changed_on` of the dataset that the caller read, a change that somebody else made
        since is not overwritten.

        Raises:
            PayloadError: the payload breaks the shape, SQL in it cannot be read, or a new column without expression is
                none of the table.
            OwnershipError: the actor does not own it.
            AccessError: row rules stand on its table, and only an administrator may take them elsewhere.
            DatabaseAccessError: it would read from where the actor has no grant; or its SQL changes (also template
                parameters, predicates, expressions, metrics, formats and types), without a grant on the database.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> core.datasets.update(1, {"description": "One row for each order line"}).description
            'One row for each order line'
        """
        answers = self._answers(DatasetGet, self.get, dataset_id)
        put = read_changes(DatasetPut, payload, shape="DatasetRestApi.put", answers=answers)
        act = begin_act(self._runtime, self._actor, "dataset.update")
        owners = self._named_owners(put)

        def change(before: Dataset) -> Dataset:
            return changed_dataset(before, put, owner_ids=owners or before.owner_ids, new_uuid=_new_uuid)

        names_columns = put.columns is not None
        return self._change(dataset_id, change, act, unchanged_since=unchanged_since, names_columns=names_columns)

    @repeated
    def refresh(self, dataset_id: int) -> DatasetGet:
        """Read the columns from the database again: new ones are added, vanished ones dropped, calculated ones kept.

        Examples:
            >>> len(core.datasets.refresh(1).columns)
            10
        """
        with self._acting("dataset.refresh") as (act, unit):
            before = self._writable(unit, dataset_id)
            database = unit.databases.get(before.database_id)
        after = with_found(before, self._columns_of(before, database), _new_uuid)
        with self._runtime.store.unit_of_work() as unit:
            refreshed = unit.datasets.update(after, actor_id=self._actor.id)
            act.log(unit, details={"dataset_id": dataset_id})
        return self._answer(refreshed, database)

    @repeated
    def set_column(self, dataset_id: int, payload: ColumnPut | Payload) -> DatasetGet:
        """Add one column, or change the one of its `id` or name; the others stay (contract, `DatasetColumnsPut`).

        Errors are those of `update`.

        Examples:
            >>> large = {"column_name": "is_large", "expression": "amount > 100", "type": "BOOLEAN"}
            >>> core.datasets.set_column(1, large).columns[-1].column_name
            'is_large'
        """
        item = parse(ColumnPut, payload, shape="DatasetColumnsPut")
        act = begin_act(self._runtime, self._actor, "dataset.update")
        change = partial(with_part, parts="columns", item=item, new_uuid=_new_uuid)
        return self._change(dataset_id, change, act, column=item.column_name)

    @repeated
    def set_metric(self, dataset_id: int, payload: MetricPut | Payload) -> DatasetGet:
        """Add one metric, or change the one of its `id` or name; the others stay (contract, `DatasetMetricsPut`).

        Errors are those of `update`.

        Examples:
            >>> average = {"metric_name": "average", "expression": "AVG(amount)"}
            >>> core.datasets.set_metric(1, average).metrics[-1].metric_name
            'average'
        """
        item = parse(MetricPut, payload, shape="DatasetMetricsPut")
        act = begin_act(self._runtime, self._actor, "dataset.update")
        change = partial(with_part, parts="metrics", item=item, new_uuid=_new_uuid)
        return self._change(dataset_id, change, act, metric=item.metric_name)

    @repeated
    def delete_column(self, dataset_id: int, column_id: int) -> DatasetGet:
        """Remove one column of a dataset; what no longer has its main time column has none.

        Examples:
            >>> columns = core.datasets.get(1).columns
            >>> [column.column_name for column in core.datasets.delete_column(1, columns[0].id).columns][:2]
            ['order_date', 'customer_id']
        """
        act = begin_act(self._runtime, self._actor, "dataset_column.delete")
        change = partial(without_part, parts="columns", part_id=column_id)
        return self._change(dataset_id, change, act, column_id=column_id)

    @repeated
    def delete_metric(self, dataset_id: int, metric_id: int) -> DatasetGet:
        """Remove one metric of a dataset.

        Examples:
            >>> (revenue,) = core.datasets.get(1).metrics
            >>> core.datasets.delete_metric(1, revenue.id).metrics
            ()
        """
        act = begin_act(self._runtime, self._actor, "dataset_metric.delete")
        change = partial(without_part, parts="metrics", part_id=metric_id)
        return self._change(dataset_id, change, act, metric_id=metric_id)

    def batches(self, dataset_id: int, *, columns: Sequence[str] | None = None) -> BatchStream:
        """Return all rows of a dataset as Arrow record batches, in no order (`charts.batches` says what holds).

        With `columns` those alone, in this order.

        Raises:
            PayloadSchemaError: `columns` is no list.
            UnknownColumnError: one of them is not there.

        Examples:
            >>> with core.datasets.batches(1, columns=["country", "amount"]) as stream:
            ...     print(stream.schema.names)
            ['country', 'amount']
        """
        if columns is not None and not is_list(columns):
            raise payload_error(
                "datasets.batches", "columns", "must be a list of names of columns, for example ['amount']"
            )
        from analytics_core._content.questions.queries import ChartQueries

        return ChartQueries(self._runtime, self._actor).rows_of(dataset_id, columns)

    def related_objects(self, dataset_id: int) -> RelatedObjects:
        """Return the charts drawn from a dataset and the dashboards that show them, as far as the actor may see them.

        Contract, `DatasetRelatedObjectsResponse`.

        Examples:
            >>> [chart.slice_name for chart in core.datasets.related_objects(1).charts.result]
            ['Revenue by country', 'Revenue by month']
        """
        with self._runtime.store.unit_of_work() as unit:
            dataset = self._reader(unit).dataset(dataset_id)
            return related_objects(self._reader(unit), [dataset.id])

    @repeated
    def delete(self, dataset_id: int) -> None:
        """Remove a dataset with its columns and metrics; InUseError while charts or row rules need it.

        Examples:
            >>> core.datasets.delete(2)
            >>> [dataset.table_name for dataset in core.datasets.list()]
            ['orders']
        """
        with self._acting("dataset.delete") as (act, unit):
            dataset = self._writable(unit, dataset_id)
            _reject_while_used(unit, dataset)
            unit.datasets.delete(dataset_id)
            forget_generation(unit, dataset)
            act.log(unit, details={"dataset_id": dataset_id})

    def _created(self, payload: DatasetPost | Payload) -> tuple[Dataset, Database]:
        """Store a dataset as `create` does, and return its record and its database."""
        post = parse(DatasetPost, payload, shape="DatasetRestApi.post")
        act = begin_act(self._runtime, self._actor, "dataset.create")
        owners = checked_owners(self._runtime.people, post.owners, actor=self._actor, shape="DatasetRestApi.post")
        with self._runtime.store.unit_of_work() as unit:
            database = unit.databases.get(post.database)
        record = new_dataset(post, owner_ids=owners, new_uuid=_new_uuid)
        if post.metrics:
            self._require_sql_rights(replace(record, metrics=(count_metric(_new_uuid),)), record, database)
        return self._store_new(record, database, act), database

    def _store_new(
        self, record: Dataset, database: Database, act: LoggedAction, *, is_statement: bool = False
    ) -> Dataset:
        """Read the columns of a new dataset from the database and store it; a statement is one of the SQL editor."""
        record = with_found(record, self._columns_of(record, database, is_statement=is_statement), _new_uuid)
        self._check_fragments(record, database, before=None)
        with self._runtime.store.unit_of_work() as unit:
            return act.add(unit, unit.datasets, record, "dataset_id")

    def _find_readable(self, requested: GetOrCreateDataset, database: Database) -> DatasetGet | None:
        """Return the dataset of a table, if the actor may read it; None for another one, and when there is none."""
        table = {"database_id": database.id, "catalog": None, "table_name": requested.table_name}
        schemas = self._schemas_meant(requested.schema_name or None, database)
        with self._runtime.store.unit_of_work() as unit:
            found = (unit.datasets.find(**table, schema=name) for name in schemas)
            dataset = next((one for one in found if one is not None), None)
            if dataset is None or not self._reader(unit).among_datasets((dataset,)):
                return None
        return self._answer(dataset, database)

    def _schemas_meant(self, schema: str | None, database: Database) -> tuple[str | None, ...]:
        """Return the schema that is asked for, and by which other name the default one is stored."""
        default = self._runtime.engine.metadata.default_schema_of(self._actor, database)
        if default is None or schema not in (None, default):
            return (schema,)
        return (schema, default if schema is None else None)

    def _change(
        self,
        dataset_id: int,
        change: Callable[[Dataset], Dataset],
        act: LoggedAction,
        *,
        unchanged_since: datetime | str | None = None,
        names_columns: bool = True,
        **details: Any,
    ) -> DatasetGet:
        """Change a dataset, with what its database says of it now; where no columns are named, they are those there."""
        with self._runtime.store.unit_of_work() as unit:
            before = self._writable(unit, dataset_id)
            reject_later_change(before, unchanged_since)
            after = change(before)
            database = unit.databases.get(after.database_id)
        if after == before:
            return self._answer(before, database)
        self._require_sql_rights(before, after, database)
        if reads_another_source(before, after) and not names_columns:
            after = with_found(after, self._columns_of(after, database), _new_uuid)
        else:
            after = self._with_source(before, after, database)
        self._check_fragments(after, database, before=before)
        with self._runtime.store.unit_of_work() as unit:
            if moves_its_rules(before, after) and has_row_rules(unit, before):
                self._runtime.policy.require_manage_row_rules(self._actor)
            stored = unit.datasets.update(after, actor_id=self._actor.id)
            act.log(unit, details={"dataset_id": dataset_id, **details})
        return self._answer(stored, database)

    def _require_sql_rights(self, before: Dataset, after: Dataset, database: Database) -> None:
        """Raise DatabaseAccessError when the SQL of a dataset changes by somebody who may not write SQL there."""
        if changes_sql(before, after):
            self._runtime.policy.require_query_database(self._actor, database)

    def _check_fragments(self, dataset: Dataset, database: Database, *, before: Dataset | None) -> None:
        """Read new metrics, expressions, formats, predicates; PayloadSchemaError says what is wrong with each."""
        if is_as_found(dataset):
            return
        spec, request = self._runtime.engine.registry.get(database.engine), self._runtime.request(self._actor)
        if problems := self._runtime.engine.questions.fragments.problems(dataset, spec, request, before=before):
            raise PayloadSchemaError(shape=f"DatasetRestApi.{'put' if before else 'post'}", problems=problems)

    def _columns_of(
        self, dataset: Dataset, database: Database, *, is_statement: bool = False
    ) -> tuple[FoundColumn, ...]:
        """Ask the database for the columns of a dataset, its templates rendered; the gate checks that the actor may."""
        engine, sql = self._runtime.engine, None
        if dataset.sql:
            spec, request = engine.registry.get(database.engine), self._runtime.request(self._actor)
            sql = engine.questions.templates.sample_source(dataset, spec, request)
        return engine.metadata.columns_of(self._actor, dataset, database, sql=sql, is_statement=is_statement)

    def _with_source(self, before: Dataset, after: Dataset, database: Database) -> Dataset:
        """Return a dataset whose list of columns was given, with what the database says of new ones, or of all."""
        if not reads_another_source(before, after) and not new_source_columns(before.columns, after.columns):
            return after
        found = self._columns_of(after, database)
        columns = with_new_columns(before.columns, after.columns, found)
        return replace(after, columns=with_facts(columns, found), primary_key=primary_key(found))

    def _named_owners(self, put: DatasetPut) -> tuple[int, ...] | None:
        """Return the owners that an update names, None when it names none; somebody always stays an owner."""
        if put.owners is None:
            return None
        return checked_owners(self._runtime.people, put.owners, actor=self._actor, shape="DatasetRestApi.put")

    def _answer(self, dataset: Dataset, database: Database) -> DatasetGet:
        spec = self._runtime.engine.registry.get(database.engine)
        people = read_users(self._runtime.people, makers_and_owners(dataset))
        return dataset_get(dataset, database=database, spec=spec, people=people, readable=readable_now(self._runtime))

    def _writable(self, unit: UnitOfWork, dataset_id: int) -> Dataset:
        dataset = self._reader(unit).dataset(dataset_id)
        self._runtime.policy.require_write(self._actor, dataset)
        return dataset


def _new_uuid() -> str:
    return str(uuid4())


def _bind_rules_of(unit: UnitOfWork, base: Dataset, copy: Dataset, *, actor_id: int) -> list[int]:
    """Make the row rules of a dataset bind its copy too, and return their ids."""
    binding = (ListFilter(col="dataset_ids", op="eq", val=base.id),)
    rules = tuple(every(unit.row_rules, binding))
    for rule in rules:
        unit.row_rules.update(replace(rule, dataset_ids=(*rule.dataset_ids, copy.id)), actor_id=actor_id)
    return [rule.id for rule in rules]


def _reject_while_used(unit: UnitOfWork, dataset: Dataset) -> None:
    count, _ = unit.charts.list(ListQuery(filters=charts_drawn_from([dataset.id]), page_size=1))
    if count:
        raise InUseError(f"dataset {dataset.id} is used by {count} charts; delete or move them first")
