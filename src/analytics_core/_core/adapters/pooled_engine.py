"""A pooled engine of the default `Connector`: which one, and what it was made from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from analytics_core._engine.execution.server_authorities import AuthoritiesFile
from analytics_core._engine.execution.sessions.base import OpenRequest, Session
from analytics_core._records.datasource import Access, Identity


@dataclass(frozen=True, slots=True)
class EngineKey:
    """Which engine: an unsaved database has id 0, its uuid tells it from others."""

    database_id: int
    uuid: str
    version: int
    identity: Identity | None
    access: Access

    @property
    def of_database(self) -> tuple[int, str, int]:
        """Which version of which database, whoever connects."""
        return self.database_id, self.uuid, self.version


@dataclass(slots=True)
class PooledEngine:
    """An engine, the session that made it, what it was made from, which file that was, and whom its server needs.

    `requested_at` is when somebody last asked for it, in seconds of the monotonic clock.
    """

    engine: sa.Engine
    session: Session
    request: OpenRequest
    file_id: tuple[int, int] | None
    authorities: AuthoritiesFile | None
    requested_at: float = 0.0

    @property
    def is_in_use(self) -> bool:
        """Whether a connection is lent."""
        return self.engine.pool.checkedout() > 0  # type: ignore[attr-defined, no-any-return]  # a QueuePool

    @property
    def is_of_server(self) -> bool:
        """Whether it is neither of a file nor of a memory, which would be lost."""
        return self.request.file is None and self.request.memory_name is None


def close_returned(_connection: Any, record: Any) -> None:
    """Close a connection that comes back to a pool which nobody lends from any more."""
    record.close()


def file_id_of(request: OpenRequest) -> tuple[int, int] | None:
    """Return which file the URL leads to now, links followed; None for none."""
    if request.file is None:
        return None
    try:
        found = os.stat((request.url.database or "").removeprefix("file:"))
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_older(key: EngineKey, than: EngineKey) -> bool:
    """Whether `key` is of an earlier version of the same database, or of another token of the same user."""
    if (key.database_id, key.uuid) != (than.database_id, than.uuid):
        return False
    if key.version != than.version or key.identity == than.identity:
        return key.version < than.version
    return _who(key) is not None and _who(key) == _who(than)


def _who(key: EngineKey) -> tuple[str, int | None] | None:
    """Return whom a pool connects as, whichever token proves it."""
    return None if key.identity is None else (key.identity.username, key.identity.user_id)
