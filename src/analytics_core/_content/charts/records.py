"""Stored charts: made of payloads, put on dashboards, and shown as the contract's shapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from analytics_core._content.batches import by_ids, every
from analytics_core._content.changes import changes_of
from analytics_core._content.field_formatter import FieldFormatter, answer_as
from analytics_core._content.lists import LARGEST_PAGE, makers_and_owners
from analytics_core._content.lookups.chart_contexts import form_of_chart
from analytics_core._content.questions.dashboard_content import layout_without
from analytics_core._content.reader import Reader
from analytics_core._content.related_names import RelatedNames
from analytics_core._content.stored_json import json_object
from analytics_core._content.tags import custom_tags
from analytics_core._content.user_directory import UserIndex
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core.errors import DashboardAccessError, NotFoundError
from analytics_core.models.chart import (
    ChartDatasource,
    ChartDatasourceItem,
    ChartDatasourceValue,
    ChartEntity,
    ChartGet,
    ChartListItem,
    ChartPost,
    ChartPut,
    ChartScreenshot,
)
from analytics_core.models.enums import DatasourceType
from analytics_core.models.explore import ExploreSlice
from analytics_core.models.parsing import payload_error
from analytics_core.models.references import (
    DashboardReference,
    DashboardReferenceWithMetadata,
    DatasetReference,
    TagReference,
)

_UNCHANGED_ON_NULL = frozenset({"datasource_id", "datasource_type"})
_CONTEXT, _GENERATED = "query_context", "query_context_generation"
_TAKEN_APART = frozenset({"owners", "dashboards", "tags"})


def new_chart(post: ChartPost, *, uuid: str, owner_ids: tuple[int, ...]) -> Chart:
    """Return the record of a create payload."""
    record = Chart(uuid=uuid, slice_name=post.slice_name, owner_ids=owner_ids)
    return replace(record, **_copied(post))


def changed_chart(chart: Chart, put: ChartPut, *, owner_ids: tuple[int, ...]) -> Chart:
    """Return the record after an update; null clears what may be empty and leaves everything else as it is.

    A query context that a person wrote is not replaced by one that a system made (`query_context_generation`).
    """
    return replace(chart, **_respecting_the_writer(chart, _copied(put)), owner_ids=owner_ids)


def _respecting_the_writer(chart: Chart, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an update, without a generated query context where a person's is stored.

    A query context that comes without the flag is a person's, unless it is the stored one.
    """
    if fields.get(_GENERATED):
        written_by_hand = bool(chart.query_context) and not chart.query_context_generation
        return {n: v for n, v in fields.items() if n not in (_CONTEXT, _GENERATED)} if written_by_hand else fields
    is_new = fields.get(_CONTEXT, chart.query_context) != chart.query_context
    return {**fields, _GENERATED: False} if is_new else fields


def _copied(payload: ChartPost | ChartPut) -> dict[str, Any]:
    changes = changes_of(payload, Chart, without=_TAKEN_APART)
    return {name: value for name, value in changes.items() if value is not None or name not in _UNCHANGED_ON_NULL}


def place_on_dashboards(reader: Reader, *, chart_id: int, wanted: Iterable[int]) -> tuple[int, ...]:
    """Put a chart on these dashboards and take it from the others, and return the ids of those that changed.

    Dashboards that the actor may not read keep the chart: the actor cannot have meant them. Where the chart is taken
    away, its places leave the layout, so that the next change of the layout does not bring it back.

    Raises:
        NotFoundError, DashboardAccessError: a dashboard is unknown or not for this actor.
        OwnershipError: the actor may not change a dashboard that would get or lose the chart.
    """
    goal = frozenset(wanted)
    unit, actor = reader.unit, reader.actor
    showing = (ListFilter(col="chart_ids", op="eq", val=chart_id),)
    before = reader.among_dashboards(tuple(every(unit.dashboards, showing)))
    added = _readable(reader, goal - {dashboard.id for dashboard in before})
    removed = [dashboard for dashboard in before if dashboard.id not in goal]
    for dashboard in (*added, *removed):
        reader.policy.require_write(actor, dashboard)
    for dashboard in added:
        unit.dashboards.update(replace(dashboard, chart_ids=(*dashboard.chart_ids, chart_id)), actor_id=actor.id)
    for dashboard in removed:
        unit.dashboards.update(_without(dashboard, chart_id), actor_id=actor.id)
    return tuple(dashboard.id for dashboard in (*added, *removed))


