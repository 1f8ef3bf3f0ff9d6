"""The columns and metrics of a dataset as reflection, a refresh or an update leaves them; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from analytics_core._gate.metadata import FoundColumn
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core.errors import PayloadSchemaError, Problem, nearest
from analytics_core.models.dataset import ColumnPut, MetricPut

NewUuid = Callable[[], str]
_SHAPE = "DatasetRestApi.put"
_FACTS = ("nullable", "leads_index", "collation", "stored_type")
_COLUMN_NULLS = frozenset(
    {"verbose_name", "description", "expression", "extra", "type", "advanced_data_type", "python_date_format"}
)
_METRIC_NULLS = frozenset(
    {"verbose_name", "description", "metric_type", "d3format", "currency", "warning_text", "extra"}
)


def reflected_columns(found: Sequence[FoundColumn], new_uuid: NewUuid) -> tuple[DatasetColumn, ...]:
    """Return the columns of a new dataset; temporal ones are marked as such."""
    return tuple(
        DatasetColumn(
            uuid=new_uuid(),
            column_name=column.name,
            type=column.type,
            is_dttm=column.kind.is_temporal,
            **_facts(column),
        )
        for column in found
    )


def _facts(found: FoundColumn | None) -> dict[str, Any]:
    """Return what the database alone knows of a column; without one nothing is known."""
    return {name: getattr(found, name, None) for name in _FACTS}


def count_metric(new_uuid: NewUuid) -> DatasetMetric:
    """Return the metric that every new dataset has: its number of rows."""
    return DatasetMetric(
        uuid=new_uuid(), metric_name="count", expression="COUNT(*)", verbose_name="COUNT(*)", metric_type="count"
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
    kept = [_refreshed(by_name.get(column.column_name), column) for column in fresh]
    names = {column.column_name for column in kept}
    calculated = [column for column in stored if column.expression and column.column_name not in names]
    return (*kept, *calculated)


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


def changed_columns(dataset: Dataset, items: Sequence[ColumnPut], new_uuid: NewUuid) -> tuple[DatasetColumn, ...]:
    """Return the columns after an update; an item keeps the stored column of its id, or else of its name.

    Raises:
        PayloadSchemaError: an id that the dataset does not have, or a name given twice.
    """
    names = [item.column_name for item in items]
    _reject_duplicates(names, "columns", "column_name")
    kept = _kept_by_item(dataset.columns, [item.id for item in items], names, _column_name, "columns")
    return tuple(_changed_column(item, stored, new_uuid) for item, stored in zip(items, kept, strict=True))


def changed_metrics(dataset: Dataset, items: Sequence[MetricPut], new_uuid: NewUuid) -> tuple[DatasetMetric, ...]:
    """Return the metrics after an update; an item keeps the stored metric of its id, or else of its name.

    Raises:
        PayloadSchemaError: an id that the dataset does not have, or a name given twice.
    """
    names = [item.metric_name for item in items]
    _reject_duplicates(names, "metrics", "metric_name")
    kept = _kept_by_item(dataset.metrics, [item.id for item in items], names, _metric_name, "metrics")
    return tuple(_changed_metric(item, stored, new_uuid) for item, stored in zip(items, kept, strict=True))


def with_column(dataset: Dataset, item: ColumnPut, new_uuid: NewUuid) -> Dataset:
    """Return the dataset with one column added, or changed where it has one of the item's id or name."""
    (stored,) = _kept_by_item(dataset.columns, [item.id], [item.column_name], _column_name, "columns")
    columns = _with_part(dataset.columns, stored, _changed_column(item, stored, new_uuid))
    _reject_duplicates([column.column_name for column in columns], "columns", "column_name")
    return replace(dataset, columns=columns)


def with_metric(dataset: Dataset, item: MetricPut, new_uuid: NewUuid) -> Dataset:
    """Return the dataset with one metric added, or changed where it has one of the item's id or name."""
    (stored,) = _kept_by_item(dataset.metrics, [item.id], [item.metric_name], _metric_name, "metrics")
    metrics = _with_part(dataset.metrics, stored, _changed_metric(item, stored, new_uuid))
    _reject_duplicates([metric.metric_name for metric in metrics], "metrics", "metric_name")
    return replace(dataset, metrics=metrics)


Part = TypeVar("Part", DatasetColumn, DatasetMetric)


def _with_part(parts: Sequence[Part], stored: Part | None, changed: Part) -> tuple[Part, ...]:
    kept: list[Part] = [changed if part is stored else part for part in parts]
    if stored is None:
        kept.append(changed)
    return tuple(kept)


def _kept_by_item(
    stored: Sequence[Part],
    ids: Sequence[int | None],
    names: Sequence[str],
    name_of: Callable[[Part], str],
    place: str,
) -> list[Part | None]:
    """Return the stored part that each item of a payload stands for; None for a new one."""
    by_id = {part.id: part for part in stored}
    unknown = [i for i, part_id in enumerate(ids) if part_id is not None and part_id not in by_id]
    if unknown:
        problems = [
            Problem(path=f"{place}.{i}.id", message=f"the dataset has none with id {ids[i]}; leave id out to add one")
            for i in unknown
        ]
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)
    claimed = {part_id for part_id in ids if part_id is not None}
    by_name = {name_of(part): part for part in stored if part.id not in claimed}
    return [by_name.get(name) if part_id is None else by_id[part_id] for part_id, name in zip(ids, names, strict=True)]


def _column_name(column: DatasetColumn) -> str:
    return column.column_name


def _metric_name(metric: DatasetMetric) -> str:
    return metric.metric_name


def _changed_column(item: ColumnPut, stored: DatasetColumn | None, new_uuid: NewUuid) -> DatasetColumn:
    base = stored or DatasetColumn(uuid=new_uuid(), column_name=item.column_name)
    changes = {k: v for k, v in item.given().items() if k != "id" and (v is not None or k in _COLUMN_NULLS)}
    changed = replace(base, **changes)
    is_the_same = (changed.column_name, changed.expression or None) == (base.column_name, base.expression or None)
    return changed if is_the_same else replace(changed, **_facts(None))  # what was known was known of another column


def _changed_metric(item: MetricPut, stored: DatasetMetric | None, new_uuid: NewUuid) -> DatasetMetric:
    base = stored or DatasetMetric(uuid=new_uuid(), metric_name=item.metric_name, expression=item.expression)
    changes = {k: v for k, v in item.given().items() if k != "id" and (v is not None or k in _METRIC_NULLS)}
    return replace(base, **changes)


def _reject_duplicates(names: Sequence[str], place: str, field: str) -> None:
    seen: set[str] = set()
    problems = []
    for i, name in enumerate(names):
        if name in seen:
            problems.append(Problem(path=f"{place}.{i}.{field}", message=f"{name!r} is given twice"))
        seen.add(name)
    if problems:
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)
