"""SVG in which nothing acts and nothing is loaded: elements and attributes are copied by a list of what may stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final
from xml.parsers import expat

from analytics_core.errors import PictureError

_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_XML: Final = "http://www.w3.org/XML/1998/namespace"
_SEPARATOR: Final = "\n"

_ELEMENTS: Final = frozenset(
    (
        *("svg", "g", "defs", "title", "desc", "path", "rect", "line", "circle", "ellipse", "polyline", "polygon"),
        *("text", "tspan", "image", "clipPath", "mask", "linearGradient", "radialGradient", "stop", "pattern"),
    )
)
_AS_GROUPS: Final = frozenset({"a"})
"""Elements that are copied as groups: links of a picture lead nowhere."""

_TEXT_ONLY: Final = frozenset({"title", "desc"})
"""Elements in which a page of HTML reads HTML again: they hold no elements here."""

_ATTRIBUTES: Final = frozenset(
    (
        *("id", "class", "role", "style", "transform", "width", "height", "viewBox", "preserveAspectRatio", "version"),
        *("x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "cx", "cy", "r", "rx", "ry", "fx", "fy", "d", "points"),
        *("fill", "fill-opacity", "fill-rule", "clip-rule", "clip-path", "mask", "opacity", "color", "paint-order"),
        *("stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap"),
        *("stroke-linejoin", "stroke-miterlimit", "vector-effect", "display", "visibility", "overflow"),
        *("shape-rendering", "text-rendering", "pointer-events", "cursor", "offset", "stop-color", "stop-opacity"),
        *("font-family", "font-size", "font-style", "font-variant", "font-weight", "font-stretch", "letter-spacing"),
        *("word-spacing", "text-anchor", "text-decoration", "dominant-baseline", "alignment-baseline"),
        *("baseline-shift", "textLength", "lengthAdjust", "rotate", "direction", "unicode-bidi", "writing-mode"),
        *("gradientUnits", "gradientTransform", "spreadMethod", "patternUnits", "patternContentUnits"),
        *("patternTransform", "clipPathUnits", "maskUnits", "maskContentUnits"),
    )
)
_ARIA: Final = re.compile(r"aria-[a-z]+")
_INNER_REFERENCE: Final = re.compile(r"#[\w.-]+")
_PAINT_SERVER: Final = re.compile(r"""url\(\s*["']?#([\w.-]+)["']?\s*\)""")
_PIXELS: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*")
_STYLE: Final = re.compile(r"[\w\s:;.,#%()'-]*")
_NO_FUNCTION: Final = re.compile(r"[\s,;:]")
_FUNCTIONS: Final = frozenset(
    ("matrix", "translate", "scale", "rotate", "skewx", "skewy", "rgb", "rgba", "hsl", "hsla", "lab", "lch")
)
_LAST_FONT: Final = "sans-serif"
"""What a text is set in where none of its fonts is there; without it the renderer would leave the text out."""

_LONGEST_DEPTH: Final = 200
_TO_ESCAPE: Final = re.compile(r"""[&<>"'\n\r\t]""")
_WHITE: Final = str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def safe_svg(text: str, *, prefix: str = "") -> str:
    """Return an SVG document without scripts, links, styles and whatever else could act or be loaded.

    Ids are numbered in their order after `prefix`, so that several documents can stand in one page. Texts whose fonts
    are not there are set in the font for `sans-serif`.

    Raises:
        PictureError: it is no SVG document, or declares a document type.
    """
    copy = _Copy(prefix)
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.ordered_attributes = True
    parser.buffer_text = True
    parser.StartElementHandler = copy.start
    parser.EndElementHandler = copy.end
    parser.CharacterDataHandler = copy.text
    parser.StartDoctypeDeclHandler = _reject_document_type
    try:
        parser.Parse(text.encode(), True)
    except (expat.ExpatError, UnicodeError):
        raise PictureError("a page is no SVG document that can be read") from None
    return copy.document()


def _reject_document_type(*_declared: object) -> None:
    raise PictureError("an SVG document of a picture may declare no document type")


class _Copy:
    """The copy of a document, while it is read."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._parts: list[str] = []
        self._open: list[str] = []
        self._omitted = 0
        self._is_begun = False
        self._ids: dict[str, str] = {}

    def document(self) -> str:
        """Return the copy; PictureError where the root is no `svg`."""
        if not self._parts:
            raise PictureError("a page is no SVG document that can be read")
        return "".join(self._parts)

    def _enter(self) -> None:
        """End the tag that was begun last, if it has no end yet."""
        if self._is_begun:
            self._parts.append(">")
            self._is_begun = False

    def start(self, qualified: str, attributes: list[str]) -> None:
        """Begin an element, or begin to leave one out with all that is in it."""
        name = self._name(qualified)
        is_in_text = bool(self._open) and self._open[-1] in _TEXT_ONLY
        if self._omitted or name is None or is_in_text or len(self._open) >= _LONGEST_DEPTH:
            self._omitted += 1
            return
        self._enter()
        spaces = "" if self._open else f' xmlns="{_SVG}" xmlns:xlink="{_XLINK}"'
        pairs = dict(zip(attributes[::2], attributes[1::2], strict=True))
        if not self._open:
            pairs.setdefault("font-family", _LAST_FONT)
        self._open.append(name)
        self._parts.append(f"<{name}{spaces}{''.join(self._attributes(name, pairs))}")
        self._is_begun = True

    def end(self, _qualified: str) -> None:
        """End an element."""
        if self._omitted:
            self._omitted -= 1
            return
        name = self._open.pop()
        self._parts.append("/>" if self._is_begun else f"</{name}>")
        self._is_begun = False

    def text(self, text: str) -> None:
        """Copy a text."""
        if not self._omitted and self._open:
            self._enter()
            self._parts.append(escape(text, quote=False))

    def _name(self, qualified: str) -> str | None:
        """Return the name that an element has in the copy; None where it has no place there."""
        space, _, name = qualified.rpartition(_SEPARATOR)
        if space != _SVG or (not self._open and name != "svg"):
            return None
        return "g" if name in _AS_GROUPS else name if name in _ELEMENTS else None

    def _attributes(self, element: str, given: Mapping[str, str]) -> Iterator[str]:
        """Yield what an element keeps of its attributes; pages of HTML do not tell small letters from large ones."""
        for qualified, value in given.items():
            space, _, name = qualified.rpartition(_SEPARATOR)
            if name.lower() == "href":
                yield from self._reference(element, value)
            elif space == _XML and name == "space":
                yield f" xml:space={_quoted(value)}"
            elif space or (name not in _ATTRIBUTES and not _ARIA.fullmatch(name)):
                continue
            elif (copied := self._value(name, value)) is not None:
                yield f" {name}={_quoted(copied)}"

    def _reference(self, element: str, value: str) -> Iterator[str]:
        if _INNER_REFERENCE.fullmatch(value):
            yield f' xlink:href="#{self._id(value[1:])}"'
        elif element == "image" and _PIXELS.fullmatch(value):
            yield f" xlink:href={_quoted(value)}"

    def _value(self, name: str, value: str) -> str | None:
        """Return an attribute's value in the copy; None where the attribute has no place there."""
        if name == "id":
            return self._id(value)
        if name.startswith("aria-"):
            return value
        if name == "font-family" and _LAST_FONT not in value:
            value = f"{value}, {_LAST_FONT}"
        if name == "style" and not _STYLE.fullmatch(value):
            return None
        if "(" not in value:
            return value
        other = _PAINT_SERVER.sub("", value)
        called = (_NO_FUNCTION.split(before.rstrip())[-1] for before in other.split("(")[:-1])
        if any(function.lower() not in _FUNCTIONS for function in called):
            return None
        return _PAINT_SERVER.sub(lambda found: f"url(#{self._id(found[1])})", value)

    def _id(self, given: str) -> str:
        return self._ids.setdefault(given, f"{self._prefix}n{len(self._ids)}")


def _quoted(value: str) -> str:
    return f'"{escape(value).translate(_WHITE)}"' if _TO_ESCAPE.search(value) else f'"{value}"'
