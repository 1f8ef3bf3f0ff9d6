"""One connection inside one unit of work, and interrupts that wait for its end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from sqlalchemy import Connection

from analytics_core._storage.scopes import StatementCache
from analytics_core.errors import StaleVersionError
from analytics_core.ports import Clock, SecretBox


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSession:
    """What repositories of one unit of work share.

    Servers keep a unit at one moment by REPEATABLE READ. SQLite does not wait when a transaction that has read begins
    to write, so there the first write ends the transaction of the reads and begins one that may write: whatever was
    read before is of one moment, and the version of a record tells whether it changed since. A store in memory lets
    one thread at a time in and needs no transaction to read.
    """

    connection: Connection
    clock: Clock
    secret_box: SecretBox
    on_write: Callable[[str | None], None]
    kept: StatementCache
    is_on_file: bool
    may_write: threading.Event = field(default_factory=threading.Event)
    undone: list[StaleVersionError] = field(default_factory=list)

    def begin_reading(self) -> None:
        """Give all statements up to the first write the same moment of a file."""
        if not self._has_begun():
            self.connection.exec_driver_sql("BEGIN")

    @contextmanager
    def writing(self, noun: str | None = None, *, counts: bool = True) -> Iterator[None]:
        """Make the block's writes happen together or not at all; after a refusal the unit may go on, unless `undone`.

        `noun` is the one kind of records that they bear on; None: they may bear on any. `counts` tells whether they
        move the store's revision.
        """
        if self.connection.dialect.name == "sqlite":
            self._begin_writing()
        with self.connection.begin_nested():
            yield
        if counts:
            self.on_write(noun)

    def _begin_writing(self) -> None:
        if self.is_on_file and not self.may_write.is_set() and self._has_begun():
            self.connection.exec_driver_sql("COMMIT")
        if not self._has_begun():
            self.connection.exec_driver_sql("BEGIN IMMEDIATE")
        self.may_write.set()

    def _has_begun(self) -> bool:
        return bool(getattr(self.connection.connection.dbapi_connection, "in_transaction", False))


Handler = Callable[[int, FrameType | None], Any]


class DeferredInterrupts:
    """A block in which SIGINT is only noted; its handler (KeyboardInterrupt, or a host's) runs when the block is over.

    Python raises KeyboardInterrupt between any two instructions of the main thread, also inside of what ends a `with`
    block; a connection that is lost there stays open, with its transaction, as long as the traceback lives. Other
    threads are never interrupted, and blocks inside a block are parts of it.
    """

    _handler: Handler | None = None
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
