"""Shapes of tables without a dataset: what a database tells of its engine and of them, and files uploaded as tables.

They are beyond the contract.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from analytics_core._tools.display.blocks import Blocks, HeadingBlock
from analytics_core.models.base import Answer, AnswerWithSchema, Bool, Integer, JsonObject, StrictShape, Texts
from analytics_core.models.display import rows_blocks
from analytics_core.models.enums import FileKind


class TableColumnDetails(Answer):
    """A column of a table, as its database describes it; `default` is SQL text."""

    column_name: str
    type: str
    nullable: Bool | None = None
    default: str | None = None
    comment: str | None = None


class TableForeignKey(AnswerWithSchema):
    """Columns whose values are those of columns of another table."""

    name: str | None = None
    columns: Texts = ()
    table_name: str
    referred_columns: Texts = ()


class TableIndexDetails(Answer):
    """An index of a table; an expression in it is null in `columns`."""

    name: str | None = None
    columns: tuple[str | None, ...] = ()
    is_unique: Bool = False


class DatabaseTableDetails(AnswerWithSchema):
    """A table or view of a database: columns, keys, indexes, comments, and a SELECT of its first rows."""

    database_id: Integer
    table_name: str
    comment: str | None = None
    columns: tuple[TableColumnDetails, ...] = ()
    primary_key: Texts = ()
    foreign_keys: tuple[TableForeignKey, ...] = ()
    indexes: tuple[TableIndexDetails, ...] = ()
    select_star: str


class TableSample(AnswerWithSchema):
    """The first rows of a table that the actor may see; `data` has one object a row, as chart data has."""

    database_id: Integer
    table_name: str
    columns: tuple[TableColumnDetails, ...] = ()
    data: tuple[JsonObject, ...] = ()
    has_more: Bool = False

    def _blocks(self) -> Blocks:
        detail = "its first rows" if self.has_more else "all its rows"
        types = {column.column_name: column.type for column in self.columns}
        return [HeadingBlock(text=self.table_name, detail=detail), *rows_blocks(self.data, types)]


class DatabaseEngine(Answer):
    """An engine that databases may have; `install` is the command that brings its driver, null where it is there."""

    engine: str
    label: str
    drivers: Texts = ()
    default_driver: str | None = None
    is_installed: Bool
    install: str | None = None
    parameters: Texts = ()
    required_parameters: Texts = ()
    engine_information: JsonObject


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
