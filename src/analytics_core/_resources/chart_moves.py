"""Writes a chart down for another store, where its dataset has another id; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from analytics_core._records.chart import Chart
from analytics_core._resources.chart_texts import CHART, with_layers_moved, with_objects_changed
from analytics_core._resources.ids_elsewhere import Ids, checked_ids, refuse_repeated_keys
from analytics_core._resources.stored_json import json_object
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.chart import ChartPut

_SHAPE: Final = "charts.payload_elsewhere"
_REWRITTEN: Final = frozenset({"datasource_id", "datasource_type", "params", "query_context"})
_LEFT_OUT: Final = frozenset({"datasource_name", "query_context_generation", "external_url", "is_managed_externally"})
"""What the other store knows itself, and what says how the record came to be here."""

_COPIED: Final = tuple(
    field.name
    for field in fields(Chart)
    if field.name in ChartPut.model_fields and field.name not in _REWRITTEN | _LEFT_OUT
)
_OF_ITS_STORE: Final = frozenset({"slice_id", "dashboards", "dashboardId"})
"""What form data says of the chart that it was saved as."""

_LONGEST_ID: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsElsewhere:
    """For the id of each dataset, chart and annotation layer here, the id in the other store."""

    dataset_ids: Ids
    chart_ids: Ids
    annotation_layer_ids: Ids


def ids_elsewhere(*, dataset_ids: Any, chart_ids: Any, annotation_layer_ids: Any) -> IdsElsewhere:
    """Return the ids that a caller gives, checked; PayloadSchemaError when they are no mappings of ids."""
    return IdsElsewhere(
        dataset_ids=checked_ids(dataset_ids, path="dataset_ids", shape=_SHAPE),
        chart_ids=checked_ids(chart_ids, path="chart_ids", shape=_SHAPE),
        annotation_layer_ids=checked_ids(annotation_layer_ids, path="annotation_layer_ids", shape=_SHAPE),
    )


def chart_payload_elsewhere(chart: Chart, ids: IdsElsewhere) -> dict[str, Any]:
    """Return what makes this chart in a store where what it names has these ids.

    Raises:
        PayloadSchemaError: its dataset, or a record that an annotation layer of it shows, has no id there; or a text
            of it names a key twice, which no store takes any more.
    """
    refuse_repeated_keys(_SHAPE, params=chart.params, query_context=chart.query_context)
    source = chart.datasource_id
    return {
        **{name: getattr(chart, name) for name in _COPIED},
        "datasource_id": None if source is None else _new_id(source, ids.dataset_ids, "dataset_ids", "dataset"),
        "datasource_type": chart.datasource_type,
        "params": _rewritten_text(chart.params, ids),
        "query_context": _rewritten_text(chart.query_context, ids),
    }


def _rewritten_text(text: str | None, ids: IdsElsewhere) -> str | None:
    """Return a JSON text that speaks of the records there; one that holds no object stays as it is."""
    content = json_object(text)
    if not content:
        return text
    content = _without_its_store(content)
    if isinstance(content.get("form_data"), dict):
        content["form_data"] = _without_its_store(content["form_data"])
    moved = with_objects_changed(content, lambda part: _rewritten(part, ids))
    return json.dumps(moved, ensure_ascii=False)


def _without_its_store(form_data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in form_data.items() if name not in _OF_ITS_STORE}


def _rewritten(content: dict[str, Any], ids: IdsElsewhere) -> dict[str, Any]:
    """Return an object with its dataset and its annotation layers there."""
    if "datasource" in content:
        content = {**content, "datasource": _datasource(content["datasource"], ids)}
    return with_layers_moved(content, lambda kind, old: _new_source(kind, old, ids))


def _new_source(kind: str, old: int, ids: IdsElsewhere) -> int:
    if kind == CHART:
        return _new_id(old, ids.chart_ids, "chart_ids", kind)
    return _new_id(old, ids.annotation_layer_ids, "annotation_layer_ids", kind)


def _datasource(value: Any, ids: IdsElsewhere) -> Any:
    """Return `{id, type}` or the text `id__type` with the dataset's id there."""
    if isinstance(value, dict) and isinstance(value.get("id"), int):
        return {**value, "id": _new_id(value["id"], ids.dataset_ids, "dataset_ids", "dataset")}
    number, separator, kind = value.partition("__") if isinstance(value, str) else ("", "", "")
    if not separator or not number.isdecimal() or len(number) > _LONGEST_ID:
        return value
    return f"{_new_id(int(number), ids.dataset_ids, 'dataset_ids', 'dataset')}__{kind}"


def _new_id(old: int, known: Ids, path: str, noun: str) -> int:
    if old not in known:
        problem = Problem(path=path, message=f"has no id for {noun} {old}, which the chart uses")
        raise PayloadSchemaError(shape=_SHAPE, problems=[problem])
    return known[old]
