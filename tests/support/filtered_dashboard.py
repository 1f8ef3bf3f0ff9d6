"""A dashboard with a filter of every kind on a table of visits, and what SQL written by hand answers for its charts."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.guests import GuestWorld, chart, guest_world

from analytics_core import AnalyticsCore
from analytics_core.ports import Renderer

ENGINES = [
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
]
COLUMNS = ("id", "tenant", "region", "city", "amount", "day", "paid")
VISITS = (
    (1, "acme", "north", "Kiel", 10, "2024-01-10", "2024-03-01"),
    (2, "acme", "north", "Kiel", 20, "2024-02-11", "2024-03-02"),
    (3, "acme", "south", "Bonn", 30, "2024-02-12", "2024-04-01"),
    (4, "acme", "south", "Ulm", 40, "2024-03-13", "2024-05-01"),
    (5, "acme", None, None, 50, "2024-03-14", "2024-05-02"),
    (6, "globex", "north", "Oslo", 100, "2024-01-15", "2024-04-03"),
    (7, "globex", "south", "Rome", 200, "2024-02-16", "2024-06-01"),
    (8, "globex", "south", "Pisa", 400, "2024-04-17", "2024-06-02"),
)
ALL_TIME = "2020-01-01 : 2030-01-01"
_AXIS = {"columnType": "BASE_AXIS", "sqlExpression": "day", "label": "day", "timeGrain": "P1M"}
_TIME = {"time_range": ALL_TIME, "granularity": "day"}
QUERIES: Mapping[str, Mapping[str, Any]] = {
    "cities": {"columns": ["city"], "metrics": ["revenue"], **_TIME},
    "ids": {"columns": ["id"], "row_limit": 100, **_TIME},
    "total": {"metrics": ["revenue"], **_TIME},
    "months": {"columns": [_AXIS], "metrics": ["revenue"], "extras": {"time_grain_sqla": "P1M"}, **_TIME},
}
SELECTED = {
    "cities": "SELECT city, SUM(amount) FROM visits WHERE {} GROUP BY city",
    "ids": "SELECT id FROM visits WHERE {}",
    "total": "SELECT SUM(amount) FROM visits WHERE {}",
    "months": "SELECT strftime('%Y-%m', {axis}), SUM(amount) FROM visits WHERE {} GROUP BY 1",
}


def native(key: str, kind: str, *, column: str | None = None, dataset: int | None = 3, **more: Any) -> dict[str, Any]:
    """Return a filter as a dashboard stores it."""
    target = {**({"datasetId": dataset} if dataset else {}), **({"column": {"name": column}} if column else {})}
    scope = {"rootPath": ["ROOT_ID"], "excluded": []}
    return {"id": key, "name": key.title(), "filterType": kind, "targets": [target], "scope": scope, **more}


FILTERS = (
    native("region", "filter_select", column="region"),
    native("city", "filter_select", column="city", cascadeParentIds=["region"]),
    native("without", "filter_select", column="city", controlValues={"inverseSelection": True}),
    native("amount", "filter_range", column="amount"),
    native("time", "filter_time", dataset=None),
    native("time column", "filter_timecolumn"),
    native("grain", "filter_timegrain"),
    {"id": "line", "type": "DIVIDER", "title": "More"},
)


@dataclass(frozen=True, kw_only=True)
class FilteredDashboard:
    """Dashboard 1 of a world of guests with the charts of `QUERIES` by their names, and `elsewhere` on `sales`."""

    world: GuestWorld
    charts: Mapping[str, int]
    dataset: int
    reader: AnalyticsCore

    def actors(self) -> dict[str, tuple[AnalyticsCore, str]]:
        """Return who may open it, each with the condition that SQL by hand needs to answer them."""
        acme = "tenant = 'acme'"
        return {
            "owner": (self.world.admin, "1 = 1"),
            "reader": (self.reader, acme),
            "guest": (self.world.guest("acme"), acme),
        }

    def store(self, *filters: Mapping[str, Any], **metadata: Any) -> None:
        """Store other filters, and other metadata."""
        stored = {"native_filter_configuration": list(filters or FILTERS), **metadata}
        self.world.admin.dashboards.update(1, {"json_metadata": json.dumps(stored)})


def answered(core: AnalyticsCore, name: str, **given: Any) -> list[tuple[Any, ...]]:
    """Return the rows of one chart of the dashboard, sorted, as `by_hand` gives them."""
    return answered_together(core, (name,), **given)[name]


def answered_together(core: AnalyticsCore, names: Iterable[str], **given: Any) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of charts of the dashboard, which is asked once."""
    answer = core.dashboards.data(1, **given)
    rows = {name: answer.chart(name).results[0].rows() for name in names}
    return {name: in_order([tuple(_plain(name, value) for value in row) for row in rows[name]]) for name in rows}


