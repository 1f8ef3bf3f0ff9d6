"""What the texts of a chart name: walks their objects, and gives annotation layers other records to show; pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from analytics_core._resources.batches import is_id

ANNOTATION_LAYER: Final = "annotation layer"
CHART: Final = "chart"
_SHOWN: Final = {"NATIVE": ANNOTATION_LAYER, "line": CHART, "table": CHART}
"""The kind of record that a layer shows, by the type of its source."""

_LONGEST_DIGITS: Final = 20
NewId = Callable[[str, int], int | None]
"""The new id of a record of a kind; None where it keeps its own."""


def with_objects_changed(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a JSON value with each of its objects changed, inner ones first."""
    if isinstance(value, list):
        return [with_objects_changed(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return change({name: with_objects_changed(item, change) for name, item in value.items()})


def with_layers_moved(content: dict[str, Any], new_id: NewId) -> dict[str, Any]:
    """Return an object whose annotation layers, if it has some, show the records of the new ids."""
    layers = content.get("annotation_layers")
    if not isinstance(layers, list):
        return content
    return {**content, "annotation_layers": [_moved(layer, new_id) for layer in layers]}


def _moved(layer: Any, new_id: NewId) -> Any:
    old = _source_id(layer.get("value")) if isinstance(layer, dict) else None
    if old is None:
        return layer
    source = layer.get("sourceType", layer.get("source_type"))
    kind = _SHOWN.get(source) if isinstance(source, str) else None
    new = new_id(kind, old) if kind is not None else None
    if new is None:
        return layer
    return {**layer, "value": str(new) if isinstance(layer["value"], str) else new}


def _source_id(value: Any) -> int | None:
    """Return the id in the value of a layer; clients write it as a number or as digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _LONGEST_DIGITS:
        return int(value)
    return value if is_id(value) else None
