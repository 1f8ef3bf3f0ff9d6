"""Blocks as text, for terminals and for notebooks that show no HTML; and texts that people can tell apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from analytics_core._tools.display.blocks import (
    NULL,
    Block,
    Blocks,
    Cell,
    CodeBlock,
    ErrorBlock,
    FactsBlock,
    FoldBlock,
    HeadingBlock,
    ImageBlock,
    ListBlock,
    TableBlock,
)

WIDEST_COLUMN: Final = 40
WIDEST_LINE: Final = 120
_WIDEST_FACT: Final = 300
_LONGEST_CODE: Final = 10_000
_WIDE: Final = frozenset("WF")
UNSEEN: Final = re.compile(
    "[\0-\b\v-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""What a terminal would obey, what turns the direction of text, and what is no letter; tabs and lines are not here."""


def blocks_text(blocks: Blocks) -> str:
    """Return blocks as lines of text."""
    return "\n".join(line for block in blocks for line in _lines(block))


def plain(text: str, *, most: int) -> str:
    """Return a text on one line, cut, with a sign in place of characters that a terminal would obey."""
    printable = "".join(character if character.isprintable() else " " for character in text[: most + 1])
    return printable if len(printable) <= most else f"{printable[: most - 1]}…"


def visible(text: str) -> str:
    r"""Return a text with escapes (`\u202e`) for what turns its direction or a terminal would obey; lines stay."""
    return UNSEEN.sub(_escape, text.replace("\r\n", "\n"))


def distinct_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts; of those that would read alike the later ones get a number."""
    found: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for text in texts:
        name = text
        while name in found:
            numbers[text] = numbers.get(text, 1) + 1
            name = f"{text} ({numbers[text]})"
        found[name] = None
    return list(found)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case HeadingBlock():
            yield plain(f"{block.text}  {block.detail}".rstrip(), most=_WIDEST_FACT)
        case FactsBlock():
            names = [plain(name, most=WIDEST_COLUMN) for name, _ in block.facts]
            width = max(map(_width, names), default=0)
            for name, (_, value) in zip(names, block.facts, strict=True):
                yield f"  {name}{' ' * (width - _width(name))}  {_cell(value, most=_WIDEST_FACT)}"
        case TableBlock():
            yield from _table_lines(block)
        case ListBlock():
            yield from (f"- {plain(item, most=_WIDEST_FACT)}" for item in block.items)
        case CodeBlock():
            yield from (plain(line, most=_LONGEST_CODE) for line in block.text[:_LONGEST_CODE].splitlines())
        case ErrorBlock():
            yield f"{plain(block.kind, most=WIDEST_COLUMN)}: {plain(block.message, most=_LONGEST_CODE)}"
        case ImageBlock():
            yield f"[picture: {plain(block.description, most=_WIDEST_FACT)}]"
        case FoldBlock():
            yield f"▸ {plain(block.title, most=_WIDEST_FACT)}"


def _table_lines(block: TableBlock) -> Iterator[str]:
    """Yield a table; columns that do not fit beside the others are left out and counted."""
    at_right = block.at_right or (False,) * len(block.heads)
    columns = list(zip(*[[_cell(cell) for cell in row] for row in (block.heads, *block.rows)], strict=True))
    widths = [max(map(_width, column)) for column in columns]
    count = _that_fit(widths)
    lines = list(zip(*columns[:count], strict=True))
    yield _line(lines[0], widths, at_right)
    yield _line(tuple("─" * width for width in widths[:count]), widths, at_right)
    yield from (_line(line, widths, at_right) for line in lines[1:])
    hidden = len(columns) - count
    below = [block.below, f"{hidden} more columns" if hidden else ""]
    if any(below):
        yield plain("; ".join(filter(None, below)), most=_WIDEST_FACT)


def _that_fit(widths: Sequence[int]) -> int:
    """Return how many columns fit on a line, at least one."""
    used, count = 0, 0
    for width in widths:
        used += width + 2
        if used > WIDEST_LINE and count:
            break
        count += 1
    return count


def _line(cells: Sequence[str], widths: Sequence[int], at_right: Sequence[bool]) -> str:
    placed = (
        " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
        for cell, width, right in zip(cells, widths, at_right, strict=False)
    )
    return "  ".join(placed).rstrip()


def _cell(cell: Cell, *, most: int = WIDEST_COLUMN) -> str:
    return NULL if cell is None else plain(cell, most=most)


def _width(text: str) -> int:
    """Return how many places a text takes in a terminal: letters of East Asia take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in _WIDE else 1
        for letter in text
    )
