"""Markdown as lines of text, for pictures: headings, paragraphs, lists, quotes and code; all else is its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from analytics_core._pictures.text_metrics import wrapped

BODY_PX: Final = 13
_HEADINGS_PX: Final = {"h1": 22, "h2": 18, "h3": 16}
_LINE: Final = 1.4
_INDENT_PX: Final = 18
_LONGEST: Final = 20_000
_MOST_LINES: Final = 500
_DEEPEST_INDENT: Final = 8
_UNSEEN: Final = re.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """One line of text: where its base line stands below the top of the text, and how it is set, in pixels."""

    text: str
    x: float
    y: float
    size_px: int = BODY_PX
    is_bold: bool = False
    is_code: bool = False
    is_rule: bool = False


def markdown_lines(text: str, width_px: float) -> tuple[TextLine, ...]:
    """Return a Markdown text as lines that are no wider than a width."""
    lines: list[TextLine] = []
    y = 0.0
    for block in _blocks(text[:_LONGEST]):
        tall = block.size_px * _LINE
        y += block.size_px * (0.5 if lines else 0) * (0 if block.is_tight else 1)
        x = min(block.indent, _DEEPEST_INDENT) * _INDENT_PX
        if block.is_rule:
            lines.append(TextLine(text="", x=0, y=y + tall / 2, is_rule=True))
            y += tall
            continue
        parts = block.text.split("\n")
        shown = parts if block.is_code else [line for part in parts for line in _wrapped(part, width_px - x, block)]
        for line in shown:
            y += tall
            own = TextLine(text=line, x=x, y=y - tall * 0.28, size_px=block.size_px)
            lines.append(replace(own, is_bold=block.is_bold, is_code=block.is_code))
            if len(lines) >= _MOST_LINES:
                return tuple(lines)
    return tuple(lines)


def lines_height(lines: Sequence[TextLine]) -> float:
    """Return how tall the lines of a Markdown text are, in pixels."""
    return lines[-1].y + BODY_PX if lines else 0.0


@dataclass(slots=True, kw_only=True)
class _Block:
    text: str
    size_px: int = BODY_PX
    indent: int = 0
    is_bold: bool = False
    is_code: bool = False
    is_rule: bool = False
    is_tight: bool = False


def _wrapped(text: str, width_px: float, block: _Block) -> list[str]:
    room = max(width_px, 20) * (0.92 if block.is_bold else 1)
    return wrapped(text, room, block.size_px, most=_MOST_LINES) or [""]


def _blocks(text: str) -> Iterator[_Block]:
    from markdown_it import MarkdownIt

    indent, heading, marks = 0, "", list[str]()
    for token in MarkdownIt().parse(text):
        match token.type:
            case "heading_open":
                heading = token.tag
            case "bullet_list_open" | "ordered_list_open" | "blockquote_open":
                indent += 1
            case "bullet_list_close" | "ordered_list_close" | "blockquote_close":
                indent -= 1
            case "list_item_open":
                marks.append(f"{token.info}." if token.info else "•")
            case "list_item_close":
                marks = []
            case "hr":
                yield _Block(text="", is_rule=True)
            case "fence" | "code_block":
                yield _Block(text=token.content.rstrip("\n"), is_code=True, indent=indent, size_px=BODY_PX - 1)
            case "html_block":
                if words := _TAG.sub("", _UNSEEN.sub("", token.content)).strip():
                    yield _Block(text=words, indent=indent)
            case "inline":
                words = _inline(token.children or ())
                mark = marks.pop() if marks else ""
                yield _Block(
                    text=f"{mark} {words}" if mark else words,
                    size_px=_HEADINGS_PX.get(heading, BODY_PX),
                    indent=indent,
                    is_bold=bool(heading),
                    is_tight=bool(mark),
                )
                heading = ""


def _inline(tokens: Any) -> str:
    words = []
    for token in tokens:
        if token.type in ("text", "code_inline", "image"):
            words.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            words.append("\n" if token.type == "hardbreak" else " ")
    return "".join(words)
