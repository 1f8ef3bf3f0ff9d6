"""The records of an export: what is named, and what that needs, as the actor may read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict, TypeVar

from analytics_core._content.batches import RecordWithId, by_ids, every
from analytics_core._content.charts.chart_references import CHART, LAYER, record_id_of, with_new_values
from analytics_core._content.questions.dashboard_filters import all_filters
from analytics_core._content.reader import Reader
from analytics_core._content.stored_json import json_object
from analytics_core._engine.rights.policy import Permission
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, Tag
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.people import GrantTarget, Role, RowRule
from analytics_core._records.repositories import ListFilter, Repository
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import NotFoundError
from analytics_core.models.enums import TagType
from analytics_core.models.parsing import payload_error

SHAPE: Final = "export_bundle"


class ExportedIds(TypedDict, total=False):
    """What is exported: ids of records.

    Attributes:
        dashboards: with their charts, tags, and the datasets that their filters read.
        charts: with their datasets, tags, and the charts and annotation layers that they show.
        datasets: with the names of their databases.
        saved_queries: with their tags and the names of their databases.
        annotation_layers: with their annotations.
        css_templates: each has a name of its own.
        roles: with their grants, and the datasets that these open; administrators may.
        row_rules: with the datasets that they bind; administrators may.
    """

    dashboards: Iterable[int]
    charts: Iterable[int]
    datasets: Iterable[int]
    saved_queries: Iterable[int]
    annotation_layers: Iterable[int]
    css_templates: Iterable[int]
    roles: Iterable[int]
    row_rules: Iterable[int]


KINDS: Final = tuple(ExportedIds.__annotations__)

Record = TypeVar("Record", bound=RecordWithId)


@dataclass(slots=True, kw_only=True)
class Selection:
    """The records of an export by their ids; `role_names` are of all roles that something names."""

    dashboards: dict[int, Dashboard] = field(default_factory=dict)
    charts: dict[int, Chart] = field(default_factory=dict)
    datasets: dict[int, Dataset] = field(default_factory=dict)
    databases: dict[int, Database] = field(default_factory=dict)
    saved_queries: dict[int, SavedQuery] = field(default_factory=dict)
    layers: dict[int, AnnotationLayer] = field(default_factory=dict)
    annotations: dict[int, tuple[Annotation, ...]] = field(default_factory=dict)
    css_templates: dict[int, CssTemplate] = field(default_factory=dict)
    tags: dict[int, Tag] = field(default_factory=dict)
    roles: dict[int, Role] = field(default_factory=dict)
    row_rules: dict[int, RowRule] = field(default_factory=dict)
    role_names: dict[int, str] = field(default_factory=dict)


def selected(reader: Reader, named: Mapping[str, tuple[int, ...]]) -> Selection:
    """Return what is named, and what it needs.

    Raises:
        NotFoundError, AccessError: something is unknown, or not for the actor.
        PayloadSchemaError: a chart is drawn from no dataset, or a CSS template has no name of its own.
    """
    found = Selection()
    _add_rights(reader, found, named)
    found.dashboards = {key: reader.dashboard(key) for key in named["dashboards"]}
    placed = (key for dashboard in found.dashboards.values() for key in dashboard.chart_ids)
    layers = {*named["annotation_layers"], *_add_charts(reader, found, (*named["charts"], *placed))}
    _add_layers(reader, found, named["annotation_layers"], layers)
    _add_css_templates(reader, found, named["css_templates"])
    _add_sources(reader, found, named["datasets"])
    _add_saved_queries(reader, found, named["saved_queries"])
    tagged: tuple[Chart | Dashboard | SavedQuery, ...] = (
        *found.charts.values(),
        *found.dashboards.values(),
        *found.saved_queries.values(),
    )
    tags = by_ids(reader.unit.tags, {key for record in tagged for key in record.tag_ids})
    found.tags = {key: tag for key, tag in tags.items() if tag.type == TagType.CUSTOM.value}
    role_ids = {key for dashboard in found.dashboards.values() for key in dashboard.role_ids}
    role_ids.update(key for rule in found.row_rules.values() for key in rule.role_ids)
    names = by_ids(reader.unit.roles, role_ids, without=frozenset({"grants"}))
    found.role_names = {key: role.name for key, role in names.items()}
    return found


def _all_of(repository: Repository[Record], ids: Iterable[int], noun: str) -> dict[int, Record]:
    """Return the records of these ids; NotFoundError for one that does not exist."""
    wanted = tuple(ids)
    found = by_ids(repository, wanted)
    for key in wanted:
        if key not in found:
            raise NotFoundError(noun, key)
    return found


def _add_rights(reader: Reader, found: Selection, named: Mapping[str, tuple[int, ...]]) -> None:
    if named["roles"]:
        reader.policy.require_manage_people(reader.actor)
        found.roles = _all_of(reader.unit.roles, named["roles"], "role")
    if named["row_rules"]:
        reader.policy.require_manage_row_rules(reader.actor)
        found.row_rules = _all_of(reader.unit.row_rules, named["row_rules"], "row rule")


# ----------------------------------------------------------------------------------------------------------- charts
def _add_charts(reader: Reader, found: Selection, named: tuple[int, ...]) -> set[int]:
    """Add charts, those that they show, those that these show, and so on; return the ids of layers that they show."""
    layers: set[int] = set()
    wanted = _all_of(reader.unit.charts, named, CHART)
    while wanted:
        reader.require_charts(tuple(wanted.values()))
        found.charts |= wanted
        chart_ids: set[int] = set()
        for chart in wanted.values():
            _check_source(chart)
            for kind, key in _displayed_records(chart):
                (chart_ids if kind == CHART else layers).add(key)
        wanted = by_ids(reader.unit.charts, chart_ids - found.charts.keys())  # one that was deleted is shown no more
    return layers


def _check_source(chart: Chart) -> None:
    if chart.dataset_id is None:
        raise payload_error(
            SHAPE, "charts", f"chart {chart.id} is drawn from no dataset; bundles hold charts of datasets"
        )


def _displayed_records(chart: Chart) -> Iterator[tuple[str, int]]:
    """Yield the kinds and ids of the records that a chart shows beside its own data."""
    references: list[tuple[str, int]] = []

    def look(kind: str, value: Any, _place: str) -> Any:
        key = record_id_of(value)
        if key is not None and kind in {CHART, LAYER}:
            references.append((kind, key))
        return value

    with_new_values([json_object(chart.params), json_object(chart.query_context)], look)
    return iter(references)


# ------------------------------------------------------------------------------------------ layers and CSS templates
def _add_layers(reader: Reader, found: Selection, named: tuple[int, ...], wanted: set[int]) -> None:
    if not wanted:
        return
    reader.policy.require(Permission.READ_ANNOTATIONS, reader.actor)
    _all_of(reader.unit.annotation_layers, named, LAYER)
    found.layers = by_ids(reader.unit.annotation_layers, wanted)
    for key in found.layers:
        of_it = (ListFilter(col="layer_id", op="eq", val=key),)
        found.annotations[key] = tuple(every(reader.unit.annotations, of_it))


def _add_css_templates(reader: Reader, found: Selection, named: tuple[int, ...]) -> None:
    if not named:
        return
    reader.policy.require(Permission.READ_CSS_TEMPLATES, reader.actor)
    found.css_templates = _all_of(reader.unit.css_templates, named, "CSS template")
    names = [template.template_name for template in found.css_templates.values()]
    for key, name in zip(found.css_templates, names, strict=True):
        if not name or names.count(name) > 1:
            raise payload_error(SHAPE, "css_templates", f"template {key} has no name of its own, by which it is known")


# --------------------------------------------------------------------------------------------- datasets and databases
def _add_sources(reader: Reader, found: Selection, named: tuple[int, ...]) -> None:
    """Add the datasets that something reads or binds, and the databases that something reads or opens."""
    wanted = {*named, *(chart.dataset_id for chart in found.charts.values() if chart.dataset_id is not None)}
    wanted.update(key for rule in found.row_rules.values() for key in rule.dataset_ids)
    grants = [grant for role in found.roles.values() for grant in role.grants]
    wanted.update(grant.target_id for grant in grants if grant.target is GrantTarget.DATASET)
    datasets = _all_of(reader.unit.datasets, wanted, "dataset")
    datasets |= by_ids(reader.unit.datasets, _filtered(found.dashboards.values()))  # a filter may outlive its dataset
    for dataset in datasets.values():
        reader.require_dataset(dataset)
    found.datasets = datasets
    opened = {grant.target_id for grant in grants if grant.target is not GrantTarget.DATASET}
    found.databases = by_ids(reader.unit.databases, {*opened, *(one.database_id for one in datasets.values())})


def _add_saved_queries(reader: Reader, found: Selection, named: tuple[int, ...]) -> None:
    found.saved_queries = _all_of(reader.unit.saved_queries, named, "saved query")
    found.databases |= by_ids(reader.unit.databases, {query.database_id for query in found.saved_queries.values()})
    for query in found.saved_queries.values():
        reader.require_saved_query(query)


def _filtered(dashboards: Iterable[Dashboard]) -> Iterator[int]:
    """Yield the ids of the datasets that filters of dashboards read."""
    for item in (item for dashboard in dashboards for item in all_filters(dashboard)):
        yield from (dataset_id for dataset_id, _ in item.targets)
        if item.dataset_id is not None:
            yield item.dataset_id
