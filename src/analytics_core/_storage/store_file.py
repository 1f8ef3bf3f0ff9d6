"""The file of a store on SQLite, watched: SQLite goes on writing into a file that was deleted or replaced."""

from __future__ import annotations

import os
from typing import NoReturn

from sqlalchemy import Engine

from analytics_core._storage.store_engine import is_memory
from analytics_core.errors import StoreUnavailableError

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
            self._refuse()

    def _now(self) -> FileIdentity:
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)
        except OSError:
            self._refuse()
        return found.st_dev, found.st_ino

    def _refuse(self) -> NoReturn:
        raise StoreUnavailableError(
            "the file of the metadata store was deleted or replaced; what was to be written is not kept. "
            "Bring the file back, or start anew",
            retryable=False,
        ) from None
