"""The charts and dashboards among some ids that an actor may read, by id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources import visibility
from analytics_core._resources.batches import by_ids, stored_ids
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy


def readable_charts(unit: UnitOfWork, policy: Policy, actor: Actor, ids: Iterable[int | None]) -> dict[int, Chart]:
    """Return the charts of these ids that exist and that the actor may read."""
    wanted = [chart_id for chart_id in ids if chart_id is not None]
    return {chart.id: chart for chart in visibility.readable_charts(unit, policy, actor, wanted)}


def by_readable_charts(unit: UnitOfWork, policy: Policy, actor: Actor, query: ListQuery) -> ListQuery:
    """Return the query of a list of dashboards whose filters on charts name none that the actor may not read.

    Nothing is found by the others, so that nobody learns which dashboards show a chart that is not for them.
    """
    asked = {item: item.val if item.op == "in" else (item.val,) for item in query.filters if item.col == "chart_ids"}
    if not asked:
        return query
    readable = readable_charts(unit, policy, actor, {chart_id for ids in asked.values() for chart_id in ids})
    kept = {item: tuple(key for key in ids if key in readable) for item, ids in asked.items()}
    return replace(query, filters=tuple(replace(f, op="in", val=kept[f]) if f in kept else f for f in query.filters))


def readable_dashboards(
    unit: UnitOfWork, policy: Policy, actor: Actor, ids: Iterable[int | None]
) -> dict[int, Dashboard]:
    """Return the dashboards of these ids that exist and that the actor may read."""
    found = by_ids(unit.dashboards, [board_id for board_id in ids if board_id is not None])
    return {d.id: d for d in visibility.readable_dashboards(unit, policy, actor, tuple(found.values()))}


def by_readable_dashboards(unit: UnitOfWork, policy: Policy, actor: Actor, query: ListQuery) -> ListQuery:
    """Return a query of charts in which a filter by dashboards counts those only that the actor may read."""

    def readable(item: ListFilter) -> ListFilter:
        if item.col != "dashboard_ids":
            return item
        asked = stored_ids(item.val if item.op == "in" else (item.val,))
        these = (ListFilter(col="id", op="in", val=tuple(asked)),)
        scope = visibility.visible_dashboards(unit, policy, actor)
        found = visibility.every(unit.dashboards, these, ids=scope, without=visibility.DASHBOARD_PARTS)
        return replace(item, op="in", val=tuple(dashboard.id for dashboard in found))

    return replace(query, filters=tuple(map(readable, query.filters)))
