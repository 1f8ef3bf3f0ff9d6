"""Reads dates from text of fixed width by position, for engines without a parser that fits."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from analytics_core._engines import nodes
from analytics_core._engines.formats import TextFormat

Part = Callable[[exp.Expr, int, int], exp.Expr]
"""Text node, first place (from 1), length -> that part of it."""


def iso_text(column: exp.Expr, parsed: TextFormat, part: Part) -> exp.Expr:
    """Return `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS`, glued from pieces; missing ones are the first of their kind."""
    pieces = _glued(column, parsed, (("Y", ""), ("m", "-"), ("d", "-")), part=part, missing="01")
    if parsed.has_clock():
        pieces += _glued(column, parsed, (("H", " "), ("M", ":"), ("S", ":")), part=part, missing="00")
    return nodes.joined(*pieces)


def _glued(
    column: exp.Expr, parsed: TextFormat, parts: tuple[tuple[str, str], ...], *, part: Part, missing: str
) -> list[exp.Expr]:
    positions = parsed.positions()
    pieces: list[exp.Expr] = []
    for letter, separator in parts:
        if letter not in positions:
            pieces.append(nodes.text(separator + missing))
            continue
        if separator:
            pieces.append(nodes.text(separator))
        pieces.append(part(column.copy(), *positions[letter]))
    return pieces
