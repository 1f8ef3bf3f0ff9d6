"""Which session serves which engine, and who asks its databases what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from analytics_core._engine.execution.sessions.base import Session
from analytics_core._engine.execution.sessions.metadata import DuckdbMetadata, EngineMetadata

if TYPE_CHECKING:
    from analytics_core._engine.execution.sessions.loading import Loader

SESSION_OPTION = "analytics_core_session"
"""Execution option of our engines: the session that opened them."""


def make_session(engine_name: str) -> Session:
    """Return a new session for the engine of this name; what serves one engine is loaded with its first session.

    Raises:
        ImportError: the engine's package is not installed.
    """
    chosen: type[Session] = Session
    if engine_name == "sqlite":
        from analytics_core._engine.execution.sessions.sqlite import SqliteSession

        chosen = SqliteSession
    elif engine_name == "duckdb":
        from analytics_core._engine.execution.sessions.duckdb import DuckdbSession

        chosen = DuckdbSession
    elif engine_name == "postgresql":
        from analytics_core._engine.execution.sessions.postgresql import PostgresqlSession

        chosen = PostgresqlSession
    elif engine_name == "mysql":
        from analytics_core._engine.execution.sessions.mysql import MysqlSession

        chosen = MysqlSession
    elif engine_name == "trino":
        from analytics_core._engine.execution.sessions.trino import TrinoSession

        chosen = TrinoSession
    elif engine_name == "clickhouse":
        from analytics_core._engine.execution.sessions.clickhouse import ClickhouseSession

        chosen = ClickhouseSession
    elif engine_name == "spark":
        from analytics_core._engine.execution.sessions.spark import SparkSession

        chosen = SparkSession
    elif engine_name == "databricks":
        from analytics_core._engine.execution.sessions.databricks import DatabricksSession

        chosen = DatabricksSession
    return chosen()


def session_of(engine: sa.Engine) -> Session:
    """Return the session that opened this engine; for an engine made elsewhere, one that any DBAPI driver suits."""
    chosen = engine.get_execution_options().get(SESSION_OPTION)
    return chosen if isinstance(chosen, Session) else Session()


def metadata_of(dialect: sa.Dialect) -> EngineMetadata:
    """Return how databases of this dialect are asked; it does not depend on who opened the connection."""
    if dialect.name == "sqlite":
        from analytics_core._engine.execution.sessions.sqlite import SqliteMetadata

        return SqliteMetadata()
    if dialect.name == "postgresql":
        from analytics_core._engine.execution.sessions.postgresql import PostgresqlMetadata

        return PostgresqlMetadata()
    if dialect.name in ("mysql", "mariadb"):
        from analytics_core._engine.execution.sessions.mysql import MysqlMetadata

        return MysqlMetadata()
    if dialect.name in ("clickhouse", "clickhousedb"):
        from analytics_core._engine.execution.sessions.clickhouse import ClickhouseMetadata

        return ClickhouseMetadata()
    if dialect.name == "hive":
        from analytics_core._engine.execution.sessions.spark import SparkMetadata

        return SparkMetadata()
    return DuckdbMetadata() if dialect.name == "duckdb" else EngineMetadata()


_LOADERS = {
    "sqlite": "SqliteLoader",
    "duckdb": "DuckdbLoader",
    "postgresql": "PostgresqlLoader",
    "mysql": "MysqlLoader",
}


def takes_rows(engine_name: str) -> bool:
    """Tell whether tables are loaded into databases of this engine."""
    return engine_name in _LOADERS


def loader_of(engine_name: str) -> Loader | None:
    """Return how this engine takes rows, which is loaded with the first of them; None for one that takes none here."""
    if not takes_rows(engine_name):
        return None
    from analytics_core._engine.execution.sessions import loaders

    loader: Loader = getattr(loaders, _LOADERS[engine_name])()
    return loader
