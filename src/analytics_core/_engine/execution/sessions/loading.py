"""What loading a table needs, on every engine: its statements as trees, its rows, and when to stop."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.schema import CreateTable, DropTable

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.files.kinds import ColumnType
from analytics_core._engine.files.limits import broken
from analytics_core._engine.files.table import FileColumn
from analytics_core.models.enums import TableExists


@dataclass(slots=True)
class RejectedRow:
    """Which row an engine rejected, as far as that is known: its place among all, from 1, and its column."""

    place: int | None = None
    column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """What is written where.

    Attributes:
        table: its name, checked.
        schema: None: the default one.
        if_exists: what becomes of a table of that name.
        columns: names and types; of an existing table that is appended to, some of its own.
        batches: the rows, typed as the columns.
        row_number: returns which row of the file a row is, by its place among all rows, from 1.
        other_columns: names of columns of the table that the file has not.
        rejected: which row the engine rejected; the loader says so.
        begin_to_commit: is called right before the commit; what it raises undoes everything.
    """

    table: str
    schema: str | None
    if_exists: TableExists
    columns: Sequence[FileColumn]
    batches: Iterable[pa.RecordBatch]
    row_number: Callable[[int], int]
    other_columns: Sequence[str] = ()
    rejected: RejectedRow = field(default_factory=RejectedRow)
    begin_to_commit: Callable[[], None] = lambda: None

    def sql_table(self, name: str | None = None) -> sa.Table:
        """Return the table as a tree of SQLAlchemy; under another name, if one is given."""
        return sa.Table(
            sa.sql.quoted_name(name or self.table, quote=True),
            sa.MetaData(),
            *(sa.Column(sa.sql.quoted_name(column.name, quote=True), sql_type(column.type)) for column in self.columns),
            schema=None if self.schema is None else sa.sql.quoted_name(self.schema, quote=True),
            mysql_engine="InnoDB",
            mysql_default_charset="utf8mb4",
            mysql_collate="utf8mb4_bin",
        )


class Loader:
    """How an engine takes rows; `load` commits once, at the end. Into the engine's own schemas nothing is written."""

    own_schemas: ClassVar[frozenset[str]] = frozenset({"information_schema", "pg_catalog", "pg_toast"})
    own_columns: ClassVar[re.Pattern[str]] = re.compile("(?!)")
    """Names that the engine has for columns of its own, in every table."""

    takes_infinity: ClassVar[bool] = True
    most_digits: ClassVar[int] = 38

    def load(self, connection: sa.Connection, request: LoadRequest) -> int:
        """Write the table and return how many rows it got; nothing is left when this raises."""
        raise NotImplementedError

    def check_columns(self, columns: Sequence[FileColumn]) -> None:
        """Refuse columns that the engine cannot have, or not hold exactly; FileUploadError."""
        for column in columns:
            if self.own_columns.fullmatch(column.name):
                raise broken(
                    "this engine has a column of this name of its own in every table; give it another header",
                    column=column.name,
                )
            if column.type.kind is ValueKind.DECIMAL and column.type.precision > self.most_digits:
                raise broken(
                    f"numbers of {column.type.precision} digits are kept exactly by no column of this engine; give "
                    "the column the type TEXT or FLOAT with column_data_types",
                    column=column.name,
                )

    def is_of_rows(self, error: Exception) -> bool:
        """Tell, by the names that DBAPI gives, whether what a driver raised is for a row that the table refused."""
        return any(kind.__name__ in ("IntegrityError", "DataError") for kind in type(error).__mro__)

    def checked(self, request: LoadRequest) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the batches, each after the place of its first row, from 1.

        Raises:
            FileUploadError: a number that the engine cannot hold; its row and column are told.
        """
        first = 1
        for batch in request.batches:
            if not self.takes_infinity:
                _reject_infinity(batch, request, first)
            yield first, batch
            first += len(batch)


def _reject_infinity(batch: pa.RecordBatch, request: LoadRequest, first: int) -> None:
    for column, values in zip(request.columns, batch.columns, strict=True):
        if column.type.kind is not ValueKind.FLOAT:
            continue
        place = pc.index(pc.fill_null(pc.is_finite(values), True), False).as_py()
        if place >= 0:
            row = request.row_number(first + place)
            raise broken("no finite number, which this engine has not", row=row, column=column.name)


def sql_type(found: ColumnType) -> sa.types.TypeEngine[Any]:
    """Return the type of a column, as each engine calls it."""
    if found.kind is ValueKind.DECIMAL:
        return sa.Numeric(found.precision, found.scale)
    return _TYPES[found.kind]


_TYPES: Final[dict[ValueKind, sa.types.TypeEngine[Any]]] = {
    ValueKind.BOOLEAN: sa.Boolean(),
    ValueKind.INTEGER: sa.BigInteger(),
    ValueKind.FLOAT: sa.Double(),
    ValueKind.DATE: sa.Date(),
    ValueKind.TIMESTAMP: sa.TIMESTAMP().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb"),
    ValueKind.TEXT: sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"),
}


def written(statement: Any, connection: sa.Connection) -> str:
    """Return a statement as the engine reads it."""
    return str(statement.compile(dialect=connection.dialect))


def create(table: sa.Table, connection: sa.Connection) -> str:
    """Return CREATE TABLE."""
    return written(CreateTable(table), connection)


def drop(table: sa.Table, connection: sa.Connection) -> str:
    """Return DROP TABLE, which says nothing where there is none."""
    return written(DropTable(table, if_exists=True), connection)


def insert(table: sa.Table, connection: sa.Connection) -> str:
    """Return INSERT with a placeholder for each column, in the driver's own style, by position."""
    names = [connection.dialect.identifier_preparer.quote(column.name) for column in table.columns]
    sign = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    target = connection.dialect.identifier_preparer.format_table(table)
    places = ", ".join(repeat(sign, len(names)))
    return f"INSERT INTO {target} ({', '.join(names)}) VALUES ({places})"


def rows_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a batch as Python values."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
