"""The values of cells as pictures use them: numbers, moments and short texts, from whatever an answer holds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from functools import reduce
from typing import Any, Final

from analytics_core._pictures.text_metrics import ELLIPSIS
from analytics_core._tools.display.blocks import NULL

EMPTY: Final = "(empty)"
_COUNTING: Final = {ord("0"): "\u200c", ord("1"): "\u200b"}
_LONGEST: Final = 160
_UNSAFE: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\uffff]+"
)
"""Controls, marks that turn the direction of writing, half pairs, and letters that no page of XML may hold."""

_OF_EVERY_OBJECT: Final = frozenset(
    [
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
        "__proto__",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
    ]
)
"""What every object of JavaScript has: Vega takes a title of that name for an operator, unless a mark follows it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)
_LARGEST: Final = 1e100
_SUMS: Final = Context(prec=400)
_LATEST_MS: Final = 8_640_000_000_000_000
_HEX_BYTES: Final = 8


def plain(value: Any) -> Any:
    """Return a value of Python where a package has its own scalar; what is not a value is None."""
    if value is None or isinstance(value, str | bool | int | float):
        return None if isinstance(value, float) and math.isnan(value) else value
    if type(value).__name__ == "datetime64":
        value = value.astype("datetime64[ms]")
    if hasattr(value, "item") and not isinstance(value, bytes):
        try:
            value = value.item()
        except (TypeError, ValueError):
            return str(value)
    try:
        return None if value != value else value  # noqa: PLR0124 - what is no number, in every package
    except Exception:  # packages raise errors of their own when their scalars are compared
        return str(value)


class DecimalNumber(float):
    """A number that stands where its double does, and is written with the digits of the decimal number that it is."""

    __slots__ = ("exact",)
    exact: Decimal

    def __new__(cls, value: Decimal) -> DecimalNumber:
        """Return a decimal number; `value` is finite."""
        found = super().__new__(cls, value)
        found.exact = value
        return found

    def __neg__(self) -> DecimalNumber:
        """Return the number with the other sign."""
        return DecimalNumber(self.exact.copy_negate())


def number(value: Any) -> float | None:
    """Return a number that can be drawn; None where a value is none, or beyond 1e100. A span of time is its seconds.

    Integers stay such, and decimal numbers keep their digits, so that they are written exactly.
    """
    value = plain(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if value is None or isinstance(value, date | time):
        return None
    try:
        if isinstance(value, Decimal):
            read: float = DecimalNumber(value)
        else:
            read = value if type(value) is int else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return read if abs(read) <= _LARGEST else None


def exact(value: float) -> float | Decimal:
    """Return a number with all its digits."""
    return value.exact if isinstance(value, DecimalNumber) else value


def total(values: Iterable[float]) -> float:
    """Return the sum of numbers that can be drawn: of integers and decimal numbers to the last digit."""
    found = list(values)
    if all(isinstance(value, int) for value in found):
        return sum(found)
    if all(isinstance(value, int | DecimalNumber) for value in found):
        return DecimalNumber(reduce(_SUMS.add, (Decimal(exact(value)) for value in found), Decimal(0)))
    return math.fsum(found)


def moment_ms(value: Any) -> int | None:
    """Return a moment as milliseconds since 1970 in UTC; None where a value is none."""
    value = plain(value)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        try:
            return (aware - _EPOCH) // _MS
        except OverflowError:
            return None
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day, tzinfo=UTC) - _EPOCH) // _MS
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    read = number(value)
    return int(read) if read is not None and abs(read) <= _LATEST_MS else None


def moment(ms: int) -> datetime | None:
    """Return the moment of milliseconds since 1970; None where the calendar does not reach."""
    try:
        return _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None


def text(value: Any) -> str:
    """Return a value as a short text in one line."""
    value = plain(value)
    if value is None:
        return NULL
    if isinstance(value, bool | int | float):
        return _number_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        start = bytes(value[:_HEX_BYTES]).hex()
        return f"0x{start}{ELLIPSIS if len(value) > _HEX_BYTES else ''}"
    if isinstance(value, datetime):
        return date_text(value)
    if isinstance(value, dict | list | tuple):
        value = json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)
    return shortened(str(value)) or EMPTY


def _number_text(value: float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 1_000 else f"{'-' if value < 0 else ''}(very large)"
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def shortened(value: str, longest: int = _LONGEST) -> str:
    """Return a text in one line, without controls and of at most some letters."""
    value = value[: longest * 8]
    line = " ".join(_UNSAFE.sub(" ", value).split())
    if line in _OF_EVERY_OBJECT:
        return line + "\u200b"
    return line if len(line) <= longest else line[: longest - 1].rstrip() + ELLIPSIS


def date_text(value: datetime) -> str:
    """Return a moment in UTC, without a time of day that is midnight."""
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0):
        return value.strftime("%Y-%m-%d") if value.year >= 1_000 else value.date().isoformat()
    iso_text = value.isoformat(sep=" ", timespec="milliseconds" if value.microsecond else "seconds")
    return iso_text.removesuffix(":00") if not value.microsecond else iso_text


def made_distinct(values: Iterable[str]) -> list[str]:
    """Return texts of which none comes twice, though people see them alike: marks without width count those that do."""
    seen: dict[str, int] = {}
    found = []
    for value in values:
        count = seen.get(value, 0)
        found.append(value + f"{count:b}".translate(_COUNTING) if count else value)
        seen[value] = count + 1
    return found
