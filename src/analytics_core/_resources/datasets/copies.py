"""Copies of datasets, exports of them for another store, and datasets without one of their parts; pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from analytics_core._records.audit import Audit
from analytics_core._records.dataset import Dataset, DatasetColumn
from analytics_core._resources.datasets.changes import without_lost_main_dttm_col
from analytics_core._resources.datasets.columns import NewUuid
from analytics_core.errors import NotFoundError, PayloadSchemaError, Problem

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


def dataset_payload_elsewhere(dataset: Dataset) -> dict[str, Any]:
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
