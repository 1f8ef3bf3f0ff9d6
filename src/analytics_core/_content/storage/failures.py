"""What the store's drivers raise, told apart by code and cut at the border: no driver text leaves this folder."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

from sqlalchemy import Table, UniqueConstraint
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from analytics_core.errors import AnalyticsError, StoreUnavailableError


class ConstraintKind(Enum):
    """Kinds of refusals that a repository can explain."""

    UNIQUE = "unique"
    REFERENCE = "reference"
    CONCURRENT = "concurrent"
    UNDONE = "undone"
    """Concurrent too, and the server has undone all that the transaction did before, our savepoint included."""
    OTHER = "other"


_CODES: Final = {
    ConstraintKind.UNIQUE: ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "23505", "1062"),
    ConstraintKind.REFERENCE: ("SQLITE_CONSTRAINT_FOREIGNKEY", "23503", "1451", "1452"),
    ConstraintKind.CONCURRENT: ("40001", "40P01", "1020"),
    ConstraintKind.UNDONE: ("1213", "1305"),  # 1305: told of a deadlock when our savepoint is not there any more
}
"""Extended error names of SQLite, SQLSTATEs of PostgreSQL, numbers of MariaDB and MySQL."""


_UNKNOWN: Final = (
    "does not answer or refused a statement; check that its server runs or that its folder exists and may be written to"
)
_LOGIN: Final = "does not accept the user and password of metadata_url"
_NO_DATABASE: Final = "has no database of the name that metadata_url gives; make it first"
_FULL: Final = "has no room on its disk; make room and try again, what was to be written is not kept"
_NO_RIGHT: Final = (
    "refuses its user a right; it needs those to read, write, make and change tables in the database of metadata_url"
)
_CROWDED: Final = "is on a server that takes no more connections at present; close some, or raise its limit"
_LOCKED: Final = "is locked by another program or transaction for too long; try again when that has ended"
_READ_ONLY: Final = "may only be read at present; make its file and folder, or its server, writable again"
_DAMAGED: Final = "is in a file that is no SQLite database or is damaged; bring back a backup"
_NO_TABLE: Final = "lacks a table or a column; bring back a backup, or run the version of the library that wrote it"
_UNREACHED: Final = "cannot be reached; check that its server runs, and host and port of metadata_url"

_IN_USE: Final = "has all its connections in use; ask fewer questions at a time in one process, or try again"
_PASSING: Final = frozenset({_LOCKED, _CROWDED, _UNREACHED, _IN_USE})
"""What may be over later although nobody mends anything."""

_LOCKED_CODES: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "55P03", "1205")

_BY_CODES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("SQLITE_FULL", "53100", "1021", "1114"), _FULL),
    (("SQLITE_READONLY", "25006", "1290", "1836", "1792"), _READ_ONLY),
    (_LOCKED_CODES, _LOCKED),
    (("SQLITE_CORRUPT", "SQLITE_NOTADB"), _DAMAGED),
    (("SQLITE_CANTOPEN",), "is in a file that cannot be opened; check that its folder exists and who may write to it"),
    (("SQLITE_IOERR",), "is in a file that cannot be read or written; check its disk, and the room on it"),
    (("28", "1045", "1698"), _LOGIN),
    (("3D000", "1049"), _NO_DATABASE),
    (("42501", "1044", "1142", "1143"), _NO_RIGHT),
    (("53300", "1040", "1203", "1226"), _CROWDED),
    (("42P01", "42703", "1146", "1054"), _NO_TABLE),
    (("57P", "08", "2002", "2003", "2005", "2006", "2013"), _UNREACHED),
)
"""Codes of the drivers, or what they begin with; told apart in this order."""

_BY_WORDS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"too many (clients|connections)|remaining connection slots"), _CROWDED),
    (re.compile(r"FATAL:\s+database .* does not exist"), _NO_DATABASE),
    (re.compile(r"authentication failed|FATAL:\s+role |no password supplied|no pg_hba\.conf entry"), _LOGIN),
    (re.compile(r"FATAL:\s+permission denied"), _NO_RIGHT),
    (re.compile(r"refused|resolve|translate host|timeout|does not answer|closed the connection"), _UNREACHED),
    (re.compile(r"the database system is (starting up|shutting down|in recovery|not )"), _UNREACHED),
    (re.compile(r"^no such (table|column)|has no column named"), _NO_TABLE),
)
"""What PostgreSQL's driver says when it cannot connect, for which it has no code; and SQLite of missing tables."""


