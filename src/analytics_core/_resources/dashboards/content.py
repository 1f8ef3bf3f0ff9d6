"""The two JSON texts of a dashboard, layout and metadata: read, and checked before they are stored; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from analytics_core._resources.batches import is_id
from analytics_core._resources.stored_json import json_object
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.parsing import check_text
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once

VERSION_KEY: Final = "DASHBOARD_VERSION_KEY"
FILTERS_KEY: Final = "native_filter_configuration"
_POSITIONS: Final = "positions"
_CHARTS_KEY: Final = "chart_configuration"
_GLOBAL_KEY: Final = "global_chart_configuration"
_GLOBAL_SCOPE: Final = "global"


def checked_content(given: Mapping[str, Any], *, shape: str) -> dict[str, Any]:
    """Return the fields of the record that the texts of a payload decide.

    A layout, be it `position_json` or the key `positions` of the metadata, decides which charts the dashboard has.

    Raises:
        PayloadSchemaError: a text is no JSON object, or a part that the library knows is of another kind.
        PayloadFormatError: text inside the JSON that no store can take, or nesting beyond reason.
    """
    fields: dict[str, Any] = {}
    layout = metadata = None
    if "position_json" in given:
        fields["position_json"] = given["position_json"] or None
        layout = _read(given["position_json"], field="position_json", shape=shape)
    if "json_metadata" in given:
        fields["json_metadata"] = given["json_metadata"] or None
        metadata = _read(given["json_metadata"], field="json_metadata", shape=shape)
    _reject([*metadata_problems(metadata or {}), *layout_problems(layout or {}, field="position_json")], shape=shape)
    if metadata is not None and _POSITIONS in metadata:
        layout = _only_layout(layout, metadata.pop(_POSITIONS), shape=shape)
        fields["json_metadata"] = json.dumps(metadata, ensure_ascii=False)
        if layout is not None:
            fields["position_json"] = json.dumps(layout, ensure_ascii=False)
    return fields if layout is None else {**fields, "chart_ids": charts_in(layout)}


def charts_in(layout: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the ids of the charts that a layout places, each once."""
    found = (chart_of(node) for node in layout.values())
    return tuple(dict.fromkeys(chart_id for chart_id in found if chart_id is not None))


def without_places_of_others(text: str | None, chart_ids: Collection[int]) -> str | None:
    """Return a layout without the places of charts that are none of these; the same text where there are none."""
    return _without_places(text, lambda chart_id: chart_id not in chart_ids)


def layout_without(text: str | None, chart_id: int) -> str | None:
    """Return a layout in which nothing places the chart any more; the same text where nothing did."""
    return _without_places(text, lambda placed: placed == chart_id)


def _without_places(text: str | None, is_gone: Callable[[int], bool]) -> str | None:
    layout = json_object(text)
    placed = {name: chart_id for name, node in layout.items() if (chart_id := chart_of(node)) is not None}
    gone = {name for name, chart_id in placed.items() if is_gone(chart_id)}
    if not gone:
        return text
    left = {name: _without_children(node, gone) for name, node in layout.items() if name not in gone}
    return json.dumps(left, ensure_ascii=False)


def _without_children(node: Any, gone: Collection[str]) -> Any:
    children = node.get("children") if isinstance(node, dict) else None
    if not isinstance(children, list):
        return node
    return {**node, "children": [child for child in children if child not in gone]}


def chart_of(node: Any) -> int | None:
    """Return the id of the chart that a node of a layout places."""
    meta = node.get("meta") if isinstance(node, dict) else None
    chart_id = meta.get("chartId") if isinstance(meta, dict) else None
    return chart_id if is_id(chart_id) else None


def layout_problems(layout: Mapping[str, Any], *, field: str) -> list[Problem]:
    """Return what is wrong with the nodes of a layout."""
    return [
        Problem(path=f"{field}.{name}{place}", message=message)
        for name, node in layout.items()
        if name != VERSION_KEY
        for place, message in _node_problems(node)
    ]


def metadata_problems(metadata: Mapping[str, Any]) -> list[Problem]:
    """Return what is wrong with the keys of the metadata that the library knows; it keeps the others as they are."""
    problems = [
        Problem(path=f"json_metadata.{key}", message=f"must be {wanted}")
        for key, (fits, wanted) in _KNOWN_KEYS.items()
        if metadata.get(key) is not None and not fits(metadata[key])
    ]
    if problems:
        return problems
    problems += layout_problems(metadata.get(_POSITIONS) or {}, field=f"json_metadata.{_POSITIONS}")
    problems += filter_problems(metadata.get(FILTERS_KEY) or (), path=f"json_metadata.{FILTERS_KEY}")
    problems += cross_filter_problems(metadata.get(_CHARTS_KEY) or {}, path=f"json_metadata.{_CHARTS_KEY}")
    return [*problems, *scope_problems(metadata.get(_GLOBAL_KEY) or {}, path=f"json_metadata.{_GLOBAL_KEY}")]


def filter_problems(filters: Sequence[Mapping[str, Any]], *, path: str) -> list[Problem]:
    """Return what is wrong with a dashboard's filters: ids are numbers or texts, each once; scopes name charts."""
    problems, seen = [], set()
    for position, item in enumerate(filters):
        key = filter_key(item.get("id"))
        if key is None:
            problems.append(Problem(path=f"{path}.{position}.id", message="must be an integer or a text"))
        elif key in seen:
            problems.append(Problem(path=f"{path}.{position}.id", message=f"the id {key!r} is given twice"))
        seen.add(key)
        problems += filter_part_problems(item, path=f"{path}.{position}")
    return problems


