"""Shapes of report schedules: alerts and reports (contract, section Report schedule).

What the contract has no field for lives in `extra`, and cc and bcc in a recipient's configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, Field, PrivateAttr, StringConstraints, model_validator

from analytics_core.errors import ErrorType, nearest
from analytics_core.models.base import (
    Answer,
    Bool,
    Ids,
    Integer,
    JsonObject,
    JsonText,
    Moment,
    Number,
    Omittable,
    ReadOnly,
    StampedAnswer,
    StrictShape,
    Text50,
    Text100,
    Text150,
    Text250,
    Text255,
    Text1000,
    UuidText,
)
from analytics_core.models.enums import ReportType
from analytics_core.models.references import DashboardReference, UserNames, UserReference

_FIELDS_OF_CRON = 5


def _check_crontab(text: str) -> str:
    """Check the form alone; the schedule itself is read where runs are planned."""
    fields = text.split()
    is_alias = re.fullmatch(r"@[a-z]+", text.strip().lower()) is not None
    if not is_alias and (len(fields) != _FIELDS_OF_CRON or not set("".join(fields)) <= _CRON_CHARACTERS):
        raise ValueError("must be a cron expression of five fields, such as '0 9 * * 1-5', or an alias such as @daily")
    return text


def _check_timezone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        close = nearest(text, available_timezones())
        hint = f"; did you mean {close[0]!r}?" if close else ", such as 'Europe/Berlin' or 'UTC'"
        raise ValueError(f"must be an IANA time zone{hint}") from None
    return text


_CRON_CHARACTERS = frozenset("0123456789*/,-?#ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

_Crontab = Annotated[Text1000, StringConstraints(min_length=1), AfterValidator(_check_crontab)]
"""A cron expression: minute, hour, day of the month, month, day of the week; or an alias, such as @daily."""

_TimezoneName = Annotated[Text100, AfterValidator(_check_timezone)]
"""An IANA time zone."""

_AtLeastOne = Annotated[Integer, Field(ge=1)]


class ReportCreationMethod(StrEnum):
    """Where a schedule was made."""

    CHARTS = "charts"
    DASHBOARDS = "dashboards"
    ALERTS_REPORTS = "alerts_reports"


class ReportFormat(StrEnum):
    """What is sent (contract, `report_format`)."""

    PNG = "PNG"
    CSV = "CSV"
    TEXT = "TEXT"


class RecipientType(StrEnum):
    """Where a report goes; the older name `Slack` means Chat."""

    EMAIL = "Email"
    CHAT = "Chat"

    @classmethod
    def _missing_(cls, value: object) -> RecipientType | None:
        return cls.CHAT if value == "Slack" else None


class ComparisonOperator(StrEnum):
    """How an alert of type Operator compares its value with the threshold."""

    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    EQUALS = "=="
    NOT_EQUALS = "!="


class ValidatorConfig(StrictShape):
    """When an alert of type Operator fires: `value op threshold`.

    The contract names this shape, `ValidatorConfigJSON`, and does not show it; the type 'Not Null' needs neither field.
    It may be JSON text, as answers show it.
    """

    @model_validator(mode="before")
    @classmethod
    def _read_answer(cls, value: Any) -> Any:
        return _object_in(value) if isinstance(value, str) else value

    op: Omittable[ComparisonOperator] = None
    threshold: Omittable[Number] = None


class RecipientConfig(StrictShape):
    """Where a recipient is reached: e-mail addresses or a channel; cc and bcc are ours (`recipient_config_json`)."""

    target: Omittable[str] = None
    cc_target: Omittable[str] = Field(default=None, alias="ccTarget")
    bcc_target: Omittable[str] = Field(default=None, alias="bccTarget")


class ReportRecipient(StrictShape):
    """Who gets a report (contract, `ReportRecipient`).

    What an answer shows of a recipient is taken too: its number is left out, its configuration is JSON text there.
    """

    @model_validator(mode="before")
    @classmethod
    def _read_answer(cls, value: Any) -> Any:
        text = value.get("recipient_config_json") if isinstance(value, Mapping) else None
        if not isinstance(text, str):
            return value
        without_number = {name: one for name, one in value.items() if name != "id"}
        return {**without_number, "recipient_config_json": _object_in(text)}

    type: RecipientType
    recipient_config_json: Omittable[RecipientConfig] = None


def _object_in(text: str) -> Any:
    """Return the object that a text is as JSON; the text itself where it is none, to be refused as a text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text


class _ReportSchedulePayload(StrictShape):
    """What a create and an update payload share: all of it, and every field may be left out."""

    name: Omittable[Annotated[Text150, StringConstraints(min_length=1)]] = None
    type: Omittable[ReportType] = None
    crontab: Omittable[_Crontab] = None
    timezone: Omittable[_TimezoneName] = None
    creation_method: Omittable[ReportCreationMethod] = None
    active: Omittable[Bool] = None
    chart: Integer | None = None
    dashboard: Integer | None = None
    database: Omittable[Integer] = None
    description: str | None = None
    context_markdown: str | None = None
    custom_width: Integer | None = None
    force_screenshot: Omittable[Bool] = None
    grace_period: Omittable[_AtLeastOne] = None
    log_retention: Omittable[_AtLeastOne] = None
    working_timeout: Omittable[_AtLeastOne] = None
    owners: Omittable[Ids] = None
    recipients: Omittable[tuple[ReportRecipient, ...]] = None
    report_format: Omittable[ReportFormat] = None
    selected_tabs: Ids | None = None
    sql: Omittable[str] = None
    extra: Omittable[JsonObject] = None
    validator_type: Omittable[str] = None
    validator_config_json: Omittable[ValidatorConfig] = None


