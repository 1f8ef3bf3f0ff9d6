"""What stands around records in an answer: roles, tags, and each other; read for a whole page at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

from analytics_core._content.batches import every_id, stored_ids
from analytics_core._content.reader import Reader
from analytics_core._content.stored_json import json_object
from analytics_core._records.chart import DATASET_TYPES, Chart
from analytics_core._records.dashboard import Dashboard, Tag
from analytics_core._records.repositories import DashboardName, DatasetName, ListFilter, Names, NamesQuery, TagName
from analytics_core.models.enums import TagType
from analytics_core.models.lists import RelatedChart, RelatedCharts, RelatedDashboard, RelatedDashboards, RelatedObjects
from analytics_core.models.references import RoleReference, TagReference


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedNames:
    """The names that charts or dashboards mention; what is gone, or not for the actor, is left out."""

    names: Names
    roles: Mapping[int, RoleReference]
    tags: Mapping[int, TagReference]

    @classmethod
    def of(cls, names: Names) -> RelatedNames:
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


def names_related_to_dashboards(reader: Reader, dashboards: Sequence[Dashboard]) -> RelatedNames:
    """Return what stands around these dashboards."""
    query = NamesQuery(
        roles=frozenset(role_id for dashboard in dashboards for role_id in dashboard.role_ids),
        tags=frozenset(tag_id for dashboard in dashboards for tag_id in dashboard.tag_ids),
    )
    return RelatedNames.of(reader.names(query))


def names_related_to_charts(reader: Reader, charts: Sequence[Chart], *, with_metadata: bool = False) -> RelatedNames:
    """Return what stands around these charts; of the dashboards and datasets those that the actor may read."""
    query = NamesQuery(
        tags=frozenset(chain.from_iterable(map(attrgetter("tag_ids"), charts))),
        datasets=stored_ids(filter(None, map(attrgetter("dataset_id"), charts))),
        dashboards_of=frozenset(map(attrgetter("id"), charts)),
        with_metadata=with_metadata,
    )
    return RelatedNames.of(reader.names(query))


def charts_drawn_from(dataset_ids: Iterable[int]) -> tuple[ListFilter, ...]:
    """Return the conditions that find the charts of these datasets."""
    return (
        ListFilter(col="datasource_id", op="in", val=tuple(dataset_ids)),
        ListFilter(col="datasource_type", op="in", val=tuple(DATASET_TYPES)),
    )


def related_objects(reader: Reader, dataset_ids: Iterable[int]) -> RelatedObjects:
    """Return the charts of these datasets and the dashboards with such charts, as far as the actor may read them."""
    wanted = tuple(dataset_ids)
    drawn = tuple(every_id(reader.unit.charts, charts_drawn_from(wanted))) if wanted else ()
    showing = (ListFilter(col="chart_ids", op="in", val=drawn),)
    boards = every_id(reader.unit.dashboards, showing) if drawn else ()
    charts = tuple(
        RelatedChart(id=chart.id, slice_name=chart.slice_name, viz_type=chart.viz_type)
        for chart in reader.charts(drawn).values()
    )
    dashboards = tuple(map(_dashboard, reader.dashboards(boards).values()))
    return RelatedObjects(
        charts=RelatedCharts(count=len(charts), result=charts),
        dashboards=RelatedDashboards(count=len(dashboards), result=dashboards),
    )


def _dashboard(board: Dashboard) -> RelatedDashboard:
    metadata = json_object(board.json_metadata)
    return RelatedDashboard(id=board.id, slug=board.slug, title=board.dashboard_title, json_metadata=metadata)
