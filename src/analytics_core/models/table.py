"""Shapes of what a database tells of its engine and its tables, without a dataset; beyond the contract."""

from __future__ import annotations

from analytics_core._tools.display.blocks import Blocks, HeadingBlock
from analytics_core.models.base import Answer, AnswerWithSchema, Bool, Integer, JsonObject, Texts
from analytics_core.models.display import rows_blocks


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
