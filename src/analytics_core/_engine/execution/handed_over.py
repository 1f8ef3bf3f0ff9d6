"""What a host hands over in place of a URL: tables of frames and files, an open DuckDB connection, an engine.

They live in this process. The record of their database says so (`MARK`), so that another process can tell why it has
nothing to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import sqlalchemy as sa

from analytics_core.errors import DatabaseError
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once

if TYPE_CHECKING:
    from analytics_core._engine.files.kinds import ColumnType, TextReader

MARK: Final = "handed_over"
"""The key of a database's `extra` that says that it was handed over."""


class FileFormat(Enum):
    """How files that DuckDB reads itself are written."""

    CSV = "CSV"
    JSON = "JSON"
    PARQUET = "Parquet"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandedFrame:
    """Arrow data (a Table, or a Dataset), read where it lies.

    Attributes:
        data: the rows.
        owner: the object whose memory it shares.
        notes: what may be read in another way, in words.
    """

    data: Any
    owner: Any = None
    notes: tuple[str, ...] = ()


FileState = tuple[int, int, int] | None
"""When a file was last written, its bytes and its place on the disk; None: it was not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvTexts:
    """What the texts of CSV files were found to be.

    Attributes:
        reader: what told it.
        types: of each column, which hold longer decimals too.
        states: of each file, before it was looked at.
    """

    reader: TextReader
    types: Mapping[str, ColumnType]
    states: Mapping[Path, FileState]


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedFiles:
    """Files of one format, whose rows are one table.

    Attributes:
        paths: resolved, each the one file that may be read.
        types: of each column, as DuckDB writes them, in the order of the file; None for Parquet, which has its own.
        date_formats: how the days and moments of columns of CSV are written, as `strptime` has it; those of other
            columns are read by DuckDB's own rules.
        csv_arguments: what DuckDB's reader of CSV is told beside them.
        names: of the columns of CSV, by those that DuckDB gives them.
        texts: what those of CSV were found to be; None for other formats.
        notes: what was read in one of several ways, in words.
    """

    format: FileFormat
    paths: tuple[Path, ...]
    types: Mapping[str, str] | None = None
    date_formats: Mapping[str, str] = field(default_factory=dict)
    csv_arguments: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    texts: CsvTexts | None = None
    notes: tuple[str, ...] = ()


HandedTable = HandedFrame | HandedFiles


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandedTables:
    """Tables of one DuckDB in memory, by name."""

    tables: Mapping[str, HandedTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandedConnection:
    """An open DuckDB connection of the host, which goes on to use and to close it."""

    connection: Any


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HandedEngine:
    """An engine of the host's, which opens our connections; it is not disposed.

    Attributes:
        engine: the host's own.
    """

    engine: sa.Engine

    def open_connection(self, *_positional: Any, **_named: Any) -> Any:
        """Return a new connection of the driver, which the engine's pool no longer knows."""
        lent = self.engine.raw_connection()
        opened = lent.driver_connection
        lent.detach()
        return opened


HandedOver = HandedTables | HandedConnection | HandedEngine


def is_marked(extra: str | None) -> bool:
    """Tell whether the `extra` of a database says that it was handed over."""
    if not extra or MARK not in extra:
        return False
    try:
        options = read_json_once(extra)
    except (RepeatedKeyError, ValueError, RecursionError):
        return False
    return isinstance(options, dict) and options.get(MARK) is True


def elsewhere(database_name: str, engine: str) -> DatabaseError:
    """Return the error for a database that was handed over to another process, or to a core that was closed."""
    return DatabaseError(
        f"database {database_name!r} holds what was handed over to another process, which this one cannot see; hand it "
        "over here too (`core.dataset_from(frame, name, replace=True)`), or keep the data in a file or on a server",
        engine=engine,
    )


@runtime_checkable
class HandedOverConnector(Protocol):
    """A connector that also reaches what a host hands over."""

    def hand_over(self, uuid: str, source: HandedOver) -> None:
        """Read the database of this uuid, from now on, from what a host hands over; its URI only names the engine."""

    def put_table(self, uuid: str, name: str, table: HandedTable | None) -> HandedTable | None:
        """Put a frame or files into the database of this uuid, or take them out (None); return what was there."""

    def handed_tables(self) -> Mapping[str, HandedTables]:
        """Return the tables that were handed over, by the uuids of their databases."""

    def take_back(self, uuid: str) -> None:
        """Forget what was handed over for the database of this uuid."""
