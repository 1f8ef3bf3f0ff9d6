"""A driver's exception -> one of the contract's error types, in our words (contract, section Errors).

Pure. Of the driver's text only names pass (tables, columns, hosts, users), only where a pattern of the engine captures
them, and only those that stand in what was sent: engines also look for objects whose names are values of rows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from analytics_core._engine.engines.spec import EngineSpec, ErrorPattern
from analytics_core._engine.execution.sessions.base import CODE_ATTRIBUTES
from analytics_core.errors import DatabaseError, ErrorType, StatementTimeoutError

_LONGEST_NAME = 120
_NO_CONNECTION: Final = (
    "takes no connection; check host, port and database of its URL, and that a server of it runs there"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_LONGEST_TEXT = 20_000
_WITHHELD: Final = "(name withheld)"
_QUOTED_STATEMENT = "\nLINE "
"""Where PostgreSQL and DuckDB begin to repeat the statement, which could hold anything."""
_POOL_EXHAUSTED = ErrorPattern(
    pattern=r"^QueuePool limit",
    error_type=ErrorType.GENERIC_DB_ENGINE_ERROR,
    template="all connections to this database are in use; try again, or raise pool_size",
    retryable=True,
)
_TEXTS: Final = frozenset(
    {
        TokenType.STRING, TokenType.NUMBER, TokenType.NATIONAL_STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING,
        TokenType.UNICODE_STRING, TokenType.BYTE_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING,
    }
)  # fmt: skip
_PARTED = re.compile(r"[.:]")
_QUOTES = re.compile(r"[\"`\[\]]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentStatement:
    """What a database was sent, whose names an error may repeat.

    Attributes:
        sql: the statement, without bound values.
        names: further names that were asked for.
        url: where the connection leads; its host, port, user and database may be told.
    """

    sql: str = ""
    names: tuple[str, ...] = ()
    url: sa.URL | None = None

    def tells(self, kind: str, name: str, *, spec: EngineSpec) -> bool:
        """Tell whether a name of this kind (`table`, `host` ...) was sent; case does not count."""
        if kind in ("host", "port", "user"):
            known = self._of_the_connection(kind, spec)
        else:
            known = self._of_the_connection("database", spec) | self._of_the_statement(spec.dialect)
        plain = _QUOTES.sub("", name).casefold()
        return plain in known or all(part in known for part in _PARTED.split(plain))

    def _of_the_connection(self, kind: str, spec: EngineSpec) -> frozenset[str]:
        if self.url is None:
            return frozenset()
        if kind == "port":
            return _folded([str(self.url.port or spec.usual_port or "")])
        if kind == "host":
            return _folded((self.url.host or "").split(","))
        return _folded([{"user": self.url.username, "database": self.url.database}.get(kind) or ""])

    def _of_the_statement(self, dialect: str) -> frozenset[str]:
        """Return its words but texts, numbers and the aliases that its outputs have, which may be any text."""
        try:
            tokens = Dialect.get_or_raise(dialect).tokenize(self.sql)
        except (SqlglotError, ValueError):
            tokens = []
        return _folded([*self.names, *_words(tokens)])


def _words(tokens: list[Token]) -> Iterable[str]:
    before = [TokenType.SEMICOLON, *(token.token_type for token in tokens)]
    return (
        token.text
        for token, previous in zip(tokens, before, strict=False)
        if token.token_type not in _TEXTS and previous is not TokenType.ALIAS
    )


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.casefold() for name in names if name)


def diagnose(
    error: BaseException, spec: EngineSpec, *, sent: SentStatement, is_connected: bool = True
) -> DatabaseError:
    """Return the typed error for what a driver raised; raise it outside of the `except` block, so that nothing chains.

    Names found by the engine's patterns are in `.extra` too, when they were `sent`; so is the driver's short error
    code, when there is one.
    """
    original = getattr(error, "orig", None) or error
    code = error_code(original)
    found = _best(_message(original), spec.error_patterns, code)
    if found is None:
        return _unknown(spec, code, what="could not run the statement" if is_connected else _NO_CONNECTION)
    pattern, match = found
    names = {kind: _cleaned(name) for kind, name in match.groupdict().items() if name is not None}
    reported = {kind: name for kind, name in names.items() if sent.tells(kind, name, spec=spec)}
    if "host" in names and sent.url is not None:  # the driver may tell the address of a name, and no port
        reported.setdefault("host", _cleaned(sent.url.host or "localhost"))
        if port := sent.url.port or spec.usual_port:
            reported.setdefault("port", str(port))
    return _typed(pattern, reported, spec=spec, code=code)


def _message(error: BaseException) -> str:
    """Return what the driver says; Redshift's gives the fields of a message, Databricks' a status of HTTP beside it."""
    fields = error.args[0] if error.args else None
    text = str(fields.get("M", "")) if isinstance(fields, dict) else str(error)
    context = getattr(error, "context", None)
    if isinstance(context, Mapping) and isinstance(status := context.get("http-code"), int):
        text = f"status {status}: {text}"
    return text[:_LONGEST_TEXT].partition(_QUOTED_STATEMENT)[0]


def _best(text: str, patterns: tuple[ErrorPattern, ...], code: str | None) -> tuple[ErrorPattern, re.Match[str]] | None:
    """Return the pattern that matches first in the text: what follows may be a value that looks like a message."""
    chosen = [pattern for pattern in patterns if pattern.codes and code is not None]
    if chosen:
        chosen = [pattern for pattern in chosen if any(_has_code(code, one) for one in pattern.codes)]
    else:
        chosen = [_POOL_EXHAUSTED, *(pattern for pattern in patterns if pattern.pattern)]
    matches = (
        (pattern, match) for pattern in chosen if (match := re.search(pattern.pattern, text, re.IGNORECASE | re.DOTALL))
    )
    return min(matches, key=lambda found: found[1].start(), default=None)


def _has_code(code: str | None, one: str) -> bool:
    return code is not None and (code == one or (len(one) == _CLASS and code.startswith(one)))


_CLASS: Final = 2
"""Letters of a class of SQLSTATE codes."""


def error_code(error: BaseException) -> str | None:
    """Return the driver's code (SQLSTATE, error number or name), None when there is none."""
    first = error.args[0] if error.args else None
    if isinstance(first, dict):  # the fields of a message of Redshift
        first = first.get("C")
        return first if isinstance(first, str) and re.fullmatch(r"[A-Z0-9]{5}", first) else None
    if isinstance(first, int):
        return str(first)
    for code in (getattr(error, name, None) for name in CODE_ATTRIBUTES):
        if isinstance(code, str) and re.fullmatch(r"[A-Z0-9_]{2,40}", code):
            return code
    return None


def _cleaned(value: str) -> str:
    text = _CONTROL.sub(" ", value).strip()
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."


def _typed(pattern: ErrorPattern, names: Mapping[str, str], *, spec: EngineSpec, code: str | None) -> DatabaseError:
    # A name that the driver did not tell, or that was not sent, is withheld.
    message = pattern.template.format_map(defaultdict(lambda: _WITHHELD, names))
    extra = {**names, **({"code": code} if code else {})}
    kind = StatementTimeoutError if pattern.error_type is ErrorType.CONNECTION_DATABASE_TIMEOUT else DatabaseError
    return kind(message, error_type=pattern.error_type, engine=spec.name, extra=extra, retryable=pattern.retryable)


def _unknown(spec: EngineSpec, code: str | None, *, what: str) -> DatabaseError:
    detail = f" (its error code: {code})" if code else ""
    return DatabaseError(f"{spec.label} {what}{detail}", engine=spec.name, extra={"code": code} if code else {})
