"""Markdown as lines of text, for pictures: headings, paragraphs, lists, quotes, tables, code; all else is its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from analytics_core._pictures.text_metrics import wrapped

if TYPE_CHECKING:
    from markdown_it.token import Token

BODY_PX: Final = 13
_HEADINGS_PX: Final = {"h1": 22, "h2": 18, "h3": 16}
_LINE: Final = 1.4
_INDENT_PX: Final = 18
_LONGEST: Final = 20_000
_MOST_LINES: Final = 500
_DEEPEST_INDENT: Final = 8
_UNSEEN: Final = re.compile(r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]*>")
_MOST_CELLS: Final = 20_000


BOLD, ITALIC, CODE = "strong", "em", "code"
Style = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """One line of text: where its base line stands below the top of the text, and how it is set, in pixels.

    `spans` are its parts with how each is set beside that: `BOLD`, `ITALIC` and `CODE`.
    """

    text: str
    x: float
    y: float
    size_px: int = BODY_PX
    is_bold: bool = False
    is_code: bool = False
    is_rule: bool = False
    is_quote: bool = False
    spans: tuple[tuple[str, Style], ...] = ()


def has_readable_tables(text: str) -> bool:
    """Tell whether the tables of a Markdown text can be read in time: a short line is filled up with empty cells."""
    lines = text.splitlines()
    return (max((line.count("|") for line in lines), default=0) + 1) * len(lines) <= _MOST_CELLS


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
        texts = parts if block.is_code else [line for part in parts for line in _wrapped(part, width_px - x, block)]
        spans = _spans(texts, block)
        for line, own_spans in zip(texts, spans, strict=True):
            y += tall
            own = TextLine(text=line, x=x, y=y - tall * 0.28, size_px=block.size_px, spans=own_spans)
            lines.append(replace(own, is_bold=block.is_bold, is_code=block.is_code, is_quote=block.is_quote))
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
    is_quote: bool = False
    styles: Sequence[Style] = ()
    """That of each letter; none where all are plain."""


def _wrapped(text: str, width_px: float, block: _Block) -> list[str]:
    room = max(width_px, 20) * (0.92 if block.is_bold else 1)
    return wrapped(text, room, block.size_px, most=_MOST_LINES) or [""]


def _spans(lines: Sequence[str], block: _Block) -> Iterator[tuple[tuple[str, Style], ...]]:
    """Yield the parts of each line by their styles; lines have the letters of the block, but for spaces."""
    plain: Style = frozenset()
    styles = iter([style for letter, style in zip(block.text, block.styles, strict=False) if not letter.isspace()])
    for line in lines:
        if not any(block.styles):
            yield ()
            continue
        letters, style = list[tuple[str, Style]](), plain
        for letter in line:
            style = style if letter.isspace() else next(styles, plain)
            letters.append((letter, style))
        parts = groupby(letters, key=lambda one: one[1])
        yield tuple(("".join(letter for letter, _ in part), style) for style, part in parts)


def _blocks(text: str) -> Iterator[_Block]:
    from markdown_it import MarkdownIt

    indent, heading, marks, quotes = 0, "", list[str](), 0
    parser = MarkdownIt().enable("table") if has_readable_tables(text) else MarkdownIt()
    for token in _without_tables(parser.parse(text)):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
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
                words, styles = _inline(token.children or ())
                mark = f"{marks.pop()} " if marks else ""
                yield _Block(
                    text=mark + words,
                    styles=[frozenset()] * len(mark) + styles,
                    is_quote=quotes > 0,
                    size_px=_HEADINGS_PX.get(heading, BODY_PX),
                    indent=indent,
                    is_bold=bool(heading),
                    is_tight=bool(mark),
                )
                heading = ""


def _without_tables(tokens: Iterable[Token]) -> Iterator[Token]:
    """Yield tokens; a table is a block of code in their place."""
    rows: list[list[str]] | None = None
    for token in tokens:
        if token.type == "table_open":
            rows = []
        elif rows is None:
            yield token
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline(token.children or ())[0])
        elif token.type == "table_close":
            yield replace(token, type="code_block", content=_table(rows))
            rows = None


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines of letters of one width, with a rule under the first."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" │ ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([*lines[:1], "─" * (sum(widths) + 3 * len(widths) - 3), *lines[1:]])


def _inline(tokens: Any) -> tuple[str, list[Style]]:
    """Return the words of a paragraph, and how each of their letters is set."""
    words, styles, inside = "", list[Style](), list[str]()
    for token in tokens:
        text, style = "", frozenset(inside)
        if token.type in ("text", "code_inline", "image"):
            text = token.content
            style |= {CODE} if token.type == "code_inline" else set()
        elif token.type in ("softbreak", "hardbreak"):
            text = "\n" if token.type == "hardbreak" else " "
        elif token.type in ("strong_open", "em_open"):
            inside.append(token.tag)
        elif token.type in ("strong_close", "em_close"):
            inside.remove(token.tag)
        words += text
        styles += [style] * len(text)
    return words, styles
