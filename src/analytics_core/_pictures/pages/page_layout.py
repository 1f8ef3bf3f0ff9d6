"""Where the parts of a dashboard stand on its pages: boxes in pixels, laid out once for every kind of picture.

The layout is a tree of nodes on a grid of twelve columns. Each tab at its top is a page; tabs further inside stand one
below the other under their titles.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

GUTTER_PX: Final = 16
_ROOT: Final = "ROOT_ID"
_COLUMNS: Final = 12
_UNIT_PX: Final = 8
_USUAL_COLUMNS: Final = 4
_USUAL_UNITS: Final = 50
_TALLEST_UNITS: Final = 400
_HEADERS_PX: Final[Mapping[str, int]] = {"LARGE_HEADER": 44, "MEDIUM_HEADER": 36, "SMALL_HEADER": 28}
_SECTION_PX: Final = 32
_BELOW_SECTION_PX: Final = 12
_DIVIDER_PX: Final = 16
_DEEPEST: Final = 40
_MOST_BOXES: Final = 2_000
_LONGEST_TITLE: Final = 500
_LONGEST_MARKDOWN: Final = 20_000
_MOST_MARKDOWN: Final = 50_000
"""Characters of one text, and of all texts of a dashboard: reading the worst takes 70 microseconds for each."""

_CUT_MARKDOWN: Final = "\n\n…\n\n*The rest is left out: the texts of this dashboard are too long.*\n"


class BoxKind(StrEnum):
    """What a box holds."""

    CHART = "chart"
    MARKDOWN = "markdown"
    HEADER = "header"
    SECTION = "section"
    DIVIDER = "divider"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBox:
    """One part of a page, from its upper left corner, in pixels.

    `text` is the Markdown, or the title of a header or of an inner tab; `size_px` is that of a header's letters.
    """

    kind: BoxKind
    x: float
    y: float
    width: float
    height: float
    chart_id: int = 0
    text: str = ""
    size_px: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLayout:
    """One page: the title of its tab (empty for a dashboard without tabs), and its boxes."""

    title: str
    boxes: tuple[PageBox, ...]
    width: float
    height: float


def page_layouts(
    layout: Mapping[str, Any],
    chart_ids: Collection[int],
    *,
    width_px: int,
    visible_tabs: Collection[str] | None,
    markdown_px: Callable[[str, float], float],
) -> tuple[PageLayout, ...]:
    """Return the pages of a dashboard; what its Markdown texts have beyond 50,000 characters is left out with a note.

    Args:
        layout: the nodes of the dashboard by their ids (`position_json`).
        chart_ids: the charts that are shown; those without a place come last, two in a row.
        width_px: how wide each page is.
        visible_tabs: the ids of the tabs that are shown; None: all.
        markdown_px: gives the height that a Markdown text takes at a width.
    """
    tree = _Tree(layout, chart_ids, visible_tabs, markdown_px)
    pages = [tree.page(title, names, width_px) for title, names in tree.tops()]
    unplaced = [chart_id for chart_id in chart_ids if chart_id not in tree.placed]
    pages = [page for page in pages if page.boxes] if unplaced or len(pages) > 1 else pages
    if not unplaced:
        return tuple(pages)
    rest = tuple(_in_rows(unplaced, width_px))
    if not pages:
        return (PageLayout(title="", boxes=rest, width=width_px, height=_bottom(rest)),)
    *before, last = pages
    offset = last.height + GUTTER_PX if last.boxes else 0
    boxes = (*last.boxes, *(replace(box, y=box.y + offset) for box in rest))
    return (*before, replace(last, boxes=boxes, height=_bottom(boxes)))


def tabs_around(layout: Mapping[str, Any], wanted: Collection[str]) -> frozenset[str]:
    """Return tabs with those that they stand in, and those that stand in them."""
    nodes = {name: node for name, node in layout.items() if isinstance(node, dict)}
    found = set(wanted)
    waiting: list[tuple[str, tuple[str, ...]]] = [(_ROOT, ())]
    seen: set[str] = set()
    while waiting:
        name, above = waiting.pop()
        if name in seen or name not in nodes:
            continue
        seen.add(name)
        if nodes[name].get("type") == "TAB":
            above = (*above, name)[:_DEEPEST]
            if not found.isdisjoint(above) and (name in wanted or not set(wanted).isdisjoint(above)):
                found.update(above)
        waiting += [(child, above) for child in _children(nodes[name])]
    return frozenset(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """Where nodes may stand: from a corner, over a width that has so many columns."""

    x: float
    y: float
    width: float
    columns: float
    depth: int = 0

    def below(self, boxes: Sequence[PageBox]) -> _Room:
        """Return the room below boxes; the same one where there are none."""
        return replace(self, y=_bottom(boxes) + GUTTER_PX) if boxes else self


class _Tree:
    """The nodes of a layout; `placed` are the charts that have their boxes."""

    def __init__(
        self,
        layout: Mapping[str, Any],
        chart_ids: Collection[int],
        visible_tabs: Collection[str] | None,
        markdown_px: Callable[[str, float], float],
    ) -> None:
        self._nodes: dict[str, Mapping[str, Any]] = {
            name: node for name, node in layout.items() if isinstance(node, dict)
        }
        self._chart_ids = frozenset(chart_ids)
        self._visible = None if visible_tabs is None else frozenset(visible_tabs)
        self._markdown_px = markdown_px
        self._remaining_markdown = _MOST_MARKDOWN
        self._seen: set[str] = {_ROOT}
        self.placed: set[int] = set()

    def tops(self) -> list[tuple[str, Sequence[str]]]:
        """Return the title and the nodes of each page."""
        names = self._children_of(_ROOT)
        if len(names) == 1 and self._type(names[0]) == "GRID":
            names = self._children_of(names[0])
        if len(names) == 1 and self._type(names[0]) == "TABS":
            return [(self._title(tab), self._children_of(tab)) for tab in self._tabs(self._children_of(names[0]))]
        if names and all(self._type(name) == "TAB" for name in names):
            return [(self._title(tab), self._children_of(tab)) for tab in self._tabs(names)]
        return [("", names)]

    def page(self, title: str, names: Sequence[str], width_px: int) -> PageLayout:
        """Return a page of nodes that stand one below the other."""
        boxes = tuple(self._stacked(names, _Room(x=0, y=0, width=width_px, columns=_COLUMNS)))
        return PageLayout(title=title, boxes=boxes, width=width_px, height=_bottom(boxes))

    def _stacked(self, names: Sequence[str], room: _Room) -> Iterator[PageBox]:
        for name in names:
            boxes = tuple(self._boxes(name, room))
            yield from boxes
            room = room.below(boxes)

    def _boxes(self, name: str, room: _Room) -> Iterator[PageBox]:
        """Yield the boxes of one node, once: a node that is named again, or nested beyond reason, has none."""
        if room.depth > _DEEPEST or not self._is_new(name):
            return
        match self._type(name):
            case "ROW":
                yield from self._row(name, room)
            case "TABS":
                for tab in self._tabs(self._children_of(name)):
                    boxes = tuple(self._section(tab, room))
                    yield from boxes
                    room = room.below(boxes)
            case "CHART" | "MARKDOWN":
                own = min(self._columns(name), room.columns)
                yield from self._leaf(name, replace(room, width=_span(own, room.columns, room.width)))
            case "HEADER" | "DIVIDER":
                yield from self._leaf(name, room)
            case _:
                yield from self._stacked(self._children_of(name), replace(room, depth=room.depth + 1))

    def _is_new(self, name: str) -> bool:
        """Tell whether a node has boxes: named for the first time, and among as many as a dashboard may have."""
        if name not in self._nodes or name in self._seen or len(self._seen) > _MOST_BOXES:
            return False
        self._seen.add(name)
        return True

    def _section(self, tab: str, room: _Room) -> Iterator[PageBox]:
        if not self._is_new(tab):
            return
        title = PageBox(
            kind=BoxKind.SECTION, x=room.x, y=room.y, width=room.width, height=_SECTION_PX, text=self._title(tab)
        )
        yield title
        inside = replace(room, y=room.y + _SECTION_PX + _BELOW_SECTION_PX, depth=room.depth + 1)
        yield from self._stacked(self._children_of(tab), inside)

    def _row(self, name: str, room: _Room) -> Iterator[PageBox]:
        children = [child for child in self._children_of(name) if child in self._nodes]
        spans = [self._columns(child) for child in children]
        column_count, x = max(room.columns, sum(spans)), room.x
        for child, own in zip(children, spans, strict=True):
            across = _span(own, column_count, room.width)
            yield from self._boxes(child, replace(room, x=x, width=across, columns=own, depth=room.depth + 1))
            x += across + GUTTER_PX

    def _leaf(self, name: str, room: _Room) -> Iterator[PageBox]:
        x, y, width, meta = room.x, room.y, room.width, self._meta(name)
        tall = _number(meta.get("height"), usual=_USUAL_UNITS, most=_TALLEST_UNITS) * _UNIT_PX
        kind = self._type(name)
        if kind == "CHART":
            chart_id = meta.get("chartId")
            if chart_id in self._chart_ids:
                self.placed.add(chart_id)
                yield PageBox(kind=BoxKind.CHART, x=x, y=y, width=width, height=tall, chart_id=chart_id)
        elif kind == "MARKDOWN":
            text = self._markdown(meta)
            tall = max(tall if "height" in meta else 0, self._markdown_px(text, width))
            yield PageBox(kind=BoxKind.MARKDOWN, x=x, y=y, width=width, height=tall, text=text)
        elif kind == "HEADER":
            size = _HEADERS_PX.get(str(meta.get("headerSize")), 36)
            text = _cut(str(meta.get("text") or ""))
            yield PageBox(kind=BoxKind.HEADER, x=x, y=y, width=width, height=size, text=text, size_px=size * 5 // 9)
        else:
            yield PageBox(kind=BoxKind.DIVIDER, x=x, y=y, width=width, height=_DIVIDER_PX)

    def _markdown(self, meta: Mapping[str, Any]) -> str:
        """Return a Markdown text; what is too long, or beyond what all texts may have, is cut with a note."""
        text = str(meta.get("code") or "")
        if len(text) > min(self._remaining_markdown, _LONGEST_MARKDOWN):
            text = text[: min(self._remaining_markdown, _LONGEST_MARKDOWN - len(_CUT_MARKDOWN))] + _CUT_MARKDOWN
        self._remaining_markdown = max(self._remaining_markdown - len(text), 0)
        return text

    def _tabs(self, names: Sequence[str]) -> list[str]:
        """Return those of some nodes that are tabs and shown."""
        tabs = [name for name in names if self._type(name) == "TAB"]
        return [tab for tab in tabs if self._visible is None or tab in self._visible]

    def _columns(self, name: str) -> float:
        return _number(self._meta(name).get("width"), usual=_USUAL_COLUMNS, most=_COLUMNS)

    def _title(self, name: str) -> str:
        meta = self._meta(name)
        title = meta.get("text") or meta.get("defaultText")
        return _cut(title if isinstance(title, str) else name)

    def _type(self, name: str) -> str:
        return str(self._nodes.get(name, {}).get("type"))

    def _meta(self, name: str) -> Mapping[str, Any]:
        meta = self._nodes.get(name, {}).get("meta")
        return meta if isinstance(meta, dict) else {}

    def _children_of(self, name: str) -> list[str]:
        return _children(self._nodes.get(name, {}))


def _children(node: Mapping[str, Any]) -> list[str]:
    """Return the ids of the nodes inside a node, each once."""
    children = node.get("children")
    return (
        list(dict.fromkeys(child for child in children if isinstance(child, str))) if isinstance(children, list) else []
    )


def _cut(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _span(own: float, columns: float, width: float) -> float:
    """Return the width of some of the columns that a width is divided into, with a gutter between two of them."""
    column = (width - (columns - 1) * GUTTER_PX) / columns
    return max(own * column + (own - 1) * GUTTER_PX, 1)


def _number(value: Any, *, usual: float, most: float) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value >= 1
    return min(value, most) if is_number else usual


def _in_rows(chart_ids: Sequence[int], width_px: int) -> Iterator[PageBox]:
    """Yield charts two in a row."""
    across, tall = _span(6, _COLUMNS, width_px), _USUAL_UNITS * _UNIT_PX
    for place, chart_id in enumerate(chart_ids):
        x, y = place % 2 * (across + GUTTER_PX), place // 2 * (tall + GUTTER_PX)
        yield PageBox(kind=BoxKind.CHART, x=x, y=y, width=across, height=tall, chart_id=chart_id)


def _bottom(boxes: Sequence[PageBox]) -> float:
    return max((box.y + box.height for box in boxes), default=0)
