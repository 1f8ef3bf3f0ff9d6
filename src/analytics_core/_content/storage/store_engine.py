"""SQLAlchemy engines for the metadata store's URLs; the file of a store on SQLite is watched."""

from __future__ import annotations

import logging
import math
import os
from functools import partial
from typing import Any, Final, NoReturn

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from analytics_core._engine.execution.driver_limits import bound_waits, without_driver_logs
from analytics_core._records.secret import Secret
from analytics_core.errors import MissingExtraError, SettingsError, StoreUnavailableError

LOCK_TIMEOUT_S: Final = 15.0
"""What a lock of another writer is waited for, unless the store's time limit is shorter."""

LOCK_GRACE_S: Final = 0.5
"""A server tells of a lock that it waited for in vain just before we give up its connection."""

STORE_TIMEOUT_S: Final = 20.0
"""What each wait on a store may take when nobody says otherwise."""

LOGGING_NAME: Final = "analytics_core.store"
"""What SQLAlchemy calls the store's engine in logs."""

_LOGGER: Final = f"sqlalchemy.engine.Engine.{LOGGING_NAME}"

_DRIVERS: Final = {"sqlite": "pysqlite", "postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql"}
_EXTRAS: Final = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}


def make_store_engine(url: str | Secret, *, timeout_s: float = STORE_TIMEOUT_S) -> Engine:
    """Return the engine of a metadata URL: `sqlite://` (memory), `sqlite:///file`, PostgreSQL, MariaDB or MySQL.

    Args:
        url: as above.
        timeout_s: seconds that each wait may take: for a connection, an answer, a lock.

    Raises:
        SettingsError: the URL is malformed or of another kind.
        MissingExtraError: its driver is not installed.
    """
    parsed = _parsed(url.reveal() if isinstance(url, Secret) else url)
    try:
        if parsed.get_backend_name() == "sqlite":
            return _sqlite_engine(parsed, timeout_s)
        return _server_engine(parsed, timeout_s)
    except (ModuleNotFoundError, NoSuchModuleError):
        name = parsed.get_backend_name()
        raise MissingExtraError(needed_for=f"a metadata store on {name}", extra_name=_EXTRAS[name]) from None
    except (ArgumentError, ValueError, TypeError):  # their texts quote values of the URL
        reason = "holds an option, or a part, that its driver does not take; for example sqlite:///meta.db"
        raise SettingsError(f"metadata_url {reason}") from None


def is_memory(engine: Engine) -> bool:
    """Tell whether the store lives in this process alone."""
    return engine.dialect.name == "sqlite" and engine.url.database in {None, "", ":memory:"}


def _parsed(url: str) -> URL:
    parsed = _read(url)
    if parsed is None:  # not raised where it failed: what is chained there may quote a part of the password
        raise SettingsError("metadata_url is not a URL; for example sqlite:///meta.db")
    kind, _, driver = parsed.drivername.partition("+")
    if kind not in _DRIVERS or driver not in {"", _DRIVERS[kind]}:
        known = ", ".join(f"{name}+{driver}" for name, driver in _DRIVERS.items())
        raise SettingsError(f"metadata_url names {parsed.drivername!r}, which cannot keep metadata; use one of {known}")
    return parsed.set(drivername=f"{kind}+{_DRIVERS[kind]}")


def _read(url: str) -> URL | None:
    try:
        return None if "\0" in url else make_url(url)
    except (ArgumentError, ValueError):
        return None


def _sqlite_engine(url: URL, timeout_s: float) -> Engine:
    busy_s = min(LOCK_TIMEOUT_S, timeout_s)
    options: dict[str, Any] = {"connect_args": {"check_same_thread": False, "timeout": busy_s}}
    if url.database in {None, "", ":memory:"}:
        options["poolclass"] = StaticPool  # one connection; the store lets one thread at a time use it
    else:
        options["pool_timeout"] = timeout_s
    engine = _quiet_engine(url, **options)
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _quiet_engine(url: URL, **options: Any) -> Engine:
    """Return an engine that logs neither values nor rows: at DEBUG level SQLAlchemy would tell each row that it reads.

    A host that wants the rows gives the engine's own logger that level. Without one it follows the host's levels as
    every logger does, so that a log of warnings holds no statements.
    """
    quiet = {"hide_parameters": True, "logging_name": LOGGING_NAME, **without_driver_logs(LOGGING_NAME)}
    logging.getLogger(_LOGGER).addFilter(_holds_no_row)
    return create_engine(url, **quiet, **options)


