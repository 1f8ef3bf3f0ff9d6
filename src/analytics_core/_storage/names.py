"""Short names of records of several kinds by one statement: a UNION ALL of small SELECTs with the same columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, ColumnElement, Connection, Row, Select

from analytics_core._records.names import (
    DashboardName,
    DatabaseName,
    DatasetName,
    Names,
    NamesQuery,
    RoleName,
    TagName,
)
from analytics_core._records.scope import Scope
from analytics_core._storage.content_tables import DASHBOARD_CHARTS, DASHBOARDS, TAGS
from analytics_core._storage.parts import among
from analytics_core._storage.scopes import in_scope
from analytics_core._storage.tables import DATABASES, DATASETS, ROLES

_TAG, _ROLE, _DATASET, _DATABASE, _DASHBOARD = range(5)


def read_names(connection: Connection, query: NamesQuery) -> Names:
    """Return the names that a query asks for; without any ids nothing is read."""
    selects = tuple(_selects(query))
    if not selects:
        return Names()
    rows = connection.execute(sa.union_all(*selects) if len(selects) > 1 else selects[0]).all()
    found: dict[int, list[Row[Any]]] = {}
    for row in sorted(rows, key=lambda row: (row.kind, row.of_id, row.id)):
        found.setdefault(row.kind, []).append(row)
    dashboards: dict[int, tuple[DashboardName, ...]] = {}
    for row in found.get(_DASHBOARD, ()):
        name = DashboardName(id=row.id, dashboard_title=row.name, json_metadata=row.detail)
        dashboards[row.of_id] = (*dashboards.get(row.of_id, ()), name)
    return Names(
        tags={row.id: TagName(id=row.id, name=row.name, type=row.of_id) for row in found.get(_TAG, ())},
        roles={row.id: RoleName(id=row.id, name=row.name) for row in found.get(_ROLE, ())},
        datasets={
            row.id: DatasetName(id=row.id, table_name=row.name, default_endpoint=row.detail)
            for row in found.get(_DATASET, ())
        },
        databases={row.id: DatabaseName(id=row.id, database_name=row.name) for row in found.get(_DATABASE, ())},
        dashboards=dashboards,
    )


def _selects(query: NamesQuery) -> Iterator[Select[Any]]:
    if query.tags:
        yield _select(_TAG, query.tags, TAGS.c.id, TAGS.c.name, of_id=TAGS.c.type)
    if query.roles:
        yield _select(_ROLE, query.roles, ROLES.c.id, ROLES.c.name)
    if query.datasets:
        yield _select(
            _DATASET, query.datasets, DATASETS.c.id, DATASETS.c.table_name, detail=DATASETS.c.default_endpoint
        )
    if query.databases:
        yield _select(_DATABASE, query.databases, DATABASES.c.id, DATABASES.c.database_name)
    if query.dashboards_of:
        yield _dashboards(query)


def _select(
    kind: int,
    ids: Collection[int],
    key: Column[Any],
    name: ColumnElement[Any],
    *,
    of_id: ColumnElement[Any] | None = None,
    detail: ColumnElement[Any] | None = None,
) -> Select[Any]:
    columns = _columns(kind, key, name, sa.literal_column("0") if of_id is None else of_id, detail)
    return sa.select(*columns).where(among(key, ids))


def _columns(
    kind: int,
    key: ColumnElement[int],
    name: ColumnElement[Any],
    of_id: ColumnElement[Any],
    detail: ColumnElement[Any] | None,
) -> tuple[ColumnElement[Any], ...]:
    shown = sa.null() if detail is None else detail
    return (
        sa.literal_column(str(kind)).label("kind"),
        of_id.label("of_id"),
        key.label("id"),
        name.label("name"),
        shown.label("detail"),
    )


def _dashboards(query: NamesQuery) -> Select[Any]:
    link, table = DASHBOARD_CHARTS.c, DASHBOARDS
    detail = table.c.json_metadata if query.with_metadata else None
    statement = sa.select(*_columns(_DASHBOARD, table.c.id, table.c.dashboard_title, link.chart_id, detail))
    statement = statement.join_from(DASHBOARD_CHARTS, table, table.c.id == link.dashboard_id)
    statement = statement.where(among(link.chart_id, query.dashboards_of))
    match query.dashboards:
        case None:
            return statement
        case Scope() as scope:
            return statement.where(in_scope(table, scope))
        case ids:
            return statement.where(among(table.c.id, ids))
