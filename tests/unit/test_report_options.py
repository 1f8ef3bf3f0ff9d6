"""The options of a schedule: what is read of `extra`, what is wrong with it, and what texts may name."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._records.dashboard import Dashboard
from analytics_core._records.report import ReportSchedule
from analytics_core._records.secret import Secret
from analytics_core._reports.options import (
    DeliveryPromise,
    FurtherFormat,
    MissedRuns,
    ReportOptions,
    RunAs,
    extra_in,
    options_in,
    options_of,
    size_problem,
)
from analytics_core._reports.records import selected_tabs
from analytics_core._reports.texts import FACTS, RunFacts, filled_in, local_time, unknown_names
from analytics_core.errors import StoredDataError

LONGEST = "x" * 10_000
SECONDS = "must be a whole number of seconds, from 300 to 86400"
KEYS = "format, missed, run_as, delivery, subject, body, filters, tabs, attach, skip_when_empty, keep_trying_s"


def test_every_option_is_read_as_it_was_written() -> None:
    given = {
        "format": "XLSX",
        "missed": "all",
        "run_as": "recipient",
        "delivery": "at_least_once",
        "filters": {"region": ["North"]},
        "tabs": ["Sales"],
        "subject": LONGEST,
        "body": "Sales of {{ name }}",
    }
    meant = ReportOptions(
        format=FurtherFormat.XLSX,
        missed=MissedRuns.ALL,
        run_as=RunAs.RECIPIENT,
        delivery=DeliveryPromise.AT_LEAST_ONCE,
        filters={"region": ["North"]},
        tabs=["Sales"],
        subject=LONGEST,
        body="Sales of {{ name }}",
    )
    assert options_in(given) == (meant, ())
    assert options_of(json.dumps(given)) == meant


def test_what_is_not_given_or_null_has_the_default_of_the_contract() -> None:
    default = ReportOptions(
        missed=MissedRuns.LATEST, run_as=RunAs.EXECUTOR, delivery=DeliveryPromise.AT_MOST_ONCE, filters={}, tabs=()
    )
    nothing: dict[str, Any] = dict.fromkeys(("format", "missed", "run_as", "delivery", "filters", "tabs", "subject"))
    assert options_in({}) == options_in(nothing) == (default, ())
    assert options_of(None) == options_of("") == options_of('{"own": 1}') == default


def test_what_is_wrong_is_named_and_not_read() -> None:
    cases: tuple[tuple[str, Any, str], ...] = (
        ("format", "CSV", "must be one of XLSX, PDF"),
        ("missed", "some", "must be one of skip, latest, all"),
        ("run_as", "owner", "must be one of executor, recipient, or the id or user name of who saves it"),
        ("delivery", 1, "must be one of at_most_once, at_least_once"),
        ("subject", LONGEST + "x", "must be a text of at most 10000 characters"),
        ("body", 5, "must be a text of at most 10000 characters"),
        ("body", "{{ nmae }}", "names 'nmae' in double braces; did you mean 'name'?"),
        ("filters", ["region"], "must be an object: the filters that `dashboards.data` takes"),
        ("tabs", "Sales", "must be an array of texts: titles or ids of tabs"),
        ("tabs", ["Sales", 1], "must be an array of texts: titles or ids of tabs"),
        ("attach", ["CSV", "PDF"], "must be an array of CSV, XLSX"),
        ("attach", "CSV", "must be an array of CSV, XLSX"),
        ("attach", [[]], "must be an array of CSV, XLSX"),
        ("skip_when_empty", 1, "must be true or false"),
        *(("keep_trying_s", wrong, SECONDS) for wrong in (0, 299, 86_401, 400.5, True, "400")),
        ("dashboard", {"a": 1}, "is not read; name filters in extra.filters, and tabs in extra.tabs"),
        ("filter", {}, "is no key that is read; did you mean 'filters'?"),
        ("recipient", None, f"is no key that is read; the keys are {KEYS}"),
    )
    for name, value, message in cases:
        options, problems = options_in({name: value})
        assert [(problem.path, problem.message) for problem in problems] == [(f"extra.{name}", message)], name
        assert options == ReportOptions()


def test_an_empty_state_of_a_dashboard_as_clients_send_it_is_no_problem() -> None:
    assert options_in({"dashboard": {}}) == (ReportOptions(), ())


def test_stored_options_that_cannot_be_read_are_an_error_and_unread_keys_are_not() -> None:
    for text in ("[]", "{", "3", '{"missed": "some"}', '{"tabs": 3}', "[" * 100_000):
        with pytest.raises(StoredDataError, match="save it anew"):
            options_of(text)
    assert options_of('{"filter": {}, "dashboard": {"a": 1}}') == ReportOptions()
    assert extra_in('{"own": 1}') == {"own": 1}


def test_an_extra_has_a_most_of_keys_and_of_characters() -> None:
    most_keys = {f"k{number}": 0 for number in range(100)}
    assert size_problem(most_keys) is None
    assert getattr(size_problem({**most_keys, "one": 0}), "message", None) == "may have 100 keys at most"
    frame = len(json.dumps({"k": ""}))
    assert size_problem({"k": "é" * (100_000 - frame)}) is None
    problem = size_problem({"k": "é" * (100_001 - frame)})
    assert problem is not None
    assert (problem.path, problem.message) == ("extra", "may take 100000 characters as JSON at most")


def test_texts_have_facts_in_the_places_of_their_names_and_nothing_else_changes() -> None:
    facts = RunFacts(name="n", type="Alert", title="t", scheduled="s", value="3", link="l")
    assert filled_in("{{name}} {{ title }}|{{  value }} {{link}} {{type}} {{scheduled}}", facts) == "n t|3 l Alert s"
    assert filled_in("{{ other }} {name} {{na me}}", facts) == "{{ other }} {name} {{na me}}"
    report = RunFacts(name="n", type="Report", title="t", scheduled="s")
    assert filled_in("<{{ value }}{{ link }}>", report) == "<>"
    assert FACTS == ("name", "type", "title", "scheduled", "value", "link")


def test_names_that_are_no_facts_and_lonely_braces_are_problems() -> None:
    assert list(unknown_names("{{ name }} { } {{value}}")) == []
    assert list(unknown_names("{{ qqq }}")) == [
        "names 'qqq' in double braces; it may name name, type, title, scheduled, value, link"
    ]
    lonely = "has double braces without their counterparts; a name stands as {{ name }}"
    for text in ("{{ name", "name }}", "{{ {{ name }} }}"):
        assert list(unknown_names(text)) == [lonely], text
    assert len(list(unknown_names("{{ a }} {{ b }}"))) == 2


def test_a_due_time_is_written_in_the_zone_of_the_schedule() -> None:
    moment = datetime(2026, 3, 29, 7, 5, 59, tzinfo=UTC)
    assert local_time(moment, "Europe/Berlin") == "2026-03-29 09:05 CEST"
    with pytest.raises(StoredDataError, match="is no time zone that this system knows"):
        local_time(moment, "Europe/Nowhere")


@for_each("text", ["[", "7", '"x"', '{"a": 1}', "[null]", "[1.5]"])
def test_stored_numbers_of_tabs_that_cannot_be_read_are_a_typed_error(text: str) -> None:
    named = {"uuid": "u", "name": "weekly", "type": "Report", "crontab": "@weekly"}
    schedule = ReportSchedule(**named, report_format="PNG", recipients=Secret("[]"), selected_tabs=text)
    board = Dashboard(uuid="b", dashboard_title="Board", position_json=json.dumps({"TAB-1": {"type": "TAB"}}))
    with pytest.raises(StoredDataError, match="selected_tabs of report schedule"):
        selected_tabs(schedule, board)
