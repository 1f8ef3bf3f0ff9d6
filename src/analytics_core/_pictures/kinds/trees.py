"""Trees of nodes that name their parents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import Canvas
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX
from analytics_core._tools.display.blocks import counted

_MOST_NODES: Final = 400
_DOT_PX: Final = 4
_TURN: Final = 2 * math.pi
_UPRIGHT: Final = ("TB", "BT")
_DIRECTIONS: Final = ("LR", "RL", *_UPRIGHT)


@dataclass(slots=True, eq=False)
class Node:
    """A node, its children, and where it stands: `along` from the root (0) to the deepest (1), `across` from 0 to 1."""

    label: str
    children: list[Node] = field(default_factory=list)
    level: int = 0
    along: float = 0.0
    across: float = 0.0


def _tree(view: ChartView) -> Drawing:
    table = view.table
    form_names = [next(iter(view.form.columns(name)), None) for name in ("id", "parent", "name")]
    own, parent, label = (name if name in table.names else None for name in form_names)
    if own is None or parent is None:
        raise CannotDrawError("the form names no column of ids and no column of parents.")
    ids = [cells.text(value) for value in table.values(own)]
    parents = [None if cells.plain(value) is None else cells.text(value) for value in table.values(parent)]
    root = _rooted(ids, parents, table.texts(label or own), view.form.get("root_node_id"))
    nodes = _placed(root)
    if len(nodes) > _MOST_NODES:
        raise CannotDrawError(f"a tree of {len(nodes):,} nodes cannot be read.")
    remaining = len(set(ids)) - len(nodes)
    notes = [f"Left out: {counted(remaining, 'node')} that do not lead to the root."] if remaining > 0 else []
    drawing = _TreeDrawing(Canvas(view, notes), nodes)
    drawing.draw()
    levels = max(node.level for node in nodes) + 1
    return drawing.canvas.drawing(
        f"Tree of {counted(len(nodes), 'node')} in {counted(levels, 'level')}, from {root.label}"
    )


def _rooted(ids: Sequence[str], parents: Sequence[str | None], texts: Sequence[str], root_id: object) -> Node:
    """Return the root with all nodes that lead to it: the one that the form names, else the first without a parent."""
    nodes = {one: Node(text) for one, text in zip(ids, texts, strict=True)}
    children: dict[str, list[str]] = {}
    for one, parent in zip(ids, parents, strict=True):
        if parent is not None:
            children.setdefault(parent, []).append(one)
    tops = [one for one, parent in zip(ids, parents, strict=True) if parent is None or parent not in nodes]
    start = str(root_id) if str(root_id) in nodes else next(iter(tops), None)
    if start is None:
        raise CannotDrawError("no node is without a parent.")
    seen, queue = {start}, [start]
    for one in queue:
        for child in children.get(one, ()):
            if child not in seen:
                seen.add(child)
                nodes[child].level = nodes[one].level + 1
                nodes[one].children.append(nodes[child])
                queue.append(child)
    return nodes[start]


def _placed(root: Node) -> list[Node]:
    """Return the nodes, parents before their children, each with its place."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        found.append(node)
        stack += reversed(node.children)
    depth = max(node.level for node in found) or 1
    leaves = [node for node in found if not node.children]
    for place, leaf in enumerate(leaves):
        leaf.across = (place + 0.5) / len(leaves)
    for node in reversed(found):
        node.along = node.level / depth
        if node.children:
            node.across = (node.children[0].across + node.children[-1].across) / 2
    return found


class _TreeDrawing:
    """Draws nodes as dots with lines from parents to children."""

    def __init__(self, canvas: Canvas, nodes: Sequence[Node]) -> None:
        self.canvas, self.nodes, self.room = canvas, nodes, canvas.room
        orientation = canvas.form.get("orient")
        self.direction = str(orientation) if orientation in _DIRECTIONS else "LR"
        if canvas.form.get("layout") == "radial":
            self.direction = "radial"
        leaves = [node for node in nodes if not node.children]
        widest = max(text_width(node.label, LABEL_PX) for node in leaves)
        self.margin = min(widest, self.room.width * 0.22) + 14
        self.leaf_px = self.room.width / len(leaves)

    def draw(self) -> None:
        """Draw the lines, then the dots and their labels on them."""
        for node in self.nodes:
            for child in node.children:
                self._link(self._place(node), self._place(child))
        accent, background = self.canvas.colours.accent, self.canvas.colours.background
        for node in self.nodes:
            self.canvas.circle(*self._place(node), _DOT_PX, accent if node.children else background, stroke=accent)
            self._label(node)

    def _link(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        path = f"M{start[0]:.1f},{start[1]:.1f}"
        if self.direction in ("LR", "RL"):
            half = (start[0] + end[0]) / 2
            path += f"C{half:.1f},{start[1]:.1f} {half:.1f},{end[1]:.1f} {end[0]:.1f},{end[1]:.1f}"
        else:
            path += f"L{end[0]:.1f},{end[1]:.1f}"
        self.canvas.shape(path, "transparent", stroke=self.canvas.colours.muted, width=1)

    def _place(self, node: Node) -> tuple[float, float]:
        room, along, across = self.room, node.along, node.across
        if self.direction == "radial":
            reach = along * max(min(room.width / 2 - self.margin, room.height / 2 - 10), 10)
            middle = (room.x + room.width / 2, room.y + room.height / 2)
            return middle[0] + reach * math.sin(across * _TURN), middle[1] - reach * math.cos(across * _TURN)
        if self.direction in _UPRIGHT:
            down = along if self.direction == "TB" else 1 - along
            return room.x + across * room.width, room.y + 10 + down * (room.height - 40)
        left, aside = (8.0, along) if self.direction == "LR" else (self.margin, 1 - along)
        return room.x + left + aside * (room.width - self.margin - 8), room.y + across * room.height

    def _label(self, node: Node) -> None:
        x, y = self._place(node)
        if self.direction in _UPRIGHT:
            self._text(node.label, self.leaf_px * 0.98, (x, y + 12), "center")
        elif node.children:
            is_root = not node.level and self.direction == "LR"
            self._text(node.label, self.margin, (x, y - 10), "left" if is_root else "center")
        else:
            radial_right = x >= self.room.x + self.room.width / 2
            right = radial_right if self.direction == "radial" else self.direction == "LR"
            self._text(node.label, self.margin - 10, (x + (8 if right else -8), y), "left" if right else "right")

    def _text(self, label: str, room_px: float, at: tuple[float, float], align: str) -> None:
        self.canvas.text(fitted(label, room_px, LABEL_PX), *at, self.canvas.colours.text, align=align)


KINDS: Final = (PictureKind(name="tree_chart", noun="tree", draw=_tree),)
