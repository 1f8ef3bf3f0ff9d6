"""What can be seen of an object, before it is written as HTML or as text: a few kinds of blocks in a row.

Every text in a block is plain text: the writers escape it. A cell that is None is a null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Cell: TypeAlias = str | None

NULL: Final = "<NULL>"
"""A null as text, as pivots and filters of the contract spell it (`column_fill_value`)."""

MASK: Final = "XXXXXXXXXX"
"""What every form of every answer shows in place of a secret; given back it stands for the stored one."""

MOST_COLUMNS: Final = 30
MOST_ROWS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadingBlock:
    """What the object is, in bold, and a few words about it."""

    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsBlock:
    """Names with their values, one below the other."""

    facts: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlock:
    """A table of texts.

    `at_right` tells for each column whether it stands at the right, as numbers do; `below` is the line under the table.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    at_right: tuple[bool, ...] = ()
    below: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListBlock:
    """Sentences, one below the other, such as the notes of a result."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """Code or a statement, as it is written."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBlock:
    """What went wrong, in one sentence; `kind` is the name of the error or of the state."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBlock:
    """A picture as a `data:` URI, and in words; text shows the words."""

    uri: str
    description: str
    width_px: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldBlock:
    """Blocks that are shown when somebody opens them; text shows their title alone."""

    title: str
    blocks: tuple[Block, ...]


Block: TypeAlias = HeadingBlock | FactsBlock | TableBlock | ListBlock | CodeBlock | ErrorBlock | ImageBlock | FoldBlock
Blocks: TypeAlias = Sequence[Block]


def facts(named: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return a block of those facts that there are: None, empty texts and empty lists are left out."""
    known = tuple((name, str(value)) for name, value in named.items() if value not in (None, "", (), [], {}))
    return (FactsBlock(facts=known),) if known else ()


def notes(items: Iterable[str]) -> tuple[Block, ...]:
    """Return a block of sentences, none where there are none."""
    texts = tuple(items)
    return (ListBlock(items=texts),) if texts else ()


def fold(title: str, blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return blocks folded under a title, none where there are none."""
    inside = tuple(blocks)
    return (FoldBlock(title=title, blocks=inside),) if inside else ()


def table(columns: Mapping[str, Sequence[Cell]], *, right: Iterable[str] = (), below: str = "") -> tuple[Block, ...]:
    """Return a table of named columns of equal length, none where it has no rows; `right` names those at the right."""
    rows = tuple(zip(*columns.values(), strict=True))
    at_right = tuple(name in set(right) for name in columns)
    return (TableBlock(heads=tuple(columns), rows=rows, at_right=at_right, below=below),) if rows else ()


def first_of(items: Sequence[Any], *, most: int = MOST_ROWS, noun: str = "rows") -> tuple[Sequence[Any], str]:
    """Return the first items, and a line that tells how many more there are ("" where all are shown)."""
    remaining = len(items) - most
    return (items[:most], f"{remaining:,} more {noun}") if remaining > 0 else (items, "")


def plural(noun: str) -> str:
    """Return the plural of a noun, such as `query` or `chart`."""
    return f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Return how many there are, in words: `1 column`, `2 columns`."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def next_line(code: str) -> tuple[Block, ...]:
    """Return what to type next, none where there is nothing to tell."""
    return (HeadingBlock(text="Next", detail="for example"), CodeBlock(text=code)) if code else ()
