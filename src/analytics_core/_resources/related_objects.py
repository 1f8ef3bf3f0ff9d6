"""What hangs on a database or on datasets: the charts drawn from them, and the dashboards that show those."""

from __future__ import annotations

from collections.abc import Iterable

from analytics_core._records.chart import DATASET_TYPES, Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core._resources.json_text import json_object
from analytics_core._resources.readable_items import readable_charts_by_id, readable_dashboards_by_id
from analytics_core._resources.visibility import every_id
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy
from analytics_core.models.related import (
    RelatedChart,
    RelatedCharts,
    RelatedDashboard,
    RelatedDashboards,
    RelatedObjects,
)


def charts_drawn_from(dataset_ids: Iterable[int]) -> tuple[ListFilter, ...]:
    """Return the conditions that find the charts of these datasets."""
    return (
        ListFilter(col="datasource_id", op="in", val=tuple(dataset_ids)),
        ListFilter(col="datasource_type", op="in", val=tuple(DATASET_TYPES)),
    )


def related_objects(unit: UnitOfWork, policy: Policy, actor: Actor, dataset_ids: Iterable[int]) -> RelatedObjects:
    """Return the charts of these datasets and the dashboards with such charts, as far as the actor may read them."""
    wanted = tuple(dataset_ids)
    drawn = tuple(every_id(unit.charts, charts_drawn_from(wanted))) if wanted else ()
    showing = (ListFilter(col="chart_ids", op="in", val=drawn),)
    boards = every_id(unit.dashboards, showing) if drawn else ()
    charts = tuple(_chart(chart) for chart in readable_charts_by_id(unit, policy, actor, drawn).values())
    dashboards = tuple(_dashboard(board) for board in readable_dashboards_by_id(unit, policy, actor, boards).values())
    return RelatedObjects(
        charts=RelatedCharts(count=len(charts), result=charts),
        dashboards=RelatedDashboards(count=len(dashboards), result=dashboards),
    )


def _chart(chart: Chart) -> RelatedChart:
    return RelatedChart(id=chart.id, slice_name=chart.slice_name, viz_type=chart.viz_type)


def _dashboard(board: Dashboard) -> RelatedDashboard:
    metadata = json_object(board.json_metadata)
    return RelatedDashboard(id=board.id, slug=board.slug, title=board.dashboard_title, json_metadata=metadata)
