"""Copies of datasets, and datasets without one of their parts; pure."""

from __future__ import annotations

from dataclasses import replace

from analytics_core._records.audit import Audit
from analytics_core._records.dataset import Dataset
from analytics_core._resources.dataset_changes import without_lost_main_dttm_col
from analytics_core._resources.dataset_columns import NewUuid
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
