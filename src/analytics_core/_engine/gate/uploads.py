"""Uploads of files: who may, into which table, with which types; then all rows are written, or none."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._engine.execution.sessions.choice import loader_of
from analytics_core._engine.execution.sessions.loading import LoadRequest
from analytics_core._engine.execution.sessions.metadata import ReflectedColumn
from analytics_core._engine.execution.table_loader import TableLoader
from analytics_core._engine.files.kinds import ColumnType
from analytics_core._engine.files.limits import FileLimits, broken
from analytics_core._engine.files.names import check_table_name
from analytics_core._engine.files.reading import FilePart, opened_table, parts_of
from analytics_core._engine.files.table import FileColumn
from analytics_core._engine.gate.gate import DatabaseUse, Gate, UploadSchema
from analytics_core._engine.gate.metadata import CachedNames
from analytics_core._engine.gate.relations import reject_revealing
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Access, Database
from analytics_core._records.settings import Settings
from analytics_core.errors import (
    AlreadyExistsError,
    DatabaseAccessError,
    DatabaseError,
    ErrorType,
    StatementTimeoutError,
)
from analytics_core.errors.base import LONGEST_KEY, known_list, nearest, short_repr
from analytics_core.models.enums import FileKind, TableExists
from analytics_core.models.table import FileUploadOptions
from analytics_core.ports import Progress

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTable:
    """What an upload wrote; `schema` is None on an engine without schemas."""

    schema: str | None
    table: str
    rows: int
    columns: tuple[FileColumn, ...]
    notes: tuple[str, ...] = ()


class FileUploads:
    """Uploads files through the gate."""

    def __init__(
        self,
        *,
        gate: Gate,
        reflector: Reflector,
        names: CachedNames,
        loader: TableLoader,
        settings: Settings,
        progress: Progress,
    ) -> None:
        self._gate = gate
        self._reflector = reflector
        self._names = names
        self._loader = loader
        self._settings = settings
        self._progress = progress

    def upload(
        self,
        actor: Actor,
        database: Database,
        file: Any,
        *,
        table: str,
        schema: str | None,
        if_exists: TableExists,
        options: FileUploadOptions,
    ) -> WrittenTable:
        """Write the rows of a file into a table and return what was written.

        Raises:
            DatabaseAccessError: the actor may not, or the database takes no files in this schema.
            AlreadyExistsError: there is such a table, and `if_exists` says to fail; or it is a view.
            FileUploadError, PayloadSchemaError, MissingExtraError: the file or an option cannot be taken.
            UnsupportedByEngineError: nothing is uploaded to this engine, or not rows of this kind.
            DatabaseError: the database refused it, or it took too long.
        """
        check_table_name(table)
        admission, schema = self._admission(actor, database, schema, changes=if_exists is not TableExists.FAIL)
        reject_revealing(table, admission.spec, schema=schema)
        mode = self._mode(admission, table, schema, if_exists)
        seconds = self._settings.upload_timeout_s
        deadline = time.monotonic() + seconds
        limits = FileLimits.of(self._settings, _until(deadline, seconds, database))
        with (
            opened_table(file, options, limits) as read,
            self._progress.bar(f"upload of {table}", total=None, unit="row") as tell,
        ):
            columns, existing = read.columns, tuple[ReflectedColumn, ...]()
            if mode is TableExists.APPEND:
                existing = self._reflector.columns(admission, table=table, schema=schema)
                columns = _as_existing(columns, existing, admission.spec)
            self._loader.check(admission, columns)
            request = LoadRequest(
                table=table,
                schema=schema,
                if_exists=mode,
                columns=columns,
                batches=_telling(tell, read.batches(columns)),
                row_number=read.row_number,
                other_columns=[column.name for column in existing],
            )
            rows = self._loaded(admission, request, if_exists, deadline, seconds)
        self._names.forget_tables(admission)
        return WrittenTable(schema=schema, table=table, rows=rows, columns=tuple(columns), notes=read.notes)

    def metadata(
        self, actor: Actor, database: Database, file: Any, *, schema: str | None, options: FileUploadOptions
    ) -> tuple[FileKind, tuple[FilePart, ...]]:
        """Return what a file is, and the tables that an upload of it would find; nothing is written.

        Raises:
            DatabaseAccessError: the actor may not upload it, or the database takes no files in this schema.
            FileUploadError, PayloadSchemaError, MissingExtraError: the file or an option cannot be taken.
            StatementTimeoutError: it took too long.
        """
        self._admission(actor, database, schema, changes=False)
        seconds = self._settings.upload_timeout_s
        limits = FileLimits.of(self._settings, _until(time.monotonic() + seconds, seconds, database))
        return parts_of(file, options, limits)

    def close(self) -> None:
        """Stop what is written and not committed yet, and write nothing afterwards."""
        self._loader.close()

    def _loaded(
        self, admission: Admission, request: LoadRequest, if_exists: TableExists, deadline: float, seconds: float
    ) -> int:
        """Return how many rows were written; a table that others made meanwhile is told as what it is."""
        try:
            return self._loader.load(admission, request, timeout_s=max(deadline - time.monotonic(), 0.1))
        except StatementTimeoutError:
            raise _timeout(seconds, admission.database) from None
        except DatabaseError as error:
            if if_exists is not TableExists.FAIL or not error.retryable:
                raise
            with suppress(DatabaseError):  # what went wrong first is told
                self._mode(admission, request.table, request.schema, if_exists)
            raise

    def _admission(
        self, actor: Actor, database: Database, schema: str | None, *, changes: bool
    ) -> tuple[Admission, str | None]:
        """Return the admission and the schema that is meant, which is there."""
        if schema is None:
            schema = self._reflector.default_schema(self._gate.admit(actor, database, on=DatabaseUse.LIST))
        target = UploadSchema(schema, changes_tables=changes)
        admission = self._gate.admit(actor, database, on=target, access=Access.WRITE)
        self._loader.check(admission, ())
        known = () if schema is None else upload_targets(admission.spec, self._reflector.schemas(admission))
        if schema is not None and schema not in known:
            near = nearest(
                schema, [name for name in known if self._takes(actor, database, replace(target, schema=name))]
            )
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise DatabaseError(
                f"database {database.database_name!r} has no schema {short_repr(schema)} that takes files{hint}",
                error_type=ErrorType.SCHEMA_DOES_NOT_EXIST_ERROR,
                engine=database.engine,
                extra={"schema": schema[:LONGEST_KEY], "suggestions": list(near)},
            )
        return admission, schema

    def _takes(self, actor: Actor, database: Database, target: UploadSchema) -> bool:
        try:
            self._gate.admit(actor, database, on=target, access=Access.WRITE)
        except DatabaseAccessError:
            return False
        return True

    def _mode(self, admission: Admission, table: str, schema: str | None, if_exists: TableExists) -> TableExists:
        """Return what to do: a table that is not there is made, whatever was said of one that is."""
        same = [
            found for found in self._reflector.tables(admission, schema) if found.name.casefold() == table.casefold()
        ]
        if not same:
            return TableExists.FAIL
        met = next((found for found in same if found.name == table), same[0])
        if met.is_view or if_exists is TableExists.FAIL or met.name != table:
            what = "a view" if met.is_view else "a table"
            raise AlreadyExistsError("table", "name", met.name, hint=f"it is {what}; {_HINT}")
        return if_exists


_HINT: Final = "if_exists='replace' or 'append' takes a table of the very same name"


def _telling(tell: Callable[[int], object], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of rows, and tell of each when the next one is asked for: its rows are written then."""
    for batch in batches:
        yield batch
        tell(batch.num_rows)


