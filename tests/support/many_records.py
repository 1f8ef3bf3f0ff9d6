"""Stores with many records, filled table by table, and what a core asks of its store while a block runs."""

from __future__ import annotations

import itertools
import json
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event

from analytics_core import AnalyticsCore
from analytics_core._content.storage import tables
from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._engine.rights.row_rules import TableName, table_key

BEGINNING = datetime(2025, 1, 1, tzinfo=UTC)
PARAMS = json.dumps({"viz_type": "line", "metrics": ["count"], "note": "x" * 600})
TRANSACTION_CONTROL = re.compile(r"\s*(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b", re.IGNORECASE)


def engine_of(core: AnalyticsCore) -> Engine:
    """Return the engine of the core's metadata store."""
    return _store_of(core)._engine


def _store_of(core: AnalyticsCore) -> SqlMetadataStore:
    store = core._runtime.content.store
    assert isinstance(store, SqlMetadataStore)
    return store


@contextmanager
def statements_of(core: AnalyticsCore) -> Iterator[list[tuple[str, Any]]]:
    """Collect the statements, with their parameters, that the core's store runs in the block.

    Beginning and ending transactions and savepoints is left out.
    """
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if not TRANSACTION_CONTROL.match(statement):
            seen.append((statement, parameters))

    event.listen(engine_of(core), "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(engine_of(core), "before_cursor_execute", note)


def fill_many(
    core: AnalyticsCore,
    *,
    people: int = 40,
    databases: int = 1,
    datasets: int = 50,
    tags: int = 30,
    roles: int = 3,
    charts: int = 100,
    dashboards: int = 100,
    rules: int = 0,
) -> None:
    """Fill a store in which nothing but the first administrator is; ids count from 1, the administrator is 1.

    Records of a kind differ in owners, tags, times, and who made and changed them; every fifth chart has a
    description, a chart is on up to two dashboards, and of dashboards two in three are published. Each row rule is on
    one dataset, for one role.
    """
    counts = {"people": people, "databases": databases, "datasets": datasets, "tags": tags, "roles": roles}
    box = _store_of(core)._secret_box
    sealed = [_database(n, box.seal("sqlite://", context=f"databases.uri:{_uuid('d', n)}")) for n in range(databases)]
    with engine_of(core).connect() as connection:
        _add(connection, tables.DATABASES, _rows(databases, sealed.__getitem__, people=people))
        _fill_surroundings(connection, counts)
        _fill_charts(connection, charts, counts)
        _fill_dashboards(connection, dashboards, charts, counts)
        _fill_rules(connection, rules, counts)
        connection.commit()


def _rows(count: int, made: Any, *, people: int) -> list[dict[str, Any]]:
    return [
        {
            **made(n),
            "created_on": BEGINNING + timedelta(minutes=n),
            "changed_on": BEGINNING + timedelta(days=30, minutes=n * 7919 % 100_003),
            "created_by": n % people + 1,
            "changed_by": n * 3 % people + 1,
            "version": 1,
        }
        for n in range(count)
    ]


def _add(connection: Connection, table: sa.Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(sa.insert(table), rows)


def _fill_surroundings(connection: Connection, counts: dict[str, int]) -> None:
    people, numbers = counts["people"], range(1, counts["datasets"] + 1)
    made = {
        tables.USERS: (people - 1, _user),
        tables.ROLES: (counts["roles"], lambda n: {"name": f"role {n}", "is_admin": False}),
        tables.DATASETS: (counts["datasets"], lambda n: _dataset(n, counts["databases"])),
        tables.TAGS: (counts["tags"], lambda n: {"name": f"tag {n}", "type": 1}),
    }
    for table, (count, make) in made.items():
        _add(connection, table, _rows(count, make, people=people))
    _add(connection, tables.DATASET_OWNERS, [{"dataset_id": key, "user_id": key % people + 1} for key in numbers])
    flags = {"filterable": True, "groupby": True, "is_active": True, "is_dttm": False}
    fixed = {**flags, "created_on": BEGINNING, "changed_on": BEGINNING}
    columns = ({"dataset_id": key, "position": n, "column_name": f"c{n}"} for key in numbers for n in range(5))
    _add(connection, tables.DATASET_COLUMNS, [{**column, **fixed} for column in columns])


def _uuid(kind: str, n: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}{n}"))


def _user(n: int) -> dict[str, Any]:
    names = {"username": f"u{n}", "first_name": f"First {n}", "last_name": f"Last {n}"}
    return {**names, "active": True, "attributes": "[]"}


def _database(n: int, uri: str) -> dict[str, Any]:
    flags = ("expose_in_sqllab", "allow_ctas", "allow_cvas", "allow_dml", "allow_file_upload", "allow_run_async")
    names = {
        "uuid": _uuid("d", n),
        "database_name": f"base {n:05}",
        "engine": "sqlite",
        "configuration_method": "orm_form",
    }
    others = {"impersonate_user": False, "is_managed_externally": False}
    return {**names, **others, **dict.fromkeys(flags, False), "uri": uri}


def _dataset(n: int, databases: int) -> dict[str, Any]:
    flags = ("filter_select_enabled", "is_sqllab_view", "is_managed_externally", "always_filter_main_dttm")
    place = {"database_id": n % databases + 1, "catalog": "", "schema": "sales" if n % 2 else "", "offset": 0}
    name = f"table {n:05}"
    key = {"table_name": name, "table_key": table_key(TableName(table=name))}
    return {"uuid": _uuid("t", n), **place, **key, **dict.fromkeys(flags, False)}


def _fill_rules(connection: Connection, rules: int, counts: dict[str, int]) -> None:
    def made(n: int) -> dict[str, Any]:
        return {"name": f"rule {n:05}", "clause": f"c1 = {n}", "filter_type": "Regular"}

    keys = range(1, rules + 1)
    _add(connection, tables.ROW_RULES, _rows(rules, made, people=counts["people"]))
    on = [{"row_rule_id": key, "dataset_id": key % counts["datasets"] + 1} for key in keys]
    _add(connection, tables.ROW_RULE_DATASETS, on)
    roles = [{"row_rule_id": key, "role_id": key % counts["roles"] + 1} for key in keys]
    _add(connection, tables.ROW_RULE_ROLES, roles)


def _fill_charts(connection: Connection, charts: int, counts: dict[str, int]) -> None:
    def made(n: int) -> dict[str, Any]:
        return {
            "uuid": _uuid("c", n),
            "slice_name": f"chart {n * 7919 % 100_003:06}",
            "viz_type": ("line", "bar", "pie")[n % 3],
            "datasource_id": n % counts["datasets"] + 1,
            "datasource_type": "table",
            "description": "A *chart* about [something](https://example.com)." if n % 5 == 0 else None,
            "params": PARAMS,
            "is_managed_externally": False,
            "last_saved_at": BEGINNING + timedelta(hours=n),
            "last_saved_by": n % counts["people"] + 1,
        }

    people, tags, keys = counts["people"], counts["tags"], range(1, charts + 1)
    _add(connection, tables.CHARTS, _rows(charts, made, people=people))
    owners = [{"chart_id": key, "user_id": (key + more) % people + 1} for key in keys for more in range(2)]
    _add(connection, tables.CHART_OWNERS, owners)
    carried = [{"chart_id": key, "tag_id": (key + more) % tags + 1} for key in keys for more in range(2)]
    _add(connection, tables.CHART_TAGS, carried)


def _fill_dashboards(connection: Connection, dashboards: int, charts: int, counts: dict[str, int]) -> None:
    def made(n: int) -> dict[str, Any]:
        return {
            "uuid": _uuid("p", n),
            "dashboard_title": f"dashboard {n * 7919 % 100_003:06}",
            "slug": f"dashboard-{n}",
            "json_metadata": "{}",
            "position_json": PARAMS,
            "published": n % 3 != 0,
            "is_managed_externally": False,
        }

    people, keys = counts["people"], range(1, dashboards + 1)
    links = {
        tables.DASHBOARD_OWNERS: ("user_id", people, 2),
        tables.DASHBOARD_ROLES: ("role_id", counts["roles"], 1),
        tables.DASHBOARD_CHARTS: ("chart_id", charts, 10),
        tables.DASHBOARD_TAGS: ("tag_id", counts["tags"], 2),
    }
    _add(connection, tables.DASHBOARDS, _rows(dashboards, made, people=people))
    for table, (column, most, each) in links.items():
        pairs = {
            (key, (key * each + more) % most + 1)
            for key, more in itertools.product(keys, range(each))
            if column != "role_id" or key % 4 == 0
        }
        _add(connection, table, [{"dashboard_id": key, column: value} for key, value in sorted(pairs)])
