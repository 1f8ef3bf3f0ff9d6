"""Shows a stored chart as the contract's shapes, computed fields included."""

from __future__ import annotations

from typing import Any

from analytics_core._records.chart import Chart
from analytics_core._records.dataset import Dataset
from analytics_core._resources.json_text import json_object
from analytics_core._resources.people_index import PeopleIndex
from analytics_core._resources.readable import Readable, html_of
from analytics_core.models.chart import ChartGet, ChartListItem
from analytics_core.models.explore import ExploreSlice
from analytics_core.models.references import DatasetReference


def chart_get(chart: Chart, *, people: PeopleIndex, readable: Readable) -> ChartGet:
    """Return one chart (contract, `ChartRestApi.get`)."""
    return ChartGet(
        **_stored(chart),
        query_context=chart.query_context,
        dashboards=(),
        owners=people.references(chart.owner_ids),
        tags=(),
        changed_on_delta_humanized=readable.delta(chart.audit.changed_on),
        thumbnail_url=readable.url("chart_thumbnail", {"id": chart.id}),
        url=readable.url("chart", {"id": chart.id}),
    )


def chart_item(chart: Chart, *, dataset: Dataset | None, people: PeopleIndex, readable: Readable) -> ChartListItem:
    """Return one chart of a list (contract, `ChartRestApi.get_list`)."""
    return ChartListItem(
        **_stored(chart),
        **_people_and_times(chart, people, readable),
        **_addresses(chart, readable),
        datasource_id=chart.datasource_id,
        datasource_type=chart.datasource_type,
        datasource_name_text=dataset.table_name if dataset else chart.datasource_name,
        table=_table(dataset),
        dashboards=(),
        tags=(),
        description_markeddown=html_of(chart.description),
        form_data=form_data(chart),
    )


def chart_slice(chart: Chart, *, readable: Readable) -> ExploreSlice:
    """Return a chart as the explore view shows it (contract, `Slice` of `ExploreContextSchema`)."""
    return ExploreSlice(
        id=chart.id,
        slice_id=chart.id,
        slice_name=chart.slice_name,
        slice_url=readable.url("chart", {"id": chart.id}),
        description=chart.description,
        description_markeddown=html_of(chart.description),
        cache_timeout=chart.cache_timeout,
        certified_by=chart.certified_by,
        certification_details=chart.certification_details,
        changed_on=chart.audit.changed_on,
        form_data=form_data(chart),
        datasource=form_data(chart).get("datasource"),
        is_managed_externally=chart.is_managed_externally,
        owners=chart.owner_ids,
        query_context=json_object(chart.query_context) or None,
    )


def form_data(chart: Chart) -> dict[str, Any]:
    """Return what the chart stores for drawing, completed by what the record knows."""
    datasource = f"{chart.datasource_id}__{chart.datasource_type}" if chart.datasource_id is not None else None
    known = {"slice_id": chart.id, "viz_type": chart.viz_type, "datasource": datasource}
    return {**json_object(chart.params), **{name: value for name, value in known.items() if value is not None}}


def _stored(chart: Chart) -> dict[str, Any]:
    return {
        "id": chart.id,
        "slice_name": chart.slice_name,
        "viz_type": chart.viz_type,
        "description": chart.description,
        "cache_timeout": chart.cache_timeout,
        "certified_by": chart.certified_by,
        "certification_details": chart.certification_details,
        "params": chart.params,
        "is_managed_externally": chart.is_managed_externally,
    }


def _people_and_times(chart: Chart, people: PeopleIndex, readable: Readable) -> dict[str, Any]:
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


def _addresses(chart: Chart, readable: Readable) -> dict[str, str | None]:
    source = {"datasource_type": chart.datasource_type, "datasource_id": chart.datasource_id}
    return {
        "datasource_url": readable.url("explore", source) if chart.datasource_id is not None else None,
        "edit_url": readable.url("chart_edit", {"id": chart.id}),
        "slice_url": readable.url("chart", {"id": chart.id}),
        "thumbnail_url": readable.url("chart_thumbnail", {"id": chart.id}),
        "url": readable.url("chart", {"id": chart.id}),
    }


def _table(dataset: Dataset | None) -> DatasetReference | None:
    if dataset is None:
        return None
    return DatasetReference(default_endpoint=dataset.default_endpoint, table_name=dataset.table_name)
