"""Makes the texts of a copied chart speak of the copy, and of the other charts that were copied with it; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from analytics_core._records.chart import Chart
from analytics_core._resources.json_text import json_object

NewIds = Mapping[int, int]
_OF_THE_SOURCE: Final = frozenset({"dashboards", "dashboardId"})
_CHART_LAYERS: Final = frozenset({"line", "table"})


def with_texts_of_its_own(copy: Chart, new_ids: NewIds) -> Chart:
    """Return the copy with parameters and query context that name it instead of its original; `new_ids` are all copies.

    Guests ask a stored query context, and a chart is found by the `slice_id` of its form data.
    """
    return replace(
        copy,
        params=_remapped(copy.params, copy.id, new_ids),
        query_context=_remapped(copy.query_context, copy.id, new_ids),
    )


def _remapped(text: str | None, chart_id: int, new_ids: NewIds) -> str | None:
    """Return a JSON text that speaks of the copies; the same text where it speaks of no chart."""
    before = json_object(text)
    after = _form_data(before, chart_id)
    if isinstance(after.get("form_data"), dict):
        after["form_data"] = _form_data(after["form_data"], chart_id)
    after = _with_layers(after, new_ids)
    return text if after == before else json.dumps(after, ensure_ascii=False)


def _form_data(content: Mapping[str, Any], chart_id: int) -> dict[str, Any]:
    kept = {name: value for name, value in content.items() if name not in _OF_THE_SOURCE}
    return {**kept, "slice_id": chart_id} if "slice_id" in kept else kept


def _with_layers(value: Any, new_ids: NewIds) -> Any:
    if isinstance(value, list):
        return [_with_layers(item, new_ids) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {name: _with_layers(item, new_ids) for name, item in value.items()}
    if isinstance(changed.get("annotation_layers"), list):
        changed["annotation_layers"] = [_layer(item, new_ids) for item in changed["annotation_layers"]]
    return changed


def _layer(layer: Any, new_ids: NewIds) -> Any:
    if not isinstance(layer, dict) or layer.get("sourceType") not in _CHART_LAYERS:
        return layer
    new = next((new for old, new in new_ids.items() if str(old) == str(layer.get("value"))), None)
    if new is None:
        return layer
    return {**layer, "value": str(new) if isinstance(layer["value"], str) else new}
