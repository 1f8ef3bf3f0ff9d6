"""The stored charts and annotation layers that charts show, in the texts of the charts; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from analytics_core._content.batches import is_id
from analytics_core._content.stored_json import json_object
from analytics_core._records.chart import Chart

Ids = Mapping[int, int]
"""For the id of a record, that of its copy."""

CHART: Final = "chart"
LAYER: Final = "annotation layer"
GONE: Final = object()
"""In place of a value: what shows it is left out."""

NewValue = Callable[[str, Any, str], Any]
"""What a value that names a record becomes, by the kind (`CHART`, `LAYER`, "" for none), the value, and its place."""

_LAYER_KINDS: Final = {"NATIVE": LAYER, "line": CHART, "table": CHART}
"""The kind of record that a layer shows, by the type of its source."""

_LAYERS: Final = "annotation_layers"
_MAPS: Final = "deck_slices"
SHOWING: Final = (_LAYERS, _MAPS)
"""The fields that say what a chart shows beside its own data."""

_OF_DASHBOARDS: Final = frozenset({"dashboards", "dashboardId"})
"""What form data says of the dashboards that the chart was saved on."""

_LONGEST_DIGITS: Final = 20


def with_new_values(value: Any, new_value: NewValue) -> Any:
    """Return a JSON value whose annotation layers and map layers, at any depth, name other records."""
    if isinstance(value, list):
        return [with_new_values(item, new_value) for item in value]
    if not isinstance(value, dict):
        return value
    content = {name: with_new_values(item, new_value) for name, item in value.items()}
    if isinstance(content.get(_LAYERS), list):
        layers = (_layer(layer, new_value) for layer in content[_LAYERS])
        content[_LAYERS] = [layer for layer in layers if layer is not GONE]
    if isinstance(content.get(_MAPS), list) and content[_MAPS]:
        maps = (new_value(CHART, item, _MAPS) for item in content.pop(_MAPS))
        if remaining := [item for item in maps if item is not GONE]:
            content[_MAPS] = remaining
    return content


def _layer(layer: Any, new_value: NewValue) -> Any:
    if not isinstance(layer, dict) or layer.get("annotationType", layer.get("annotation_type")) == "FORMULA":
        return layer
    source = layer.get("sourceType", layer.get("source_type"))
    kind = _LAYER_KINDS.get(source, "") if isinstance(source, str) else ""
    value = new_value(kind, layer.get("value"), f"annotation layer {str(layer.get('name'))!r}")
    return GONE if value is GONE else {**layer, "value": value}


def record_id_of(value: Any) -> int | None:
    """Return the id in what names a record; clients write it as a number or as digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _LONGEST_DIGITS:
        return int(value)
    return value if is_id(value) else None


def with_texts_of_its_own(copy: Chart, new_ids: Ids) -> Chart:
    """Return the copy with parameters and query context that name it instead of its original; `new_ids` are all copies.

    Guests ask a stored query context, and a chart is found by the `slice_id` of its form data.
    """
    return replace(
        copy,
        params=_remapped(copy.params, copy.id, new_ids),
        query_context=_remapped(copy.query_context, copy.id, new_ids),
    )


def _remapped(text: str | None, chart_id: int, new_ids: Ids) -> str | None:
    """Return a JSON text that speaks of the copies; the same text where it speaks of no chart."""

    def of_copies(kind: str, value: Any, _place: str) -> Any:
        new = new_ids.get(record_id_of(value) or 0) if kind == CHART else None
        return value if new is None else type(value)(new)

    before = json_object(text)
    after = _form_data(before, chart_id)
    if isinstance(after.get("form_data"), dict):
        after["form_data"] = _form_data(after["form_data"], chart_id)
    after = with_new_values(after, of_copies)
    return text if after == before else json.dumps(after, ensure_ascii=False)


def _form_data(content: Mapping[str, Any], chart_id: int) -> dict[str, Any]:
    """Return form data that name this chart where they named one, and no dashboards."""
    remaining = {name: value for name, value in content.items() if name not in _OF_DASHBOARDS}
    return {**remaining, "slice_id": chart_id} if "slice_id" in remaining else remaining
