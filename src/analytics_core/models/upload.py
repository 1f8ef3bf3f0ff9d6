"""Shapes of file uploads, which the contract does not show: how a file is read, and what became of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from analytics_core.models.base import Answer, AnswerWithSchema, Integer, StrictShape, Texts
from analytics_core.models.enums import FileKind

_Character = Annotated[str, StringConstraints(min_length=1, max_length=1)]


class FileUploadOptions(StrictShape):
    """How a file is read; a column goes by its header in the file or its name in SQL.

    `type` None: by its first bytes. `delimiter` None: of comma, semicolon, tab and `|` the one that parts its first
    rows alike. `thousands_character` None: there is none. `header_row` counts from 0 after `skip_rows`; None: the file
    has no header; where it is not given, a first row of CSV without a text or a gap is none. `date_format` is that of
    `strptime`; None: found for each column, for `column_dates` ISO 8601.
    """

    type: FileKind | None = None
    delimiter: _Character | None = None
    encoding: str = "utf-8"
    decimal_character: _Character = "."
    thousands_character: _Character | None = None
    null_values: Texts = ("",)
    header_row: Annotated[Integer, Field(ge=0, le=1_000)] | None = 0
    skip_rows: Annotated[Integer, Field(ge=0, le=100_000)] = 0
    sheet_name: str | None = None
    column_data_types: dict[str, str] = Field(default_factory=dict)
    column_dates: Texts = ()
    date_format: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None


class UploadedColumn(Answer):
    """A column that was uploaded: its name in SQL, its header in the file (None: it had none), and its type."""

    column_name: str
    header: str | None = None
    type: str


class UploadedTable(AnswerWithSchema):
    """What an upload wrote: the table, its rows that came from the file, and their columns.

    `notes` say in words what the texts of a CSV file leave open, such as days and months that look alike, and how they
    were read.
    """

    database_id: Integer
    table_name: str
    rows: Integer
    columns: tuple[UploadedColumn, ...] = ()
    notes: Texts = ()


class FilePartMetadata(Answer):
    """A table in a file: the columns that an upload would write, and their types; a sheet without rows has none.

    `sheet_name` is that of a workbook, and None for other files; `notes` are those of `UploadedTable`.
    """

    sheet_name: str | None = None
    column_names: Texts = ()
    columns: tuple[UploadedColumn, ...] = ()
    notes: Texts = ()


class UploadFileMetadata(Answer):
    """What a file holds before it is uploaded: what it is, and an item for each sheet of a workbook, else one."""

    type: FileKind
    items: tuple[FilePartMetadata, ...] = ()
