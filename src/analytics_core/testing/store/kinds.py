"""What the suite knows of every kind of record: how one is made, what tells two apart, and what they name."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Final, TypeAlias

from analytics_core._records.audit import LogEntry
from analytics_core._records.chart import Annotation, AnnotationLayer
from analytics_core._records.dashboard import CssTemplate, Dashboard, EmbeddedDashboard, Favourite, Tag
from analytics_core._records.datasource import Database, DatasetColumn, DatasetMetric
from analytics_core._records.people import Grant, GrantTarget, Role, RowRule, RowRuleType
from analytics_core._records.report import ReportDelivery, ReportExecution, ReportProgress, RunCause, RunState
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import JobResultPart, JobWorker, KeyValue, LockRecord
from analytics_core._records.sql_query import QueryState, SavedQuery, SqlQuery
from analytics_core.models.enums import JobState
from analytics_core.testing.store.records import (
    NO_USER,
    START,
    a_chart,
    a_dashboard,
    a_database,
    a_dataset,
    a_job,
    a_schedule,
    a_token,
    a_user,
    new_uuid,
)

AWKWARD: Final = "Größe — 価格 😀 'quoted' \"and\" \\ %_ \n"
"""A text that a store may not change; the texts of `filled` are as awkward, and short enough for every column."""

_LONG: Final = AWKWARD * 2_000
_LAST: Final = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedIds:
    """The ids of two records of each kind that others name: bare records name the first, filled ones the other."""

    first: Mapping[str, int]
    other: Mapping[str, int]


Fields: TypeAlias = Mapping[str, Any]


class LinkEnding(Enum):
    """What becomes of a record when one that it names is deleted."""

    REFUSED = "the deletion is refused while it is there"
    GOES = "it goes too"
    FORGETS = "it stays and names the other no more"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLink:
    """A field that holds ids of records of another kind; those of `unchecked` links need not exist."""

    field: str
    to: str
    ending: LinkEnding
    unchecked: bool = False

    def fields(self, record_id: int) -> Fields:
        """Return the field with the id in it."""
        return {self.field: (record_id,) if self.field.endswith("_ids") else record_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What the suite knows of the records of one repository.

    Attributes:
        bare: makes one with as little in it as possible.
        given: fields of one with everything in it, where neither their type nor `links` say what they may hold.
        keys: the fields that tell records apart; the last one is what the error names.
        links: what it names.
        extremes: fields with values at the ends of what a store must hold.
        is_journal: nobody keeps such a record after reading it, so that it need not move the revision.
    """

    bare: Callable[[NamedIds], Any]
    given: Callable[[NamedIds], Fields] = lambda _: {}
    keys: tuple[tuple[str, ...], ...] = ()
    links: tuple[RecordLink, ...] = ()
    extremes: tuple[Fields, ...] = ()
    is_journal: bool = False


def _of(to: str, ending: LinkEnding = LinkEnding.GOES, *, field: str | None = None) -> RecordLink:
    return RecordLink(field=field or f"{to[:-1]}_id", to=to, ending=ending)


_TAGS: Final = RecordLink(field="tag_ids", to="tags", ending=LinkEnding.FORGETS)
_ROLES: Final = RecordLink(field="role_ids", to="roles", ending=LinkEnding.REFUSED)
_USER: Final = RecordLink(field="user_id", to="users", ending=LinkEnding.GOES, unchecked=True)
_SCHEDULE: Final = RecordLink(field="schedule_id", to="report_schedules", ending=LinkEnding.GOES)

