"""Stored schedules of alerts and reports, where each of them stands, their runs, and what was sent to whom."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from analytics_core._records.audit import StoredRecord
from analytics_core._records.secret import Secret
from analytics_core.models.enums import ReportType


class RunState(StrEnum):
    """Where a run stands, and what a schedule shows of its last one (contract, `last_state` and `state`).

    `MISSED` is ours: nobody looked at its time, and it is not made up for.
    """

    WORKING = "Working"
    SUCCESS = "Success"
    ERROR = "Error"
    NOT_TRIGGERED = "Not triggered"
    ON_GRACE = "On Grace"
    MISSED = "Missed"


class RunCause(StrEnum):
    """Why there is a run: its time came, its time passed while nobody looked, or somebody asked for it."""

    DUE = "due"
    MISSED = "missed"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSchedule(StoredRecord):
    """An alert or a report on a crontab; `type` and the other choices are the contract's words.

    `recipients` is a JSON text, sealed: addresses of web hooks are secrets. `selected_tabs`, `extra` and
    `validator_config_json` are JSON texts. `grace_period` and `working_timeout` are in seconds, `log_retention` in
    days, `custom_width` in pixels. `executor_id` is whose rights it runs with: of who made it, or of who named
    themselves since; None: they owned it and do so no more, and it runs as nobody.
    """

    uuid: str
    name: str
    type: str
    crontab: str
    timezone: str = "UTC"
    active: bool = True
    creation_method: str = "alerts_reports"
    description: str | None = None
    context_markdown: str | None = None
    chart_id: int | None = None
    dashboard_id: int | None = None
    database_id: int | None = None
    custom_width: int | None = None
    force_screenshot: bool = False
    grace_period: int | None = None
    log_retention: int | None = None
    working_timeout: int | None = None
    report_format: str
    selected_tabs: str | None = None
    sql: str | None = None
    validator_type: str | None = None
    validator_config_json: str | None = None
    extra: str | None = None
    recipients: Secret
    executor_id: int | None = None
    owner_ids: tuple[int, ...] = ()

    @property
    def is_alert(self) -> bool:
        """Whether it sends only when its query says so."""
        return self.type == ReportType.ALERT


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportProgress(StoredRecord):
    """Where a schedule stands: when it is due next (None: never), and what its last runs ended with.

    It is a record of its own: runs change it often, and do not stand in the way of people who change the schedule.
    `last_success_on` is when it last sent something, `last_notice_on` when its owners were last told of an error since
    a run that ended without one.
    """

    schedule_id: int
    next_due_on: datetime | None = None
    last_eval_dttm: datetime | None = None
    last_state: str | None = None
    last_value: float | None = None
    last_value_row_json: str | None = None
    last_success_on: datetime | None = None
    last_notice_on: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportExecution(StoredRecord):
    """One run of a schedule: the claim of a due time, which no second one can have, and the log of what came of it.

    `job_id` names the job that does it (None: nobody was asked yet), `attempts` how many were asked. Until
    `lease_until` whoever claimed it sees to that, or it waits for receivers that were away, and from `late_on` on it
    has taken too long; both are by the store's own time (`UnitOfWork.now`), the other moments by the clock of the core.
    `manifest` is a JSON text of what it was made of; None: nothing was made. `error_type` is the contract's, of a run
    that ended in Error.
    """

    uuid: str
    schedule_id: int
    scheduled_dttm: datetime
    cause: RunCause
    state: RunState = RunState.WORKING
    start_dttm: datetime | None = None
    end_dttm: datetime | None = None
    error_message: str | None = None
    value: float | None = None
    value_row_json: str | None = None
    job_id: str | None = None
    attempts: int = 0
    lease_until: datetime | None = None
    late_on: datetime | None = None
    manifest: str | None = None
    error_type: str | None = None

    @property
    def is_put_off(self) -> bool:
        """Whether it waits for receivers that were away, or tries them again: an open run has no other error."""
        return self.state is RunState.WORKING and self.error_message is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDelivery(StoredRecord):
    """What became of a run's message at one address; `state` is `sending` until that is known.

    `recipient_key` names the address for ever without telling it, `address` is what may be shown of it. `files` is a
    JSON text, the names of pictures and files; `attempts` counts how often the message was on its way.
    """

    execution_id: int
    recipient_key: str
    address: str
    state: str
    reason: str | None = None
    subject: str | None = None
    files: str | None = None
    attempts: int = 0
