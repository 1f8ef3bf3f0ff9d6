"""Values of one column as people read them: alike in a column, rounded to what can be told apart at a glance.

fractions     two digits, or as many as the largest value of the column needs for five significant ones; thousands apart
integers      thousands apart from 10,000 on, but for columns that are called like numbers of things (`id`, `year` ...)
moments       no time of day where all of the column are at midnight; no seconds where all are 0
null          None: the writers of blocks show it as such
all else      its text, on one line, of at most 120 characters
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from analytics_core._tools.display.blocks import Cell

_LEAST_DIGITS: Final = 2
_SIGNIFICANT: Final = 5
_APART_FROM: Final = 10_000
_MOST_DIGITS: Final = 15
"""Beyond so many digits before the point, a double is written with an exponent."""

_LARGEST_EXACT: Final = 10**40
"""Integers and decimal numbers below it are written with their digits."""

_IS_NUMBER_OF_THING: Final = re.compile(r"(?:^|[\s_])(?:id|year|zip|postcode|phone)$", re.IGNORECASE)
_MOST_ITEMS: Final = 20
_DISPLAYED_BYTES: Final = 16
_LONGEST: Final = 300
_LONGEST_CELL: Final = 120
_DEEPEST: Final = 4


def column_texts(values: Sequence[Any], *, name: str = "") -> list[Cell]:
    """Return the text of each value of a column; `name` is that of the column."""
    known = [value for value in values if not _is_null(value)]
    if known and all(map(_is_number, known)):
        texts = _number_texts(known, grouped=_IS_NUMBER_OF_THING.search(name) is None)
    elif known and all(isinstance(value, datetime) for value in known):
        texts = _moment_texts(known)
    else:
        texts = [value_text(value) for value in known]
    remaining = iter(texts)
    return [None if _is_null(value) else next(remaining) for value in values]


def are_numbers(values: Iterable[Any]) -> bool:
    """Tell whether a column stands at the right."""
    known = [value for value in values if not _is_null(value)]
    return bool(known) and all(map(_is_number, known))


def value_text(value: Any, depth: int = 0) -> str:
    """Return the text of one value by itself; of a long or deep one the beginning."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        text = "null" if value is None else str(value).lower()
    elif _is_number(value):
        text = _number_texts([value], grouped=True)[0]
    elif isinstance(value, datetime):
        text = _moment_texts([value])[0]
    elif isinstance(value, bytes | bytearray | memoryview):
        more = "…" if len(value) > _DISPLAYED_BYTES else ""
        text = f"{len(value):,} bytes: 0x{bytes(value[:_DISPLAYED_BYTES]).hex()}{more}"
    elif isinstance(value, Mapping | list | tuple | set | frozenset):
        text = _items_text(value, depth)
    else:
        full = str(value)
        text = full if len(full) <= _LONGEST_CELL else f"{full[: _LONGEST_CELL - 1]}…"
    return text


def _is_null(value: Any) -> bool:
    return value is None or (not isinstance(value, str | bytes) and type(value).__name__ in ("NaTType", "NAType"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool | Enum)


def _number_texts(numbers: Sequence[Any], *, grouped: bool) -> list[str]:
    """Return numbers of one column, all of them integers or all with the same digits after the point."""
    plain = [number for number in numbers if _is_plain(number)]
    if all(isinstance(number, int) for number in plain):
        return [
            _integer(number, grouped) if isinstance(number, int) else _odd_number(number, grouped) for number in numbers
        ]
    digits = shared_digits([float(number) for number in plain])
    return [
        _fraction(number, digits, grouped) if _is_plain(number) else _odd_number(number, grouped) for number in numbers
    ]


def _is_plain(number: Any) -> bool:
    largest = _LARGEST_EXACT if isinstance(number, Decimal) else 10**_MOST_DIGITS
    return _is_finite(number) and bool(-largest < number < largest)


def _is_finite(number: Any) -> bool:
    return number.is_finite() if isinstance(number, Decimal) else isinstance(number, int) or math.isfinite(number)


def _integer(number: int, grouped: bool) -> str:
    if not -_LARGEST_EXACT < number < _LARGEST_EXACT:
        return "an integer of more than 40 digits"
    return f"{number:,}" if grouped and abs(number) >= _APART_FROM else str(number)


def _fraction(number: Any, digits: int, grouped: bool) -> str:
    text = f"{number:,.{digits}f}" if grouped else f"{number:.{digits}f}"
    is_lost = number and not text.strip("-0.,")
    return f"{number:.2g}" if is_lost else text


def _odd_number(number: Any, grouped: bool) -> str:
    """Return a number that does not fit its column: an integer or a fraction beyond its digits, or not finite."""
    if isinstance(number, int):
        return _integer(number, grouped)
    return f"{number:.6g}" if _is_finite(number) else str(number).lower()


def shared_digits(numbers: Sequence[float]) -> int:
    """Return how many digits after the point a column needs, at most as many as its largest value allows."""
    largest = max(map(abs, numbers), default=0.0)
    before_point = math.floor(math.log10(largest)) + 1 if largest else 0
    most = max(_LEAST_DIGITS, _SIGNIFICANT - before_point)
    return next(
        digits
        for digits in range(most + 1)
        if digits == most or all(round(number, digits) == round(number, most) for number in numbers)
    )


def _moment_texts(moments: Sequence[datetime]) -> list[str]:
    """Return moments of one column without the parts that none of them uses; aware ones are told in UTC."""
    in_utc = [moment.astimezone(UTC) if moment.tzinfo else moment for moment in moments]
    if all(moment.time() == time.min for moment in in_utc):
        return [moment.date().isoformat() for moment in in_utc]
    is_integer = all(not moment.microsecond for moment in in_utc)
    precision = "microseconds" if not is_integer else "minutes" if all(not m.second for m in in_utc) else "seconds"
    return [
        moment.replace(tzinfo=None).isoformat(" ", precision) + (" UTC" if moment.tzinfo else "") for moment in in_utc
    ]


def _items_text(value: Any, depth: int) -> str:
    if depth >= _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        pairs = [f"{key}: {value_text(value[key], depth + 1)}" for key in list(value)[:_MOST_ITEMS]]
        return _joined("{", pairs, "}", len(value))
    items = [value_text(item, depth + 1) for item in list(value)[:_MOST_ITEMS]]
    return _joined("[", items, "]", len(value))


def _joined(opening: str, items: list[str], closing: str, count: int) -> str:
    rest = [f"{count - len(items):,} more"] if count > len(items) else []
    text = ", ".join([*items, *rest])
    return f"{opening}{text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}{closing}"
