"""A file of the host's own, in whatever form it is handed over, as a table."""

from __future__ import annotations

import inspect
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.files.dates import is_date_format
from analytics_core._engine.files.kinds import ColumnType, TextReader, parse_type
from analytics_core._engine.files.limits import ENCODINGS, FileLimits, broken
from analytics_core._engine.files.parquet_table import ParquetTable
from analytics_core._engine.files.table import FileColumn, FileTable
from analytics_core._engine.files.text_table import DelimitedFormat, TextTable
from analytics_core._engine.files.workbook_table import SheetFormat, WorkbookTable, sheet_names
from analytics_core.errors import FileUploadError, PayloadSchemaError, Problem
from analytics_core.errors.base import LONGEST_KEY
from analytics_core.models.enums import FileKind
from analytics_core.models.table import FileUploadOptions

_PIECE: Final = 1 << 20
_SHAPE: Final = "databases.upload"


@contextmanager
def opened_table(file: Any, options: FileUploadOptions, limits: FileLimits) -> Iterator[FileTable]:
    """Give the table of a file, whose bytes are copied first, so that nobody changes them meanwhile.

    Args:
        file: a path of the host's own, bytes, or a binary file object, read from where it stands.
        options: how it is read.
        limits: what it may hold.

    Raises:
        FileUploadError: it cannot be read, or is more than may be.
        PayloadSchemaError: an option that the file contradicts.
    """
    with _copied(file, options, limits) as (copy, kind):
        table = _table(copy, kind, options, limits)
        if not table.columns:
            raise broken("the sheet has no rows")
        yield table


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """A sheet of a workbook, or the whole of another file (`sheet` None); a sheet without rows has no columns."""

    sheet: str | None = None
    columns: tuple[FileColumn, ...] = ()
    notes: tuple[str, ...] = ()


def parts_of(file: Any, options: FileUploadOptions, limits: FileLimits) -> tuple[FileKind, tuple[FilePart, ...]]:
    """Return what a file is, and the tables in it: of a workbook all sheets, or the one that is named.

    Raises:
        FileUploadError, PayloadSchemaError: as `opened_table` does, of the first sheet that cannot be read.
    """
    with _copied(file, options, limits) as (copy, kind):
        is_every_sheet = kind is FileKind.EXCEL and options.sheet_name is None
        sheets = sheet_names(copy, limits) if is_every_sheet else [options.sheet_name]
        return kind, tuple(
            _part(copy, kind, options.model_copy(update={"sheet_name": name}), limits) for name in sheets
        )


def _part(copy: BinaryIO, kind: FileKind, options: FileUploadOptions, limits: FileLimits) -> FilePart:
    table = _table(copy, kind, options, limits)
    return FilePart(sheet=options.sheet_name, columns=table.columns, notes=table.notes)


@contextmanager
def _copied(file: Any, options: FileUploadOptions, limits: FileLimits) -> Iterator[tuple[BinaryIO, FileKind]]:
    _requested_types(options)
    with tempfile.TemporaryFile() as copy:
        _copy(file, copy, limits)
        copy.seek(0)
        kind = _kind_of(copy.read(64), _suffix(file), options.type)
        _check_kind(options, kind)
        yield copy, kind


def _table(copy: BinaryIO, kind: FileKind, options: FileUploadOptions, limits: FileLimits) -> FileTable:
    requested = _requested_types(options)
    reader = TextReader(
        decimal=options.decimal_character,
        thousands=options.thousands_character,
        date_format=options.date_format,
        max_cell_length=limits.max_cell_length,
    )
    if kind is FileKind.COLUMNAR:
        return ParquetTable(copy, requested=requested, reader=reader, limits=limits)
    if kind is FileKind.EXCEL:
        sheet = SheetFormat(
            sheet=options.sheet_name,
            header_row=options.header_row,
            skip_rows=options.skip_rows,
            null_values=options.null_values,
            requested=requested,
            reader=replace(reader, decimal=".", thousands=None),  # numbers of workbooks are no texts
        )
        return WorkbookTable(copy, sheet, limits)
    form = DelimitedFormat(
        delimiter=options.delimiter,
        encoding=options.encoding.casefold(),
        header_row=options.header_row,
        is_header_given="header_row" in options.model_fields_set,
        skip_rows=options.skip_rows,
        null_values=options.null_values,
        requested=requested,
        reader=reader,
    )
    return TextTable(copy, form, limits)


