"""A picture that sets its own pixels: shapes and texts as layers of Vega-Lite, for what no scale lays out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._pictures.drawing import ChartView, Drawing
from analytics_core._pictures.form_fields import FormFields
from analytics_core._pictures.text_metrics import fitted, wrapped
from analytics_core._pictures.theme import LABEL_PX, NOTE_PX, TITLE_PX, Colours

_MARGIN_PX: Final = 10
_NOTE_LINE_PX: Final = NOTE_PX + 4
_MOST_NOTE_LINES: Final = 6
_PIXEL: Final[dict[str, Any]] = {"type": "quantitative", "scale": None, "axis": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle of pixels; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the lower edge."""
        return self.y + self.height

    def inset(self, left: float = 0, top: float = 0, right: float = 0, bottom: float = 0) -> Box:
        """Return the rectangle without some pixels at its edges; never of less than one pixel."""
        return Box(
            x=self.x + left,
            y=self.y + top,
            width=max(self.width - left - right, 1),
            height=max(self.height - top - bottom, 1),
        )


class Canvas:
    """A picture with its title at the top and its notes at the foot; `room` is what is left between them.

    A shape lies above those added before, and texts above all shapes. `notes` are those at the foot, of the view and
    further ones; a field of the form that is rejected after the canvas is made is not among them, so that a chart with
    such a field is drawn again.

    Args:
        view: the chart.
        notes: further notes than those of the view.
    """

    def __init__(self, view: ChartView, notes: Iterable[str] = ()) -> None:
        self.view, self.notes = view, tuple(view.notes(notes))
        self._shapes: list[tuple[tuple[Any, ...], list[dict[str, Any]]]] = []
        self._texts: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        full = Box(x=0, y=0, width=view.size.width_px, height=view.size.height_px)
        self.room = full.inset(_MARGIN_PX, _MARGIN_PX, _MARGIN_PX, _MARGIN_PX)
        self._add_title()
        self._add_notes()

    def _add_title(self) -> None:
        if self.view.title:
            title = fitted(self.view.title, self.room.width, TITLE_PX, bold=True)
            at = (self.room.x, self.room.y)
            self.text(title, *at, self.colours.text, px=TITLE_PX, baseline="top", weight="bold")
            self.room = self.room.inset(top=TITLE_PX + _MARGIN_PX)

    def _add_notes(self) -> None:
        lines = note_lines(self.notes, self.room.width)
        for place, line in enumerate(reversed(lines)):
            y = self.room.bottom - place * _NOTE_LINE_PX
            self.text(line, self.room.x, y, self.colours.muted, px=NOTE_PX, baseline="bottom")
        self.room = self.room.inset(bottom=len(lines) * _NOTE_LINE_PX + (4 if lines else 0))

    @property
    def form(self) -> FormFields:
        """The fields of the chart."""
        return self.view.form

    @property
    def colours(self) -> Colours:
        """The colours of the theme."""
        return self.view.colours

    def drawing(self, description: str) -> Drawing:
        """Return what was added as the drawing of a chart."""
        layers = tuple(_LAYERS[key[0]](key, rows) for key, rows in (*self._shapes, *self._texts.items()))
        height_px = self.view.size.height_px
        return Drawing(layers=layers, description=description, notes=self.notes, is_canvas=True, height_px=height_px)

    def rect(
        self, box: Box, fill: str, *, opacity: float = 1.0, radius: float = 0, tip: str = "", stroke: str = ""
    ) -> None:
        """Add a rectangle."""
        row = {"c0": _px(box.x), "c1": _px(box.y), "c2": _px(box.right), "c3": _px(box.bottom), "c4": fill}
        self._add(("rect", opacity, radius, stroke), row, tip)

    def text(
        self,
        words: str,
        x: float,
        y: float,
        colour: str,
        *,
        px: float = LABEL_PX,
        align: str = "left",
        baseline: str = "middle",
        weight: str = "normal",
        angle: float = 0,
    ) -> None:
        """Add a text in one line."""
        if words:
            row = {"c0": _px(x), "c1": _px(y), "c2": words, "c3": colour, "c4": round(px, 1), "c5": round(angle, 1)}
            self._texts.setdefault(("text", align, baseline, weight), []).append(row)

    def line(
        self, points: Iterable[tuple[float, float]], colour: str, *, width: float = 1, dash: tuple[int, ...] = ()
    ) -> None:
        """Add a line through points."""
        path = "M" + "L".join(f"{_px(x)},{_px(y)}" for x, y in points)
        self._add(("path", width, dash, 1.0), {"c0": path, "c1": "transparent", "c2": colour})

    def shape(
        self,
        path: str,
        fill: str,
        *,
        stroke: str = "transparent",
        width: float = 0,
        opacity: float = 1.0,
        tip: str = "",
    ) -> None:
        """Add a shape by its SVG path in pixels."""
        self._add(("path", width, (), opacity), {"c0": path, "c1": fill, "c2": stroke}, tip)

    def arc(
        self,
        centre: tuple[float, float],
        radii: tuple[float, float],
        angles: tuple[float, float],
        fill: str,
        *,
        stroke: str = "",
        tip: str = "",
    ) -> None:
        """Add a part of a ring; angles in radians, clockwise from the top."""
        row = {
            "c0": _px(radii[0]),
            "c1": _px(radii[1]),
            "c2": round(angles[0], 4),
            "c3": round(angles[1], 4),
            "c4": fill,
        }
        row |= {"c5": _px(centre[0]), "c6": _px(centre[1])}
        self._add(("arc", stroke), row, tip)

    def circle(
        self, x: float, y: float, radius: float, fill: str, *, opacity: float = 1.0, stroke: str = "", tip: str = ""
    ) -> None:
        """Add a circle."""
        row = {"c0": _px(x), "c1": _px(y), "c2": round(radius * radius * 3.14159265, 1), "c3": fill}
        self._add(("circle", opacity, stroke), row, tip)

    def _add(self, key: tuple[Any, ...], row: dict[str, Any], tip: str = "") -> None:
        if tip:
            row["t"] = tip
        if not self._shapes or self._shapes[-1][0] != key:
            self._shapes.append((key, []))
        self._shapes[-1][1].append(row)


