"""The library's own connector keeps the promises of the port, on every engine that can be run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
from tests.support.execution import REGISTRY, database, settings

from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._records.datasource import Database
from analytics_core.testing.conformance.connector import ConnectorConformance

READ = "SELECT n FROM items ORDER BY n"


class _Suite(ConnectorConformance):
    @pytest.fixture
    def connector(self, tmp_path: Path) -> Iterator[SqlAlchemyConnector]:
        found = SqlAlchemyConnector(settings=settings(tmp_path), specs=REGISTRY.get)
        yield found
        found.close()


class TestSqlite(_Suite):
    @pytest.fixture
    def database(self, tmp_path: Path) -> Database:
        with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
            connection.execute("CREATE TABLE items (n INTEGER)")
            connection.execute("INSERT INTO items VALUES (1), (2)")
        return database(f"sqlite:///{tmp_path / 'shop.db'}")

    @pytest.fixture
    def contents(self, tmp_path: Path) -> Callable[[], Any]:
        def read() -> Any:
            with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
                return connection.execute(READ).fetchall()

        return read


class TestDuckdb(_Suite):
    @pytest.fixture
    def database(self, tmp_path: Path) -> Database:
        with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
            connection.execute("CREATE TABLE items (n INTEGER)")
            connection.execute("INSERT INTO items VALUES (1), (2)")
        return database(f"duckdb:///{tmp_path / 'shop.duckdb'}")

    @pytest.fixture
    def contents(self, tmp_path: Path, connector: SqlAlchemyConnector) -> Callable[[], Any]:
        def read() -> Any:
            connector.close()
            with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
                return connection.execute(READ).fetchall()

        return read

    def test_before_a_fork_the_file_is_closed_unless_a_statement_runs(
        self, connector: SqlAlchemyConnector, database: Database, tmp_path: Path
    ) -> None:
        with connector.engine(database).connect() as in_use:
            connector.before_fork()
            assert in_use.exec_driver_sql(READ).scalars().all() == [1, 2]
            with pytest.raises(duckdb.Error):  # this process has it open for reading only
                duckdb.connect(str(tmp_path / "shop.duckdb"))
        connector.before_fork()
        duckdb.connect(str(tmp_path / "shop.duckdb")).close()


def _fill(url: str) -> Database:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE items (n INTEGER)")
        connection.exec_driver_sql("INSERT INTO items VALUES (1), (2)")
    return database(url)


def _reader(record: Database) -> Callable[[], Any]:
    def read() -> Any:
        engine = sa.create_engine(record.uri.reveal(), poolclass=sa.NullPool)
        with engine.connect() as connection:
            return connection.exec_driver_sql(READ).all()

    return read


@pytest.mark.server
class TestPostgresql(_Suite):
    @pytest.fixture
    def database(self, make_postgres_database: Callable[[], str]) -> Database:
        return _fill(make_postgres_database())

    @pytest.fixture
    def contents(self, database: Database) -> Callable[[], Any]:
        return _reader(database)


@pytest.mark.server
class TestMariadb(_Suite):
    @pytest.fixture
    def database(self, make_mariadb_database: Callable[[], str]) -> Database:
        return _fill(make_mariadb_database())

    @pytest.fixture
    def contents(self, database: Database) -> Callable[[], Any]:
        return _reader(database)


class TestMemory:
    """A database in memory passes the same promises about reading; who fills it goes through `memory_connection`."""

    @pytest.mark.parametrize("uri", ["sqlite://", "duckdb://"])
    def test_its_connections_cannot_write(self, uri: str) -> None:
        connector, record = SqlAlchemyConnector(settings=settings(), specs=REGISTRY.get), database(uri)
        with connector.memory_connection(record) as writer:
            writer.execute("CREATE TABLE items AS SELECT 1 AS n")
        with connector.engine(record).connect() as connection:
            assert connection.exec_driver_sql(READ).scalar_one() == 1
            with pytest.raises(sa.exc.SQLAlchemyError):
                connection.exec_driver_sql("INSERT INTO items VALUES (2)")
        connector.close()

    def test_it_outlives_a_new_version_of_its_record(self) -> None:
        connector, record = SqlAlchemyConnector(settings=settings(), specs=REGISTRY.get), database("sqlite://")
        with connector.memory_connection(record) as writer:
            writer.execute("CREATE TABLE items AS SELECT 1 AS n")
        changed = replace(record, audit=replace(record.audit, version=2))
        with connector.engine(changed).connect() as connection:
            assert connection.exec_driver_sql(READ).scalar_one() == 1
        connector.close()