_BEGINNINGS: Final = {b"PAR1": FileKind.COLUMNAR, b"PK\x03\x04": FileKind.EXCEL}
_SUFFIXES: Final = {".parquet": FileKind.COLUMNAR, ".pq": FileKind.COLUMNAR, ".xlsx": FileKind.EXCEL}
_JSON: Final = "begins as JSON does"
_COMPRESSED: Final = "is compressed; unpack it first"
_NOT_TAKEN: Final = {
    b"\xd0\xcf\x11\xe0": "is an Excel workbook of the old format, or one with a password; save it as XLSX without one",
    b"PK\x05\x06": "is an empty ZIP file",
    **dict.fromkeys((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zX", b"7z\xbc\xaf"), _COMPRESSED),
    b"[": _JSON,
    b"{": _JSON,
}


_PAGES: Final = (b"<!doctype", b"<html", b"<head", b"<body", b"<table", b"<?xml")


def other_format(first: bytes) -> str | None:
    """Return what to say of a file that begins as a page, a document or rows of JSON do; None for others."""
    if first.startswith(b"%PDF"):
        return "is a PDF document"
    if first.startswith((b'{"', b'[{"')):
        return _JSON
    is_page = first.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(_PAGES)
    return "begins as HTML or XML does" if is_page else None


def _kind_of(first: bytes, suffix: str, declared: FileKind | None) -> FileKind:
    """Return the kind that a file is told to be, else that of its first bytes.

    Raises:
        FileUploadError: it is none of those that are taken, or another one than its name says.
    """
    if declared is FileKind.CSV:
        return declared
    kind = declared or _BEGINNINGS.get(first[:4], FileKind.CSV)
    other = other_format(first) or next(
        (why for beginning, why in _NOT_TAKEN.items() if first.startswith(beginning)), None
    )
    if other is not None:
        raise broken(f"it {other}; CSV, Parquet and XLSX are taken, and options.type tells a CSV file that begins so")
    if declared is None and kind is not _SUFFIXES.get(suffix, kind):
        raise broken(f"its name ends in {suffix}, and it is no such file; options.type says what it is")
    return kind


_TEXT_OR_SHEET: Final = (FileKind.CSV, FileKind.EXCEL)
_KINDS_OF_OPTIONS: Final = {
    "delimiter": (FileKind.CSV,),
    "encoding": (FileKind.CSV,),
    "decimal_character": (FileKind.CSV, FileKind.COLUMNAR),
    "thousands_character": (FileKind.CSV, FileKind.COLUMNAR),
    "header_row": _TEXT_OR_SHEET,
    "skip_rows": _TEXT_OR_SHEET,
    "null_values": _TEXT_OR_SHEET,
    "sheet_name": (FileKind.EXCEL,),
}
_SENT: Final = {"delimiter": ","}
"""What forms send of every file."""

_NAMES: Final = {FileKind.CSV: "CSV", FileKind.EXCEL: "XLSX", FileKind.COLUMNAR: "Parquet"}


def _check_kind(options: FileUploadOptions, kind: FileKind) -> None:
    """Raise PayloadSchemaError for options of another kind of file, or that this kind contradicts."""
    fields = FileUploadOptions.model_fields
    problems = [
        Problem(
            path=f"options.{name}", message=f"is of {' and '.join(_NAMES[k] for k in kinds)}; this is {_NAMES[kind]}"
        )
        for name, kinds in _KINDS_OF_OPTIONS.items()
        if kind not in kinds
        and getattr(options, name) not in (fields[name].default, _SENT.get(name, fields[name].default))
    ]
    if kind is FileKind.CSV and options.delimiter == options.decimal_character:
        problems.append(Problem(path="options.delimiter", message=_DELIMITER))
    if problems:
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)


_DELIMITER: Final = "must be one ASCII character that parts no number"


def _suffix(file: Any) -> str:
    """Return how the name of a file ends, in small letters; empty where nobody named it."""
    name = file if isinstance(file, str | os.PathLike) else getattr(file, "name", "")
    return os.path.splitext(name)[1].lower() if isinstance(name, str | os.PathLike) else ""


def _requested_types(options: FileUploadOptions) -> dict[str, ColumnType]:
    """Return the types that were asked for; PayloadSchemaError for options that no file could have."""
    problems, requested = [], {}
    for name, text in options.column_data_types.items():
        if (found := parse_type(text)) is None:
            message = "must be INTEGER, DECIMAL(p,s), FLOAT, BOOLEAN, DATE, TIMESTAMP or TEXT"
            problems.append(Problem(path=f"options.column_data_types.{name}", message=message))
        else:
            requested[name] = found
    twice = [name for name in options.column_dates if name in requested]
    if twice:
        problems.append(Problem(path="options.column_dates", message=f"{twice[0]!r} has a type of its own too"))
    requested |= dict.fromkeys(options.column_dates, _MOMENT)
    if options.encoding.casefold() not in ENCODINGS:
        problems.append(Problem(path="options.encoding", message=f"must be one of {', '.join(ENCODINGS)}"))
    if options.delimiter in ('"', "\r", "\n") or (options.delimiter or "") > "\x7f":
        problems.append(Problem(path="options.delimiter", message=_DELIMITER))
    problems += _of_numbers_and_dates(options)
    if problems:
        raise PayloadSchemaError(shape=_SHAPE, problems=problems)
    return requested


_MOMENT: Final = ColumnType(kind=ValueKind.TIMESTAMP)


def _of_numbers_and_dates(options: FileUploadOptions) -> list[Problem]:
    """Return what is wrong with how numbers and dates are told to be written."""
    problems = []
    if options.thousands_character in (options.decimal_character, *"0123456789-"):
        message = "must be another character than decimal_character, and none of numbers"
        problems.append(Problem(path="options.thousands_character", message=message))
    if options.date_format is not None and not is_date_format(options.date_format):
        message = 'must be a format of strptime, such as "%d.%m.%Y" or "%m/%d/%Y %H:%M"'
        problems.append(Problem(path="options.date_format", message=message))
    return problems


def _copy(file: Any, copy: BinaryIO, limits: FileLimits) -> None:
    if isinstance(file, bytes | bytearray | memoryview):
        if memoryview(file).nbytes > limits.max_bytes:
            raise _too_large(limits)
        copy.write(file)
    elif isinstance(file, str | os.PathLike):
        _copy_path(file, copy, limits)
    elif callable(getattr(file, "read", None)):
        _copy_object(file, copy, limits)
    else:
        message = "must be a path, bytes or a binary file object"
        raise PayloadSchemaError(shape=_SHAPE, problems=[Problem(path="file", message=message)])


def _copy_path(path: Any, copy: BinaryIO, limits: FileLimits) -> None:
    try:
        # A pipe or a device would be waited for; it is no file.
        opened = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))  # noqa: SIM115 - closed below
        with opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise broken("the path does not lead to a file")
            _copy_object(opened, copy, limits)
    except (OSError, ValueError):
        raise broken("the path does not lead to a file that can be read") from None


