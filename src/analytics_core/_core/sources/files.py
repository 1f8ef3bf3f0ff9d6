"""Files as tables: those that DuckDB reads itself, looked at once, and those that come as Arrow data."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

import pyarrow as pa

from analytics_core._bounded_calls import BoundedCalls
from analytics_core._core.sources.json_types import with_days, with_whole_numbers
from analytics_core._core.sources.paths import DATABASES, FileType, broken_file, require_whole, type_of
from analytics_core._core.sources.reading import FileReading
from analytics_core._engines.types import ValueKind
from analytics_core._error_types import short_repr
from analytics_core._execution.cancel import Stopper, StopReason
from analytics_core._execution.handed_over import CsvTexts, FileFormat, HandedFiles, HandedFrame, HandedTable
from analytics_core._uploads.dates import ISO
from analytics_core._uploads.kinds import DOUBTED_HEADER, MOST_DIGITS, ColumnType
from analytics_core._uploads.limits import FileLimits
from analytics_core._uploads.names import column_names
from analytics_core._uploads.reading import opened_table
from analytics_core._uploads.table import FileTable
from analytics_core._uploads.text_table import QUOTE_AMISS
from analytics_core.errors import FileUploadError, MissingExtraError, PayloadSchemaError, SourceError
from analytics_core.models.upload import FileKind, FileUploadOptions

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
        require_whole(path)
    if kind is FileType.CSV and reading.is_encoded():
        return _of_encoded_files(files, reading)
    if kind in _FORMATS:
        told = reading.csv_arguments() if kind is FileType.CSV else {}
        return _looked_at(HandedFiles(format=_FORMATS[kind], paths=tuple(files), csv_arguments=told), reading)
    if kind is FileType.XLSX:
        return _of_sheets([sheet for path in files for sheet in sheets_of(path, reading).values()], files)
    return _of_arrow_files(files, kind)


_FORMATS: Final = {
    FileType.CSV: FileFormat.CSV,
    FileType.JSON: FileFormat.JSON,
    FileType.PARQUET: FileFormat.PARQUET,
}


def _looked_at(files: HandedFiles, reading: FileReading) -> HandedFiles:
    """Return files with the types of their columns, which the whole of each text file tells."""
    return in_duckdb(lambda root: _with_types(root, files, reading))


def _with_types(root: Any, files: HandedFiles, reading: FileReading) -> HandedFiles:
    from analytics_core._execution.sessions.duckdb_tables import allow_only

    allow_only(root, [files])
    if files.format is FileFormat.CSV:
        return _of_csv(root, files, reading)
    types: dict[str, str] = {}
    for place, path in enumerate(files.paths):
        found = _types_of(root, replace(files, paths=(path,)))
        types = found if not place else _merged(types, found, files, path)
    if files.format is FileFormat.PARQUET:
        return files
    return with_whole_numbers(root, with_days(root, replace(files, types=types)))


def _of_csv(root: Any, files: HandedFiles, reading: FileReading) -> HandedFiles:
    """Return CSV files with the types that uploads give the same texts, and notes on what they leave open."""
    from analytics_core._execution.sessions.csv_texts import seen_texts, state_of

    _check_date_format(root, reading.date_format)
    states = {path: state_of(path) for path in files.paths}
    texts, reader = list[HandedFiles](), reading.texts()
    files = _below_blank_lines(files)
    first = _first_row(root, replace(files, paths=files.paths[:1]))
    is_header = reader.is_header(first) if reading.header_row == "found" else reading.header_row is not None
    files = replace(files, csv_arguments={**files.csv_arguments, "header": is_header})
    for path in files.paths:
        file = replace(files, paths=(path,))
        found_names = list(_types_of(root, file))
        _check_columns(found_names, list(texts[0].types or {}) if texts else found_names, files, path)
        texts.append(replace(file, types=dict.fromkeys(found_names, "VARCHAR")))
    seen = seen_texts(texts, list(texts[0].types or {}), reader, partial(_read, root))
    names = column_names(first if is_header else [None] * len(seen), are_plain=False)
    found = {name: _with_room(one.type(is_form_told=reader.date_format is not None)) for name, one in seen.items()}
    read = replace(
        files,
        types={name: _TYPES.get(kind.kind, str(kind)) for name, kind in found.items()},
        names=dict(zip(seen, names, strict=True)),
        texts=CsvTexts(reader=reader, types=found, states=states),
        date_formats={
            name: kind.form
            for name, kind in found.items()
            if kind.form and (kind.form != ISO or not seen[name].is_bare)
        },
    )
    doubts = [
        note for name, one in zip(names, seen.values(), strict=True) for note in one.notes(short_repr(name), reader)
    ]
    if reading.header_row == "found" and is_header and reader.doubts_header(first, list(seen.values())):
        doubts.insert(0, DOUBTED_HEADER)
    return replace(read, notes=(*_title_in_csv(read), *doubts))


def _below_blank_lines(files: HandedFiles) -> HandedFiles:
    """Return CSV files that are read from the first line with a letter on: DuckDB takes an empty one for a header."""
    above = files.csv_arguments.get("skiprows", 0)
    first, *others = (_blank_lines(path, above) for path in files.paths)
    for path, blank in zip(files.paths[1:], others, strict=True):
        if blank != first:
            what = f"it has {blank} empty lines above its header, and {files.paths[0].name!r} {first}; {_ONE_BY_ONE}"
            raise broken_file(path, what)
    return replace(files, csv_arguments={**files.csv_arguments, "skiprows": above + first}) if first else files


def _blank_lines(path: Path, above: int) -> int:
    with suppress(OSError, ValueError), _opened(path) as lines:
        return sum(1 for _ in takewhile(lambda line: not line.strip("\r\n"), islice(lines, above, None)))
    return 0


def _first_row(root: Any, file: HandedFiles) -> tuple[str | None, ...]:
    arguments = {**file.csv_arguments, "header": False, "all_varchar": True}
    row = _read(root, replace(file, csv_arguments=arguments), lambda rows: rows.limit(1).fetchone())
    return tuple(row or ())


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
    return replace(found, whole_digits=digits - found.scale) if found.kind is ValueKind.DECIMAL else found


def _title_in_csv(files: HandedFiles) -> tuple[str, ...]:
    """Return a note when the header of a CSV file names the first column alone, and all are text, as names are."""
    first, *others = files.names.values()
    unnamed = [f"column_{place}" for place in range(2, len(others) + 2)]
    if not others or set((files.types or {}).values()) != {"VARCHAR"} or first == "column_1" or others != unnamed:
        return ()
    with suppress(OSError, ValueError, csv.Error), _csv_rows(files) as rows:
        header = next(islice((row for row, cells in rows if sum(map(bool, cells)) > 1), 1), None)
        if header is not None:
            return (_title_note(first, len(others) + 1, skip_rows=header - 1),)
    return ()


def _title_note(title: str, width: int, *, skip_rows: int) -> str:
    return (
        f"the header names one of {width} columns, {short_repr(title)}; if that is the title of the table, give "
        f"skip_rows={skip_rows}"
    )


def _check_date_format(root: Any, written: str | None) -> None:
    """Raise SourceError for a format that DuckDB does not know."""
    if written is None:
        return
    try:
        root.execute("SELECT strftime(TIMESTAMP '2024-01-02', $1)", [written])
    except Exception as error:  # the border to DuckDB
        known = 'give one of strptime, such as "%d.%m.%Y" or "%m/%d/%Y %H:%M"'
        raise SourceError(f"date_format {short_repr(written)} cannot be read; {known}") from error


def _types_of(root: Any, file: HandedFiles) -> dict[str, str]:
    """Return the types of the columns of one file, in their order; SourceError where it cannot be read."""
    from analytics_core._execution.sessions.duckdb_tables import types_of

    types: dict[str, str] = {}

    def look(rows: Any) -> None:
        types.update(types_of(rows, file.format))
        if file.format is not FileFormat.CSV:
            rows.aggregate("count(*)").fetchall()

    _read(root, file, look)
    # A row of another length makes one column of all.
    if file.format is FileFormat.CSV and len(types) == 1 and (failure := _uneven(file)) is not None:
        raise failure
    return types


def _read(root: Any, file: HandedFiles, look: Callable[[Any], Result]) -> Result:
    """Return what is seen in the rows of one file; SourceError where it cannot be read."""
    from analytics_core._execution.sessions.duckdb_tables import relation_of

    try:
        return look(relation_of(root, file))
    except memory_errors():  # no fault of the file
        raise
    except Exception as error:  # the border to DuckDB, whose text quotes rows and goes no further
        failure = _diagnosed(file, str(error))
    raise failure


_WHOLE_NUMBERS: Final = frozenset({"BIGINT", "UBIGINT", "HUGEINT"})
_NUMBERS: Final = _WHOLE_NUMBERS | {"DOUBLE"}
_DAYS: Final = frozenset({"DATE", "TIMESTAMP"})


def _merged(types: dict[str, str], found: dict[str, str], files: HandedFiles, path: Path) -> dict[str, str]:
    """Return the types of columns of several files, those before `path` and its own, which hold the values of all."""
    if files.format is not FileFormat.JSON:
        _check_columns(list(found), list(types), files, path)
    differing = {name: {types[name], kind} for name, kind in found.items() if types.get(name, kind) != kind}
    if differing and files.format is FileFormat.PARQUET:
        name = next(iter(differing))
        what = f"is {found[name]} here, and {types[name]} in {files.paths[0].name!r}; {_ONE_BY_ONE}"
        raise broken_file(path, what, column=name)
    text = "JSON" if files.format is FileFormat.JSON else "VARCHAR"
    wider = {
        name: next((kind for held, kind in _HOLDS.items() if kinds <= held), text) for name, kinds in differing.items()
    }
    return {**types, **found, **wider}


def _check_columns(found: list[str], first: list[str], files: HandedFiles, path: Path) -> None:
    """Raise SourceError for a file of other columns than those before it."""
    if found != first:
        raise broken_file(
            path, f"it has other columns than {files.paths[0].name!r}, or in another order; {_ONE_BY_ONE}"
        )


_HOLDS: Final = {_WHOLE_NUMBERS: "HUGEINT", _NUMBERS: "DOUBLE", _DAYS: "TIMESTAMP"}


_ONE_BY_ONE: Final = "write the files of one dataset alike, or connect them one by one, in a dict"


def in_duckdb(work: Callable[[Any], Result]) -> Result:
    """Return what `work` makes of an empty DuckDB in memory, in another thread.

    In this one DuckDB would wrap what the handler of a signal raises, such as Ctrl-C, into an error of its own.

    Raises:
        MissingExtraError: DuckDB is not installed.
        MemoryError: there is not enough of it.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError(needed_for="reading files and frames", extra_name="duckdb") from None
    calls, stopper = BoundedCalls("files"), Stopper()

    def worked() -> Result:
        with duckdb.connect(":memory:") as root:
            stopper.arm(root.interrupt, after_s=None)
            try:
                return work(root)
            finally:
                stopper.finish()

    try:
        return calls.run(worked, stop=lambda: stopper.stop(StopReason.CANCELLED))
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    finally:
        calls.close()


