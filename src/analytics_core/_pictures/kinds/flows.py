"""What leads from one to another: Sankey diagrams, chords and graphs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analytics_core._pictures import cells
from analytics_core._pictures.canvas import Box, Canvas
from analytics_core._pictures.drawing import CannotDrawError, ChartView, Drawing, PictureKind
from analytics_core._pictures.number_formats import NumberFormat
from analytics_core._pictures.parts_data import metric_column, read_parts
from analytics_core._pictures.text_metrics import fitted, text_width
from analytics_core._pictures.theme import LABEL_PX
from analytics_core._tools.display.blocks import counted

_MOST_LINKS: Final = 300
_MOST_NODES: Final = 60
_NODE_PX: Final = 14
_TURN: Final = 2 * math.pi


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A flow from one node to another."""

    source: str
    target: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The links of an answer, the largest first, and what was left out."""

    measure: str
    links: tuple[Link, ...]
    notes: tuple[str, ...]

    def nodes(self) -> list[str]:
        """Return the nodes in the order of the links."""
        return list(dict.fromkeys(end for link in self.links for end in (link.source, link.target)))

    def through(self) -> dict[str, float]:
        """Return how much goes through each node: what comes or what leaves, whichever is more."""
        leaves: dict[str, float] = dict.fromkeys(self.nodes(), 0)
        comes: dict[str, float] = dict.fromkeys(self.nodes(), 0)
        for link in self.links:
            leaves[link.source] = cells.total((leaves[link.source], link.value))
            comes[link.target] = cells.total((comes[link.target], link.value))
        return {node: max(leaves[node], comes[node]) for node in leaves}


def _read(view: ChartView, sources: Sequence[str], targets: Sequence[str]) -> Flow:
    table = view.table
    metric = metric_column(view, table, "metric", "metrics")
    texts = [name for name in table.names if not table.is_numeric(name) and name != metric]
    named = [name for fields in (sources, targets) for name in view.form.columns(*fields)[:1] if name in table.names]
    ends = (named if len(named) == 2 else [*named, *(name for name in texts if name not in named)])[:2]
    if len(ends) < 2:
        raise CannotDrawError("the answer needs two columns of groups and a number.")
    parts = read_parts(view, ends, metric)
    sums: dict[tuple[str, str], float] = {}
    for part in parts.parts:
        ends_of_part = (part.keys[0], part.keys[1])
        sums[ends_of_part] = cells.total((sums.get(ends_of_part, 0), part.value))
    links = [Link(source=source, target=target, value=value) for (source, target), value in sums.items()]
    links.sort(key=lambda link: (-link.value, link.source, link.target))
    return _limited(parts.measure, links, parts.notes)


def _limited(measure: str, links: Sequence[Link], notes: tuple[str, ...]) -> Flow:
    through = Flow(measure=measure, links=tuple(links), notes=()).through()
    largest = sorted(through, key=lambda node: (-through[node], node))[:_MOST_NODES]
    known = set(largest)
    visible = [link for link in links if link.source in known and link.target in known][:_MOST_LINKS]
    if len(visible) < len(links):
        notes = (*notes, f"Shows the {len(visible):,} largest of {len(links):,} links.")
    return Flow(measure=measure, links=tuple(visible), notes=notes)


def _summary(flow: Flow, noun: str, fmt: NumberFormat) -> str:
    first = flow.links[0]
    links, nodes = counted(len(flow.links), "link"), counted(len(flow.nodes()), "node")
    text = f"{noun} of {flow.measure}: {links} between {nodes}; "
    return f"{text}the largest goes from {first.source} to {first.target} with {fmt.text(first.value)}"


def _sankey(view: ChartView) -> Drawing:
    flow = _read(view, ("source",), ("target",))
    levels, forward = _levelled(flow)
    notes = flow.notes
    if len(forward) < len(flow.links):
        notes = (*notes, f"Left out: {counted(len(flow.links) - len(forward), 'link')} that would lead back.")
        flow = Flow(measure=flow.measure, links=tuple(forward), notes=notes)
    if not forward:
        raise CannotDrawError("all links lead back to their start.")
    fmt = view.number_format("number_format", "y_axis_format")
    canvas = Canvas(view, notes)
    boxes = _sankey_boxes(flow, {node: levels[node] for node in flow.nodes()}, canvas.room)
    colours = dict(zip(flow.nodes(), view.series_colours(flow.nodes()), strict=True))
    _ribbons(canvas, flow, boxes, colours, fmt)
    for node, box in boxes.items():
        canvas.rect(box, colours[node], tip=node)
    last = max(levels[node] for node in boxes)
    column_px = (canvas.room.width - _NODE_PX) / max(last, 1)
    for node, box in boxes.items():
        is_last = levels[node] == last
        x = box.x - 5 if is_last else box.right + 5
        words = fitted(node, max(column_px - _NODE_PX - 14, 40) * (0.5 if last else 1), LABEL_PX)
        if box.height >= LABEL_PX - 4 or len(boxes) < 25:
            canvas.text(words, x, box.y + box.height / 2, view.colours.text, align="right" if is_last else "left")
    return canvas.drawing(_summary(flow, "Sankey diagram", fmt))


def _levelled(flow: Flow) -> tuple[dict[str, int], list[Link]]:
    """Return the column of each node, and the links that lead to the right; one that closes a circle does not."""
    after: dict[str, set[str]] = {node: set() for node in flow.nodes()}
    forward = []
    for link in flow.links:
        if link.source != link.target and not _leads(after, link.target, link.source):
            after[link.source].add(link.target)
            forward.append(link)
    levels, before = dict.fromkeys(after, 0), dict[str, int]()
    while levels != before:
        before = dict(levels)
        for node, target in ((node, target) for node, targets in after.items() for target in targets):
            levels[target] = max(levels[target], levels[node] + 1)
    return levels, forward


def _leads(after: Mapping[str, set[str]], start: str, end: str) -> bool:
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        if node == end:
            return True
        for target in after[node] - seen:
            seen.add(target)
            stack.append(target)
    return False


def _sankey_boxes(flow: Flow, levels: Mapping[str, int], room: Box) -> dict[str, Box]:
    """Return the rectangle of each node: in columns, sorted so that links cross little."""
    through, last = flow.through(), max(levels.values())
    columns: list[list[str]] = [[node for node in through if levels[node] == level] for level in range(last + 1)]
    columns = [column for column in columns if column]
    gap = min(12.0, room.height * 0.3 / max(max(len(column) for column in columns) - 1, 1))
    scale = min(
        (room.height - gap * (len(column) - 1)) / math.fsum(through[node] for node in column) for column in columns
    )
    found: dict[str, Box] = {}
    for column in columns:
        came: dict[str, list[tuple[float, float]]] = {node: [] for node in column}
        for link in flow.links:
            if link.target in came and link.source in found:
                box = found[link.source]
                came[link.target].append((box.y + box.height / 2, link.value))
        order = sorted(column, key=lambda node: (_middle(came[node]), -through[node], node))
        height = math.fsum(through[node] * scale for node in order) + gap * (len(order) - 1)
        y = room.y + (room.height - height) / 2
        for node in order:
            x = room.x + levels[node] / max(last, 1) * (room.width - _NODE_PX)
            found[node] = Box(x=x, y=y, width=_NODE_PX, height=max(through[node] * scale, 1))
            y += through[node] * scale + gap
    return found


def _middle(came: Sequence[tuple[float, float]]) -> float:
    weight = math.fsum(value for _, value in came)
    return math.fsum(place * value for place, value in came) / weight if weight else 0.0


def _ribbons(
    canvas: Canvas, flow: Flow, boxes: Mapping[str, Box], colours: Mapping[str, str], fmt: NumberFormat
) -> None:
    through = flow.through()
    left, right = dict.fromkeys(boxes, 0.0), dict.fromkeys(boxes, 0.0)
    for link in sorted(flow.links, key=lambda link: (boxes[link.source].y, boxes[link.target].y)):
        start, end = boxes[link.source], boxes[link.target]
        thick = link.value / through[link.source] * start.height
        y0, y1 = start.y + left[link.source], end.y + right[link.target]
        left[link.source] += thick
        right[link.target] += link.value / through[link.target] * end.height
        half = (start.right + end.x) / 2
        low0, low1 = y0 + thick, y1 + thick
        path = (
            f"M{start.right:.1f},{y0:.1f}C{half:.1f},{y0:.1f} {half:.1f},{y1:.1f} {end.x:.1f},{y1:.1f}L{end.x:.1f},"
            f"{low1:.1f}C{half:.1f},{low1:.1f} {half:.1f},{low0:.1f} {start.right:.1f},{low0:.1f}Z"
        )
        canvas.shape(
            path, colours[link.source], opacity=0.4, tip=f"{link.source} to {link.target}: {fmt.text(link.value)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ring:
    """The nodes of a chord diagram around a circle: where each begins, and the angle of one unit, in radians."""

    centre: tuple[float, float]
    inner: float
    outer: float
    starts: Mapping[str, float]
    unit: float
    label_px: float


def _chord(view: ChartView) -> Drawing:
    flow = _read(view, ("groupby", "source"), ("columns", "target"))
    fmt = view.number_format("y_axis_format", "number_format")
    nodes = flow.nodes()
    canvas = Canvas(view, flow.notes)
    sums = dict.fromkeys(nodes, 0.0)
    for link in flow.links:
        sums[link.source] += link.value
        sums[link.target] += link.value
    ring = _ring(canvas.room, sums)
    colours = dict(zip(nodes, view.series_colours(nodes), strict=True))
    _chords(canvas, flow, ring, colours, fmt)
    for node in nodes:
        turn = sums[node] * ring.unit
        angles = (ring.starts[node], ring.starts[node] + turn)
        canvas.arc(ring.centre, (ring.inner, ring.outer), angles, colours[node], tip=node)
        if turn * ring.outer >= LABEL_PX - 4:
            _round_label(canvas, node, angles[0] + turn / 2, ring)
    return canvas.drawing(_summary(flow, "Chord diagram", fmt))


def _ring(room: Box, sums: Mapping[str, float]) -> _Ring:
    widest = min(max(text_width(node, LABEL_PX) for node in sums), room.width * 0.2)
    across, up = room.width / 2 - widest - 12, room.height / 2 - min(widest, room.height * 0.16) - 6
    outer = max(min(across, up), 20)
    pad = min(0.03, 1.0 / len(sums))
    unit = (_TURN - pad * len(sums)) / math.fsum(sums.values())
    starts: dict[str, float] = {}
    angle = 0.0
    for node, value in sums.items():
        starts[node] = angle
        angle += value * unit + pad
    centre = (room.x + room.width / 2, room.y + room.height / 2)
    return _Ring(centre=centre, inner=outer * 0.94, outer=outer, starts=starts, unit=unit, label_px=widest)


def _round_label(canvas: Canvas, words: str, angle: float, ring: _Ring) -> None:
    degrees, align = math.degrees(angle) - 90, "left"
    if math.sin(angle) < 0:
        degrees, align = degrees + 180, "right"
    up, room_px = math.cos(angle), ring.label_px
    x, y = _on_circle(ring.centre, ring.outer + 6, angle)
    if up > 0.1:
        room_px = min(room_px, (y - canvas.room.y) / up)
    elif up < -0.1:
        room_px = min(room_px, (canvas.room.bottom - y) / -up)
    canvas.text(fitted(words, room_px + 2, LABEL_PX), x, y, canvas.colours.text, align=align, angle=degrees)


def _chords(canvas: Canvas, flow: Flow, ring: _Ring, colours: Mapping[str, str], fmt: NumberFormat) -> None:
    used = dict(ring.starts)
    radius, (cx, cy) = ring.inner, ring.centre
    for link in flow.links:
        turn = link.value * ring.unit
        angles = []
        for node in (link.source, link.target):
            angles += [used[node], used[node] + turn]
            used[node] += turn
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = (_on_circle(ring.centre, radius, angle) for angle in angles)
        arc = f"A{radius:.1f},{radius:.1f} 0 {int(turn > math.pi)} 1"
        path = f"M{x0:.1f},{y0:.1f}{arc} {x1:.1f},{y1:.1f}Q{cx:.1f},{cy:.1f} {x2:.1f},{y2:.1f}"
        path += f"{arc} {x3:.1f},{y3:.1f}Q{cx:.1f},{cy:.1f} {x0:.1f},{y0:.1f}Z"
        tip = f"{link.source} to {link.target}: {fmt.text(link.value)}"
        canvas.shape(path, colours[link.source], opacity=0.45, tip=tip)


def _on_circle(centre: tuple[float, float], radius: float, angle: float) -> tuple[float, float]:
    return centre[0] + radius * math.sin(angle), centre[1] - radius * math.cos(angle)


def _graph(view: ChartView) -> Drawing:
    """Draw a graph whose nodes push each other away and whose links pull, always the same way."""
    flow = _read(view, ("source",), ("target",))
    fmt = view.number_format("number_format")
    nodes = flow.nodes()
    canvas = Canvas(view, flow.notes)
    through = flow.through()
    largest, heaviest = max(through.values()), flow.links[0].value
    inner = canvas.room.inset(50, 16, 50, 16)
    places = _circle_places(nodes, inner) if view.form.get("layout") == "circular" else _force_places(flow, inner)
    colours = dict(zip(nodes, view.series_colours(nodes), strict=True))
    for link in flow.links:
        if link.source != link.target:
            width = 0.8 + 3 * link.value / heaviest
            canvas.line([places[link.source], places[link.target]], view.colours.line, width=round(width * 2) / 2)
    for node in nodes:
        radius = 5 + 11 * math.sqrt(through[node] / largest)
        canvas.circle(
            *places[node],
            radius,
            colours[node],
            stroke=view.colours.background,
            tip=f"{node}: {fmt.text(through[node])}",
        )
    for node in sorted(nodes, key=lambda node: -through[node])[:40]:
        x, y = places[node]
        radius = 5 + 11 * math.sqrt(through[node] / largest)
        canvas.text(fitted(node, 110, LABEL_PX), x, y + radius + 7, view.colours.text, align="center", px=LABEL_PX - 1)
    return canvas.drawing(_summary(flow, "Graph", fmt))


def _circle_places(nodes: Sequence[str], room: Box) -> dict[str, tuple[float, float]]:
    centre, radius = (room.x + room.width / 2, room.y + room.height / 2), min(room.width, room.height) / 2
    return {node: _on_circle(centre, radius, place / len(nodes) * _TURN) for place, node in enumerate(nodes)}


def _force_places(flow: Flow, room: Box) -> dict[str, tuple[float, float]]:
    nodes = flow.nodes()
    golden = math.pi * (3 - math.sqrt(5))
    at = [
        (math.sqrt(i + 0.5) * math.cos(i * golden), math.sqrt(i + 0.5) * math.sin(i * golden))
        for i in range(len(nodes))
    ]
    place_of = {node: place for place, node in enumerate(nodes)}
    pairs = [(place_of[link.source], place_of[link.target]) for link in flow.links if link.source != link.target]
    heat = 1.0
    for _ in range(120 if len(nodes) > 1 else 0):
        at = _pushed(at, pairs, heat)
        heat *= 0.96
    low_x, high_x = min(x for x, _ in at), max(x for x, _ in at)
    low_y, high_y = min(y for _, y in at), max(y for _, y in at)
    return {
        node: (
            room.x + room.width * ((x - low_x) / (high_x - low_x) if high_x > low_x else 0.5),
            room.y + room.height * ((y - low_y) / (high_y - low_y) if high_y > low_y else 0.5),
        )
        for node, (x, y) in zip(nodes, at, strict=True)
    }


def _pushed(at: list[tuple[float, float]], pairs: Sequence[tuple[int, int]], heat: float) -> list[tuple[float, float]]:
    moves = [[-0.03 * x, -0.03 * y] for x, y in at]
    for first in range(len(at)):
        for second in range(first):
            dx, dy = at[first][0] - at[second][0], at[first][1] - at[second][1]
            push = 1.2 / max(dx * dx + dy * dy, 0.01)
            moves[first][0] += dx * push
            moves[first][1] += dy * push
            moves[second][0] -= dx * push
            moves[second][1] -= dy * push
    for first, second in pairs:
        dx, dy = at[second][0] - at[first][0], at[second][1] - at[first][1]
        pull = 0.12 * math.hypot(dx, dy) / 2
        moves[first][0] += dx * pull
        moves[first][1] += dy * pull
        moves[second][0] -= dx * pull
        moves[second][1] -= dy * pull
    found = []
    for (x, y), (dx, dy) in zip(at, moves, strict=True):
        length = math.hypot(dx, dy) or 1.0
        step = min(length, heat)
        found.append((x + dx / length * step, y + dy / length * step))
    return found


KINDS: Final = (
    PictureKind(name="sankey_v2", noun="Sankey diagram", draw=_sankey),
    PictureKind(name="chord", noun="chord diagram", draw=_chord),
    PictureKind(name="graph_chart", noun="graph", draw=_graph),
)
