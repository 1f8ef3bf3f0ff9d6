"""Bring the tables of a metadata store up to date: forward only, one process at a time.

The first two digits of a revision are its line. Within a line revisions only add tables, indexes and columns that may
be NULL (`tests/architecture`), so that code of any revision of a line can use tables of any other one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from analytics_core._content.storage.failures import is_locked, store_border
from analytics_core._content.storage.store_engine import is_memory, make_store_engine
from analytics_core._content.storage.table_kinds import TABLE_REVISION, VERSION_TABLE
from analytics_core._engine.execution.driver_limits import allow_answer
from analytics_core.errors import SettingsError, StoreUnavailableError

MIGRATIONS: Final = Path(__file__).parent / "migrations"
HEAD: Final = max(path.name for path in (MIGRATIONS / "versions").glob("r????_*.py"))[1:5]
"""The newest revision, read from the names of the files; a test keeps it equal to what Alembic finds."""

NEWEST_TABLES: Final = Path(__file__).parent / "newest_tables.sql"
"""SQLite's script of all tables; a test keeps it equal to the code's.

`METADATA.create_all` compiles for 20 to 30 ms of CPU what the script makes in 10 (a store in memory: 10 to 41 ms; in a
file: 24 to 51), and tests make a store each.
"""

_NEWEST_VERSION_TABLE: Final = (
    f"CREATE TABLE {VERSION_TABLE} "
    f"(version_num VARCHAR(32) NOT NULL, CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
)
"""As Alembic makes it."""

_LOCK_TIMEOUT_S: Final = 120
_LONGEST_STEP_S: Final = 3_600
"""A step of a migration may rewrite a table; another process's migration is waited for."""

_STEP_LOCK_S: Final = 3
_STEP_PAUSE_S: Final = 1.0
"""A step waits for a table that others use no longer than this, and tries again: all others wait behind it."""

_WAL_ATTEMPTS: Final = 200
_WAL_PAUSE_S: Final = 0.05
_POSTGRES_LOCK: Final = 0x61635F6D657461  # "ac_meta"


def migrate(engine: Engine, *, history: Path = MIGRATIONS, head: str = HEAD, only_new: bool = False) -> tuple[str, ...]:
    """Make or update the tables, waiting for another process that is at it, and return the revisions that it ran.

    An empty SQLite file gets the newest tables at once; other new stores go through the history. A store of a newer
    revision of the line is left as it is.

    Args:
        engine: of the store.
        history: the folder of Alembic revisions.
        head: the newest of them; a store that is there already is not locked.
        only_new: whether a store that has tables of the line already is left as it is, too.

    Raises:
        SettingsError: the store has a revision that the history does not know, or is of an older line and only to be
            made if it is new.
    """
    if is_memory(engine):
        _create_in_memory(engine)
        return ()
    stored = _revision(engine)
    if stored is not None and _is_of_line(stored, head) and (only_new or stored >= head):
        return ()
    if stored is not None and only_new and _is_known(stored, history):
        raise SettingsError(
            f"the metadata store has the revision {stored!r}, and this version of analytics_core needs {head!r}; bring "
            "it up to date with python -m analytics_core migrate"
        )
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            return _migrated(engine, history)
        except OperationalError as error:  # whoever waits behind a step must have their turn before their time is over
            if not is_locked(error) or time.monotonic() > deadline:
                raise
        time.sleep(_STEP_PAUSE_S)


def _migrated(engine: Engine, history: Path) -> tuple[str, ...]:
    with _migration_lock(engine) as connection:
        if history == MIGRATIONS and engine.dialect.name == "sqlite" and _is_empty(connection):
            _create_in_file(connection)
            return (f"{HEAD}: all tables, at once",)
        return _run_forward(connection, history)


def migrate_store(url: str, *, dry_run: bool) -> tuple[tuple[str, ...], str]:
    """Migrate the store at a URL: return the revisions that ran or, of a dry run, those that would run and their SQL.

    Raises:
        SettingsError: the URL cannot keep metadata, or the store has a revision that the history does not know.
        StoreUnavailableError: the store cannot be reached, or is locked by others for too long.
    """
    engine = make_store_engine(url)
    try:
        with store_border():
            return _script_of(engine) if dry_run else (migrate(engine), "")
    finally:
        engine.dispose()


def _script_of(engine: Engine, history: Path = MIGRATIONS) -> tuple[tuple[str, ...], str]:
    stored, written = None if is_memory(engine) else _revision(engine), StringIO()
    if is_memory(engine) or (stored is not None and _is_of_line(stored, HEAD) and stored >= HEAD):
        return (), ""
    opts = {"as_sql": True, "output_buffer": written, "starting_rev": stored}
    with engine.connect() as connection:
        return _run_forward(connection, history, **opts), written.getvalue()


def stored_revision(connection: Connection) -> str | None:
    """Return the revision of the tables; a store in memory has always the newest."""
    if is_memory(connection.engine):
        return HEAD
    found = connection.execute(TABLE_REVISION).scalar()
    return None if found is None else str(found)


