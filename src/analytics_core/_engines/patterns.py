"""Translates LIKE patterns to what engines match alike: `%` and `_` are wild, a backslash escapes (RULINGS.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

ESCAPE = "!"
"""The escape character that we write: no engine gives it a meaning of its own."""


def escaped_like(pattern: str, *, also_wild: str = "") -> str:
    """Return the pattern for `LIKE ... ESCAPE '!'`; `also_wild` are characters that the engine would take as wild."""
    special = frozenset("%_" + ESCAPE + also_wild)
    return _translated(
        pattern,
        wild=lambda char: char,
        plain=lambda char: ESCAPE + char if char in special else char,
    )


def glob(pattern: str) -> str:
    """Return the pattern for SQLite's GLOB, which minds case."""
    return _translated(
        pattern,
        wild=lambda char: "*" if char == "%" else "?",
        plain=lambda char: f"[{char}]" if char in "*?[" else char,
    )


def backslashed_like(pattern: str) -> str:
    """Return the pattern for engines whose LIKE takes a backslash and no ESCAPE clause."""
    return _translated(
        pattern,
        wild=lambda char: char,
        plain=lambda char: "\\" + char if char in "%_\\" else char,
    )


def _translated(pattern: str, *, wild: Callable[[str], str], plain: Callable[[str], str]) -> str:
    return "".join(wild(char) if is_wild else plain(char) for char, is_wild in _characters(pattern))


def _characters(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield each character that the pattern means, and whether it is wild; a last lone backslash means itself."""
    escaped = False
    for char in pattern:
        if escaped:
            yield char, False
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            yield char, char in "%_"
    if escaped:
        yield "\\", False
