"""Records of datasets as a payload, reflection, a refresh or a copy leaves them; their row rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from analytics_core._content.changes import changes_of
from analytics_core._engine.gate.metadata import FoundColumn
from analytics_core._records.audit import Audit
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core.errors import NotFoundError, PayloadSchemaError, Problem, nearest
from analytics_core.models.dataset import ColumnPut, DatasetPost, DatasetPut, MetricPut
from analytics_core.models.parsing import payload_error

NewUuid = Callable[[], str]
Parts = Literal["columns", "metrics"]
"""What a dataset is made of, by the name of its field."""

_SHAPE: Final = "DatasetRestApi.put"
_NAMES: Final[dict[Parts, str]] = {"columns": "column_name", "metrics": "metric_name"}
_FACTS: Final = ("nullable", "leads_index", "collation", "stored_type")
_TAKEN_APART: Final = frozenset({"columns", "metrics", "owners", "schema_name"})


# ------------------------------------------------------------------------------------------------------------ datasets
def new_dataset(post: DatasetPost, *, owner_ids: tuple[int, ...], new_uuid: NewUuid) -> Dataset:
    """Return the record of a create payload, with a metric `count` unless it names one."""
    names_count = any(metric.metric_name == "count" for metric in post.metrics or ())
    record = Dataset(
        uuid=new_uuid(),
        database_id=post.database,
        table_name=post.table_name,
        schema=post.schema_name or None,
        sql=post.sql or None,
        external_url=post.external_url,
        is_managed_externally=bool(post.is_managed_externally),
        metrics=() if names_count else (count_metric(new_uuid),),
        owner_ids=owner_ids,
    )
    given = changed_parts(record, "metrics", post.metrics or (), new_uuid)
    return replace(record, metrics=(*record.metrics, *given))


def changed_dataset(dataset: Dataset, put: DatasetPut, *, owner_ids: tuple[int, ...], new_uuid: NewUuid) -> Dataset:
    """Return the dataset after an update; null clears what may be empty and leaves everything else as it is.

    A blank schema or SQL is none, as in a dataset that is created with it.

    Raises:
        PayloadSchemaError: a column or metric that does not fit the dataset, or a main time column that it lacks.
    """
    changes = changes_of(put, Dataset, without=_TAKEN_APART) | {"owner_ids": owner_ids}
    if "schema_name" in put.model_fields_set:
        changes["schema"] = put.schema_name or None
    if "sql" in changes:
        changes["sql"] = put.sql or None
    if put.columns is not None:
        changes["columns"] = changed_parts(dataset, "columns", put.columns, new_uuid)
    if put.metrics is not None:
        changes["metrics"] = changed_parts(dataset, "metrics", put.metrics, new_uuid)
    changed = replace(dataset, **changes)
    if changes.get("main_dttm_col"):
        _check_main_dttm_col(changed)
    return without_lost_main_dttm_col(changed)


def reads_another_source(before: Dataset, after: Dataset) -> bool:
    """Tell whether an update makes the dataset read other rows: another database, schema, table or SQL."""
    return _source(before) != _source(after)


def changes_sql(before: Dataset, after: Dataset) -> bool:
    """Tell whether a dataset's own part of its statements changes: texts of SQL, parameters, formats and types.

    So does the schema of a virtual one, which stands before the tables in its SQL.
    What only goes away counts for a column or metric that stays, not for one that goes with it.
    """
    moves = bool(after.sql) and (before.schema or None) != (after.schema or None)
    if moves or any(getattr(before, name) != getattr(after, name) for name in _SQL_FIELDS):
        return True
    was, now = _sql_of_parts(before), _sql_of_parts(after)
    return any(texts != was.get(name, _NO_SQL) for name, texts in now.items())


_SQL_FIELDS = ("sql", "template_params", "fetch_values_predicate", "extra")
_NO_SQL: tuple[Any, ...] = (None, None, None, None, None, False)


def _sql_of_parts(dataset: Dataset) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Return what columns and metrics give to the SQL, by kind and name."""
    columns = {
        ("column", c.column_name): (
            *(text or None for text in (c.expression, c.extra, c.type, c.python_date_format, c.advanced_data_type)),
            c.is_dttm,
        )
        for c in dataset.columns
    }
    return columns | {("metric", m.metric_name): (m.expression, m.extra) for m in dataset.metrics}


