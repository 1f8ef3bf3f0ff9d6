"""Errors as JSON and back, so that another process raises the same one: its class, message and facts.

What caused an error, and where it was raised, stays behind. Nothing is imported and nothing is run: a class is found by
its name among those of this package that derive from `AnalyticsError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from analytics_core._error_types import AnalyticsError, ErrorLevel, ErrorType, Problem, same_error, short_repr
from analytics_core._typed_json import Readers, from_typed_json, typed_json
from analytics_core.errors import JobError

_PACKAGE: Final = __name__.partition(".")[0]
_READERS: Final[Readers] = {
    "ErrorType": ErrorType,
    "ErrorLevel": ErrorLevel,
    "Problem": lambda *texts: Problem(**dict(zip(("path", "message"), map(from_typed_json, texts), strict=True))),
}
_UNREADABLE: Final = "an error that this version does not know; ask again"


def error_to_json(error: AnalyticsError) -> dict[str, Any]:
    """Return `{class, message, facts}`, all of it plain JSON; an error of a host's own class becomes its nearest base.

    Facts of types that JSON cannot keep become their text.
    """
    facts = {name: held for name, held in error.__dict__.items() if name != "message" and not name.startswith("__")}
    known = _classes()
    return {
        "class": next(kind.__name__ for kind in type(error).__mro__ if known.get(kind.__name__) is kind),
        "message": typed_json(error.message, other=_other),
        "facts": typed_json(facts, other=_other),
    }


def error_from_json(value: object) -> AnalyticsError:
    """Return the error that `error_to_json` wrote; a `JobError` with its message for what this version cannot read."""
    try:
        return _error(value)
    except (ArithmeticError, KeyError, RecursionError, TypeError, ValueError):
        message = value.get("message") if isinstance(value, Mapping) else None
        return JobError(message if isinstance(message, str) else _UNREADABLE)


def _error(value: Any) -> AnalyticsError:
    kind = _classes()[value["class"]]
    message = from_typed_json(value["message"])
    facts = from_typed_json(value["facts"], readers=_READERS)
    shape = {"error_type": ErrorType, "level": ErrorLevel, "extra": dict}
    told = {name: held for name, held in {"code": str, "retryable": bool}.items() if name in facts}
    if not isinstance(message, str) or not all(
        isinstance(facts[name], held) for name, held in {**shape, **told}.items()
    ):
        raise TypeError("facts of another shape")
    if any(callable(getattr(kind, name, None)) for name in facts):
        raise TypeError("a fact that would hide a method")
    return same_error(kind, (message,), {"message": message, **facts})


def _other(value: Any) -> Any:
    match value:
        case ErrorType() | ErrorLevel():
            return [type(value).__name__, value.value]
        case Problem(path=path, message=message):
            return ["Problem", typed_json(path, other=_other), typed_json(message, other=_other)]
        case str():
            return typed_json(str.__str__(value), other=_other)
        case Mapping():
            return typed_json(dict(value), other=_other)
    return typed_json(short_repr(value), other=_other)


def _classes() -> dict[str, type[AnalyticsError]]:
    """Return every class of error of this package, by its name."""
    return {kind.__name__: kind for kind in _derived(AnalyticsError) if kind.__module__.split(".")[0] == _PACKAGE}


def _derived(kind: type[AnalyticsError]) -> Iterator[type[AnalyticsError]]:
    yield kind
    for derived in kind.__subclasses__():
        yield from _derived(derived)
