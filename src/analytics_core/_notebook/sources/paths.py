"""Paths, globs and folders, and what their files are: by their first bytes, and by their names."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from enum import Enum
from pathlib import Path
from typing import Final

from analytics_core.errors import SourceError
from analytics_core.errors.base import nearest, short_repr


class FileType(Enum):
    """What a file is, as people call it."""

    SQLITE = "an SQLite database"
    DUCKDB = "a DuckDB database"
    PARQUET = "Parquet"
    CSV = "CSV"
    JSON = "JSON"
    XLSX = "an XLSX workbook"
    ARROW = "Arrow IPC"
    ARROW_STREAM = "an Arrow IPC stream"


_ENDINGS: Final = {
    **dict.fromkeys((".parquet", ".pq"), FileType.PARQUET),
    **dict.fromkeys((".csv", ".tsv", ".txt"), FileType.CSV),
    **dict.fromkeys((".json", ".ndjson", ".jsonl"), FileType.JSON),
    **dict.fromkeys((".xlsx", ".xlsm"), FileType.XLSX),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), FileType.ARROW),
    ".arrows": FileType.ARROW_STREAM,
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), FileType.SQLITE),
    ".duckdb": FileType.DUCKDB,
}
_BEGINNINGS: Final = {
    b"SQLite format 3\x00": FileType.SQLITE,
    b"PAR1": FileType.PARQUET,
    b"ARROW1": FileType.ARROW,
    b"PK\x03\x04": FileType.XLSX,
    b"\xff\xff\xff\xff": FileType.ARROW_STREAM,
}
_GZIP: Final = b"\x1f\x8b"
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
_TEXTS: Final = frozenset({FileType.CSV, FileType.JSON})
_DUCKDB: Final = slice(8, 12)
"""Where a DuckDB database says that it is one: `DUCK`, after a checksum."""

DATABASES: Final = frozenset({FileType.SQLITE, FileType.DUCKDB})
"""Files that are databases of their own."""

TAKEN: Final = "Parquet, CSV, TSV, JSON, NDJSON, XLSX, Arrow IPC (Feather), SQLite and DuckDB files"
_GLOB: Final = re.compile(r"[*?]|\[.+\]")
_MOST_FILES: Final = 10_000


# ------------------------------------------------------------------------------------------------------ which files
def path_of(text: str) -> Path:
    """Return a text as a path, `~` being somebody's home; SourceError where nobody is called so."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise SourceError(f"{short_repr(text)} begins with the home of a user that there is not") from error


def is_glob(text: str) -> bool:
    """Tell whether a text is a pattern of paths and not itself a path that there is."""
    return _GLOB.search(text) is not None and not Path(text).exists()


def files_of_glob(pattern: str) -> list[Path]:
    """Return the files that a pattern names, sorted.

    Raises:
        SourceError: there are none, or too many.
    """
    path = path_of(pattern)
    anchor = Path(path.anchor) if path.anchor else Path()
    found = sorted(one for one in anchor.glob(str(path.relative_to(path.anchor))) if one.is_file())
    if not found:
        raise SourceError(f"no file is called like {short_repr(pattern)}; relative paths begin in {_here()}")
    if len(found) > _MOST_FILES:
        raise SourceError(f"{len(found)} files are called like {short_repr(pattern)}; at most {_MOST_FILES} are read")
    return found


def files_of_folder(folder: Path) -> list[Path]:
    """Return the files of tables that lie directly in a folder, sorted; SourceError when there are none."""
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and _ending(path) in _ENDINGS]
    tables = [path for path in found if path.name[0] not in "._" and _ENDINGS[_ending(path)] not in DATABASES]
    if not tables:
        raise SourceError(
            f"the folder {folder.name!r} has no Parquet, CSV, TSV, JSON, NDJSON, XLSX or Arrow file; files of folders "
            f'below it are one dataset by a glob, such as "{folder.name}/**/*.parquet"',
            extra={"file": folder.name},
        )
    return tables


