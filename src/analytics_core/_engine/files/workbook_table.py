"""Sheets of workbooks (XLSX): values as they are stored, of formulas those that were kept; nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from itertools import islice
from typing import Any, BinaryIO, Final

import pyarrow as pa

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.files.kinds import TEXT, ColumnType, TextReader, from_values
from analytics_core._engine.files.limits import ROWS_PER_BATCH, FileLimits, broken, check_count
from analytics_core._engine.files.table import (
    FileColumn,
    RawBatch,
    named_columns,
    nth_row,
    record_batch,
    requested_types,
)
from analytics_core._engine.files.workbook_parts import check_workbook
from analytics_core.errors import MissingExtraError
from analytics_core.models.parsing import payload_error

_EXACT: Final = 2**53
_MOST_CACHED: Final = 500_000
"""How many cells are not read twice: as Python values they take some 60 bytes each, beside the reader's 40."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetFormat:
    """Which sheet holds the table, and how.

    Attributes:
        sheet: its name; None: the first one.
        header_row: which row holds the names, from 0, after `skip_rows`; None: none does.
        skip_rows: rows before anything else.
        null_values: texts that are null.
        asked: types of columns that are not inferred.
        reader: how texts become values.
    """

    sheet: str | None = None
    header_row: int | None = 0
    skip_rows: int = 0
    null_values: Sequence[str] = ("",)
    requested: Mapping[str, ColumnType]
    reader: TextReader