KINDS: Final[Mapping[str, Kind]] = {
    "users": Kind(
        bare=lambda _: a_user("u"),
        given=lambda _: {"attributes": (("a", "1"), ("a", "2"), ("b", ""))},
        keys=(("username",),),
        links=(_ROLES,),
        extremes=({"username": AWKWARD, "attributes": (("region", AWKWARD), ("region", "EU"), ("", ""))},),
    ),
    "roles": Kind(bare=lambda _: Role(name="r"), given=lambda t: {"grants": _grants(t)}, keys=(("name",),)),
    "databases": Kind(
        bare=lambda _: Database(uuid=new_uuid(), database_name="d", uri=Secret("s"), engine="sqlite"),
        keys=(("database_name",), ("uuid",)),
        extremes=({"database_name": AWKWARD, "extra": _LONG, "force_ctas_schema": AWKWARD, "cache_timeout": -1},),
    ),
    "datasets": Kind(
        bare=lambda t: a_dataset(t.first["databases"], "t", columns=(), metrics=()),
        given=lambda _: {
            "primary_key": ("id", "Ä😀"),
            "columns": (_with_all_fields(DatasetColumn(column_name="c"), {}),),
            "metrics": (_with_all_fields(DatasetMetric(metric_name="m", expression="1"), {}),),
        },
        keys=(("uuid",), ("database_id", "catalog", "schema", "table_name")),
        links=(_of("databases", LinkEnding.REFUSED),),
        extremes=(
            {"columns": (DatasetColumn(uuid="u", column_name="c", description=_LONG, extra=_LONG, nullable=False),)},
            {"metrics": (DatasetMetric(uuid="u", metric_name="m", expression=_LONG),), "sql": _LONG, "offset": -3},
        ),
    ),
    "charts": Kind(
        bare=lambda _: a_chart("c"),
        keys=(("uuid",),),
        links=(_TAGS,),
        extremes=({"params": _LONG, "cache_timeout": 2**31 - 1, "query_context_generation": False},),
    ),
    "dashboards": Kind(
        bare=lambda _: Dashboard(uuid=new_uuid()),
        keys=(("uuid",), ("slug",)),
        links=(_ROLES, RecordLink(field="chart_ids", to="charts", ending=LinkEnding.FORGETS), _TAGS),
        extremes=({"slug": AWKWARD, "css": AWKWARD, "position_json": AWKWARD * 10_000},),
    ),
    "annotation_layers": Kind(
        bare=lambda _: AnnotationLayer(name="l"),
        keys=(("name",),),
        extremes=({"name": AWKWARD, "descr": _LONG},),
    ),
    "annotations": Kind(
        bare=lambda t: Annotation(
            layer_id=t.first["annotation_layers"], start_dttm=START, end_dttm=START, short_descr="a"
        ),
        links=(_of("annotation_layers", field="layer_id"),),
        extremes=(
            {"start_dttm": datetime(1000, 1, 1, tzinfo=UTC), "short_descr": AWKWARD, "long_descr": _LONG},
            {"end_dttm": _LAST},
        ),
    ),
    "css_templates": Kind(bare=lambda _: CssTemplate(), extremes=({"template_name": AWKWARD, "css": _LONG},)),
    "tags": Kind(
        bare=lambda _: Tag(name="g"),
        keys=(("type", "name"),),
        extremes=({"name": AWKWARD, "description": _LONG},),
    ),
    "favourites": Kind(
        bare=lambda _: Favourite(user_id=1, target="chart", target_id=1),
        keys=(("user_id", "target", "target_id"),),
        links=(_USER, RecordLink(field="target_id", to="charts", ending=LinkEnding.GOES, unchecked=True)),
    ),
    "embedded": Kind(
        bare=lambda t: EmbeddedDashboard(uuid=new_uuid(), dashboard_id=t.first["dashboards"]),
        given=lambda _: {"allowed_domains": ("https://b.example", "http://a:1")},
        keys=(("uuid",), ("dashboard_id",)),
        links=(_of("dashboards"),),
    ),
    "row_rules": Kind(
        bare=lambda _: RowRule(name="w", clause="1 = 0"),
        given=lambda _: {"filter_type": RowRuleType.BASE},
        keys=(("name",),),
        links=(_ROLES, _of("datasets", LinkEnding.REFUSED, field="dataset_ids")),
        extremes=({"clause": "country = 'it''s {{ current_username() }}' -- Ä"},),
    ),
    "logs": Kind(bare=lambda _: LogEntry(action="view", dttm=START), is_journal=True),
    "key_values": Kind(bare=lambda _: KeyValue(kind="k", key="k", value="{}"), keys=(("kind", "key"),)),
    "jobs": Kind(
        bare=lambda _: a_job("j", kind="k"),
        given=lambda _: {"state": JobState.RUNNING},
        keys=(("job_id",),),
        links=(_USER,),
        is_journal=True,
    ),
    "job_results": Kind(
        bare=lambda t: JobResultPart(job_record_id=t.first["jobs"], position=0, data=b""),
        keys=(("job_record_id", "position"),),
        links=(_of("jobs", field="job_record_id"),),
        extremes=({"data": b"\\'\"\x00\x1a%s:x?"}, {"data": bytes(range(256)) * 20_480}),
        is_journal=True,
    ),
    "job_workers": Kind(bare=lambda _: JobWorker(token="w", lease_until=START), keys=(("token",),), is_journal=True),
    "locks": Kind(bare=lambda _: LockRecord(name="k", owner="o", ends_on=START), keys=(("name",),), is_journal=True),
    "oauth2_tokens": Kind(
        bare=lambda t: a_token(NO_USER, t.first["databases"]),
        keys=(("database_id", "user_id"),),
        links=(_of("databases"), _USER),
        is_journal=True,
    ),
    "report_schedules": Kind(
        bare=lambda _: a_schedule(),
        keys=(("uuid",), ("type", "name")),
        links=tuple(_of(to, LinkEnding.REFUSED) for to in ("charts", "dashboards", "databases")),
        extremes=({"name": AWKWARD, "sql": _LONG, "crontab": AWKWARD, "log_retention": 0},),
    ),
    "report_progress": Kind(
        bare=lambda t: ReportProgress(schedule_id=t.first["report_schedules"]),
        keys=(("schedule_id",),),
        links=(_SCHEDULE,),
        is_journal=True,
    ),
    "report_executions": Kind(
        bare=lambda t: ReportExecution(
            uuid=new_uuid(),
            schedule_id=t.first["report_schedules"],
            scheduled_dttm=START + timedelta(days=1),
            cause=RunCause.DUE,
        ),
        given=lambda _: {"cause": RunCause.MANUAL, "state": RunState.ERROR},
        keys=(("uuid",), ("schedule_id", "scheduled_dttm")),
        links=(_SCHEDULE,),
        extremes=(
            {"error_message": _LONG, "value": -1.7e308, "value_row_json": _LONG, "attempts": -1},
            {"value": 5e-324, "scheduled_dttm": _LAST},
        ),
        is_journal=True,
    ),
    "report_deliveries": Kind(
        bare=lambda t: ReportDelivery(
            execution_id=t.first["report_executions"], recipient_key="k", address="a@example.com", state="sending"
        ),
        keys=(("execution_id", "recipient_key"),),
        links=(_of("report_executions", field="execution_id"),),
        is_journal=True,
    ),
    "sql_queries": Kind(
        bare=lambda t: SqlQuery(client_id="c", user_id=1, database_id=t.first["databases"], sql="SELECT 1", job_id="j"),
        given=lambda _: {"client_id": "Ä価'\"\\%_", "state": QueryState.TIMED_OUT, "tables": ("b", "a.Ä価")},
        keys=(("user_id", "client_id"),),
        links=(_of("databases"), _USER),
        is_journal=True,
    ),
    "saved_queries": Kind(
        bare=lambda t: SavedQuery(uuid=new_uuid(), label="q", database_id=t.first["databases"], sql="SELECT 1"),
        keys=(("uuid",),),
        links=(_of("databases"), _TAGS),
    ),
}
"""What every repository of a unit of work can hold, by its name."""


