"""JSON whose objects name each key once, and the values of Python that a payload may hold beside those of JSON.

Readers differ in which of two equal keys counts, and checks may miss one. Values of Python are dates, decimals, sets,
NumPy's numbers and arrays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from analytics_core.errors import PayloadFormatError
from analytics_core.errors.base import short_repr

_LONGEST_PLACE: Final = 200


class RepeatedKeyError(ValueError):
    """A JSON object names a key twice; its text says which, and where the object stands."""

    def __init__(self, key: str, place: str = "") -> None:
        self.key = key
        super().__init__(f"names the key {short_repr(key)} twice{f' in {place[:_LONGEST_PLACE]}' if place else ''}")


class _Repeating(dict[str, Any]):
    """An object that names `key` twice."""

    key: str


def read_json_once(text: str | bytes | bytearray, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON text.

    Raises:
        RepeatedKeyError: an object in it names a key twice.
        ValueError, RecursionError: it is no JSON, or nests too deeply to be read.
    """
    repeats = False

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        repeats = True
        return _repeating(pairs)

    content = json.loads(text, parse_constant=parse_constant, object_pairs_hook=once)
    if repeats:
        raise next(_repeats(content))
    return content


def check_json_once(text: str) -> str:
    """Return a text that is JSON, whose objects name each key once, or empty; ValueError for another."""
    try:
        read_json_once(text or "null")
    except RepeatedKeyError:
        raise
    except (ValueError, RecursionError):
        raise ValueError("must be JSON text") from None
    return text


def check_keys_once(text: str) -> str:
    """Return a text that may be JSON; ValueError for JSON that names a key twice."""
    if (error := repeated_key(text)) is not None:
        raise error
    return text


def repeated_key(text: str | None) -> RepeatedKeyError | None:
    """Return what is wrong with a text that is JSON and names a key twice; None for any other."""
    try:
        read_json_once(text or "null")
    except RepeatedKeyError as error:
        return error
    except (ValueError, RecursionError):
        pass
    return None


def _repeating(pairs: list[tuple[str, Any]]) -> _Repeating:
    found, seen = _Repeating(), set[str]()
    for key, value in pairs:
        if key in seen and not hasattr(found, "key"):
            found.key = key
        seen.add(key)
        found[key] = value
    return found


def _repeats(content: Any) -> Iterator[RepeatedKeyError]:
    """Yield an error for each object that names a key twice, the outer ones first."""
    level = [("", content)]
    while level:
        for place, value in level:
            if isinstance(value, _Repeating):
                yield RepeatedKeyError(value.key, place.removeprefix("."))
        level = [(f"{place}.{name}", child) for place, value in level for name, child in _children(value)]


def _children(value: Any) -> Iterator[tuple[object, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


_TEXTS: Final = (date, time, Decimal, UUID)
_ALIKE: Final = (str, int, float, type(None), Enum, *_TEXTS)
_NUMPY_KINDS: Final = ("b", "i", "u", "f", "U")


def plain_values(value: Any, *, shape: str, place: str = "") -> Any:
    """Return a payload that nests no deeper than `check_text` allows, with lists for sets and numbers for NumPy's.

    Raises:
        PayloadFormatError: a value of another type; the message says where.
    """
    if isinstance(value, _ALIKE):
        return value
    if isinstance(value, Mapping):
        _check_keys(value, shape, place)
        return {key: plain_values(item, shape=shape, place=_inside(place, key)) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_values(item, shape=shape, place=_inside(place, i)) for i, item in enumerate(value)]
    if getattr(getattr(value, "dtype", None), "kind", "") in _NUMPY_KINDS:
        return value.tolist()
    raise PayloadFormatError(
        f"{shape}: {place or 'the payload'} holds a {type(value).__name__}, which JSON cannot say; pass text, a "
        "number, true, false, null, a date, a list or an object"
    )


def holds_numpy(value: Any) -> bool:
    """Tell whether a payload holds a number or an array of NumPy's, at any depth."""
    waiting = [value]
    while waiting:
        member = waiting.pop()
        if hasattr(member, "dtype"):
            return True
        if isinstance(member, Mapping):
            waiting.extend(member.values())
        elif isinstance(member, list | tuple | set | frozenset):
            waiting.extend(member)
    return False


def json_text(value: Any, *, shape: str) -> str:
    """Return a payload as JSON text, dates and decimals as texts; errors as in `plain_values`."""
    return json.dumps(plain_values(value, shape=shape), default=_text)


def _check_keys(value: Mapping[Any, Any], shape: str, place: str) -> None:
    wrong = next((key for key in value if not isinstance(key, str | int | float | None)), None)
    if wrong is not None:
        raise PayloadFormatError(
            f"{shape}: {place or 'the payload'} has a {type(wrong).__name__} as a key; pass a text"
        )


def _inside(place: str, key: Any) -> str:
    return f"{place}.{key}" if place else str(key)


def _text(value: date | time | Decimal | UUID) -> str:
    return value.isoformat() if isinstance(value, date | time) else str(value)
