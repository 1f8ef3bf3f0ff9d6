"""Writes a dataset down for another store; pure."""

from __future__ import annotations

from typing import Any, Final

from analytics_core._records.dataset import Dataset, DatasetColumn

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
