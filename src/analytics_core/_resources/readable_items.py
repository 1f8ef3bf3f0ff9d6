"""The charts and dashboards among some ids that an actor may read, loaded together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListQuery, Repository, UnitOfWork
from analytics_core._resources.visibility import DATASET_TYPES
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy

Item = TypeVar("Item", Chart, Dashboard, Dataset)


def by_id(repository: Repository[Item], ids: Iterable[int | None]) -> dict[int, Item]:
    """Return the records of these ids that exist, by id, in one question to the store."""
    wanted = frozenset(record_id for record_id in ids if record_id is not None)
    if not wanted:
        return {}
    return {record.id: record for record in repository.list(ListQuery(ids=wanted, page_size=len(wanted)))[1]}


def readable_charts(unit: UnitOfWork, policy: Policy, actor: Actor, ids: Iterable[int | None]) -> dict[int, Chart]:
    """Return the charts of these ids that exist and that the actor may read."""
    charts = by_id(unit.charts, ids)
    sources = {c.id: c.datasource_id for c in charts.values() if c.datasource_type in DATASET_TYPES}
    datasets = by_id(unit.datasets, sources.values())
    return {
        chart.id: chart
        for chart in charts.values()
        if policy.can_read_chart(actor, chart, datasets.get(sources.get(chart.id) or 0))
    }


def readable_dashboards(
    unit: UnitOfWork, policy: Policy, actor: Actor, ids: Iterable[int | None]
) -> dict[int, Dashboard]:
    """Return the dashboards of these ids that exist and that the actor may read."""
    found = by_id(unit.dashboards, ids)
    return {board.id: board for board in found.values() if policy.is_owner(actor, board.owner_ids)}
