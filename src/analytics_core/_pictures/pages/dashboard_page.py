"""A dashboard as a page of HTML, and as SVG pages, of the same boxes; no script, nothing that is loaded."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Final

from analytics_core._pictures.data import Theme
from analytics_core._pictures.pages.markdown_lines import BOLD, CODE, ITALIC, Style, TextLine, markdown_lines
from analytics_core._pictures.pages.page_layout import BoxKind, PageBox, PageLayout
from analytics_core._pictures.pages.safe_css import safe_css
from analytics_core._pictures.safe_svg import safe_svg
from analytics_core._pictures.text_metrics import FONT, fitted
from analytics_core._pictures.theme import Colours, colours_of

MARGIN_PX: Final = 24
PADDING_PX: Final = 8
_TITLE_PX: Final = 22
_TAB_PX: Final = 16
_SMALL_PX: Final = 12
_SECTION_PX: Final = 16
_HEAD_GAP_PX: Final = 14
_HEAD_LINE: Final = 1.5
_CODE_FONT: Final = "Liberation Mono, Courier New, monospace, sans-serif"
_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CODE: Final = "#a87016"
"""Of code in a line, on light and dark pages: not every machine has a font of code."""

_FIRST_EMOJI: Final = 0x1F000
_JOINERS: Final = {0xFE0F: "", 0x200D: ""}
_CONTROL: Final = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)], " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartImage:
    """A chart on a page: its SVG, and what it shows in words."""

    svg: str
    description: str


ImageKey = tuple[int, int, int]


def image_key(box: PageBox) -> ImageKey:
    """Return by what the image of a chart is known: its id, and the width and height of its box inside the padding."""
    return box.chart_id, max(int(box.width) - 2 * PADDING_PX, 60), max(int(box.height) - 2 * PADDING_PX, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardPage:
    """A dashboard that is laid out.

    `facts` is one line under the title, such as what its filters are set to; `charts` are the drawn charts by their
    `image_key`; `css` is the style sheet of the dashboard, as it is stored. `lines` gives the lines of a Markdown text
    at a width: reading it takes time, so it may be one that remembers them.
    """

    title: str
    facts: str
    pages: Sequence[PageLayout]
    charts: Mapping[ImageKey, ChartImage]
    theme: Theme
    css: str = ""
    lines: Callable[[str, float], Sequence[TextLine]] = markdown_lines

    def html(self, markdown: Callable[[str], str]) -> str:
        """Return it as one page of HTML; `markdown` writes a Markdown text as HTML in which nothing acts."""
        colours, width = colours_of(self.theme), _width(self.pages)
        several = len(self.pages) > 1
        links = "".join(f'<a href="#tab-{number}">{_text(page.title)}</a>' for number, page in enumerate(self.pages, 1))
        navigation = f'<nav class="dashboard-tabs">{links}</nav>' if several else ""
        sections = "".join(
            self._section(page, number, markdown, has_title=several) for number, page in enumerate(self.pages, 1)
        )
        facts = f'<p class="dashboard-facts">{_text(self.facts)}</p>' if self.facts else ""
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">'
            f"<title>{_text(self.title)}</title><style>{_style(colours, width)}</style>"
            f"<style>{safe_css(self.css)}</style></head>"
            f'<body class="dashboard {self.theme.value}"><main class="dashboard-content">'
            f'<h1 class="dashboard-title">{_text(self.title)}</h1>{facts}{navigation}{sections}</main></body></html>\n'
        )

    def svg_pages(self) -> tuple[str, ...]:
        """Return it as SVG pages, one for each tab."""
        return tuple(self._svg([page]) for page in self.pages)

    def svg(self) -> str:
        """Return it as one SVG page, its tabs one below the other."""
        return self._svg(self.pages)

    @property
    def height_px(self) -> int:
        """How tall it is as one SVG page."""
        return round(self._height(self.pages))

    def _height(self, pages: Sequence[PageLayout]) -> float:
        colours = colours_of(self.theme)
        heads = (
            size * _HEAD_LINE
            for number, page in enumerate(pages)
            for _, size in self._head(page, colours, is_first=number == 0)
        )
        return sum(heads) + sum(page.height + _HEAD_GAP_PX + MARGIN_PX for page in pages) + MARGIN_PX

    # -------------------------------------------------------------------------------------------------------- HTML
    def _section(self, page: PageLayout, number: int, markdown: Callable[[str], str], *, has_title: bool) -> str:
        title = f'<h2 class="dashboard-tab-title">{_text(page.title)}</h2>' if has_title else ""
        boxes = "".join(self._box_html(box, f"t{number}b{place}-", markdown) for place, box in enumerate(page.boxes, 1))
        return (
            f'<section id="tab-{number}" class="dashboard-tab">{title}'
            f'<div class="grid-container" style="height:{page.height:.0f}px">{boxes}</div></section>'
        )

    def _box_html(self, box: PageBox, prefix: str, markdown: Callable[[str], str]) -> str:
        place = f"left:{box.x:.0f}px;top:{box.y:.0f}px;width:{box.width:.0f}px;height:{box.height:.0f}px"
        match box.kind:
            case BoxKind.CHART:
                image = self.charts[image_key(box)]
                inner = f'<figure role="img" aria-label="{escape(_clean(image.description))}">'
                inner += f"{safe_svg(image.svg, prefix=prefix)}</figure>"
                name = f"dashboard-component dashboard-component-chart-holder dashboard-chart-id-{box.chart_id}"
            case BoxKind.MARKDOWN:
                inner, name = markdown(box.text), "dashboard-component dashboard-markdown"
            case BoxKind.HEADER:
                inner = f'<h3 style="font-size:{box.size_px}px">{_text(box.text)}</h3>'
                name = "dashboard-component dashboard-component-header"
            case BoxKind.SECTION:
                inner, name = f"<h3>{_text(box.text)}</h3>", "dashboard-component dashboard-component-tab"
            case BoxKind.DIVIDER:
                inner, name = "<hr>", "dashboard-component dashboard-component-divider"
        return f'<div class="{name}" style="{place}">{inner}</div>'

    # --------------------------------------------------------------------------------------------------------- SVG
    def _svg(self, pages: Sequence[PageLayout]) -> str:
        colours, inner = colours_of(self.theme), _width(self.pages)
        parts, y = list[str](), float(MARGIN_PX)
        for number, page in enumerate(pages):
            for words, size in self._head(page, colours, is_first=number == 0):
                parts.append(_text_svg(words, MARGIN_PX, y + size, inner))
                y += size * _HEAD_LINE
            y += _HEAD_GAP_PX
            for place, box in enumerate(page.boxes):
                parts += self._box_svg(replace(box, x=MARGIN_PX + box.x, y=y + box.y), colours, f"p{number}b{place}-")
            y += page.height + MARGIN_PX
        width, height = inner + 2 * MARGIN_PX, self._height(pages)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width:.0f}" '
            f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}">'
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="{colours.background}"/>{"".join(parts)}</svg>'
        )

    def _head(self, tab: PageLayout, colours: Colours, *, is_first: bool) -> Iterator[tuple[_Words, int]]:
        """Yield the titles above a page, with their sizes."""
        if is_first:
            yield _Words(text=self.title, size_px=_TITLE_PX, colour=colours.text, is_bold=True), _TITLE_PX
        if is_first and self.facts:
            yield _Words(text=self.facts, size_px=_SMALL_PX, colour=colours.muted), _SMALL_PX
        if len(self.pages) > 1:
            yield _Words(text=tab.title, size_px=_TAB_PX, colour=colours.accent, is_bold=True), _TAB_PX

    def _box_svg(self, box: PageBox, colours: Colours, prefix: str) -> Iterator[str]:
        x, y, width, height = box.x, box.y, box.width, box.height
        title = _Words(text=box.text, size_px=box.size_px or _SECTION_PX, colour=colours.text, is_bold=True)
        match box.kind:
            case BoxKind.CHART:
                place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
                yield f'<rect {place} rx="4" fill="none" stroke="{colours.line}"/>'
                drawn = safe_svg(self.charts[image_key(box)].svg, prefix=prefix)
                yield drawn.replace("<svg ", f'<svg x="{x + PADDING_PX:.1f}" y="{y + PADDING_PX:.1f}" ', 1)
            case BoxKind.MARKDOWN:
                yield from _markdown_svg(box, colours, self.lines(box.text, box.width))
            case BoxKind.HEADER:
                yield _text_svg(title, x, y + height * 0.7, width)
            case BoxKind.SECTION:
                yield _text_svg(title, x, y + 22, width)
                yield _rule(x, y + height - 1, width, colours.line)
            case BoxKind.DIVIDER:
                yield _rule(x, y + height / 2, width, colours.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """A text in one line, and how it is set."""

    text: str
    size_px: int
    colour: str
    is_bold: bool = False
    is_code: bool = False
    spans: Sequence[tuple[str, Style]] = ()


def _markdown_svg(box: PageBox, colours: Colours, lines: Sequence[TextLine]) -> Iterator[str]:
    for line in lines:
        words = _Words(
            text=line.text,
            size_px=line.size_px,
            colour=colours.muted if line.is_quote else colours.text,
            is_bold=line.is_bold,
            is_code=line.is_code,
            spans=line.spans,
        )
        if line.is_quote:
            bar = f'x="{box.x + line.x - 10:.1f}" y="{box.y + line.y - line.size_px:.1f}" width="3"'
            yield f'<rect {bar} height="{line.size_px * 1.4:.1f}" fill="{colours.line}"/>'
        if line.is_rule:
            yield _rule(box.x, box.y + line.y, box.width, colours.line)
        elif line.text:
            yield _text_svg(words, box.x + line.x, box.y + line.y, box.width - line.x)


def _text_svg(words: _Words, x: float, y: float, width: float) -> str:
    """Return a text in one line, cut where it is wider than `width`; `y` is that of its base line."""
    text = escape(fitted(_drawable(words.text), width, words.size_px, bold=words.is_bold))
    if words.spans:
        text = "".join(f"<tspan{_span_style(style)}>{escape(_drawable(part))}</tspan>" for part, style in words.spans)
    weight = ' font-weight="bold"' if words.is_bold else ""
    font = f' font-family="{_CODE_FONT}" xml:space="preserve"' if words.is_code else ""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{words.size_px}px" fill="{words.colour}"'
    return f"<text {place}{weight}{font}>{text}</text>"


def _span_style(style: Style) -> str:
    """Return the attributes of a part of a line."""
    attributes = {
        BOLD: ' font-weight="bold"',
        ITALIC: ' font-style="italic"',
        CODE: f' font-family="{_CODE_FONT}" fill="{_CODE}"',
    }
    return "".join(attribute for name, attribute in attributes.items() if name in style)


def _drawable(text: str) -> str:
    """Return a text in one line, its emoji as their names: the font of pictures has none."""
    line = _clean(text).replace("\n", " ").translate(_JOINERS)
    return "".join(f":{_emoji_name(letter)}:" if ord(letter) >= _FIRST_EMOJI else letter for letter in line)


def _emoji_name(letter: str) -> str:
    return unicodedata.name(letter, "symbol").lower().replace(" ", "_")


def _rule(x: float, y: float, width: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="1" fill="{colour}"/>'


def _width(pages: Sequence[PageLayout]) -> float:
    return max((page.width for page in pages), default=0)


def _clean(text: str) -> str:
    """Return a text without characters that no page can hold."""
    return text.translate(_CONTROL)


def _text(text: str) -> str:
    return escape(_clean(text))


def _style(colours: Colours, width: float) -> str:
    return (
        f"body{{margin:0;background:{colours.background};color:{colours.text};font:13px/1.4 {FONT}}}"
        f".dashboard-content{{width:{width:.0f}px;margin:{MARGIN_PX}px auto;padding:0 {MARGIN_PX}px}}"
        f".dashboard-title{{font-size:{_TITLE_PX}px;margin:0 0 4px}}"
        f".dashboard-facts{{color:{colours.muted};font-size:{_SMALL_PX}px;margin:0 0 8px}}"
        f".dashboard-tabs{{margin:0 0 12px}}.dashboard-tabs a{{color:{colours.accent};margin-right:18px}}"
        f".dashboard-tab-title{{font-size:{_TAB_PX}px;margin:20px 0 12px;color:{colours.accent}}}"
        ".grid-container{position:relative}.dashboard-component{position:absolute;box-sizing:border-box}"
        f".dashboard-component-chart-holder{{border:1px solid {colours.line};border-radius:4px;"
        f"padding:{PADDING_PX - 1}px;overflow:hidden}}"
        ".dashboard-component figure{margin:0}.dashboard-component svg{display:block}"
        ".dashboard-markdown{overflow:auto;overflow-wrap:anywhere}.dashboard-component h3{margin:0}"
        f".dashboard-component a{{color:{colours.accent}}}"
        f".dashboard-component-tab{{border-bottom:1px solid {colours.line}}}"
        f".dashboard-component hr{{border:0;border-top:1px solid {colours.line}}}"
        ".dashboard-markdown p,.dashboard-markdown ul,.dashboard-markdown ol,.dashboard-markdown blockquote,"
        ".dashboard-markdown h1,.dashboard-markdown h2,.dashboard-markdown h3,.dashboard-markdown pre{margin:0 0 6px}"
        ".dashboard-markdown ul,.dashboard-markdown ol,.dashboard-markdown blockquote{padding-left:18px}"
        ".dashboard-markdown h1{font-size:22px}.dashboard-markdown h2{font-size:18px}"
        ".dashboard-markdown h3{font-size:16px}"
        f".dashboard-markdown pre{{background:{colours.stripe};padding:8px}}"
        ".dashboard-markdown table{border-collapse:collapse;font-size:12px;line-height:1.25;margin:0 0 6px}"
        f".dashboard-markdown th,.dashboard-markdown td{{border-bottom:1px solid {colours.line};padding:0 8px;"
        "overflow-wrap:break-word}"
        ".dashboard-markdown th:not([align]){text-align:left}"
    )
