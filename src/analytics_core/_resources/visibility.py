"""Which records a list may show: the ids that the policy lets an actor read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, Repository, UnitOfWork
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


def every(repository: Repository[Record]) -> Iterator[Record]:
    """Yield all records of a repository, batch by batch."""
    return every_matching(repository, ())


def every_matching(repository: Repository[Record], filters: tuple[ListFilter, ...]) -> Iterator[Record]:
    """Yield all records for which the conditions hold, batch by batch."""
    page = 0
    while True:
        _, records = repository.list(ListQuery(filters=filters, page=page, page_size=_BATCH))
        yield from records
        if len(records) < _BATCH:
            return
        page += 1
