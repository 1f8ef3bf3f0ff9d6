"""Finds the record that another one names."""

from __future__ import annotations

from analytics_core._records.chart import Chart
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.visibility import DATASET_TYPES
from analytics_core.errors import NotFoundError


def find_dataset_of(unit: UnitOfWork, chart: Chart) -> Dataset | None:
    """Return the dataset that a chart is drawn from; None when it has none or it was deleted."""
    if chart.datasource_id is None or chart.datasource_type not in DATASET_TYPES:
        return None
    try:
        return unit.datasets.get(chart.datasource_id)
    except NotFoundError:
        return None
