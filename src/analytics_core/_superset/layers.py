"""Maps of several layers: each layer is a stored chart, which is asked by its own form and the filters of the map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from analytics_core._records.chart import Chart
from analytics_core._superset.form import SHAPE, is_object
from analytics_core._superset.payload import BuiltPayload, Fidelity, Origins, build_payload
from analytics_core._superset.registry import ChartKinds
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.strict_json import read_json_once

LAYERED: Final = "deck_multi"
"""The kind of chart whose queries are those of other charts, which `deck_slices` names by their ids."""

MOST_LAYERS: Final = 50
LAYERS: Final = "deck_slices"
_LISTS: Final = ("extra_filters", "adhoc_filters")
_OF_MASKS: Final = ("filters", "adhoc_filters")
_SCOPE: Final = "layerFilterScope"
_ALL_LAYERS: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer of a map: its place among the ids that the map names, and the chart that is shown there.

    `form` is the form of the chart as it is stored; None: there is no such chart, or it is not for the actor.
    """

    place: int
    chart_id: int
    name: str = ""
    form: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"layer {self.chart_id} {self.name!r}"


def layer_ids(form_data: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the ids of the charts that a form names as layers, each once; () for one that names none or too many."""
    named = form_data.get(LAYERS)
    if not isinstance(named, list | tuple) or len(named) > MOST_LAYERS:
        return ()
    return tuple(dict.fromkeys(item for item in named if type(item) is int and item > 0))


def layers_of(chart: Chart) -> tuple[int, ...]:
    """Return the ids of the charts that are the layers of a stored chart; () for any other kind of chart."""
    if chart.viz_type != LAYERED or not chart.params:
        return ()
    try:
        form = read_json_once(chart.params)
    except (ValueError, RecursionError):
        return ()
    return layer_ids(form) if isinstance(form, dict) else ()


def with_layers(ids: frozenset[int], read: Callable[[frozenset[int]], Iterable[Chart]]) -> dict[int, Chart]:
    """Return charts and those that are their layers by their ids; the layers of layers are not followed."""
    found = {chart.id: chart for chart in read(ids)}
    layers = frozenset(layer for chart in found.values() for layer in layers_of(chart))
    return {**found, **{chart.id: chart for chart in read(layers.difference(found))}}


def build_map(form_data: Mapping[str, Any], kinds: ChartKinds, layers: Sequence[Layer]) -> BuiltPayload:
    """Return the query context of a map: the queries of its layers, each with the datasource of its chart.

    Raises:
        PayloadSchemaError: fields that cannot be used, of the map and of all its layers.
    """
    base = build_payload(form_data, kinds)
    if not layer_ids(form_data):
        message = f"must list the ids of the charts that are its layers, {MOST_LAYERS} at most"
        raise PayloadSchemaError(shape=SHAPE, problems=[Problem(path=LAYERS, message=message)])
    built, problems, notes = [], [], [*base.notes]
    for layer in _visible(form_data, layers):
        if layer.form is None or layer.form.get("viz_type") == LAYERED:
            notes.append(f"layer {layer.chart_id} is left out: {_WHY_NESTED if layer.form else _WHY_CLOSED}")
            continue
        form = _LayerForm(form_data, layer)
        try:
            built.append((form, build_payload(form.fields(form_data), kinds)))
        except PayloadSchemaError as error:
            problems += [replace(problem, path=form.path(problem.path)) for problem in error.problems]
    if problems:
        raise PayloadSchemaError(shape=SHAPE, problems=problems)
    return _as_one(base, built, notes)


_WHY_CLOSED: Final = "there is no such chart, or it is not for you"
_WHY_NESTED: Final = "it has layers itself, which are not followed"


def _as_one(base: BuiltPayload, built: Sequence[tuple[_LayerForm, BuiltPayload]], notes: Sequence[str]) -> BuiltPayload:
    layer_notes = [f"{form.layer}: {note}" for form, own in built for note in own.notes]
    results = ", ".join(str(form.layer) for form, own in built for _ in own.payload["queries"])
    queries = [
        {**query, "datasource": own.payload["datasource"]} for _, own in built for query in own.payload["queries"]
    ]
    return BuiltPayload(
        payload={**base.payload, "queries": queries},
        origins=Origins(partial(_origins, built)),
        fidelity=Fidelity.APPROXIMATED,
        notes=(*notes, *layer_notes, *([f"the results are, in this order: {results}"] if results else [])),
    )


def _origins(built: Sequence[tuple[_LayerForm, BuiltPayload]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    before = 0
    for form, own in built:
        for path, fields in own.origins.items():
            _, place, rest = path.split(".", 2)
            found[f"queries.{before + int(place)}.{rest}"] = tuple(form.path(field) for field in fields)
        before += len(own.payload["queries"])
    return found


def _visible(form_data: Mapping[str, Any], layers: Sequence[Layer]) -> tuple[Layer, ...]:
    """Return the layers that the data mask of a map leaves visible."""
    mask = form_data.get("extra_form_data")
    visible = mask.get("visible_deckgl_layers") if is_object(mask) and mask else None
    return tuple(layer for layer in layers if not isinstance(visible, list | tuple) or layer.chart_id in visible)


class _LayerForm:
    """The form of a layer with the filters of its map behind its own, and where each of them stands.

    Args:
        map_form: the form of the map.
        layer: the layer, whose form can be read.
    """

    def __init__(self, map_form: Mapping[str, Any], layer: Layer) -> None:
        self.layer = layer
        self._own = layer.form or {}
        self._added = {name: dict(self._of_map(map_form, name)) for name in _LISTS}

    def fields(self, map_form: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the form."""
        lists = {name: [*_listed(self._own, name), *added.values()] for name, added in self._added.items() if added}
        mask = _joined_masks(self._own.get("extra_form_data"), map_form.get("extra_form_data"))
        return {**self._own, **lists, **({"extra_form_data": mask} if mask else {})}

    def path(self, field: str) -> str:
        """Return where a field of the form stands, seen from the map: in the form of its layer, or in its own."""
        name, _, rest = field.partition(".")
        own = len(_listed(self._own, name)) if name in self._added else 0
        if rest.isdigit() and int(rest) >= own and name in self._added:
            return f"{name}.{[*self._added[name]][int(rest) - own]}"
        return f"{LAYERS}.{self.layer.place}.{field}"

    def _of_map(self, map_form: Mapping[str, Any], name: str) -> Iterator[tuple[int, Any]]:
        """Yield the filters of a map that count on this layer, with their places."""
        for place, item in enumerate(_listed(map_form, name)):
            scope = item.get(_SCOPE) if is_object(item) else None
            if not isinstance(scope, list | tuple) or _ALL_LAYERS in scope or self.layer.place in scope:
                yield place, {key: value for key, value in item.items() if key != _SCOPE} if is_object(item) else item


def _listed(form: Mapping[str, Any], name: str) -> list[Any]:
    value = form.get(name)
    listed = value if isinstance(value, list | tuple) else (value,)
    return [item for item in listed if item is not None and item != ""]


def _joined_masks(own: Any, added: Any) -> Any:
    """Return two data masks as one; the later one wins, and filters of both count. What is no mask stays as it is."""
    if not added or not is_object(added) or not (own is None or is_object(own)):
        return own if own is not None and own != "" else added
    lists = {name: [*_listed(own or {}, name), *_listed(added, name)] for name in _OF_MASKS}
    return {**(own or {}), **added, **{name: items for name, items in lists.items() if items}}
