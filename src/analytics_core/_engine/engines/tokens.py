"""Reads moments from text by `strftime` formats: in the languages of engines' own parsers, or by position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engine.engines import nodes
from analytics_core._engine.engines.types import TextFormat
from analytics_core.errors import UnsupportedByEngineError


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatLanguage:
    """A format language: its token for each directive, and how it writes text that stands for itself."""

    tokens: Mapping[str, str]
    plain: Callable[[str], str]

    def but(self, **tokens: str) -> FormatLanguage:
        """Return the language with other tokens for some directives."""
        return replace(self, tokens=MappingProxyType({**self.tokens, **tokens}))


def write_tokens(parsed: TextFormat, language: FormatLanguage) -> str:
    """Return a format in another language.

    Raises:
        UnsupportedByEngineError: the language has no token for a directive.
    """
    return "".join(
        _token(piece.value, parsed, language) if piece.is_directive else language.plain(piece.value)
        for piece in parsed.pieces
    )


def _token(letter: str, parsed: TextFormat, language: FormatLanguage) -> str:
    token = language.tokens.get(letter)
    if token is None:
        raise UnsupportedByEngineError(
            f"the engine cannot read %{letter} of the date format {parsed.source!r}; "
            f"these work there: {', '.join(f'%{known}' for known in language.tokens)}"
        )
    return token


def doubled_percent(text: str) -> str:
    """Double what would begin a token."""
    return text.replace("%", "%%")


def _double_quoted(text: str) -> str:
    """Quote text with letters, which would be read as tokens."""
    if not any(char.isalpha() or char in '"\\' for char in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _single_quoted(text: str) -> str:
    if not any(char.isalpha() or char in "'[]{}#" for char in text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _tokens(words: str) -> Mapping[str, str]:
    return MappingProxyType(dict(zip("YmdHMSfbBIp", words.split(), strict=True)))


TO_TIMESTAMP = FormatLanguage(tokens=_tokens("YYYY MM DD HH24 MI SS US Mon Month HH12 AM"), plain=_double_quoted)
"""`TO_TIMESTAMP` of most engines that have it; some write single tokens in another way."""

STR_TO_DATE = FormatLanguage(tokens=_tokens("%Y %m %d %H %i %s %f %b %M %h %p"), plain=doubled_percent)
"""`STR_TO_DATE`, and `DATE_PARSE` of its kind."""

JAVA = FormatLanguage(tokens=_tokens("yyyy MM dd HH mm ss SSSSSS MMM MMMM hh a"), plain=_single_quoted)
"""The patterns of `java.time`."""


def iso_text(column: exp.Expr, parsed: TextFormat, part: str) -> exp.Expr:
    """Return `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS`, glued from pieces; missing ones are the first of their kind.

    `part` names the function of a text, the first place (from 1) and the length of a part of it.
    """
    positions = parsed.positions()
    pieces: list[exp.Expr] = []
    letters = "YmdHMS" if parsed.has_clock() else "Ymd"
    for letter, separator in zip(letters, ("", "-", "-", " ", ":", ":"), strict=False):
        if letter not in positions:
            pieces.append(nodes.text(separator + ("01" if letter in "md" else "00")))
            continue
        if separator:
            pieces.append(nodes.text(separator))
        pieces.append(nodes.call(part, column.copy(), *map(nodes.number, positions[letter])))
    return nodes.joined(*pieces)
