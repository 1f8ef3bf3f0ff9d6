"""Secrets are in no byte that the metadata store writes, and logs of statements do not show values."""

from __future__ import annotations

import logging

import pytest
import sqlalchemy as sa
from tests.support.stores import open_store

from analytics_core._content.storage.tables import METADATA
from analytics_core._records.secret import Secret
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import START, a_database

URI, TUNNEL = "postgresql://user:s3cr3t-one@host/db", '{"password": "s3cr3t-two"}'


def store_secrets(store):
    with store.unit_of_work() as unit:
        return unit.databases.add(a_database(uri=Secret(URI), ssh_tunnel=Secret(TUNNEL)), actor_id=None)


def test_no_file_of_the_store_holds_a_secret(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/meta.db", FixedClock(START)) as store:
        store_secrets(store)
        files = sorted(path for path in tmp_path.iterdir() if path.is_file())
        written = b"".join(path.read_bytes() for path in files)
    written += b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"shop" in written
    assert b"s3cr3t" not in written
    assert b"user:" not in written


@pytest.mark.server
@pytest.mark.parametrize("make", ["make_postgres_database", "make_mariadb_database"])
def test_no_row_of_the_store_holds_a_secret(request, make):
    with open_store(url := request.getfixturevalue(make)(), FixedClock(START)) as store:
        store_secrets(store)
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        rows = [tuple(row) for table in METADATA.sorted_tables for row in connection.execute(sa.select(table))]
    assert rows
    assert "s3cr3t" not in repr(rows)


def test_no_log_record_holds_a_secret_or_a_seal(caplog):
    # SQLAlchemy's loggers keep a level of their own: the root's alone would leave them silent.
    with (
        caplog.at_level(logging.DEBUG),
        caplog.at_level(logging.DEBUG, logger="sqlalchemy"),
        open_store("sqlite://", FixedClock(START)) as store,
    ):
        stored = store_secrets(store)
        with store.unit_of_work() as unit:
            assert unit.databases.get(stored.id).uri == Secret(URI)
    assert any("INSERT INTO ac_databases" in record.getMessage() for record in caplog.records)
    assert "s3cr3t" not in caplog.text
    assert "ac1." not in caplog.text
    assert stored.uuid not in caplog.text


def test_a_log_of_warnings_holds_no_statement_of_the_store(caplog):
    with caplog.at_level(logging.WARNING, logger="sqlalchemy"), open_store("sqlite://", FixedClock(START)) as store:
        caplog.handler.setLevel(logging.NOTSET)  # as the handlers of most services have
        store_secrets(store)
    assert not [record for record in caplog.records if record.name.startswith("sqlalchemy.engine")]


def test_a_host_that_gives_the_stores_logger_a_level_sees_rows(caplog):
    with (
        caplog.at_level(logging.DEBUG, logger="sqlalchemy.engine.Engine.analytics_core.store"),
        open_store("sqlite://", FixedClock(START)) as store,
    ):
        stored = store_secrets(store)
    assert stored.uuid in caplog.text
    assert "s3cr3t" not in caplog.text
