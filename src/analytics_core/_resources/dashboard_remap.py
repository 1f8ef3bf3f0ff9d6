"""Puts other charts, or none, in the places of a dashboard's charts in its layout and metadata; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from analytics_core._resources.json_text import json_object

NewIds = Mapping[int, int]

_LONGEST_ID = 10


def remapped_layout(text: str | None, new_ids: NewIds) -> str | None:
    """Return a layout with each chart replaced by the one that `new_ids` names for it."""
    if not text:
        return text
    layout = json_object(text)
    return json.dumps({name: _node(node, new_ids) for name, node in layout.items()}, ensure_ascii=False)


def remapped_metadata(text: str | None, new_ids: NewIds) -> str | None:
    """Return metadata whose scopes, filters and settings speak of the charts that `new_ids` names."""
    if not text:
        return text
    metadata = json_object(text)
    changes = {key: _KEYS[key](value, new_ids) for key, value in metadata.items() if key in _KEYS}
    return json.dumps({**metadata, **changes}, ensure_ascii=False)


def layout_without(text: str | None, chart_id: int) -> str | None:
    """Return a layout in which nothing places the chart any more; the same text where nothing did."""
    layout = json_object(text)
    gone = {name for name, node in layout.items() if _chart_of(node) == chart_id}
    if not gone:
        return text
    left = {name: _without_children(node, gone) for name, node in layout.items() if name not in gone}
    return json.dumps(left, ensure_ascii=False)


def _without_children(node: Any, gone: set[str]) -> Any:
    children = node.get("children") if isinstance(node, dict) else None
    if not isinstance(children, list):
        return node
    return {**node, "children": [child for child in children if child not in gone]}


def _chart_of(node: Any) -> Any:
    meta = node.get("meta") if isinstance(node, dict) else None
    return meta.get("chartId") if isinstance(meta, dict) else None


def _node(node: Any, new_ids: NewIds) -> Any:
    chart_id = _chart_of(node)
    if not isinstance(chart_id, int) or chart_id not in new_ids:
        return node
    kept = {name: value for name, value in node["meta"].items() if name != "uuid"}  # the uuid is the old chart's
    return {**node, "meta": {**kept, "chartId": new_ids[chart_id]}}


def _ids(value: Any, new_ids: NewIds) -> Any:
    return [_id(item, new_ids) for item in value] if isinstance(value, list) else value


def _id(value: Any, new_ids: NewIds) -> Any:
    """Return the new id in the same writing: a number, or the text of one."""
    if isinstance(value, str):
        old = int(value) if value.isascii() and value.isdecimal() and len(value) <= _LONGEST_ID else None
        return str(new_ids[old]) if old is not None and old in new_ids and str(old) == value else value
    return new_ids.get(value, value) if isinstance(value, int) and not isinstance(value, bool) else value


def _by_chart(value: Any, new_ids: NewIds) -> Any:
    return {_id(key, new_ids): item for key, item in value.items()} if isinstance(value, dict) else value


def _scoped(value: Any, new_ids: NewIds) -> Any:
    """Return something with a scope: `scope.excluded` and `chartsInScope` are ids."""
    if not isinstance(value, dict):
        return value
    changed = dict(value)
    if "chartsInScope" in changed:
        changed["chartsInScope"] = _ids(changed["chartsInScope"], new_ids)
    if isinstance(changed.get("scope"), dict) and "excluded" in changed["scope"]:
        changed["scope"] = {**changed["scope"], "excluded": _ids(changed["scope"]["excluded"], new_ids)}
    return changed


def _all_scoped(value: Any, new_ids: NewIds) -> Any:
    return [_scoped(item, new_ids) for item in value] if isinstance(value, list) else value


def _chart_configuration(value: Any, new_ids: NewIds) -> Any:
    def entry(item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        changes: dict[str, Any] = {"id": _id(item["id"], new_ids)} if "id" in item else {}
        if "crossFilters" in item:
            changes["crossFilters"] = _scoped(item["crossFilters"], new_ids)
        return {**item, **changes}

    by_chart = _by_chart(value, new_ids)
    return {key: entry(item) for key, item in by_chart.items()} if isinstance(by_chart, dict) else by_chart


def _filter_scopes(value: Any, new_ids: NewIds) -> Any:
    """Return the older filter boxes' scopes: by chart, then by column, with the charts that are immune."""

    def scope(item: Any) -> Any:
        return (
            {**item, "immune": _ids(item["immune"], new_ids)} if isinstance(item, dict) and "immune" in item else item
        )

    by_chart = _by_chart(value, new_ids)
    if not isinstance(by_chart, dict):
        return by_chart
    return {
        key: {name: scope(item) for name, item in columns.items()} if isinstance(columns, dict) else columns
        for key, columns in by_chart.items()
    }


def _default_filters(value: Any, new_ids: NewIds) -> Any:
    return json.dumps(_by_chart(json_object(value), new_ids), ensure_ascii=False) if isinstance(value, str) else value


_KEYS: Mapping[str, Callable[[Any, NewIds], Any]] = {
    "chart_configuration": _chart_configuration,
    "global_chart_configuration": _scoped,
    "native_filter_configuration": _all_scoped,
    "chart_customization_config": _all_scoped,
    "timed_refresh_immune_slices": _ids,
    "expanded_slices": _by_chart,
    "filter_scopes": _filter_scopes,
    "default_filters": _default_filters,
}
