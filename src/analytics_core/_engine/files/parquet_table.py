"""Parquet: its own types, read row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.files.kinds import MOST_DIGITS, TEXT, ColumnType, TextReader, cast_or_raise
from analytics_core._engine.files.limits import FileLimits, broken, check_count
from analytics_core._engine.files.table import FileColumn, named_columns, record_batch, requested_types
from analytics_core.errors import FileUploadError

_BATCH_BYTES: Final = 32 * 1024 * 1024
_ROWS_READ: Final = 4_096
_MARK: Final = b"PAR1"


class ParquetTable:
    """A Parquet file; texts are read as dictionaries, so that a short file cannot grow while it is read.

    Raises:
        FileUploadError: it is no Parquet file, too large unpacked, or has a column of a type that tables have not.
        PayloadSchemaError: a type was asked for a column that it has not.
    """

    notes: tuple[str, ...] = ()

    def __init__(
        self, file: BinaryIO, *, requested: Mapping[str, ColumnType], reader: TextReader, limits: FileLimits
    ) -> None:
        self._file, self._limits, self._reader = file, limits, reader
        opened = self._open()
        unpacked = sum(opened.metadata.row_group(place).total_byte_size for place in range(opened.num_row_groups))
        self._check_unpacked(unpacked)
        check_count(opened.metadata.num_rows, limits)
        schema = opened.schema_arrow
        columns = named_columns(schema.names, limits, row=0)
        wanted = requested_types(columns, requested)
        self.columns = tuple(
            replace(column, type=wanted.get(place) or _type_of(schema.field(place).type, column))
            for place, column in enumerate(columns)
        )
        self._sources = [_source(schema.field(place).type) for place in range(len(columns))]

    def batches(self, columns: Sequence[FileColumn]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as values of these types."""
        first, unpacked = 1, 0
        try:
            for read in self._open().iter_batches(batch_size=_ROWS_READ):
                for batch in _short(read):
                    self._limits.check()
                    check_count(first + len(batch) - 1, self._limits)
                    typed = self._typed(batch, columns, range(first, first + len(batch)))
                    unpacked += typed.nbytes
                    self._check_unpacked(unpacked)
                    yield typed
                    first += len(batch)
        except (pa.ArrowException, OSError) as error:
            raise _damaged() from error

    def row_number(self, place: int) -> int:
        """Return the place: these files have no header."""
        return place

    def _check_unpacked(self, size: int) -> None:
        most = self._limits.max_unpacked_bytes
        if size > most:
            raise broken(f"it has more than {most} bytes unpacked (Settings.upload_max_unpacked_bytes)")

    def _typed(self, batch: pa.RecordBatch, columns: Sequence[FileColumn], rows: Sequence[int]) -> pa.RecordBatch:
        arrays = []
        for place, column in enumerate(columns):
            values = _plain(batch.column(place), self._sources[place])
            if pa.types.is_string(values.type):
                _check_encoding(values, rows, column.name)
                values = self._reader.values(values, column.type, rows=rows, column=column.name)
            else:
                values = cast_or_raise(values, column.type, rows=rows, column=column.name, cast=_cast)
            arrays.append(values)
        return record_batch(columns, arrays)

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        self._file.seek(0)
        try:
            names = pq.ParquetFile(self._file).schema_arrow
            texts = [field.name for field in names if _is_text(field.type)]
            self._file.seek(0)
            return pq.ParquetFile(self._file, read_dictionary=texts)
        except (pa.ArrowException, OSError) as error:
            _check_marks(self._file)
            raise _damaged() from error


def _check_marks(file: BinaryIO) -> None:
    """Raise FileUploadError for a file that does not begin, or does not end, as Parquet files do."""
    file.seek(0)
    begins = file.read(len(_MARK)) == _MARK
    ends = file.seek(0, 2) >= 2 * len(_MARK) and file.seek(-len(_MARK), 2) and file.read() == _MARK
    if not begins:
        raise broken("it is no Parquet file: it does not begin as they do")
    if not ends:
        raise broken("its end is missing: a Parquet file that was cut off; write or send it anew")


def _damaged() -> FileUploadError:
    return broken("it is a damaged Parquet file, or holds what this library does not read; write it anew")


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _source(kind: pa.DataType) -> pa.DataType:
    return pa.string() if _is_text(kind) or pa.types.is_null(kind) else kind


def _type_of(kind: pa.DataType, column: FileColumn) -> ColumnType:
    if _is_text(kind) or pa.types.is_null(kind):
        return TEXT
    if pa.types.is_uint64(kind):
        return ColumnType(kind=ValueKind.DECIMAL, integer_digits=20)
    if pa.types.is_decimal(kind) and kind.precision <= MOST_DIGITS and 0 <= kind.scale <= kind.precision:
        return ColumnType(kind=ValueKind.DECIMAL, integer_digits=kind.precision - kind.scale, scale=kind.scale)
    for is_kind, found in _KINDS:
        if is_kind(kind):
            return ColumnType(kind=found)
    raise broken(
        f"values of the type {str(kind)[:60]} have no place in a table; write them as text", column=column.name
    )


_KINDS: Final = (
    (pa.types.is_boolean, ValueKind.BOOLEAN),
    (pa.types.is_integer, ValueKind.INTEGER),
    (pa.types.is_floating, ValueKind.FLOAT),
    (pa.types.is_date, ValueKind.DATE),
    (pa.types.is_timestamp, ValueKind.TIMESTAMP),
)


def _short(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows in parts whose texts together are short, written out."""
    lengths = [
        pc.cast(pc.take(pc.binary_length(column.dictionary), column.indices), pa.int64())
        for column in batch.columns
        if pa.types.is_dictionary(column.type) and _is_text(column.type)
    ]
    most = sum(pc.sum(length).as_py() or 0 for length in lengths)
    parts = min(max(1, -(-most // _BATCH_BYTES)), max(len(batch), 1))
    size = max(1, -(-len(batch) // parts))
    for start in range(0, len(batch), size):
        yield batch.slice(start, size)


def _check_encoding(values: pa.Array, rows: Sequence[int], column: str) -> None:
    """Raise FileUploadError for the first text that is not UTF-8, which Arrow hands on as it is."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        for row, value in zip(rows, values, strict=True):
            try:
                value.as_py()
            except UnicodeDecodeError:
                raise broken("the text is not in UTF-8", row=row, column=column) from None
        raise


def _plain(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return values if values.type == kind else values.cast(kind)


def _cast(values: pa.Array, wanted: ColumnType) -> pa.Array | None:
    """Return values as another type, exactly; None when one is not the same there."""
    try:
        if pa.types.is_timestamp(values.type) and values.type.tz is not None:
            values = values.cast(pa.timestamp(values.type.unit, "UTC")).cast(pa.timestamp(values.type.unit))
        found = values.cast(wanted.arrow)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if wanted.kind in _BOUNDS:
        least, most = (pa.scalar(bound, found.type) for bound in _BOUNDS[wanted.kind])
        within = pc.and_(pc.greater_equal(found, least), pc.less_equal(found, most))
        return found if pc.all(within, min_count=0).as_py() else None
    return found


_BOUNDS: Final = {
    ValueKind.DATE: (date.min, date.max),
    ValueKind.TIMESTAMP: (datetime.min, datetime.max),  # noqa: DTZ901 - naive is UTC
}
"""The years 1 to 9999, which every engine and every reader of a table knows."""
