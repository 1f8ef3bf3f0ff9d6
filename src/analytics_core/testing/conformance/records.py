"""Small records for the suites, and one of every kind with as little in it as can be, or with every field given."""

from __future__ import annotations

import types
import typing
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from analytics_core._records.audit import LogEntry
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, EmbeddedDashboard, Favourite, Tag
from analytics_core._records.datasource import Database, Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.people import Grant, GrantTarget, Role, RowRule, RowRuleType, User
from analytics_core._records.report import (
    ReportDelivery,
    ReportExecution,
    ReportProgress,
    ReportSchedule,
    RunCause,
    RunState,
)
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import (
    JobRecord,
    JobResultPart,
    JobState,
    JobWorker,
    KeyValue,
    LockRecord,
    OAuth2TokenRecord,
)
from analytics_core._records.sql_query import QueryState, SavedQuery, SqlQuery
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock

START = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
"""The moment at which the clock of every suite starts."""


def a_database(name: str = "shop", **given: Any) -> Database:
    """Return a database that is not stored yet."""
    uri = Secret("postgresql://u:hunter2@h/shop")
    return Database(database_name=name, **{"uri": uri, "engine": "postgresql", "uuid": _new_uuid(), **given})


def a_dataset(database_id: int, name: str = "orders", **given: Any) -> Dataset:
    """Return a dataset with two columns and a metric that is not stored yet."""
    columns = (DatasetColumn(column_name="day", type="DATE", is_dttm=True), DatasetColumn(column_name="country"))
    metrics = (DatasetMetric(metric_name="count", expression="COUNT(*)"),)
    made = {"columns": columns, "metrics": metrics, "uuid": _new_uuid(), **given}
    return Dataset(database_id=database_id, table_name=name, **made)


def a_chart(name: str = "sales", **given: Any) -> Chart:
    """Return a chart that is not stored yet."""
    return Chart(slice_name=name, **{"uuid": _new_uuid(), **given})


def a_dashboard(title: str = "Sales", **given: Any) -> Dashboard:
    """Return a dashboard that is not stored yet."""
    return Dashboard(dashboard_title=title, **{"uuid": _new_uuid(), **given})


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
    least = {"uuid": _new_uuid(), "type": "Report", "crontab": "0 9 * * *", "report_format": "TEXT"}
    return ReportSchedule(name=name, **{**least, "recipients": Secret("[]"), **given})


def _new_uuid() -> str:
    return str(uuid.uuid4())


# ------------------------------------------------------------------------------------------------------- every kind
@dataclass(frozen=True, slots=True, kw_only=True)
class NamedIds:
    """The ids of stored records that other records name."""

    database: int
    dataset: int
    chart: int
    dashboard: int
    role: int
    tag: int
    layer: int
    job: int
    schedule: int
    execution: int


NOBODY: Final = 1_000_000
"""An id that no suite gives: what somebody else is called, whom nobody deletes, and what is not there."""


def store_named(unit: UnitOfWork) -> NamedIds:
    """Store one record of each kind that others name."""
    database = unit.databases.append(a_database("named"), actor_id=None)
    schedule = unit.report_schedules.append(a_schedule("named"), actor_id=None)
    run = ReportExecution(uuid=_new_uuid(), schedule_id=schedule, scheduled_dttm=START, cause=RunCause.DUE)
    return NamedIds(
        database=database,
        dataset=unit.datasets.append(a_dataset(database, "named"), actor_id=None),
        chart=unit.charts.append(a_chart("named"), actor_id=None),
        dashboard=unit.dashboards.append(a_dashboard("named"), actor_id=None),
        role=unit.roles.append(Role(name="named"), actor_id=None),
        tag=unit.tags.append(Tag(name="named"), actor_id=None),
        layer=unit.annotation_layers.append(AnnotationLayer(name="named"), actor_id=None),
        job=unit.jobs.append(a_job("named", user_id=NOBODY), actor_id=None),
        schedule=schedule,
        execution=unit.report_executions.append(run, actor_id=None),
    )


BARE: Final[Mapping[str, Callable[[NamedIds], Any]]] = {
    "users": lambda _: User(username="u"),
    "roles": lambda _: Role(name="r"),
    "databases": lambda _: Database(uuid=_new_uuid(), database_name="d", uri=Secret("s"), engine="sqlite"),
    "datasets": lambda t: Dataset(uuid=_new_uuid(), database_id=t.database, table_name="t"),
    "charts": lambda _: Chart(uuid=_new_uuid(), slice_name="c"),
    "dashboards": lambda _: Dashboard(uuid=_new_uuid()),
    "annotation_layers": lambda _: AnnotationLayer(name="l"),
    "annotations": lambda t: Annotation(layer_id=t.layer, start_dttm=START, end_dttm=START, short_descr="a"),
    "css_templates": lambda _: CssTemplate(),
    "tags": lambda _: Tag(name="g"),
    "favourites": lambda _: Favourite(user_id=1, target="chart", target_id=1),
    "embedded": lambda t: EmbeddedDashboard(uuid=_new_uuid(), dashboard_id=t.dashboard),
    "row_rules": lambda _: RowRule(name="w", clause="1 = 0"),
    "logs": lambda _: LogEntry(action="view"),
    "key_values": lambda _: KeyValue(kind="k", key="k", value="{}"),
    "jobs": lambda _: JobRecord(job_id="j", kind="k", payload="{}", user_id=1),
    "job_results": lambda t: JobResultPart(job_record_id=t.job, position=0, data=b""),
    "job_workers": lambda _: JobWorker(token="w", lease_until=START),
    "locks": lambda _: LockRecord(name="k", owner="o", ends_on=START),
    "oauth2_tokens": lambda t: a_token(NOBODY, t.database),
    "report_schedules": lambda _: a_schedule(),
    "report_progress": lambda t: ReportProgress(schedule_id=t.schedule),
    "report_executions": lambda t: ReportExecution(
        uuid=_new_uuid(),
        schedule_id=t.schedule,
        scheduled_dttm=START + timedelta(days=1),
        cause=RunCause.DUE,
    ),
    "report_deliveries": lambda t: ReportDelivery(
        execution_id=t.execution, recipient_key="k", address="a@example.com", state="sending"
    ),
    "sql_queries": lambda t: SqlQuery(client_id="c", user_id=1, database_id=t.database, sql="SELECT 1", job_id="j"),
    "saved_queries": lambda t: SavedQuery(uuid=_new_uuid(), label="q", database_id=t.database, sql="SELECT 1"),
}
"""What every repository of a unit of work can hold, by its name, with as little in it as possible."""