def _copy_object(file: Any, copy: BinaryIO, limits: FileLimits) -> None:
    if getattr(file, "closed", False) is True:
        raise broken("the file object is closed; upload it while it is open")
    size = 0
    while piece := _piece(file, limits):
        size += len(piece)
        if size > limits.max_bytes:
            raise _too_large(limits)
        copy.write(piece)
    if not size:
        raise broken("there is nothing to read: the file is empty, or was read to its end before; seek(0) rewinds it")


def _piece(file: Any, limits: FileLimits) -> bytes | bytearray:
    """Return the next bytes of a file object; FileUploadError where it gives something else, or fails."""
    limits.check()
    try:
        piece = file.read(_PIECE)
    except Exception as error:  # the object is the host's own, and so is what it raises
        raise broken("the file object cannot be read; open it for reading, in binary mode") from error
    if inspect.isawaitable(piece):
        if inspect.iscoroutine(piece):
            piece.close()
        raise broken("its read() is asynchronous; give the binary file inside (`.file` of an UploadFile), or its bytes")
    if isinstance(piece, str):
        raise broken("the file object gives text and no bytes; open it in binary mode ('rb')")
    if not isinstance(piece, bytes | bytearray):
        raise broken(f"the file object gives no bytes, but {type(piece).__name__[:LONGEST_KEY]}")
    return piece


def _too_large(limits: FileLimits) -> FileUploadError:
    return broken(f"it has more than {limits.max_bytes} bytes (Settings.upload_max_bytes)")