def upload_targets(spec: EngineSpec, schemas: Iterable[str]) -> tuple[str, ...]:
    """Return those of some schemas that are not the engine's own."""
    loader = loader_of(spec.name)
    return () if loader is None else tuple(name for name in schemas if name.casefold() not in loader.own_schemas)


def _until(deadline: float, seconds: float, database: Database) -> Callable[[], None]:
    """Return what raises StatementTimeoutError once the time is over."""

    def check() -> None:
        if time.monotonic() > deadline:
            raise _timeout(seconds, database)

    return check


def _timeout(seconds: float, database: Database) -> StatementTimeoutError:
    return StatementTimeoutError(
        f"the upload took longer than {seconds:g} seconds and was stopped; upload less at a time, or raise "
        "Settings.upload_timeout_s",
        engine=database.engine,
        extra={"timeout_s": seconds},
    )


def _as_existing(
    columns: Sequence[FileColumn], existing: Sequence[ReflectedColumn], spec: EngineSpec
) -> tuple[FileColumn, ...]:
    """Return the columns with the names and types of the table that they are appended to.

    Raises:
        FileUploadError: the table has no such column, or one of a type that no file has.
    """
    known = {column.name.casefold(): column for column in existing}
    if unknown := [column.name for column in columns if column.name.casefold() not in known]:
        raise broken(
            f"the table has no such column; it has: {known_list([c.name for c in existing])}", column=unknown[0]
        )
    found = [(column, known[column.name.casefold()]) for column in columns]
    return tuple(replace(mine, name=theirs.name, type=_type_in(theirs, mine, spec)) for mine, theirs in found)


_KINDS: Final = {
    ValueKind.TIMESTAMPTZ: ValueKind.TIMESTAMP,
    **{kind: kind for kind in (ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.BOOLEAN)},
    **{kind: kind for kind in (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TEXT)},
}
_DIGITS: Final = re.compile(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_ANY_DECIMAL: Final = ColumnType(kind=ValueKind.DECIMAL, integer_digits=28, scale=10)
_DIGITS_OF_INTEGERS: Final = 19


def _type_in(column: ReflectedColumn, mine: FileColumn, spec: EngineSpec) -> ColumnType:
    kind = spec.value_kind(column.type_text)
    if kind is ValueKind.DECIMAL:
        return _decimal(column.type_text, mine.type)
    if kind not in _KINDS:
        raise broken(f"files have no values for the type {column.type_text}", column=column.name)
    return ColumnType(kind=_KINDS[kind], form=mine.type.form)


def _decimal(type_text: str, mine: ColumnType) -> ColumnType:
    """Return the type of values for a column of decimals: no wider than it, since the engine would round."""
    given = _DIGITS.search(type_text)
    most = _ANY_DECIMAL
    if given is not None:
        precision, scale = int(given.group(1)), int(given.group(2) or 0)
        most = ColumnType(kind=ValueKind.DECIMAL, integer_digits=precision - scale, scale=scale)
    if mine.kind not in _EXACT:
        return most
    digits = mine.integer_digits or _DIGITS_OF_INTEGERS
    if given is None:
        return replace(mine, kind=ValueKind.DECIMAL, integer_digits=digits)
    return replace(most, integer_digits=min(digits, most.integer_digits), scale=min(mine.scale, most.scale))


_EXACT: Final = frozenset({ValueKind.INTEGER, ValueKind.DECIMAL})