def _source(dataset: Dataset) -> tuple[int, str | None, str | None]:
    if dataset.sql:
        return (dataset.database_id, dataset.schema or None, dataset.sql)
    return (dataset.database_id, dataset.schema, dataset.table_name)


def _check_main_dttm_col(dataset: Dataset) -> None:
    by_name = {column.column_name: column for column in dataset.columns}
    name = dataset.main_dttm_col or ""
    if name in by_name and by_name[name].is_dttm:
        return
    close = nearest(name, by_name)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    message = f"the dataset has no column {name!r}{hint}"
    if name in by_name:
        message = f"column {name!r} holds no moments; set its is_dttm, and python_date_format if it is text or a number"
    raise payload_error("DatasetRestApi.put", "main_dttm_col", message)


def without_lost_main_dttm_col(dataset: Dataset) -> Dataset:
    """Drop a main time column that went away with a replaced list of columns."""
    names = {column.column_name for column in dataset.columns}
    return dataset if dataset.main_dttm_col in names else replace(dataset, main_dttm_col=None)


def has_row_rules(unit: UnitOfWork, dataset: Dataset) -> bool:
    """Tell whether a row rule names the dataset."""
    named = ListFilter(col="dataset_ids", op="eq", val=dataset.id)
    return unit.row_rules.list(ListQuery(filters=(named,), page_size=1))[0] > 0


def moves_its_rules(before: Dataset, after: Dataset) -> bool:
    """Tell whether an update would leave the table, on which the rules stand, without them.

    The rules of a virtual dataset stand on no table: they bind the dataset, whatever it reads.
    """
    return not before.sql and _table(before) != _table(after)


def _table(dataset: Dataset) -> tuple[int, str | None, str | None, str, str | None]:
    return dataset.database_id, dataset.catalog, dataset.schema, dataset.table_name, dataset.sql


def copied_dataset(base: Dataset, *, table_name: str, owner_id: int, new_uuid: NewUuid) -> Dataset:
    """Return a copy of a virtual dataset under another name, owned by who makes it.

    Raises:
        PayloadSchemaError: the dataset is a physical one: its name is that of its table, and one dataset has it.
    """
    if not base.sql:
        message = f"dataset {base.id} is a table of the database; only virtual datasets (with sql) are copied"
        raise payload_error("DatasetDuplicateSchema", "base_model_id", message)
    return replace(
        base,
        id=0,
        uuid=new_uuid(),
        table_name=table_name,
        owner_ids=(owner_id,),
        is_managed_externally=False,
        external_url=None,
        columns=tuple(replace(column, id=0, uuid=new_uuid()) for column in base.columns),
        metrics=tuple(replace(metric, id=0, uuid=new_uuid()) for metric in base.metrics),
        audit=Audit(),
    )


# --------------------------------------------------------------------------------------------- columns and metrics
def changed_parts(
    dataset: Dataset, parts: Parts, items: Sequence[ColumnPut | MetricPut], new_uuid: NewUuid
) -> tuple[Any, ...]:
    """Return the columns or metrics after an update; an item keeps the stored one of its id, or else of its name.

    Raises:
        PayloadSchemaError: an id that the dataset does not have, or a name given twice.
    """
    _reject_duplicates(items, parts)
    stored = _stored_by_item(dataset, parts, items)
    return tuple(_changed_part(item, before, new_uuid) for item, before in zip(items, stored, strict=True))


def with_part(dataset: Dataset, parts: Parts, item: ColumnPut | MetricPut, new_uuid: NewUuid) -> Dataset:
    """Return the dataset with one column or metric added, or changed where it has one of the item's id or name."""
    (stored,) = _stored_by_item(dataset, parts, [item])
    changed = _changed_part(item, stored, new_uuid)
    together = [changed if part is stored else part for part in getattr(dataset, parts)]
    together += [changed] if stored is None else []
    _reject_duplicates(together, parts)
    changes: dict[str, Any] = {parts: tuple(together)}
    return replace(dataset, **changes)


