"""Which session serves which engine, and who asks its databases what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import sqlalchemy as sa

from analytics_core._engine.execution.sessions.base import Session
from analytics_core._engine.execution.sessions.metadata import DuckdbMetadata, EngineMetadata
from analytics_core._engine.execution.sessions.mysql import MysqlMetadata, MysqlSession
from analytics_core._engine.execution.sessions.postgresql import PostgresqlMetadata, PostgresqlSession
from analytics_core._engine.execution.sessions.sqlite import SqliteMetadata, SqliteSession
from analytics_core._engine.execution.sessions.trino import TrinoSession

SESSION_OPTION = "analytics_core_session"
"""Execution option of our engines: the session that opened them."""


def make_session(engine_name: str) -> Session:
    """Return a new session for the engine of this name.

    Raises:
        ImportError: the engine's package is not installed.
    """
    if engine_name == "sqlite":
        return SqliteSession()
    if engine_name == "duckdb":
        from analytics_core._engine.execution.sessions.duckdb import DuckdbSession

        return DuckdbSession()
    if engine_name == "postgresql":
        return PostgresqlSession()
    if engine_name == "mysql":
        return MysqlSession()
    return TrinoSession() if engine_name == "trino" else Session()


def session_of(engine: sa.Engine) -> Session:
    """Return the session that opened this engine; for an engine made elsewhere, one that any DBAPI driver suits."""
    chosen = engine.get_execution_options().get(SESSION_OPTION)
    return chosen if isinstance(chosen, Session) else Session()


def metadata_of(dialect: sa.Dialect) -> EngineMetadata:
    """Return how databases of this dialect are asked; it does not depend on who opened the connection."""
    return _METADATA.get(dialect.name, _PLAIN)


_PLAIN = EngineMetadata()
_MYSQL = MysqlMetadata()
_METADATA: Mapping[str, EngineMetadata] = MappingProxyType(
    {
        "sqlite": SqliteMetadata(),
        "duckdb": DuckdbMetadata(),
        "postgresql": PostgresqlMetadata(),
        "mysql": _MYSQL,
        "mariadb": _MYSQL,
    }
)
