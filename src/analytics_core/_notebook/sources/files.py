"""Files as tables: those that DuckDB reads itself, looked at once, and those that come as Arrow data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.handed_over import FileFormat, HandedFiles, HandedFrame, HandedTable
from analytics_core._engine.files.limits import FileLimits
from analytics_core._engine.files.reading import opened_table
from analytics_core._engine.files.table import FileTable
from analytics_core._engine.files.text_table import title_note
from analytics_core._notebook.sources.csv_files import ONE_BY_ONE, other_columns, table_of_csv
from analytics_core._notebook.sources.in_memory import in_duckdb, memory_errors
from analytics_core._notebook.sources.json_types import with_days, with_integers
from analytics_core._notebook.sources.paths import DATABASES, FileType, broken_file, require_intact, type_of
from analytics_core._notebook.sources.reading import FileReading
from analytics_core.errors import FileUploadError, MissingExtraError, PayloadSchemaError, SourceError
from analytics_core.models.enums import FileKind
from analytics_core.models.table import FileUploadOptions

Result = TypeVar("Result")


def table_of_files(paths: Iterable[Path], reading: FileReading) -> HandedTable:
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
    for path in files:
        require_intact(path)
    if kind is FileType.CSV:
        return table_of_csv(files, reading)
    if kind in _FORMATS:
        handed = HandedFiles(format=_FORMATS[kind], paths=tuple(files))
        return in_duckdb(lambda root: _with_types(root, handed))
    if kind is FileType.XLSX:
        return _of_sheets([sheet for path in files for sheet in sheets_of(path, reading).values()], files)
    return _of_arrow_files(files, kind)


_FORMATS: Final = {
    FileType.JSON: FileFormat.JSON,
    FileType.PARQUET: FileFormat.PARQUET,
}


def _with_types(root: Any, files: HandedFiles) -> HandedFiles:
    """Return files with the types of their columns, which the whole of each text file tells."""
    from analytics_core._engine.execution.sessions.duckdb_tables import allow_only

    allow_only(root, [files])
    types: dict[str, str] = {}
    for place, path in enumerate(files.paths):
        found = _types_of(root, replace(files, paths=(path,)))
        types = found if not place else _merged(types, found, files, path)
    if files.format is FileFormat.PARQUET:
        return files
    return with_integers(root, with_days(root, replace(files, types=types)))


def _types_of(root: Any, file: HandedFiles) -> dict[str, str]:
    """Return the types of the columns of one file, in their order; SourceError where it cannot be read."""
    from analytics_core._engine.execution.sessions.duckdb_tables import types_of

    types: dict[str, str] = {}

    def look(rows: Any) -> None:
        types.update(types_of(rows, file.format))
        rows.aggregate("count(*)").fetchall()

    _read(root, file, look)
    return types


def _read(root: Any, file: HandedFiles, look: Callable[[Any], Result]) -> Result:
    """Return what is seen in the rows of one file; SourceError where it cannot be read."""
    from analytics_core._engine.execution.sessions.duckdb_tables import relation_of

    try:
        return look(relation_of(root, file))
    except memory_errors():  # no fault of the file
        raise
    except Exception as error:  # the border to DuckDB, whose text quotes rows and goes no further
        failure = _diagnosed(file, str(error))
    raise failure


_INTEGERS: Final = frozenset({"BIGINT", "UBIGINT", "HUGEINT"})
_NUMBERS: Final = _INTEGERS | {"DOUBLE"}
_DAYS: Final = frozenset({"DATE", "TIMESTAMP"})


def _merged(types: dict[str, str], found: dict[str, str], files: HandedFiles, path: Path) -> dict[str, str]:
    """Return the types of columns of several files, those before `path` and its own, which hold the values of all."""
    if files.format is not FileFormat.JSON and list(found) != list(types):
        raise other_columns(path, files.paths[0])
    differing = {name: {types[name], kind} for name, kind in found.items() if types.get(name, kind) != kind}
    if files.format is FileFormat.PARQUET:
        from analytics_core._engine.execution.sessions.duckdb_tables import columns_of_folders

        parted = columns_of_folders(path)
        differing = {name: kinds for name, kinds in differing.items() if name.lower() not in parted}
    if differing and files.format is FileFormat.PARQUET:
        name = next(iter(differing))
        what = f"is {found[name]} here, and {types[name]} in {files.paths[0].name!r}; {ONE_BY_ONE}"
        raise broken_file(path, what, column=name)
    text = "JSON" if files.format is FileFormat.JSON else "VARCHAR"
    wider = {
        name: next((kind for pool, kind in _HOLDS.items() if kinds <= pool), text) for name, kinds in differing.items()
    }
    return {**types, **found, **wider}


_HOLDS: Final = {_INTEGERS: "HUGEINT", _NUMBERS: "DOUBLE", _DAYS: "TIMESTAMP"}


_LINE: Final = re.compile(r"at byte \d+ in line (?P<row>\d+)")


def _diagnosed(file: HandedFiles, text: str) -> SourceError:
    """Return the error for a file that DuckDB cannot read: of its text pass a row's number and a column's name."""
    path, line = file.paths[0], _LINE.search(text)
    row = int(line["row"]) if line else None
    if "unicode (byte sequence" in text or "not utf-8 encoded" in text:
        what = 'it is not written in UTF-8; name its encoding, such as encoding="windows-1252"'
        return broken_file(path, what, row=row)
    if file.format is FileFormat.JSON:
        return broken_file(path, "it is no JSON: a list of objects, or an object on each line", row=row)
    return broken_file(path, "it is damaged, or no Parquet file")


_FIRST_LINES: Final = 5


def sheets_of(path: Path, reading: FileReading) -> dict[str, HandedFrame]:
    """Return the sheets of a workbook that have rows, by name.

    Raises:
        SourceError: it cannot be read; row and column are told.
        MissingExtraError: python-calamine is not installed.
    """
    found = {}
    for sheet in _sheet_names(path):
        options = FileUploadOptions(type=FileKind.EXCEL, sheet_name=sheet, skip_rows=reading.skip_rows)
        try:
            with opened_table(path, options, FileLimits.of(reading.settings)) as table:
                found[sheet] = _rows_of_sheet(table, sheet)
        except FileUploadError as error:
            if "has no rows" in error.message:
                continue
            what = error.message.partition(": ")[2] or error.message
            raise broken_file(path, f"sheet {sheet!r}: {what}", **error.extra) from error
        except PayloadSchemaError as error:
            raise broken_file(path, error.message) from error
    sheets = {name: sheet for name, sheet in found.items() if sheet is not None}
    if not sheets:
        raise broken_file(path, "no sheet of it has rows")
    return sheets


def _rows_of_sheet(table: FileTable, name: str) -> HandedFrame | None:
    batches = list(table.batches(table.columns))
    if not batches:
        return None
    rows = pa.Table.from_batches(batches)
    return replace(_frame(rows, name), notes=_title_in_sheet(table, rows))


def _title_in_sheet(table: FileTable, rows: pa.Table) -> tuple[str, ...]:
    """Return a note when the header of a sheet has one cell above several columns, the first of which is text."""
    headers = [column.header for column in table.columns]
    named = [place for place, header in enumerate(headers) if header is not None]
    is_index = len(headers) == 2 and headers[0] is None  # as pandas writes one
    if len(headers) == 1 or len(named) != 1 or is_index or table.columns[0].type.kind is not ValueKind.TEXT:
        return ()
    for place, cells in enumerate(rows.slice(0, _FIRST_LINES).to_pylist(), start=1):
        if sum(cell is not None for cell in cells.values()) > 1:
            title = headers[named[0]] or ""
            return (title_note(title, len(headers), skip_rows=table.row_number(place) - 1),)
    return ()


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


def _of_sheets(sheets: list[HandedFrame], files: list[Path]) -> HandedFrame:
    """Return sheets of the same columns as one frame."""
    if len(files) == 1 and len(sheets) > 1:
        what = "it has several sheets with rows; connect it alone, or read one by pandas.read_excel"
        raise broken_file(files[0], what)
    try:
        joined = pa.concat_tables([sheet.data for sheet in sheets])
    except pa.ArrowException as error:
        raise broken_file(files[-1], f"it has other columns than {files[0].name!r}; {ONE_BY_ONE}") from error
    return HandedFrame(data=joined, notes=tuple(dict.fromkeys(note for sheet in sheets for note in sheet.notes)))


def _of_arrow_files(files: list[Path], kind: FileType) -> HandedFrame:
    """Return Arrow files: those that can be read by parts stay where they are, streams are read into memory."""
    try:
        if kind is FileType.ARROW:
            from pyarrow import dataset  # it loads pandas

            data = dataset.dataset([str(path) for path in files], format="ipc")
            data.count_rows()
        else:
            data = pa.concat_tables([_stream(path) for path in files])
    except (pa.ArrowException, OSError) as error:
        raise broken_file(files[0], "it is damaged, no Arrow IPC file, or has other columns than the next") from error
    return _frame(data, files[0].name)


def _frame(data: Any, name: str) -> HandedFrame:
    from analytics_core._notebook.sources.frames import required_frame  # pandas is loaded for frames alone

    return required_frame(data, name)


def _stream(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_stream(source).read_all()
