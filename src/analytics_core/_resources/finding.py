"""Finds the record that another one names."""

from __future__ import annotations

from uuid import UUID

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import EmbeddedDashboard
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


def find_embedded(unit: UnitOfWork, key: int | str) -> EmbeddedDashboard:
    """Return an embedded dashboard by the dashboard's id (a number or its digits) or the uuid of the embedding."""
    found = None
    if isinstance(key, int):
        found = unit.embedded.find(dashboard_id=key)
    elif key.isascii() and key.isdecimal() and len(key) <= 10:
        found = unit.embedded.find(dashboard_id=int(key))
    elif uuid := _uuid_of(key):
        found = unit.embedded.find(uuid=uuid)
    if found is None:
        raise NotFoundError("embedded dashboard", key)
    return found


def _uuid_of(text: str) -> str | None:
    try:
        return str(UUID(text))
    except ValueError:
        return None