_GIVEN: Final[Mapping[str, Callable[[NamedIds], Mapping[str, Any]]]] = {
    "users": lambda t: {"active": False, "role_ids": (t.role,), "attributes": (("a", "1"), ("a", "2"), ("b", ""))},
    "roles": lambda t: {"grants": _grants(t)},
    "datasets": lambda t: {
        "database_id": t.database,
        "primary_key": ("id", "Ä😀"),
        "columns": (_with_all_fields(DatasetColumn(column_name="c"), {}),),
        "metrics": (_with_all_fields(DatasetMetric(metric_name="m", expression="1"), {}),),
        "owner_ids": (3, 5),
    },
    "charts": lambda t: {"owner_ids": (3, 5), "tag_ids": (t.tag,)},
    "dashboards": lambda t: {
        "owner_ids": (3, 5),
        "role_ids": (t.role,),
        "chart_ids": (t.chart,),
        "tag_ids": (t.tag,),
    },
    "annotations": lambda t: {"layer_id": t.layer},
    "favourites": lambda _: {"user_id": NOBODY},
    "embedded": lambda t: {"dashboard_id": t.dashboard, "allowed_domains": ("https://a.example", "http://b:1")},
    "row_rules": lambda t: {"filter_type": RowRuleType.BASE, "role_ids": (t.role,), "dataset_ids": (t.dataset,)},
    "jobs": lambda _: {"state": JobState.RUNNING, "user_id": NOBODY},
    "job_results": lambda t: {"job_record_id": t.job},
    "oauth2_tokens": lambda t: {"user_id": NOBODY + 1, "database_id": t.database},
    "report_schedules": lambda t: {
        "chart_id": t.chart,
        "dashboard_id": t.dashboard,
        "database_id": t.database,
        "owner_ids": (3, 5),
    },
    "report_progress": lambda t: {"schedule_id": t.schedule},
    "report_executions": lambda t: {
        "schedule_id": t.schedule,
        "cause": RunCause.MANUAL,
        "state": RunState.ERROR,
    },
    "report_deliveries": lambda t: {"execution_id": t.execution},
    "sql_queries": lambda t: {
        "database_id": t.database,
        "client_id": "Ä価'\"\\%_",
        "state": QueryState.TIMED_OUT,
        "tables": ("b", "a.Ä価"),
    },
    "saved_queries": lambda t: {"database_id": t.database, "tag_ids": (t.tag,)},
}
"""What is not made by its type: what names other records, and flags that are true when nobody gives them."""


def _grants(named: NamedIds) -> frozenset[Grant]:
    return frozenset(
        {
            Grant(target=GrantTarget.DATASET, target_id=named.dataset),
            Grant(target=GrantTarget.DATABASE, target_id=named.database),
            Grant(target=GrantTarget.SCHEMA, target_id=named.database, schema="Ä"),
        }
    )


AWKWARD: Final = "Größe — 価格 😀 'quoted' \"and\" \\ %_ \n"
"""A text that a store may not change; the texts of `filled` are as awkward, and short enough for every column."""

_MADE: Final[Mapping[type, Callable[[str], Any]]] = {
    bytes: lambda name: bytes(range(256)) + name.encode(),
    str: lambda name: f"{name[:8]} Ä価😀'\"\\%_:\n ",
    int: lambda name: 7 + len(name),
    float: lambda name: len(name) + 0.1,
    bool: lambda _: True,
    datetime: lambda name: START + timedelta(microseconds=len(name)),
    Secret: lambda name: Secret(f"{name} hunter2"),
}


def filled(kind: str, named: NamedIds) -> Any:
    """Return a record of this kind with every field given, and none as it is in `BARE`."""
    give = _GIVEN.get(kind)
    return _with_all_fields(BARE[kind](named), give(named) if give else {})


def _with_all_fields(bare: Any, given: Mapping[str, Any]) -> Any:
    hints = typing.get_type_hints(type(bare))
    left = {"id", "audit", "role_names", "created_on", "changed_on", *given}
    wanted = [one.name for one in fields(bare) if one.name not in left]
    return replace(bare, **given, **{name: _made(hints[name], name, getattr(bare, name)) for name in wanted})


def _made(hint: Any, name: str, bare: Any) -> Any:
    """Return a value for a field; a flag is the contrary of what it is by itself."""
    if isinstance(bare, bool):
        return not bare
    members = [one for one in typing.get_args(hint) if one is not types.NoneType]
    return _MADE[members[0] if members else hint](name)


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

    @pytest.fixture
    def named(self, store: MetadataStore) -> NamedIds:
        """Return what records may name."""
        with store.unit_of_work() as unit:
            return store_named(unit)

    @pytest.fixture
    def unit(self, store: MetadataStore) -> Iterator[UnitOfWork]:
        """Give the one unit of work of a test that needs no second one."""
        with store.unit_of_work() as unit:
            yield unit
