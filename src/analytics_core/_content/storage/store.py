"""The metadata store on SQLite, PostgreSQL, MariaDB or MySQL."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection

from analytics_core._content.storage import record_kinds
from analytics_core._content.storage.failures import store_border
from analytics_core._content.storage.listing import StatementCache
from analytics_core._content.storage.migrate import HEAD, migrate, require_present, stored_revision
from analytics_core._content.storage.record_kinds import (
    DATABASE_KIND,
    LOCK_KIND,
    LOG_KIND,
    OAUTH2_TOKEN_KIND,
    RecordKind,
)
from analytics_core._content.storage.repository import StoreSession
from analytics_core._content.storage.row_mapping import opened, secret_context
from analytics_core._content.storage.store_engine import STORE_TIMEOUT_S, StoreFile, is_memory, make_store_engine
from analytics_core._content.storage.unit_of_work import SqlUnitOfWork
from analytics_core._records.secret import Secret
from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core.errors import StoreUnavailableError
from analytics_core.ports import Clock, SecretBox

if TYPE_CHECKING:
    from analytics_core._content.storage.older_tables import OlderTables

_SEALED_KINDS: Final[tuple[RecordKind[Any], ...]] = tuple(
    kind for kind in vars(record_kinds).values() if isinstance(kind, RecordKind) and kind.sealed
)
_UNGUARDED: Final = frozenset({LOG_KIND.noun, LOCK_KIND.noun, OAUTH2_TOKEN_KIND.noun})
"""What is written while somebody reads: a process that a newer version overtook goes on with it, and loses no token."""


class SqlMetadataStore:
    """Keeps records in tables (port `MetadataStore`); opening it makes the tables, or brings them up to date.

    Any number of threads and processes may use one store; a store in memory lets one thread at a time in. Units of
    work should not nest: on a server or a file they would be two transactions that may wait for each other.

    Args:
        url: `sqlite://` for memory, `sqlite:///file`, `postgresql+psycopg://...` or `mysql+pymysql://...`.
        secret_box: seals the secrets of databases, the claims of jobs, the OAuth 2.0 tokens of users and the recipients
            of reports.
        clock: tells the times of the audit columns.
        timeout_s: seconds that each wait on the store may take: for a connection, an answer, a lock.
        migrates: whether opening it brings tables that are there already up to date.

    Raises:
        SettingsError: the URL cannot keep metadata, or another version of the library wrote the store.
        StoreUnavailableError: the store cannot be reached.
    """

    def __init__(
        self,
        url: str | Secret,
        *,
        secret_box: SecretBox,
        clock: Clock,
        timeout_s: float = STORE_TIMEOUT_S,
        migrates: bool = True,
    ) -> None:
        self._engine = make_store_engine(url, timeout_s=timeout_s)
        self._timeout_s = timeout_s
        self._secret_box = secret_box
        self._clock = clock
        self._cache = StatementCache()
        self._in_memory = is_memory(self._engine)
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        self._tells_revision = self._engine.dialect.update_returning and not self._in_memory
        self._memory_turn = forkable_rlock()
        self._memory_connection: Connection | None = None
        self._closed = False
        self._is_lost = False
        self._of_the_parent: list[object] = []
        self._revision = 0
        self._revisions: Counter[str | None] = Counter()
        self._counting = forkable_rlock()
        self._older: OlderTables | None = None
        tell_of_forks(self)
        try:
            with store_border():
                migrate(self._engine, only_new=not migrates)
                self._older = None if migrates else self._seen_older()
                self._file = StoreFile(self._engine)
        except BaseException:  # whatever it is goes on upwards; connections must not stay open
            self.close()
            raise

    @contextmanager
    def unit_of_work(self) -> Iterator[SqlUnitOfWork]:
        """Open one transaction; it commits when the block ends well, else leaves nothing behind.

        All that a unit reads before it first writes is of one moment. A refused write leaves the unit usable; but where
        a server undoes a whole transaction (MariaDB and MySQL at a deadlock), the unit ends in StaleVersionError.
        """
        changed: dict[str | None, bool] = {}
        revisions: set[str | None] | None = set() if self._tells_revision else None
        with DeferredInterrupts(), store_border(), self._connected(changed, revisions) as connection:
            session = StoreSession(
                connection=connection,
                clock=self._clock,
                secret_box=self._secret_box,
                cache=self._cache,
                is_sqlite=self._is_sqlite,
                is_on_file=self._is_sqlite and not self._in_memory,
                changed=changed,
                revisions=revisions,
            )
            yield SqlUnitOfWork(session)
            if session.undone:
                raise session.undone[0]
        if True in changed.values():
            with self._counting:
                self._revisions.update(noun for noun, counts in changed.items() if counts)
                self._revision += 1

    def revision(self, *nouns: str) -> int:
        """Return a number that grows with each change made through this object; other processes do not move it.

        With nouns (`user`, `role` ...) only changes that bear on these kinds count; a deletion bears on all. Entries of
        the log and jobs never count, so that recording views and watching jobs costs readers nothing. A closed store
        has none, so that nobody goes on with what they read before.

        Raises:
            StoreUnavailableError: the store is closed.
        """
        if self._closed or self._is_lost:
            raise self._unavailable()
        if not nouns:
            return self._revision
        counted = self._revisions.get(None, 0)
        for noun in nouns:
            counted += self._revisions.get(noun, 0)  # by the key a Counter asks its own method for what it lacks
        return counted

    def reseal_secrets(self) -> int:
        """Seal all stored secrets anew and return how many there are; afterwards previous keys may be dropped.

        Records do not change by it, neither in content nor in version. A secret replaced meanwhile is left alone.

        Raises:
            StoredDataError: a secret does not open; the message names its record, and nothing was sealed anew.
        """
        with store_border(), self._connected({DATABASE_KIND.noun: True}) as connection:
            if not self._is_sqlite:  # elsewhere a secret that is replaced meanwhile would end it all
                connection.execution_options(isolation_level="READ COMMITTED")
            return sum(
                self._reseal(connection, kind, row, field)
                for kind in _SEALED_KINDS
                for field in sorted(kind.sealed)
                for row in _sealed_rows(connection, kind, field)
            )

    def table_revision(self) -> str | None:
        """Return the revision of the tables as they are now, which another process may have brought up to date."""
        with store_border(), self._connected({}) as connection:
            return stored_revision(connection)

    def close(self) -> None:
        """Close the store's connections; a store in memory is gone then, once nobody uses its one connection."""
        self._closed = True  # the engine would open anew
        if not self._in_memory:
            self._engine.dispose()
        elif self._memory_turn.acquire(timeout=self._timeout_s):  # else whoever has it closes it
            try:
                self._end_memory()
            finally:
                self._memory_turn.release()

    def before_fork(self) -> None:
        """Close idle connections to a file: a child that inherits an open one of SQLite shares its locks."""
        if self._is_sqlite and not self._in_memory:
            self._engine.dispose()

    def after_fork(self) -> None:
        """Start the pool anew; connections of the parent are neither used nor closed, a store in memory is lost."""
        self._of_the_parent.append(self._engine.pool)
        self._is_lost = self._in_memory
        self._memory_connection = None
        self._engine.dispose(close=False)

    def _unavailable(self) -> StoreUnavailableError:
        if self._is_lost:
            return StoreUnavailableError(
                "the metadata store is in the memory of the process that this one was forked from; "
                "make the core after the fork, or keep metadata in a file or on a server",
                retryable=False,
            )
        return StoreUnavailableError("the metadata store is closed", retryable=False)

    def _reseal(self, connection: Connection, kind: RecordKind[Any], row: Mapping[str, Any], field: str) -> int:
        secret = opened(kind, field, row, self._secret_box)
        fresh = self._secret_box.seal(secret.reveal(), context=secret_context(kind, field, row))
        table = kind.table
        unchanged = (table.c.id == row["id"], table.c[field] == row[field])
        return connection.execute(sa.update(table).where(*unchanged).values({field: fresh})).rowcount

    def _connected(
        self, changed: Mapping[str | None, bool], revisions: Collection[str | None] | None = None
    ) -> AbstractContextManager[Connection]:
        """Return a connection whose work is committed when the block ends well.

        `changed` tells what it wrote, and `revisions` which ones the tables had then.
        """
        if self._closed or self._is_lost:
            raise self._unavailable()
        return self._memory_session() if self._in_memory else self._session(changed, revisions)

    @contextmanager
    def _session(
        self, changed: Mapping[str | None, bool], revisions: Collection[str | None] | None
    ) -> Iterator[Connection]:
        file = self._file.check(self._engine)
        older = self._older
        if older is not None:
            older = self._older = self._seen_older()
        with (self._engine if older is None else older.engine).connect() as connection:
            yield connection
            if changed.keys() - _UNGUARDED:
                require_present(connection, revisions)
            connection.commit()
            if any(changed.values()):
                self._file.require_same(file)

    def _seen_older(self) -> OlderTables | None:
        """Return what the tables lack; None: nothing, and nobody looks again, since no one takes tables back.

        A unit goes on with what was seen as it began: what is added meanwhile does not break its statements.
        """
        with self._engine.connect() as connection:
            revision = stored_revision(connection)
        if revision is None or revision >= HEAD:
            return None
        known = self._older
        if known is None or known.revision != revision:
            from analytics_core._content.storage.older_tables import older_tables

            return older_tables(self._engine, revision)
        return known

    @contextmanager
    def _memory_session(self) -> Iterator[Connection]:
        """Give the one connection of a store in memory to one thread at a time, and let none wait for ever.

        A unit inside another one of its thread is a part of it.
        """
        if not self._memory_turn.acquire(timeout=self._timeout_s):
            raise StoreUnavailableError(
                f"the metadata store in memory is in use by another thread for more than {self._timeout_s:g} seconds"
            )
        outer = self._memory_connection
        try:
            if self._closed and outer is None:  # meanwhile; the engine would open an empty store
                raise self._unavailable()
            if outer is not None:
                with outer.begin_nested():
                    yield outer
                return
            with self._engine.begin() as self._memory_connection:
                yield self._memory_connection
        finally:
            self._memory_connection = outer
            try:
                if self._closed:
                    self._end_memory()
            finally:
                self._memory_turn.release()

    def _end_memory(self) -> None:
        """Close the one connection of a store in memory, unless this thread still uses it."""
        if self._memory_connection is None:
            self._engine.dispose()