def memory_errors() -> tuple[type[Exception], ...]:
    """Return what is raised where there is not enough memory."""
    import duckdb

    return MemoryError, duckdb.OutOfMemoryException


@contextmanager
def enough_memory() -> Iterator[None]:
    """Raise SourceError where the block has not enough memory."""
    try:
        yield
    except MemoryError:
        what = "there is not enough memory to connect it; give this process more, or connect fewer rows"
        raise SourceError(what) from None


_LINE: Final = re.compile(r"CSV Error on Line: (?P<row>\d+)|at byte \d+ in line (?P<line>\d+)")


def _diagnosed(file: HandedFiles, text: str) -> SourceError:
    """Return the error for a file that DuckDB cannot read: of its text pass a row's number and a column's name."""
    path, line = file.paths[0], _LINE.search(text)
    row = int(line["row"] or line["line"]) if line else None
    if "unicode (byte sequence" in text or "not utf-8 encoded" in text:
        what = 'it is not written in UTF-8; name its encoding, such as encoding="windows-1252"'
        return broken_file(path, what, row=row)
    if file.format is FileFormat.CSV:
        return _uneven(file) or broken_file(path, "its columns cannot be told apart", row=row)
    if file.format is FileFormat.JSON:
        return broken_file(path, "it is no JSON: a list of objects, or an object on each line", row=row)
    return broken_file(path, "it is damaged, or no Parquet file")


