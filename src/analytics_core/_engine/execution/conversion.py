"""Values as drivers give them -> values by kind, the same on every engine.

Small results become lists of Python values. Large ones become Arrow arrays batch by batch, so that Python objects die
early; a batch that does not fit its kind gives None and its column falls back to a list.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from analytics_core._engine.engines.types import ValueKind, all_finite

_NONE = type(None)
_NO_DAY = re.compile(r"-?infinity|\d{4}-(?:00-\d\d|\d\d-00)(?: .*)?|\d{5,}-.*|.* BC", re.DOTALL)
"""What PostgreSQL writes for infinity and for years beyond 9999 and before 1, MariaDB for days known in part."""

_READ_TEXT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?:[Zz]|:\d\d(?:\.\d+)?(?:[Zz]|[-+]\d\d:\d\d|\+00)?)?)?")
_PLAIN_MOMENTS = re.compile(r"(?:\d{4}-(?!00)\d\d-(?!00)\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:\n|\Z))+", re.ASCII)
"""A column of moments without zones, a line each, as most databases write them: read in C."""

_READABLE = (str, int, float, bool, Decimal, date, datetime, time, bytes, list, dict, tuple)


class MisfitError(Exception):
    """Values that cannot be turned into the kind that was asked for."""


def value_types(values: Sequence[Any]) -> frozenset[type]:
    """Return the types of the values that are not null."""
    return frozenset(map(type, values)) - {_NONE}


def values_by_kind(kind: ValueKind, values: Sequence[Any]) -> tuple[ValueKind, list[Any]]:
    """Return the values as `kind` promises them; where they do not fit, the kind that they have.

    UNKNOWN kinds are always taken from the values; a column of nulls alone keeps its kind.
    """
    types = value_types(values)
    if not types:
        return kind, list(values)
    if kind is not ValueKind.UNKNOWN:
        try:
            return kind, _CONVERTERS[kind](types, values)
        except (MisfitError, ValueError, ArithmeticError):
            # ArithmeticError: Decimal and float limits. What does not fit keeps its own kind below.
            pass
    inferred = kind_of_types(types, values)
    if kind is ValueKind.DATE and inferred is ValueKind.TEXT:
        inferred = ValueKind.TIMESTAMP  # SQLite keeps days with times of day in columns of days
    try:
        return inferred, _CONVERTERS[inferred](types, values)
    except (MisfitError, ValueError, ArithmeticError):
        return ValueKind.OTHER, _as_other(types, values)


def kind_of_types(types: frozenset[type], values: Sequence[Any]) -> ValueKind:
    """Return the kind that values of these types have; OTHER for mixtures without one."""
    if types == {datetime}:
        aware = any(value is not None and value.tzinfo is not None for value in values)
        return ValueKind.TIMESTAMPTZ if aware else ValueKind.TIMESTAMP
    return next((kind for members, kind in _KINDS_OF_TYPES if types <= members), ValueKind.OTHER)


_KINDS_OF_TYPES: tuple[tuple[frozenset[type], ValueKind], ...] = (
    (frozenset({bool}), ValueKind.BOOLEAN),
    (frozenset({int}), ValueKind.INTEGER),
    (frozenset({int, float}), ValueKind.FLOAT),
    (frozenset({int, Decimal}), ValueKind.DECIMAL),
    (frozenset({int, float, Decimal}), ValueKind.FLOAT),
    (frozenset({str, UUID}), ValueKind.TEXT),
    (frozenset({date}), ValueKind.DATE),
    (frozenset({time}), ValueKind.TIME),
    (frozenset({bytes, bytearray, memoryview}), ValueKind.BYTES),
    # A temporal column with text that is no moment: all of it as text, so that nothing is lost.
    (frozenset({str, date, datetime}), ValueKind.TEXT),
)


# ----------------------------------------------------------------------------------------------- lists, one per kind
def _require(types: frozenset[type], *allowed: type) -> None:
    if not types <= frozenset(allowed):
        raise MisfitError


def _each(values: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else change(value) for value in values]


def _as_integers(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    if types == {int}:
        return list(values)
    _require(types, int, bool, float, Decimal)
    integers = _each(values, int)
    if any(value is not None and value != number for value, number in zip(values, integers, strict=True)):
        raise MisfitError
    return integers


def _as_floats(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    if types == {float} and all_finite(values):
        return list(values)
    _require(types, int, bool, float, Decimal)
    numbers = values if types == {float} else _each(values, float)
    return [number if number is not None and math.isfinite(number) else None for number in numbers]


def _as_decimals(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    _require(types, int, bool, Decimal)
    numbers = _each(values, Decimal)
    return [number if number is not None and number.is_finite() else None for number in numbers]


def _as_texts(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    if types == {str}:
        return list(values)
    _require(types, str, UUID, date, datetime)
    return _each(values, str)


def _as_booleans(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    if types == {bytes}:  # b'1' of MariaDB
        values = _each(values, lambda bits: int.from_bytes(bits, "big"))
    else:
        _require(types, bool, int, Decimal)
    if not set(values) <= {0, 1, None}:
        raise MisfitError  # a TINYINT(1) that counts
    return _each(values, bool)


def _as_dates(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    if types == {date}:
        return list(values)
    _require(types, str, date, datetime)
    moments = _each(values, _naive_moment)
    if any(moment is not None and moment.time() != time.min for moment in moments):
        raise MisfitError
    return [moment and moment.date() for moment in moments]


def _as_timestamps(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    _require(types, str, date, datetime)
    if types == {str} and None not in values and _PLAIN_MOMENTS.fullmatch("\n".join(values)):
        return list(map(datetime.fromisoformat, values))
    return _each(values, _naive_moment)


def _as_aware_timestamps(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    return [moment and moment.replace(tzinfo=UTC) for moment in _as_timestamps(types, values)]


def _naive_moment(value: Any) -> datetime | None:
    """Return the moment as naive UTC; None for what no calendar from 1 to 9999 has."""
    if isinstance(value, str):
        if _NO_DAY.fullmatch(value):
            return None
        value = moment_of_text(value)
    elif not isinstance(value, datetime):
        return datetime.combine(value, time.min)
    moment: datetime = value
    try:
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:  # a zone that leads out of the calendar
        return None


def moment_of_text(text: str) -> datetime:
    """Return the moment that a text means, with its zone: `Z`, an offset such as `+02:00` behind seconds, or none.

    No other form of ISO 8601 is read: SQLite, which keeps moments as text, would compare it wrongly.

    Raises:
        ValueError: the text is none of these.
    """
    if not _READ_TEXT.fullmatch(text):
        raise ValueError
    return datetime.fromisoformat(text)


def _as_times(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    _require(types, str, time, timedelta)
    return _each(values, _time_of_day)


def _time_of_day(value: Any) -> time:
    found = time.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(found, timedelta):  # a span; only a time of day is one here
        if not timedelta(0) <= found < timedelta(days=1):
            raise MisfitError
        found = (datetime.combine(date.min, time.min) + found).time()
    assert isinstance(found, time)  # noqa: S101 - the only type left
    if found.tzinfo is not None:
        raise MisfitError  # as text: a time of day with a zone is no moment, and Arrow would drop the zone
    return found


def _as_bytes(types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    _require(types, bytes, bytearray, memoryview)
    return _each(values, bytes)


def _span_text(span: timedelta) -> str:
    """Return a span as MariaDB and SQL write it: hours, minutes and seconds, a minus before all of them."""
    micros = abs(span) // timedelta(microseconds=1)
    seconds, rest = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return ("-" if span < timedelta(0) else "") + text + (f".{rest:06}" if rest else "")


def _as_other(_types: frozenset[type], values: Sequence[Any]) -> list[Any]:
    return _each(values, _readable)


def _readable(value: Any) -> Any:
    """Return the value when a formatter knows its type, else its text (network addresses, ranges, intervals ...)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    if isinstance(value, timedelta):
        return _span_text(value)
    if isinstance(value, time) and value.tzinfo is not None:
        return value.isoformat()
    return value if isinstance(value, _READABLE) else str(value)


_CONVERTERS: dict[ValueKind, Callable[[frozenset[type], Sequence[Any]], list[Any]]] = {
    ValueKind.INTEGER: _as_integers,
    ValueKind.FLOAT: _as_floats,
    ValueKind.DECIMAL: _as_decimals,
    ValueKind.TEXT: _as_texts,
    ValueKind.BOOLEAN: _as_booleans,
    ValueKind.DATE: _as_dates,
    ValueKind.TIMESTAMP: _as_timestamps,
    ValueKind.TIMESTAMPTZ: _as_aware_timestamps,
    ValueKind.TIME: _as_times,
    ValueKind.BYTES: _as_bytes,
    ValueKind.OTHER: _as_other,
    ValueKind.UNKNOWN: _as_other,
}
