"""JSON that keeps the types of Python's values: what JSON has a value for stands as it is, all else as `[type, ...]`.

    None, Booleans, text          as they are (text that UTF-8 cannot write: `["str", hexadecimal digits]`)
    integers                      a number where 64 bits hold it, else `["int", hexadecimal digits]`
    floats                        a number; `["float", "nan"]` and the infinities
    dicts with keys of text       an object; other dicts `["dict", [key, value], ...]`
    lists, tuples, sets           `["tuple", item, item, ...]`
    moments, decimals, bytes ...  `["date", "2024-01-31"]`

Every JSON array therefore begins with the name of a type. Subclasses are no such types: the caller writes them.

Errors are written too, so that another process raises the same one: its class, message and facts. What caused an error,
and where it was raised, stays behind. Nothing is imported and nothing is run: a class is found by its name among those
of this package that derive from `AnalyticsError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from analytics_core.errors import JobError
from analytics_core.errors.base import AnalyticsError, ErrorLevel, ErrorType, Problem, same_error, short_repr

Other = Callable[[Any], Any]
"""Writes a value of a type that has no form here."""

Readers = Mapping[str, Callable[..., Any]]
"""What reads the forms that an `Other` wrote, by their first item."""


def typed_json(value: Any, *, other: Other) -> Any:
    """Return the JSON value that stands for `value`; what is inside it and of no type here goes to `other`."""
    kind = type(value)
    if kind in _MEMBERS:
        return [kind.__name__, *(typed_json(item, other=other) for item in value)]
    if kind is dict:
        return _object(value, other)
    write = _WRITERS.get(kind)
    return other(value) if write is None else write(value)


def from_typed_json(tree: Any, *, readers: Readers | None = None) -> Any:
    """Return the value that `typed_json` wrote.

    Raises:
        ArithmeticError, KeyError, TypeError, ValueError: it wrote no such thing.
    """
    if isinstance(tree, dict):
        return {key: from_typed_json(member, readers=readers) for key, member in tree.items()}
    if not isinstance(tree, list):
        return tree
    kind, *rest = tree
    if kind in _MAKERS:
        return _MAKERS[kind](from_typed_json(item, readers=readers) for item in rest)
    if kind == dict.__name__:
        return {from_typed_json(k, readers=readers): from_typed_json(v, readers=readers) for k, v in rest}
    return (_READERS.get(kind) or (readers or {})[kind])(*rest)


def _object(value: dict[Any, Any], other: Other) -> Any:
    if all(type(key) is str and _is_utf8(key) for key in value):
        return {key: typed_json(member, other=other) for key, member in value.items()}
    pairs = ([typed_json(key, other=other), typed_json(member, other=other)] for key, member in value.items())
    return [dict.__name__, *pairs]


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _same(value: Any) -> Any:
    return value


def _text(value: str) -> Any:
    return value if value.isascii() or _is_utf8(value) else ["str", value.encode("utf-8", "surrogatepass").hex()]


def _integer(value: int) -> Any:
    return value if -(2**63) <= value < 2**63 else ["int", hex(value)]


def _float(value: float) -> Any:
    return value if value - value == 0 else ["float", repr(value)]


def _span(value: timedelta) -> Any:
    return ["timedelta", value.days, value.seconds, value.microseconds]


_MEMBERS: Final = frozenset({list, tuple, set, frozenset})
_MAKERS: Final[Mapping[str, Callable[..., Any]]] = {kind.__name__: kind for kind in _MEMBERS}

_WRITERS: Final[Mapping[type, Callable[[Any], Any]]] = {
    type(None): _same,
    bool: _same,
    str: _text,
    int: _integer,
    float: _float,
    bytes: lambda value: ["bytes", value.hex()],
    Decimal: lambda value: ["Decimal", str(value)],
    datetime: lambda value: ["datetime", value.isoformat()],
    date: lambda value: ["date", value.isoformat()],
    time: lambda value: ["time", value.isoformat()],
    timedelta: _span,
    UUID: lambda value: ["UUID", str(value)],
}
_READERS: Final[Readers] = {
    "str": lambda digits: bytes.fromhex(digits).decode("utf-8", "surrogatepass"),
    "int": lambda digits: int(digits, 16),
    "float": float,
    "bytes": bytes.fromhex,
    "Decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": timedelta,
    "UUID": UUID,
}


# ------------------------------------------------------------------------------------------------------------- errors
_PACKAGE: Final = __name__.partition(".")[0]
_READERS_OF_FACTS: Final[Readers] = {
    "ErrorType": ErrorType,
    "ErrorLevel": ErrorLevel,
    "Problem": lambda *texts: Problem(**dict(zip(("path", "message"), map(from_typed_json, texts), strict=True))),
}
_UNREADABLE: Final = "an error that this version does not know; ask again"


def error_to_json(error: AnalyticsError) -> dict[str, Any]:
    """Return `{class, message, facts}`, all of it plain JSON; an error of a host's own class becomes its nearest base.

    Facts of types that JSON cannot keep become their text.
    """
    facts = {name: fact for name, fact in error.__dict__.items() if name != "message" and not name.startswith("__")}
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
    facts = from_typed_json(value["facts"], readers=_READERS_OF_FACTS)
    shape = {"error_type": ErrorType, "level": ErrorLevel, "extra": dict}
    optional = {name: fact_type for name, fact_type in {"code": str, "retryable": bool}.items() if name in facts}
    if not isinstance(message, str) or not all(
        isinstance(facts[name], fact_type) for name, fact_type in {**shape, **optional}.items()
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
