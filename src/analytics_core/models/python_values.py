"""Values of Python that a payload may hold beside those of JSON: dates, decimals, sets, NumPy's numbers and arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from analytics_core.errors import PayloadFormatError

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
