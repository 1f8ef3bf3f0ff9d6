"""Checks of values before they are stored, so that every store refuses the same ones in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Column, Integer, Table

from analytics_core._storage.column_types import LongText, Name
from analytics_core.errors import PayloadSchemaError, Problem

LONGEST_TEXT_BYTES: Final = 16_777_215
LONGEST_BYTES: Final = 8_000_000
"""MariaDB takes statements of 16 MiB where nobody raised that, and its driver writes a byte as up to two."""

INTEGERS: Final = range(-(2**31), 2**31)


def check_row(noun: str, table: Table, values: Mapping[str, Any]) -> None:
    """Check the values of a row; PayloadSchemaError names every one that cannot be stored."""
    problems = [
        Problem(path=name, message=message)
        for name, value in values.items()
        if value is not None and (message := _problem(table.c[name], value))
    ]
    if problems:
        raise PayloadSchemaError(shape=noun, problems=problems)


def fits_integer(value: object) -> bool:
    """Tell whether a value is an integer that a column can hold; a range asked about a text would count through.

    `True` is none: it would name the record 1.
    """
    return isinstance(value, int) and not isinstance(value, bool) and INTEGERS.start <= value < INTEGERS.stop


def text_problem(text: str) -> str | None:
    """Return why no store can hold this text, or None."""
    if "\x00" in text:
        return "holds a NUL character"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "holds half of a surrogate pair"
    return None


def _problem(column: Column[Any], value: Any) -> str | None:
    if isinstance(column.type, Integer) and not fits_integer(value):
        return f"must be an integer between {INTEGERS.start} and {INTEGERS.stop - 1}"
    if isinstance(value, bytes) and len(value) > LONGEST_BYTES:
        return f"has {len(value)} bytes; at most {LONGEST_BYTES} are stored in one record"
    return text_problem(value) or _length_problem(column, value) if isinstance(value, str) else None


def _length_problem(column: Column[Any], text: str) -> str | None:
    if isinstance(column.type, Name) and len(text) > column.type.length:
        return f"has {len(text)} characters; at most {column.type.length} are stored"
    too_long = len(text) > LONGEST_TEXT_BYTES // 4 and len(text.encode("utf-8")) > LONGEST_TEXT_BYTES
    return "is longer than 16 megabytes" if isinstance(column.type, LongText) and too_long else None
