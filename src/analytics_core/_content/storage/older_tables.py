"""A store whose tables are of an older revision of their line: what they lack is empty until somebody migrates it.

A table that is not there yet reads as one without rows, a column as NULL. Storing something in one is refused, and
nothing is where there is nothing to store. What is lacking is seen in the store. What its revision has is never taken
for empty: without the table of row rules, or a right to see it, everybody would see all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

import sqlalchemy as sa
from sqlalchemy import BindParameter, Column, Delete, Engine, Insert, Table, Update, event
from sqlalchemy.engine.reflection import ObjectKind
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.util import immutabledict

from analytics_core._content.storage.table_kinds import VERSION_TABLE
from analytics_core._content.storage.tables import METADATA
from analytics_core.errors import StoreOutdatedError, StoreUnavailableError

_Lacking: TypeAlias = Mapping[Table, tuple[Column[Any], ...]]

TABLES_SINCE: Final[Mapping[str, str]] = {
    "ac_sql_queries": "0101",
    "ac_saved_statements": "0101",
    "ac_saved_statement_tags": "0101",
}
"""The tables that a line began without, by the revisions that make them; a test keeps them equal to the history's."""

_NOTHING_READ: Final = sa.select(sa.literal(0)).where(sa.false())
_NOTHING_DELETED: Final = sa.delete(sa.table(VERSION_TABLE)).where(sa.false())
_NOT_GIVEN: Final = (None, "[]")
"""What rows hold for a field that has nothing: an empty list is JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderTables:
    """What tables of a revision lack; `engine` is that of the store for statements that know it."""

    revision: str
    engine: Engine


def older_tables(engine: Engine, revision: str) -> OlderTables:
    """Return what reads and writes a store of an older revision, on the connections of its engine.

    Raises:
        StoreUnavailableError: the tables are not those of the revision.
    """
    lacking = _lacking(engine)
    for table, columns in lacking.items():
        if TABLES_SINCE.get(table.name, revision) <= revision and not all(column.nullable for column in columns):
            raise StoreUnavailableError(
                f"the metadata store has the revision {revision!r}, and no table {table.name} as that has it; bring "
                "back a backup, or give the user of metadata_url the right to read it",
                retryable=False,
            )
    # What reads must be written otherwise: a dialect of its own has statements of its own in the cache, too.
    older = engine.execution_options()
    older.dialect = copy(engine.dialect)
    compiler = engine.dialect.statement_compiler
    older.dialect.statement_compiler = type("OlderCompiler", (_OlderCompiler, compiler), {"lacking": lacking})
    event.listen(older, "before_execute", partial(_fitted, lacking, revision), retval=True)
    return OlderTables(revision=revision, engine=older)


def _lacking(engine: Engine) -> _Lacking:
    """Return the columns that each table lacks; a table that is not there lacks all."""
    inspector = sa.inspect(engine)
    stored = {
        name: {column["name"] for column in columns}
        for (_, name), columns in inspector.get_multi_columns(
            filter_names=list(METADATA.tables), kind=ObjectKind.ANY
        ).items()
    }
    found = {
        table: tuple(column for column in table.columns if column.name not in stored.get(table.name, ()))
        for table in METADATA.sorted_tables
    }
    return {table: columns for table, columns in found.items() if columns}


class _OlderCompiler(SQLCompiler):
    """Reads what is lacking: a table in FROM is a sub-query of its name that has all columns of the code."""

    lacking: ClassVar[_Lacking]

    def visit_table(self, table: Any, *place: Any, **how: Any) -> str:
        plain: Any = super()  # it has no types
        name: str = plain.visit_table(table, *place, **how)
        if not how.get("asfrom") or table not in self.lacking or self._writes(table):
            return name
        # Each column by its name, not all with a star: those that it lacks may be added while a unit still reads.
        columns = {column: self.preparer.format_column(column) for column in table.columns}
        lacking = {column: f"{self._null(column)} AS {columns[column]}" for column in self.lacking[table]}
        source = f"{VERSION_TABLE} WHERE 1 = 0" if len(lacking) == len(columns) else name
        return f"(SELECT {', '.join({**columns, **lacking}.values())} FROM {source}) AS {name}"

    def visit_column(self, column: Any, *place: Any, **how: Any) -> str:
        text = super().visit_column(column, *place, **how)
        is_lacking = column.table in self.lacking and column in self.lacking[column.table]
        return self._null(column) if is_lacking and self._writes(column.table) else text

    def _writes(self, table: object) -> bool:
        return isinstance(self.statement, Update | Delete) and self.statement.table is table

    def _null(self, column: Column[Any]) -> str:
        """Return NULL, typed where an engine would take it for text."""
        if self.dialect.name in {"mysql", "mariadb"}:
            return "NULL"
        return self.process(sa.cast(sa.null(), column.type))


def _fitted(
    lacking: _Lacking, revision: str, _connection: object, statement: Any, rows: Any, row: Any, _options: object
) -> tuple[Any, Any, Any]:
    """Return a statement that writes, and its rows, without what is lacking (event `before_execute`)."""
    if not isinstance(statement, Insert | Update | Delete) or statement.table not in lacking:
        return statement, rows, row
    table: Any = statement.table
    called = table.name.removeprefix("ac_").replace("_", " ")
    if len(lacking[table]) == len(table.columns):
        if isinstance(statement, Insert):
            raise _refusal(called, revision)
        return (_NOTHING_DELETED if isinstance(statement, Delete) else _NOTHING_READ), [], {}
    names, own = {column.name for column in lacking[table]}, _set_by(statement)
    for values in (row, *rows):
        for name, value in (*values.items(), *((name, _value(bound, values)) for name, bound in own.items())):
            if name in names and value not in _NOT_GIVEN:
                raise _refusal(f"{name} of {called}", revision)
    rows, row = [_without(names, one) for one in rows], _without(names, row)
    rest = _without(names, own)
    if len(rest) == len(own):
        return statement, rows, row
    if isinstance(statement, Update) and not (rest or row or any(rows)):
        return _NOTHING_READ, [], {}
    fitted: Any = statement._generate()
    fitted._values = immutabledict({table.c[name]: value for name, value in rest.items()})
    return fitted, rows, row


def _refusal(what: str, revision: str) -> StoreOutdatedError:
    return StoreOutdatedError(
        f"the metadata store has no place for {what} yet: its tables have the revision {revision!r}; bring them up to "
        "date with python -m analytics_core migrate"
    )


def _set_by(statement: Any) -> dict[str, Any]:
    """Return the values that a statement sets itself, of which SQLAlchemy shows none in public."""
    own = getattr(statement, "_values", None) or {}
    return {column.name if isinstance(column, Column) else str(column): value for column, value in own.items()}


def _value(bound: object, row: Mapping[str, Any]) -> object:
    return row.get(bound.key, bound.value) if isinstance(bound, BindParameter) else bound


def _without(names: set[str], row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
