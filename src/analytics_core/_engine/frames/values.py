"""What a value looks like in JSON and as text: the one place for NaN, decimals, big integers, bytes and time zones.

In a JSON answer:

None, text, Booleans          as they are (a lone surrogate becomes U+FFFD)
integers                      a number up to 2^53-1 in size, else text: JavaScript would round it
floats                        a number; NaN and the infinities are null
decimals                      a number where a double holds them; else text with all digits, but for those up to 2^53-1
                              with more than 9 decimal places, as quotients have: the nearest number
dates and moments             milliseconds since 1970-01-01 00:00 UTC, rounded down; naive ones are UTC
bytes                         their UTF-8 text, or `0x` and hexadecimal digits when they are not UTF-8 or hold a NUL
lists, maps, sets             their JSON text; moments inside are ISO 8601 text
lists of numbers that         an array of numbers (columns of kind NUMBERS)
    post-processing made
anything else                 its text (times of day and durations, UUIDs ...)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from analytics_core._engine.engines.types import all_finite, bytes_text

LARGEST_NUMBER: Final = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive moments are UTC and are subtracted from a naive epoch
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_DAY_MS = 86_400_000
_MILLISECOND = timedelta(milliseconds=1)
_MOST_WRITTEN_OUT: Final = 100
_MOST_PLACES: Final = 9
SURE_DIGITS: Final = 15
"""A double holds every decimal of so many digits."""


def clean_text(text: str) -> str:
    """Return `text` with every lone surrogate, which no encoding can write, replaced by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def epoch_ms(moment: datetime) -> int | None:
    """Return the milliseconds since the epoch, rounded down; a naive moment is UTC, pandas' NaT is None."""
    if moment != moment:  # noqa: PLR0124 - only NaT differs from itself
        return None
    return (moment - (_EPOCH if moment.tzinfo is None else _EPOCH_UTC)) // _MILLISECOND


def _json_integer(value: int) -> int | str:
    return value if -LARGEST_NUMBER <= value <= LARGEST_NUMBER else str(value)


def _decimal(value: Decimal) -> float | int | str | None:
    if not value.is_finite():
        return None
    text = str(value)
    if len(text) <= SURE_DIGITS and "E" not in text:
        near = float(text)
        return int(near) if near.is_integer() else near
    if value == value.to_integral_value():
        return _json_integer(int(value)) if value.adjusted() < _MOST_WRITTEN_OUT else str(value)
    near = float(value)
    if -LARGEST_NUMBER <= value <= LARGEST_NUMBER and (_holds(near, value) or _places(value) > _MOST_PLACES):
        return near
    return decimal_text(value)


def _holds(near: float, value: Decimal) -> bool:
    """Tell whether a double reads as the decimal, digit by digit."""
    return len(value.as_tuple().digits) <= SURE_DIGITS or Decimal(repr(near)) == value


def _places(value: Decimal) -> int:
    """Return the number of decimal places, without zeros at the end."""
    _, _, written = decimal_text(value).partition(".")
    return len(written)


def decimal_text(value: Decimal) -> str:
    """Return all digits of a finite decimal, without zeros at the end: engines keep 1.10 with different scales."""
    if abs(value.adjusted()) >= _MOST_WRITTEN_OUT:
        return str(value)  # a wild exponent stays short
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def is_rounded(value: Decimal) -> bool:
    """Tell whether the number that stands for a decimal in JSON is only near it."""
    if len(str(value)) <= SURE_DIGITS:
        return False
    displayed = _decimal(value)
    return isinstance(displayed, float) and not _holds(displayed, value)


def _nested(value: Any) -> str:
    import orjson

    return orjson.dumps(nested_value(value)).decode()


_ALIKE: Final[Mapping[type, Callable[[Any], str]]] = {
    **dict.fromkeys((bytes, bytearray, memoryview), bytes_text),
    **dict.fromkeys((list, tuple, set, frozenset, dict), _nested),
    **dict.fromkeys((time, timedelta), str),
}
"""The types whose values are the same text in JSON and by themselves."""

