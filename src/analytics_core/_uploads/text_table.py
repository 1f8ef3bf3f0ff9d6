"""Delimited text (CSV): strict quoting, bounded rows, types by looking at every value."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from analytics_core._error_types import short_repr
from analytics_core._uploads.kinds import DOUBTED_HEADER, ColumnType, SeenTexts, TextReader
from analytics_core._uploads.limits import LONGEST_ROW, ROWS_PER_BATCH, FileLimits, broken, check_count
from analytics_core._uploads.table import FileColumn, RawBatch, asked_types, named_columns, nth_row, record_batch
from analytics_core.errors import FileUploadError

UTF_8: Final = "utf-8"
ENCODINGS: Final[Mapping[str, str]] = {
    UTF_8: "utf-8-sig",
    "utf-16": "utf-16",
    **{name: name for name in ("ascii", "iso-8859-1", "iso-8859-2", "iso-8859-15", "windows-1250", "windows-1251")},
    **{name: name for name in ("windows-1252", "shift_jis", "gb18030", "big5", "euc-jp", "euc-kr")},
}
"""Encodings of files, and the codec of each: none that runs or unpacks anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DelimitedFormat:
    """How a text file is written.

    Attributes:
        delimiter: one character; None: the one that parts the first rows alike.
        encoding: one of ENCODINGS.
        header_row: which row holds the names, from 0, after `skip_rows`; None: none does.
        is_header_told: whether it does so however it is written.
        skip_rows: lines before anything else.
        null_values: texts that are null.
        asked: types of columns that are not inferred.
        reader: how texts become values.
    """

    delimiter: str | None = None
    encoding: str = UTF_8
    header_row: int | None = 0
    is_header_told: bool = True
    skip_rows: int = 0
    null_values: Sequence[str] = ("",)
    asked: Mapping[str, ColumnType]
    reader: TextReader


class _Lines:
    """Lines of a text file; a row of more characters than may be is refused before it is held.

    Attributes:
        held: characters since the last row was whole.
    """

    def __init__(self, text: io.TextIOBase) -> None:
        self._text = text
        self.held = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._text.readline(LONGEST_ROW - self.held + 1)
        self.held += len(line)
        if self.held > LONGEST_ROW:
            raise _LongRowError
        if not line:
            raise StopIteration
        return line


class _LongRowError(Exception):
    """A row has more than LONGEST_ROW characters."""


