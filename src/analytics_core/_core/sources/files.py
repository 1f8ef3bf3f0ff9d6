"""Files as tables: those that DuckDB reads itself, looked at once, and those that come as Arrow data."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds

from analytics_core._core.sources.frames import required_frame
from analytics_core._core.sources.paths import DATABASES, FileType, broken_file, type_of
from analytics_core._execution.handed_over import FileFormat, HandedFiles, HandedFrame, HandedTable
from analytics_core._settings import Settings
from analytics_core._uploads.limits import FileLimits
from analytics_core._uploads.reading import opened_table
from analytics_core.errors import FileUploadError, MissingExtraError, PayloadSchemaError, SourceError
from analytics_core.models.upload import FileKind, FileUploadOptions


def table_of_files(paths: Iterable[Path], settings: Settings) -> HandedTable:
    """Return files of one type as one table, one after the other; it is looked at whether they can be read.

    Raises:
        SourceError: they cannot, or are of several types, or are databases; row and column are told.
        MissingExtraError: what reads them is not installed.
    """
    files = [path.resolve() for path in paths]
    types = {path: type_of(path) for path in files}
    kinds = set(types.values())
    kind = types[files[0]]
    if len(kinds) > 1:
        other = next(path for path in files if types[path] is not kind)
        what = f"it is {types[other].value}, and {files[0].name!r} is {kind.value}"
        raise broken_file(other, f"{what}; one dataset is read from files of one type")
    if kind in DATABASES:
        raise broken_file(files[0], f"it is {kind.value}, which is connected alone: connect({files[0].name!r})")
    if kind in _FORMATS:
        return _looked_at(HandedFiles(format=_FORMATS[kind], paths=tuple(files)))
    if kind is FileType.XLSX:
        return _of_sheets([table for path in files for table in sheets_of(path, settings).values()], files)
    return _of_arrow_files(files, kind)


_FORMATS: Final = {
    FileType.CSV: FileFormat.CSV,
    FileType.JSON: FileFormat.JSON,
    FileType.PARQUET: FileFormat.PARQUET,
}


def _looked_at(files: HandedFiles) -> HandedFiles:
    """Return files with the types of their columns, which the whole of a text file tells."""
    failure = None
    with duckdb_in_memory() as root:
        from analytics_core._execution.sessions.duckdb_tables import allow_only, relation_of

        allow_only(root, [files])
        try:
            relation = relation_of(root, files)
            types = dict(zip(relation.columns, map(str, relation.types), strict=True))
            relation.aggregate("count(*)").fetchall()
        except Exception as error:  # the border to DuckDB, whose text quotes rows and goes no further
            failure = _diagnosed(files, str(error))
    if failure is not None:
        raise failure
    return files if files.format is FileFormat.PARQUET else replace(files, types=types)


@contextmanager
def duckdb_in_memory() -> Iterator[Any]:
    """Give an empty DuckDB in memory; MissingExtraError where it is not installed."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError(needed_for="reading files and frames", extra_name="duckdb") from None
    with duckdb.connect(":memory:") as root:
        yield root


_LINE: Final = re.compile(r"CSV Error on Line: (?P<row>\d+)|at byte \d+ in line (?P<line>\d+)")
_COLUMN: Final = re.compile(r"Error when converting column \"(?P<column>[^\"]+)\"")
_FILE: Final = re.compile(r"(?:file|file = |magic bytes found at end of file) ?[\"']?(?P<path>/[^\n\"']+)")


