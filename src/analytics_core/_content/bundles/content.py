"""The charts, dashboards and saved queries of a bundle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from analytics_core._content.bundles.datasets import find_dataset
from analytics_core._content.bundles.documents import Document, DocumentKind
from analytics_core._content.bundles.fields import (
    CHART_FIELDS,
    DASHBOARD_FIELDS,
    SAVED_QUERY_FIELDS,
    given_fields,
    mapping_of,
    texts_of,
)
from analytics_core._content.bundles.identities import (
    chart_uuids,
    context_of,
    dataset_targets,
    form_of,
    layout_here,
    metadata_here,
    references_of,
    uuid_text,
    value_here,
)
from analytics_core._content.bundles.labels import find_layer, tag_ids
from analytics_core._content.bundles.progress import FailedBeforeError, Load
from analytics_core._content.bundles.rights import find_role
from analytics_core._content.charts.chart_references import NewValue
from analytics_core._content.charts.records import changed_chart
from analytics_core._content.dashboards.records import changed_dashboard, placed_charts
from analytics_core._engine.querying.sql_queries import saved_question
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import AccessError, AnalyticsError
from analytics_core.errors.base import short_repr
from analytics_core.models.chart import ChartPut
from analytics_core.models.dashboard import DashboardPut
from analytics_core.models.parsing import parse, payload_error
from analytics_core.models.sql_editor import SavedQueryPost


# ----------------------------------------------------------------------------------------------------------- charts
def store_chart(load: Load, document: Document) -> None:
    """Store a chart; `complete_chart` adds the charts that it shows, which may come after it, or show it too."""
    dataset_uuid = document.content.get("dataset_uuid")
    if (DocumentKind.DATASET, uuid_text(dataset_uuid)) not in load.failed:
        find_dataset(load, dataset_uuid)  # first: without it nobody hears of the chart
    before = load.unit.charts.find(uuid=document.key)
    if before is not None:
        load.require_change(before)
    known = before or Chart(uuid=document.key, slice_name="", owner_ids=(load.actor.id,))
    record = _chart(load, document, known, charts={})
    store = load.unit.charts.add if before is None else load.unit.charts.update
    stored = store(record, actor_id=load.actor.id)
    load.act("chart", before).log(load.unit, chart_id=stored.id)
    load.found[document.kind, document.key] = stored.id
    _tell(load, document, stored, is_new=before is None)


def complete_chart(load: Load, document: Document) -> None:
    """Store what a chart shows of other charts, now that all of them have their ids."""
    wanted = references_of(document.content).charts
    if not wanted:
        return
    charts = load.each(document, "params", wanted, _find_chart)
    stored = load.unit.charts.get(load.found[document.kind, document.key])
    record = _chart(load, document, stored, charts=charts)
    is_new = load.records[document.kind, document.key].is_new
    _tell(load, document, load.unit.charts.update(record, actor_id=load.actor.id), is_new=is_new)


def _chart(load: Load, document: Document, known: Chart, *, charts: Mapping[str, int]) -> Chart:
    """Return the record of a chart, as a payload would change it."""
    content = document.content
    dataset = find_dataset(load, content.get("dataset_uuid"))
    new_value = value_here(charts, load.each(document, "params", references_of(content).layers, find_layer))
    put = chart_change(document, dataset, new_value)
    return replace(
        changed_chart(known, put, owner_ids=known.owner_ids),
        datasource_name=dataset.table_name,
        tag_ids=tag_ids(load, content, known.tag_ids),
        last_saved_at=load.runtime.wall_clock.now(),
        last_saved_by=load.actor.id,
    )


def chart_change(document: Document, dataset: Dataset, new_value: NewValue) -> ChartPut:
    """Return what a document says of a chart that is drawn from a dataset here.

    Args:
        document: of the chart.
        dataset: that takes the place of the one in the bundle.
        new_value: gives what the chart shows of other records, by their ids here.
    """
    content = document.content
    if content["slice_name"] is None:
        raise payload_error(document.path, "slice_name", "must be text, not null")
    fields = {
        **given_fields(content, CHART_FIELDS),
        "params": _text({**form_of(mapping_of(content["params"]), new_value), "datasource": f"{dataset.id}__table"}),
        "query_context": context_of(content.get("query_context"), new_value, dataset_id=dataset.id),
        "datasource_id": dataset.id,
        "datasource_type": "table",
    }
    return parse(ChartPut, fields, shape=document.path)


def _tell(load: Load, document: Document, chart: Chart, *, is_new: bool) -> None:
    """Tell how true a chart is, and what of it does not come along."""
    omissions = tuple(
        f"{place} does not come along: it shows something stored elsewhere"
        for place in references_of(document.content).untold
    )
    try:
        built = load.runtime.chart_contexts.built(chart)
        fidelity, notes = built.fidelity.value, built.notes
    except AnalyticsError as error:
        fidelity, notes = "unsupported", (error.message,)
    load.tell(document, chart.slice_name, chart.id, is_new=is_new, notes=(*notes, *omissions), fidelity=fidelity)


def _find_chart(load: Load, uuid: str) -> int:
    """Return the id of a chart that something shows."""

    def find() -> int | None:
        chart = load.unit.charts.find(uuid=uuid)
        with suppress(AccessError):  # what is not for the actor is told as what does not exist
            load.reader.require_charts(() if chart is None else (chart,))
            return None if chart is None else chart.id
        return None

    found: int = load.needed(DocumentKind.CHART, uuid, find)
    return found


# ------------------------------------------------------------------------------------------------------- dashboards
def store_dashboard(load: Load, document: Document) -> None:
    """Store a dashboard, its charts, filters and scopes by the ids here."""
    content, shape = document.content, document.path
    before = load.unit.dashboards.find(uuid=document.key)
    if before is not None:
        load.require_change(before)
    known = before or Dashboard(uuid=document.key, owner_ids=(load.actor.id,))
    position, metadata = mapping_of(content["position"]), mapping_of(content.get("metadata"))
    beside = tuple(dict.fromkeys(uuid_text(uuid) for uuid in texts_of(content.get("charts"))))
    charts = load.each(document, "position", (*chart_uuids(position).values(), *beside), _find_chart)
    filtered = dict.fromkeys(uuid for uuid, _ in dataset_targets(metadata))
    datasets = {uuid: one.id for uuid, one in load.each(document, "metadata", filtered, find_dataset).items()}
    fields = {
        **given_fields(content, DASHBOARD_FIELDS),
        "position_json": layout_here(position, charts),
        "json_metadata": metadata_here(metadata, position, charts=charts, datasets=datasets),
    }
    record = changed_dashboard(known, parse(DashboardPut, fields, shape=shape), owner_ids=None, shape=shape)
    wanted = dict.fromkeys((*record.chart_ids, *(charts[uuid] for uuid in beside if uuid in charts)))
    placed = placed_charts(load.reader, wanted, before=known.chart_ids, shape=shape)
    record = replace(record, chart_ids=placed, tag_ids=tag_ids(load, content, known.tag_ids))
    record, notes = _with_roles(load, document, record)
    store = load.unit.dashboards.add if before is None else load.unit.dashboards.update
    stored = store(record, actor_id=load.actor.id)
    load.act("dashboard", before).log(load.unit, dashboard_id=stored.id)
    load.tell(document, stored.dashboard_title or "", stored.id, is_new=before is None, notes=notes)


def _with_roles(load: Load, document: Document, dashboard: Dashboard) -> tuple[Dashboard, tuple[str, ...]]:
    """Return a dashboard with the roles that it is for; without them it is a draft rather than for everybody."""
    names = texts_of(document.content.get("roles"))
    if load.with_rules:
        return replace(dashboard, role_ids=tuple(find_role(load, name) for name in names)), ()
    if not names or dashboard.role_ids:
        return dashboard, ()
    return replace(dashboard, published=False), ("roles does not come along, and so it is a draft",)


# ----------------------------------------------------------------------------------------------------- saved queries
def store_saved_query(load: Load, document: Document) -> None:
    """Store a saved query on the database that is here now, with its tags."""
    key = uuid_text(document.content.get("database_uuid"))
    database: Database | None = load.found.get((DocumentKind.DATABASE, key))
    if database is None:  # its problem is told, once
        raise FailedBeforeError(f"needs database {short_repr(key)}, which is left out")
    before = load.unit.saved_queries.find(uuid=document.key)
    if before is not None:
        load.require_change(before)
    record = saved_query(document, before, database.id)
    record = replace(record, tag_ids=tag_ids(load, document.content, record.tag_ids))
    request = load.runtime.request(load.actor)
    load.runtime.engine.sql_queries.check_saved(request, database, saved_question(record))
    store = load.unit.saved_queries.add if before is None else load.unit.saved_queries.update
    stored = store(record, actor_id=load.actor.id)
    load.act("saved_query", before).log(load.unit, details={"saved_query": stored.id})
    load.tell(document, stored.label, stored.id, is_new=before is None)


def saved_query(document: Document, before: SavedQuery | None, database_id: int) -> SavedQuery:
    """Return the record of a saved query; what the document does not say stays as it is here."""
    fields = given_fields(document.content, SAVED_QUERY_FIELDS)
    post = parse(SavedQueryPost, {**fields, "database": database_id}, shape=document.path)
    given = {name: getattr(post, "schema_name" if name == "schema" else name) for name in fields}
    known = before or SavedQuery(uuid=document.key, label=post.label, database_id=database_id, sql=post.sql)
    return replace(known, database_id=database_id, **given)


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)
