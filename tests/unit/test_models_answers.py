"""Answers and payloads in the hands of a caller: names of older clients, attributes, moments, JSON schemas."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core import models
from analytics_core.errors import AnalyticsError, PayloadSchemaError
from analytics_core.models import (
    SHAPES,
    DashboardDataset,
    ErrorBodyWithErrors,
    ExecutePayload,
    LogGet,
    ReportRecipient,
    RowRuleGet,
    SqlQueryResult,
)
from analytics_core.models.enums import ConfigurationMethod
from analytics_core.models.parsing import parse
from analytics_core.models.report import RecipientType


def test_an_answer_gives_its_fields_in_our_spelling_and_in_the_contracts() -> None:
    query = SqlQueryResult.model_validate({"queryId": 7, "startDttm": 1.5, "schema": "main"})
    assert (query.query_id, query.queryId, query.start_dttm, query.startDttm) == (7, 7, 1.5, 1.5)
    assert (query.schema, query.schema_name) == ("main", "main")


def test_an_answer_has_no_attribute_beyond_its_fields() -> None:
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = SqlQueryResult.model_validate({}).frobnicate


def test_an_answer_writes_what_was_set_under_the_contracts_names() -> None:
    log = LogGet.model_validate(
        {"json": "{}", "dttm": dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "user_id": None}
    )
    assert log.json_text == "{}"
    assert log.to_payload() == {"json": "{}", "dttm": "2024-01-02T03:04:05Z", "user_id": None}


def test_the_names_of_older_clients_are_taken() -> None:
    dataset = DashboardDataset.model_validate({"granularity_sqla": [["at", "at"]], "time_grain_sqla": [["P1D", "Day"]]})
    assert dataset.to_payload() == {"granularity_orm": [["at", "at"]], "time_grain_orm": [["P1D", "Day"]]}
    assert ReportRecipient.model_validate({"type": "Slack"}).type is RecipientType.CHAT
    sent = {"database_name": "x", "sqlalchemy_uri": "sqlite://", "configuration_method": "sqlalchemy_form"}
    database = parse(models.DatabasePost, sent, shape="DatabaseRestApi.post")
    assert database.configuration_method is ConfigurationMethod.ORM_FORM
    assert database.orm_uri is not None
    assert database.orm_uri.get_secret_value() == "sqlite://"


def test_a_field_whose_name_pydantic_keeps_for_itself_has_another_attribute() -> None:
    sent = {"database_id": 1, "sql": "SELECT 1", "json": True, "schema": "main", "queryLimit": 5}
    payload = ExecutePayload.model_validate(sent)
    assert (payload.as_json, payload.schema_name, payload.query_limit) == (True, "main", 5)
    assert payload.model_dump(by_alias=True, exclude_unset=True) == sent


@for_each("value", ["1700000000", 1_700_000_000, 1.5, True, "1e9", "yesterday"])
def test_a_moment_is_iso_8601_text_and_never_a_number(value: Any) -> None:
    payload = {"start_dttm": value, "end_dttm": "2024-01-02T00:00:00", "short_descr": "x"}
    with pytest.raises(PayloadSchemaError, match="start_dttm: must be a moment in ISO 8601"):
        parse(models.AnnotationPost, payload, shape="AnnotationRestApi.post")


def test_a_moment_keeps_its_offset() -> None:
    payload = {"start_dttm": "2024-01-02T03:04:05+02:00", "end_dttm": "2024-01-02", "short_descr": "x"}
    annotation = parse(models.AnnotationPost, payload, shape="AnnotationRestApi.post")
    assert annotation.start_dttm.utcoffset() == dt.timedelta(hours=2)
    assert annotation.end_dttm == dt.datetime(2024, 1, 2)


@for_each(
    ("field", "value", "message"),
    [
        ("crontab", "every day", "must be a cron expression of five fields"),
        ("crontab", "0 9 * *", "must be a cron expression of five fields"),
        ("timezone", "Mars/Olympus", "must be an IANA time zone"),
        ("timezone", "Europe/Berln", "must be an IANA time zone; did you mean 'Europe/Berlin'"),
        ("timezone", "../etc/passwd", "must be an IANA time zone"),
        ("validator_config_json", {"op": "~", "threshold": 1}, "'~' is not one of"),
        ("recipients", [{"type": "Fax"}], "'Fax' is not one of Email, Chat"),
    ],
)
def test_a_report_schedule_refuses_what_it_could_never_run(field: str, value: Any, message: str) -> None:
    with pytest.raises(PayloadSchemaError, match=message):
        parse(models.ReportSchedulePost, {field: value}, shape="ReportScheduleRestApi.post")


@for_each("name", ["UTC", "GMT", "EST", "CET", "Europe/Berlin", "US/Pacific", "Etc/GMT+12"])
def test_the_time_zones_that_the_contract_names_are_taken(name: str) -> None:
    assert parse(models.ReportSchedulePost, {"timezone": name}, shape="ReportScheduleRestApi.post").timezone == name


def test_the_body_of_every_error_of_ours_is_an_error_body_of_the_contract() -> None:
    body = AnalyticsError("it broke").to_payload()
    read = ErrorBodyWithErrors.model_validate(body)
    assert (read.message, read.errors[0].message) == ("it broke", "it broke")
    assert SHAPES["ErrorBody"].model_validate(body).model_extra == {"errors": body["errors"]}


def test_the_tables_of_a_row_rule_may_say_more_than_we_know() -> None:
    rule = RowRuleGet.model_validate({"tables": [{"id": 1, "schema": "main", "table_name": "t", "catalog": "c"}]})
    assert (rule.tables[0].schema, rule.tables[0].model_extra) == ("main", {"catalog": "c"})


def test_a_json_schema_names_the_defaults_that_are_values_and_no_other() -> None:
    fields = SHAPES["DatabaseRestApi.post"].model_json_schema()["properties"]
    assert fields["configuration_method"]["default"] == "orm_form"
    assert "default" not in fields["uuid"]
    assert fields["uuid"]["format"] == "uuid"
    assert fields["orm_uri"]["writeOnly"] is True
