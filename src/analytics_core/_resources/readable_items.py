"""The charts and dashboards among some ids that an actor may read: by id, and as filters of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._resources.batches import by_ids, stored_ids
from analytics_core._resources.visibility import (
    DASHBOARD_PARTS,
    every,
    readable_charts,
    readable_dashboards,
    visible_dashboards,
    visible_datasets,
    visible_named_charts,
)
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy

DATASET_NAME = "datasource_name"
"""What lists of charts call the name of a chart's dataset."""


def readable_charts_by_id(
    unit: UnitOfWork, policy: Policy, actor: Actor, ids: Iterable[int | None]
) -> dict[int, Chart]:
    """Return the charts of these ids that exist and that the actor may read."""
    wanted = [chart_id for chart_id in ids if chart_id is not None]
    return {chart.id: chart for chart in readable_charts(unit, policy, actor, wanted)}


def readable_dashboards_by_id(
    unit: UnitOfWork, policy: Policy, actor: Actor, ids: Iterable[int | None]
) -> dict[int, Dashboard]:
    """Return the dashboards of these ids that exist and that the actor may read."""
    found = by_ids(unit.dashboards, [board_id for board_id in ids if board_id is not None])
    return {d.id: d for d in readable_dashboards(unit, policy, actor, tuple(found.values()))}


def by_readable_charts(unit: UnitOfWork, policy: Policy, actor: Actor, query: ListQuery) -> ListQuery:
    """Return a query of dashboards in which a filter by charts counts those only that the actor may read.

    So nobody learns which dashboards show a chart that is not for them.
    """

    def readable(ids: frozenset[int]) -> Iterable[int]:
        return readable_charts_by_id(unit, policy, actor, ids)

    return _narrowed(query, "chart_ids", readable)


def by_readable_dashboards(unit: UnitOfWork, policy: Policy, actor: Actor, query: ListQuery) -> ListQuery:
    """Return a query of charts in which a filter by dashboards counts those only that the actor may read."""

    def readable(ids: frozenset[int]) -> Iterable[int]:
        these = (ListFilter(col="id", op="in", val=tuple(ids)),)
        scope = visible_dashboards(unit, policy, actor)
        return (board.id for board in every(unit.dashboards, these, ids=scope, without=DASHBOARD_PARTS))

    return _narrowed(query, "dashboard_ids", readable)


def by_readable_dataset_names(unit: UnitOfWork, policy: Policy, actor: Actor, query: ListQuery) -> ListQuery:
    """Return a query of charts to which the datasets that the actor may not read have no name.

    A filter by the name finds charts of readable datasets only, and the order tells nothing of the others.
    """
    is_filter = any(item.col == DATASET_NAME for item in query.filters)
    if not is_filter and all(column != DATASET_NAME for column, _ in query.order_by):
        return query
    named = replace(query, among_datasets=visible_datasets(unit, policy, actor))
    return replace(named, ids=visible_named_charts(unit, policy, actor)) if is_filter else named


def _narrowed(query: ListQuery, column: str, readable: Callable[[frozenset[int]], Iterable[int]]) -> ListQuery:
    """Return a query whose filters on a column of ids name readable ones only; without such filters the same query."""

    def kept(item: ListFilter) -> ListFilter:
        if item.col != column:
            return item
        asked = stored_ids(item.val if item.op == "in" else (item.val,))
        return replace(item, op="in", val=tuple(readable(asked)))

    return replace(query, filters=tuple(map(kept, query.filters)))