def failure_of(error: DBAPIError) -> ConstraintKind:
    """Return the kind of a driver's error."""
    code = _code(error)
    return next((kind for kind, codes in _CODES.items() if code in codes), ConstraintKind.OTHER)


def is_locked(error: DBAPIError) -> bool:
    """Tell whether others had what was waited for."""
    return _code(error).startswith(_LOCKED_CODES)


def violated_key(error: DBAPIError, table: Table) -> UniqueConstraint | None:
    """Return the unique key of `table` that the driver names; None when it names none of them."""
    for key in table.constraints:
        if isinstance(key, UniqueConstraint) and _names_key(error.orig, key, table):
            return key
    return None


@contextmanager
def store_border() -> Iterator[None]:
    """Turn what SQLAlchemy and the drivers raise into StoreUnavailableError, without their text.

    Errors of ours lose the driver's exception behind them: it quotes values and addresses.
    """
    handled = sys.exception()
    try:
        yield
    except SQLAlchemyError as error:
        unavailable = _unavailable(_first(error, until=handled))
        try:
            raise unavailable from None
        finally:
            unavailable.__context__ = None  # a reader of the chain would find it there all the same
    except AnalyticsError as error:
        _cut_drivers(error)
        raise


def _first(error: SQLAlchemyError, *, until: BaseException | None) -> SQLAlchemyError:
    """Return what went wrong first: at a full disk SQLite ends the transaction, and the savepoint's end fails too.

    That a pool threw its connections away says nothing of why the next one does not open.

    Args:
        error: what came out.
        until: what the caller was handling already, which is none of ours.
    """
    first, behind = error, error.__context__
    while behind is not None and behind is not until:
        if isinstance(behind, SQLAlchemyError) and not isinstance(behind, DisconnectionError):
            first = behind
        behind = behind.__context__
    return first


def _unavailable(error: SQLAlchemyError) -> StoreUnavailableError:
    code = _code(error) if isinstance(error, DBAPIError) else ""
    named = f"{type(error).__name__}{' ' + code if code else ''}"
    cause = _cause(error, code)
    passes = cause in _PASSING or (cause is _UNKNOWN and isinstance(error, OperationalError))
    return StoreUnavailableError(f"the metadata store {cause} ({named})", retryable=passes)


def _cause(error: SQLAlchemyError, code: str) -> str:
    """Return what is wrong and what would help, by the driver's code, else by the words of a refused connection."""
    if isinstance(error, PoolTimeoutError):
        return _IN_USE
    if code not in ("", "SQLITE_ERROR"):
        return next((cause for codes, cause in _BY_CODES if code.startswith(codes)), _UNKNOWN)
    text = str(error.orig) if isinstance(error, DBAPIError) else ""
    return next((cause for words, cause in _BY_WORDS if words.search(text)), _UNKNOWN)


def _cut_drivers(error: BaseException) -> None:
    """End the chain behind an error before the first exception of SQLAlchemy."""
    while (behind := error.__cause__ or error.__context__) is not None:
        if isinstance(behind, SQLAlchemyError):
            error.__cause__ = error.__context__ = None
            return
        error = behind


def _code(error: DBAPIError) -> str:
    origin: Any = error.orig
    number = origin.args[0] if origin is not None and origin.args else None
    if isinstance(number, int):
        return str(number)
    return str(getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None) or "")


def _names_key(origin: Any, key: UniqueConstraint, table: Table) -> bool:
    """Tell whether the driver names this key; the value that clashed is in the text too and must not mislead."""
    if diagnosis := getattr(origin, "diag", None):
        return bool(diagnosis.constraint_name == key.name)
    text = str(origin.args[-1])
    if hasattr(origin, "sqlite_errorname"):
        return text.endswith(": " + ", ".join(f"{table.name}.{column.name}" for column in key.columns))
    named = text.rpartition(" for key ")[2].strip("'")
    return named in {key.name, f"{table.name}.{key.name}"}