def _px(value: float) -> float:
    return round(value, 2)


def _pixel(name: str) -> dict[str, Any]:
    return {"field": name, **_PIXEL}


def _raw(name: str, kind: str = "nominal") -> dict[str, Any]:
    return {"field": name, "type": kind, "scale": None, "legend": None}


def _layer(rows: list[dict[str, Any]], mark: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
    if any("t" in row for row in rows):
        encoding["tooltip"] = {"field": "t", "type": "nominal"}
    return {"data": {"values": rows}, "mark": mark, "encoding": encoding}


def _stroke(colour: str) -> dict[str, Any]:
    return {"stroke": colour, "strokeWidth": 1} if colour else {}


def _rects(key: tuple[Any, ...], rows: list[dict[str, Any]]) -> dict[str, Any]:
    mark = {"type": "rect", "opacity": key[1], "cornerRadius": key[2], **_stroke(key[3])}
    places = {"x": _pixel("c0"), "y": _pixel("c1"), "x2": {"field": "c2"}, "y2": {"field": "c3"}}
    return _layer(rows, mark, {**places, "color": _raw("c4")})


def _texts(key: tuple[Any, ...], rows: list[dict[str, Any]]) -> dict[str, Any]:
    mark = {"type": "text", "align": key[1], "baseline": key[2], "fontWeight": key[3]}
    encoding = {"x": _pixel("c0"), "y": _pixel("c1"), "text": {"field": "c2", "type": "nominal"}, "color": _raw("c3")}
    encoding |= {"size": _raw("c4", "quantitative")}
    if any(row["c5"] for row in rows):
        encoding["angle"] = {"field": "c5", "type": "quantitative", "scale": None}
    return _layer(rows, mark, encoding)


def _paths(key: tuple[Any, ...], rows: list[dict[str, Any]]) -> dict[str, Any]:
    mark: dict[str, Any] = {"type": "point", "filled": True, "strokeWidth": key[1], "opacity": key[3]}
    if key[2]:
        mark["strokeDash"] = list(key[2])
    encoding = {"x": {"value": 0}, "y": {"value": 0}, "size": {"value": 4}, "shape": _raw("c0")}
    encoding |= {"fill": _raw("c1"), "stroke": _raw("c2")}
    return _layer(rows, mark, encoding)


def _arcs(key: tuple[Any, ...], rows: list[dict[str, Any]]) -> dict[str, Any]:
    mark = {"type": "arc", **_stroke(key[1])}
    encoding = {"x": _pixel("c5"), "y": _pixel("c6"), "radius": _raw("c1", "quantitative"), "radius2": {"field": "c0"}}
    encoding |= {"theta": _raw("c2", "quantitative"), "theta2": {"field": "c3"}, "color": _raw("c4")}
    for name in ("radius", "theta"):
        encoding[name].pop("legend")
    return _layer(rows, mark, encoding)


def _circles(key: tuple[Any, ...], rows: list[dict[str, Any]]) -> dict[str, Any]:
    mark = {"type": "circle", "opacity": key[1], **_stroke(key[2])}
    return _layer(
        rows, mark, {"x": _pixel("c0"), "y": _pixel("c1"), "size": _raw("c2", "quantitative"), "color": _raw("c3")}
    )


_LAYERS: Final[Mapping[str, Any]] = {"rect": _rects, "text": _texts, "path": _paths, "arc": _arcs, "circle": _circles}


def note_lines(notes: Iterable[str], width_px: float) -> list[str]:
    """Return notes as lines of a width, not many of them."""
    lines = [line for note in dict.fromkeys(notes) for line in wrapped(note, width_px, NOTE_PX)]
    if len(lines) > _MOST_NOTE_LINES:
        remaining = len(lines) - _MOST_NOTE_LINES + 1
        lines = [*lines[: _MOST_NOTE_LINES - 1], f"and {remaining} more lines of notes"]
    return lines
