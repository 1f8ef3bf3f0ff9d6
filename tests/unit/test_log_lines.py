"""Each event of the library's log is one line, whatever texts of people and hosts stand in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cases import for_each

import analytics_core
from analytics_core._engine.oauth.exchange import asking
from analytics_core._records.datasource import Database
from analytics_core._tools.log import line_log
from analytics_core.errors import PayloadSchemaError, Problem, TokenEndpointError

SOURCE = Path(analytics_core.__file__).parent


@for_each("separator", ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[2J", "\x00"])
def test_an_event_is_one_line_whatever_its_texts_hold(caplog: pytest.LogCaptureFixture, separator: str) -> None:
    line_log("analytics_core._tools.log").warning("%s of %d: %s", f"a{separator}b", 3, f"é{separator}WARNING forged")
    (record,) = caplog.records
    caplog.clear()
    message = record.getMessage()
    assert message.isprintable()
    assert message.startswith("a\\")
    assert " of 3: é" in message
    assert message.endswith("WARNING forged")


@for_each("separator", ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"])
def test_an_error_is_one_line_whatever_it_repeats(separator: str) -> None:
    problem = Problem(path=f"extra.a{separator}b", message="is no key that is read")
    error = PayloadSchemaError(shape="post", problems=[problem]).at(f"chart{separator}1")
    for text in (error.message, str(error), error.items()[0].message):
        assert (text[:6], len(text.splitlines())) == ("chart\\", 1)
    assert error.problems == (problem,)


def test_words_of_a_hosts_token_endpoint_begin_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def ask() -> None:
        raise TokenEndpointError("away\nERROR somebody signed in as admin")

    database = Database(uuid="u", database_name="shop", engine="sqlite", uri="sqlite://")  # type: ignore[arg-type]
    with pytest.raises(TokenEndpointError):
        asking(ask, database, may_know_why=False)
    assert [record.getMessage().splitlines() for record in caplog.records] == [[caplog.records[0].getMessage()]]


def test_every_logger_of_the_library_writes_lines() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert [name for name, text in texts.items() if "getLogger(__name__)" in text] == []
    assert sum("line_log(__name__)" in text for text in texts.values()) > 10