def require_present(connection: Connection, revisions: Collection[str | None] | None) -> None:
    """Refuse to keep what was written by code of another line than the tables have.

    `revisions` are those that the writing statements gave of the tables; without any the table of the revision is read.

    A process that went on while a newer version changed the store would leave out what that one relies on, such as the
    key by which row rules find a dataset.

    Raises:
        StoreUnavailableError: the store went over to another line since it was opened.
    """
    stored = revisions or (connection.execute(TABLE_REVISION).scalar(),)
    if not all(revision is not None and _is_of_line(revision, HEAD) for revision in stored):
        raise StoreUnavailableError(
            "the metadata store was brought up to date by another version of analytics_core, and what was to be "
            "written is not kept; start this process anew with that version",
            retryable=False,
        )


def _is_of_line(revision: str, head: str) -> bool:
    return len(revision) == len(head) and revision[:2] == head[:2]


def _is_known(revision: str, history: Path) -> bool:
    return any(path.name[1:5] == revision for path in (history / "versions").glob("r????_*.py"))


def _create_in_memory(engine: Engine) -> None:
    """Make the newest tables at once: a new store in memory has no history, and Alembic is slow to import."""
    with engine.begin() as connection:
        driver: Any = connection.connection.driver_connection
        driver.executescript(NEWEST_TABLES.read_text(encoding="utf-8"))


def _is_empty(connection: Connection) -> bool:
    return connection.exec_driver_sql("SELECT COUNT(*) FROM sqlite_master").scalar() == 0


def _create_in_file(connection: Connection) -> None:
    """Make the newest tables of a new file as those in memory; a test keeps them equal to what the history makes.

    Statement by statement: SQLite's driver would commit before a whole script.
    """
    for statement in NEWEST_TABLES.read_text(encoding="utf-8").split(";\n")[:-1]:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql(_NEWEST_VERSION_TABLE)
    connection.exec_driver_sql(f"INSERT INTO {VERSION_TABLE} VALUES (?)", (HEAD,))


def _revision(engine: Engine) -> str | None:
    """Return the store's revision without any lock; None when there is no table yet."""
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table(VERSION_TABLE):
            return None
        return connection.execute(TABLE_REVISION).scalar()


def _run_forward(connection: Connection, history: Path, **opts: Any) -> tuple[str, ...]:
    """Run the revisions that the tables lack, or write them as SQL (`as_sql`), and return what they are."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    scripts, ran = ScriptDirectory(history), list[str]()

    def steps(revision: Any, _context: object) -> Any:
        found = scripts._upgrade_revs("head", revision)
        ran.extend(f"{step.revision.revision}: {' '.join(step.revision.doc.split())}" for step in found)
        return found

    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "fn": steps, **opts})
    try:
        context.run_migrations(op=Operations(context))
    except CommandError:
        stored = connection.execute(TABLE_REVISION).scalar()
        if stored is not None and _is_of_line(stored, HEAD) and stored > HEAD:
            return ()  # by a newer version, while this one waited
        raise SettingsError(
            f"the metadata store has the revision {stored!r}, which this version of "
            "analytics_core does not know: a newer version wrote it, or one from before 0.1.0; install the version "
            "that wrote it, or name an empty store"
        ) from None
    return tuple(ran)


@contextmanager
def _migration_lock(engine: Engine) -> Iterator[Connection]:
    """Hold the store for migrations; what was done is committed when the block ends well."""
    hold = _LOCKS[engine.dialect.name]
    with engine.connect() as connection:
        allow_answer(connection.connection.driver_connection, _LONGEST_STEP_S)
        with hold(connection):
            yield connection


@contextmanager
def _sqlite_lock(connection: Connection) -> Iterator[None]:
    _switch_to_wal(connection)
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:  # also when the run is interrupted; it goes on upwards
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")


def _switch_to_wal(connection: Connection) -> None:
    """Let readers and a writer work side by side; the file remembers it.

    SQLite does not wait for other processes here, as it does everywhere else: so we do.
    """
    for attempt in range(_WAL_ATTEMPTS):
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            return
        except OperationalError:
            if attempt == _WAL_ATTEMPTS - 1:
                raise
            time.sleep(_WAL_PAUSE_S)


@contextmanager
def _postgres_lock(connection: Connection) -> Iterator[None]:
    # What another process did while we waited for the lock must be seen.
    connection.execution_options(isolation_level="READ COMMITTED")
    connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT_S}s'"))
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRES_LOCK})
    connection.execute(sa.text(f"SET LOCAL lock_timeout = '{_STEP_LOCK_S}s'"))
    yield
    connection.commit()


@contextmanager
def _mysql_lock(connection: Connection) -> Iterator[None]:
    """Hold a named lock; the name holds the database, since such locks are the whole server's."""
    connection.execution_options(isolation_level="READ COMMITTED")
    name = sa.text("CONCAT('ac_meta.', MD5(DATABASE()))")
    result = connection.execute(sa.select(sa.func.get_lock(name, _LOCK_TIMEOUT_S))).scalar()
    if result != 1:
        raise SettingsError("another process has been changing the metadata store for too long; try again")
    connection.execute(sa.text(f"SET lock_wait_timeout = {_STEP_LOCK_S}"))
    try:
        yield
        connection.commit()
    finally:
        connection.execute(sa.text("SET lock_wait_timeout = DEFAULT"))
        connection.execute(sa.select(sa.func.release_lock(name)))


_LOCKS: Final[Mapping[str, Callable[[Connection], AbstractContextManager[None]]]] = {
    "sqlite": _sqlite_lock,
    "postgresql": _postgres_lock,
    "mysql": _mysql_lock,
    "mariadb": _mysql_lock,
}