def _without(dashboard: Dashboard, chart_id: int) -> Dashboard:
    remaining_ids = tuple(other for other in dashboard.chart_ids if other != chart_id)
    return replace(dashboard, chart_ids=remaining_ids, position_json=layout_without(dashboard.position_json, chart_id))


def _readable(reader: Reader, ids: frozenset[int]) -> Sequence[Dashboard]:
    found = by_ids(reader.unit.dashboards, ids)
    for missing in sorted(ids - found.keys()):
        raise NotFoundError("dashboard", missing)
    readable = reader.among_dashboards(tuple(found.values()))
    for rejected in sorted(ids - {dashboard.id for dashboard in readable}):
        raise DashboardAccessError(f"you have no access to dashboard {rejected}")
    return readable


def named_tags(unit: UnitOfWork, references: Sequence[TagReference], *, shape: str) -> tuple[int, ...]:
    """Return the ids of tags that a payload names by id, by name, or by both.

    Raises:
        NotFoundError: there is no such tag.
        PayloadSchemaError: an item names no tag, or its id and its name are of two tags.
    """
    if len(references) > LARGEST_PAGE:
        raise payload_error(shape, "tags", f"may name {LARGEST_PAGE} tags at most")
    by_id = by_ids(unit.tags, (reference.id for reference in references if reference.id is not None))
    by_name = custom_tags(unit, [r.name for r in references if r.id is None and r.name is not None])
    ids = []
    for position, reference in enumerate(references):
        tag = by_name.get(reference.name or "") if reference.id is None else by_id.get(reference.id)
        if reference.id is None and reference.name is None:
            raise payload_error(shape, f"tags.{position}", "needs an id or a name")
        if tag is None or reference.type not in (None, tag.type):
            raise NotFoundError("tag", reference.id if reference.id is not None else reference.name)
        if reference.name not in (None, tag.name):
            raise payload_error(
                shape, f"tags.{position}.name", f"is not the name of tag {tag.id}; give the id or the name"
            )
        ids.append(tag.id)
    return tuple(dict.fromkeys(ids))


def chart_get(chart: Chart, *, linked: RelatedNames, people: UserIndex, readable: FieldFormatter) -> ChartGet:
    """Return one chart (contract, `ChartRestApi.get`)."""
    dashboards = (
        DashboardReferenceWithMetadata(id=d.id, dashboard_title=d.dashboard_title, json_metadata=d.json_metadata)
        for d in linked.dashboards_of(chart)
    )
    return answer_as(
        ChartGet,
        chart,
        dashboards=tuple(dashboards),
        owners=people.references(chart.owner_ids),
        tags=linked.tag_references(chart.tag_ids),
        changed_on_delta_humanized=readable.delta(chart.audit.changed_on),
        thumbnail_url=_thumbnail_url(chart, readable),
        url=readable.url("chart", {"id": chart.id}),
    )


def people_of(chart: Chart) -> tuple[int | None, ...]:
    """Return the ids of the people whom an answer names."""
    return (*makers_and_owners(chart), chart.last_saved_by)


def chart_item(chart: Chart, *, linked: RelatedNames, people: UserIndex, readable: FieldFormatter) -> ChartListItem:
    """Return one chart of a list (contract, `ChartRestApi.get_list`)."""
    dataset, dashboards = linked.dataset_of(chart), linked.dashboards_of(chart)
    return answer_as(
        ChartListItem,
        chart,
        **_people_and_times(chart, people, readable),
        **_addresses(chart, readable),
        datasource_name_text=dataset.table_name if dataset else None,
        table=dataset and DatasetReference(default_endpoint=dataset.default_endpoint, table_name=dataset.table_name),
        dashboards=tuple(DashboardReference(id=d.id, dashboard_title=d.dashboard_title) for d in dashboards),
        tags=linked.tag_references(chart.tag_ids),
        description_markeddown=readable.markdown(chart.description),
        form_data=form_of_chart(chart),
    )


