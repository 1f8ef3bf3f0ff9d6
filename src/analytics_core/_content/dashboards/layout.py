"""Where the layout of a dashboard places its charts: their order, and the tabs that they stand in; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._content.questions.dashboard_content import chart_of
from analytics_core.errors import UnknownNameError
from analytics_core.models.parsing import payload_error

_ROOT: Final = "ROOT_ID"
_DEEPEST: Final = 64
"""At most so many tabs around a chart are told, the outermost ones: a layout may nest thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPlace:
    """One place of a chart; `tabs` are the ids of the tabs around it, the outermost first."""

    chart_id: int
    tabs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The places of the charts of a dashboard, and the titles of its tabs by their ids, in the order of the page."""

    places: tuple[ChartPlace, ...]
    titles: Mapping[str, str]

    def in_order(self, chart_ids: Sequence[int]) -> tuple[int, ...]:
        """Return charts in the order of the page, each once; those without a place come last."""
        placed = dict.fromkeys(place.chart_id for place in self.places)
        known = set(chart_ids)
        return (*(key for key in placed if key in known), *(key for key in chart_ids if key not in placed))

    def tabs_of(self, chart_id: int) -> tuple[str, ...]:
        """Return the titles of the tabs around the first place of a chart, the outermost first."""
        found = next((place for place in self.places if place.chart_id == chart_id), None)
        return () if found is None else tuple(self.titles[tab] for tab in found.tabs)

    def within(self, tabs: Sequence[str], *, shape: str) -> frozenset[int]:
        """Return the charts inside any of these tabs, which are named by their ids or titles.

        Raises:
            UnknownNameError: there is no such tab.
            PayloadSchemaError: several have the title.
        """
        wanted = self.tab_ids(tabs, shape=shape)
        return frozenset(place.chart_id for place in self.places if wanted & set(place.tabs))

    def tab_ids(self, tabs: Sequence[str], *, shape: str) -> frozenset[str]:
        """Return the ids of tabs that are named by their ids or titles; the errors are those of `within`."""
        return frozenset(self._tab(name, place=f"tabs.{i}", shape=shape) for i, name in enumerate(tabs))

    def tabs_at(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """Return the ids of tabs by their numbers, which count from 0 over the page; IndexError where there is none."""
        tabs = tuple(self.titles)
        if any(number < 0 for number in numbers):
            raise IndexError
        return tuple(tabs[number] for number in numbers)

    def visible_charts(self, active: frozenset[str]) -> frozenset[int]:
        """Return the charts that a page shows while these tabs are open: each tab around a chart is one of them."""
        return frozenset(place.chart_id for place in self.places if active.issuperset(place.tabs))

    def _tab(self, name: str, *, place: str, shape: str) -> str:
        if name in self.titles:
            return name
        titled = [tab for tab, title in self.titles.items() if title == name]
        if len(titled) == 1:
            return titled[0]
        if titled:
            raise payload_error(shape, place, f"several tabs have the title {name!r}: name one by its id, {titled}")
        raise UnknownNameError(name, place="tabs: the dashboard", known=self.titles.values())


def read_layout(layout: Mapping[str, Any]) -> Layout:
    """Return what a stored layout says; nodes that nobody names are read where the parents they name place them."""
    nodes = {name: node for name, node in layout.items() if isinstance(node, dict)}
    seen: dict[str, None] = {}
    places = [*_walked(nodes, _ROOT, (), seen)]
    in_order = {**seen, **dict.fromkeys(nodes)}
    titles = {name: _title(name, nodes[name]) for name in in_order if nodes[name].get("type") == "TAB"}
    for name, node in nodes.items():
        chart_id = chart_of(node)
        if chart_id is not None and name not in seen:
            parents = node.get("parents")
            above = [tab for tab in parents if isinstance(tab, str)] if isinstance(parents, list) else []
            tabs = tuple(tab for tab in above if tab in titles)[:_DEEPEST]
            places.append(ChartPlace(chart_id=chart_id, tabs=tabs))
    return Layout(places=tuple(places), titles=titles)


def _walked(
    nodes: Mapping[str, Mapping[str, Any]], root: str, tabs: tuple[str, ...], seen: dict[str, None]
) -> Iterator[ChartPlace]:
    """Yield the places below a node from top to bottom; a node that names itself again is read once."""
    waiting = [(root, tabs)]
    while waiting:
        name, around = waiting.pop()
        if name not in nodes or name in seen:
            continue
        seen[name] = None
        node = nodes[name]
        chart_id = chart_of(node)
        if chart_id is not None:
            yield ChartPlace(chart_id=chart_id, tabs=around)
        inside = (*around, name) if node.get("type") == "TAB" and len(around) < _DEEPEST else around
        children = node.get("children")
        if isinstance(children, list):
            waiting += [(child, inside) for child in reversed(children) if isinstance(child, str)]


def _title(name: str, node: Mapping[str, Any]) -> str:
    meta = node.get("meta")
    title = (meta.get("text") or meta.get("defaultText")) if isinstance(meta, dict) else None
    return title if isinstance(title, str) else name
