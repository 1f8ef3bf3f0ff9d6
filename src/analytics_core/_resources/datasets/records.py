"""Datasets changed by a payload, copied, exported for another store, or without one of their parts; their row rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from analytics_core._records.audit import Audit
from analytics_core._records.datasource import Dataset, DatasetColumn
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.datasets.columns import NewUuid, changed_columns, changed_metrics
from analytics_core.errors import NotFoundError, PayloadSchemaError, Problem, nearest
from analytics_core.models.dataset import DatasetPut

_CLEARED_BY_NULL = frozenset(
    {
        "cache_timeout",
        "default_endpoint",
        "description",
        "external_url",
        "extra",
        "fetch_values_predicate",
        "main_dttm_col",
        "schema",
        "sql",
        "template_params",
    }
)
_TAKEN_APART = frozenset({"columns", "metrics", "owners"})
_BLANK_IS_NONE = frozenset({"schema", "sql"})
_STORED_AS = {"schema_name": "schema"}


def changed_dataset(dataset: Dataset, put: DatasetPut, *, owner_ids: tuple[int, ...], new_uuid: NewUuid) -> Dataset:
    """Return the dataset after an update; null clears what may be empty and leaves everything else as it is.

    A blank schema or SQL is none, as in a dataset that is created with it.

    Raises:
        PayloadSchemaError: a column or metric that does not fit the dataset, or a main time column that it lacks.
    """
    changes: dict[str, Any] = {"owner_ids": owner_ids}
    for given, value in put.given().items():
        name = _STORED_AS.get(given, given)
        if name not in _TAKEN_APART and (value is not None or name in _CLEARED_BY_NULL):
            changes[name] = (value or None) if name in _BLANK_IS_NONE else value
    if put.columns is not None:
        changes["columns"] = changed_columns(dataset, put.columns, new_uuid)
    if put.metrics is not None:
        changes["metrics"] = changed_metrics(dataset, put.metrics, new_uuid)
    changed = replace(dataset, **changes)
    if changes.get("main_dttm_col"):
        _check_main_dttm_col(changed)
    return without_lost_main_dttm_col(changed)


def reads_another_source(before: Dataset, after: Dataset) -> bool:
    """Tell whether an update makes the dataset read other rows: another database, schema, table or SQL."""
    return _source(before) != _source(after)


def changes_sql(before: Dataset, after: Dataset) -> bool:
    """Tell whether a dataset's own part of its statements changes: texts of SQL, parameters, formats and types.

    What only goes away counts for a column or metric that stays, not for one that goes with it.
    """
    if any(getattr(before, name) != getattr(after, name) for name in _SQL_FIELDS):
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
        return (dataset.database_id, None, dataset.sql)
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
    problem = Problem(path="main_dttm_col", message=message)
    raise PayloadSchemaError(shape="DatasetRestApi.put", problems=[problem])


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


_SHAPE = "DatasetDuplicateSchema"


def copied_dataset(base: Dataset, *, table_name: str, owner_id: int, new_uuid: NewUuid) -> Dataset:
    """Return a copy of a virtual dataset under another name, owned by who makes it.

    Raises:
        PayloadSchemaError: the dataset is a physical one: its name is that of its table, and one dataset has it.
    """
    if not base.sql:
        message = f"dataset {base.id} is a table of the database; only virtual datasets (with sql) are copied"
        raise PayloadSchemaError(shape=_SHAPE, problems=[Problem(path="base_model_id", message=message)])
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


def without_column(dataset: Dataset, column_id: int) -> Dataset:
    """Return the dataset without one column; NotFoundError when it has none of this id."""
    kept = tuple(column for column in dataset.columns if column.id != column_id)
    if len(kept) == len(dataset.columns):
        raise NotFoundError("column", column_id, place=f"of dataset {dataset.id}")
    return without_lost_main_dttm_col(replace(dataset, columns=kept))


def without_metric(dataset: Dataset, metric_id: int) -> Dataset:
    """Return the dataset without one metric; NotFoundError when it has none of this id."""
    kept = tuple(metric for metric in dataset.metrics if metric.id != metric_id)
    if len(kept) == len(dataset.metrics):
        raise NotFoundError("metric", metric_id, place=f"of dataset {dataset.id}")
    return replace(dataset, metrics=kept)


_DATASET: Final = (
    "sql",
    "description",
    "default_endpoint",
    "offset",
    "cache_timeout",
    "fetch_values_predicate",
    "filter_select_enabled",
    "is_sqllab_view",
    "template_params",
    "extra",
    "main_dttm_col",
    "always_filter_main_dttm",
)
_COLUMN: Final = (
    "column_name",
    "verbose_name",
    "description",
    "expression",
    "extra",
    "advanced_data_type",
    "python_date_format",
    "filterable",
    "groupby",
    "is_active",
    "is_dttm",
)
_METRIC: Final = (
    "metric_name",
    "expression",
    "verbose_name",
    "description",
    "metric_type",
    "d3format",
    "currency",
    "warning_text",
    "extra",
)


def dataset_export_payload(dataset: Dataset) -> dict[str, Any]:
    """Return what makes a dataset of another store like this one."""
    return {
        **_picked(dataset, _DATASET),
        "columns": [_column(column) for column in dataset.columns],
        "metrics": [_picked(metric, _METRIC) for metric in dataset.metrics],
    }


def _column(column: DatasetColumn) -> dict[str, Any]:
    """Return a column; the type of one of the table is what the table there says."""
    picked = _picked(column, _COLUMN)
    return {**picked, "type": column.type} if column.expression else picked


def _picked(record: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}