_FIRST_LINES: Final = 5


def _uneven(file: HandedFiles) -> SourceError | None:
    """Return the error for the first row of a CSV file that has another number of values than the first one."""
    path, above = file.paths[0], file.csv_arguments.get("skiprows", 0)
    width = 0
    try:
        with _csv_rows(file) as rows:
            width = len(next(rows)[1])
            row = next((place for place, cells in rows if cells and len(cells) != width), None)
    except csv.Error:
        return broken_file(path, QUOTE_AMISS) if width > 1 else None
    except (OSError, ValueError, StopIteration):
        return None
    what = "this row has another number of values than the first one; mend it, or read the file by pandas.read_csv"
    if not above and row is not None:
        what += "; skip_rows=1 leaves out a row above the header"
    return None if row is None else broken_file(path, what, row=row)


@contextmanager
def _csv_rows(file: HandedFiles) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Give the rows of the first CSV file from its header on, with the numbers of their lines, by its likely delimiter.

    The rows raise OSError, ValueError or csv.Error where the file is no such text.
    """
    path, above = file.paths[0], file.csv_arguments.get("skiprows", 0)
    with _opened(path) as lines:
        first = "".join(islice(lines, above, above + _FIRST_LINES))
        delimiter = max(",;\t|", key=first.count)
        lines.seek(0)
        rows = csv.reader(islice(lines, above, None), delimiter=delimiter, strict=True)
        yield ((above + rows.line_num, cells) for cells in rows)


def _opened(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _of_encoded_files(files: list[Path], reading: FileReading) -> HandedFrame:
    """Return CSV files that are not in UTF-8 as one frame, read as uploads are."""
    read, notes = [], list[str]()
    for path in files:
        packed = path.suffix.lower() == ".gz"
        try:
            with (
                gzip.open(path) if packed else path.open("rb") as opened,
                opened_table(opened, reading.options(), FileLimits.of(reading.settings)) as table,
            ):
                schema = pa.schema([(column.name, column.type.arrow) for column in table.columns])
                rows = pa.Table.from_batches(table.batches(table.columns), schema=schema)
                headers = [column.header for column in table.columns]
                read.append(rows.rename_columns(list(column_names(headers, are_plain=False))))
                notes += table.notes
        except FileUploadError as error:
            raise broken_file(path, error.message.partition(": ")[2] or error.message, **error.extra) from error
        except PayloadSchemaError as error:
            raise broken_file(path, error.message) from error
    try:
        joined = pa.concat_tables(read)
    except pa.ArrowException as error:
        what = f"it has columns of other names or types than {files[0].name!r}; {_ONE_BY_ONE}"
        raise broken_file(files[-1], what) from error
    return replace(_frame(joined, files[0].name), notes=tuple(dict.fromkeys(notes)))


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
            return (_title_note(title, len(headers), skip_rows=table.row_number(place) - 1),)
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
        raise broken_file(files[-1], f"it has other columns than {files[0].name!r}; {_ONE_BY_ONE}") from error
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
    from analytics_core._core.sources.frames import required_frame  # pandas is loaded for frames alone

    return required_frame(data, name)


def _stream(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_stream(source).read_all()