class ReportSchedulePost(_ReportSchedulePayload):
    """A schedule to create (contract, `ReportScheduleRestApi.post`, which does not say what is required).

    `core.reports.create` requires `name`, `type` and `crontab`. `grace_period` and `working_timeout`, which the
    contract's payload lacks, are in seconds, `log_retention` in days, `custom_width` in pixels.
    """


class ReportSchedulePut(_ReportSchedulePayload):
    """Changes of a schedule.

    The contract names this shape, `ReportScheduleRestApi.put`, and does not show it: the fields are those of a create.
    """


class ChartOfReport(Answer):
    """The chart of a schedule."""

    id: Integer = 0
    slice_name: Text250 | None = None
    viz_type: Text250 | None = None


class DatabaseOfReport(Answer):
    """The database of an alert's query."""

    id: Integer = 0
    database_name: Text250


class RecipientOfListItem(Answer):
    """A recipient as a list of schedules shows it."""

    id: Integer = 0
    type: Text50


class RecipientOfReport(RecipientOfListItem):
    """A recipient of a schedule; its configuration is JSON text here, an object in payloads."""

    recipient_config_json: JsonText | None = None


class _ReportScheduleAnswer(Answer):
    """What a schedule and an item of a list of schedules share."""

    id: Integer = 0
    name: Text150
    type: Text50
    crontab: Text1000
    timezone: Text100
    active: Bool | None = None
    description: str | None = None
    creation_method: Text255 | None = None
    last_eval_dttm: Moment | None = None
    last_state: Text50 | None = None
    owners: tuple[UserReference, ...] = ()
    extra: ReadOnly[Any] = None


class ReportScheduleGet(_ReportScheduleAnswer, StampedAnswer):
    """One schedule (contract, `ReportScheduleRestApi.get`)."""

    recipients: tuple[RecipientOfReport, ...]
    context_markdown: str | None = None
    custom_width: Integer | None = None
    force_screenshot: Bool | None = None
    grace_period: Integer | None = None
    log_retention: Integer | None = None
    working_timeout: Integer | None = None
    last_value: Number | None = None
    last_value_row_json: JsonText | None = None
    report_format: Text50 | None = None
    sql: str | None = None
    validator_type: Text100 | None = None
    validator_config_json: JsonText | None = None
    chart: ChartOfReport | None = None
    dashboard: DashboardReference | None = None
    database: DatabaseOfReport | None = None
    _executor_id: int | None = PrivateAttr(default=None)

    @property
    def executor_id(self) -> int | None:
        """The id of whose rows it shows; None: of nobody, and it sends nothing. No field: the contract has none."""
        return self._executor_id

    def run_by(self, user_id: int | None) -> Self:
        """Return this very answer with whose rows the schedule shows."""
        self._executor_id = user_id
        return self


class ReportScheduleListItem(_ReportScheduleAnswer):
    """One schedule of a list (contract, `ReportScheduleRestApi.get_list`)."""

    recipients: tuple[RecipientOfListItem, ...]
    chart_id: Integer | None = None
    dashboard_id: Integer | None = None
    created_on: Moment | None = None
    changed_on: Moment | None = None
    created_by: UserNames | None = None
    changed_by: UserNames | None = None
    changed_on_delta_humanized: ReadOnly[str] = None
    crontab_humanized: ReadOnly[str] = None


class DeliveryOfRun(Answer):
    """What became of a run's message at one address, which is masked where it is that of a web hook.

    `state` is `sending` (on its way, or its sender died), `delivered`, `refused`, `unavailable` or `unknown`;
    `attempts` counts how often it was handed over, `files` names pictures and files.
    """

    recipient: str
    state: str
    attempts: Integer
    subject: str | None = None
    files: tuple[str, ...] = ()
    reason: str | None = None


class ReportExecutionLogGet(Answer):
    """One run of a schedule (contract, `ReportExecutionLogRestApi.get`).

    What the contract's shape does not tell are attributes, which no schema and no payload shows.
    """

    id: Integer = 0
    scheduled_dttm: Moment
    start_dttm: Moment | None = None
    end_dttm: Moment | None = None
    state: Text50
    error_message: str | None = None
    uuid: UuidText | None = None
    value: Number | None = None
    value_row_json: JsonText | None = None
    _error_type: ErrorType | None = PrivateAttr(default=None)
    _deliveries: tuple[DeliveryOfRun, ...] = PrivateAttr(default=())

    @property
    def error_type(self) -> ErrorType | None:
        """What kind of error it ended with; None for a run that did not end in Error."""
        return self._error_type

    @property
    def deliveries(self) -> tuple[DeliveryOfRun, ...]:
        """What became of its messages, address by address; lists leave them out, and `reports.execution` has them."""
        return self._deliveries

    def completed(self, error_type: str | None, deliveries: tuple[DeliveryOfRun, ...] = ()) -> Self:
        """Return this very answer with what the contract's shape does not tell."""
        self._error_type, self._deliveries = None if error_type is None else ErrorType(error_type), deliveries
        return self


class ReportExecutionLogListItem(ReportExecutionLogGet):
    """One run of a list (contract, `ReportExecutionLogRestApi.get_list`)."""
