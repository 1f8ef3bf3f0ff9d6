"""The filters of a dashboard: what they act on, and changes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, Final, TypeGuard

from analytics_core._content.questions.dashboard_content import FILTERS_KEY, chart_of, filter_key, filter_problems
from analytics_core._content.stored_json import json_object
from analytics_core._records.dashboard import Dashboard
from analytics_core.errors import PayloadSchemaError, Problem, nearest
from analytics_core.models.dashboard import DashboardNativeFiltersUpdate
from analytics_core.models.parsing import payload_error

CUSTOMIZATIONS_KEY: Final = "chart_customization_config"
_DIVIDER: Final = "DIVIDER"
_ROOT: Final = "ROOT_ID"

NamesAbove = Callable[[], Mapping[int, frozenset[str]]]
"""Gives the names of all nodes around each chart that a layout places, its own among them, by the ids of the charts."""


class FilterKind(StrEnum):
    """What a filter of a dashboard sets (its `filterType`)."""

    VALUES = "filter_select"
    RANGE = "filter_range"
    TIME_RANGE = "filter_time"
    TIME_COLUMN = "filter_timecolumn"
    TIME_GRAIN = "filter_timegrain"
    GROUP_BY = "chart_customization_dynamic_groupby"
    OTHER = ""


_KINDS: Final = {
    **{kind.value: kind for kind in FilterKind},
    "chart_customization_timegrain": FilterKind.TIME_GRAIN,
    "chart_customization_timecolumn": FilterKind.TIME_COLUMN,
}
_ON_COLUMNS: Final = frozenset({FilterKind.VALUES, FilterKind.RANGE})
_WITHOUT_COLUMN: Final = frozenset({FilterKind.TIME_GRAIN, FilterKind.TIME_COLUMN, FilterKind.GROUP_BY})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFilter:
    """One filter of a dashboard, or one of its customisations of charts.

    `targets` are (dataset id, column) pairs; a time filter without any acts on the time of each chart in its scope, as
    one of time grains does. `item` is what is stored.
    """

    key: str
    kind: FilterKind
    targets: tuple[tuple[int, str], ...]
    chart_ids: frozenset[int]
    item: Mapping[str, Any]
    is_customization: bool = False

    @property
    def is_time(self) -> bool:
        """Whether it sets a range of time."""
        return self.kind is FilterKind.TIME_RANGE

    @property
    def is_grain(self) -> bool:
        """Whether it sets a time grain."""
        return self.kind is FilterKind.TIME_GRAIN

    @property
    def name(self) -> str:
        """What people call it; its id where it has no name."""
        name = self.item.get("name")
        return name if isinstance(name, str) and name else self.key

    @property
    def dataset_id(self) -> int | None:
        """The dataset that it offers values of."""
        targets = self.item.get("targets")
        found = [target.get("datasetId") for target in targets if isinstance(target, dict)] if _is_list(targets) else []
        return next((key for key in found if type(key) is int), None)

    @property
    def default_mask(self) -> Mapping[str, Any]:
        """The data mask that counts while nobody has set a value."""
        mask = self.item.get("defaultDataMask")
        return mask if isinstance(mask, dict) else {}

    @property
    def parents(self) -> tuple[str, ...]:
        """The ids of the filters whose values narrow what it offers."""
        parents = self.item.get("cascadeParentIds")
        return tuple(key for item in parents if (key := filter_key(item))) if _is_list(parents) else ()

    def control(self, name: str) -> Any:
        """Return one of the choices of its maker, such as `enableEmptyFilter`; None where it is absent."""
        controls = self.item.get("controlValues")
        return controls.get(name) if isinstance(controls, dict) else None

    def acts_on(self, chart_id: int, dataset_id: int, column: str) -> bool:
        """Tell whether the filter is declared for this column of this dataset on this chart."""
        return chart_id in self.chart_ids and (dataset_id, column) in self.targets


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def stored_filters(metadata: Mapping[str, Any], key: str = FILTERS_KEY) -> list[dict[str, Any]]:
    """Return the filters that the metadata of a dashboard hold; what is malformed is none."""
    stored = metadata.get(key)
    return [item for item in stored if isinstance(item, dict)] if isinstance(stored, list) else []


def declared_filters(dashboard: Dashboard) -> tuple[DeclaredFilter, ...]:
    """Return the filters of a dashboard that name what they act on; what is malformed declares nothing."""
    known = (item for item in all_filters(dashboard) if not item.is_customization and item.kind is not FilterKind.OTHER)
    return tuple(item for item in known if item.targets or item.kind not in _ON_COLUMNS)


def named_filters(filters: Iterable[DeclaredFilter], named: object) -> list[DeclaredFilter]:
    """Return the filter whose id this is, or else those whose name it is."""
    filters, key = tuple(filters), filter_key(named)
    return [item for item in filters if item.key == key] or [item for item in filters if item.name == named]


def all_filters(dashboard: Dashboard) -> tuple[DeclaredFilter, ...]:
    """Return all filters and customisations of a dashboard, those of unknown kinds among them.

    What has no id, or that of another one, is known by its place.
    """
    metadata, above = json_object(dashboard.json_metadata), names_above(dashboard)
    found: dict[str, DeclaredFilter] = {}
    for place in (FILTERS_KEY, CUSTOMIZATIONS_KEY):
        for item in stored_filters(metadata, place):
            key = filter_key(item.get("id"))
            if key is None or key in found:
                key = f"#{len(found)}"
            kind = _KINDS.get(str(item.get("filterType")), FilterKind.OTHER)
            found[key] = DeclaredFilter(
                key=key,
                kind=kind,
                targets=() if kind in _WITHOUT_COLUMN else tuple(dict.fromkeys(_targets(item.get("targets")))),
                chart_ids=charts_in_scope(item, dashboard, above),
                item=item,
                is_customization=place == CUSTOMIZATIONS_KEY,
            )
    return tuple(item for item in found.values() if item.item.get("type") != _DIVIDER)


def _targets(stored: Any) -> Iterator[tuple[int, str]]:
    for target in stored if isinstance(stored, list) else ():
        column = target.get("column") if isinstance(target, dict) else None
        name = column.get("name") if isinstance(column, dict) else None
        if isinstance(name, str) and type(target.get("datasetId")) is int:
            yield target["datasetId"], name


def names_above(dashboard: Dashboard) -> NamesAbove:
    """Return what reads the layout of a dashboard when it is needed, and once for all its filters."""
    return cache(lambda: _read_names_above(json_object(dashboard.position_json)))


def _read_names_above(layout: Mapping[str, Any]) -> dict[int, frozenset[str]]:
    nodes = {name: node for name, node in layout.items() if isinstance(node, dict)}
    named_by: dict[str, list[str]] = {}
    places: dict[int, list[str]] = {}
    for name, node in nodes.items():
        for child in _texts(node.get("children")):
            named_by.setdefault(child, []).append(name)
        if (chart_id := chart_of(node)) is not None:
            places.setdefault(chart_id, []).append(name)
    return {
        chart_id: _above(names, named_by).union(*(_texts(nodes[name].get("parents")) for name in names))
        for chart_id, names in places.items()
    }


def _above(names: Sequence[str], named_by: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return nodes with all that name them as their children, those that name these, and so on."""
    seen, waiting = set(names), list(names)
    while waiting:
        added = [name for name in named_by.get(waiting.pop(), ()) if name not in seen]
        seen.update(added)
        waiting += added
    return frozenset(seen)


