"""What stands around dashboards and charts in an answer: roles, tags, each other; read for a whole page at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.names import DashboardName, DatasetName, Names, NamesQuery, TagName
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core._records.tag import Tag
from analytics_core._resources.batches import stored_ids
from analytics_core._resources.visibility import every, visible_dashboards, visible_datasets
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy
from analytics_core.models.enums import TagType
from analytics_core.models.references import RoleReference, TagReference


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The names that charts or dashboards mention; what is gone, or not for the actor, is left out."""

    names: Names
    roles: Mapping[int, RoleReference]
    tags: Mapping[int, TagReference]

    @classmethod
    def of(cls, names: Names) -> Around:
        """Return what names say, each reference made once for the whole page."""
        return cls(
            names=names,
            roles={key: RoleReference(id=key, name=role.name) for key, role in names.roles.items()},
            tags={key: tag_reference(tag) for key, tag in names.tags.items()},
        )

    def role_references(self, role_ids: Iterable[int]) -> tuple[RoleReference, ...]:
        """Return references to roles."""
        return tuple(self.roles[key] for key in role_ids if key in self.roles)

    def tag_references(self, tag_ids: Iterable[int]) -> tuple[TagReference, ...]:
        """Return references to tags."""
        return tuple(self.tags[key] for key in tag_ids if key in self.tags)

    def dataset_of(self, chart: Chart) -> DatasetName | None:
        """Return the dataset that a chart is drawn from."""
        return self.names.datasets.get(chart.dataset_id or 0)

    def dashboards_of(self, chart: Chart) -> Sequence[DashboardName]:
        """Return the dashboards of a chart that the actor may read, in the order of their ids."""
        return self.names.dashboards.get(chart.id, ())


def tag_reference(tag: Tag | TagName) -> TagReference:
    """Return a reference to a tag."""
    return TagReference(id=tag.id, name=tag.name, type=TagType(tag.type))


def around_dashboards(unit: UnitOfWork, dashboards: Sequence[Dashboard]) -> Around:
    """Return what stands around these dashboards."""
    query = NamesQuery(
        roles=frozenset(role_id for dashboard in dashboards for role_id in dashboard.role_ids),
        tags=frozenset(tag_id for dashboard in dashboards for tag_id in dashboard.tag_ids),
    )
    return Around.of(unit.names(query))


def around_charts(
    unit: UnitOfWork, policy: Policy, actor: Actor, charts: Sequence[Chart], *, with_metadata: bool = False
) -> Around:
    """Return what stands around these charts; of the dashboards and datasets those that the actor may read."""
    sources = (chart.dataset_id or 0 for chart in charts)
    query = NamesQuery(
        tags=frozenset(tag_id for chart in charts for tag_id in chart.tag_ids),
        datasets=stored_ids(sources),
        among_datasets=visible_datasets(unit, policy, actor),
        dashboards_of=frozenset(chart.id for chart in charts),
        dashboards=visible_dashboards(unit, policy, actor),
        with_metadata=with_metadata,
    )
    return Around.of(unit.names(query))


def dashboards_with(unit: UnitOfWork, chart_ids: Sequence[int]) -> tuple[Dashboard, ...]:
    """Return all dashboards that have one of these charts, whoever may read them."""
    if not chart_ids:
        return ()
    return tuple(every(unit.dashboards, (ListFilter(col="chart_ids", op="in", val=tuple(chart_ids)),)))
