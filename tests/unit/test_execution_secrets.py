"""No secret in any text: logs at debug level, representations, errors and their chains."""

from __future__ import annotations

import copy
import logging
import pickle
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.support.cases import for_each
from tests.support.execution import Target, admission, make_sqlite_file, target

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.reflection import Reflector
from analytics_core._records.secret import Secret
from analytics_core.errors import AnalyticsError

WORD = "s3cr3t/w@rd"
FORMS = (WORD, quote(WORD, safe=""), "s3cr3t")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Target]:
    make_sqlite_file(tmp_path / "shop.db", "CREATE TABLE t (name TEXT)", f"INSERT INTO t VALUES ('{WORD}')")
    with target(f"sqlite:///{tmp_path / 'shop.db'}", tmp_path) as found:
        yield found


@pytest.fixture
def nowhere() -> Iterator[Target]:
    uri = f"postgresql://ann:{quote(WORD, safe='')}@127.0.0.1:1/shop?application_name=bi"
    with target(uri) as found:
        yield found


def error_of(found: Target, sql: str, parameters: Any = ()) -> AnalyticsError:
    with pytest.raises(AnalyticsError) as caught:
        found.run(sql, parameters)
    return caught.value


def texts_of(error: BaseException) -> list[str]:
    """Return all that a logger or a crash reporter would show of an error, chained ones included."""
    texts = [repr(error), str(error), "".join(traceback.format_exception(error))]
    for chained in (error.__cause__, error.__context__):
        texts.extend(texts_of(chained) if chained else ())
    return texts


def test_an_error_of_a_connection_tells_no_password(nowhere: Target) -> None:
    error = error_of(nowhere, "SELECT 1")
    for text in (*texts_of(error), str(error.to_payload()), repr(nowhere.connector), repr(nowhere.record)):
        assert not [form for form in FORMS if form in text]


@for_each("place", ["127.0.0.1:1", "10.0.0.1:5432", "no-such-host.invalid:5432"])
def test_why_a_connection_fails_is_told_to_nobody_who_may_not_know(nowhere: Target, place: str) -> None:
    record = replace(nowhere.record, uri=Secret(f"postgresql://ann@{place}/shop"))
    messages = []
    for may_know_why in (True, False):
        with pytest.raises(AnalyticsError) as caught:
            Reflector(nowhere.connector).tables(admission(record, may_know_why=may_know_why))
        messages.append(caught.value.message)
    assert messages[1] == "the database cannot be reached; an administrator learns why by testing its connection"
    assert messages[0] != messages[1]


def test_the_pooled_engine_tells_no_password(nowhere: Target) -> None:
    engine = nowhere.connector.engine(nowhere.record)
    for text in (repr(engine), str(engine.url), repr(engine.pool), str(engine.pool.status())):
        assert not [form for form in FORMS if form in text]


@pytest.mark.logs_secrets("the word is in the text of a statement, which is no secret where SQLAlchemy logs it")
@for_each(
    ("sql", "parameters"),
    [
        ("SELECT ? FROM nosuch", (WORD,)),
        (f"SELECT '{WORD}' FROM nosuch", ()),
        (f"SELECT '{WORD}' FRO t", ()),
        ("SELECT json(?)", (WORD,)),
        (f"DELETE FROM t WHERE name = '{WORD}'", ()),
    ],
)
def test_an_error_of_a_statement_repeats_neither_its_text_nor_its_values(
    shop: Target, sql: str, parameters: tuple[str, ...]
) -> None:
    error = error_of(shop, sql, parameters)
    assert not [form for form in FORMS if form in str(error.to_payload())]
    assert (error.__cause__, error.__context__) == (None, None)


def test_logs_at_debug_level_hold_no_secret(shop: Target, nowhere: Target, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    shop.rows("SELECT name FROM t WHERE name = ?", (WORD,), columns={"name": ValueKind.TEXT})
    error_of(shop, "SELECT ? FROM nosuch", (WORD,))
    error_of(nowhere, "SELECT 1")
    with suppress(AnalyticsError):
        Reflector(nowhere.connector).tables(nowhere.admission)
    assert not [record for record in caplog.records if any(form in record.getMessage() for form in FORMS)]
    assert not [form for form in FORMS if form in caplog.text]


def test_a_record_with_a_secret_is_neither_pickled_nor_told_by_a_copy(nowhere: Target) -> None:
    with pytest.raises(TypeError):
        pickle.dumps(nowhere.record)
    with suppress(TypeError):
        assert "s3cr3t" not in repr(copy.copy(nowhere.record))
