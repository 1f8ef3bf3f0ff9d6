"""What every `Connector` must keep."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from analytics_core._records.datasource import Access, Database, Identity
from analytics_core._records.secret import Secret
from analytics_core.errors import AnalyticsError, ConnectionUriError, DatabaseAccessError, UnsupportedByEngineError
from analytics_core.ports import Connector

Contents = Callable[[], Any]


class ConnectorConformance:
    """Subclass it and override the fixtures `connector`, `database` and `contents`."""

    @pytest.fixture
    def connector(self) -> Connector:
        """Return the connector under test."""
        raise NotImplementedError("override the fixture `connector`")

    @pytest.fixture
    def database(self) -> Database:
        """Return a database that the connector may open, with a table `items` of one column `n` that holds 1 and 2."""
        raise NotImplementedError("override the fixture `database`")

    @pytest.fixture
    def contents(self) -> Contents:
        """Return a function that reads `items` past the connector, sorted."""
        raise NotImplementedError("override the fixture `contents`")

    def test_the_same_version_gives_the_same_engine(self, connector: Connector, database: Database) -> None:
        """One pool per database, version and identity."""
        assert connector.engine(database) is connector.engine(replace(database))

    def test_another_version_gives_another_engine(self, connector: Connector, database: Database) -> None:
        """A changed record never runs on connections of the former one."""
        changed = replace(database, audit=replace(database.audit, version=database.audit.version + 1))
        assert connector.engine(changed) is not connector.engine(database)

    def test_two_databases_have_two_engines(self, connector: Connector, database: Database) -> None:
        """Also when they point to the same place."""
        other = replace(database, id=database.id + 1, uuid="another")
        assert connector.engine(other) is not connector.engine(database)

    def test_identities_have_engines_of_their_own_where_the_database_impersonates(
        self, connector: Connector, database: Database
    ) -> None:
        """And only there."""
        impersonating = replace(database, impersonate_user=True, id=database.id + 1)
        ann, bob = Identity(username="ann"), Identity(username="bob")
        engines = [connector.engine(impersonating, identity=who) for who in (ann, bob, replace(ann))]
        assert engines[0] is engines[2]
        assert engines[0] is not engines[1]
        assert connector.engine(database, identity=ann) is connector.engine(database, identity=bob)

    def test_many_threads_get_one_engine(self, connector: Connector, database: Database) -> None:
        """Nobody makes a second pool in a race."""
        with ThreadPoolExecutor(8) as threads:
            engines = list(threads.map(lambda _: connector.engine(database), range(32)))
        assert len(set(map(id, engines))) == 1

    def test_connections_read(self, connector: Connector, database: Database) -> None:
        """The engine is one of SQLAlchemy's."""
        with connector.engine(database).connect() as connection:
            rows = connection.exec_driver_sql("SELECT n FROM items ORDER BY n").all()
        assert [tuple(row) for row in rows] == [(1,), (2,)]

    @pytest.mark.parametrize(
        "statement",
        ["INSERT INTO items VALUES (3)", "DELETE FROM items", "UPDATE items SET n = 5", "DROP TABLE items"],
    )
    def test_connections_cannot_write(
        self, connector: Connector, database: Database, contents: Contents, statement: str
    ) -> None:
        """The database itself refuses, whatever runs."""
        before = contents()
        with connector.engine(database).connect() as connection, pytest.raises(SQLAlchemyError):
            connection.exec_driver_sql(statement)
        connector.dispose(database.id)
        assert contents() == before

    def test_connections_cannot_write_later_either(
        self, connector: Connector, database: Database, contents: Contents
    ) -> None:
        """Neither in a second transaction, nor when the pool gives the connection out again."""
        before, engine = contents(), connector.engine(database)
        for _connection in range(3):
            with engine.connect() as connection:
                self._fail_to_write(connection)
                self._fail_to_write(connection)
        connector.dispose(database.id)
        assert contents() == before

    def test_write_access_is_asked_for_by_name_where_the_database_allows_it(
        self, connector: Connector, database: Database, contents: Contents
    ) -> None:
        """The other connections of the same database go on reading only; an engine that cannot write says so."""
        with pytest.raises(DatabaseAccessError):
            connector.engine(database, access=Access.WRITE)
        open_to_sql = replace(database, allow_dml=True, id=database.id + 4)
        try:
            writing = connector.engine(open_to_sql, access=Access.WRITE)
        except UnsupportedByEngineError:
            return
        assert writing is connector.engine(open_to_sql, access=Access.WRITE)
        assert writing is not connector.engine(open_to_sql)
        with writing.begin() as connection:
            connection.exec_driver_sql("INSERT INTO items VALUES (3)")
        with connector.engine(open_to_sql).connect() as connection:
            self._fail_to_write(connection)
            assert connection.exec_driver_sql("SELECT count(*) FROM items").scalar_one() == 3
        with writing.begin() as connection:
            connection.exec_driver_sql("DELETE FROM items WHERE n = 3")
        connector.dispose(open_to_sql.id)
        assert [tuple(row) for row in contents()] == [(1,), (2,)]

    def _fail_to_write(self, connection: Connection) -> None:
        with pytest.raises(SQLAlchemyError):
            connection.exec_driver_sql("INSERT INTO items VALUES (3)")
        connection.rollback()
        connection.exec_driver_sql("SELECT n FROM items").all()
        connection.commit()

    def test_a_disposed_database_can_be_opened_again(self, connector: Connector, database: Database) -> None:
        """Disposing twice is allowed."""
        before = connector.engine(database)
        connector.dispose(database.id)
        connector.dispose(database.id)
        assert connector.engine(database) is not before
        self.test_connections_read(connector, database)

    def test_closing_closes_all_and_may_be_repeated(self, connector: Connector, database: Database) -> None:
        """No connection stays open."""
        engine = connector.engine(database)
        with engine.connect():
            pass
        connector.close()
        connector.close()
        assert connector.engine(database) is not engine

    @pytest.mark.parametrize("uri", ["", "no uri", "evil+driver://h/d", "sqlite+evil:////etc/passwd"])
    def test_a_uri_that_is_not_allowed_is_a_typed_error(
        self, connector: Connector, database: Database, uri: str
    ) -> None:
        """It does not repeat the URI."""
        with pytest.raises(ConnectionUriError) as caught:
            connector.engine(replace(database, id=database.id + 2, uri=Secret(uri)))
        assert "passwd" not in str(caught.value.to_payload())

    def test_a_password_is_in_no_text(self, connector: Connector, database: Database) -> None:
        """Neither of the engine nor of an error."""
        uri = "postgresql://ann:s3cr3tw0rd@127.0.0.1:1/nowhere"
        try:
            text = repr(connector.engine(replace(database, id=database.id + 3, uri=Secret(uri))))
        except AnalyticsError as error:
            text = f"{error!r} {error.to_payload()}"
        assert "s3cr3tw0rd" not in text
