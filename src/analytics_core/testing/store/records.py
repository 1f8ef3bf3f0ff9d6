"""Small records that are not stored yet, for tests of stores and of what stands on them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any, Final

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Database, Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import User
from analytics_core._records.report import ReportSchedule
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import JobRecord, OAuth2TokenRecord

START = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
"""The moment at which the clock of every suite starts."""

NO_USER: Final = 1_000_000
"""An id that no suite gives: what somebody else is called, whom nobody deletes, and what is not there."""


def a_database(name: str = "shop", **given: Any) -> Database:
    """Return a database that is not stored yet."""
    uri = Secret("postgresql://u:hunter2@h/shop")
    return Database(database_name=name, **{"uri": uri, "engine": "postgresql", "uuid": new_uuid(), **given})


def a_dataset(database_id: int, name: str = "orders", **given: Any) -> Dataset:
    """Return a dataset with two columns and a metric that is not stored yet."""
    columns = (DatasetColumn(column_name="day", type="DATE", is_dttm=True), DatasetColumn(column_name="country"))
    metrics = (DatasetMetric(metric_name="count", expression="COUNT(*)"),)
    made = {"columns": columns, "metrics": metrics, "uuid": new_uuid(), **given}
    return Dataset(database_id=database_id, table_name=name, **made)


def a_chart(name: str = "sales", **given: Any) -> Chart:
    """Return a chart that is not stored yet."""
    return Chart(slice_name=name, **{"uuid": new_uuid(), **given})


def a_dashboard(title: str = "Sales", **given: Any) -> Dashboard:
    """Return a dashboard that is not stored yet."""
    return Dashboard(dashboard_title=title, **{"uuid": new_uuid(), **given})


def a_user(username: str = "ada", **given: Any) -> User:
    """Return a user that is not stored yet."""
    return User(username=username, **given)


def a_job(job_id: str = "first", **given: Any) -> JobRecord:
    """Return a job that is not stored yet."""
    return JobRecord(job_id=job_id, **{"kind": "chart-data", "payload": "{}", "user_id": 1, **given})


def a_token(user_id: int, database_id: int, **given: Any) -> OAuth2TokenRecord:
    """Return the OAuth 2.0 tokens of a user for a database that are not stored yet."""
    return OAuth2TokenRecord(user_id=user_id, database_id=database_id, **{"client": "c", **given})


def a_schedule(name: str = "daily", **given: Any) -> ReportSchedule:
    """Return the schedule of a report that is not stored yet."""
    least = {"uuid": new_uuid(), "type": "Report", "crontab": "0 9 * * *", "report_format": "TEXT"}
    return ReportSchedule(name=name, **{**least, "recipients": Secret("[]"), **given})


def new_uuid() -> str:
    """Return a uuid that no record has."""
    return str(uuid.uuid4())
