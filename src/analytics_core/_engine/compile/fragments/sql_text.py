"""Reads and writes users' SQL text: characters, tokens, trees; every refusal is the caller's typed error.

The tokens tell how long a parser would take, before one sees the text. The parser goes back and reads again where it
took a wrong guess, and each such place inside another doubles what the inner one costs: twenty levels of `DATE(` in 130
characters take seconds. The places were found by counting the steps of the parser on repeated patterns of its own
keywords, in every dialect:

- a name of a type before a bracket is tried as a type first (`DATE(a)`, `ARRAY[a]`; BINARY of MariaDB a third time);
- an `IF` without parentheses is tried as a condition;
- a join without ON or USING is tried as one that holds the next join: `a JOIN b JOIN c ON ... ON ...`.

Chains of subscripts (`a[1][1][1]`) are walked through for each of them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from analytics_core._engine.engines.spec import Refuse, dialect_of
from analytics_core.errors.base import short_repr

logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # without any, Python prints what a parser doubts

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_WITH_CONDITION: Final = frozenset({TokenType.ON, TokenType.USING})
_JOINED_OTHERWISE: Final = frozenset({TokenType.CROSS, TokenType.NATURAL})
_AFTER_JOINS: Final = frozenset(
    {TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT}
    | {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.WINDOW, TokenType.QUALIFY}
)
_JOINING: Final = frozenset({TokenType.JOIN, TokenType.STRAIGHT_JOIN})
_TURNING: Final = _OPENING | _CLOSING | _WITH_CONDITION | _AFTER_JOINS | _JOINING
_IF: Final = frozenset(first + second for first in "Iiı" for second in "Ff")
"""Each text that is IF in upper case."""

MOST_LEVELS: Final = 100
_MOST_BITS: Final = 40
_FREE_STEPS: Final = 20_000
_STEPS_A_TOKEN: Final = 4
"""Seven levels of `DATE(` stay free, and no text costs more than a few times a flat one of its length."""


@dataclass(slots=True)
class _Bracket:
    """What stands in one bracket: how often it is read, the joins that wait for their ON, the subscripts before it."""

    times: int = 1
    joins: int = 0
    chain: int = 0


def is_too_deep(tokens: Sequence[Token], dialect: str) -> bool:
    """Tell whether brackets, joins or conditions nest so that parsing would take long, or no engine needs it."""
    types = dialect_of(dialect).parser_class.TYPE_TOKENS
    most = _FREE_STEPS + _STEPS_A_TOKEN * len(tokens)
    after_if = {place for place, one in enumerate(tokens[:-1], 1) if one.text in _IF}
    turns = [place for place, one in enumerate(tokens) if one.token_type in _TURNING]
    if _is_shallow(tokens, turns, types, doubled=len(after_if), most=most):
        return False
    outer: list[_Bracket] = []
    inner, closed, steps, counted, each = _Bracket(), _Bracket(), 0, 0, 1
    for position in sorted({*turns, *after_if}) if after_if else turns:
        token, previous = tokens[position], tokens[position - 1] if position else None
        kind = token.token_type
        steps += (position - counted) * each  # between two turns each token takes as many steps as the one before
        if kind in _OPENING:
            outer.append(inner)
            inner = _opened(token, previous, inner, closed, types)
        elif kind in _CLOSING and outer:
            closed, inner = inner, outer.pop()
        else:
            _count_joins(inner, kind, previous)
        if position in after_if and kind is not TokenType.L_PAREN:
            inner.times *= 2
        counted, each = position, inner.chain + (inner.times << min(inner.joins, _MOST_BITS))
        if steps > most or len(outer) > MOST_LEVELS:
            return True
    return steps + (len(tokens) - counted) * each > most


def _is_shallow(
    tokens: Sequence[Token], turns: Sequence[int], types: Collection[TokenType], *, doubled: int, most: int
) -> bool:
    """Tell whether no text with these brackets, joins and conditions takes too long, however they nest."""
    kinds = [tokens[place].token_type for place in turns]
    opened = [place for place, kind in zip(turns, kinds, strict=True) if kind in _OPENING]
    tried = sum(tokens[place - 1].token_type in types for place in opened)
    doubled += len([kind for kind in kinds if kind in _JOINING])
    if len(opened) > MOST_LEVELS or tried + doubled > _MOST_BITS:
        return False
    return bool(len(tokens) * (len(opened) + (3**tried << doubled)) <= most)


def _opened(
    token: Token, previous: Token | None, around: _Bracket, closed: _Bracket, types: Collection[TokenType]
) -> _Bracket:
    """Return the bracket that a token opens."""
    before = previous.token_type if previous else None
    tried = 3 if before in types and token.token_type is not TokenType.L_BRACE else 1
    chain = closed.chain + 1 if token.token_type is TokenType.L_BRACKET and before in _CLOSING else 0
    return _Bracket(times=(around.times << min(around.joins, _MOST_BITS)) * tried, chain=chain)


def _count_joins(inner: _Bracket, kind: TokenType, previous: Token | None) -> None:
    if kind in _JOINING:
        inner.joins += previous is None or previous.token_type not in _JOINED_OTHERWISE
    elif kind in _WITH_CONDITION:
        inner.joins = max(0, inner.joins - 1)
    elif kind in _AFTER_JOINS:
        inner.joins = 0


FAULTS: Final = (SqlglotError, TypeError, AttributeError, ValueError, LookupError, AssertionError)
"""What sqlglot raises on text that is no SQL; the parser itself stumbles over some of it (`a ?` on PostgreSQL)."""

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_NAMES: Final = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_QUOTED: Final = frozenset(
    {TokenType.IDENTIFIER, TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING}
    | {TokenType.HEREDOC_STRING, TokenType.UNICODE_STRING, TokenType.BYTE_STRING}
)
_TOO_DEEP: Final = "it is nested too deeply; write it flatter"


def check_characters(text: str, *, max_length: int, reject: Refuse) -> None:
    """Refuse text that is empty, too long (characters), or holds control characters or half a surrogate pair."""
    if not text.strip():
        raise reject("it is empty")
    if len(text) > max_length:
        raise reject(f"it has {len(text)} characters; at most {max_length} are allowed")
    if not text.isprintable() and (found := _CONTROL.search(text)):
        raise reject(f"it holds the control character U+{ord(found[0]):04X}; remove it")


def read_tokens(text: str, dialect: str, reject: Refuse) -> list[Token]:
    """Return the tokens of `text`, which a parser may read.

    Refused is what it would not see (executable comments, unrendered templates), and nesting that takes it long.
    """
    try:
        tokens = _tokens(text, dialect_of(dialect))
    except FAULTS:
        raise reject("it cannot be read: a quote or comment is not closed") from None
    if not text.isascii() and (strange := next(filter(_is_invisible, tokens), None)):
        raise reject(f"the name {strange.text!a} holds a character that cannot be seen; remove it, or quote the name")
    if _has_executable_comment(text, tokens):
        raise reject("comments that some servers execute (/*! ... */) are not allowed")
    kinds = {token.token_type for token in tokens}
    if not kinds.isdisjoint(_TEMPLATE_MARKS) and _has_template(tokens):
        raise reject("template marks ({{ }} or {% %}) are left in it; templates are off, or it is not a template")
    if TokenType.PIPE_GT in kinds:  # the parser writes `|> LIMIT 1 |> WHERE a` as WHERE a LIMIT 1
        raise reject("steps after a pipe (|>) are not read one after the other here; write them as sub-queries")
    if is_too_deep(tokens, dialect):
        raise reject(_TOO_DEEP)
    texts = _interval_texts(tokens) if TokenType.INTERVAL in kinds else ()
    if lost := next(filter(_loses_parts, texts), None):
        raise reject(f"the interval {short_repr(lost)} is not one number and a unit; write it as INTERVAL '1 day'")
    return tokens


def _is_invisible(token: Token) -> bool:
    """Tell whether a word holds blanks or marks that tokenizers take for letters: DuckDB takes them for blanks."""
    return token.token_type not in _QUOTED and not token.text.isprintable()


def _interval_texts(tokens: Sequence[Token]) -> Iterator[str]:
    after = [place for place, one in enumerate(tokens[:-1], 1) if one.token_type is TokenType.INTERVAL]
    return (tokens[place].text for place in after if tokens[place].token_type is TokenType.STRING)


def _loses_parts(text: str) -> bool:
    """Tell whether the parser would keep a part of an interval's text alone: of `1 day ago` it takes `1 day`."""
    plain = text.strip().removeprefix("+")
    return len(exp.INTERVAL_STRING_RE.findall(plain)) == 1 and not exp.INTERVAL_STRING_RE.fullmatch(plain)