def chart_entity(chart: Chart, *, readable: FieldFormatter) -> ChartEntity:
    """Return one chart of a dashboard (contract, `ChartEntityResponseSchema`)."""
    return answer_as(ChartEntity, chart, **_entity(chart, readable))


def chart_slice(chart: Chart, *, readable: FieldFormatter) -> ExploreSlice:
    """Return a chart as the explore view shows it (contract, `Slice` of `ExploreContextSchema`)."""
    return answer_as(
        ExploreSlice,
        chart,
        **_entity(chart, readable),
        slice_id=chart.id,
        datasource=form_of_chart(chart).get("datasource"),
        owners=chart.owner_ids,
        query_context=json_object(chart.query_context) or None,
    )


def _entity(chart: Chart, readable: FieldFormatter) -> dict[str, Any]:
    return {
        "slice_url": readable.url("chart", {"id": chart.id}),
        "description_markeddown": readable.markdown(chart.description),
        "form_data": form_of_chart(chart),
    }


def chart_datasource(chart: Chart, dataset: Dataset | None) -> ChartDatasource:
    """Return the dataset that a chart is drawn from, None for one that the caller may not know.

    The contract calls for a number as its type: the place of the type in the contract's list, counted from 1.
    """
    if dataset is None:
        return ChartDatasource(count=0, result=None)
    number = [kind.value for kind in DatasourceType].index(chart.datasource_type or DatasourceType.TABLE.value) + 1
    value = ChartDatasourceValue(datasource_id=dataset.id, datasource_type=number)
    return ChartDatasource(count=1, result=ChartDatasourceItem(label=dataset.table_name, value=value))


def _thumbnail_url(chart: Chart, readable: FieldFormatter) -> str | None:
    query_fields = chart.query_context, chart.datasource_id, chart.datasource_type
    content = (chart.uuid, chart.slice_name, chart.viz_type, chart.params, *query_fields)
    return readable.thumbnail_url("chart_thumbnail", {"id": chart.id}, content=content)


def chart_screenshot(chart: Chart, *, seen: str, readable: FieldFormatter) -> ChartScreenshot:
    """Return where the host shows a picture of this version of the chart; `seen` names what its reader may see."""
    key = sha256(f"{chart.uuid}:{chart.audit.version}:{seen}".encode()).hexdigest()[:32]
    return ChartScreenshot(
        cache_key=key,
        chart_url=readable.url("chart", {"id": chart.id}),
        image_url=readable.url("chart_screenshot", {"id": chart.id, "cache_key": key}),
    )


def _people_and_times(chart: Chart, people: UserIndex, readable: FieldFormatter) -> dict[str, Any]:
    audit = chart.audit
    return {
        "last_saved_by": people.reference(chart.last_saved_by),
        "created_by": people.reference(audit.created_by),
        "owners": people.references(chart.owner_ids),
        "changed_by": people.names(audit.changed_by),
        "changed_by_name": people.full_name(audit.changed_by),
        "changed_on_delta_humanized": readable.delta(audit.changed_on),
        "changed_on_dttm": audit.changed_on.timestamp() * 1000 if audit.changed_on else None,
        "changed_on_utc": readable.utc(audit.changed_on),
        "created_by_name": people.full_name(audit.created_by),
        "created_on_delta_humanized": readable.delta(audit.created_on),
    }


def _addresses(chart: Chart, readable: FieldFormatter) -> dict[str, str | None]:
    source = {"datasource_type": chart.datasource_type, "datasource_id": chart.datasource_id}
    return {
        "datasource_url": readable.url("explore", source) if chart.datasource_id is not None else None,
        "edit_url": readable.url("chart_edit", {"id": chart.id}),
        "slice_url": readable.url("chart", {"id": chart.id}),
        "thumbnail_url": _thumbnail_url(chart, readable),
        "url": readable.url("chart", {"id": chart.id}),
    }