def without_part(dataset: Dataset, parts: Parts, part_id: int) -> Dataset:
    """Return the dataset without one column or metric; NotFoundError when it has none of this id."""
    changes: dict[str, Any] = {parts: tuple(part for part in getattr(dataset, parts) if part.id != part_id)}
    if len(changes[parts]) == len(getattr(dataset, parts)):
        raise NotFoundError(parts.removesuffix("s"), part_id, place=f"of dataset {dataset.id}")
    return without_lost_main_dttm_col(replace(dataset, **changes))


def _stored_by_item(dataset: Dataset, parts: Parts, items: Sequence[ColumnPut | MetricPut]) -> list[Any]:
    """Return the stored part that each item of a payload stands for; None for a new one."""
    by_id = {part.id: part for part in getattr(dataset, parts)}
    problems = [
        Problem(path=f"{parts}.{i}.id", message=f"the dataset has none with id {item.id}; leave id out to add one")
        for i, item in enumerate(items)
        if item.id is not None and item.id not in by_id
    ]
    if problems:
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)
    named = {item.id for item in items}
    by_name = {getattr(part, _NAMES[parts]): part for part in getattr(dataset, parts) if part.id not in named}
    return [by_name.get(getattr(item, _NAMES[parts])) if item.id is None else by_id[item.id] for item in items]


def _changed_part(item: ColumnPut | MetricPut, stored: Any, new_uuid: NewUuid) -> DatasetColumn | DatasetMetric:
    if isinstance(item, MetricPut):
        metric = stored or DatasetMetric(uuid=new_uuid(), metric_name=item.metric_name, expression=item.expression)
        return replace(metric, **changes_of(item, DatasetMetric, without=frozenset({"id"})))
    column: DatasetColumn = stored or DatasetColumn(uuid=new_uuid(), column_name=item.column_name)
    changed = replace(column, **changes_of(item, DatasetColumn, without=frozenset({"id"})))
    is_the_same = (changed.column_name, changed.expression or None) == (column.column_name, column.expression or None)
    return changed if is_the_same else replace(changed, **_facts(None))  # what was known was known of another column


def _reject_duplicates(named: Sequence[Any], parts: Parts) -> None:
    names = [getattr(one, _NAMES[parts]) for one in named]
    first = {name: i for i, name in reversed(tuple(enumerate(names)))}
    problems = [
        Problem(path=f"{parts}.{i}.{_NAMES[parts]}", message=f"{name!r} is given twice")
        for i, name in enumerate(names)
        if first[name] < i
    ]
    if problems:
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)


# ---------------------------------------------------------------------------------------- what the database says
def with_found(dataset: Dataset, found: Sequence[FoundColumn], new_uuid: NewUuid) -> Dataset:
    """Return the dataset with its columns as the database has them now, and a main time column that exists."""
    columns = refreshed_columns(dataset.columns, found, new_uuid)
    names = {column.column_name for column in columns}
    main = dataset.main_dttm_col if dataset.main_dttm_col in names else first_temporal(columns)
    return replace(dataset, columns=columns, main_dttm_col=main, primary_key=primary_key(found))


def reflected_columns(found: Sequence[FoundColumn], new_uuid: NewUuid) -> tuple[DatasetColumn, ...]:
    """Return the columns of a new dataset; temporal ones are marked as such."""
    return tuple(replace(column.as_dataset_column(), uuid=new_uuid()) for column in found)


def _facts(found: FoundColumn | None) -> dict[str, Any]:
    """Return what the database alone knows of a column; without one nothing is known."""
    return {name: getattr(found, name, None) for name in _FACTS}


_COUNT: Final = "COUNT(*)"


def count_metric(new_uuid: NewUuid) -> DatasetMetric:
    """Return the metric that every new dataset has: its number of rows."""
    return DatasetMetric(
        uuid=new_uuid(), metric_name="count", expression=_COUNT, verbose_name=_COUNT, metric_type="count"
    )


