"""A plug-in of pytest: metadata stores of one run share the statements that SQLAlchemy compiled for the first of them.

A test's store lives for some fifty statements, and compiling these took a third of the time of making a small world.
Statements are found by their structure and by the dialect, which stores of the same kind and version share therefore.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, Final

import pytest
import sqlalchemy as sa

from analytics_core._content.storage.store_engine import LOGGING_NAME

MOST: Final = 2_000
"""As many statements are kept for each kind of store."""

Shared = tuple[sa.Dialect, MutableMapping[Any, Any]]


def pytest_configure(config: pytest.Config) -> None:
    """Hear of each connection that opens."""
    shared: dict[Any, Shared] = {}

    def share(connection: sa.Connection) -> None:
        engine, dialect = connection.engine, connection.dialect
        if engine.logging_name != LOGGING_NAME or "compiled_cache" in engine.get_execution_options():
            return
        # What a dialect learns of its server: on MariaDB and MySQL each database is a default schema of its own.
        kind = (type(dialect), dialect.server_version_info, dialect.default_schema_name)
        engine.dialect, statements = shared.setdefault(kind, (dialect, sa.util.LRUCache(MOST)))
        connection.dialect = engine.dialect
        engine.update_execution_options(compiled_cache=statements)
        connection.execution_options(compiled_cache=statements)

    sa.event.listen(sa.Engine, "engine_connect", share)
    config.add_cleanup(lambda: sa.event.remove(sa.Engine, "engine_connect", share))