_NAMED: Final[Mapping[str, Callable[[str, Mapping[str, int]], Any]]] = {
    "databases": lambda name, _: a_database(name),
    "datasets": lambda name, ids: a_dataset(ids["databases"], name),
    "charts": lambda name, _: a_chart(name),
    "dashboards": lambda name, _: a_dashboard(name),
    "roles": lambda name, _: Role(name=name),
    "tags": lambda name, _: Tag(name=name),
    "annotation_layers": lambda name, _: AnnotationLayer(name=name),
    "jobs": lambda name, _: a_job(name, user_id=NO_USER),
    "report_schedules": lambda name, _: a_schedule(name),
    "report_executions": lambda _, ids: ReportExecution(
        uuid=new_uuid(), schedule_id=ids["report_schedules"], scheduled_dttm=START, cause=RunCause.DUE
    ),
}


def store_named(unit: UnitOfWork) -> NamedIds:
    """Store what records may name."""
    first: dict[str, int] = {}
    other: dict[str, int] = {}
    for name, ids in (("named", first), ("other", other)):
        for kind, make in _NAMED.items():
            ids[kind] = getattr(unit, kind).append(make(name, ids), actor_id=None)
    return NamedIds(first=first, other=other)


def _grants(named: NamedIds) -> frozenset[Grant]:
    return frozenset(
        {
            Grant(target=GrantTarget.DATASET, target_id=named.other["datasets"]),
            Grant(target=GrantTarget.DATABASE, target_id=named.other["databases"]),
            Grant(target=GrantTarget.SCHEMA, target_id=named.other["databases"], schema="Ä"),
        }
    )


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
    """Return a record of this kind with every field given, and none as it is in a bare one."""
    bare, links = KINDS[kind].bare(named), KINDS[kind].links
    given = {"owner_ids": (3, 5)} if hasattr(bare, "owner_ids") else {}
    for link in links:
        given |= link.fields(named.other.get(link.to, NO_USER + 1))
    return _with_all_fields(bare, {**given, **KINDS[kind].given(named)})


def _with_all_fields(bare: Any, given: Fields) -> Any:
    hints = typing.get_type_hints(type(bare))
    unset = {"id", "audit", "role_names", "created_on", "changed_on", *given}
    wanted = [one.name for one in fields(bare) if one.name not in unset]
    return replace(bare, **given, **{name: _made(hints[name], name, getattr(bare, name)) for name in wanted})


def _made(hint: Any, name: str, bare: Any) -> Any:
    """Return a value for a field; a flag is the contrary of what it is by itself."""
    if isinstance(bare, bool):
        return not bare
    members = [one for one in typing.get_args(hint) if one is not types.NoneType]
    return _MADE[members[0] if members else hint](name)
