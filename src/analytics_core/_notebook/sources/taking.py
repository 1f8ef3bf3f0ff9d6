"""What is given to `connect` and `dataset_from`, as a URL, the file of a database, or what is handed over."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import pool

from analytics_core._engine.execution.handed_over import (
    HandedConnection,
    HandedEngine,
    HandedFrame,
    HandedOver,
    HandedTable,
    HandedTables,
)
from analytics_core._notebook.sources import advice, paths
from analytics_core._notebook.sources.in_memory import in_duckdb, memory_errors
from analytics_core._notebook.sources.paths import DATABASES, FileType
from analytics_core._notebook.sources.reading import FileReading, check_used
from analytics_core.errors import SourceError
from analytics_core.errors.base import short_repr

_UNNAMED = "data"
"""The name of the dataset of one frame that was given without a name."""


class ArrowStream(Protocol):
    """A frame that gives its rows as Arrow: of pandas, Polars, Arrow, and of others that can."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream, as Arrow's C interface describes it."""


class LazyRows(Protocol):
    """A `LazyFrame` of Polars."""

    def collect(self) -> Any:
        """Return the frame."""


class ArrowFiles(Protocol):
    """A dataset of Arrow."""

    def scanner(self) -> Any:
        """Return what reads it."""


class DuckdbConnection(Protocol):
    """An open DuckDB connection."""

    def cursor(self) -> Any:
        """Return another connection to the same database."""

    def extract_statements(self, query: str) -> Any:
        """Return the statements of a text."""


Table = ArrowStream | LazyRows | ArrowFiles | str | os.PathLike[str] | Sequence[Any]
"""What one dataset is made of; a sequence is one of rows, each a mapping, or of paths."""

