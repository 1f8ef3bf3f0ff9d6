"""All forms of an object together, for `_repr_mimebundle_`: looking at an object never raises.

The HTML needs no trust: no scripts, no classes, no links, few inline styles that sanitisers let pass. A table is
scrolled sideways by the notebook; long texts are cut. Colours are those of the page around it, so that the same output
can be read on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any, Final, Protocol, TypeAlias

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
from analytics_core._tools.display.text import UNSEEN, blocks_text

Bundle: TypeAlias = dict[str, Any]
"""The forms of an object by their MIME types."""

_UNREADABLE = "this object cannot be shown; its attributes can be read one by one"


class Displayable(Protocol):
    """An object that says what can be seen of it."""

    def _blocks(self) -> Blocks: ...


def mime_bundle(self: Displayable, include: object = None, exclude: object = None) -> Bundle:  # noqa: ARG001 - IPython gives both
    """Return an object as HTML and as text: the method `_repr_mimebundle_` of its class.

    Notebooks tell which forms they would have or not, and take from all what they like.
    """
    return display_bundle(lambda: bundle_of(self._blocks()))


class BundleMaker(Protocol):
    """An object that has further forms than HTML and text."""

    def _bundle(self) -> Bundle: ...


def own_mime_bundle(self: BundleMaker, include: object = None, exclude: object = None) -> Bundle:  # noqa: ARG001 - IPython gives both
    """Return all forms of an object that makes them itself: the method `_repr_mimebundle_` of its class."""
    return display_bundle(self._bundle)


def bundle_of(blocks: Blocks, more: Mapping[str, Any] | None = None) -> Bundle:
    """Return blocks as HTML and as text, with further forms beside them."""
    return {"text/html": blocks_html(blocks), "text/plain": blocks_text(blocks), **(more or {})}


def display_bundle(make: Callable[[], Bundle]) -> Bundle:
    """Return what `make` gives; where it fails, the text of a typed error, and of any other its name alone."""
    try:
        return make()
    except Exception as error:  # who looks at an object gets no traceback; Ctrl-C goes on upwards
        return bundle_of([error_block(error)])


def error_block(error: BaseException) -> Block:
    """Return an error as a block; a text that is not ours may hold what nobody may see, so that its name stands."""
    message = getattr(error, "message", None)
    return ErrorBlock(kind=type(error).__name__, message=message if isinstance(message, str) else _UNREADABLE)


LONGEST_CELL: Final = 200
LONGEST_TEXT: Final = 2_000
LONGEST_CODE: Final = 10_000

_GREY: Final = "color:#808080"
_LEFT: Final = "text-align:left"
_RIGHT: Final = "text-align:right"
_NULL: Final = f'<span style="{_GREY};font-style:italic">{escape(NULL)}</span>'


def blocks_html(blocks: Blocks) -> str:
    """Return blocks as HTML."""
    return "".join(map(_block_html, blocks))


def escaped(text: str, *, most: int = LONGEST_TEXT) -> str:
    """Return a text for HTML: escaped, cut, and without characters that cannot be seen."""
    text = text.replace("\r\n", "\n")
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return escape(UNSEEN.sub("�", cut))


def _block_html(block: Block) -> str:  # noqa: PLR0911 - one line for each kind of block
    match block:
        case HeadingBlock():
            detail = f' <span style="{_GREY}">{escaped(block.detail)}</span>' if block.detail else ""
            return f"<p><b>{escaped(block.text)}</b>{detail}</p>"
        case FactsBlock():
            return _facts_html(block)
        case TableBlock():
            return _table_html(block)
        case ListBlock():
            return f"<ul>{''.join(f'<li>{escaped(item)}</li>' for item in block.items)}</ul>"
        case CodeBlock():
            return f"<pre><code>{escaped(block.text, most=LONGEST_CODE)}</code></pre>"
        case ErrorBlock():
            return f'<p><b style="color:#c62828">{escaped(block.kind)}</b>: {escaped(block.message)}</p>'
        case ImageBlock():
            return f'<img src="{escape(block.uri)}" alt="{escaped(block.description)}" width="{block.width_px}">'
        case FoldBlock():
            return f"<details><summary>{escaped(block.title)}</summary>{blocks_html(block.blocks)}</details>"


def _facts_html(block: FactsBlock) -> str:
    names = (f'<th style="{_LEFT}">{escaped(name, most=LONGEST_CELL)}</th>' for name, _ in block.facts)
    values = (f'<td style="{_LEFT}">{_cell_html(value)}</td>' for _, value in block.facts)
    rows = "".join(f"<tr>{name}{value}</tr>" for name, value in zip(names, values, strict=True))
    return f"<table><tbody>{rows}</tbody></table>"


def _table_html(block: TableBlock) -> str:
    styles = [_RIGHT if right else _LEFT for right in block.at_right] or [_LEFT] * len(block.heads)
    head = _row_html("th", block.heads, styles)
    body = "".join(_row_html("td", row, styles) for row in block.rows)
    below = f'<p style="{_GREY}">{escaped(block.below)}</p>' if block.below else ""
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{below}"


def _row_html(tag: str, cells: tuple[Cell, ...], styles: list[str]) -> str:
    parts = (f'<{tag} style="{style}">{_cell_html(cell)}</{tag}>' for cell, style in zip(cells, styles, strict=True))
    return f"<tr>{''.join(parts)}</tr>"


def _cell_html(cell: Cell) -> str:
    return _NULL if cell is None else escaped(cell, most=LONGEST_CELL)
