"""Copies of dashboards: stored beside their source, or exported as payloads for another store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from analytics_core._records.audit import Audit
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.repositories import UnitOfWork
from analytics_core._resources.batches import by_ids, is_id
from analytics_core._resources.chart_remap import with_texts_of_its_own
from analytics_core._resources.dashboards.content import without_places_of_others
from analytics_core._resources.dashboards.remap import remapped_layout, remapped_metadata
from analytics_core._resources.ids_elsewhere import checked_ids, refuse_repeated_keys
from analytics_core._resources.stored_json import json_object
from analytics_core._security.actor import Actor
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.dashboard import DashboardCopy


def copied_dashboard(source: Dashboard, copy: DashboardCopy, *, owner_id: int) -> Dashboard:
    """Return the record of a copy: a draft of the copier's, without slug, roles, tags and certification.

    What the payload leaves out (title, style, layout, and with it the charts) is the source's; its metadata always are
    the payload's.
    """
    title = copy.dashboard_title if copy.dashboard_title is not None else source.dashboard_title
    return Dashboard(
        uuid=str(uuid4()),
        dashboard_title=title,
        css=copy.css if copy.css is not None else source.css,
        position_json=source.position_json,
        owner_ids=(owner_id,),
        chart_ids=source.chart_ids,
    )


def with_charts_of_its_own(
    unit: UnitOfWork, dashboard: Dashboard, charts: Sequence[Chart], actor: Actor, *, now: datetime
) -> Dashboard:
    """Store a copy of each of the charts for the actor, and return the dashboard with the copies in their places."""
    copies = {chart.id: _copied_chart(chart, actor.id, now=now) for chart in charts}
    new_ids = {old: unit.charts.append(copy, actor_id=actor.id) for old, copy in copies.items()}
    for stored in by_ids(unit.charts, new_ids.values()).values():
        renamed = with_texts_of_its_own(stored, new_ids)  # a text names the chart by the id that it has only now
        if renamed != stored:
            unit.charts.update(renamed, actor_id=actor.id)
    return replace(
        dashboard,
        position_json=remapped_layout(dashboard.position_json, new_ids),
        json_metadata=remapped_metadata(dashboard.json_metadata, new_ids),
        chart_ids=tuple(new_ids.get(chart_id, chart_id) for chart_id in dashboard.chart_ids),
    )


def _copied_chart(chart: Chart, owner_id: int, *, now: datetime) -> Chart:
    """Return a chart like another one; who vouches for that one, saved or manages it, did not do so for the copy."""
    return replace(
        chart,
        id=0,
        uuid=str(uuid4()),
        owner_ids=(owner_id,),
        tag_ids=(),
        certified_by=None,
        certification_details=None,
        external_url=None,
        is_managed_externally=False,
        last_saved_at=now,
        last_saved_by=owner_id,
        audit=Audit(),
    )


_SHAPE: Final = "dashboards.payload_elsewhere"
_COPIED: Final = ("dashboard_title", "slug", "certified_by", "certification_details")
_FILTER_LISTS: Final = ("native_filter_configuration", "chart_customization_config")


def dashboard_payload_elsewhere(
    dashboard: Dashboard, *, chart_ids: Mapping[int, int], dataset_ids: Mapping[int, int]
) -> dict[str, Any]:
    """Return what makes this dashboard in a store where its charts and datasets have these ids.

    Raises:
        PayloadSchemaError: a chart of the dashboard, or a dataset of its filters, has no id there; or what is given
            maps no ids to ids; or a text of the dashboard names a key twice, which no store takes any more.
    """
    refuse_repeated_keys(_SHAPE, json_metadata=dashboard.json_metadata, position_json=dashboard.position_json)
    chart_ids = checked_ids(chart_ids, path="chart_ids", shape=_SHAPE)
    dataset_ids = checked_ids(dataset_ids, path="dataset_ids", shape=_SHAPE)
    metadata = json_object(dashboard.json_metadata)
    problems = [
        *_without_id("chart_ids", "chart", dashboard.chart_ids, chart_ids),
        *_without_id("dataset_ids", "dataset", _datasets_of_filters(metadata), dataset_ids),
    ]
    if problems:
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)
    its_charts = {old: chart_ids[old] for old in dashboard.chart_ids}
    # What is left of deleted charts stays behind: their ids may be those of strangers there.
    layout = without_places_of_others(dashboard.position_json, its_charts)
    return {
        **{name: getattr(dashboard, name) for name in _COPIED},
        "css": dashboard.css or "",
        "position_json": remapped_layout(layout, its_charts) or "",
        "json_metadata": remapped_metadata(_with_datasets(metadata, dataset_ids), its_charts, keep_others=False),
    }


def _without_id(path: str, noun: str, wanted: Iterable[int], known: Mapping[int, int]) -> list[Problem]:
    missing = sorted(set(wanted).difference(known))
    return [Problem(path=path, message=f"has no id for {noun} {old} of the dashboard") for old in missing]


def _with_datasets(metadata: Mapping[str, Any], dataset_ids: Mapping[int, int]) -> str:
    changed = {
        key: [_retargeted(item, dataset_ids) for item in metadata[key]]
        for key in _FILTER_LISTS
        if isinstance(metadata.get(key), list)
    }
    return json.dumps({**metadata, **changed}, ensure_ascii=False)


def _retargeted(item: Any, dataset_ids: Mapping[int, int]) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get("targets"), list):
        return item
    targets = [
        target if (old := _dataset_of(target)) is None else {**target, "datasetId": dataset_ids[old]}
        for target in item["targets"]
    ]
    return {**item, "targets": targets}


def _datasets_of_filters(metadata: Mapping[str, Any]) -> set[int]:
    lists = (metadata[key] for key in _FILTER_LISTS if isinstance(metadata.get(key), list))
    items = (item for items in lists for item in items if isinstance(item, dict))
    targets = (target for item in items if isinstance(item.get("targets"), list) for target in item["targets"])
    return {dataset_id for target in targets if (dataset_id := _dataset_of(target)) is not None}


def _dataset_of(target: Any) -> int | None:
    dataset_id = target.get("datasetId") if isinstance(target, dict) else None
    return dataset_id if is_id(dataset_id) else None