_BY_TYPE: Final[Mapping[type, Callable[[Any], Any]]] = {
    type(None): lambda value: value,
    bool: lambda value: value,
    str: clean_text,
    int: _json_integer,
    float: lambda value: value if value - value == 0 else None,
    datetime: epoch_ms,
    date: lambda value: (value.toordinal() - _EPOCH_DAY) * _DAY_MS,
    Decimal: _decimal,
    **_ALIKE,
}


def json_value(value: Any) -> bool | int | float | str | None:
    """Return what stands for `value` in a JSON answer (this module's table)."""
    known = _BY_TYPE.get(type(value))
    if known is not None:
        return known(value)  # type: ignore[no-any-return]
    for kind in (bool, int, float, datetime, date, Decimal, str):
        if isinstance(value, kind):
            return _BY_TYPE[kind](value)  # type: ignore[no-any-return]
    item = getattr(value, "item", None)  # a numpy scalar
    return json_value(item()) if callable(item) else clean_text(str(value))


def nested_value(value: Any) -> Any:
    """Return what stands for `value` inside nested JSON: as `json_value`, but moments are ISO 8601 text."""
    if isinstance(value, Mapping):
        return {clean_text(str(key)): nested_value(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [nested_value(member) for member in value]
    if isinstance(value, set | frozenset):
        return [nested_value(member) for member in sorted(value, key=str)]
    if isinstance(value, date) and value == value:  # noqa: PLR0124 - only NaT differs from itself
        return value.isoformat()
    return json_value(value)


def value_types(values: Sequence[Any]) -> frozenset[type]:
    """Return the exact types of the values that are not None."""
    return frozenset(map(type, values)) - {type(None)}


def json_values(values: list[Any]) -> list[Any]:
    """Return `json_value` of every value; a column that needs no change comes back as the same list."""
    types = value_types(values)
    if types <= {bool} or (types == {int} and _all_small(values)) or (types == {str} and _all_encode(values)):
        return values
    if types == {float}:
        if all_finite(values):
            return values
        return [number if number is not None and isfinite(number) else None for number in values]
    if types == {datetime} and (moments := _all_epoch_ms(values)) is not None:
        return moments
    change = _BY_TYPE.get(next(iter(types)), json_value) if len(types) == 1 else json_value
    return [None if value is None else change(value) for value in values]


def _all_small(values: list[int | None]) -> bool:
    present = [value for value in values if value is not None]
    return min(present) >= -LARGEST_NUMBER and max(present) <= LARGEST_NUMBER


def _all_encode(values: list[str | None]) -> bool:
    """Tell whether no text holds a lone surrogate."""
    if all(map(str.isascii, filter(None, values))):
        return True
    try:
        deque(map(str.encode, filter(None, values)), maxlen=0)
    except UnicodeEncodeError:
        return False
    return True


def _all_epoch_ms(values: list[datetime | None]) -> list[int | None] | None:
    """Return `epoch_ms` of every value; None where some have a zone and some have none."""
    epoch = _EPOCH if next(filter(None, values)).tzinfo is None else _EPOCH_UTC
    try:
        return [None if value is None else (value - epoch) // _MILLISECOND for value in values]
    except TypeError:
        return None


_TEXT_BY_TYPE: Final[Mapping[type, Callable[[Any], str]]] = {
    str: clean_text,
    type(None): lambda _value: "",
    bool: str,
    int: str,
    float: lambda value: repr(value) if value - value == 0 else "",
    datetime: lambda value: value.isoformat(" ") if value == value else "",  # noqa: PLR0124 - NaT is not itself
    date: str,
    Decimal: lambda value: decimal_text(value) if value.is_finite() else "",
    **_ALIKE,
}


def text_value(value: Any) -> str:
    """Return the text of one value: null is empty, moments are ISO 8601 with a blank, numbers are not grouped."""
    known = _TEXT_BY_TYPE.get(type(value))
    if known is not None:
        return known(value)
    # Order matters: a datetime is a date, a bool is an int.
    kind = next((kind for kind in _TEXT_BY_TYPE if isinstance(value, kind)), None)
    return clean_text(str(value)) if kind is None else _TEXT_BY_TYPE[kind](value)
