"""The texts by which front ends write null and the empty text, in the filters of their forms and dashboards.

They are values like any others wherever a filter was not made by a front end, and where the column holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

_MEANINGS: Final[Mapping[str, str | None]] = MappingProxyType({"<NULL>": None, "<empty string>": ""})
_OPERATORS: Final = frozenset({"==", "!=", "IN", "NOT IN"})


def meant(operator: Any, value: Any, holds: Callable[[str], bool]) -> tuple[Any, tuple[str, ...]]:
    """Return the value of a front end's filter as it is meant, and the texts in it that do not stand for themselves.

    Args:
        operator: of the filter.
        value: of the filter, or its list of values.
        holds: tells whether the column holds a text itself.
    """
    if str(operator).strip().upper() not in _OPERATORS:
        return value, ()
    values: Sequence[Any] = value if isinstance(value, list | tuple) else (value,)
    texts = tuple(text for text in _MEANINGS if text in values and not holds(text))
    if not texts:
        return value, ()
    read = [_MEANINGS[one] if _is_among(one, texts) else one for one in values]
    return (read if isinstance(value, list | tuple) else read[0]), texts


def _is_among(value: Any, texts: Collection[str]) -> bool:
    return isinstance(value, str) and value in texts


def note_of(place: str, texts: Collection[str]) -> str:
    """Return what an answer tells of texts that do not stand for themselves."""
    named = " and ".join(f"{text!r} means {'null' if _MEANINGS[text] is None else 'the empty text'}" for text in texts)
    return f"{place}: {named}, as front ends write it: the column holds no such text"
