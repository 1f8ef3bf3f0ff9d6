"""The filters that a dashboard declares in `native_filter_configuration`, and the charts and datasets they act on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from analytics_core._records.dashboard import Dashboard
from analytics_core._resources.dashboard_content import FILTERS_KEY, charts_in, filter_key
from analytics_core._resources.json_text import json_object

_TIME: Final = "filter_time"
_GRAIN: Final = "filter_timegrain"
_VALUES: Final = frozenset({"filter_select", "filter_range"})
_ROOT: Final = "ROOT_ID"

Layout = Callable[[], Mapping[str, Any]]
"""Gives the layout of a dashboard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFilter:
    """One filter of a dashboard.

    `targets` are (dataset id, column) pairs; a time filter without any acts on the time of each chart in its scope, as
    one of time grains does.
    """

    key: str
    is_time: bool
    targets: tuple[tuple[int, str], ...]
    chart_ids: frozenset[int]
    is_grain: bool = False

    def acts_on(self, chart_id: int, dataset_id: int, column: str) -> bool:
        """Tell whether the filter is declared for this column of this dataset on this chart."""
        return chart_id in self.chart_ids and (dataset_id, column) in self.targets


def declared_filters(dashboard: Dashboard) -> tuple[DeclaredFilter, ...]:
    """Return the filters of a dashboard that name what they act on; what is malformed declares nothing."""
    stored = json_object(dashboard.json_metadata).get(FILTERS_KEY)
    items = [item for item in stored if isinstance(item, dict)] if isinstance(stored, list) else []
    layout = layout_of(dashboard)
    return tuple(found for item in items if (found := _declared(item, dashboard, layout)) is not None)


def _declared(item: Mapping[str, Any], dashboard: Dashboard, layout: Layout) -> DeclaredFilter | None:
    key, kind = filter_key(item.get("id")), item.get("filterType")
    if key is None or kind not in (_TIME, _GRAIN, *_VALUES):
        return None
    targets = tuple(dict.fromkeys(_targets(item.get("targets")))) if kind != _GRAIN else ()
    if kind in _VALUES and not targets:
        return None
    reached = charts_in_scope(item, dashboard, layout)
    return DeclaredFilter(key=key, is_time=kind == _TIME, targets=targets, chart_ids=reached, is_grain=kind == _GRAIN)


def _targets(stored: Any) -> Iterator[tuple[int, str]]:
    for target in stored if isinstance(stored, list) else ():
        column = target.get("column") if isinstance(target, dict) else None
        name = column.get("name") if isinstance(column, dict) else None
        if isinstance(name, str) and type(target.get("datasetId")) is int:
            yield target["datasetId"], name


def layout_of(dashboard: Dashboard) -> Layout:
    """Return what reads the layout of a dashboard when it is needed, and once for all its filters."""
    return cache(lambda: json_object(dashboard.position_json))


def charts_in_scope(item: Mapping[str, Any], dashboard: Dashboard, layout: Layout) -> frozenset[int]:
    """Return the charts that a filter acts on: those listed, else those under the roots of its scope; else all."""
    every = frozenset(dashboard.chart_ids)
    listed = item.get("chartsInScope")
    if isinstance(listed, list):
        return every & {key for key in listed if type(key) is int}
    scope = item.get("scope")
    if not isinstance(scope, dict):
        return every
    roots, excluded = scope.get("rootPath"), scope.get("excluded")
    left_out = {key for key in excluded if type(key) is int} if isinstance(excluded, list) else set()
    names = _texts(roots)  # a scope without roots is malformed and reaches nothing
    reached = every if _ROOT in names else every & _under(names, layout())
    return reached - left_out


def _under(roots: set[str], layout: Mapping[str, Any]) -> frozenset[int]:
    """Return the charts that the layout places under these nodes: by their children, or by the parents they name."""
    nodes = {name: node for name, node in layout.items() if isinstance(node, dict)}
    reached = {name: node for name, node in nodes.items() if roots & _texts(node.get("parents"))}
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in seen:
            seen.add(name)
            waiting += _texts(nodes[name].get("children"))
    return frozenset(charts_in({**reached, **{name: nodes[name] for name in seen}}))


def _texts(value: Any) -> set[str]:
    return {item for item in value if isinstance(item, str)} if isinstance(value, list) else set()
