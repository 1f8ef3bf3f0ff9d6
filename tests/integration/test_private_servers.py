"""The private servers of the tests give what other tests rely on."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

pytestmark = pytest.mark.server


def scalar(url: str, statement: str) -> object:
    engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    with engine.connect() as connection:
        return connection.execute(sa.text(statement)).scalar()


def test_each_postgres_database_is_new_and_empty(make_postgres_database):
    first, second = make_postgres_database(), make_postgres_database()
    assert first != second
    assert scalar(first, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


def test_postgres_orders_by_code_point_unless_a_language_is_named(make_postgres_database):
    question = "SELECT 'a' < 'B'"
    assert scalar(make_postgres_database(), question) is False
    assert scalar(make_postgres_database(locale="C"), question) is False


def test_postgres_with_icu_orders_by_language(make_postgres_database):
    assert scalar(make_postgres_database(icu_locale="en"), "SELECT 'a' < 'B'") is True


def test_mariadb_database_holds_every_unicode_character(make_mariadb_database):
    url = make_mariadb_database()
    assert scalar(url, "SELECT @@character_set_database") == "utf8mb4"
    assert scalar(url, "SELECT '😀'") == "😀"
