"""Column types that hold and compare alike on every store, and checks of values before they are stored.

Text compares by code point, bytes are bytes, times are in UTC. Every store refuses the same values in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, DateTime, Dialect, Integer, LargeBinary, String, Table, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import InternalTraversal
from sqlalchemy.types import TypeDecorator, TypeEngine

from analytics_core.errors import PayloadSchemaError, Problem


def _exact_collation(dialect: Dialect) -> str:
    """Return the collation by code point that also minds trailing blanks, on MariaDB or MySQL."""
    return "utf8mb4_nopad_bin" if getattr(dialect, "is_mariadb", False) else "utf8mb4_0900_bin"


class Name(TypeDecorator[str]):
    """A short text that may stand in a unique key; case, accents and trailing blanks count."""

    impl = String
    cache_ok = True

    def __init__(self, length: int = 250) -> None:
        super().__init__(length)
        self.length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the text type of the dialect with a collation by code point."""
        if dialect.name == "postgresql":
            from sqlalchemy.dialects import postgresql

            return dialect.type_descriptor(postgresql.VARCHAR(self.length, collation="C"))
        if dialect.name in {"mysql", "mariadb"}:
            from sqlalchemy.dialects import mysql

            collation = _exact_collation(dialect)
            return dialect.type_descriptor(mysql.VARCHAR(self.length, charset="utf8mb4", collation=collation))
        return dialect.type_descriptor(String(self.length))


class LongText(TypeDecorator[str]):
    """A text of up to 16 megabytes."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the text type of the dialect with a collation by code point."""
        if dialect.name == "postgresql":
            from sqlalchemy.dialects import postgresql

            return dialect.type_descriptor(postgresql.TEXT(collation="C"))
        if dialect.name in {"mysql", "mariadb"}:
            from sqlalchemy.dialects import mysql

            return dialect.type_descriptor(mysql.MEDIUMTEXT(charset="utf8mb4", collation=_exact_collation(dialect)))
        return dialect.type_descriptor(Text())


class LongBytes(TypeDecorator[bytes]):
    """Bytes whose number the column does not limit; what one statement carries is checked before."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the longest type of bytes that the dialect has."""
        if dialect.name in {"mysql", "mariadb"}:
            from sqlalchemy.dialects import mysql

            return dialect.type_descriptor(mysql.LONGBLOB())
        return dialect.type_descriptor(LargeBinary())


class FoldedText(ColumnElement[str]):
    """A text column in lower case.

    PostgreSQL folds by the collation, and one by code point folds Latin letters only: so it is told to use the
    database's own. What that one does not fold, a search does not find in another case.
    """

    inherit_cache = True
    type = String()
    _traverse_internals = [("column", InternalTraversal.dp_clauseelement)]  # noqa: RUF012 - as SQLAlchemy asks

    def __init__(self, column: ColumnElement[Any]) -> None:
        self.column = column


@compiles(FoldedText)
def _folded_text(element: FoldedText, compiler: SQLCompiler, **options: Any) -> str:
    return f"lower({compiler.process(element.column, **options)})"


@compiles(FoldedText, "postgresql")
def _folded_text_postgres(element: FoldedText, compiler: SQLCompiler, **options: Any) -> str:
    return f'lower({compiler.process(element.column, **options)} COLLATE "default")'


class UtcMoment(TypeDecorator[datetime]):
    """A moment: aware in Python, naive UTC with microseconds in the store."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the dialect's type with microseconds and without a zone."""
        if dialect.name in {"mysql", "mariadb"}:
            from sqlalchemy.dialects import mysql

            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - as SQLAlchemy calls it
        """Return the moment as naive UTC; a naive one already is."""
        return value if value is None or value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 - as SQLAlchemy calls it
        """Return the moment aware, in UTC."""
        return None if value is None else value.replace(tzinfo=UTC)


class StoreMoment(FunctionElement[datetime]):
    """The time of the store itself at the statement that asks, also late in a transaction."""

    inherit_cache = True
    name = "store_moment"
    type = UtcMoment()


@compiles(StoreMoment)
def _store_moment(_element: StoreMoment, _compiler: SQLCompiler, **_options: Any) -> str:
    return "strftime('%Y-%m-%d %H:%M:%f', 'now')"


@compiles(StoreMoment, "postgresql")
def _store_moment_postgres(_element: StoreMoment, _compiler: SQLCompiler, **_options: Any) -> str:
    return "clock_timestamp() AT TIME ZONE 'UTC'"


@compiles(StoreMoment, "mysql", "mariadb")
def _store_moment_mysql(_element: StoreMoment, _compiler: SQLCompiler, **_options: Any) -> str:
    return "UTC_TIMESTAMP(6)"


LONGEST_TEXT_BYTES: Final = 16_777_215
LONGEST_BYTES: Final = 8_000_000
"""MariaDB takes statements of 16 MiB where nobody raised that, and its driver writes a byte as up to two."""

INTEGERS: Final = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class RowCheck:
    """Checks rows of one table before they are stored, each once: plain values at a glance, all others one by one."""

    table: Table
    _integers: frozenset[str] = field(init=False)
    _plain_lengths: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        columns = self.table.columns
        integers = frozenset(column.name for column in columns if isinstance(column.type, Integer))
        object.__setattr__(self, "_integers", integers)
        object.__setattr__(self, "_plain_lengths", {column.name: _plain_length(column) for column in columns})

    def __call__(self, noun: str, values: Mapping[str, Any]) -> None:
        """Raise PayloadSchemaError, which names every value that cannot be stored."""
        problems = []
        for name, value in values.items():
            if isinstance(value, str):
                is_plain = value.isascii() and "\x00" not in value and len(value) <= self._plain_lengths[name]
            elif name in self._integers:
                is_plain = value is None or (type(value) is int and value in INTEGERS)
            else:
                is_plain = not isinstance(value, bytes)
            if not is_plain and (message := _problem(self.table.c[name], value)):
                problems.append(Problem(path=name, message=message))
        if problems:
            raise PayloadSchemaError(shape=noun, problems=problems)


def _plain_length(column: Column[Any]) -> int:
    """Return how many Latin characters a column takes for sure; no text is plain in a column of numbers."""
    if isinstance(column.type, Integer):
        return -1
    return column.type.length if isinstance(column.type, Name) else LONGEST_TEXT_BYTES // 4


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
