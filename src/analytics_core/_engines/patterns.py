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


def bare_like(pattern: str, *, also_wild: str = "") -> str | None:
    """Return the pattern for `LIKE` without ESCAPE; None where a character needs one, or is an escape on some engine.

    Engines read a bare pattern as what it begins with (DuckDB, and indexes of PostgreSQL).
    """
    characters = list(_characters(pattern))
    if any(not is_wild and char in "%_\\" + also_wild for char, is_wild in characters):
        return None
    return "".join(char for char, _ in characters)


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
