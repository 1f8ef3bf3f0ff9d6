"""Which URLs can keep metadata, and what a refusal says."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each
from tests.support.stores import open_store

from analytics_core._records.secret import Secret
from analytics_core._storage.store_engine import is_memory, make_store_engine
from analytics_core.errors import SettingsError, StoreUnavailableError
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.conformance.records import START


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "sqlite+pysqlite://"])
def test_memory_is_known_as_such(url):
    engine = make_store_engine(url)
    assert is_memory(engine)
    engine.dispose()


@for_each(
    ("url", "driver"),
    [
        ("postgresql://u@h/d", "postgresql+psycopg"),
        ("postgresql+psycopg://u@h/d", "postgresql+psycopg"),
        ("mysql://u@h/d", "mysql+pymysql"),
        ("mariadb://u@h/d", "mariadb+pymysql"),
        ("sqlite:///x.db", "sqlite+pysqlite"),
    ],
)
def test_the_supported_driver_is_chosen(url, driver):
    assert make_store_engine(url).url.drivername == driver


@for_each(
    "url",
    [
        "",
        "meta.db",
        "duckdb:///x",
        "postgresql+pg8000://u:hunter2@h/d",
        "oracle://u:hunter2@h",
        "sqlite+aiosqlite:///x",
        "sqlite://u:hunter2@h/x",
        "sqlite:///x?timeout=hunter2",
        "sqlite:///hunter2\0.db",
        "mysql://u@h/d?read_timeout=hunter2",
    ],
)
def test_other_urls_are_refused_and_not_repeated(url):
    with pytest.raises(SettingsError) as rejection:
        make_store_engine(url)
    assert "hunter2" not in str(rejection.value)


def test_a_secret_url_is_taken_as_it_is():
    assert make_store_engine(Secret("sqlite:///x.db")).url.database == "x.db"


def test_the_password_of_a_server_shows_nowhere():
    engine = make_store_engine("postgresql://u:hunter2@h/d")
    assert "hunter2" not in repr(engine) + str(engine.url)


def test_a_folder_that_is_not_there_is_a_typed_error_without_its_path(tmp_path):
    with (
        pytest.raises(StoreUnavailableError) as rejection,
        open_store(f"sqlite:///{tmp_path}/no/meta.db", FixedClock(START)),
    ):
        pass
    assert str(tmp_path) not in str(rejection.value)
    assert not rejection.value.retryable
    assert rejection.value.__cause__ is None


def test_a_server_that_does_not_answer_is_a_typed_error_without_the_password():
    url = "postgresql://u:hunter2@127.0.0.1:1/d"
    with pytest.raises(StoreUnavailableError) as rejection, open_store(url, FixedClock(START)):
        pass
    assert "hunter2" not in str(rejection.value) + repr(rejection.value)
    assert rejection.value.__cause__ is None
    assert rejection.value.retryable
