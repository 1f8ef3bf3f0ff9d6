"""One transaction on the metadata store; short names of records are read by one statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy import BindParameter, Column, ColumnElement, Connection, Select

from analytics_core._content.storage import record_kinds as kinds
from analytics_core._content.storage.column_types import StoreMoment
from analytics_core._content.storage.listing import NamesStatement, StatementCache, narrowed
from analytics_core._content.storage.repository import SqlExpendableRepository, SqlRepository, StoreSession
from analytics_core._content.storage.tables import DASHBOARD_CHARTS, DASHBOARDS, DATABASES, DATASETS, ROLES, TAGS
from analytics_core._records.repositories import (
    DashboardName,
    DatabaseName,
    DatasetName,
    Names,
    NamesQuery,
    RoleName,
    TagName,
)

Repository = TypeVar("Repository")

_NOW: Final = sa.select(StoreMoment())


class _Records(Generic[Repository]):
    """The repository of one kind of records, made when a unit of work is first asked for it."""

    def __init__(self, make: Callable[[StoreSession], Repository]) -> None:
        self._make = make

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, unit: SqlUnitOfWork, _owner: type) -> Repository:
        if unit.session.is_on_file and len(vars(unit)) == 1:  # it has a session, and no repository yet
            unit.session.begin_reading()
        made: Repository = self._make(unit.session)
        vars(unit)[self._name] = made  # the unit finds it there from now on, without a call
        return made


@dataclass(frozen=True)
class SqlUnitOfWork:
    """The repositories of one transaction (protocol `UnitOfWork`)."""

    session: StoreSession

    users = _Records(partial(SqlRepository, kinds.USER_KIND))
    roles = _Records(partial(SqlRepository, kinds.ROLE_KIND))
    databases = _Records(partial(SqlRepository, kinds.DATABASE_KIND))
    datasets = _Records(partial(SqlRepository, kinds.DATASET_KIND))
    charts = _Records(partial(SqlRepository, kinds.CHART_KIND))
    annotation_layers = _Records(partial(SqlRepository, kinds.ANNOTATION_LAYER_KIND))
    annotations = _Records(partial(SqlRepository, kinds.ANNOTATION_KIND))
    css_templates = _Records(partial(SqlRepository, kinds.CSS_TEMPLATE_KIND))
    tags = _Records(partial(SqlRepository, kinds.TAG_KIND))
    favourites = _Records(partial(SqlRepository, kinds.FAVOURITE_KIND))
    dashboards = _Records(partial(SqlRepository, kinds.DASHBOARD_KIND))
    embedded = _Records(partial(SqlRepository, kinds.EMBEDDED_DASHBOARD_KIND))
    row_rules = _Records(partial(SqlRepository, kinds.ROW_RULE_KIND))
    logs = _Records(partial(SqlExpendableRepository, kinds.LOG_KIND))
    key_values = _Records(partial(SqlExpendableRepository, kinds.KEY_VALUE_KIND))
    jobs = _Records(partial(SqlExpendableRepository, kinds.JOB_KIND))
    job_results = _Records(partial(SqlExpendableRepository, kinds.JOB_RESULT_KIND))
    job_workers = _Records(partial(SqlExpendableRepository, kinds.JOB_WORKER_KIND))
    locks = _Records(partial(SqlExpendableRepository, kinds.LOCK_KIND))
    oauth2_tokens = _Records(partial(SqlExpendableRepository, kinds.OAUTH2_TOKEN_KIND))
    report_schedules = _Records(partial(SqlRepository, kinds.REPORT_SCHEDULE_KIND))
    report_progress = _Records(partial(SqlExpendableRepository, kinds.REPORT_PROGRESS_KIND))
    report_executions = _Records(partial(SqlExpendableRepository, kinds.REPORT_EXECUTION_KIND))
    report_deliveries = _Records(partial(SqlExpendableRepository, kinds.REPORT_DELIVERY_KIND))
    sql_queries = _Records(partial(SqlExpendableRepository, kinds.SQL_QUERY_KIND))
    saved_queries = _Records(partial(SqlRepository, kinds.SAVED_QUERY_KIND))

    def now(self) -> datetime:
        """Return the store's own time when asked, aware and in UTC: milliseconds on SQLite, else microseconds."""
        return self.session.connection.execute(_NOW).scalar_one()

    def names(self, query: NamesQuery) -> Names:
        """Return short names of records, all read by one statement."""
        return read_names(self.session.connection, query, self.session.cache)


