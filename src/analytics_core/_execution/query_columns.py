"""Type texts for the columns of a query, read off a few rows where the driver tells none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from analytics_core._engines.types import ValueKind
from analytics_core._execution.conversion import values_by_kind

BoundQuery = tuple[str, Any]
"""A query as a driver takes it, and its bound values; None: it has none."""

UNKNOWN = "UNKNOWN"
"""The type text of a column whose type nobody tells."""

_KIND_TEXTS = {
    ValueKind.INTEGER: "INTEGER",
    ValueKind.FLOAT: "REAL",
    ValueKind.TEXT: "TEXT",
    ValueKind.BYTES: "BLOB",
    ValueKind.UNKNOWN: UNKNOWN,
    ValueKind.OTHER: UNKNOWN,
}


def columns_of_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[tuple[str, str], ...]:
    """Return (name, type text) read off rows; text that is a date or moment in every row counts as one."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return tuple((name, _text_of_values(values)) for name, values in zip(names, columns, strict=True))


def _text_of_values(values: Sequence[Any]) -> str:
    kind, plain = values_by_kind(ValueKind.UNKNOWN, values)
    if kind is ValueKind.TEXT:
        texts = [value for value in plain if value is not None]
        return "DATE" if all(map(_is_date, texts)) else "TIMESTAMP" if all(map(_is_moment, texts)) else "TEXT"
    return _KIND_TEXTS.get(kind, UNKNOWN)


def _is_date(text: str) -> bool:
    if len(text) != len("2024-01-31") or text[4] != "-":
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    if len(text) < len("2024-01-31") or text[4] != "-":
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
