"""Which records a list may show: the ids that the policy lets an actor read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, Repository, UnitOfWork
from analytics_core._resources.batches import by_ids
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Act, Policy
from analytics_core.models.enums import DatasourceType

Record = TypeVar("Record")

DATASET_TYPES = frozenset({None, DatasourceType.TABLE.value, DatasourceType.DATASET.value})
"""The datasource types of a chart whose `datasource_id` is a dataset's id."""

_BATCH = 500


def visible_databases(unit: UnitOfWork, policy: Policy, actor: Actor) -> frozenset[int] | None:
    """Return the ids of the databases that the actor may see; None: all."""
    if policy.sees_all(Act.READ_DATABASE, actor):
        return None
    return frozenset(d.id for d in every(unit.databases) if policy.can_read_database(actor, d))


def visible_datasets(unit: UnitOfWork, policy: Policy, actor: Actor) -> frozenset[int] | None:
    """Return the ids of the datasets that the actor may read; None: all."""
    if policy.sees_all(Act.READ_DATASET, actor):
        return None
    return frozenset(d.id for d in every(unit.datasets) if policy.can_read_dataset(actor, d))


def visible_charts(unit: UnitOfWork, policy: Policy, actor: Actor) -> frozenset[int] | None:
    """Return the ids of the charts that the actor may read; None: all."""
    if policy.sees_all(Act.READ_CHART, actor):
        return None
    datasets: dict[int, Dataset] = {dataset.id: dataset for dataset in every(unit.datasets)}
    return frozenset(
        chart.id
        for chart in every(unit.charts)
        if policy.can_read_chart(
            actor, chart, datasets.get(chart.datasource_id or 0) if chart.datasource_type in DATASET_TYPES else None
        )
    )


def visible_dashboards(unit: UnitOfWork, policy: Policy, actor: Actor) -> frozenset[int] | None:
    """Return the ids of the dashboards that the actor may read; None: all."""
    if policy.sees_all(Act.READ_DASHBOARD, actor):
        return None
    dashboards = tuple(every(unit.dashboards))
    return frozenset(dashboard.id for dashboard in readable_dashboards(unit, policy, actor, dashboards))


def readable_dashboards(
    unit: UnitOfWork, policy: Policy, actor: Actor, dashboards: Sequence[Dashboard]
) -> tuple[Dashboard, ...]:
    """Return those of the dashboards that the actor may read."""
    if policy.sees_all(Act.READ_DASHBOARD, actor):
        return tuple(dashboards)
    charts = by_ids(unit.charts, {chart_id for dashboard in dashboards for chart_id in dashboard.chart_ids})
    datasets = datasets_of(unit, charts.values())

    def may_read(dashboard: Dashboard) -> bool:
        its_datasets = (datasets[chart_id] for chart_id in dashboard.chart_ids if chart_id in datasets)
        return policy.can_read_dashboard(actor, dashboard, its_datasets)

    return tuple(dashboard for dashboard in dashboards if may_read(dashboard))


def readable_charts(unit: UnitOfWork, policy: Policy, actor: Actor, chart_ids: Iterable[int]) -> tuple[Chart, ...]:
    """Return those of these charts that the actor may read, in the order of their ids."""
    charts = by_ids(unit.charts, chart_ids)
    datasets = datasets_of(unit, charts.values())
    return tuple(chart for chart in charts.values() if policy.can_read_chart(actor, chart, datasets.get(chart.id)))


def datasets_of(unit: UnitOfWork, charts: Iterable[Chart]) -> Mapping[int, Dataset]:
    """Return the dataset of each chart that has one, by the chart's id."""
    sources = {
        chart.id: chart.datasource_id
        for chart in charts
        if chart.datasource_id is not None and chart.datasource_type in DATASET_TYPES
    }
    datasets = by_ids(unit.datasets, sources.values())
    return {chart_id: datasets[source] for chart_id, source in sources.items() if source in datasets}


def every(repository: Repository[Record], filters: tuple[ListFilter, ...] = ()) -> Iterator[Record]:
    """Yield all records of a repository that meet the filters, batch by batch."""
    page = 0
    while True:
        _, records = repository.list(ListQuery(filters=filters, page=page, page_size=_BATCH))
        yield from records
        if len(records) < _BATCH:
            return
        page += 1
