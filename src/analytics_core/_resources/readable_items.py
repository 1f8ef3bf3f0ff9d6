"""The charts and dashboards among some ids that an actor may read, by id."""

from __future__ import annotations

from collections.abc import Iterable

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources import visibility
from analytics_core._resources.batches import by_ids
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy


def readable_charts(unit: UnitOfWork, policy: Policy, actor: Actor, ids: Iterable[int | None]) -> dict[int, Chart]:
    """Return the charts of these ids that exist and that the actor may read."""
    wanted = [chart_id for chart_id in ids if chart_id is not None]
    return {chart.id: chart for chart in visibility.readable_charts(unit, policy, actor, wanted)}


def readable_dashboards(
    unit: UnitOfWork, policy: Policy, actor: Actor, ids: Iterable[int | None]
) -> dict[int, Dashboard]:
    """Return the dashboards of these ids that exist and that the actor may read."""
    found = by_ids(unit.dashboards, [board_id for board_id in ids if board_id is not None])
    return {d.id: d for d in visibility.readable_dashboards(unit, policy, actor, tuple(found.values()))}
