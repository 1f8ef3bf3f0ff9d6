"""Charts written down for another store, and texts of copied charts: both speak of records by other ids; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from analytics_core._records.chart import Chart
from analytics_core._resources.batches import is_id, is_stored_id
from analytics_core._resources.stored_json import json_object
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.chart import ChartPut
from analytics_core.models.parsing import payload_error
from analytics_core.models.strict_json import repeated_key

Ids = Mapping[int, int]
"""For the id of a record here, the id in the other store, or that of its copy."""

_Change = Callable[[dict[str, Any]], dict[str, Any]]
_SHAPE: Final = "charts.export_payload"
_REWRITTEN: Final = frozenset({"datasource_id", "datasource_type", "params", "query_context"})
_LEFT_OUT: Final = frozenset({"datasource_name", "query_context_generation", "external_url", "is_managed_externally"})
"""What the other store knows itself, and what says how the record came to be here."""

_COPIED: Final = tuple(
    field.name
    for field in fields(Chart)
    if field.name in ChartPut.model_fields and field.name not in _REWRITTEN | _LEFT_OUT
)
_OF_DASHBOARDS: Final = frozenset({"dashboards", "dashboardId"})
"""What form data says of the dashboards that the chart was saved on."""

_LONGEST_ID: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportIds:
    """For the id of each dataset, chart and annotation layer here, the id in the other store."""

    dataset_ids: Ids
    chart_ids: Ids
    annotation_layer_ids: Ids


def export_ids(**given: Any) -> ExportIds:
    """Return the ids that a caller gives, checked; PayloadSchemaError when they are no mappings of ids."""
    return ExportIds(**{path: checked_ids(ids, path=path, shape=_SHAPE) for path, ids in given.items()})


def chart_export_payload(chart: Chart, ids: ExportIds) -> dict[str, Any]:
    """Return what makes this chart in a store where what it names has these ids.

    Raises:
        PayloadSchemaError: its dataset, or a record that an annotation layer of it shows, has no id there; or a text
            of it names a key twice, which no store takes any more.
    """
    reject_repeated_keys(_SHAPE, params=chart.params, query_context=chart.query_context)
    source = chart.datasource_id
    return {
        **{name: getattr(chart, name) for name in _COPIED},
        "datasource_id": None if source is None else _new_id(source, ids.dataset_ids, "dataset_ids", "dataset"),
        "datasource_type": chart.datasource_type,
        "params": _rewritten_text(chart.params, ids),
        "query_context": _rewritten_text(chart.query_context, ids),
    }


def _rewritten_text(text: str | None, ids: ExportIds) -> str | None:
    """Return a JSON text that speaks of the records there; one that holds no object stays as it is."""
    return _changed_text(text, lambda form: _form_data(form, None), lambda part: _rewritten(part, ids))


def _changed_text(text: str | None, of_form: _Change, of_object: _Change) -> str | None:
    """Return a JSON text with its form data changed, be they the whole or a part of it, and each object in it."""
    before = json_object(text)
    after = of_form(before)
    if isinstance(after.get("form_data"), dict):
        after["form_data"] = of_form(after["form_data"])
    after = _with_objects_changed(after, of_object)
    return text if after == before else json.dumps(after, ensure_ascii=False)


def _form_data(content: Mapping[str, Any], chart_id: int | None) -> dict[str, Any]:
    """Return form data that name this chart where they named one, and no dashboards; None: no chart either."""
    left_out = _OF_DASHBOARDS if chart_id is not None else _OF_DASHBOARDS | {"slice_id"}
    left = {name: value for name, value in content.items() if name not in left_out}
    return {**left, "slice_id": chart_id} if "slice_id" in left else left


def _rewritten(content: dict[str, Any], ids: ExportIds) -> dict[str, Any]:
    """Return an object with its dataset and its annotation layers there."""
    if "datasource" in content:
        content = {**content, "datasource": _datasource(content["datasource"], ids)}
    return _with_new_sources(content, lambda kind, old: _new_source(kind, old, ids))


def _new_source(kind: str, old: int, ids: ExportIds) -> int:
    if kind == _CHART:
        return _new_id(old, ids.chart_ids, "chart_ids", kind)
    return _new_id(old, ids.annotation_layer_ids, "annotation_layer_ids", kind)


def _datasource(value: Any, ids: ExportIds) -> Any:
    """Return `{id, type}` or the text `id__type` with the dataset's id there."""
    if isinstance(value, dict) and is_id(value.get("id")):
        return {**value, "id": _new_id(value["id"], ids.dataset_ids, "dataset_ids", "dataset")}
    number, separator, kind = value.partition("__") if isinstance(value, str) else ("", "", "")
    if not separator or not number.isdecimal() or len(number) > _LONGEST_ID:
        return value
    return f"{_new_id(int(number), ids.dataset_ids, 'dataset_ids', 'dataset')}__{kind}"


def _new_id(old: int, known: Ids, path: str, noun: str) -> int:
    if old not in known:
        raise payload_error(_SHAPE, path, f"has no id for {noun} {old}, which the chart uses")
    return known[old]


_CHART: Final = "chart"
_SHOWN: Final = {"NATIVE": "annotation layer", "line": _CHART, "table": _CHART}
"""The kind of record that a layer shows, by the type of its source."""

_LONGEST_DIGITS: Final = 20
_NewId = Callable[[str, int], int | None]
"""The new id of a record of a kind; None where it keeps its own."""


def _with_objects_changed(value: Any, change: _Change) -> Any:
    """Return a JSON value with each of its objects changed, inner ones first."""
    if isinstance(value, list):
        return [_with_objects_changed(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return change({name: _with_objects_changed(item, change) for name, item in value.items()})


def _with_new_sources(content: dict[str, Any], new_id: _NewId) -> dict[str, Any]:
    """Return an object whose annotation layers, if it has some, show the records of the new ids."""
    layers = content.get("annotation_layers")
    if not isinstance(layers, list):
        return content
    return {**content, "annotation_layers": [_with_new_source(layer, new_id) for layer in layers]}


def _with_new_source(layer: Any, new_id: _NewId) -> Any:
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

    def of_copies(part: dict[str, Any]) -> dict[str, Any]:
        return _with_new_sources(part, lambda kind, old: new_ids.get(old) if kind == _CHART else None)

    return _changed_text(text, lambda form: _form_data(form, chart_id), of_copies)


def reject_repeated_keys(shape: str, **texts: str | None) -> None:
    """Raise PayloadSchemaError for stored JSON that names a key twice: what would move is not what was written."""
    found = ((field, repeated_key(text)) for field, text in texts.items())
    problems = [Problem(path=field, message=str(error)) for field, error in found if error is not None]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def checked_ids(given: Any, *, path: str, shape: str) -> Ids:
    """Return a mapping of ids to ids; None is an empty one.

    Raises:
        PayloadSchemaError: it is anything else, for example read from JSON, where keys are texts.
    """
    if given is None:
        return {}
    ids = dict(given) if isinstance(given, Mapping) else None
    if ids is None or not all(map(is_stored_id, (*ids, *ids.values()))):
        raise payload_error(shape, path, "must map ids here to ids there, such as {1: 7}; both are integers")
    return ids