def _tokens(text: str, dialect: Dialect) -> list[Token]:
    """Return the tokens of `text`, also of one that begins with the name of a statement.

    After such a word, which may call a function (`REPLACE(...)`), the tokenizer gives the whole rest as one text, in
    which no check would see the functions.
    """
    tokens = dialect.tokenize(text)
    if tokens and tokens[0].token_type in dialect.tokenizer_class.COMMANDS:
        return dialect.tokenize(f"SELECT {text}")[1:]
    return tokens


def _has_executable_comment(text: str, tokens: Sequence[Token]) -> bool:
    if "!" in text and any(comment.startswith(("!", "M!")) for token in tokens for comment in token.comments):
        return True
    return not tokens and "/*" in text


_TEMPLATE_MARKS: Final = frozenset({TokenType.BLOCK_START, TokenType.L_BRACE})


def _has_template(tokens: Sequence[Token]) -> bool:
    if any(token.token_type is TokenType.BLOCK_START for token in tokens):
        return True
    return any(
        first.token_type is second.token_type is TokenType.L_BRACE and second.start == first.end + 1
        for first, second in pairwise(tokens)
    )


def called_names(tokens: Sequence[Token]) -> Collection[str]:
    """Return each name that is followed by `(`, and the names before its dots, once, in lower case.

    `pg_catalog.pg_sleep(1)` gives `pg_sleep` and `pg_catalog`: a package may be denied as a whole.
    """
    return dict.fromkeys([token.text.lower() for call in _calls(tokens) for token in call]).keys()


