"""JSON that keeps the types of Python's values: what JSON has a value for stands as it is, all else as `[type, ...]`.

    None, Booleans, text          as they are (text that UTF-8 cannot write: `["str", hexadecimal digits]`)
    integers                      a number where 64 bits hold it, else `["int", hexadecimal digits]`
    floats                        a number; `["float", "nan"]` and the infinities
    dicts with keys of text       an object; other dicts `["dict", [key, value], ...]`
    lists, tuples, sets           `["tuple", item, item, ...]`
    moments, decimals, bytes ...  `["date", "2024-01-31"]`

Every JSON array therefore begins with the name of a type. Subclasses are no such types: the caller writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

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
        return {key: from_typed_json(held, readers=readers) for key, held in tree.items()}
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
        return {key: typed_json(held, other=other) for key, held in value.items()}
    pairs = ([typed_json(key, other=other), typed_json(held, other=other)] for key, held in value.items())
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


def _whole(value: int) -> Any:
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
    int: _whole,
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
