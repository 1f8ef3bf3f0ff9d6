"""Time texts cut into tokens, and a cursor over them. Linear in the text, whose length is limited."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from analytics_core._compile.time_range.iso import ISO_MOMENT
from analytics_core._compile.time_range.refusal import refusal
from analytics_core.errors import TimeRangeError

LONGEST_TEXT = 500
"""Characters that a time text may have (SECURITY.md 3.15)."""

MOST_CALLS = 20
"""Function calls that a time text may hold, nested or not."""


class TokenKind(StrEnum):
    """What a token is."""

    MOMENT = "date"
    NUMBER = "number"
    WORD = "word"
    QUOTED = "quoted text"
    MARK = "mark"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text; words are in lower case, quoted text is without its quotes."""

    kind: TokenKind
    text: str


_TOKEN = re.compile(
    rf"""
      (?P<moment>{ISO_MOMENT})(?![A-Za-z0-9-])
    | (?P<word>(?:1st|[A-Za-z]+))(?![A-Za-z0-9])
    | (?P<number>[0-9]+)(?![A-Za-z0-9])
    | '(?P<single>[^']*)'
    | "(?P<double>[^"]*)"
    | (?P<mark>[():,+-])
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)

_KINDS = MappingProxyType(
    {
        "moment": TokenKind.MOMENT,
        "word": TokenKind.WORD,
        "number": TokenKind.NUMBER,
        "single": TokenKind.QUOTED,
        "double": TokenKind.QUOTED,
        "mark": TokenKind.MARK,
    }
)
_END = Token(TokenKind.END, "")


def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of `text` without its blanks.

    Raises:
        TimeRangeError: the text is too long or holds something that no time text holds.
    """
    if len(text) > LONGEST_TEXT:
        raise refusal(text, f"is longer than {LONGEST_TEXT} characters")
    plain = " ".join(text.split())
    tokens: list[Token] = []
    place = 0
    while place < len(plain):
        found = _TOKEN.match(plain, place)
        if found is None:
            raise refusal(text, f"is not understood at {plain[place : place + 10]!r}")
        tokens.append(_token(found))
        place = found.end()
        place += plain[place : place + 1] == " "
    return tuple(tokens)


def _token(found: re.Match[str]) -> Token:
    group = found.lastgroup or ""
    kind = _KINDS[group]
    value = found.group(group)
    return Token(kind, value.lower() if kind is TokenKind.WORD else value)


class Cursor:
    """Reads tokens from left to right; `text` is the whole text, for messages."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokenize(text)
        self._place = 0
        if self._tokens.count(Token(TokenKind.MARK, "(")) > MOST_CALLS:
            raise refusal(text, f"holds more than {MOST_CALLS} function calls")

    def peek(self, ahead: int = 0) -> Token:
        """Return the token `ahead` of the cursor; an END token behind the last one."""
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else _END

    def take(self) -> Token:
        """Return the next token and step over it."""
        token = self.peek()
        self._place += 1
        return token

    def has(self, text: str) -> bool:
        """Return whether the text has this mark anywhere outside quotes."""
        return Token(TokenKind.MARK, text) in self._tokens

    def at_word(self, *words: str) -> bool:
        """Return whether exactly these words come next."""
        return all(self.peek(i) == Token(TokenKind.WORD, word) for i, word in enumerate(words))

    def at_mark(self, mark: str) -> bool:
        """Return whether this mark comes next."""
        return self.peek() == Token(TokenKind.MARK, mark)

    def skip_word(self, *words: str) -> bool:
        """Step over these words if exactly they come next; return whether they did."""
        found = self.at_word(*words)
        self._place += len(words) if found else 0
        return found

    def skip_mark(self, mark: str) -> bool:
        """Step over this mark if it comes next; return whether it did."""
        found = self.at_mark(mark)
        self._place += found
        return found

    def take_word(self, words: Collection[str], expected: str) -> str:
        """Return the next word, which must be one of `words`; else refuse with what was expected."""
        token = self.peek()
        if token.kind is not TokenKind.WORD or token.text not in words:
            raise self.refused(expected)
        return self.take().text

    def take_mark(self, mark: str) -> None:
        """Step over this mark, which must come next."""
        if not self.skip_mark(mark):
            raise self.refused(repr(mark))

    def take_end(self) -> None:
        """Make sure that nothing is left."""
        if self.peek() != _END:
            raise self.refused("the end")

    def refused(self, expected: str) -> TimeRangeError:
        """Return the error that names what was expected at the cursor and what stands there."""
        token = self.peek()
        standing = "the text ends" if token.kind is TokenKind.END else f"{token.text[:20]!r} stands"
        return refusal(self.text, f"is not understood: {standing} where {expected} is expected")
