"""Small records for the suites; every call makes new ones."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Database, Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import User
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import JobRecord
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock

START = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
"""The moment at which the clock of every suite starts."""


def a_database(name: str = "shop", **fields: Any) -> Database:
    """Return a database that is not stored yet."""
    given = {
        "uri": Secret("postgresql://u:hunter2@h/shop"),
        "engine": "postgresql",
        "uuid": str(uuid.uuid4()),
        **fields,
    }
    return Database(database_name=name, **given)


def a_dataset(database_id: int, name: str = "orders", **fields: Any) -> Dataset:
    """Return a dataset with two columns and a metric that is not stored yet."""
    columns = (DatasetColumn(column_name="day", type="DATE", is_dttm=True), DatasetColumn(column_name="country"))
    metrics = (DatasetMetric(metric_name="count", expression="COUNT(*)"),)
    given = {"columns": columns, "metrics": metrics, "uuid": str(uuid.uuid4()), **fields}
    return Dataset(database_id=database_id, table_name=name, **given)


def a_chart(name: str = "sales", **fields: Any) -> Chart:
    """Return a chart that is not stored yet."""
    return Chart(slice_name=name, **{"uuid": str(uuid.uuid4()), **fields})


def a_dashboard(title: str = "Sales", **fields: Any) -> Dashboard:
    """Return a dashboard that is not stored yet."""
    return Dashboard(dashboard_title=title, **{"uuid": str(uuid.uuid4()), **fields})


def a_user(username: str = "ada", **fields: Any) -> User:
    """Return a user that is not stored yet."""
    return User(username=username, **fields)


def a_job(job_id: str = "first", **fields: Any) -> JobRecord:
    """Return a job that is not stored yet."""
    return JobRecord(job_id=job_id, **{"kind": "chart-data", "payload": "{}", "user_id": 1, **fields})


class StoreSuite:
    """Override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    @pytest.fixture
    def clock(self) -> FixedClock:
        """Return the clock that the store must use."""
        return FixedClock(START)

    @pytest.fixture
    def store(self, clock: FixedClock) -> MetadataStore:
        """Return the store under test."""
        raise NotImplementedError("override the fixture `store`")
