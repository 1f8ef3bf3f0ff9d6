"""Delimited text (CSV): strict quoting, bounded rows, types by looking at every value."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.files.kinds import DOUBTED_HEADER, ColumnType, SeenTexts, TextReader
from analytics_core._engine.files.limits import (
    ENCODINGS,
    LONGEST_ROW,
    ROWS_PER_BATCH,
    UTF_8,
    FileLimits,
    broken,
    check_count,
)
from analytics_core._engine.files.table import (
    FileColumn,
    RawBatch,
    named_columns,
    nth_row,
    record_batch,
    requested_types,
)
from analytics_core.errors import FileUploadError
from analytics_core.errors.base import short_repr


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
    is_header_given: bool = True
    skip_rows: int = 0
    null_values: Sequence[str] = ("",)
    requested: Mapping[str, ColumnType]
    reader: TextReader


class _Lines:
    """Lines of a text file; a row of more characters than may be is refused before it is held.

    Attributes:
        pending: characters since the last row was whole.
    """

    def __init__(self, text: io.TextIOBase) -> None:
        self._lines = self._bounded(text)
        self.pending = 0

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def _bounded(self, text: io.TextIOBase) -> Iterator[str]:
        while line := text.readline(LONGEST_ROW - self.pending + 1):
            self.pending += len(line)
            if self.pending > LONGEST_ROW:
                raise _LongRowError
            yield line


class _LongRowError(Exception):
    """A row has more than LONGEST_ROW characters."""


class TextRows:
    """The rows of a delimited text file, read as often as they are asked for.

    Attributes:
        delimiter: the one that is told, or else the one that parts the first rows into the most cells, as many in each.

    Raises:
        FileUploadError: it cannot be read; the row is told.
    """

    def __init__(self, file: BinaryIO, form: DelimitedFormat, limits: FileLimits) -> None:
        self._file, self._form, self._limits = file, form, limits
        self.delimiter = form.delimiter or self._likely_delimiter()

    def first(self) -> tuple[int, list[str]]:
        """Return the first row, which may hold the names of columns, and its number from 1."""
        found = next(self.numbered(), None)
        if found is None:
            raise broken("it has no rows")
        row, cells = found
        if not all(map(is_text, cells)):
            raise broken(
                f"it is not written in {self._form.encoding}; name the file's encoding, such as windows-1252", row=row
            )
        if any("\0" in cell for cell in cells):
            other = "" if self._form.encoding == "utf-16" else ", or options.encoding must be utf-16"
            raise broken(f"it has NUL bytes: it is no text{other}", row=row)
        return row, cells

    def notes(self, named: Sequence[str | None], seen: Mapping[str, SeenTexts]) -> tuple[str, ...]:
        """Return what the rows leave open, and how they are read.

        Args:
            named: the header, of None where there is none.
            seen: what the texts tell of the columns whose types are found, by name.
        """
        reader, notes = self._form.reader, list[str]()
        if len(named) == 1:
            notes += self._of_one_column()
        elif len(seen) == len(named):
            notes += self._of_title(named, seen)
        if not self._form.is_header_given and len(seen) == len(named) and reader.doubts_header(named, [*seen.values()]):
            notes.append(DOUBTED_HEADER)
        return (*notes, *(note for name, one in seen.items() for note in one.notes(short_repr(name), reader)))

    def _of_one_column(self) -> Iterator[str]:
        """Yield a note when another delimiter stands in the first rows, but for those that part sentences."""
        found = (_PARTING.search(cells[0]) for cells in self._first_rows())
        if (first := next(filter(None, found), None)) is not None:
            yield _ONE_COLUMN.format(first[0])

    def _of_title(self, named: Sequence[str | None], seen: Mapping[str, SeenTexts]) -> Iterator[str]:
        """Yield a note when the header names the first column alone, and all are text, as names are."""
        title, *others = ((name or "").strip() for name in named)
        if not title or any(others) or any(one.type().kind is not ValueKind.TEXT for one in seen.values()):
            return
        header = next((row for row, cells in self.numbered() if sum(map(bool, cells)) > 1), None)
        if header is not None:
            yield title_note(title, len(named), skip_rows=header - 1)

    def numbered(self) -> Iterator[tuple[int, list[str]]]:
        """Yield rows with their numbers from 1, from the header on; empty lines, quoted too, are left out."""
        lines = self._lines()
        row = above = self._form.skip_rows
        try:
            for row, _ in enumerate(islice(lines, above), 1):  # noqa: B007 - errors tell it
                lines.pending = 0
            # A quote must be closed, and nothing but a delimiter may follow it.
            reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
            first = above + (self._form.header_row or 0)
            for row, cells in enumerate(reader, above + 1):
                lines.pending = 0
                if row % ROWS_PER_BATCH == 0:  # empty rows make no batches
                    self._limits.check()
                if row > first and (len(cells) > 1 or cells not in _EMPTY):
                    yield row, cells
        except _LongRowError:
            raise broken(f"it has more than {LONGEST_ROW} characters", row=row + 1) from None
        except csv.Error as error:
            raise broken(_csv_problem(error), row=row + 1) from None
        except UnicodeError:
            what = f"it is not written in {self._form.encoding}; name the file's encoding, such as windows-1252"
            raise broken(what, row=row + 1) from None

    def _lines(self) -> _Lines:
        self._file.seek(0)
        codec = ENCODINGS[self._form.encoding]
        # What is no valid text becomes lone surrogates, by which its row and column are found.
        errors = "strict" if codec == "utf-16" else "surrogateescape"
        file = io.BufferedReader(_BorrowedFile(self._file))
        return _Lines(io.TextIOWrapper(file, encoding=codec, errors=errors, newline=""))

    def _likely_delimiter(self) -> str:
        """Return the delimiter that parts the first rows into the most cells, as many in each of them.

        A comma between the digits of numbers parts none where another one does, nor does the decimal character where
        there is nothing but digits beside it.
        """
        decimal = self._form.reader.decimal
        parted = {}
        for self.delimiter in _DELIMITERS:
            rows = self._first_rows()
            width = len(rows[0]) if rows else 0
            if width > 1 and all(len(fitted(cells, width)) == width for cells in rows):
                parted[self.delimiter] = rows
        cells = [cell for mark, rows in parted.items() if mark != "," for row in rows for cell in row]
        if cells and all("," not in cell or _FRACTION.fullmatch(cell) for cell in cells):
            parted.pop(",", None)
        if len(parted) > 1 or all(map(_DIGITS.fullmatch, chain(*parted.get(decimal, ())))):
            parted.pop(decimal, None)
        usual = next(mark for mark in _DELIMITERS if mark != decimal)
        return max(parted, key=lambda mark: (len(parted[mark]), len(parted[mark][0])), default=usual)

    def _first_rows(self) -> list[list[str]]:
        """Return the first rows; those above one that cannot be read."""
        rows = []
        with suppress(FileUploadError):
            for _, cells in islice(self.numbered(), _FIRST_ROWS):
                rows.append(cells)
        return rows


class TextTable:
    """A delimited text file, looked through for its columns.

    Raises:
        FileUploadError: it cannot be read; the row is told, and the column where there is one.
        PayloadSchemaError: a type was asked for a column that it has not.
    """

    def __init__(self, file: BinaryIO, form: DelimitedFormat, limits: FileLimits) -> None:
        self._form, self._limits = form, limits
        self._rows = TextRows(file, form, limits)
        row, first = self._rows.first()
        if not form.is_header_given and not form.reader.is_header(first):
            self._form = form = replace(form, header_row=None)
        named = first if form.header_row is not None else [None] * len(first)
        columns = named_columns(named, limits, row=row)
        self._hint = _delimiter_hint(named) or ("" if form.skip_rows else _ABOVE)
        requested = requested_types(columns, form.requested)
        seen = self._seen(columns, requested)
        has_format = form.reader.date_format is not None
        self.columns = tuple(
            replace(column, type=requested.get(place) or seen[place].type(has_format=has_format))
            for place, column in enumerate(columns)
        )
        self.notes = self._rows.notes(named, {columns[place].name: one for place, one in seen.items()})

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
        return nth_row(self._rows.numbered(), place, has_header=self._form.header_row is not None)

    def _seen(self, columns: Sequence[FileColumn], requested: Mapping[int, ColumnType]) -> dict[int, SeenTexts]:
        """Return what the texts of those columns tell whose types were not asked for."""
        found = {place: SeenTexts() for place in range(len(columns)) if place not in requested}
        for batch in self._batches(len(columns)):
            for place, known in found.items():
                texts = self._texts(batch.cells[place], batch.rows, columns[place])
                found[place] = self._form.reader.seen(known, texts)
        return found

    def _texts(self, cells: Sequence[str], rows: Sequence[int], column: FileColumn) -> pa.Array:
        try:
            texts = pa.array(cells, pa.string())
        except UnicodeEncodeError:
            wrong = next(row for row, cell in zip(rows, cells, strict=True) if not is_text(cell))
            problem = f"it is not written in {self._form.encoding}; name the file's encoding, such as windows-1252"
            raise broken(problem, row=wrong, column=column.name) from None
        if not self._form.null_values:
            return texts
        is_null = pc.is_in(texts, value_set=pa.array(self._form.null_values, pa.string()))
        return pc.if_else(is_null, pa.scalar(None, pa.string()), texts)

    def _batches(self, width: int) -> Iterator[RawBatch]:
        records = self._rows.numbered()
        if self._form.header_row is not None:
            next(records, None)
        count = 0
        while True:
            rows, lists = list[int](), list[list[str]]()
            for row, cells in islice(records, ROWS_PER_BATCH):
                if len(cells) != width and len(fitted(cells, width)) != width:
                    raise broken(f"it has {len(cells)} cells, and the table {width} columns{self._hint}", row=row)
                rows.append(row)
                lists.append(cells)
            if not rows:
                return
            self._limits.check()
            count += len(rows)
            check_count(count, self._limits)
            yield RawBatch(rows=rows, cells=list(zip(*lists, strict=True)))


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


def title_note(title: str, width: int, *, skip_rows: int) -> str:
    """Return the note on a header that names one of several columns, as a title of the table would."""
    return (
        f"the header names one of {width} columns, {short_repr(title)}; if that is the title of the table, give "
        f"skip_rows={skip_rows}"
    )


def fitted(cells: list[str], width: int) -> list[str]:
    """Return the cells of a row, without the empty one behind a delimiter at its end where it is one too many."""
    if len(cells) == width + 1 and not cells[-1]:
        cells.pop()
    return cells


_DELIMITERS: Final = (",", ";", "\t", "|")
_FIRST_ROWS: Final = 5
_ABOVE: Final = "; mend it, or give skip_rows=1 if it is a row above the header that differs"
_EMPTY: Final[tuple[list[str], ...]] = ([], [""])
_PARTING: Final = re.compile(r"[;|\t](?=[^ ])")
_DIGITS: Final = re.compile(r"[-0-9. ]*")
_FRACTION: Final = re.compile(r" *-?[0-9][0-9.,]*,[0-9]+ *")
_ONE_COLUMN: Final = (
    "the file is read as one column, though {0!r} stands in its rows; if it parts columns, give delimiter={0!r}, or "
    "skip_rows for what is above their names"
)


QUOTE_AMISS: Final = (
    "a quote is not closed, or is followed by something else than a delimiter; write quotes inside cells twice"
)


def _csv_problem(error: csv.Error) -> str:
    if "field limit" in str(error):
        return f"a cell has more than {csv.field_size_limit()} characters"
    return QUOTE_AMISS


def is_text(cell: str) -> bool:
    """Tell whether a cell holds valid text: what was none became lone surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for letter in cell)
