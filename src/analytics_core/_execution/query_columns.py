"""Type texts for the columns of a query: from the driver's description, or from a few rows where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa

from analytics_core._engines.types import ValueKind
from analytics_core._execution.conversion import values_by_kind

BoundQuery = tuple[str, Any]
"""A query as a driver takes it, and its bound values; None: it has none."""

_UNKNOWN = "UNKNOWN"

# Type texts by PyMySQL's field types; FIELD_TYPE constants of the protocol, which never change.
_MYSQL_TYPES = {
    0: "DECIMAL", 1: "TINYINT", 2: "SMALLINT", 3: "INT", 4: "FLOAT", 5: "DOUBLE", 7: "TIMESTAMP", 8: "BIGINT",
    9: "MEDIUMINT", 10: "DATE", 11: "TIME", 12: "DATETIME", 13: "YEAR", 14: "DATE", 15: "VARCHAR", 16: "BIT",
    245: "JSON", 246: "DECIMAL", 247: "ENUM", 248: "SET", 249: "TEXT", 250: "TEXT", 251: "TEXT", 252: "TEXT",
    253: "VARCHAR", 254: "CHAR", 255: "GEOMETRY",
}  # fmt: skip
_TINYINT, _BOOLEAN_WIDTH = 1, 1
_KIND_TEXTS = {
    ValueKind.INTEGER: "INTEGER",
    ValueKind.FLOAT: "REAL",
    ValueKind.TEXT: "TEXT",
    ValueKind.BYTES: "BLOB",
    ValueKind.UNKNOWN: _UNKNOWN,
    ValueKind.OTHER: _UNKNOWN,
}


def describe_columns(connection: sa.Connection, description: Sequence[Sequence[Any]]) -> tuple[tuple[str, str], ...]:
    """Return (name, type text) of a driver's description."""
    if connection.dialect.name == "postgresql":
        texts = _postgres_types(connection, description)
    elif connection.dialect.name in ("mysql", "mariadb"):
        texts = [_mysql_type(item) for item in description]
    else:
        texts = [_UNKNOWN if item[1] is None else str(item[1]).upper() for item in description]
    return tuple((item[0], text) for item, text in zip(description, texts, strict=True))


def _postgres_types(connection: sa.Connection, description: Sequence[Sequence[Any]]) -> list[str]:
    oids = [int(item[1]) for item in description]
    rows = connection.exec_driver_sql(
        "SELECT oid, upper(format_type(oid, NULL)) FROM pg_type WHERE oid = ANY(%(oids)s)", {"oids": oids}
    )
    texts = {row[0]: row[1] for row in rows}
    return [texts.get(oid, _UNKNOWN) for oid in oids]


def _mysql_type(item: Sequence[Any]) -> str:
    _, code, _, length, precision, scale = item[:6]
    text = _MYSQL_TYPES.get(code, _UNKNOWN)
    if code == _TINYINT and length == _BOOLEAN_WIDTH:
        return "TINYINT(1)"
    return f"{text}({precision},{scale})" if text == "DECIMAL" and precision else text


def columns_of_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[tuple[str, str], ...]:
    """Return (name, type text) read off rows; text that is a date or moment in every row counts as one."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return tuple((name, _text_of_values(values)) for name, values in zip(names, columns, strict=True))


def _text_of_values(values: Sequence[Any]) -> str:
    kind, plain = values_by_kind(ValueKind.UNKNOWN, values)
    if kind is ValueKind.TEXT:
        texts = [value for value in plain if value is not None]
        return "DATE" if all(map(_is_date, texts)) else "TIMESTAMP" if all(map(_is_moment, texts)) else "TEXT"
    return _KIND_TEXTS.get(kind, _UNKNOWN)


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
