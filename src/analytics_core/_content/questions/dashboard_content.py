"""The two JSON texts of a dashboard, layout and metadata: read, and checked before they are stored; pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeGuard

from analytics_core._content.batches import is_id
from analytics_core._content.stored_json import json_object
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.parsing import check_text, payload_error
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
    problems = [*metadata_problems(metadata or {}), *layout_problems(layout or {}, field="position_json")]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
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
    return json.dumps(without_nodes(layout, gone), ensure_ascii=False) if gone else text


def without_nodes(layout: Mapping[str, Any], gone: Collection[str]) -> dict[str, Any]:
    """Return a layout without some of its nodes, which are nobody's children any more."""
    return {name: _without_children(node, gone) for name, node in layout.items() if name not in gone}


def _without_children(node: Any, gone: Collection[str]) -> Any:
    children = node.get("children") if isinstance(node, dict) else None
    if not isinstance(children, list):
        return node
    return {**node, "children": [child for child in children if not isinstance(child, str) or child not in gone]}


def chart_of(node: Any) -> int | None:
    """Return the id of the chart that a node of a layout places."""
    meta = node.get("meta") if isinstance(node, dict) else None
    chart_id = meta.get("chartId") if isinstance(meta, dict) else None
    return chart_id if is_id(chart_id) else None


def layout_problems(layout: Mapping[str, Any], *, field: str) -> list[Problem]:
    """Return what is wrong with the nodes of a layout."""
    nodes = ((name, node) for name, node in layout.items() if name != VERSION_KEY)
    return [problem for name, node in nodes for problem in _node_problems(node, path=f"{field}.{name}")]


def metadata_problems(metadata: Mapping[str, Any]) -> list[Problem]:
    """Return what is wrong with the keys of the metadata that the library knows; it keeps the others as they are."""
    problems = list(_misfits(metadata, _KNOWN_KEYS, path="json_metadata"))
    if problems:
        return problems
    problems += layout_problems(metadata.get(_POSITIONS) or {}, field=f"json_metadata.{_POSITIONS}")
    problems += filter_problems(metadata.get(FILTERS_KEY) or (), path=f"json_metadata.{FILTERS_KEY}")
    problems += _cross_filter_problems(metadata.get(_CHARTS_KEY) or {}, path=f"json_metadata.{_CHARTS_KEY}")
    return [*problems, *_scope_problems(metadata.get(_GLOBAL_KEY) or {}, path=f"json_metadata.{_GLOBAL_KEY}")]


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
        problems += _filter_part_problems(item, path=f"{path}.{position}")
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
        raise payload_error(shape, field, str(error)) from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise payload_error(shape, field, "must be the text of a JSON object")
    check_text(content, shape=f"{shape}: {field}")
    return content


def _only_layout(layout: dict[str, Any] | None, positions: Any, *, shape: str) -> dict[str, Any] | None:
    if positions is None:
        return layout
    if layout is not None and layout != positions:
        raise payload_error(shape, "json_metadata.positions", "differs from position_json; give one of them")
    return dict(positions)


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _misfits(item: Mapping[str, Any], kinds: Kinds, *, path: str) -> Iterator[Problem]:
    """Yield the keys of an object whose values are of another kind; what is absent or null is not wrong."""
    for name, (fits, wanted) in kinds.items():
        if item.get(name) is not None and not fits(item[name]):
            yield Problem(path=f"{path}.{name}", message=f"must be {wanted}")


def _node_problems(node: Any, *, path: str) -> Iterator[Problem]:
    if not _is_object(node):
        yield Problem(path=path, message="must be an object")
        return
    yield from _misfits(node, {"children": _TEXTS, "meta": _OBJECT}, path=path)
    meta = node.get("meta")
    chart_id = meta.get("chartId") if isinstance(meta, dict) else None
    is_needed = node.get("type") == "CHART" and (meta is None or _is_object(meta))
    if not is_id(chart_id) and (chart_id is not None or is_needed):
        yield Problem(path=f"{path}.meta.chartId", message="must be the id of a chart")


def _filter_part_problems(item: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the scope and the targets of one filter."""
    yield from _scope_problems(item, path=path)
    misfit = tuple(_misfits(item, {"targets": _OBJECTS}, path=path))
    yield from misfit
    for position, target in enumerate(() if misfit else item.get("targets") or ()):
        yield from _misfits(target, _OF_TARGETS, path=f"{path}.targets.{position}")


def _cross_filter_problems(configuration: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with the scopes in which charts filter each other."""
    for key, entry in configuration.items():
        if entry is not None and not _is_object(entry):
            yield Problem(path=f"{path}.{key}", message="must be an object")
        elif entry:
            yield from _misfits(entry, {"crossFilters": _OBJECT}, path=f"{path}.{key}")
            if _is_object(entry.get("crossFilters")):
                yield from _scope_problems(entry["crossFilters"], path=f"{path}.{key}.crossFilters")


def _scope_problems(item: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with `scope` and `chartsInScope` of something that reaches charts."""
    yield from _misfits(item, {"chartsInScope": _IDS}, path=path)
    scope = item.get("scope")
    if scope == _GLOBAL_SCOPE:
        return
    yield from _misfits(item, {"scope": _OBJECT}, path=path)
    if _is_object(scope):
        yield from _misfits(scope, {"excluded": _IDS, "rootPath": _TEXTS}, path=f"{path}.scope")


def _is_object(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _are(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_OBJECT = (_is_object, "an object")
_OBJECTS = (lambda value: _are(value, _is_object), "an array of objects")
_OBJECT_OR_ARRAY = (lambda value: isinstance(value, dict | list), "an object or an array")
_INTEGER = (is_id, "an integer")
_IDS = (lambda value: _are(value, is_id), "an array of ids of charts")
_TEXT = (_is_text, "a text")
_TEXTS = (lambda value: _are(value, _is_text), "an array of texts")
_TRUTH = (lambda value: isinstance(value, bool), "true or false")

Kinds = Mapping[str, tuple[Callable[[Any], bool], str]]
"""For each key whether a value fits, and what it must be."""

_OF_TARGETS: Final[Kinds] = {
    "datasetId": (is_id, "the id of a dataset"),
    "column": (_is_object, "an object with the name of a column"),
}
_KNOWN_KEYS: Final[Kinds] = {
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
