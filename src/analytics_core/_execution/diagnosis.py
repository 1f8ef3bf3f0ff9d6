"""A driver's exception -> one of the contract's error types, in our words (contract, section Errors).

Pure. Of the driver's text only names pass (tables, columns, hosts, users), and only where a pattern of the engine
captures them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from analytics_core._engines.spec import EngineSpec, ErrorPattern
from analytics_core.errors import DatabaseError, ErrorType, StatementTimeoutError

_LONGEST_NAME = 120
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_LONGEST_TEXT = 20_000
_MISSING = "?"
_QUOTED_STATEMENT = "\nLINE "
"""Where PostgreSQL and DuckDB begin to repeat the statement, which could hold anything."""
_POOL_EXHAUSTED = ErrorPattern(
    pattern=r"^QueuePool limit",
    error_type=ErrorType.GENERIC_DB_ENGINE_ERROR,
    template="all connections to this database are in use; try again, or raise pool_size",
)


def diagnose(error: BaseException, spec: EngineSpec) -> DatabaseError:
    """Return the typed error for what a driver raised; raise it outside of the `except` block, so that nothing chains.

    Names found by the engine's patterns are in `.extra` too; so is the driver's short error code, when there is one.
    """
    original = getattr(error, "orig", None) or error
    text = str(original)[:_LONGEST_TEXT].partition(_QUOTED_STATEMENT)[0]
    code = error_code(original)
    for pattern in (_POOL_EXHAUSTED, *spec.error_patterns):
        if match := re.search(pattern.pattern, text, re.IGNORECASE | re.DOTALL):
            return _typed(pattern, _names(match), spec=spec, code=code)
    return _unknown(spec, code)


def error_code(error: BaseException) -> str | None:
    """Return the driver's code (SQLSTATE, error number or name), None when there is none."""
    first = error.args[0] if error.args else None
    for code in (getattr(error, "sqlstate", None), getattr(error, "sqlite_errorname", None), first):
        if isinstance(code, int) or (isinstance(code, str) and re.fullmatch(r"[A-Z0-9_]{2,40}", code)):
            return str(code)
    return None


def _names(match: re.Match[str]) -> dict[str, str]:
    return {name: _cleaned(value) for name, value in match.groupdict().items() if value is not None}


def _cleaned(value: str) -> str:
    shown = _CONTROL.sub(" ", value).strip()
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[:_LONGEST_NAME]}..."


class _Names(dict[str, str]):
    """Names for a template; one that the driver did not tell reads `?`."""

    def __missing__(self, _key: str) -> str:
        return _MISSING


def _typed(pattern: ErrorPattern, names: Mapping[str, str], *, spec: EngineSpec, code: str | None) -> DatabaseError:
    message = pattern.template.format_map(_Names(names))
    extra = {**names, **({"code": code} if code else {})}
    kind = StatementTimeoutError if pattern.error_type is ErrorType.CONNECTION_DATABASE_TIMEOUT else DatabaseError
    return kind(message, error_type=pattern.error_type, engine=spec.name, extra=extra)


def _unknown(spec: EngineSpec, code: str | None) -> DatabaseError:
    shown = f" (its error code: {code})" if code else ""
    return DatabaseError(
        f"{spec.label} could not run the statement{shown}", engine=spec.name, extra={"code": code} if code else {}
    )
