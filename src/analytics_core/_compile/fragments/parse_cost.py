"""Tells from the tokens of SQL how long a parser would take for it, before one sees it.

The parser goes back and reads again where it took a wrong guess, and each such place inside another doubles what the
inner one costs: twenty levels of `DATE(` in 130 characters take seconds. The places were found by counting the steps of
the parser on repeated patterns of its own keywords, in every dialect:

- a name of a type before a bracket is tried as a type first (`DATE(a)`, `ARRAY[a]`; BINARY of MariaDB a third time);
- an `IF` without parentheses is tried as a condition;
- a join without ON or USING is tried as one that holds the next join: `a JOIN b JOIN c ON ... ON ...`.

Chains of subscripts (`a[1][1][1]`) are walked through for each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import Dialect

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_WITH_CONDITION: Final = frozenset({TokenType.ON, TokenType.USING})
_JOINED_OTHERWISE: Final = frozenset({TokenType.CROSS, TokenType.NATURAL})
_AFTER_JOINS: Final = frozenset(
    {TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT}
    | {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.WINDOW, TokenType.QUALIFY}
)

MOST_LEVELS: Final = 100
_FREE_STEPS: Final = 20_000
_STEPS_A_TOKEN: Final = 4
"""Nine levels of `DATE(` stay free, and no text costs more than a few times a flat one of its length."""


@dataclass(slots=True)
class _Bracket:
    """What stands in one bracket: how often it is read, the joins that wait for their ON, the subscripts before it."""

    times: int = 1
    joins: int = 0
    chain: int = 0


def is_too_deep(tokens: Sequence[Token], dialect: str) -> bool:
    """Tell whether brackets, joins or conditions nest so that parsing would take long, or no engine needs it."""
    types = Dialect.get_or_raise(dialect).parser_class.TYPE_TOKENS
    most = _FREE_STEPS + _STEPS_A_TOKEN * len(tokens)
    outer: list[_Bracket] = []
    inner, closed, steps = _Bracket(), _Bracket(), 0
    previous: Token | None = None
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            outer.append(inner)
            inner = _opened(token, previous, inner, closed, types)
        elif kind in _CLOSING and outer:
            closed, inner = inner, outer.pop()
        else:
            _count_joins(inner, kind, previous)
        if _is_bare_if(previous, kind):
            inner.times *= 2
        steps += inner.chain + (inner.times << min(inner.joins, 40))
        previous = token
        if steps > most or len(outer) > MOST_LEVELS:
            return True
    return False


def _opened(
    token: Token, previous: Token | None, around: _Bracket, closed: _Bracket, types: Collection[TokenType]
) -> _Bracket:
    """Return the bracket that a token opens."""
    before = previous.token_type if previous else None
    tried = 3 if before in types and token.token_type is not TokenType.L_BRACE else 1
    chain = closed.chain + 1 if token.token_type is TokenType.L_BRACKET and before in _CLOSING else 0
    return _Bracket(times=(around.times << min(around.joins, 40)) * tried, chain=chain)


def _count_joins(inner: _Bracket, kind: TokenType, previous: Token | None) -> None:
    if kind is TokenType.JOIN or kind is TokenType.STRAIGHT_JOIN:
        inner.joins += previous is None or previous.token_type not in _JOINED_OTHERWISE
    elif kind in _WITH_CONDITION:
        inner.joins = max(0, inner.joins - 1)
    elif kind in _AFTER_JOINS:
        inner.joins = 0


def _is_bare_if(previous: Token | None, kind: TokenType) -> bool:
    return previous is not None and kind is not TokenType.L_PAREN and previous.text.upper() == "IF"
