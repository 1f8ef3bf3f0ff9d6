"""Turns values of a payload into values of a column's kind, or says why they do not fit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from analytics_core._engine.engines.spec import BindValue
from analytics_core._engine.engines.types import ValueKind, bytes_text
from analytics_core.errors import FilterValueError

_HEXADECIMAL = re.compile("0x(?:[0-9a-f]{2})+")
_DIGITS = re.compile(r"-?\d{1,18}(?:\.\d{1,18})?", re.ASCII)
_ISO_DIGITS = re.compile(r"\d{4}(?:(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])?)?", re.ASCII)
"""Digits that are a year, a month or a day: those of a day are ISO 8601, the others are too coarse for a moment."""
_DIGITS_OF_A_DAY = 8
_LARGEST_NUMBER = 10**300
_FINE_FLOATS = 2**50
"""Below this size a double lies between two whole numbers where the decimal that it stands for does."""


def convert(value: Any, kind: ValueKind, *, column: str, temporal: bool = False) -> BindValue:
    """Return `value` as one of `kind`; moments become naive UTC datetimes.

    Raises:
        FilterValueError: the value cannot be one of that kind; the message shows what would be.
    """
    if value is None:
        return None
    if isinstance(value, int | float | Decimal) and not _is_reachable(value):
        raise FilterValueError(f"column {column!r} takes a finite number below 1e300")
    if temporal or kind.is_temporal:
        return as_moment(value, column=column)
    converter = _CONVERTERS.get(kind)
    return converter(value, column) if converter else _plain(value, column)


def _is_reachable(number: float | Decimal) -> bool:
    """Tell whether a number is one that every later step can hold, as text and as a float."""
    if isinstance(number, int):
        return -_LARGEST_NUMBER < number < _LARGEST_NUMBER
    if isinstance(number, float):
        return math.isfinite(number)
    return number.is_finite() and abs(number) < _LARGEST_NUMBER


def milliseconds_in(value: Any) -> Any:
    """Return the number that a text of digits writes, as headers of pivot tables do; any other value as it is."""
    is_number = isinstance(value, str) and _DIGITS.fullmatch(value) and not _ISO_DIGITS.fullmatch(value)
    return _exact(Decimal(value)) if is_number else value


def as_moment(value: Any, *, column: str) -> datetime:
    """Return a moment as naive UTC: epoch milliseconds, or ISO 8601 text (naive text is UTC).

    A text of digits is epoch milliseconds too, unless they are a day (20240131); a year or a month is none.
    """
    value = milliseconds_in(value)
    if isinstance(value, datetime):
        return _naive_utc(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - naive UTC
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise _misfit(value, column, "a date, as ISO 8601 text or epoch milliseconds")
    return _from_iso(value, column) if isinstance(value, str) else _from_milliseconds(value, column)


def _from_milliseconds(value: float | Decimal, column: str) -> datetime:
    try:
        return datetime(1970, 1, 1) + timedelta(microseconds=round(Decimal(value) * 1000))  # noqa: DTZ001 - naive UTC
    except OverflowError:
        raise _misfit(value, column, "epoch milliseconds between the years 1 and 9999") from None


def _from_iso(text: str, column: str) -> datetime:
    try:
        if text.isdigit() and len(text) > _DIGITS_OF_A_DAY:  # one of them would be taken for the T before the time
            raise ValueError
        return _naive_utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        raise _misfit(text, column, "a date such as '2024-01-31' or '2024-01-31T10:00:00'") from None


def _naive_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _integer(value: Any, column: str) -> BindValue:
    """Return a whole number; a fraction stays one, as a float where floats part all whole numbers around it."""
    number = _number(value, column)
    if isinstance(number, int):
        return number
    return float(number) if abs(number) < _FINE_FLOATS else number


def _number(value: Any, column: str) -> int | Decimal:
    """Return the number exactly as it was written; a whole one as an integer."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else Decimal(repr(value))
    if isinstance(value, Decimal):
        return _exact(value)
    if isinstance(value, str):
        return _number_from_text(value, column)
    raise _misfit(value, column, "a number")


def _number_from_text(text: str, column: str) -> int | Decimal:
    try:
        exact = Decimal(text.strip().replace("_", "x"))
    except InvalidOperation:
        raise _misfit(text, column, "a number") from None
    if not exact.is_finite() or abs(exact.adjusted()) > 300:
        raise _misfit(text, column, "a finite number")
    return _exact(exact)


def _exact(number: Decimal) -> int | Decimal:
    return int(number) if number == number.to_integral_value() else number


def _float(value: Any, column: str) -> BindValue:
    """Return the nearest double, which engines compare alike; small whole numbers stay whole."""
    if isinstance(value, float):
        return value
    number = _number(value, column)
    return number if isinstance(number, int) and abs(number) < 2**53 else float(number)


def _text(value: Any, column: str) -> BindValue:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return str(value)
    raise _misfit(value, column, "text")


_BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "t": True, "f": False, "yes": True, "no": False}


def _boolean(value: Any, column: str) -> BindValue:
    if isinstance(value, bool):
        return value
    if value in (0, 1) and not isinstance(value, str):
        return bool(value)
    if isinstance(value, str) and value.strip().casefold() in _BOOLEANS:
        return _BOOLEANS[value.strip().casefold()]
    raise _misfit(value, column, "true or false")


def _bytes(value: Any, column: str) -> BindValue:
    return bytes_displayed_as(value, column=column)[0]


def bytes_displayed_as(value: Any, *, column: str) -> tuple[bytes, ...]:
    """Return the bytes that answers show as this text: UTF-8, and what `0x` and digits stand for, where that is none.

    A text such as `0x00ff` is shown of two bytes and of six.
    """
    if isinstance(value, bytes):
        return (value,)
    if not isinstance(value, str):
        raise _misfit(value, column, "text, or 0x and hexadecimal digits")
    written = value.encode()
    decoded = bytes.fromhex(value[2:]) if _HEXADECIMAL.fullmatch(value) else written
    return (decoded, written) if decoded != written and bytes_text(decoded) == value else (written,)


def _plain(value: Any, column: str) -> BindValue:
    if isinstance(value, bool | int | float | str | Decimal):
        return value
    raise _misfit(value, column, "a single text, number or Boolean")


def _misfit(value: object, column: str, wanted: str) -> FilterValueError:
    text = repr(value)
    text = text if len(text) <= 80 else text[:77] + "..."
    return FilterValueError(f"column {column!r} cannot be compared with {text}; it takes {wanted}")


_CONVERTERS: Mapping[ValueKind, Callable[[Any, str], BindValue]] = {
    ValueKind.INTEGER: _integer,
    ValueKind.FLOAT: _float,
    ValueKind.DECIMAL: _number,
    ValueKind.TEXT: _text,
    ValueKind.BOOLEAN: _boolean,
    ValueKind.BYTES: _bytes,
}
