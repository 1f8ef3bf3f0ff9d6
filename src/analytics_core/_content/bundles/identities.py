"""The ids of records inside what bundles hold, turned into those here, and into UUIDs and names; pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._content.batches import is_id
from analytics_core._content.bundles.fields import OF_ONE_STORE
from analytics_core._content.charts.chart_references import (
    CHART,
    GONE,
    LAYER,
    SHOWING,
    NewValue,
    record_id_of,
    with_new_values,
)
from analytics_core._content.dashboards.copies import remapped_metadata
from analytics_core._content.questions.dashboard_content import chart_of, without_nodes
from analytics_core._content.stored_json import json_object
from analytics_core.models.base import uuid_in

Ids = Mapping[str, int]
"""Ids here by UUIDs."""

_UUID: Final = "uuid"
_NAME: Final = "name"
_SCOPED: Final = ("native_filter_configuration", "chart_customization_config")


def chart_uuids(position: Mapping[str, Any]) -> dict[str, str]:
    """Return the UUIDs of the charts that a layout places, by the names of the places."""
    found = {}
    for name, node in position.items():
        meta = node.get("meta") if isinstance(node, dict) and node.get("type") == "CHART" else None
        if isinstance(meta, dict):
            found[name] = uuid_text(meta.get("uuid"))
    return found


def layout_here(position: Mapping[str, Any], charts: Ids) -> str:
    """Return a layout as JSON text, its charts by their ids here; places of charts that are not here are left out."""
    placed = chart_uuids(position)
    remaining = without_nodes(position, {name for name, uuid in placed.items() if uuid not in charts})
    nodes = {
        name: {**node, "meta": {**node["meta"], "chartId": charts[placed[name]]}} if name in placed else node
        for name, node in remaining.items()
    }
    return json.dumps(nodes, ensure_ascii=False)


def metadata_here(metadata: Mapping[str, Any], position: Mapping[str, Any], *, charts: Ids, datasets: Ids) -> str:
    """Return the metadata of a dashboard as JSON text, which speak of charts and datasets by their ids here.

    Charts are known by the ids that the layout gives them, or by their UUIDs. Where a scope is told, the list of charts
    that it was worked out to is left out: it may speak of the ids of another store. So are charts that are not here,
    and filters of datasets that are not here.
    """
    old = {
        node["meta"]["chartId"]: charts[uuid]
        for name, uuid in chart_uuids(position).items()
        if uuid in charts and is_id((node := position[name])["meta"].get("chartId"))
    }
    given = {name: value for name, value in metadata.items() if value is not None}
    for name in _SCOPED:
        if isinstance(given.get(name), list):
            here = (item for item in given[name] if all(uuid in datasets for uuid, _ in _dataset_targets(item)))
            given[name] = [_filter(item, datasets) for item in here]
    remapped = json.loads(remapped_metadata(json.dumps(_without_lists(given)), old, keep_others=False) or "{}")
    gone = frozenset(chart_uuids(position).values()) - charts.keys()
    # last: what has its id here is not mapped again
    return json.dumps(_by_uuid(remapped, charts, gone), ensure_ascii=False)


def layout_there(position: Mapping[str, Any], charts: Mapping[int, str]) -> dict[str, Any]:
    """Return a layout whose charts are known by their UUIDs, and by numbers that are the same in every store."""
    numbers = _numbers(charts)

    def node(value: Any) -> Any:
        key = chart_of(value)
        if key is None or key not in charts:
            return value
        return {**value, "meta": {**value["meta"], "chartId": numbers[key], "uuid": charts[key]}}

    return {name: node(value) for name, value in position.items()}


def metadata_there(
    metadata: Mapping[str, Any], charts: Mapping[int, str], datasets: Mapping[int, str]
) -> dict[str, Any]:
    """Return the metadata of a dashboard that go with `layout_there`; filters know datasets by their UUIDs."""
    remapped = remapped_metadata(json.dumps(_without_lists(dict(metadata))), _numbers(charts), keep_others=False)
    changed: dict[str, Any] = json.loads(remapped or "{}")
    for name in _SCOPED:
        if isinstance(changed.get(name), list):
            changed[name] = [_filter_there(item, datasets) for item in changed[name]]
    return changed


def _numbers(charts: Mapping[int, str]) -> dict[int, int]:
    return {key: number for number, (_, key) in enumerate(sorted((uuid, key) for key, uuid in charts.items()), start=1)}


def _filter_there(item: Any, datasets: Mapping[int, str]) -> Any:
    targets = list(_targets(item))
    if not targets:
        return item
    return {**item, "targets": [_target_there(target, datasets) for target in targets]}


def _target_there(target: Mapping[str, Any], datasets: Mapping[int, str]) -> dict[str, Any]:
    others = {name: value for name, value in target.items() if name not in ("datasetId", "datasetUuid")}
    uuid = datasets.get(key) if is_id(key := target.get("datasetId")) else None
    return others if uuid is None else {**others, "datasetUuid": uuid}


def dataset_targets(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what filters and customisations read of datasets, with the UUIDs of these."""
    items = (item for name in _SCOPED if isinstance(metadata.get(name), list) for item in metadata[name])
    yield from (found for item in items for found in _dataset_targets(item))


