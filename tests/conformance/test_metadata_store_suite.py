"""The library's metadata store keeps the promises of the port on every kind of database it can live in."""

from __future__ import annotations

import pytest
from tests.support.stores import empty_store, open_store

from analytics_core.testing.store import StoreConformance


@pytest.fixture(scope="module")
def postgres_store_url(postgres_server):
    """A database whose own order is a language's, where the server can: the store must not follow it."""
    return postgres_server.make_database(icu_locale="en" if postgres_server.supports_icu() else None)


@pytest.fixture(scope="module")
def mariadb_store_url(make_mariadb_database):
    return make_mariadb_database()


class TestInMemory(StoreConformance):
    @pytest.fixture
    def store(self, clock, secret_box):
        with open_store("sqlite://", clock, box=secret_box) as store:
            yield store


@pytest.mark.repeats
class TestInSqliteFile(StoreConformance):
    @pytest.fixture
    def store(self, clock, secret_box, tmp_path):
        with open_store(f"sqlite:///{tmp_path}/meta.db", clock, box=secret_box) as store:
            yield store


@pytest.mark.server
class TestInPostgres(StoreConformance):
    @pytest.fixture
    def store(self, clock, secret_box, postgres_store_url):
        with open_store(postgres_store_url, clock, box=secret_box) as store:
            yield store
        empty_store(postgres_store_url)


@pytest.mark.server
class TestInMariadb(StoreConformance):
    @pytest.fixture
    def store(self, clock, secret_box, mariadb_store_url):
        with open_store(mariadb_store_url, clock, box=secret_box) as store:
            yield store
        empty_store(mariadb_store_url)
