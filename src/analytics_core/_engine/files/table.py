"""A file as a table: its columns with their types, and its rows in batches, read as often as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import pyarrow as pa

from analytics_core._engine.files.kinds import TEXT, ColumnType
from analytics_core._engine.files.limits import FileLimits, broken
from analytics_core._engine.files.names import column_names
from analytics_core.models.parsing import payload_error


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """One column: its header in the file (None: it has none), its name in SQL, and its type."""

    header: str | None
    name: str
    type: ColumnType = TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class RawBatch:
    """Some rows as the file has them, by column, and which rows of the file they are."""

    rows: Sequence[int]
    cells: Sequence[Sequence[Any]]


class FileTable(Protocol):
    """A file that was looked through once, so that its columns are known."""

    columns: tuple[FileColumn, ...]
    notes: tuple[str, ...]
    """What its texts leave open, and how it was read."""

    def batches(self, columns: Sequence[FileColumn]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as values of these types (of `columns` in their order), from the first one each time.

        Raises:
            FileUploadError: a value does not fit; its row and column are told.
        """
        ...

    def row_number(self, place: int) -> int:
        """Return which row of the file a row is, by its place among those of the batches, from 1."""
        ...


def nth_row(records: Iterator[tuple[int, Any]], place: int, *, has_header: bool) -> int:
    """Return the number of the row at a place, from 1, of numbered rows, the first of which may be the header."""
    return next(islice(records, place - 1 + has_header, None))[0]


def named_columns(headers: Sequence[str | None], limits: FileLimits, *, row: int) -> tuple[FileColumn, ...]:
    """Return the columns of a header, as texts at first; FileUploadError for none, or more than there may be."""
    if not headers:
        raise broken("it has no columns", row=row)
    if len(headers) > limits.max_columns:
        raise broken(f"it has more than {limits.max_columns} columns (Settings.upload_max_columns)", row=row)
    names = column_names(headers)
    return tuple(FileColumn(header=header, name=name) for header, name in zip(headers, names, strict=True))


def requested_types(columns: Sequence[FileColumn], requested: Mapping[str, ColumnType]) -> dict[int, ColumnType]:
    """Return the types that were asked for, by place; a column goes by its header or its name in SQL.

    Raises:
        PayloadSchemaError: there is no such column.
    """
    places = {column.name: place for place, column in enumerate(columns)}
    places |= {column.header: place for place, column in enumerate(columns) if column.header is not None}
    unknown = [name for name in requested if name not in places]
    if unknown:
        known = ", ".join(column.name for column in columns[:20])
        raise payload_error(
            "databases.upload", "options.column_data_types", f"no column {unknown[0]!r}; it has: {known}"
        )
    return {places[name]: found for name, found in requested.items()}


def record_batch(columns: Sequence[FileColumn], arrays: Sequence[pa.Array]) -> pa.RecordBatch:
    """Return arrays as a batch, named and typed as the columns."""
    schema = pa.schema([pa.field(column.name, column.type.arrow) for column in columns])
    return pa.RecordBatch.from_arrays(list(arrays), schema=schema)