def _dataset_targets(item: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for target in _targets(item):
        if isinstance(uuid := target.get("datasetUuid"), str):
            yield uuid_text(uuid), target


def value_there(charts: Mapping[int, str], layers: Mapping[int, str]) -> NewValue:
    """Return what a record that a chart shows is called in a bundle: by its UUID, or a layer by its name."""

    def new_value(kind: str, value: Any, _place: str) -> Any:
        key = record_id_of(value) or 0
        if kind == CHART and key in charts:
            return {_UUID: charts[key]}
        return {_NAME: layers[key]} if kind == LAYER and key in layers else GONE

    return new_value


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartReferences:
    """What a chart of a bundle shows: UUIDs of charts, names of layers, and the places that tell neither."""

    charts: tuple[str, ...]
    layers: tuple[str, ...]
    untold: tuple[str, ...]


def references_of(content: Mapping[str, Any]) -> ChartReferences:
    """Return what the form and the query context of a chart show."""
    charts: dict[str, None] = {}
    layers: dict[str, None] = {}
    untold: dict[str, None] = {}

    def look(kind: str, value: Any, place: str) -> Any:
        named = value if isinstance(value, dict) else {}
        if kind == CHART and isinstance(named.get(_UUID), str):
            charts[uuid_text(named[_UUID])] = None
        elif kind == LAYER and isinstance(named.get(_NAME), str):
            layers[named[_NAME]] = None
        else:
            untold[place] = None
        return value

    context = content.get("query_context")
    is_plain = not isinstance(context, str) or not any(name in context for name in SHOWING)
    with_new_values([content.get("params"), {} if is_plain else json_object(context)], look)
    return ChartReferences(charts=tuple(charts), layers=tuple(layers), untold=tuple(untold))


def value_here(charts: Ids, layers: Ids) -> NewValue:
    """Return the ids here for what `value_there` tells; what nobody told is left out."""

    def new_value(kind: str, value: Any, _place: str) -> Any:
        named = value if isinstance(value, dict) else {}
        if kind == CHART:
            return charts.get(uuid_text(named.get(_UUID)), GONE)
        return layers.get(str(named.get(_NAME)), GONE) if kind == LAYER else GONE

    return new_value


def form_of(form: Mapping[str, Any], new_value: NewValue) -> dict[str, Any]:
    """Return the form of a chart without what its store knows itself, what it shows by other names."""
    changed: dict[str, Any] = with_new_values(
        {name: value for name, value in form.items() if name not in OF_ONE_STORE}, new_value
    )
    return changed


def context_of(text: str | None, new_value: NewValue, *, dataset_id: int) -> str | None:
    """Return a query context of one dataset under this id, with its form as `form_of` gives it.

    None for one that nobody can read.
    """
    try:
        context = json.loads(text) if isinstance(text, str) and text else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(context, dict) or not isinstance(context.get("datasource"), dict):
        return None
    changed = {**context, "datasource": {**context["datasource"], "id": dataset_id, "type": "table"}}
    if isinstance(form := context.get("form_data"), dict):
        own = {name: value for name, value in form.items() if name not in {*OF_ONE_STORE, "dashboardId"}}
        changed["form_data"] = {**own, "datasource": f"{dataset_id}__table"}
    return json.dumps(with_new_values(changed, new_value), ensure_ascii=False)


def _filter(item: Any, datasets: Ids) -> Any:
    targets = list(_targets(item))
    if not targets:
        return item
    return {**item, "targets": [_target(target, datasets) for target in targets]}


def _targets(item: Any) -> Iterator[dict[str, Any]]:
    targets = item.get("targets") if isinstance(item, dict) else None
    for target in targets if isinstance(targets, list) else ():
        if isinstance(target, dict):
            yield target


def _target(target: Mapping[str, Any], datasets: Ids) -> dict[str, Any]:
    uuid = target.get("datasetUuid")
    others = {name: value for name, value in target.items() if name not in ("datasetUuid", "datasetId")}
    return {**others, "datasetId": datasets[uuid_text(uuid)]} if isinstance(uuid, str) else others


def _without_lists(value: Any) -> Any:
    """Leave out `chartsInScope` wherever a scope stands beside it."""
    if isinstance(value, dict):
        has_scope = bool(value.get("scope"))
        return {k: _without_lists(v) for k, v in value.items() if not (has_scope and k == "chartsInScope")}
    return [_without_lists(item) for item in value] if isinstance(value, list) else value


def _by_uuid(value: Any, charts: Ids, gone: Collection[str]) -> Any:
    """Give what names a chart by its UUID its id here, as clients write ids: a text as a key, a number elsewhere.

    Keys and items that name a chart which is not here are left out.
    """
    if isinstance(value, dict):
        named = ((key, item) for key, item in value.items() if uuid_text(key) not in gone)
        return {str(_by_uuid(key, charts, gone)): _by_uuid(item, charts, gone) for key, item in named}
    if isinstance(value, list):
        remaining = (item for item in value if not isinstance(item, str) or uuid_text(item) not in gone)
        return [_by_uuid(item, charts, gone) for item in remaining]
    return charts.get(uuid_text(value), value) if isinstance(value, str) else value


def uuid_text(value: Any) -> str:
    """Return a UUID as stores write it; what is none stays as it is."""
    return uuid_in(value) or value if isinstance(value, str) else str(value)
