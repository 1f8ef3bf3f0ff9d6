"""CSV files as tables, read as uploads are: by DuckDB where it reads them alike, into memory where it does not."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import pyarrow as pa

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.handed_over import CsvTexts, FileFormat, HandedFiles, HandedFrame, HandedTable
from analytics_core._engine.files.dates import ISO
from analytics_core._engine.files.kinds import MOST_DIGITS, ColumnType
from analytics_core._engine.files.limits import LONGEST_ROW, FileLimits
from analytics_core._engine.files.names import column_names
from analytics_core._engine.files.reading import opened_table, other_format
from analytics_core._engine.files.text_table import TextRows
from analytics_core._notebook.sources.in_memory import in_duckdb, memory_errors
from analytics_core._notebook.sources.paths import broken_file
from analytics_core._notebook.sources.reading import FileReading
from analytics_core.errors import FileUploadError, PayloadSchemaError, SourceError
from analytics_core.errors.base import short_repr

Result = TypeVar("Result")

ONE_BY_ONE: Final = "write the files of one dataset alike, or connect them one by one, in a dict"
_LONGEST_NAME: Final = 255
_LINE: Final = re.compile(r"CSV Error on Line: (\d+)")


class _UnreadError(Exception):
    """DuckDB does not read a file, for a `row` that it may tell, or reads it otherwise than the reader of uploads."""

    def __init__(self, row: int | None = None) -> None:
        super().__init__()
        self.row = row


def table_of_csv(files: list[Path], reading: FileReading) -> HandedTable:
    """Return CSV files as one table; what is no UTF-8 is read into memory, and so is what DuckDB reads otherwise.

    Raises:
        SourceError: they cannot be read; row and column are told.
    """
    if not reading.is_encoded():
        try:
            return in_duckdb(lambda root: _by_duckdb(root, files, reading))
        except _UnreadError as error:
            row = error.row
        _check_sizes(files, reading.settings.upload_max_bytes, row)
    return _in_memory(files, reading)


def _check_sizes(files: list[Path], most: int, row: int | None) -> None:
    from analytics_core._engine.execution.sessions.csv_texts import state_of

    large = next((path for path in files if (state_of(path) or (0, 0, 0))[1] > most), None)
    if large is not None:
        what = (
            "a row has another number of cells than the first one, or a quote or the end of a line is amiss; mend it, "
            f"or raise Settings.upload_max_bytes ({most}), up to which such a file is read into memory"
        )
        raise broken_file(large, what, row=row)


def _by_duckdb(root: Any, files: list[Path], reading: FileReading) -> HandedFiles:
    """Return files with the types that uploads give the same texts, and notes on what they leave open.

    Raises:
        _UnreadError: DuckDB does not read them as uploads are read.
    """
    from analytics_core._engine.execution.sessions.csv_texts import seen_texts, state_of
    from analytics_core._engine.execution.sessions.duckdb_tables import allow_only

    csv = HandedFiles(format=FileFormat.CSV, paths=tuple(files), csv_arguments=reading.csv_arguments())
    allow_only(root, [csv])
    _check_date_format(root, reading.date_format)
    states, reader = {path: state_of(path) for path in files}, reading.texts()
    with _rows_of(files[0], reading) as rows:
        row, first = rows.first()
        is_header = reader.is_header(first) if reading.header_row == "found" else reading.header_row is not None
        named: list[str | None] = [*first] if is_header else [None] * len(first)
        names = _checked_names(named, files[0], row)
        csv = replace(csv, csv_arguments={**csv.csv_arguments, **_written(rows), "header": is_header})
        texts = [_as_texts(root, csv, path, reading) for path in files]
        found_names, *others = (list(file.types or {}) for file in texts)
        other = next((path for path, names in zip(files[1:], others, strict=True) if names != found_names), None)
        if other is not None:
            raise other_columns(other, files[0])
        seen = seen_texts(texts, found_names, reader, partial(_read, root))
        notes = rows.notes(named, dict(zip(names, seen.values(), strict=True)))
    found = {name: _with_room(one.type(has_format=reader.date_format is not None)) for name, one in seen.items()}
    return replace(
        csv,
        types={name: _TYPES.get(kind.kind, str(kind)) for name, kind in found.items()},
        names=dict(zip(seen, names, strict=True)),
        texts=CsvTexts(reader=reader, types=found, states=states),
        date_formats={
            name: kind.form
            for name, kind in found.items()
            if kind.form and (kind.form != ISO or not seen[name].is_bare)
        },
        notes=notes,
    )


def _as_texts(root: Any, csv: HandedFiles, path: Path, reading: FileReading) -> HandedFiles:
    """Return one of the files with its columns as texts."""
    file = replace(csv, paths=(path,))
    with _rows_of(path, reading) as rows:
        first, written = rows.first()[1], _written(rows)
    as_data = replace(file, csv_arguments={**csv.csv_arguments, "header": False, "all_varchar": True})
    found = _read(root, as_data, lambda rows: rows.limit(1).fetchone()) or ()
    if [cell or "" for cell in found] != first or any(csv.csv_arguments[name] != one for name, one in written.items()):
        raise _UnreadError
    return replace(file, types=dict.fromkeys(_read(root, file, lambda rows: rows.columns), "VARCHAR"))


def other_columns(path: Path, first: Path) -> SourceError:
    """Return the error for a file of other columns than the first one of its dataset."""
    return broken_file(path, f"it has other columns than {first.name!r}, or in another order; {ONE_BY_ONE}")


def _written(rows: TextRows) -> dict[str, Any]:
    """Return how a file is written; DuckDB takes an empty line above the first row for a header."""
    return {"sep": rows.delimiter, "skiprows": rows.first()[0] - 1}


def _read(root: Any, file: HandedFiles, look: Callable[[Any], Result]) -> Result:
    """Return what is seen in the rows of one file."""
    from analytics_core._engine.execution.sessions.duckdb_tables import relation_of

    try:
        return look(relation_of(root, file))
    except memory_errors():  # no fault of the file
        raise
    except Exception as error:  # the border to DuckDB, whose text quotes rows and goes no further
        line = _LINE.search(str(error))
    raise _UnreadError(int(line[1]) if line else None)


@contextmanager
def _rows_of(path: Path, reading: FileReading) -> Iterator[TextRows]:
    with _source_errors(path), _opened(path) as file:
        other = other_format(file.read(64))
        if other is not None:
            raise broken_file(path, f"it {other}, and is no CSV; name it as what it is, or save it as CSV")
        yield TextRows(file, reading.form(), FileLimits.of(reading.settings))


@contextmanager
def _source_errors(path: Path) -> Iterator[None]:
    """Raise SourceError for what the reader of uploads says of a file."""
    try:
        yield
    except FileUploadError as error:
        what = error.message.partition(": ")[2] or error.message
        raise broken_file(path, what.replace("options.", ""), **error.extra) from error
    except PayloadSchemaError as error:
        raise broken_file(path, error.message) from error
    except (OSError, EOFError, zlib.error) as error:
        raise broken_file(path, f"it cannot be read to its end ({type(error).__name__})") from error


def _opened(path: Path) -> BinaryIO:
    """Return the bytes of a file, unpacked; of a packed one that cannot be rewound the first alone."""
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path)  # type: ignore[return-value]  # a GzipFile is read as a BinaryIO is
        case ".zst":
            with pa.input_stream(str(path), compression="zstd") as packed:
                return io.BytesIO(packed.read(LONGEST_ROW))
    return path.open("rb")


def _checked_names(named: Sequence[str | None], path: Path, row: int | None = None) -> tuple[str, ...]:
    """Return the names of columns; SourceError for one that is too long to store."""
    names = column_names(named, are_plain=False)
    long = next((name for name in names if len(name) > _LONGEST_NAME), None)
    if long is not None:
        what = f"the name of a column, {short_repr(long)}, has more than {_LONGEST_NAME} letters; shorten it"
        raise broken_file(path, what, row=row)
    return names


_TYPES: Final = {
    ValueKind.BOOLEAN: "BOOLEAN",
    ValueKind.INTEGER: "BIGINT",
    ValueKind.FLOAT: "DOUBLE",
    ValueKind.DATE: "DATE",
    ValueKind.TIMESTAMP: "TIMESTAMP",
    ValueKind.TEXT: "VARCHAR",
}


def _with_room(found: ColumnType) -> ColumnType:
    """Return the type of a column with room for longer decimals, which later rows may have."""
    digits = 18 if found.precision <= 18 else MOST_DIGITS
    return replace(found, integer_digits=digits - found.scale) if found.kind is ValueKind.DECIMAL else found


def _check_date_format(root: Any, written: str | None) -> None:
    """Raise SourceError for a format that DuckDB does not know."""
    if written is None:
        return
    try:
        root.execute("SELECT strftime(TIMESTAMP '2024-01-02', $1)", [written])
    except Exception as error:  # the border to DuckDB
        known = 'give one of strptime, such as "%d.%m.%Y" or "%m/%d/%Y %H:%M"'
        raise SourceError(f"date_format {short_repr(written)} cannot be read; {known}") from error


def _in_memory(files: list[Path], reading: FileReading) -> HandedFrame:
    """Return CSV files as one frame, read by the reader of uploads."""
    read, notes = [], list[str]()
    for path in files:
        packed = path.suffix.lower() in (".gz", ".zst")
        with (
            _source_errors(path),
            pa.input_stream(str(path)) if packed else path.open("rb") as opened,
            opened_table(opened, reading.options(), FileLimits.of(reading.settings)) as table,
        ):
            schema = pa.schema([(column.name, column.type.arrow) for column in table.columns])
            rows = pa.Table.from_batches(table.batches(table.columns), schema=schema)
            headers = [column.header for column in table.columns]
            read.append(rows.rename_columns(list(_checked_names(headers, path))))
            notes += table.notes
    try:
        joined = pa.concat_tables(read)
    except pa.ArrowException as error:
        what = f"it has columns of other names or types than {files[0].name!r}; {ONE_BY_ONE}"
        raise broken_file(files[-1], what) from error
    from analytics_core._notebook.sources.frames import required_frame  # pandas is loaded for frames alone

    return replace(required_frame(joined, files[0].name), notes=tuple(dict.fromkeys(notes)))
