"""Finds the record that another one names."""

from __future__ import annotations

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.batches import by_ids
from analytics_core._resources.visibility import DATASET_TYPES, datasets_of
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy
from analytics_core.errors import NotFoundError


def find_dataset_of(unit: UnitOfWork, chart: Chart) -> Dataset | None:
    """Return the dataset that a chart is drawn from; None when it has none or it was deleted."""
    if chart.datasource_id is None or chart.datasource_type not in DATASET_TYPES:
        return None
    try:
        return unit.datasets.get(chart.datasource_id)
    except NotFoundError:
        return None


def find_datasets_of(unit: UnitOfWork, dashboard: Dashboard) -> tuple[Dataset, ...]:
    """Return the datasets of a dashboard's charts, each once, in the order of their ids."""
    datasets = datasets_of(unit, by_ids(unit.charts, dashboard.chart_ids).values())
    once = {dataset.id: dataset for dataset in datasets.values()}
    return tuple(once[key] for key in sorted(once))


def require_readable_dashboard(unit: UnitOfWork, policy: Policy, actor: Actor, dashboard: Dashboard) -> None:
    """Raise DashboardAccessError unless the actor may read the dashboard."""
    policy.require_read_dashboard(actor, dashboard, find_datasets_of(unit, dashboard))