def check_there(path: Path) -> None:
    """Raise SourceError for a path that leads to no file, with the names that are nearest in its folder."""
    try:
        if path.exists():
            return
        parent = path.parent
        beside = [one.name for one in parent.iterdir()] if parent.is_dir() else None
    except PermissionError as error:
        what = "this process may not look into its folder; give it the right, or a copy that it may read"
        raise broken_file(path, what) from error
    except OSError:  # a name that is too long
        beside = []
    if beside is None:
        message = f"there is no folder {path.parent.name!r} for the file {path.name!r}; paths begin in {_here()}"
        raise SourceError(message, extra={"file": path.name})
    if path.is_symlink():
        raise broken_file(path, "it is a link that leads to no file, or to itself")
    close = nearest(path.name, beside, most=3)
    known = [one for one in sorted(beside) if _ending(Path(one)) in _ENDINGS]
    near = f"did you mean {' or '.join(map(repr, close))}?"
    if not close:
        near = f"it has: {', '.join(known[:8]) or 'none that could be read'}"
    raise SourceError(
        f"there is no file {short_repr(path.name)} in the folder {Path(os.path.abspath(path)).parent.name!r}; {near} "
        "(a server's database is named by a URL, such as postgresql://user:password@host/name)",
        extra={"file": path.name},
    )


def _here() -> str:
    return repr(Path.cwd().name or "/")


def name_of(path: Path) -> str:
    """Return the name of the table of a file: the file's without its ending, in letters, digits and underscores."""
    stem = path.name
    while _ending(Path(stem)) or Path(stem).suffix.lower() in (".gz", ".zst"):
        stem = Path(stem).stem
    return table_name(stem)


def table_name(text: str) -> str:
    """Return a text as the name of a table: what is no letter, digit or underscore becomes an underscore."""
    return re.sub(r"\W+", "_", text).strip("_") or "data"


def _ending(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in (".gz", ".zst") and _ENDINGS.get(Path(path.stem).suffix.lower()) in _TEXTS:
        return Path(path.stem).suffix.lower()
    return suffix if suffix in _ENDINGS else ""


# ------------------------------------------------------------------------------------------------------ what they are
def type_of(path: Path) -> FileType:
    """Return what a file is.

    Raises:
        SourceError: it is none that is taken, is empty, cannot be read, or is not what its name says.
    """
    begins = _first_bytes(path)
    named = _ENDINGS.get(_ending(path))
    if begins[_DUCKDB] == b"DUCK":
        return FileType.DUCKDB
    found = next((kind for beginning, kind in _BEGINNINGS.items() if begins.startswith(beginning)), None)
    if found is not None:
        return found
    if named in _TEXTS and path.suffix.lower() == ".gz" and not begins.startswith(_GZIP):
        raise broken_file(path, "its name says that it is compressed by gzip, but it is not; rename it")
    if named in _TEXTS:
        return named
    if begins.startswith(_OLD_OFFICE):
        raise broken_file(path, "it is a workbook of the old kind (.xls); save it as XLSX")
    if named is not None:
        raise broken_file(
            path, f"its name says that it is {named.value}, but it does not begin as one; it may be damaged"
        )
    raise broken_file(path, f"what it is cannot be told by its name or first bytes; {TAKEN} are taken")


def _first_bytes(path: Path) -> bytes:
    if not path.is_file():
        raise broken_file(path, "it is no plain file")
    try:
        with path.open("rb") as file:
            begins = file.read(16)
    except PermissionError as error:
        raise broken_file(
            path, "this process may not read it; give it the right, or a copy that it may read"
        ) from error
    except OSError as error:
        raise broken_file(path, f"it cannot be opened ({type(error).__name__})") from error
    if not begins:
        raise broken_file(path, "it is empty")
    return begins


def require_intact(path: Path) -> None:
    """Raise SourceError for a packed file that was cut off or damaged: DuckDB takes what it can unpack for all."""
    if path.suffix.lower() != ".gz":
        return
    try:
        with gzip.open(path) as packed:
            while packed.read(_PART_BYTES):
                pass
    except (OSError, EOFError, zlib.error) as error:
        raise broken_file(path, "it cannot be unpacked to its end; it was cut off, or is damaged") from error


_PART_BYTES: Final = 2**20


def broken_file(path: Path, what: str, *, row: int | None = None, column: str | None = None) -> SourceError:
    """Return the error for a file that cannot be read, with its place in it; rows count from 1, the header included."""
    place = "".join([f", row {row}" if row is not None else "", f", column {column!r}" if column is not None else ""])
    facts = {"file": path.name, "row": row, "column": column}
    extra = {name: value for name, value in facts.items() if value is not None}
    return SourceError(f"file {short_repr(path.name)}{place}: {what}", extra=extra)
