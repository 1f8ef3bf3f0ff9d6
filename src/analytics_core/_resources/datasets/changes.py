"""What an update payload changes in a dataset: its fields, the SQL behind it, the row rules that bind it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.datasets.columns import NewUuid, changed_columns, changed_metrics
from analytics_core.errors import PayloadSchemaError, Problem, nearest
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


def reads_elsewhere(before: Dataset, after: Dataset) -> bool:
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
