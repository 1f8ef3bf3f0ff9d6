"""Metadata stores for tests, one per kind of server; servers are emptied instead of made anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import sqlalchemy as sa

from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._content.storage.tables import METADATA
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._records.secret import Secret
from analytics_core.ports import Clock, SecretBox

KEY = Secret("a key of the tests, long enough")
RESTART_IDS = """
    SELECT setval(quote_ident(schemaname) || '.' || quote_ident(sequencename), 1, false)
    FROM pg_sequences WHERE last_value IS NOT NULL
"""
COUNTED = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND auto_increment > 1"


@contextmanager
def open_store(url: str, clock: Clock, *, box: SecretBox | None = None) -> Iterator[SqlMetadataStore]:
    """Give a store that is closed in the end."""
    store = SqlMetadataStore(url, secret_box=box or AesGcmSecretBox(KEY), clock=clock)
    try:
        yield store
    finally:
        store.close()


@cache
def _engine(url: str) -> sa.Engine:
    """Return an engine that keeps no connection open, and knows its server from the second time on."""
    return sa.create_engine(url, poolclass=sa.pool.NullPool)


def empty_store(url: str) -> None:
    """Delete all records of a store on a server; ids begin anew. Without tables nothing happens.

    TRUNCATE would take twice as long: it makes the files of all tables and indexes anew.
    """
    with _engine(url).begin() as connection:
        made = set(sa.inspect(connection).get_table_names())
        tables = [table.name for table in reversed(METADATA.sorted_tables) if table.name in made]
        if not tables:
            return
        used = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in tables)
        with_rows = set(connection.exec_driver_sql(used).scalars())
        for name in tables:
            if name in with_rows:
                connection.exec_driver_sql(f"DELETE FROM {name}")
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(RESTART_IDS)
            return
        for name in connection.exec_driver_sql(COUNTED).scalars().all():
            connection.exec_driver_sql(f"ALTER TABLE {name} AUTO_INCREMENT = 1")