class TextTable:
    """A delimited text file, looked through for its columns.

    Raises:
        FileUploadError: it cannot be read; the row is told, and the column where there is one.
        PayloadSchemaError: a type was asked for a column that it has not.
    """

    def __init__(self, file: BinaryIO, form: DelimitedFormat, limits: FileLimits) -> None:
        self._file, self._form, self._limits = file, form, limits
        self._delimiter = form.delimiter or self._likely_delimiter()
        first = next(self._records(), None)
        if first is None:
            raise broken("it has no rows")
        if not all(map(_is_text, first[1])):
            raise broken(f"it is not written in {form.encoding}; name the file's encoding", row=first[0])
        if not form.is_header_told and not form.reader.is_header(first[1]):
            self._form = form = replace(form, header_row=None)
        named = first[1] if form.header_row is not None else [None] * len(first[1])
        if any(header is not None and "\0" in header for header in named):
            other = "" if form.encoding == "utf-16" else ", or options.encoding must be utf-16"
            raise broken(f"it has NUL bytes: it is no text{other}", row=first[0])
        columns = named_columns(named, limits, row=first[0])
        self._hint = _delimiter_hint(named)
        asked = asked_types(columns, form.asked)
        seen = self._seen(columns, asked)
        is_told = form.reader.date_format is not None
        self.columns = tuple(
            replace(column, type=asked.get(place) or seen[place].type(is_form_told=is_told))
            for place, column in enumerate(columns)
        )
        notes = [
            note for place, one in seen.items() for note in one.notes(short_repr(columns[place].name), form.reader)
        ]
        if not form.is_header_told and not asked and form.reader.doubts_header(named, list(seen.values())):
            notes.insert(0, DOUBTED_HEADER)
        self.notes = tuple(notes)

    def batches(self, columns: Sequence[FileColumn]) -> Iterator[pa.RecordBatch]:
        """Yield the rows as values of these types."""
        for batch in self._batches(len(columns)):
            arrays = [
                self._form.reader.values(self._texts(cells, batch.rows, column), column.type, rows=batch.rows,
                                         column=column.name)
                for cells, column in zip(batch.cells, columns, strict=True)
            ]  # fmt: skip
            yield record_batch(columns, arrays)

    def row_number(self, place: int) -> int:
        """Return which row of the file a row is; the file is read anew up to it."""
        return nth_row(self._records(), place, has_header=self._form.header_row is not None)

    def _likely_delimiter(self) -> str:
        """Return the delimiter that parts the first rows into the most cells, as many in each of them."""
        widths = {}
        for mark in _DELIMITERS:
            self._delimiter = mark
            with suppress(FileUploadError):
                found = {len(cells) for _, cells in islice(self._records(), _FIRST_ROWS)}
                widths[mark] = max(found) if len(found) == 1 and mark != self._form.reader.decimal else 0
        most = max(widths.values(), default=0)
        usual = next(mark for mark in _DELIMITERS if mark != self._form.reader.decimal)
        return next((mark for mark, width in widths.items() if width == most > 1), usual)

    def _seen(self, columns: Sequence[FileColumn], asked: Mapping[int, ColumnType]) -> dict[int, SeenTexts]:
        """Return what the texts of those columns tell whose types were not asked for."""
        found = {place: SeenTexts() for place in range(len(columns)) if place not in asked}
        for batch in self._batches(len(columns)):
            for place, known in found.items():
                texts = self._texts(batch.cells[place], batch.rows, columns[place])
                found[place] = self._form.reader.seen(known, texts)
        return found

    def _texts(self, cells: Sequence[str], rows: Sequence[int], column: FileColumn) -> pa.Array:
        try:
            texts = pa.array(cells, pa.string())
        except UnicodeEncodeError:
            wrong = next(row for row, cell in zip(rows, cells, strict=True) if not _is_text(cell))
            told = f"is not written in {self._form.encoding}; name the file's encoding"
            raise broken(told, row=wrong, column=column.name) from None
        if not self._form.null_values:
            return texts
        is_null = pc.is_in(texts, value_set=pa.array(self._form.null_values, pa.string()))
        return pc.if_else(is_null, pa.scalar(None, pa.string()), texts)

    def _batches(self, width: int) -> Iterator[RawBatch]:
        records = self._records()
        if self._form.header_row is not None:
            next(records, None)
        count = 0
        while part := list(islice(records, ROWS_PER_BATCH)):
            self._limits.check()
            count += len(part)
            check_count(count, self._limits)
            rows = [row for row, _ in part]
            for row, cells in part:
                if len(cells) != width:
                    raise broken(f"it has {len(cells)} cells, and the table {width} columns{self._hint}", row=row)
            yield RawBatch(rows=rows, cells=list(zip(*(cells for _, cells in part), strict=True)))

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """Yield rows with their numbers from 1, from the header on; empty lines, quoted too, are left out."""
        self._file.seek(0)
        codec = ENCODINGS[self._form.encoding]
        # What is no valid text becomes lone surrogates, by which its row and column are found.
        errors = "strict" if codec == "utf-16" else "surrogateescape"
        text = io.TextIOWrapper(io.BufferedReader(_BorrowedFile(self._file)), encoding=codec, errors=errors, newline="")
        lines = _Lines(text)
        # A quote must be closed, and nothing but a delimiter may follow it.
        reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
        row = 0
        first = self._form.skip_rows + (self._form.header_row or 0)
        try:
            while True:
                row += 1
                if row % ROWS_PER_BATCH == 0:  # empty rows make no batches
                    self._limits.check()
                if row <= self._form.skip_rows:
                    next(lines)
                    lines.held = 0
                    continue
                cells = next(reader)
                lines.held = 0
                if cells not in ([], [""]) and row > first:
                    yield row, cells
        except StopIteration:
            return
        except _LongRowError:
            raise broken(f"it has more than {LONGEST_ROW} characters", row=row) from None
        except csv.Error as error:
            raise broken(_told(error), row=row) from None
        except UnicodeError:
            raise broken(f"it is not written in {self._form.encoding}; name the file's encoding", row=row) from None


class _BorrowedFile(io.RawIOBase):
    """A file that stays open when who reads it is done."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # the buffer that io gives
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _delimiter_hint(header: Sequence[str | None]) -> str:
    """Return what to say of rows of another width when the header looks parted by another character."""
    other = next((mark for mark in _DELIMITERS if len(header) == 1 and mark in (header[0] or "")), None)
    return f"; its header has {other!r}: name it as options.delimiter" if other else ""


_DELIMITERS: Final = (",", ";", "\t", "|")
_FIRST_ROWS: Final = 5


QUOTE_AMISS: Final = (
    "a quote is not closed, or is followed by something else than a delimiter; write quotes inside cells twice"
)


def _told(error: csv.Error) -> str:
    if "field limit" in str(error):
        return f"a cell has more than {csv.field_size_limit()} characters"
    return QUOTE_AMISS


def _is_text(cell: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in cell)