def by_hand(name: str, *conditions: str, axis: str = "day") -> list[tuple[Any, ...]]:
    """Return the rows that SQL written by hand gives on a copy of the table, sorted."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE visits ({', '.join(COLUMNS)})")
        connection.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * len(COLUMNS))})", VISITS)
        return in_order(connection.execute(SELECTED[name].format(" AND ".join(conditions), axis=axis)).fetchall())


def in_order(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows in an order that no engine decides."""
    return sorted(rows, key=lambda row: [str(value) for value in row])


def _plain(name: str, value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return value.strftime("%Y-%m") if hasattr(value, "strftime") else int(value)


def url_of(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return the URL of a new database on the engine that a fixture asks for."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("make_postgres_database")())
    if request.param == "mysql":
        return str(request.getfixturevalue("make_mariadb_database")())
    return f"{request.param}:///{folder}/shop.db"


@contextmanager
def filtered_dashboard(url: str, *, renderer: Renderer | None = None) -> Iterator[FilteredDashboard]:
    """Fill the database of `url` and give the dashboard over it."""
    fill_visits(url)
    with guest_world(url, more=_store_dashboard, renderer=renderer) as world:
        charts = {made.slice_name: made.id for made in world.admin.charts.list(page_size=100) if made.id > 4}
        yield FilteredDashboard(world=world, charts=charts, dataset=3, reader=world.host.as_user("reader"))


def _store_dashboard(admin: AnalyticsCore) -> None:
    """Store dataset 3, the charts from 5 on, dashboard 1 with them, and who reads it under a row rule."""
    dataset = admin.datasets.create({"database": 1, "table_name": "visits"}).id
    metrics = [{"metric_name": "revenue", "expression": "SUM(amount)"}]
    admin.datasets.update(dataset, {"metrics": metrics})
    made = {name: admin.charts.create(chart(name, dataset, query)).id for name, query in QUERIES.items()}
    made["elsewhere"] = admin.charts.create(chart("elsewhere", 1, {"columns": ["city"], "row_limit": 100})).id
    stored = {"native_filter_configuration": FILTERS}
    admin.dashboards.update(1, {"position_json": json.dumps(_layout(made)), "json_metadata": json.dumps(stored)})
    role = admin.roles.create({"name": "analysts"})
    admin.roles.grant(role, on=("dataset", dataset))
    rule = {"name": "acme", "filter_type": "Regular", "clause": "tenant = 'acme'"}
    admin.row_level_security.create({**rule, "tables": [dataset], "roles": [role.id]})
    admin.users.create({"username": "reader", "roles": [role.id]})


def _layout(charts: Mapping[str, int]) -> dict[str, Any]:
    """Place the charts: cities and ids in a tab, total and months in one inside another, the last beside them."""
    places = {
        name: {"type": "CHART", "id": name, "children": [], "meta": {"chartId": key}} for name, key in charts.items()
    }

    def node(kind: str, *children: str, **meta: Any) -> dict[str, Any]:
        return {"type": kind, "children": list(children), "meta": meta}

    return {
        "ROOT_ID": node("ROOT", "TABS-1"),
        "TABS-1": node("TABS", "TAB-1", "TAB-2"),
        "TAB-1": node("TAB", "ROW-1", text="Cities"),
        "ROW-1": node("ROW", "cities", "ids"),
        "TAB-2": node("TAB", "TABS-2", "elsewhere", text="Sums"),
        "TABS-2": node("TABS", "TAB-3", "TAB-4"),
        "TAB-3": node("TAB", "total", text="All"),
        "TAB-4": node("TAB", "months", text="By month"),
        **places,
    }


def fill_visits(url: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    table = sa.Table(
        "visits",
        sa.MetaData(),
        sa.Column("id", sa.Integer),
        *(sa.Column(name, sa.String(20)) for name in ("tenant", "region", "city")),
        sa.Column("amount", sa.Integer),
        *(sa.Column(name, sa.DateTime) for name in ("day", "paid")),
    )
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in VISITS]
    for row in rows:
        row |= {name: datetime.fromisoformat(str(row[name])) for name in ("day", "paid")}
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), rows)
    engine.dispose()
