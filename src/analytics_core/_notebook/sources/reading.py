"""How text files and workbooks are read: what `connect` and `dataset_from` are told of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from analytics_core._engine.files.limits import ENCODINGS, UTF_8
from analytics_core._notebook.sources import paths
from analytics_core._notebook.sources.paths import FileType
from analytics_core._records.settings import Settings
from analytics_core.errors import SourceError
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import FileKind

if TYPE_CHECKING:
    from analytics_core._engine.files.kinds import TextReader
    from analytics_core._engine.files.text_table import DelimitedFormat
    from analytics_core.models.table import FileUploadOptions

_DECIMALS: Final = (".", ",")
_THOUSANDS: Final = (".", ",", " ", "'", "_")
_MOST_ROWS: Final = 100_000
_MOST_HEADER_ROWS: Final = 1_000
_SKIPPING: Final = (FileType.CSV, FileType.XLSX)


class ReadingFields(TypedDict, total=False):
    """How files are read, as keyword arguments: the fields of `FileReading` that a caller may give."""

    delimiter: str | None
    decimal_character: str
    thousands_character: str | None
    date_format: str | None
    encoding: str
    header_row: int | Literal["found"] | None
    skip_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReading:
    """How files are read; `date_format` None and `thousands_character` None: what the whole of a file tells.

    Attributes:
        settings: which limit workbooks.
        delimiter: between the cells of CSV, one ASCII character; None: the one that parts the first rows alike.
        decimal_character: between a whole number and its fraction, in CSV.
        thousands_character: between each three digits, in CSV.
        date_format: of dates or moments in CSV, as `strptime` has it.
        encoding: of CSV, by one of the names that uploads take; what is no UTF-8 is read into memory.
        header_row: which row has the names, from 0 after those skipped, in CSV; None: none has.
        skip_rows: above the header, in CSV and workbooks.

    Raises:
        SourceError: one of them cannot be.
    """

    settings: Settings
    delimiter: str | None = None
    decimal_character: str = "."
    thousands_character: str | None = None
    date_format: str | None = None
    encoding: str = UTF_8
    header_row: int | Literal["found"] | None = "found"
    skip_rows: int = 0

    def __post_init__(self) -> None:
        """Raise SourceError for what cannot be."""
        if self.decimal_character not in _DECIMALS:
            raise _no_option("decimal_character", self.decimal_character, '"." or ","')
        if self.delimiter is not None and not _is_delimiter(self.delimiter, self.decimal_character):
            raise _no_option("delimiter", self.delimiter, 'one ASCII character that parts no number, such as ";"')
        if self.thousands_character is not None and (
            self.thousands_character not in _THOUSANDS or self.thousands_character == self.decimal_character
        ):
            instead = 'one of "." "," " " "\'" "_", and another than decimal_character'
            raise _no_option("thousands_character", self.thousands_character, instead)
        if self.date_format is not None:
            self._check_date_format(str(self.date_format))
        if str(self.encoding).casefold() not in ENCODINGS:
            raise _no_option("encoding", self.encoding, f"one of {', '.join(ENCODINGS)}")
        is_place = type(self.header_row) is int and 0 <= self.header_row <= _MOST_HEADER_ROWS
        if not is_place and self.header_row not in (None, "found"):
            instead = f"the number of the row of names, from 0 to {_MOST_HEADER_ROWS}, or None where none has them"
            raise _no_option("header_row", self.header_row, instead)
        if type(self.skip_rows) is not int or not 0 <= self.skip_rows <= _MOST_ROWS:
            raise _no_option("skip_rows", self.skip_rows, f"a number of rows from 0 to {_MOST_ROWS}")

    def _check_date_format(self, text: str) -> None:
        from analytics_core._engine.files.dates import is_date_format

        if not is_date_format(text):
            forms = 'a format of strptime, such as "%d.%m.%Y" or "%m/%d/%Y %H:%M"'
            raise _no_option("date_format", self.date_format, forms)

    def given(self) -> tuple[str, ...]:
        """Return the names of what differs from the default."""
        values = {
            "delimiter": self.delimiter is not None,
            "decimal_character": self.decimal_character != ".",
            "thousands_character": self.thousands_character is not None,
            "date_format": self.date_format is not None,
            "encoding": self.is_encoded(),
            "header_row": self.header_row != "found",
            "skip_rows": self.skip_rows != 0,
        }
        return tuple(name for name, is_given in values.items() if is_given)

    def is_encoded(self) -> bool:
        """Tell whether the texts are written otherwise than in UTF-8."""
        return self.encoding.casefold() != UTF_8

    def texts(self) -> TextReader:
        """Return what tells what the texts of CSV are, as uploads do."""
        from analytics_core._engine.files.kinds import TextReader

        return TextReader(
            decimal=self.decimal_character, thousands=self.thousands_character, date_format=self.date_format
        )

    def options(self) -> FileUploadOptions:
        """Return how the reader of uploads reads CSV files."""
        from analytics_core.models.table import FileUploadOptions

        header = {} if self.header_row == "found" else {"header_row": self.header_row}
        return FileUploadOptions(
            **header,
            type=FileKind.CSV,
            encoding=self.encoding,
            delimiter=self.delimiter,
            decimal_character=self.decimal_character,
            thousands_character=self.thousands_character,
            date_format=self.date_format,
            skip_rows=self.skip_rows,
        )

    def form(self) -> DelimitedFormat:
        """Return how CSV files in UTF-8 are written."""
        from analytics_core._engine.files.text_table import DelimitedFormat

        above = 0 if self.header_row == "found" else self.header_row
        return DelimitedFormat(
            delimiter=self.delimiter,
            header_row=above if above is None else int(above),
            is_header_given=self.header_row != "found",
            skip_rows=self.skip_rows,
            requested={},
            reader=self.texts(),
        )

    def csv_arguments(self) -> dict[str, Any]:
        """Return what DuckDB's reader of CSV is told of numbers."""
        arguments: dict[str, Any] = {}
        if self.decimal_character != ".":
            arguments["decimal"] = self.decimal_character
        if self.thousands_character is not None:
            arguments["thousands"] = self.thousands_character
        return arguments


def _is_delimiter(text: object, decimal: str) -> bool:
    return isinstance(text, str) and len(text) == 1 and text <= "\x7f" and text not in ('"', "\r", "\n", decimal)


def _no_option(name: str, value: object, instead: str) -> SourceError:
    return SourceError(f"{name} cannot be {short_repr(value)}; give {instead}")


def check_used(thing: Any, reading: FileReading) -> None:
    """Raise SourceError when what is told of the reading is for none of the files that are given."""
    given = reading.given()
    if not given:
        return
    types = {paths.type_of(file) for file in _files(thing)}
    for name in given:
        readers = _SKIPPING if name == "skip_rows" else (FileType.CSV,)
        if not types & set(readers):
            kinds = " and ".join(kind.value for kind in readers)
            raise SourceError(f"{name} is for {kinds} files, and none is given; leave it out")


def _files(thing: Any) -> Iterator[Path]:
    """Yield the files that something names, which is known to be there, or holds frames."""
    if isinstance(thing, Mapping):
        thing = list(thing.values())
    if isinstance(thing, list | tuple):
        for item in thing:
            yield from _files(item)
    if not isinstance(thing, str | os.PathLike) or "://" in (text := str(os.fspath(thing))):
        return
    if paths.is_glob(text):
        yield from paths.files_of_glob(text)
    elif (path := paths.path_of(text)).is_dir():
        yield from paths.files_of_folder(path)
    else:
        yield path