def filter_key(filter_id: Any) -> str | None:
    """Return the id of a filter as one kind of key, since clients write numbers as texts too; None for no id."""
    return str(filter_id) if is_id(filter_id) or (isinstance(filter_id, str) and filter_id) else None


def _read(text: str | None, *, field: str, shape: str) -> dict[str, Any] | None:
    """Return the object that a text holds, checked for what no store can take; None for no text."""
    if not text:
        return None
    try:
        content = read_json_once(text, parse_constant=_reject_constant)
    except RepeatedKeyError as error:
        raise PayloadSchemaError(shape=shape, problems=[Problem(path=field, message=str(error))]) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise PayloadSchemaError(
            shape=shape, problems=[Problem(path=field, message="must be the text of a JSON object")]
        )
    check_text(content, shape=f"{shape}: {field}")
    return content


def _only_layout(layout: dict[str, Any] | None, positions: Any, *, shape: str) -> dict[str, Any] | None:
    if positions is None:
        return layout
    if layout is not None and layout != positions:
        problem = Problem(path="json_metadata.positions", message="differs from position_json; give one of them")
        raise PayloadSchemaError(shape=shape, problems=[problem])
    return dict(positions)


def _reject(problems: Sequence[Problem], *, shape: str) -> None:
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _node_problems(node: Any) -> list[tuple[str, str]]:
    if not isinstance(node, dict):
        return [("", "must be an object")]
    problems = []
    if node.get("children") is not None and not _are(node["children"], _is_text):
        problems.append((".children", "must be an array of texts"))
    if node.get("meta") is not None and not isinstance(node["meta"], dict):
        return [*problems, (".meta", "must be an object")]
    chart_id = (node.get("meta") or {}).get("chartId")
    if not is_id(chart_id) and (chart_id is not None or node.get("type") == "CHART"):
        problems.append((".meta.chartId", "must be the id of a chart"))
    return problems


def filter_part_problems(item: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the scope and the targets of one filter; what is absent or null is not wrong."""
    yield from scope_problems(item, path=path)
    targets = item.get("targets")
    if targets is not None and not _are(targets, _is_object):
        yield Problem(path=f"{path}.targets", message="must be an array of objects")
        return
    for position, target in enumerate(targets or ()):
        place = f"{path}.targets.{position}"
        if not _is_absent_or(target.get("datasetId"), is_id):
            yield Problem(path=f"{place}.datasetId", message="must be the id of a dataset")
        if not _is_absent_or(target.get("column"), _is_object):
            yield Problem(path=f"{place}.column", message="must be an object with the name of a column")


def cross_filter_problems(configuration: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the scopes in which charts filter each other."""
    for key, entry in configuration.items():
        filters = entry.get("crossFilters") if isinstance(entry, Mapping) else entry
        if filters is not None and not _is_object(filters):
            inner = ".crossFilters" if isinstance(entry, Mapping) else ""
            yield Problem(path=f"{path}.{key}{inner}", message="must be an object")
        elif filters:
            yield from scope_problems(filters, path=f"{path}.{key}.crossFilters")


def scope_problems(item: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with `scope` and `chartsInScope` of something that reaches charts."""
    if not _is_absent_or(item.get("chartsInScope"), _are_ids):
        yield Problem(path=f"{path}.chartsInScope", message="must be an array of ids of charts")
    scope = item.get("scope")
    if scope is None or scope == _GLOBAL_SCOPE:
        return
    if not _is_object(scope):
        yield Problem(path=f"{path}.scope", message="must be an object")
        return
    if not _is_absent_or(scope.get("excluded"), _are_ids):
        yield Problem(path=f"{path}.scope.excluded", message="must be an array of ids of charts")
    if not _is_absent_or(scope.get("rootPath"), lambda value: _are(value, _is_text)):
        yield Problem(path=f"{path}.scope.rootPath", message="must be an array of texts")


def _is_absent_or(value: Any, fits: Callable[[Any], bool]) -> bool:
    return value is None or fits(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _are(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_ids(value: Any) -> bool:
    return _are(value, is_id)


_OBJECT = (_is_object, "an object")
_OBJECTS = (lambda value: _are(value, _is_object), "an array of objects")
_OBJECT_OR_ARRAY = (lambda value: isinstance(value, dict | list), "an object or an array")
_INTEGER = (is_id, "an integer")
_IDS = (_are_ids, "an array of ids of charts")
_TEXT = (_is_text, "a text")
_TEXTS = (lambda value: _are(value, _is_text), "an array of texts")
_TRUTH = (lambda value: isinstance(value, bool), "true or false")

_KNOWN_KEYS: Final[Mapping[str, tuple[Callable[[Any], bool], str]]] = {
    _POSITIONS: _OBJECT,
    FILTERS_KEY: _OBJECTS,
    "chart_customization_config": _OBJECTS,
    _CHARTS_KEY: _OBJECT,
    _GLOBAL_KEY: _OBJECT,
    "filter_scopes": _OBJECT,
    "expanded_slices": _OBJECT,
    "timed_refresh_immune_slices": _IDS,
    "default_filters": _TEXT,
    "refresh_frequency": _INTEGER,
    "stagger_refresh": _TRUTH,
    "stagger_time": _INTEGER,
    "color_scheme": _TEXT,
    "color_namespace": _TEXT,
    "color_scheme_domain": _TEXTS,
    "label_colors": _OBJECT,
    "map_label_colors": _OBJECT,
    "shared_label_colors": _OBJECT_OR_ARRAY,
    "cross_filters_enabled": _TRUTH,
    "show_native_filters": _TRUTH,
    "filter_bar_orientation": _TEXT,
    "import_time": _INTEGER,
    "remote_id": _INTEGER,
}
