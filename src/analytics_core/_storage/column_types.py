"""Column types that hold and compare alike on every store: text by code point, bytes, times in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, DateTime, Dialect, LargeBinary, String, Text
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.visitors import InternalTraversal
from sqlalchemy.types import TypeDecorator, TypeEngine


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
            return dialect.type_descriptor(postgresql.VARCHAR(self.length, collation="C"))
        if dialect.name in {"mysql", "mariadb"}:
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
            return dialect.type_descriptor(postgresql.TEXT(collation="C"))
        if dialect.name in {"mysql", "mariadb"}:
            return dialect.type_descriptor(mysql.MEDIUMTEXT(charset="utf8mb4", collation=_exact_collation(dialect)))
        return dialect.type_descriptor(Text())


class LongBytes(TypeDecorator[bytes]):
    """Bytes whose number the column does not limit; what one statement carries is checked before."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the longest type of bytes that the dialect has."""
        if dialect.name in {"mysql", "mariadb"}:
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