Source = Table | Mapping[str, Any] | DuckdbConnection | sa.Engine | sa.URL
"""What `connect` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFile:
    """The file of a database: `engine` is `sqlite` or `duckdb`."""

    engine: str
    path: Path


Taken = str | DatabaseFile | HandedOver
"""A text is a URL."""


def taken(thing: Any, reading: FileReading) -> Taken:
    """Return what something is that was given to be connected.

    Raises:
        SourceError: it cannot be connected; the message says what would work.
        MissingExtraError: what reads it is not installed.
    """
    found = _taken(thing, reading)
    check_used(thing, reading)
    return found


def _taken(thing: Any, reading: FileReading) -> Taken:
    if isinstance(thing, sa.URL):
        return thing.render_as_string(hide_password=False)
    if isinstance(thing, sa.Engine):
        return _engine(thing)
    if _is_duckdb(thing):
        return _connection(thing)
    if isinstance(thing, str | os.PathLike):
        return _named(_text_of(thing), reading, is_text=isinstance(thing, str))
    return HandedTables(tables=_checked(_tables(thing, reading)))


def table(thing: Any, name: str, reading: FileReading) -> HandedTable:
    """Return a frame, a list of rows or files, which will be the dataset of this name; errors as in `taken`."""
    found = _table(thing, name, reading)
    check_used(thing, reading)
    return _checked({name: found})[name]


def check_name(name: object) -> str:
    """Return the name of a dataset to make; SourceError for what can be none."""
    if not isinstance(name, str):
        raise SourceError(f"the name of a dataset is a text such as 'orders', not {type(name).__name__}")
    plain = paths.table_name(name)
    if not name.strip() or len(name) > 250 or plain != name.replace(" ", "_").replace("-", "_"):
        raise SourceError(
            f"{short_repr(name)} is no name of a dataset: it is made of letters, digits, underscores, hyphens and "
            f"blanks, such as {plain[:40]!r}"
        )
    return name


# ------------------------------------------------------------------------------------------------- paths and folders
def _text_of(path: str | os.PathLike[Any]) -> str:
    text: str | bytes = os.fspath(path)
    if isinstance(text, bytes):
        raise SourceError("the path is given as bytes; give it as text: os.fsdecode(path)")
    return text


def _named(text: str, reading: FileReading, *, is_text: bool) -> Taken:
    advice.check_is_path_or_url(text)
    if is_text and "://" in text:
        return text
    if not paths.is_glob(text):
        path = paths.path_of(text)
        paths.check_there(path)
        if not path.is_dir() and (kind := paths.type_of(path)) in DATABASES:
            return DatabaseFile(engine="sqlite" if kind is FileType.SQLITE else "duckdb", path=path.resolve())
    return HandedTables(tables=_checked(_tables_of_path(text, reading)))


def _tables_of_path(text: str, reading: FileReading) -> dict[str, HandedTable]:
    """Return a glob as one table, a folder as a table of each file, a workbook as a table of each sheet."""
    from analytics_core._notebook.sources import files  # Arrow is loaded for files and frames alone

    if paths.is_glob(text):
        found = paths.files_of_glob(text)
        return {_name_of_glob(text): files.table_of_files(found, reading)}
    path = paths.path_of(text)
    paths.check_there(path)
    if path.is_dir():
        return _each([str(file) for file in paths.files_of_folder(path)], reading)
    if paths.type_of(path) is FileType.XLSX:
        sheets = files.sheets_of(path.resolve(), reading)
        if len(sheets) > 1:
            return {paths.table_name(sheet): rows for sheet, rows in sheets.items()}
    return {paths.name_of(path): files.table_of_files([path], reading)}


def _name_of_glob(text: str) -> str:
    """Return the name of a glob: its fixed part (`sales_*.csv` is sales), or else the folder that it begins in."""
    path = Path(text)
    fixed = paths.table_name(path.name.partition("*")[0].partition("?")[0].partition("[")[0])
    if fixed != paths.table_name(""):
        return fixed
    plain = [part for part in path.parts[:-1] if not paths.is_glob(part) and part not in (".", "..", path.anchor)]
    return paths.table_name(plain[-1]) if plain else paths.table_name(Path.cwd().name)


def _each(named: Sequence[Any], reading: FileReading) -> dict[str, HandedTable]:
    """Return the tables of several paths together; SourceError where two have one name."""
    found: dict[str, HandedTable] = {}
    for path in named:
        for name, rows in _tables_of_path(_text_of(path), reading).items():
            _add(found, name, rows)
    return found


def _add(found: dict[str, HandedTable], name: str, rows: HandedTable) -> None:
    if name.casefold() in {known.casefold() for known in found}:
        raise SourceError(
            f"two tables would be called {name!r} (capitals do not count); name them in a dict, such as "
            f'{{"{name}": ..., "{name}_2": ...}}'
        )
    found[name] = rows


# ------------------------------------------------------------------------------------------------- frames and rows
def _tables(thing: Any, reading: FileReading) -> dict[str, HandedTable]:
    if isinstance(thing, Mapping):
        return _of_mapping(thing, reading)
    if isinstance(thing, list | tuple) and thing and all(isinstance(item, str | os.PathLike) for item in thing):
        return _each(thing, reading)
    return {_UNNAMED: _table(thing, "", reading)}


def _of_mapping(thing: Mapping[Any, Any], reading: FileReading) -> dict[str, HandedTable]:
    found: dict[str, HandedTable] = {}
    if not thing:
        raise SourceError(
            "the dict is empty; its keys name datasets, such as {'orders': frame, 'people': 'people.csv'}"
        )
    for name, value in thing.items():
        if advice.is_column(value):
            raise advice.no_columns(str(name))
        _add(found, check_name(name), _table(value, str(name), reading))
    return found


def _table(thing: Any, name: str, reading: FileReading) -> HandedTable:
    """Return one table: a frame, rows, or the files of a path, a glob or a list of them."""
    if isinstance(thing, str | os.PathLike):
        thing = [thing]
    is_listed = isinstance(thing, list | tuple) and bool(thing)
    if is_listed and all(isinstance(item, str | os.PathLike) for item in thing):
        from analytics_core._notebook.sources import files

        return files.table_of_files([file for item in thing for file in _files_of(item)], reading)
    from analytics_core._notebook.sources import frames  # pandas is loaded for frames alone

    if is_listed and all(isinstance(item, Mapping) for item in thing):
        return frames.frame_of_rows(thing, name or "the rows")
    frame = frames.frame_of(thing, name or "the frame")
    if frame is not None:
        return frame
    raise advice.not_taken(thing, name)


def _files_of(path: Any) -> list[Path]:
    """Return the files of a path or a glob, of which one table is made."""
    text = _text_of(path)
    advice.check_is_path_or_url(text)
    if "://" in text:
        raise SourceError("a database is connected alone, by its URL; the values of a dict are frames and files")
    if paths.is_glob(text):
        return paths.files_of_glob(text)
    found = paths.path_of(text)
    paths.check_there(found)
    if found.is_dir():
        raise SourceError(
            f"{found.name!r} is a folder; its files are datasets when it is connected alone, and one dataset by a glob "
            f'such as "{found.name}/*.parquet"'
        )
    return [found]


def _checked(tables: dict[str, HandedTable]) -> dict[str, HandedTable]:
    """Return tables whose frames DuckDB can read; SourceError names the column that it cannot."""
    in_duckdb(lambda root: _check_frames(root, tables))
    return tables


def _check_frames(root: Any, tables: Mapping[str, HandedTable]) -> None:
    for name, one in tables.items():
        if isinstance(one, HandedFrame) and not _can_read(root, one.data):
            from analytics_core._notebook.sources import frames

            frames.raise_unreadable(one.data, name, lambda column: _can_read(root, column))


def _can_read(root: Any, data: Any) -> bool:
    try:
        root.from_arrow(data).limit(0).fetchall()
    except memory_errors():  # no fault of the frame
        raise
    except Exception:  # the border to DuckDB, whose errors are of many classes
        return False
    return True


# ------------------------------------------------------------------------------------------- connections and engines
def _is_duckdb(thing: Any) -> bool:
    return type(thing).__name__ == "DuckDBPyConnection" and "duckdb" in type(thing).__module__


def _connection(connection: Any) -> HandedConnection:
    try:
        return HandedConnection(connection=connection.cursor())  # its own: the host may go on with theirs, or close it
    except Exception as error:  # the border to DuckDB
        raise SourceError("the DuckDB connection is closed; open it, or give the path of its file") from error


_ONE_CONNECTION = (pool.StaticPool, pool.SingletonThreadPool, pool.AssertionPool)


def _engine(engine: sa.Engine) -> Taken:
    """Return an engine of a server as it is; what a file of SQLite or DuckDB is, is opened with all our walls."""
    if engine.dialect.name == "duckdb":
        return HandedConnection(connection=_duplicate(engine))
    if engine.dialect.name != "sqlite":
        return HandedEngine(engine=engine)
    path = engine.url.database
    in_memory = path in (None, "", ":memory:") or engine.url.query.get("mode") == "memory"
    if path is None or in_memory or isinstance(engine.pool, _ONE_CONNECTION):
        raise SourceError(
            "an SQLite database in memory can be read by its own connection alone; keep it in a file, or hand over "
            "frames: connect({'orders': pandas.read_sql_table('orders', engine)})"
        )
    file = Path(path.removeprefix("file:"))
    paths.check_there(file)
    return DatabaseFile(engine="sqlite", path=file.resolve())


def _duplicate(engine: sa.Engine) -> Any:
    """Return another DuckDB connection to the database of an engine of duckdb-sqlalchemy or duckdb-engine."""
    with engine.connect() as connection:
        wrapper: Any = connection.connection.driver_connection
        return wrapper.duplicate()
