"""A store full of records of different owners, places and audiences, and what a policy says of each one."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from analytics_core._content.reader import Kind, Reader
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset, DatasetColumn
from analytics_core._records.people import Role
from analytics_core._records.repositories import ListQuery
from analytics_core.ports import MetadataStore
from analytics_core.testing.store.records import a_database

PEOPLE = (1, 2, 3)
SCHEMAS = (None, "sales", "Sales", "hr")
_MANY = 10_000

KINDS: tuple[Kind, ...] = ("databases", "datasets", "charts", "dashboards")


@dataclass(frozen=True, kw_only=True)
class VisibleWorld:
    """Every record of the store, by the name of its repository and its id."""

    store: MetadataStore
    role_ids: tuple[int, ...]
    records: Mapping[str, Mapping[int, object]]

    def listed(self, name: Kind, policy: Policy, actor: Actor) -> tuple[int, set[int]]:
        """Return the total of the actor's list, and the ids in it."""
        with self.store.unit_of_work() as unit:
            ids = Reader(unit, policy, actor).scope(name)
            count, found = getattr(unit, name).list(ListQuery(ids=ids, page_size=_MANY))
        return count, {record.id for record in found}

    def readable(self, name: str, policy: Policy, actor: Actor) -> set[int]:
        """Return the ids of the records that the policy, asked about each one, lets the actor read."""
        may_read = {
            "databases": lambda record: policy.can_read_database(actor, record),
            "datasets": lambda record: policy.can_read_dataset(actor, record),
            "charts": lambda record: policy.can_read_chart(actor, record, self.dataset_of(record)),
            "dashboards": lambda record: policy.can_read_dashboard(actor, record, self.datasets_of(record)),
        }[name]
        return {key for key, record in self.records[name].items() if may_read(record)}

    def dataset_of(self, chart: Chart) -> Dataset | None:
        """Return the dataset of a chart, found without the code under test."""
        is_dataset = chart.datasource_type in (None, "table", "dataset")
        return self.records["datasets"].get(chart.datasource_id) if is_dataset else None

    def datasets_of(self, dashboard: Dashboard) -> list[Dataset]:
        """Return the datasets of a dashboard's charts."""
        found = (self.dataset_of(self.records["charts"][key]) for key in dashboard.chart_ids)
        return [dataset for dataset in found if dataset is not None]


def fill(store: MetadataStore, *, seed: int = 4) -> VisibleWorld:
    """Store records that differ in everything that a policy may look at."""
    chance = random.Random(seed)
    with store.unit_of_work() as unit:
        roles = [unit.roles.add(Role(name=f"role {n}"), actor_id=None).id for n in range(3)]
        bases = [unit.databases.add(a_database(f"d{n}", uuid=f"d{n}"), actor_id=None).id for n in range(3)]
        datasets = [unit.datasets.add(_dataset(chance, n, bases), actor_id=None).id for n in range(24)]
        charts = [unit.charts.add(_chart(chance, n, datasets), actor_id=None).id for n in range(40)]
        for n in range(60):
            unit.dashboards.append(_dashboard(chance, n, roles, charts), actor_id=None)
        records = {
            name: {record.id: record for record in getattr(unit, name).list(ListQuery(page_size=_MANY))[1]}
            for name in KINDS
        }
    return VisibleWorld(store=store, role_ids=tuple(roles), records=records)


def _some(chance: random.Random, values: list[int] | tuple[int, ...], most: int) -> tuple[int, ...]:
    return tuple(sorted(chance.sample(values, chance.randint(0, most))))


def _dataset(chance: random.Random, n: int, bases: list[int]) -> Dataset:
    return Dataset(
        uuid=f"t{n}",
        database_id=chance.choice(bases),
        schema=chance.choice(SCHEMAS),
        table_name=f"table {n}",
        columns=(DatasetColumn(column_name="a"),),
        owner_ids=_some(chance, PEOPLE, 2),
    )


def _chart(chance: random.Random, n: int, datasets: list[int]) -> Chart:
    source = chance.choice([*datasets, *datasets, None, 9999])
    kind = chance.choice(["table", "table", "dataset", "query", "saved_query", None])
    return Chart(
        uuid=f"c{n}",
        slice_name=f"chart {n}",
        datasource_id=source,
        datasource_type=kind,
        owner_ids=_some(chance, PEOPLE, 1),
    )


def _dashboard(chance: random.Random, n: int, roles: list[int], charts: list[int]) -> Dashboard:
    return Dashboard(
        uuid=f"p{n}",
        dashboard_title=f"dashboard {n}",
        published=chance.random() < 0.75,
        role_ids=_some(chance, roles, 2),
        chart_ids=_some(chance, charts, 3),
        owner_ids=_some(chance, PEOPLE, 1),
    )