class WorkbookTable:
    """One sheet of a workbook, looked through for its columns; one without rows has none.

    Raises:
        FileUploadError: it cannot be read; the row is told, and the column where there is one.
        MissingExtraError: python-calamine is not installed.
        PayloadSchemaError: there is no such sheet, or a type was asked for a column that it has not.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, file: BinaryIO, form: SheetFormat, limits: FileLimits) -> None:
        check_workbook(file, limits)
        self._form, self._limits = form, limits
        self._sheet = _sheet(file, form.sheet)
        self._cached: list[RawBatch] | None = []
        first = next(self._records(), None)
        columns = () if first is None else self._named(*first)
        self._requested = requested_types(columns, form.requested)
        self.columns = tuple(
            replace(column, type=found) for column, found in zip(columns, self._types(len(columns)), strict=True)
        )

    def _named(self, row: int, cells: Sequence[Any]) -> tuple[FileColumn, ...]:
        headers = [_header(cell) for cell in cells] if self._form.header_row is not None else [None] * len(cells)
        return named_columns(headers, self._limits, row=row)

    def batches(self, columns: Sequence[FileColumn]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as values of these types."""
        for batch in self._batches() if self._cached is None else self._cached:
            self._limits.check()
            arrays = [
                self._array(cells, column, batch.rows, has_type=column.type != mine.type or place in self._requested)
                for place, (cells, column, mine) in enumerate(zip(batch.cells, columns, self.columns, strict=True))
            ]
            yield record_batch(columns, arrays)

    def _array(self, cells: Sequence[Any], column: FileColumn, rows: Sequence[int], *, has_type: bool) -> pa.Array:
        kind = column.type.kind
        if kind is ValueKind.TEXT or (has_type and not (kind in _DAYS and _are_days(cells))):
            texts = pa.array([None if cell is None else _text(cell) for cell in cells], pa.string())
            return self._form.reader.values(texts, column.type, rows=rows, column=column.name)
        if kind is ValueKind.INTEGER:
            cells = [None if cell is None else int(cell) for cell in cells]
        return from_values(cells, column.type, rows=rows, column=column.name)

    def row_number(self, place: int) -> int:
        """Return which row of the file a row is; the file is read anew up to it."""
        return nth_row(self._records(), place, has_header=self._form.header_row is not None)

    def _types(self, width: int) -> list[ColumnType]:
        found, cells_read = [self._requested.get(place) for place in range(width)], 0
        for batch in self._batches():
            cells_read += width * len(batch.rows)
            if self._cached is not None:
                self._cached = [*self._cached, batch] if cells_read <= _MOST_CACHED else None
            for place, cells in enumerate(batch.cells):
                if place not in self._requested:
                    found[place] = _widened(found[place], cells)
        return [one or TEXT for one in found]

    def _batches(self) -> Iterator[RawBatch]:
        records = self._records()
        if self._form.header_row is not None:
            next(records, None)
        count = 0
        while part := list(islice(records, ROWS_PER_BATCH)):
            self._limits.check()
            count += len(part)
            check_count(count, self._limits)
            yield RawBatch(rows=[row for row, _ in part], cells=list(zip(*(cells for _, cells in part), strict=True)))

    def _records(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield rows with their numbers in the sheet, from the header on; empty ones are left out."""
        nulls = frozenset(self._form.null_values) | {""}
        first = self._form.skip_rows + (self._form.header_row or 0)
        for row, cells in enumerate(self._sheet.iter_rows(), start=1):
            if row % ROWS_PER_BATCH == 0:  # empty rows make no batches
                self._limits.check()
            if row <= first:
                continue
            values = cells if nulls.isdisjoint(cells) else [None if cell in nulls else cell for cell in cells]
            if values.count(None) < len(values):
                yield row, values


def sheet_names(file: BinaryIO, limits: FileLimits) -> list[str]:
    """Return the names of the sheets of a workbook that hold cells, in their order.

    Raises:
        FileUploadError: it cannot be read, or has none.
        MissingExtraError: python-calamine is not installed.
    """
    check_workbook(file, limits)
    return _workbook(file)[1]


def _sheet(file: BinaryIO, name: str | None) -> Any:
    workbook, known = _workbook(file)
    if name is not None and name not in known:
        listed = ", ".join(map(repr, known[:20]))
        raise payload_error("databases.upload", "options.sheet_name", f"there is no such sheet; it has: {listed}")
    try:
        return workbook.get_sheet_by_name(known[0] if name is None else name)
    except Exception as error:  # the border to a reader of files in another language, which names no error of its own
        raise broken(_NOT_READ) from error


def _workbook(file: BinaryIO) -> tuple[Any, list[str]]:
    try:
        import python_calamine
    except ImportError:
        raise MissingExtraError(needed_for="uploading workbooks", extra_name="excel") from None
    file.seek(0)
    try:
        workbook = python_calamine.CalamineWorkbook.from_filelike(file)
        known = [sheet.name for sheet in workbook.sheets_metadata
                 if sheet.typ == python_calamine.SheetTypeEnum.WorkSheet]  # fmt: skip
    except Exception as error:  # the border again
        raise broken(_NOT_READ) from error
    if not known:
        raise broken("it has no sheets")
    return workbook, known


_NOT_READ: Final = "its workbook cannot be read"


def _header(cell: Any) -> str | None:
    return None if cell is None else _text(cell)


def _text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < _EXACT else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def _widened(known: ColumnType | None, cells: Sequence[Any]) -> ColumnType | None:
    """Return the narrowest type that fits what is known and these cells, None for no cells; TEXT fits all."""
    classes = set(map(type, cells)) - {type(None)}
    kinds = {_KINDS.get(one, ValueKind.TEXT) for one in classes - _NUMBERS}
    if classes & _NUMBERS:
        numbers = (
            cells if classes <= _NUMBERS and None not in cells else [one for one in cells if type(one) in _NUMBERS]
        )
        kinds.add(ValueKind.INTEGER if _are_integers(numbers) else ValueKind.FLOAT)
    if known is not None:
        kinds.add(known.kind)
    if not kinds:
        return known
    if len(kinds) == 1:
        return ColumnType(kind=kinds.pop())
    if kinds == {ValueKind.INTEGER, ValueKind.FLOAT}:
        return ColumnType(kind=ValueKind.FLOAT)
    return ColumnType(kind=ValueKind.TIMESTAMP) if kinds == {ValueKind.DATE, ValueKind.TIMESTAMP} else TEXT


_NUMBERS: Final = frozenset({int, float})
_DAYS: Final = frozenset({ValueKind.DATE, ValueKind.TIMESTAMP})
_KINDS: Final = {bool: ValueKind.BOOLEAN, datetime: ValueKind.TIMESTAMP, date: ValueKind.DATE}


def _are_integers(numbers: Sequence[float]) -> bool:
    return all(map(float.is_integer, map(float, numbers))) and max(map(abs, numbers)) < _EXACT


def _are_days(cells: Sequence[Any]) -> bool:
    return all(isinstance(cell, date) for cell in cells if cell is not None)