def charts_in_scope(item: Mapping[str, Any], dashboard: Dashboard, above: NamesAbove) -> frozenset[int]:
    """Return the charts that a filter acts on: those listed, else those under the roots of its scope; else all."""
    every = frozenset(dashboard.chart_ids)
    listed = item.get("chartsInScope")
    if isinstance(listed, list):
        return every & {key for key in listed if type(key) is int}
    scope = item.get("scope")
    if not isinstance(scope, dict):
        return every
    roots, excluded = scope.get("rootPath"), scope.get("excluded")
    excluded_ids = {key for key in excluded if type(key) is int} if isinstance(excluded, list) else set()
    names = _texts(roots)  # a scope without roots is malformed and reaches nothing
    return (every if _ROOT in names else every & _under(names, above())) - excluded_ids


def charts_of_cross_filters(chart_ids: Iterable[int], dashboard: Dashboard) -> dict[int, frozenset[int]]:
    """Return for each chart those that picks in it act on: of its own scope, or of the scope for all; never itself."""
    metadata, above = json_object(dashboard.json_metadata), names_above(dashboard)
    return {key: charts_in_scope(_scope_of_picks(metadata, key), dashboard, above) - {key} for key in chart_ids}


def _scope_of_picks(metadata: Mapping[str, Any], chart_id: int) -> Mapping[str, Any]:
    configured = metadata.get("chart_configuration")
    own = configured.get(str(chart_id)) if isinstance(configured, dict) else None
    scoped = own.get("crossFilters") if isinstance(own, dict) else None
    if not isinstance(scoped, dict) or (scoped.get("scope") == "global" and "chartsInScope" not in scoped):
        scoped = metadata.get("global_chart_configuration")
    return scoped if isinstance(scoped, dict) else {}


