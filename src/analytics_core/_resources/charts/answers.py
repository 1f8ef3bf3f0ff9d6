"""Shows a stored chart as the contract's shapes, computed fields included."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from pydantic import BaseModel

from analytics_core._records.chart import Chart
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import DatasetName
from analytics_core._resources.field_formatter import FieldFormatter
from analytics_core._resources.people.directory import UserIndex
from analytics_core._resources.related_names import RelatedNames
from analytics_core._resources.stored_json import json_object
from analytics_core.models.chart import (
    ChartDatasource,
    ChartDatasourceItem,
    ChartDatasourceValue,
    ChartEntity,
    ChartGet,
    ChartListItem,
    ChartScreenshot,
)
from analytics_core.models.enums import DatasourceType
from analytics_core.models.explore import ExploreSlice
from analytics_core.models.references import DashboardReference, DashboardReferenceWithMetadata, DatasetReference


def chart_get(chart: Chart, *, linked: RelatedNames, people: UserIndex, readable: FieldFormatter) -> ChartGet:
    """Return one chart (contract, `ChartRestApi.get`)."""
    dashboards = (
        DashboardReferenceWithMetadata(id=d.id, dashboard_title=d.dashboard_title, json_metadata=d.json_metadata)
        for d in linked.dashboards_of(chart)
    )
    answer = ChartGet(
        **_stored(chart, ChartGet),
        dashboards=tuple(dashboards),
        owners=people.references(chart.owner_ids),
        tags=linked.tag_references(chart.tag_ids),
        changed_on_delta_humanized=readable.delta(chart.audit.changed_on),
        thumbnail_url=readable.url("chart_thumbnail", {"id": chart.id}),
        url=readable.url("chart", {"id": chart.id}),
    )
    return answer.stamped(chart.audit.changed_on)


def people_of(chart: Chart) -> tuple[int | None, ...]:
    """Return the ids of the people whom an answer names."""
    return (chart.audit.created_by, chart.audit.changed_by, chart.last_saved_by, *chart.owner_ids)


def chart_item(chart: Chart, *, linked: RelatedNames, people: UserIndex, readable: FieldFormatter) -> ChartListItem:
    """Return one chart of a list (contract, `ChartRestApi.get_list`)."""
    dataset, dashboards = linked.dataset_of(chart), linked.dashboards_of(chart)
    return ChartListItem(
        **{**_stored(chart, ChartListItem), **_people_and_times(chart, people, readable)},
        **_addresses(chart, readable),
        datasource_name_text=dataset.table_name if dataset else None,
        table=_table(dataset),
        dashboards=tuple(DashboardReference(id=d.id, dashboard_title=d.dashboard_title) for d in dashboards),
        tags=linked.tag_references(chart.tag_ids),
        description_markeddown=readable.markdown(chart.description),
        form_data=form_data(chart),
    )


def chart_entity(chart: Chart, *, readable: FieldFormatter) -> ChartEntity:
    """Return one chart of a dashboard (contract, `ChartEntityResponseSchema`)."""
    return ChartEntity(
        **_stored(chart, ChartEntity),
        slice_url=readable.url("chart", {"id": chart.id}),
        description_markeddown=readable.markdown(chart.description),
        changed_on=chart.audit.changed_on,
        form_data=form_data(chart),
    )


def chart_slice(chart: Chart, *, readable: FieldFormatter) -> ExploreSlice:
    """Return a chart as the explore view shows it (contract, `Slice` of `ExploreContextSchema`)."""
    entity = chart_entity(chart, readable=readable)
    return ExploreSlice(
        **{name: getattr(entity, name) for name in ChartEntity.model_fields},
        slice_id=chart.id,
        datasource=form_data(chart).get("datasource"),
        is_managed_externally=chart.is_managed_externally,
        owners=chart.owner_ids,
        query_context=json_object(chart.query_context) or None,
    )


def chart_datasource(chart: Chart, dataset: Dataset | None) -> ChartDatasource:
    """Return the dataset that a chart is drawn from, None for one that the caller may not know.

    The contract calls for a number as its type: the place of the type in the contract's list, counted from 1.
    """
    if dataset is None:
        return ChartDatasource(count=0, result=None)
    number = [kind.value for kind in DatasourceType].index(chart.datasource_type or DatasourceType.TABLE.value) + 1
    value = ChartDatasourceValue(datasource_id=dataset.id, datasource_type=number)
    return ChartDatasource(count=1, result=ChartDatasourceItem(label=dataset.table_name, value=value))


def chart_screenshot(chart: Chart, *, actor_id: int, readable: FieldFormatter) -> ChartScreenshot:
    """Return where the host shows a picture of this version of the chart, as this user sees it."""
    seen = f"{chart.uuid}:{chart.audit.version}:{actor_id}"
    key = sha256(seen.encode()).hexdigest()[:32]
    return ChartScreenshot(
        cache_key=key,
        chart_url=readable.url("chart", {"id": chart.id}),
        image_url=readable.url("chart_screenshot", {"id": chart.id, "cache_key": key}),
    )


def form_data(chart: Chart) -> dict[str, Any]:
    """Return what the chart stores for drawing, completed by what the record knows."""
    datasource = f"{chart.datasource_id}__{chart.datasource_type}" if chart.datasource_id is not None else None
    known = {"slice_id": chart.id, "viz_type": chart.viz_type, "datasource": datasource}
    return {**json_object(chart.params), **{name: value for name, value in known.items() if value is not None}}


def _stored(chart: Chart, shape: type[BaseModel]) -> dict[str, Any]:
    """Return what the shape shows as the record has it: the fields of one name in both."""
    return {name: getattr(chart, name) for name in shape.model_fields if name in Chart.__dataclass_fields__}


def _people_and_times(chart: Chart, people: UserIndex, readable: FieldFormatter) -> dict[str, Any]:
    audit = chart.audit
    return {
        "last_saved_at": chart.last_saved_at,
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
        "thumbnail_url": readable.url("chart_thumbnail", {"id": chart.id}),
        "url": readable.url("chart", {"id": chart.id}),
    }


def _table(dataset: DatasetName | None) -> DatasetReference | None:
    if dataset is None:
        return None
    return DatasetReference(default_endpoint=dataset.default_endpoint, table_name=dataset.table_name)
