"""Which records a list may show: those that the policy lets an actor read.

The policy's table becomes a condition of the list's own statement. A policy that decides by methods of its own is
asked about each record instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, Repository, UnitOfWork
from analytics_core._records.scope import Scope
from analytics_core._resources.batches import Stored, by_ids, stored_ids
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Act, Policy
from analytics_core._security.scopes import scope_of

Record = TypeVar("Record")
Kept = TypeVar("Kept", bound=Stored)
Visible = frozenset[int] | Scope | None

_BATCH = 500
_IDS = 10_000
DASHBOARD_PARTS = frozenset({"owner_ids", "role_ids", "chart_ids", "tag_ids"})


def visible_databases(unit: UnitOfWork, policy: Policy, actor: Actor) -> Visible:
    """Return which databases the actor may see, for `ListQuery.ids`; None: all."""
    scope = scope_of(policy, Act.READ_DATABASE, actor)
    if scope is not None:
        return None if scope.everything else scope
    return frozenset(d.id for d in every(unit.databases) if policy.can_read_database(actor, d))


def visible_datasets(unit: UnitOfWork, policy: Policy, actor: Actor) -> Visible:
    """Return which datasets the actor may read, for `ListQuery.ids`; None: all."""
    scope = scope_of(policy, Act.READ_DATASET, actor)
    if scope is not None:
        return None if scope.everything else scope
    return frozenset(d.id for d in every(unit.datasets) if policy.can_read_dataset(actor, d))


def visible_charts(unit: UnitOfWork, policy: Policy, actor: Actor) -> Visible:
    """Return which charts the actor may read, for `ListQuery.ids`; None: all."""
    scope = scope_of(policy, Act.READ_CHART, actor)
    if scope is not None:
        return None if scope.everything else scope
    return frozenset(chart.id for chart in _asked_charts(unit, policy, actor, tuple(every(unit.charts))))


def visible_named_charts(unit: UnitOfWork, policy: Policy, actor: Actor) -> Visible:
    """Return which of the visible charts may be found by the name of their dataset: those whose dataset is readable.

    An owner sees their chart also when its dataset is not for them, but learns nothing of that dataset.
    """
    charts = visible_charts(unit, policy, actor)
    if visible_datasets(unit, policy, actor) is None:
        return charts
    if isinstance(charts, Scope) and charts.drawn_from is not None:
        return Scope(drawn_from=charts.drawn_from)
    datasets = datasets_of(unit, every(unit.charts, ids=charts))
    return frozenset(key for key, dataset in datasets.items() if policy.can_read_dataset(actor, dataset))


def visible_dashboards(unit: UnitOfWork, policy: Policy, actor: Actor) -> Visible:
    """Return which dashboards the actor may read, for `ListQuery.ids`; None: all."""
    scope = scope_of(policy, Act.READ_DASHBOARD, actor)
    if scope is not None:
        return None if scope.everything else scope
    dashboards = _asked_dashboards(unit, policy, actor, tuple(every(unit.dashboards)))
    return frozenset(dashboard.id for dashboard in dashboards)


def readable_dashboards(
    unit: UnitOfWork, policy: Policy, actor: Actor, dashboards: Sequence[Dashboard]
) -> tuple[Dashboard, ...]:
    """Return those of the dashboards that the actor may read."""
    scope = scope_of(policy, Act.READ_DASHBOARD, actor)
    if scope is None:
        return _asked_dashboards(unit, policy, actor, dashboards)
    if scope.everything or not dashboards:
        return tuple(dashboards)
    readable = _among(unit.dashboards, scope, {dashboard.id for dashboard in dashboards}, without=DASHBOARD_PARTS)
    return tuple(dashboard for dashboard in dashboards if dashboard.id in readable)


def readable_charts(unit: UnitOfWork, policy: Policy, actor: Actor, chart_ids: Iterable[int]) -> tuple[Chart, ...]:
    """Return those of these charts that the actor may read, in the order of their ids."""
    scope = scope_of(policy, Act.READ_CHART, actor)
    if scope is None:
        return _asked_charts(unit, policy, actor, tuple(by_ids(unit.charts, chart_ids).values()))
    if scope.everything:
        return tuple(by_ids(unit.charts, chart_ids).values())
    return tuple(_among(unit.charts, scope, chart_ids).values())


def _asked_charts(unit: UnitOfWork, policy: Policy, actor: Actor, charts: Sequence[Chart]) -> tuple[Chart, ...]:
    datasets = datasets_of(unit, charts)
    return tuple(chart for chart in charts if policy.can_read_chart(actor, chart, datasets.get(chart.id)))


def _asked_dashboards(
    unit: UnitOfWork, policy: Policy, actor: Actor, dashboards: Sequence[Dashboard]
) -> tuple[Dashboard, ...]:
    charts = by_ids(unit.charts, {chart_id for dashboard in dashboards for chart_id in dashboard.chart_ids})
    datasets = datasets_of(unit, charts.values())

    def may_read(dashboard: Dashboard) -> bool:
        its_datasets = (datasets[chart_id] for chart_id in dashboard.chart_ids if chart_id in datasets)
        return policy.can_read_dashboard(actor, dashboard, its_datasets)

    return tuple(dashboard for dashboard in dashboards if may_read(dashboard))


def _among(
    repository: Repository[Kept], scope: Scope, ids: Iterable[int], *, without: frozenset[str] = frozenset()
) -> dict[int, Kept]:
    """Return those of these records that are in the scope, by id and in the order of their ids."""
    wanted = stored_ids(ids)
    if not wanted:
        return {}
    these = (ListFilter(col="id", op="in", val=wanted),)
    _, found = repository.list(ListQuery(filters=these, ids=scope, page_size=len(wanted), without=without))
    return {record.id: record for record in found}


def datasets_of(
    unit: UnitOfWork, charts: Iterable[Chart], *, without: frozenset[str] = frozenset()
) -> Mapping[int, Dataset]:
    """Return the dataset of each chart that has one, by the chart's id; parts of them may be left unread."""
    sources = {chart.id: chart.dataset_id for chart in charts if chart.dataset_id is not None}
    datasets = by_ids(unit.datasets, sources.values(), without=without)
    return {chart_id: datasets[source] for chart_id, source in sources.items() if source in datasets}


def every_id(
    repository: Repository[Any], filters: tuple[ListFilter, ...] = (), *, ids: Visible = None
) -> Iterator[int]:
    """Yield the ids of all records that `every` would yield, without reading the records."""
    page = 0
    while True:
        count, found = repository.distinct("id", ListQuery(filters=filters, ids=ids, page=page, page_size=_IDS))
        yield from found
        page += 1
        if page * _IDS >= count:
            return


def every(
    repository: Repository[Record],
    filters: tuple[ListFilter, ...] = (),
    *,
    ids: Visible = None,
    without: frozenset[str] = frozenset(),
) -> Iterator[Record]:
    """Yield all records of a repository that meet the filters and are among `ids` (None: all), batch by batch."""
    query = ListQuery(filters=filters, ids=ids, page_size=_BATCH, without=without)
    page = 0
    while True:
        _, records = repository.list(replace(query, page=page))
        yield from records
        if len(records) < _BATCH:
            return
        page += 1
