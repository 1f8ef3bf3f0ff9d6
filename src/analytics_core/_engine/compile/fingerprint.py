"""Hashes that are equal for equal values and differ for different ones, in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from analytics_core._engine.compile.plan import QueryPlan


def fingerprint(plan: QueryPlan, *parts: str | int | Sequence[str] | None) -> str:
    """Return the SHA-256 of a plan and further parts of its identity, as hexadecimal text.

    The printed form of a plan is canonical: frozen records of texts, numbers, moments and enums, each quoted by
    `repr`, so that two different plans never print alike.
    """
    return hashlib.sha256(repr((plan, *parts)).encode()).hexdigest()


def digest_of(value: Hashable) -> str:
    """Return the SHA-256 of a value, as hexadecimal text: tuples, sets and frozen records of plain values, and types.

    Records count by the fields that they compare by, numbers and moments as they are written: 1, 1.0 and True differ.

    Raises:
        TypeError: the value, or one inside it, is of a type whose values this module cannot tell apart.
    """
    return hashlib.sha256(_written(value).encode("utf-8", "surrogatepass")).hexdigest()


def _written(value: object) -> str:
    """Return a text that no other value has: texts are in quotes, and each value begins with its type."""
    kind = type(value)
    write = _WRITERS.get(kind)
    if write is not None:
        return f"{kind.__name__}({write(value)})"
    if isinstance(value, type):
        return f"type({_name(value)})"
    if isinstance(value, Enum):
        return f"{_name(kind)}.{value.name}"
    return f"{_name(kind)}({_record(value)})"


def _record(value: Any) -> str:
    made_by = getattr(type(value), "__dataclass_params__", None)
    if not is_dataclass(value) or made_by is None or not made_by.frozen or not made_by.eq:
        raise TypeError(f"there is no digest of a {type(value).__name__}: it is no plain value and no frozen record")
    compared = [field.name for field in fields(value) if field.compare]
    return ",".join(f"{name}={_written(getattr(value, name))}" for name in compared)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _in_order(values: Any) -> str:
    return ",".join(map(_written, values))


_WRITERS: Final[Mapping[type, Callable[[Any], str]]] = {
    **dict.fromkeys((type(None), bool, float, str, bytes, Decimal, UUID, timedelta), repr),
    **dict.fromkeys((datetime, date, time), lambda moment: moment.isoformat()),
    int: hex,
    tuple: _in_order,
    list: _in_order,
    frozenset: lambda values: ",".join(sorted(map(_written, values))),
}