def is_as_found(dataset: Dataset) -> bool:
    """Tell whether a dataset has no SQL and no date format that somebody wrote: it counts its rows, and no more."""
    return (
        not dataset.fetch_values_predicate
        and all(metric.expression == _COUNT for metric in dataset.metrics)
        and not any(column.expression or column.python_date_format for column in dataset.columns)
    )


def first_temporal(columns: Sequence[DatasetColumn]) -> str | None:
    """Return the name of the first temporal column."""
    return next((column.column_name for column in columns if column.is_dttm), None)


def primary_key(found: Sequence[FoundColumn]) -> tuple[str, ...]:
    """Return the names of the columns of the primary key, in its order; none where none is known."""
    placed = sorted((column.key_position, column.name) for column in found if column.key_position is not None)
    return tuple(name for _, name in placed)


def with_facts(columns: Sequence[DatasetColumn], found: Sequence[FoundColumn]) -> tuple[DatasetColumn, ...]:
    """Return the columns with what the database says of them; nothing is known of those that it lacks."""
    by_name = {column.name: column for column in found}
    return tuple(
        replace(column, **_facts(None if column.expression else by_name.get(column.column_name))) for column in columns
    )


def with_new_columns(
    before: Sequence[DatasetColumn], after: Sequence[DatasetColumn], found: Sequence[FoundColumn]
) -> tuple[DatasetColumn, ...]:
    """Return the columns after an update, the types of new ones filled in where nothing was said of them.

    Raises:
        PayloadSchemaError: a new column that the source lacks, and that has no expression either.
    """
    by_name = {column.name: column for column in found}
    new = new_source_columns(before, after)
    problems = [
        Problem(path=f"columns.{i}.column_name", message=_lacks(column.column_name, by_name))
        for i, column in enumerate(after)
        if column.column_name in new and column.column_name not in by_name
    ]
    if problems:
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)
    return tuple(
        _typed(column, by_name[column.column_name]) if column.column_name in new else column for column in after
    )


def new_source_columns(before: Sequence[DatasetColumn], after: Sequence[DatasetColumn]) -> frozenset[str]:
    """Return the names of the columns that an update says to be in the source, and that nobody has seen there."""
    return _in_the_source(after) - _in_the_source(before)


def _in_the_source(columns: Sequence[DatasetColumn]) -> frozenset[str]:
    return frozenset(column.column_name for column in columns if not column.expression)


def _lacks(name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    near = f"; did you mean {close[0]!r}? A" if close else "; a"
    return f"the dataset's table or SELECT has no column {name!r}{near} calculated column needs `expression`"


def _typed(column: DatasetColumn, found: FoundColumn | None) -> DatasetColumn:
    if found is None or column.type is not None:
        return column
    return replace(column, type=found.type, is_dttm=column.is_dttm or found.kind.is_temporal)


def refreshed_columns(
    stored: Sequence[DatasetColumn], found: Sequence[FoundColumn], new_uuid: NewUuid
) -> tuple[DatasetColumn, ...]:
    """Return the columns after a refresh: new ones are added, vanished ones dropped, calculated ones kept.

    What people said of a column stays; its type and nullability follow the database.
    """
    by_name = {column.column_name: column for column in stored if not column.expression}
    fresh = reflected_columns(found, new_uuid)
    refreshed = [_refreshed(by_name.get(column.column_name), column) for column in fresh]
    names = {column.column_name for column in refreshed}
    calculated = [column for column in stored if column.expression and column.column_name not in names]
    return (*refreshed, *calculated)


def _refreshed(stored: DatasetColumn | None, fresh: DatasetColumn) -> DatasetColumn:
    if stored is None:
        return fresh
    is_dttm = fresh.is_dttm if stored.type != fresh.type else stored.is_dttm
    return replace(
        stored,
        type=fresh.type,
        nullable=fresh.nullable,
        leads_index=fresh.leads_index,
        collation=fresh.collation,
        stored_type=fresh.stored_type,
        is_dttm=is_dttm,
    )
