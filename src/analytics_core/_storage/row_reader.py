"""Whole rows of a table as values by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Executable, Table

from analytics_core._storage.column_types import UtcMoment


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows of one table; `columns` is what statements of rows select, all but those left out by `without`.

    Moments become aware here, a row at a time: as a type's own work that is a call for each cell.
    """

    table: Table
    without: frozenset[str] = frozenset()
    columns: tuple[ColumnElement[Any], ...] = field(init=False)
    _moments: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        read = [column for column in self.table.columns if column.name not in self.without]
        moments = tuple(column.name for column in read if isinstance(column.type, UtcMoment))
        columns = [sa.type_coerce(column, sa.DateTime()) if column.name in moments else column for column in read]
        object.__setattr__(self, "columns", tuple(columns))
        object.__setattr__(self, "_moments", moments)

    def rows(
        self, connection: Connection, statement: Executable, values: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Return the rows that a statement of `columns`, and of what it names besides, gives for these values."""
        result = connection.execute(statement, values)
        names, rows = tuple(result.keys()), []
        for cells in result:
            row = dict(zip(names, cells, strict=True))
            for name in self._moments:
                if (moment := row[name]) is not None:
                    row[name] = moment.replace(tzinfo=UTC)
            rows.append(row)
        return rows