def _under(roots: set[str], above: Mapping[int, frozenset[str]]) -> frozenset[int]:
    """Return the charts that the layout places under these nodes: by their children, or by the parents they name."""
    return frozenset(chart_id for chart_id, names in above.items() if not names.isdisjoint(roots))


def _texts(value: Any) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()


FiltersByKey = Mapping[str, Mapping[str, Any]]


def with_changed_filters(dashboard: Dashboard, update: DashboardNativeFiltersUpdate, *, shape: str) -> Dashboard:
    """Return the dashboard after an update of its filters; nothing else of its metadata changes.

    What is modified keeps its place, or comes last when its id is new. What `reordered` names comes first, in that
    order; the others follow in the order that they had.

    Raises:
        PayloadSchemaError: an id to delete or to reorder that the dashboard does not have.
    """
    metadata = json_object(dashboard.json_metadata)
    # What has no id stays in its place under a key of its own.
    stored = {filter_key(item.get("id")) or f"\x00{place}": item for place, item in enumerate(stored_filters(metadata))}
    modified = _checked_modified(update, shape=shape)
    _reject_unknown(update.deleted, stored, field="deleted", shape=shape)
    deleted = {filter_key(item) for item in update.deleted}
    changed = {key: item for key, item in {**stored, **modified}.items() if key not in deleted}
    _reject_unknown(update.reordered, changed, field="reordered", shape=shape)
    first = dict.fromkeys(str(item) for item in update.reordered)
    ordered = [changed[key] for key in first] + [item for key, item in changed.items() if key not in first]
    return replace(dashboard, json_metadata=_as_text({**metadata, FILTERS_KEY: ordered}, shape=shape))


def _as_text(metadata: Mapping[str, Any], *, shape: str) -> str:
    try:
        return json.dumps(metadata, ensure_ascii=False)
    except TypeError:  # a caller inside Python may give dates, sets and other objects
        raise payload_error(shape, "modified", "must hold JSON values only") from None


def _checked_modified(update: DashboardNativeFiltersUpdate, *, shape: str) -> FiltersByKey:
    problems = filter_problems(update.modified, path="modified")
    deleted = {filter_key(item) for item in update.deleted}
    problems += [
        Problem(path=f"modified.{position}.id", message="is deleted by the same update")
        for position, item in enumerate(update.modified)
        if filter_key(item.get("id")) in deleted
    ]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)
    return {str(item["id"]): item for item in update.modified}


def _reject_unknown(ids: Sequence[int | str], known: FiltersByKey, *, field: str, shape: str) -> None:
    problems = [
        Problem(path=f"{field}.{position}", message=f"there is no filter {filter_id!r}{_hint(filter_id, known)}")
        for position, filter_id in enumerate(ids)
        if filter_key(filter_id) not in known
    ]
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def _hint(filter_id: int | str, known: FiltersByKey) -> str:
    names = [key for key in known if not key.startswith("\x00")]
    close = nearest(str(filter_id), names)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; it has {', '.join(names[:20])}" if names else "; it has none"
