"""JSON whose objects name each key once: readers differ in which of two equal keys counts, and checks may miss one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from analytics_core._error_texts import short_repr

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
