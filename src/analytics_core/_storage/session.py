"""One connection inside one unit of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection

from analytics_core.ports import Clock, SecretBox


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSession:
    """What repositories of one unit of work share.

    Servers keep a unit at one moment by REPEATABLE READ. SQLite does not wait when a transaction that has read begins
    to write, so there a unit reads without a transaction until its first write, which begins one that may write.
    """

    connection: Connection
    clock: Clock
    secret_box: SecretBox
    on_write: Callable[[str | None], None]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Give all statements of the block the same moment of the store."""
        if not self._must_begin():
            yield
            return
        self.connection.exec_driver_sql("BEGIN")
        try:
            yield
        finally:
            self.connection.exec_driver_sql("COMMIT")

    @contextmanager
    def writing(self, noun: str | None = None, *, counts: bool = True) -> Iterator[None]:
        """Make the block's writes happen together or not at all; after a refusal the unit may go on.

        `noun` is the one kind of records that they bear on; None: they may bear on any. `counts` tells whether they
        move the store's revision.
        """
        if self._must_begin():
            self.connection.exec_driver_sql("BEGIN IMMEDIATE")
        with self.connection.begin_nested():
            yield
        if counts:
            self.on_write(noun)

    def _must_begin(self) -> bool:
        if self.connection.dialect.name != "sqlite":
            return False
        driver_connection = self.connection.connection.dbapi_connection
        return not getattr(driver_connection, "in_transaction", False)