def _diagnosed(files: HandedFiles, text: str) -> SourceError:
    """Return the error for files that DuckDB cannot read: of its text pass a row's number and a column's name."""
    named = _FILE.search(text)
    path = next((one for one in files.paths if named and str(one) == named["path"].strip()), files.paths[0])
    line, column = _LINE.search(text), _COLUMN.search(text)
    row = int(line["row"] or line["line"]) if line else None
    if "unicode (byte sequence" in text or "not utf-8 encoded" in text:
        what = "it is not written in UTF-8; save it so, or read it by pandas.read_csv(..., encoding=...)"
        return broken_file(path, what, row=row)
    if files.format is FileFormat.CSV:
        row = _uneven_row(path) if row is None else row
        uneven = "this row has another number of values than the first one, or a quote that does not end"
        what = "its columns cannot be told apart" if row is None else uneven
        return broken_file(path, what, row=row, column=column and column["column"])
    if files.format is FileFormat.JSON:
        return broken_file(path, "it is no JSON: a list of objects, or an object on each line", row=row)
    if "mismatch" in text.casefold():
        return broken_file(path, _DIFFERENT)
    return broken_file(path, "it is damaged, or no Parquet file")


_DIFFERENT: Final = "the files of this dataset have different columns; connect them one by one, in a dict"


def _uneven_row(path: Path) -> int | None:
    """Return the first row of a CSV file with another number of values than the first one; None where none is found."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            delimiter = max(",;\t|", key=file.readline().count)
            file.seek(0)
            rows = csv.reader(file, delimiter=delimiter, strict=True)
            width = len(next(rows))
            return next((rows.line_num for row in rows if row and len(row) != width), None)
    except (OSError, ValueError, csv.Error, StopIteration):
        return None


def sheets_of(path: Path, settings: Settings) -> dict[str, pa.Table]:
    """Return the sheets of a workbook that have rows, by name, as Arrow tables.

    Raises:
        SourceError: it cannot be read; row and column are told.
        MissingExtraError: python-calamine is not installed.
    """
    limits = FileLimits(
        max_bytes=settings.upload_max_bytes,
        max_unpacked_bytes=settings.upload_max_unpacked_bytes,
        max_rows=settings.upload_max_rows,
        max_columns=settings.upload_max_columns,
        max_cell_length=settings.upload_max_cell_length,
    )
    found = {}
    for sheet in _sheet_names(path):
        options = FileUploadOptions(type=FileKind.EXCEL, sheet_name=sheet)
        try:
            with opened_table(path, options, limits) as table:
                batches = list(table.batches(table.columns))
                found[sheet] = pa.Table.from_batches(batches) if batches else None
        except FileUploadError as error:
            if "has no rows" in error.message:
                continue
            what = error.message.partition(": ")[2] or error.message
            raise broken_file(path, f"sheet {sheet!r}: {what}", **error.extra) from error
        except PayloadSchemaError as error:
            raise broken_file(path, error.message) from error
    tables = {name: table for name, table in found.items() if table is not None}
    if not tables:
        raise broken_file(path, "no sheet of it has rows")
    return tables


def _sheet_names(path: Path) -> list[str]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise MissingExtraError(needed_for="reading XLSX files", extra_name="excel") from None
    try:
        return list(CalamineWorkbook.from_path(path).sheet_names)
    except (CalamineError, OSError, ValueError) as error:
        raise broken_file(
            path, "it is no XLSX workbook that can be read; it may be damaged, or have a password"
        ) from error


def _of_sheets(tables: list[pa.Table], files: list[Path]) -> HandedFrame:
    """Return tables of the same columns as one frame."""
    if len(files) == 1 and len(tables) > 1:
        what = "it has several sheets with rows; connect it alone, or read one by pandas.read_excel"
        raise broken_file(files[0], what)
    try:
        joined = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    except pa.ArrowException as error:
        raise broken_file(files[-1], _DIFFERENT) from error
    return required_frame(joined, files[0].name)


def _of_arrow_files(files: list[Path], kind: FileType) -> HandedFrame:
    """Return Arrow files: those that can be read by parts stay where they are, streams are read into memory."""
    try:
        if kind is FileType.ARROW:
            data = ds.dataset([str(path) for path in files], format="ipc")
            data.count_rows()
        else:
            data = pa.concat_tables([_stream(path) for path in files])
    except (pa.ArrowException, OSError) as error:
        raise broken_file(files[0], "it is damaged, no Arrow IPC file, or has other columns than the next") from error
    return required_frame(data, files[0].name)


def _stream(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_stream(source).read_all()
