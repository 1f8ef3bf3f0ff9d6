"""Groups within groups: treemaps, sunbursts, trees and partitions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import Box, Canvas, drawn, page
from analytics_core._pictures.drawing import MOST_MARKS, CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import Parts, metric_column, read_parts, text_columns
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX, heat_colours, mixed, ramp_colour, readable_on

_TURN: Final = 2 * math.pi
_HEADER_PX: Final = 18
_MOST_NODES: Final = 2_000
_OLD_LABELS: Final = ("key", "value", "key_value")


@dataclass(slots=True)
class Node:
    """A group and the groups in it; `value` is its sum, `second` the sum of another metric."""

    label: str
    value: float = 0.0
    second: float = 0.0
    children: dict[str, Node] = field(default_factory=dict)

    def sorted_children(self) -> list[Node]:
        """Return the groups in it, the largest first."""
        return sorted(self.children.values(), key=lambda child: (-child.value, child.label))


def _tree_of(parts: Parts) -> tuple[Node, tuple[str, ...]]:
    root = Node(parts.measure)
    largest = sorted(parts.parts, key=lambda part: -part.value)
    for part in largest[:_MOST_NODES]:
        root.value += part.value
        node = root
        for key in part.keys or ("all",):
            node = node.children.setdefault(key, Node(key))
            node.value += part.value
    left = len(largest) - _MOST_NODES
    note = (f"Shows the {_MOST_NODES:,} largest of {len(largest):,} groups.",) if left > 0 else ()
    return root, (*parts.notes, *note)


def squarified(values: Sequence[float], box: Box) -> list[Box]:
    """Return a rectangle for each value, of its share of the area and nearly square; values are positive, falling."""
    found: list[Box] = []
    scale = box.width * box.height / (math.fsum(values) or 1)
    areas = [max(value * scale, 1e-9) for value in values]
    start = 0
    while start < len(areas):
        side = max(min(box.width, box.height), 1e-9)
        end = start + 1
        while end < len(areas) and _worst(areas[start : end + 1], side) <= _worst(areas[start:end], side):
            end += 1
        row = areas[start:end]
        depth = math.fsum(row) / side
        place = 0.0
        for area in row:
            length = area / depth
            if box.width >= box.height:
                found.append(Box(x=box.x, y=box.y + place, width=depth, height=length))
            else:
                found.append(Box(x=box.x + place, y=box.y, width=length, height=depth))
            place += length
        if box.width >= box.height:
            box = Box(x=box.x + depth, y=box.y, width=max(box.width - depth, 0), height=box.height)
        else:
            box = Box(x=box.x, y=box.y + depth, width=box.width, height=max(box.height - depth, 0))
        start = end
    return found


def _worst(row: Sequence[float], side: float) -> float:
    total = math.fsum(row)
    return max(side * side * max(row) / (total * total), total * total / (side * side * min(row)))


def _treemap(view: ChartView) -> Drawing:
    table = view.table
    metric = metric_column(view, table, "metric", "metrics")
    parts = read_parts(view, text_columns(view, table, "groupby", "columns"), metric)
    root, notes = _tree_of(parts)
    shown = view.number_format("number_format")
    canvas, room = page(view, notes)
    top = root.sorted_children()
    colours = view.series_colours([node.label for node in top])
    for node, colour, box in zip(top, colours, squarified([node.value for node in top], room), strict=True):
        _tile(canvas, box, view, node, colour, shown, depth=0)
    return drawn(canvas, f"Treemap of {_told(parts, top, shown)}", notes)


def _told(parts: Parts, top: Sequence[Node], shown: NumberFormat) -> str:
    largest = top[0]
    text = f"{parts.measure}{parts.by}: {len(parts.parts)} groups of {shown.text(parts.total)} in all"
    return f"{text}; the largest is {largest.label} with {shown.text(largest.value)}"


def _tile(
    canvas: Canvas, box: Box, view: ChartView, node: Node, colour: str, shown: NumberFormat, *, depth: int
) -> None:
    tip = f"{node.label}: {shown.text(node.value)}"
    canvas.rect(box, colour, stroke=view.colours.background, tip=tip)
    inside = box.inset(4, 3, 4, 3)
    ink = readable_on(colour)
    if node.children and box.width > 30 and box.height > 40:
        canvas.text(
            fitted(tip, inside.width, LABEL_PX, bold=True), inside.x, box.y + _HEADER_PX / 2, ink, weight="bold"
        )
        inner = box.inset(2, _HEADER_PX, 2, 2)
        children = node.sorted_children()
        for place, (child, part) in enumerate(
            zip(children, squarified([child.value for child in children], inner), strict=True)
        ):
            paler = mixed(colour, view.colours.background, min(0.12 + 0.06 * place, 0.5))
            _tile(canvas, part, view, child, paler, shown, depth=depth + 1)
        return
    if not view.form.flag("show_labels", absent=True):
        return
    kind = view.form.get("label_type")
    kind = _OLD_LABELS[kind] if isinstance(kind, int) and 0 <= kind < 3 else kind
    lines = {"Key": [node.label], "value": [shown.text(node.value)], "key": [node.label]}.get(
        str(kind), [node.label, shown.text(node.value)]
    )
    for place, line in enumerate(lines):
        words = fitted(line, inside.width, LABEL_PX)
        if len(words) > 1 and inside.height >= (place + 1) * (LABEL_PX + 3):
            canvas.text(words, inside.x, inside.y + place * (LABEL_PX + 3), ink, baseline="top")


def _sunburst(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    metric = metric_column(view, table, "metric")
    parts = read_parts(view, text_columns(view, table, "columns", "groupby"), metric)
    root, notes = _tree_of(parts)
    second = [name for name in form.metrics("secondary_metric") if name in table.names and name != metric]
    shown = view.number_format("number_format")
    canvas, room = page(view, notes)
    depth = max(len(parts.dimensions), 1)
    radius = max(min(room.width, room.height) / 2 - 2, 10)
    centre = (room.x + room.width / 2, room.y + room.height / 2)
    top = root.sorted_children()
    colours = (
        _second_colours(view, table, parts, second[0], top) if second else view.series_colours([n.label for n in top])
    )
    start = 0.0
    for node, colour in zip(top, colours, strict=True):
        turn = node.value / root.value * _TURN
        _ring(canvas, view, node, colour, (start, start + turn), centre, (radius, depth), 0)
        start += turn
    hole = radius * 0.22
    words = shown.text(root.value)
    px = max(9.0, min(18.0, hole * 1.5 / max(text_width(words, 1, bold=True), 1)))
    canvas.text(words, *centre, view.colours.text, px=px, align="center", weight="bold")
    return drawn(canvas, f"Sunburst of {_told(parts, top, shown)}", notes)


def _second_colours(view: ChartView, table: object, parts: Parts, second: str, top: Sequence[Node]) -> list[str]:
    """Return colours by the ratio of a second metric to the first."""
    values = dict.fromkeys((node.label for node in top), 0.0)
    other = read_parts(view, text_columns(view, view.table, "columns", "groupby"), second, positive=False)
    for part in other.parts:
        if part.keys and part.keys[0] in values:
            values[part.keys[0]] += part.value
    ratios = [values[node.label] / node.value for node in top]
    low, high = min(ratios), max(ratios)
    ramp = heat_colours(view.colours, view.form.text("linear_color_scheme"))
    return [ramp_colour(ramp, (ratio - low) / (high - low) if high > low else 0.5) for ratio in ratios]


def _ring(
    canvas: Canvas,
    view: ChartView,
    node: Node,
    colour: str,
    angles: tuple[float, float],
    centre: tuple[float, float],
    whole: tuple[float, int],
    level: int,
) -> None:
    radius, depth = whole
    hole = radius * 0.22
    step = (radius - hole) / depth
    inner, outer = hole + level * step, hole + (level + 1) * step
    turn = angles[1] - angles[0]
    shown = view.number_format("number_format").text(node.value)
    canvas.arc(centre, (inner, outer), angles, colour, stroke=view.colours.background, tip=f"{node.label}: {shown}")
    if view.form.flag("show_labels", absent=True):
        _ring_label(canvas, view, node, colour, angles, centre, (inner, outer))
    start = angles[0]
    for place, child in enumerate(node.sorted_children()):
        part = child.value / node.value * turn
        paler = mixed(colour, view.colours.background, min(0.15 + 0.07 * place, 0.6))
        _ring(canvas, view, child, paler, (start, start + part), centre, whole, level + 1)
        start += part


def _ring_label(
    canvas: Canvas,
    view: ChartView,
    node: Node,
    colour: str,
    angles: tuple[float, float],
    centre: tuple[float, float],
    radii: tuple[float, float],
) -> None:
    middle, at = (angles[0] + angles[1]) / 2, (radii[0] + radii[1]) / 2
    if (angles[1] - angles[0]) * at < LABEL_PX + 2:
        return
    room_px = radii[1] - radii[0] - 6
    px = min(LABEL_PX, max(LABEL_PX - 2.5, LABEL_PX * room_px / max(text_width(node.label, LABEL_PX), 1)))
    words = fitted(node.label, room_px, px)
    if len(words) < 3 and words != node.label:
        return
    degrees = math.degrees(middle) - 90
    if angles[1] - angles[0] > 6:
        degrees = 0
    elif math.sin(middle) < 0:
        degrees += 180
    x, y = centre[0] + at * math.sin(middle), centre[1] - at * math.cos(middle)
    canvas.text(words, x, y, readable_on(colour), px=px, align="center", angle=degrees)


def _tree(view: ChartView) -> Drawing:
    table, form = view.table, view.form
    names = [form.columns(field)[0] if form.columns(field) else None for field in ("id", "parent", "name")]
    own, parent, label = (name if name in table.names else None for name in names)
    if own is None or parent is None:
        raise CannotDrawError("the form names no column of ids and no column of parents.")
    ids = [cells.text(value) for value in table.values(own)]
    parents = [None if cells.plain(value) is None else cells.text(value) for value in table.values(parent)]
    texts = table.texts(label) if label else table.texts(own)
    root = _rooted(ids, parents, texts, form.text("root_node_id") or None)
    nodes = list(_walk(root))
    notes = []
    if len(nodes) > 400:
        raise CannotDrawError(f"a tree of {len(nodes):,} nodes cannot be read.")
    left = len(set(ids)) - len(nodes)
    if left > 0:
        notes.append(f"{left:,} nodes that do not lead to the root are left out.")
    canvas, room = page(view, notes)
    radial = form.get("layout") == "radial"
    _lay_tree(canvas, room, view, root, radial=radial)
    depth = max(level for _, level in _levels(root))
    return drawn(canvas, f"Tree of {len(nodes)} nodes in {depth + 1} levels, from {root.label}", notes)


def _rooted(ids: Sequence[str], parents: Sequence[str | None], texts: Sequence[str], told: str | None) -> Node:
    nodes = {one: Node(text) for one, text in zip(ids, texts, strict=True)}
    known = set(ids)
    tops = [one for one, parent in zip(ids, parents, strict=True) if parent is None or parent not in known]
    start = told if told in nodes else tops[0] if tops else None
    if start is None:
        raise CannotDrawError("no node is without a parent.")
    children: dict[str, list[str]] = {}
    for one, parent in zip(ids, parents, strict=True):
        if parent is not None and one != start:
            children.setdefault(parent, []).append(one)
    seen, queue = {start}, [start]
    while queue:
        one = queue.pop()
        for child in children.get(one, ()):
            if child not in seen:
                seen.add(child)
                nodes[one].children[child] = nodes[child]
                queue.append(child)
    return nodes[start]


def _walk(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack += one.children.values()


def _levels(root: Node) -> list[tuple[Node, int]]:
    found, queue = [], [(root, 0)]
    while queue:
        node, level = queue.pop()
        found.append((node, level))
        queue += [(child, level + 1) for child in reversed(node.children.values())]
    return found


def _lay_tree(canvas: Canvas, room: Box, view: ChartView, root: Node, *, radial: bool) -> None:
    order = _levels(root)
    depth = max(level for _, level in order) or 1
    leaves = [id(node) for node, _ in order if not node.children]
    rows: dict[int, float] = {key: place + 0.5 for place, key in enumerate(leaves)}
    for node, _ in reversed(order):
        if node.children:
            own = [rows[id(child)] for child in node.children.values()]
            rows[id(node)] = (min(own) + max(own)) / 2
    level_of = {id(node): level for node, level in order}
    widest = max(text_width(node.label, LABEL_PX) for node, _ in order if not node.children)
    margin = min(widest, room.width * 0.22) + 14
    orient = str(view.form.get("orient") or "LR")
    places = {
        key: _tree_place(room, row / len(leaves), level_of[key] / depth, margin, radial=radial, orient=orient)
        for key, row in rows.items()
    }
    for node, _ in order:
        for child in node.children.values():
            (x, y), (to_x, to_y) = places[id(node)], places[id(child)]
            half = (x + to_x) / 2
            bend = f"C{half:.1f},{y:.1f} {half:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}"
            path = (
                f"M{x:.1f},{y:.1f}L{to_x:.1f},{to_y:.1f}"
                if radial or orient in ("TB", "BT")
                else f"M{x:.1f},{y:.1f}{bend}"
            )
            canvas.shape(path, "transparent", stroke=view.colours.muted, width=1)
    for node, _ in order:
        canvas.circle(
            *places[id(node)],
            4,
            view.colours.accent if node.children else view.colours.background,
            stroke=view.colours.accent,
        )
    middle = room.x + room.width / 2
    for node, _ in order:
        x, y = places[id(node)]
        if radial and node.children:
            canvas.text(
                fitted(node.label, margin - 10, LABEL_PX), x, y - 10, view.colours.text, align="center", weight="bold"
            )
        elif radial:
            right = x >= middle
            canvas.text(
                fitted(node.label, margin - 10, LABEL_PX),
                x + (8 if right else -8),
                y,
                view.colours.text,
                align="left" if right else "right",
            )
        elif orient in ("TB", "BT"):
            canvas.text(
                fitted(node.label, room.width / max(len(leaves), 1) * 0.98, LABEL_PX),
                x,
                y + 12,
                view.colours.text,
                align="center",
            )
        elif node.children:
            canvas.text(
                fitted(node.label, margin, LABEL_PX),
                x,
                y - 10,
                view.colours.text,
                align="center" if level_of[id(node)] else "left",
            )
        else:
            canvas.text(
                fitted(node.label, margin - 10, LABEL_PX),
                x + (8 if orient != "RL" else -8),
                y,
                view.colours.text,
                align="left" if orient != "RL" else "right",
            )


def _tree_place(
    room: Box, across: float, along: float, margin: float, *, radial: bool, orient: str
) -> tuple[float, float]:
    if radial:
        radius = along * max(min(room.width / 2 - margin, room.height / 2 - 10), 10)
        angle = across * _TURN
        return room.x + room.width / 2 + radius * math.sin(angle), room.y + room.height / 2 - radius * math.cos(angle)
    if orient in ("TB", "BT"):
        down = along if orient == "TB" else 1 - along
        return room.x + across * room.width, room.y + 10 + down * (room.height - 40)
    aside = along if orient != "RL" else 1 - along
    left = 8 if orient != "RL" else margin
    return room.x + left + aside * (room.width - margin - 8), room.y + across * room.height


def _partition(view: ChartView) -> Drawing:
    table = view.table
    metric = metric_column(view, table, "metrics", "metric")
    parts = read_parts(view, text_columns(view, table, "groupby"), metric)
    root, notes = _tree_of(parts)
    shown = view.number_format("number_format")
    canvas, room = page(view, notes)
    depth = len(parts.dimensions) + 1
    width = room.width / depth
    colours = view.series_colours([node.label for node in root.sorted_children()])
    _bar(canvas, view, root, view.colours.neutral, Box(x=room.x, y=room.y, width=width, height=room.height), shown)
    y = room.y
    for node, colour in zip(root.sorted_children(), colours, strict=True):
        height = room.height * node.value / root.value
        _bars(canvas, view, node, colour, Box(x=room.x + width, y=y, width=width, height=height), shown)
        y += height
    return drawn(canvas, f"Partition of {_told(parts, root.sorted_children(), shown)}", notes)


def _bars(canvas: Canvas, view: ChartView, node: Node, colour: str, box: Box, shown: NumberFormat) -> None:
    _bar(canvas, view, node, colour, box, shown)
    y = box.y
    for place, child in enumerate(node.sorted_children()):
        height = box.height * child.value / node.value
        paler = mixed(colour, view.colours.background, min(0.15 + 0.07 * place, 0.6))
        _bars(canvas, view, child, paler, Box(x=box.right, y=y, width=box.width, height=height), shown)
        y += height


def _bar(canvas: Canvas, view: ChartView, node: Node, colour: str, box: Box, shown: NumberFormat) -> None:
    words = f"{node.label}: {shown.text(node.value)}"
    canvas.rect(box, colour, stroke=view.colours.background, tip=words)
    if box.height >= LABEL_PX + 3:
        canvas.text(
            fitted(words, box.width - 8, LABEL_PX), box.x + 4, box.y + min(box.height / 2, 12), readable_on(colour)
        )


KINDS: Final = (
    PictureKind(name="treemap_v2", noun="treemap", draw=_treemap),
    PictureKind(name="sunburst_v2", noun="sunburst", draw=_sunburst),
    PictureKind(name="tree_chart", noun="tree", draw=_tree),
    PictureKind(name="partition", noun="partition", draw=_partition),
)
