"""What the store's drivers raise, told apart by code and cut at the border: no driver text leaves `_storage`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

from sqlalchemy import Table, UniqueConstraint
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from analytics_core.errors import AnalyticsError, StoreUnavailableError


class Failure(Enum):
    """Kinds of refusals that a repository can explain."""

    UNIQUE = "unique"
    REFERENCE = "reference"
    CONCURRENT = "concurrent"
    UNDONE = "undone"
    """Concurrent too, and the server has undone all that the transaction did before, our savepoint included."""
    OTHER = "other"


_BY_CODE: Final = {
    # SQLite's extended error names
    "SQLITE_CONSTRAINT_UNIQUE": Failure.UNIQUE,
    "SQLITE_CONSTRAINT_PRIMARYKEY": Failure.UNIQUE,
    "SQLITE_CONSTRAINT_FOREIGNKEY": Failure.REFERENCE,
    # PostgreSQL's SQLSTATEs
    "23505": Failure.UNIQUE,
    "23503": Failure.REFERENCE,
    "40001": Failure.CONCURRENT,
    "40P01": Failure.CONCURRENT,
    # MariaDB's and MySQL's numbers
    "1062": Failure.UNIQUE,
    "1451": Failure.REFERENCE,
    "1452": Failure.REFERENCE,
    "1020": Failure.CONCURRENT,
    "1213": Failure.UNDONE,
    "1305": Failure.UNDONE,  # what is told of a deadlock when our savepoint is not there any more
}


def failure_of(error: DBAPIError) -> Failure:
    """Return the kind of a driver's error."""
    return _BY_CODE.get(_code(error), Failure.OTHER)


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
    try:
        yield
    except SQLAlchemyError as error:
        unavailable = _unavailable(error)
        try:
            raise unavailable from None
        finally:
            unavailable.__context__ = None  # a reader of the chain would find it there all the same
    except AnalyticsError as error:
        _cut_drivers(error)
        raise


def _unavailable(error: SQLAlchemyError) -> StoreUnavailableError:
    code = _code(error) if isinstance(error, DBAPIError) else ""
    return StoreUnavailableError(
        "the metadata store does not answer or refused a statement; check that its server runs or that its folder "
        f"exists and may be written to ({type(error).__name__}{' ' + code if code else ''})"
    )


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
