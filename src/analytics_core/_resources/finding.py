"""Finds the record that another one names."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard, EmbeddedDashboard
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.batches import by_ids, is_id, stored_ids
from analytics_core._resources.visibility import datasets_of
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Act, Policy
from analytics_core._security.scopes import scope_of
from analytics_core.errors import NotFoundError

_LONGEST_ID = 10
_UNASKED = frozenset({"columns", "metrics"})
"""What the rules of the table do not look at in a dataset."""


def find_embedded(unit: UnitOfWork, key: int | str) -> EmbeddedDashboard:
    """Return an embedded dashboard by the dashboard's id (a number or its digits) or the uuid of the embedding."""
    found = None
    number = _number_of(key)
    if number is not None:
        found = unit.embedded.find(dashboard_id=number) if stored_ids([number]) else None
    elif isinstance(key, str) and (uuid := _uuid_of(key)):
        found = unit.embedded.find(uuid=uuid)
    if found is None:
        raise NotFoundError("embedded dashboard", key)
    return found


def _number_of(key: object) -> int | None:
    if isinstance(key, str) and key.isascii() and key.isdecimal() and len(key) <= _LONGEST_ID:
        return int(key)
    return key if is_id(key) else None


def _uuid_of(text: str) -> str | None:
    try:
        return str(UUID(text))
    except ValueError:
        return None


def find_source(unit: UnitOfWork, policy: Policy, actor: Actor, chart: Chart) -> Dataset | None:
    """Return the dataset of a chart as far as the policy needs it: whole for one with methods of its own."""
    whole = scope_of(policy, Act.READ_DATASET, actor) is None or scope_of(policy, Act.READ_CHART, actor) is None
    return datasets_of(unit, (chart,), without=frozenset() if whole else _UNASKED).get(chart.id)


def require_readable_chart(unit: UnitOfWork, policy: Policy, actor: Actor, chart: Chart) -> None:
    """Raise ChartAccessError unless the actor may read the chart."""
    scope = scope_of(policy, Act.READ_CHART, actor)
    needed = scope is None or not scope.everything
    policy.require_read_chart(actor, chart, find_source(unit, policy, actor, chart) if needed else None)


def find_datasets_of(unit: UnitOfWork, dashboard: Dashboard) -> tuple[Dataset, ...]:
    """Return the datasets of a dashboard's charts, each once, in the order of their ids."""
    datasets = datasets_of(unit, by_ids(unit.charts, dashboard.chart_ids).values())
    once = {dataset.id: dataset for dataset in datasets.values()}
    return tuple(once[key] for key in sorted(once))


def require_readable_dashboard(unit: UnitOfWork, policy: Policy, actor: Actor, dashboard: Dashboard) -> None:
    """Raise DashboardAccessError unless the actor may read the dashboard."""
    scope = scope_of(policy, Act.READ_DASHBOARD, actor)
    if scope is None:
        datasets: Iterable[Dataset] = find_datasets_of(unit, dashboard)
    elif scope.everything:
        datasets = ()
    else:
        charts = by_ids(unit.charts, dashboard.chart_ids, without=frozenset({"owner_ids", "tag_ids"}))
        datasets = datasets_of(unit, charts.values(), without=_UNASKED).values()
    policy.require_read_dashboard(actor, dashboard, datasets)


def readable_chart(unit: UnitOfWork, policy: Policy, actor: Actor, chart_id: int) -> Chart:
    """Return a chart; NotFoundError or ChartAccessError otherwise."""
    chart = unit.charts.get(chart_id)
    require_readable_chart(unit, policy, actor, chart)
    return chart


def readable_dashboard(unit: UnitOfWork, policy: Policy, actor: Actor, dashboard_id: int) -> Dashboard:
    """Return a dashboard; NotFoundError or DashboardAccessError otherwise."""
    dashboard = unit.dashboards.get(dashboard_id)
    require_readable_dashboard(unit, policy, actor, dashboard)
    return dashboard
