"""Scopes as conditions of a statement, and what a store has built of its statements: building one is slow."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, CompoundSelect, Select, Table

from analytics_core._memo import Memo
from analytics_core._records.chart import DATASET_TYPES
from analytics_core._records.repositories import Audience, Scope
from analytics_core._storage import tables
from analytics_core._storage.parts import among

_OWNERS = {
    tables.DATASETS.name: tables.DATASET_OWNERS.c.dataset_id,
    tables.CHARTS.name: tables.CHART_OWNERS.c.chart_id,
    tables.DASHBOARDS.name: tables.DASHBOARD_OWNERS.c.dashboard_id,
}
_DATASET_TYPES = tuple(sorted(name for name in DATASET_TYPES if name))


def in_scope(table: Table, scope: Scope) -> ColumnElement[bool]:
    """Return the condition that a record of this table is in the scope; ways that its kind lacks lead nowhere."""
    if scope.everything:
        return sa.true()
    ways: list[ColumnElement[bool]] = [sa.false()]
    if scope.ids:
        ways.append(among(table.c.id, scope.ids))
    if scope.owner_id is not None and (owned := _OWNERS.get(table.name)) is not None:
        ways.append(table.c.id.in_(sa.select(owned).where(owned.table.c.user_id == scope.owner_id)))
    if table is tables.DATASETS:
        ways += _ways_to_datasets(scope)
    if table is tables.CHARTS and scope.drawn_from is not None:
        ways.append(_drawn_from(scope.drawn_from))
    if table is tables.DASHBOARDS and scope.audience is not None:
        ways.append(_published_for(scope.audience))
    return sa.or_(*ways)


def _ways_to_datasets(scope: Scope) -> list[ColumnElement[bool]]:
    table = tables.DATASETS
    ways = [among(table.c.database_id, scope.database_ids)] if scope.database_ids else []
    for database_id in sorted({database_id for database_id, _ in scope.schemas}):
        names = sorted(name for key, name in scope.schemas if key == database_id)
        ways.append(sa.and_(table.c.database_id == database_id, table.c.schema.in_(names)))
    return ways


def is_drawn_from_dataset() -> ColumnElement[bool]:
    """Return the condition that what a chart is drawn from is a dataset."""
    kind = tables.CHARTS.c.datasource_type
    return sa.or_(kind.is_(None), kind.in_(_DATASET_TYPES))


def _drawn_from(datasets: Scope) -> ColumnElement[bool]:
    chart = tables.CHARTS.c
    return sa.and_(is_drawn_from_dataset(), chart.datasource_id.in_(_dataset_ids(datasets)))


def _published_for(audience: Audience) -> ColumnElement[bool]:
    dashboard, roles, charts = (
        tables.DASHBOARDS,
        tables.DASHBOARD_ROLES,
        tables.DASHBOARD_CHARTS,
    )
    seen = sa.select(charts.c.dashboard_id).join(tables.CHARTS, tables.CHARTS.c.id == charts.c.chart_id)
    return sa.and_(
        dashboard.c.published.is_(True),
        sa.or_(
            dashboard.c.id.not_in(sa.select(roles.c.dashboard_id)),
            dashboard.c.id.in_(sa.select(roles.c.dashboard_id).where(among(roles.c.role_id, audience.role_ids))),
        ),
        sa.or_(
            dashboard.c.id.not_in(sa.select(charts.c.dashboard_id)),
            dashboard.c.id.in_(seen.where(_drawn_from(audience.datasets))),
        ),
    )


def _dataset_ids(scope: Scope) -> Any:
    """Return the ids of the datasets in a scope, way by way: each is found by its index, whatever else is stored."""
    table = tables.DATASETS
    if scope.everything:
        return sa.select(table.c.id)
    ways = [among(table.c.id, scope.ids)] if scope.ids else []
    selects: list[Any] = [sa.select(table.c.id).where(way) for way in (*ways, *_ways_to_datasets(scope))]
    if scope.owner_id is not None:
        owners = tables.DATASET_OWNERS.c
        selects.append(sa.select(owners.dataset_id).where(owners.user_id == scope.owner_id))
    if not selects:
        return sa.select(table.c.id).where(sa.false())
    return selects[0] if len(selects) == 1 else sa.union_all(*selects)


_MOST = 200
NamesStatement = Select[Any] | CompoundSelect[Any]


@dataclass(frozen=True, slots=True)
class StatementCache:
    """The conditions of scopes and the statements of lists and names that were asked for last; safe between threads."""

    _conditions: Memo[tuple[str, Scope], ColumnElement[bool]] = field(default_factory=lambda: Memo(capacity=_MOST))
    pages: Memo[Hashable, Select[Any]] = field(default_factory=lambda: Memo(capacity=_MOST))
    names: Memo[Hashable, NamesStatement] = field(default_factory=lambda: Memo(capacity=_MOST))

    def in_scope(self, table: Table, scope: Scope) -> ColumnElement[bool]:
        """Return the condition that a record of this table is in the scope."""
        key = (table.name, scope)
        condition = self._conditions.get(key)
        if condition is None:
            condition = in_scope(table, scope)
            self._conditions.put(key, condition)
        return condition
