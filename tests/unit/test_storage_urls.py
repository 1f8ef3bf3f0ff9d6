"""Which URLs can keep metadata, and what a refusal says."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.stores import open_store

from analytics_core._content.storage.column_types import LongText, Name, RowCheck
from analytics_core._content.storage.failures import failure_of, store_border
from analytics_core._content.storage.store_engine import is_memory, make_store_engine
from analytics_core._records.secret import Secret
from analytics_core.errors import PayloadSchemaError, SettingsError, StoreUnavailableError
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import START


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


class DriverError(Exception):
    """What a driver raises: PyMySQL's number comes first in `args`, others name a code in a member."""

    def __init__(self, *args: object, **codes: str) -> None:
        super().__init__(*args)
        self.__dict__.update(codes)


@for_each(
    ("origin", "message", "passes"),
    [
        (DriverError(1205, "secret"), "locked", True),
        (DriverError(1045, "secret"), "does not accept the user and password", False),
        (DriverError("secret", sqlite_errorname="SQLITE_BUSY"), "locked", True),
        (DriverError("secret", sqlite_errorname="SQLITE_NOTADB"), "damaged", False),
        (DriverError("secret", sqlstate="3D000"), "database", False),
        (DriverError("secret", sqlstate="57P01"), "reached", True),
        (DriverError("connection refused by secret"), "reached", True),
        (DriverError("FATAL:  permission denied for secret"), "right", False),
        (DriverError("secret"), "does not answer or refused a statement", True),
        (DriverError(), "does not answer or refused a statement", True),
        (None, "does not answer or refused a statement", True),
    ],
)
def test_a_failure_of_the_store_says_by_the_drivers_code_what_it_is_and_whether_it_passes(origin, message, passes):
    with pytest.raises(StoreUnavailableError) as rejection, store_border():
        raise sa.exc.OperationalError("SELECT secret", None, origin)
    assert message in str(rejection.value)
    assert "secret" not in str(rejection.value)
    assert rejection.value.retryable is passes


@for_each(
    ("origin", "kind"),
    [
        (DriverError(1062), "UNIQUE"),
        (DriverError("", sqlite_errorname="SQLITE_CONSTRAINT_PRIMARYKEY"), "UNIQUE"),
        (DriverError("", sqlstate="23505"), "UNIQUE"),
        (DriverError(1451), "REFERENCE"),
        (DriverError("", sqlstate="40P01"), "CONCURRENT"),
        (DriverError(1213), "UNDONE"),
        (DriverError(9), "OTHER"),
        (DriverError(), "OTHER"),
    ],
)
def test_a_broken_constraint_is_known_by_the_code_of_each_driver(origin, kind):
    assert failure_of(sa.exc.IntegrityError("INSERT", None, origin)).name == kind


def test_values_are_refused_from_one_beyond_what_every_store_holds():
    columns = sa.Column("n", sa.Integer()), sa.Column("b", sa.LargeBinary()), sa.Column("s", Name(3))
    table = sa.Table("t", sa.MetaData(), *columns, sa.Column("x", LongText()))
    longest = "é" * (2**23 - 1) + "a"  # MEDIUMTEXT of MariaDB holds 2**24 - 1 bytes
    RowCheck(table)("record", {"n": 2**31 - 1, "b": bytes(8_000_000), "s": "ééé", "x": longest})
    RowCheck(table)("record", {"n": -(2**31), "b": None})
    with pytest.raises(PayloadSchemaError) as refusal:
        RowCheck(table)("record", {"n": 2**31, "b": bytes(8_000_001), "s": "éééé", "x": longest + "a"})
    assert [problem.path for problem in refusal.value.problems] == ["n", "b", "s", "x"]
    for value in (-(2**31) - 1, True, 1.0):
        with pytest.raises(PayloadSchemaError, match="must be an integer between -2147483648 and 2147483647"):
            RowCheck(table)("record", {"n": value})