def _calls(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of the name before each `(`: the last part first."""
    for position in [place for place, token in enumerate(tokens) if token.token_type is TokenType.L_PAREN]:
        before, parts = position - 1, []
        while before >= 0 and _may_name(tokens[before]):
            parts.append(tokens[before])
            if before < 2 or tokens[before - 1].token_type is not TokenType.DOT:
                break
            before -= 2
        yield parts


def _may_name(token: Token) -> bool:
    return token.token_type in _NAMES or token.text.replace("_", "").replace("$", "").isalnum()


def reject_denied(called: Iterable[str], denied: Container[str], reject: Refuse) -> None:
    """Refuse calls of functions that reach files, the network, the session, the catalog or other statements."""
    for name in called:
        if name in denied:
            raise reject(f"the function {name} is not allowed")


_GRAMMAR: Final = frozenset(
    {
        "ALL", "AND", "ANY", "AS", "ASC", "BETWEEN", "BY", "CASE", "COLLATE", "DESC", "DISTINCT", "DIV", "ELSE", "END",
        "ESCAPE", "FILTER", "FOR", "FROM", "GLOB", "GROUP", "GROUPS", "ILIKE", "IN", "INTERVAL", "IS", "LIKE", "MATCH",
        "MOD", "NOT", "ON", "OR", "ORDER", "OVER", "OVERLAPS", "PARTITION", "REGEXP", "RLIKE", "ROWS",
        "SEPARATOR", "SIMILAR", "SOME", "THEN", "TO", "USING", "WHEN", "WHERE", "WITHIN", "XOR",
    }
)  # fmt: skip
"""Words that may stand before a parenthesis and call nothing."""

_BARE_CALLS: Final = frozenset(
    {
        "current_catalog", "current_database", "current_path", "current_role", "current_schema", "current_user",
        "session_user", "system_user", "user",
    }
)  # fmt: skip
"""Functions that are called without parentheses and tell of the session."""


def reject_unlisted(tokens: Sequence[Token], types: Iterable[str], allowed: Container[str], reject: Refuse) -> None:
    """Refuse each function and package of functions that the list does not name, and these types."""
    for name in (*(name for name in _plain_calls(tokens) if name not in allowed), *types):
        raise reject(
            f"the function or type {name} is not on the list for people who may not write SQL on this database; "
            "ask for a saved metric or calculated column, or to add it to Settings.allowed_functions"
        )


def _plain_calls(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the names of `called_names` without words of the grammar, and the calls that need no parentheses."""
    for call in _calls(tokens):
        is_word = len(call) == 1 and _is_plain(call[0]) and call[0].text.upper() in _GRAMMAR
        yield from () if is_word else (token.text.lower() for token in call)
    for token in tokens:
        if _is_plain(token) and token.text.lower() in _BARE_CALLS:
            yield token.text.lower()


def _is_plain(token: Token) -> bool:
    return token.token_type not in (TokenType.IDENTIFIER, TokenType.STRING)


def parse_scalar(text: str, tokens: Sequence[Token], dialect: str, reject: Refuse) -> exp.Expr:
    """Return the tree of `text`, which must be one scalar expression with nothing before or after it."""
    try:
        if tokens and tokens[0].token_type is TokenType.REPLACE:
            return _as_select_item(text, dialect, reject)
        return sqlglot.parse_one(text, read=dialect, into=exp.Condition)
    except ParseError as error:
        raise reject(f"it is not one SQL expression{_where(error)}") from None
    except FAULTS:
        raise reject("it is not one SQL expression") from None
    except RecursionError:
        raise reject(_TOO_DEEP) from None


def _as_select_item(text: str, dialect: str, reject: Refuse) -> exp.Expr:
    """Parse `REPLACE(...)`, which some dialects take for the statement of that name when it stands first."""
    tree = sqlglot.parse_one(f"SELECT {text}", read=dialect)
    items = tree.expressions
    others = [value for key, value in tree.args.items() if key not in ("expressions", "kind") and value]
    if not isinstance(tree, exp.Select) or len(items) != 1 or others or isinstance(items[0], exp.Alias):
        raise reject("it is not one SQL expression")
    item: exp.Expr = items[0].pop()
    return item


def parse_statements(
    text: str, dialect: str, reject: Refuse, *, tokens: Sequence[Token] | None = None
) -> list[exp.Expr]:
    """Return the statements of `text`; empty ones and stray semicolons do not count. `tokens` are its own, if known."""
    known = dialect_of(dialect)
    try:
        trees = known.parse(text) if tokens is None else known.parser().parse(list(tokens), text)
    except ParseError as error:
        raise reject(f"it is not valid SQL{_where(error)}") from None
    except FAULTS:
        raise reject("it is not valid SQL") from None
    except RecursionError:
        raise reject(_TOO_DEEP) from None
    return [tree for tree in trees if tree is not None and not isinstance(tree, exp.Semicolon)]


def _where(error: ParseError) -> str:
    first = error.errors[0] if error.errors else {}
    near, line, end = first.get("highlight"), first.get("line"), first.get("col")
    return f": see {near!r} in line {line}, column {end - len(near) + 1}" if near and line and end else ""


def write_sql(tree: exp.Expr, dialect: str, reject: Refuse) -> str:
    """Return the text of `tree` without comments, refusing what the dialect cannot write as it was meant."""
    try:
        generator = dialect_of(dialect).generator(comments=False, unsupported_level=ErrorLevel.RAISE)
        return generator.generate(tree)
    except FAULTS:
        raise reject("a part of it cannot be written for this engine") from None
    except RecursionError:
        raise reject(_TOO_DEEP) from None
