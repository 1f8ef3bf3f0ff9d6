"""What stands around dashboards and charts in an answer: roles, tags, each other; read for a whole page at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.dataset import Dataset
from analytics_core._records.people import Role
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core._records.tag import Tag
from analytics_core._resources.batches import by_ids
from analytics_core._resources.visibility import datasets_of, every, readable_dashboards
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy
from analytics_core.models.enums import TagType
from analytics_core.models.references import RoleReference, TagReference


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The records that charts or dashboards name; what is gone, or not for the actor, is left out.

    `datasets` and `dashboards` go by the id of a chart, `roles` and `tags` by their own.
    """

    roles: Mapping[int, Role]
    tags: Mapping[int, Tag]
    datasets: Mapping[int, Dataset]
    dashboards: Mapping[int, Sequence[Dashboard]]

    def role_references(self, role_ids: Iterable[int]) -> tuple[RoleReference, ...]:
        """Return references to roles."""
        found = (self.roles[role_id] for role_id in role_ids if role_id in self.roles)
        return tuple(RoleReference(id=role.id, name=role.name) for role in found)

    def tag_references(self, tag_ids: Iterable[int]) -> tuple[TagReference, ...]:
        """Return references to tags."""
        return tuple(tag_reference(self.tags[tag_id]) for tag_id in tag_ids if tag_id in self.tags)


def tag_reference(tag: Tag) -> TagReference:
    """Return a reference to a tag."""
    return TagReference(id=tag.id, name=tag.name, type=TagType(tag.type))


def around_dashboards(unit: UnitOfWork, dashboards: Sequence[Dashboard]) -> Around:
    """Return what stands around these dashboards."""
    return Around(
        roles=by_ids(unit.roles, {role_id for dashboard in dashboards for role_id in dashboard.role_ids}),
        tags=by_ids(unit.tags, {tag_id for dashboard in dashboards for tag_id in dashboard.tag_ids}),
        datasets={},
        dashboards={},
    )


def around_charts(unit: UnitOfWork, policy: Policy, actor: Actor, charts: Sequence[Chart]) -> Around:
    """Return what stands around these charts; of the dashboards and datasets those that the actor may read."""
    found = readable_dashboards(unit, policy, actor, dashboards_with(unit, [chart.id for chart in charts]))
    return Around(
        roles={},
        tags=by_ids(unit.tags, {tag_id for chart in charts for tag_id in chart.tag_ids}),
        datasets={key: d for key, d in datasets_of(unit, charts).items() if policy.can_read_dataset(actor, d)},
        dashboards={chart.id: tuple(d for d in found if chart.id in d.chart_ids) for chart in charts},
    )


def dashboards_with(unit: UnitOfWork, chart_ids: Sequence[int]) -> tuple[Dashboard, ...]:
    """Return all dashboards that have one of these charts, whoever may read them."""
    if not chart_ids:
        return ()
    return tuple(every(unit.dashboards, (ListFilter(col="chart_ids", op="in", val=tuple(chart_ids)),)))
