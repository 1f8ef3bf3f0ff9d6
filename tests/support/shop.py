"""The sample shop behind a facade: cores over it, short ways to ask, and its orders as plain Python rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.servers import LOOPBACK
from tests.support.templates import copied_file, furnish, is_copy

import analytics_core
from analytics_core import AnalyticsCore, Settings
from analytics_core.ports import RowFilterSource
from analytics_core.testing.sample_data import SHOP_TABLES, make_shop, shop_rows

SIZE: Mapping[str, Any] = {"seed": 7, "days": 731, "orders_per_day": 2}
KEY = "a key for tests only, 0123456789"
NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)
ORDERS: list[dict[str, Any]] = [
    dict(zip(SHOP_TABLES["orders"], row, strict=True)) for row in shop_rows(**SIZE)["orders"]
]
"""The rows of the table `orders`, made without a database."""

AMOUNT = {
    "expressionType": "SIMPLE",
    "column": {"column_name": "amount"},
    "aggregate": "SUM",
    "label": "amount",
}
"""An ad-hoc metric: the sum of the amounts."""


def axis(grain: str | None, *, label: str = "when", column: str = "order_date") -> dict[str, Any]:
    """Return an x-axis column with a time grain, as clients send it."""
    return {
        "columnType": "BASE_AXIS",
        "expressionType": "SQL",
        "sqlExpression": column,
        "label": label,
        "timeGrain": grain,
    }


def shop_url(folder: Path, engine: str = "sqlite") -> str:
    """Make the shop as a file in `folder` and return its URL."""
    name = "shop.duckdb" if engine == "duckdb" else "shop.db"
    file = copied_file(folder / name, f"shop {engine}", lambda file: make_shop(f"{engine}:///{file}", **SIZE))
    return f"{engine}:///{file}"


def _is_untouched(url: str) -> bool:
    """Return whether a URL names a file as `shop_url` made it, so that its datasets are known."""
    engine, _, file = url.partition(":///")
    return bool(file) and Path(file).is_file() and is_copy(Path(file), f"shop {engine}")


def orders_core(url: str, **settings: Any) -> AnalyticsCore:
    """Return a core as of `connect` whose dataset 1 is the table `orders` of the shop at `url`."""
    engine, _, file = url.partition(":///")
    if not _is_untouched(url):
        core = analytics_core.connect(url, **settings)
        core.datasets.create({"database": 1, "table_name": "orders"})
        return core
    core = AnalyticsCore(
        Settings(**{"secret_key": KEY, "environment_passwords": True, **settings}), allowed_files=[file]
    )

    def fill() -> None:
        admin = core.as_user(core.create_first_administrator("admin", first_name="Admin").id)
        admin.databases.create({"database_name": "main", "orm_uri": url})
        admin.datasets.create({"database": 1, "table_name": "orders"})

    furnish(core, f"orders {engine} {sorted(settings.items())}", fill, file=Path(file))
    return core.as_user(1)


def hosted_core(
    url: str,
    *,
    metadata_url: str = "sqlite://",
    row_filters: Sequence[RowFilterSource] = (),
    database: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    **ports: Any,
) -> AnalyticsCore:
    """Return a host's core over the shop at `url`, where nobody acts yet; user 1 is an administrator.

    Dataset 1 is `orders`; `database` holds further fields of database 1, `settings` further settings.
    """
    core = AnalyticsCore(
        Settings(**{"secret_key": KEY, "allowed_networks": LOOPBACK, **(settings or {})}),
        metadata_url=metadata_url,
        row_filters=row_filters,
        allowed_files=[url.partition(":///")[2]] if "/" in url.partition(":///")[2] else [],
        **ports,
    )

    def fill() -> None:
        core.create_first_administrator("admin")
        admin = core.as_user("admin")
        admin.databases.create({"database_name": "shop", "orm_uri": url, **(database or {})})
        admin.datasets.create({"database": 1, "table_name": "orders"})

    engine, _, file = url.partition(":///")
    if ports or row_filters or metadata_url != "sqlite://" or not _is_untouched(url):
        fill()
    else:
        furnish(core, f"hosted {engine} {database} {settings}", fill, file=Path(file))
    return core


def add_reader(core: AnalyticsCore, username: str, on: Any = ("database", 1)) -> AnalyticsCore:
    """Return `core` as a new user whose one role is granted `on` (None: nothing)."""
    admin = core.as_user("admin")
    role = admin.roles.create({"name": f"readers {username}"})
    if on is not None:
        admin.roles.grant(role, on=on)
    admin.users.create({"username": username, "roles": [role.id]})
    return core.as_user(username)


def context(*queries: Mapping[str, Any], dataset: int = 1, **options: Any) -> dict[str, Any]:
    """Return a query context on a dataset."""
    return {"datasource": {"id": dataset, "type": "table"}, "queries": [dict(q) for q in queries], **options}


def ask(core: AnalyticsCore, query: Mapping[str, Any], **options: Any) -> Any:
    """Return the result of one query, or raise its error."""
    data = core.charts.data(context(query, **options))
    data.raise_for_error()
    return data.results[0]


def rows(core: AnalyticsCore, query: Mapping[str, Any], **options: Any) -> list[tuple[Any, ...]]:
    """Return the typed rows of one query, or raise its error."""
    return [tuple(row) for row in ask(core, query, **options).frame.rows()]


def column_put(core: AnalyticsCore, changes: Mapping[str, Mapping[str, Any]], *, dataset: int = 1) -> None:
    """Update columns of a dataset by name; a name that it lacks becomes a new column."""
    stored = core.datasets.get(dataset)
    fields = ("id", "column_name", "verbose_name", "expression", "type", "python_date_format", "is_dttm")
    columns = {c.column_name: {name: getattr(c, name) for name in fields} for c in stored.columns or ()}
    for name, change in changes.items():
        columns[name] = {**columns.get(name, {"column_name": name}), **change}
    core.datasets.update(dataset, {"columns": list(columns.values())})


def total(chosen: Callable[[dict[str, Any]], bool] = lambda _row: True) -> float:
    """Return the sum of the amounts of the chosen orders, in plain Python."""
    return sum(row["amount"] or 0.0 for row in ORDERS if chosen(row))


def count(chosen: Callable[[dict[str, Any]], bool] = lambda _row: True) -> int:
    """Return how many orders are chosen, in plain Python."""
    return sum(1 for row in ORDERS if chosen(row))


def fingerprint(url: str) -> bytes:
    """Return the bytes of a file database, to prove that nothing was written."""
    with open(os.fspath(url.partition(":///")[2]), "rb") as file:
        return file.read()