_TAG, _ROLE, _DATASET, _DATABASE, _DASHBOARD = range(5)
_ZERO: Final[ColumnElement[Any]] = sa.literal_column("0")
_NOTHING: Final = sa.null()


def read_names(connection: Connection, query: NamesQuery, cache: StatementCache) -> Names:
    """Return the names that a query asks for; without any ids nothing is read."""
    requested = {name: sorted(getattr(query, name)) for name in (*_BY_ID, "dashboards_of") if getattr(query, name)}
    if not requested:
        return Names()
    rows = connection.execute(_statement(query, tuple(requested), cache), requested).all()
    tags, roles, datasets, databases = {}, {}, {}, {}
    dashboards: dict[int, tuple[DashboardName, ...]] = {}
    for kind, of_id, key, name, detail in sorted(map(tuple, rows), key=itemgetter(0, 1, 2)):
        if kind == _TAG:
            tags[key] = TagName(id=key, name=name, type=of_id)
        elif kind == _ROLE:
            roles[key] = RoleName(id=key, name=name)
        elif kind == _DATASET:
            datasets[key] = DatasetName(id=key, table_name=name, default_endpoint=detail)
        elif kind == _DATABASE:
            databases[key] = DatabaseName(id=key, database_name=name)
        else:
            board = DashboardName(id=key, dashboard_title=name, json_metadata=detail)
            dashboards[of_id] = (*dashboards.get(of_id, ()), board)
    return Names(tags=tags, roles=roles, datasets=datasets, databases=databases, dashboards=dashboards)


def _statement(query: NamesQuery, requested: tuple[str, ...], cache: StatementCache) -> NamesStatement:
    """Return the statement of what is asked for; the ids come when it is run."""
    key = (requested, query.with_metadata, query.among_datasets, query.dashboards)
    statement = cache.names.get(key)
    if statement is None:
        selects = [_select(name, query, cache) for name in requested]
        statement = sa.union_all(*selects) if len(selects) > 1 else selects[0]
        cache.names.put(key, statement)
    return statement


def _select(name: str, query: NamesQuery, cache: StatementCache) -> Select[Any]:
    if name == "dashboards_of":
        statement = _DASHBOARDS_WITH_METADATA if query.with_metadata else _DASHBOARDS
        return statement.where(*narrowed(DASHBOARDS, query.dashboards, cache))
    ids = query.among_datasets if name == "datasets" else None
    return _BY_ID[name].where(*narrowed(DATASETS, ids, cache))


def _columns(
    kind: int, name: Column[Any], *, of_id: ColumnElement[Any] = _ZERO, detail: ColumnElement[Any] = _NOTHING
) -> tuple[ColumnElement[Any], ...]:
    number: ColumnElement[Any] = sa.literal_column(str(kind))
    key = name.table.c.id
    return number.label("kind"), of_id.label("of_id"), key.label("id"), name.label("name"), detail.label("detail")


def _named(ids: str) -> BindParameter[Any]:
    return sa.bindparam(ids, expanding=True, literal_execute=True)


def _of_dashboards(detail: ColumnElement[Any]) -> Select[Any]:
    link, table = DASHBOARD_CHARTS, DASHBOARDS.c
    columns = _columns(_DASHBOARD, table.dashboard_title, of_id=link.c.chart_id, detail=detail)
    joined = sa.select(*columns).join_from(link, DASHBOARDS, table.id == link.c.dashboard_id)
    return joined.where(link.c.chart_id.in_(_named("dashboards_of")))


_BY_ID: Final[Mapping[str, Select[Any]]] = {
    ids: sa.select(*columns).where(table.c.id.in_(_named(ids)))
    for ids, table, columns in (
        ("tags", TAGS, _columns(_TAG, TAGS.c.name, of_id=TAGS.c.type)),
        ("roles", ROLES, _columns(_ROLE, ROLES.c.name)),
        ("datasets", DATASETS, _columns(_DATASET, DATASETS.c.table_name, detail=DATASETS.c.default_endpoint)),
        ("databases", DATABASES, _columns(_DATABASE, DATABASES.c.database_name)),
    )
}
_DASHBOARDS: Final = _of_dashboards(_NOTHING)
_DASHBOARDS_WITH_METADATA: Final = _of_dashboards(DASHBOARDS.c.json_metadata)