def _sealed_rows(connection: Connection, kind: RecordKind[Any], field: str) -> Sequence[Mapping[str, Any]]:
    """Return the rows in which a field holds a secret, with what is needed to open and to name it."""
    columns = kind.table.c
    named = (columns[name] for name in kind.named_in)
    statement = sa.select(columns.id, *named, columns[field]).where(columns[field].is_not(None))
    return [dict(row) for row in connection.execute(statement).mappings()]


class DeferredInterrupts:
    """A block in which SIGINT is only noted; its handler (KeyboardInterrupt, or a host's) runs when the block is over.

    Python raises KeyboardInterrupt between any two instructions of the main thread, also inside of what ends a `with`
    block; a connection that is lost there stays open, with its transaction, as long as the traceback lives. Other
    threads are never interrupted, and blocks inside a block are parts of it.
    """

    _handler: Callable[[int, FrameType | None], Any] | None = None
    _noted: tuple[int, FrameType | None] | None = None

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and not isinstance(getattr(handler, "__self__", None), DeferredInterrupts):
            self._handler = handler
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_failure: object) -> None:
        handler, self._handler = self._handler, None
        if handler is None:
            return
        signal.signal(signal.SIGINT, handler)
        if self._noted is not None:
            handler(*self._noted)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._noted = (number, frame)