def _holds_no_row(record: logging.LogRecord) -> bool:
    own_level = logging.getLogger(_LOGGER).level
    return record.levelno > logging.DEBUG or logging.NOTSET < own_level <= logging.DEBUG


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the store begins its own transactions
    connection.create_function("lower", 1, _lower, deterministic=True)
    for setting in ("foreign_keys = ON", "synchronous = NORMAL"):
        connection.execute(f"PRAGMA {setting}").close()


def _lower(text: object) -> object:
    """Fold all letters, where SQLite's own function folds only the Latin ones."""
    return text.lower() if isinstance(text, str) else text


def _server_engine(url: URL, timeout_s: float) -> Engine:
    is_postgres = url.get_backend_name() == "postgresql"
    patience = ("connect_timeout",) if is_postgres else ("connect_timeout", "read_timeout", "write_timeout")
    # REPEATABLE READ: a record and its parts, read by several statements, are of one moment.
    engine = _quiet_engine(
        url,
        pool_pre_ping=True,
        pool_timeout=timeout_s,
        isolation_level="REPEATABLE READ",
        connect_args={name: max(1, math.ceil(timeout_s)) for name in patience if name not in url.query},
    )
    prepare = _prepare_postgres if is_postgres else _prepare_mysql
    event.listen(engine, "connect", partial(prepare, min(LOCK_TIMEOUT_S, timeout_s)))
    bound_waits(engine, answer_s=timeout_s + LOCK_GRACE_S, connect_s=timeout_s)
    return engine


def _prepare_postgres(lock_s: float, connection: Any, _record: object) -> None:
    _execute(connection, f"SET lock_timeout = {lock_s * 1000:.0f}", "SET client_min_messages = warning")
    connection.commit()


def _prepare_mysql(lock_s: float, connection: Any, _record: object) -> None:
    strict = "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION"
    _execute(connection, f"SET innodb_lock_wait_timeout = {max(1, int(lock_s))}", f"SET sql_mode = '{strict}'")


def _execute(connection: Any, *statements: str) -> None:
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()


FileIdentity = tuple[int, int] | None
"""What tells a file from another one of its name; None for a store that is no file."""


class StoreFile:
    """Which file a store's connections are on; nothing for a store on a server or in memory."""

    def __init__(self, engine: Engine) -> None:
        name = engine.url.database or ""
        is_file = engine.dialect.name == "sqlite" and not is_memory(engine) and not name.startswith("file:")
        self._path = os.path.abspath(name) if is_file else None
        self._identity = self._now()

    def check(self, engine: Engine) -> FileIdentity:
        """Return which file it is now, having closed idle connections to one that it replaced.

        Raises:
            StoreUnavailableError: the file is gone; SQLite would make an empty one.
        """
        identity = self._now()
        if identity != self._identity:
            engine.dispose()
            self._identity = identity
        return identity

    def require_same(self, identity: FileIdentity) -> None:
        """Refuse to acknowledge what was written; StoreUnavailableError when it went into a file that is gone.

        `identity` is that of the file when the unit began: another unit may have gone over to a new one meanwhile.
        """
        if self._now() != identity:
            self._reject()

    def _now(self) -> FileIdentity:
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)
        except OSError:
            self._reject()
        return found.st_dev, found.st_ino

    def _reject(self) -> NoReturn:
        raise StoreUnavailableError(
            "the file of the metadata store was deleted or replaced; what was to be written is not kept. "
            "Bring the file back, or start anew",
            retryable=False,
        ) from None
