"""Puts other charts, or none, in the places of a dashboard's charts in its layout and metadata; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from analytics_core._resources.batches import is_id
from analytics_core._resources.dashboards.content import chart_of
from analytics_core._resources.stored_json import json_object

NewIds = Mapping[int, int]
_NewId = Callable[[int], int | None]
"""The new id of a chart; None takes away what speaks of it."""

_GONE: Final = object()
_LONGEST_ID: Final = 10


def remapped_layout(text: str | None, new_ids: NewIds) -> str | None:
    """Return a layout with each chart replaced by the one that `new_ids` names for it."""
    if not text:
        return text
    layout = json_object(text)
    return json.dumps({name: _node(node, new_ids) for name, node in layout.items()}, ensure_ascii=False)


def remapped_metadata(text: str | None, new_ids: NewIds, *, keep_others: bool = True) -> str | None:
    """Return metadata whose scopes, filters and settings speak of the charts that `new_ids` names.

    Other charts stay as they are, or with `keep_others` False are mentioned no longer.
    """
    if not text:
        return text
    metadata = json_object(text)

    def new_id(old: int) -> int | None:
        return new_ids.get(old, old if keep_others else None)

    changes = {key: _KEYS[key](value, new_id) for key, value in metadata.items() if key in _KEYS}
    return json.dumps({**metadata, **changes}, ensure_ascii=False)


def _node(node: Any, new_ids: NewIds) -> Any:
    chart_id = chart_of(node)
    if chart_id is None or chart_id not in new_ids:
        return node
    kept = {name: value for name, value in node["meta"].items() if name != "uuid"}  # the uuid is the old chart's
    return {**node, "meta": {**kept, "chartId": new_ids[chart_id]}}


def _ids(value: Any, new_id: _NewId) -> Any:
    return [new for item in value if (new := _id(item, new_id)) is not _GONE] if isinstance(value, list) else value


def _id(value: Any, new_id: _NewId) -> Any:
    """Return the new id in the same writing: a number, or the text of one."""
    if isinstance(value, str):
        old = int(value) if value.isascii() and value.isdecimal() and len(value) <= _LONGEST_ID else None
        return value if old is None or str(old) != value else _written(new_id(old), str)
    return _written(new_id(value), int) if is_id(value) else value


def _written(new: int | None, kind: type[int] | type[str]) -> Any:
    return _GONE if new is None else kind(new)


def _by_chart(value: Any, new_id: _NewId) -> Any:
    if not isinstance(value, dict):
        return value
    return {new: item for key, item in value.items() if (new := _id(key, new_id)) is not _GONE}


def _scoped(value: Any, new_id: _NewId) -> Any:
    """Return something with a scope: `scope.excluded` and `chartsInScope` are ids."""
    if not isinstance(value, dict):
        return value
    changed = dict(value)
    if "chartsInScope" in changed:
        changed["chartsInScope"] = _ids(changed["chartsInScope"], new_id)
    if isinstance(changed.get("scope"), dict) and "excluded" in changed["scope"]:
        changed["scope"] = {**changed["scope"], "excluded": _ids(changed["scope"]["excluded"], new_id)}
    return changed


def _all_scoped(value: Any, new_id: _NewId) -> Any:
    return [_scoped(item, new_id) for item in value] if isinstance(value, list) else value


def _chart_configuration(value: Any, new_id: _NewId) -> Any:
    def entry(item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        changes: dict[str, Any] = {"id": _id(item["id"], new_id)} if "id" in item else {}
        if "crossFilters" in item:
            changes["crossFilters"] = _scoped(item["crossFilters"], new_id)
        return {name: value for name, value in {**item, **changes}.items() if value is not _GONE}

    by_chart = _by_chart(value, new_id)
    return {key: entry(item) for key, item in by_chart.items()} if isinstance(by_chart, dict) else by_chart


def _filter_scopes(value: Any, new_id: _NewId) -> Any:
    """Return the older filter boxes' scopes: by chart, then by column, with the charts that are immune."""

    def scope(item: Any) -> Any:
        return {**item, "immune": _ids(item["immune"], new_id)} if isinstance(item, dict) and "immune" in item else item

    by_chart = _by_chart(value, new_id)
    if not isinstance(by_chart, dict):
        return by_chart
    return {
        key: {name: scope(item) for name, item in columns.items()} if isinstance(columns, dict) else columns
        for key, columns in by_chart.items()
    }


def _default_filters(value: Any, new_id: _NewId) -> Any:
    return json.dumps(_by_chart(json_object(value), new_id), ensure_ascii=False) if isinstance(value, str) else value


_KEYS: Mapping[str, Callable[[Any, _NewId], Any]] = {
    "chart_configuration": _chart_configuration,
    "global_chart_configuration": _scoped,
    "native_filter_configuration": _all_scoped,
    "chart_customization_config": _all_scoped,
    "timed_refresh_immune_slices": _ids,
    "expanded_slices": _by_chart,
    "filter_scopes": _filter_scopes,
    "default_filters": _default_filters,
}
