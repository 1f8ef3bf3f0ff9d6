"""A small shop database for tutorials, tests and trials: the same rows for the same seed, on every engine."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

# The columns of every table, in order, each with the name of its SQLAlchemy type.
SHOP_TABLES: Mapping[str, Mapping[str, str]] = {
    "customers": {"id": "Integer", "name": "String", "country": "String", "joined_on": "Date"},
    "products": {"id": "Integer", "name": "String", "category": "String", "price": "Double"},
    "orders": {
        "id": "Integer",
        "order_date": "DateTime",
        "customer_id": "Integer",
        "product_id": "Integer",
        "country": "String",
        "category": "String",
        "channel": "String",
        "quantity": "Integer",
        "amount": "Double",
        "returned": "Boolean",
    },
}
_SQLITE_TYPES = {
    "Integer": "INTEGER",
    "String": "VARCHAR(80)",
    "Date": "DATE",
    "DateTime": "TIMESTAMP",
    "Double": "DOUBLE",
    "Boolean": "BOOLEAN",
}
_COUNTRIES = {"Germany": 8, "France": 6, "Österreich": 4, "España": 3, "日本": 2, "Brazil": 1}
_GIVEN_NAMES = ("Ada", "Émile", "José", "Marie", "Søren", "Yuki", "Zoë", "Łukasz")
_FAMILY_NAMES = ("Dvořák", "García", "Müller", "Novak", "O'Brien", "Sato", "Silva", "Åberg")
_PRODUCTS = {
    "books": {"Atlas": 39.0, "Cookbook": 24.5, "Novel": 12.9},
    "garden": {"Bench": 149.0, "Hose 50%": 35.0, "Spade": 22.0},
    "kitchen": {"Crêpe pan": 44.0, "Kettle": 59.0, "Knife": 31.5},
    "toys": {"Kite": 18.0, "Puzzle": 16.0, "Train": 79.0},
}
_CHANNELS = {"web": 6, "app": 3, "store": 2, None: 1}
_BUSY_DAYS = {4: 1.3, 5: 1.6, 6: 0.7}  # Friday, Saturday, Sunday
_ROWS_PER_INSERT = 500

Row = tuple[Any, ...]


def make_shop(
    target: str | Path, *, seed: int = 7, days: int = 731, until: date = date(2025, 1, 1), orders_per_day: int = 12
) -> str:
    """Make the shop's tables `customers`, `products` and `orders`, fill them, and return the database's URL.

    The rows depend on the arguments alone, not on the engine or the day. `orders.channel` and `orders.amount` hold
    NULLs, names hold letters beyond ASCII. A table that exists already is replaced.

    Args:
        target: the path of an SQLite file (standard library only), or a SQLAlchemy URL of any engine.
        seed: another seed makes another shop.
        days: how many days of orders there are.
        until: the first day without orders.
        orders_per_day: about how many; the shop grows slowly.

    Example:
        >>> import tempfile, os
        >>> folder = tempfile.TemporaryDirectory()
        >>> url = make_shop(os.path.join(folder.name, "shop.db"), days=3)
        >>> url.startswith("sqlite:///") and url.endswith("shop.db")
        True
        >>> folder.cleanup()
    """
    rows = shop_rows(seed=seed, days=days, until=until, orders_per_day=orders_per_day)
    if isinstance(target, str) and "://" in target:
        _fill_by_sqlalchemy(target, rows)
        return target
    path = Path(target).resolve()
    _fill_sqlite(path, rows)
    return f"sqlite:///{path.as_posix()}"


def shop_rows(
    *, seed: int = 7, days: int = 731, until: date = date(2025, 1, 1), orders_per_day: int = 12
) -> dict[str, list[Row]]:
    """Return the rows of every table of the shop, in the order of `SHOP_TABLES`; arguments as in `make_shop`."""
    dice = random.Random(seed)  # noqa: S311 - sample data, not a secret
    first = until - timedelta(days=days)
    customers = list(_customers(dice, joined_before=first))
    items = [(name, category, price) for category, prices in _PRODUCTS.items() for name, price in prices.items()]
    products = [(number, *item) for number, item in enumerate(items, start=1)]
    orders: list[Row] = []
    for n in range(days):
        day, mean = first + timedelta(days=n), orders_per_day * (0.8 + 0.4 * n / max(days - 1, 1))
        for _ in range(_order_count(dice, day, mean=mean)):
            orders.append(_order(dice, number=len(orders) + 1, day=day, customers=customers, products=products))
    return {"customers": customers, "products": products, "orders": orders}


def _customers(dice: random.Random, *, joined_before: date) -> Iterator[Row]:
    for number in range(1, 121):
        name = f"{dice.choice(_GIVEN_NAMES)} {dice.choice(_FAMILY_NAMES)}"
        country = _weighted(dice, _COUNTRIES)
        yield number, name, country, joined_before - timedelta(days=dice.randrange(1, 900))


def _order_count(dice: random.Random, day: date, *, mean: float) -> int:
    """Return how many orders came in on a day: more on Fridays and Saturdays, more before Christmas."""
    expected = mean * _BUSY_DAYS.get(day.weekday(), 1.0) * (1.5 if day.month in (11, 12) else 1.0)
    return max(0, round(dice.gauss(expected, expected**0.5)))


def _order(dice: random.Random, *, number: int, day: date, customers: Sequence[Row], products: Sequence[Row]) -> Row:
    customer, product = dice.choice(customers), dice.choice(products)
    moment = datetime.combine(
        day, time(hour=dice.randrange(7, 23), minute=dice.randrange(60), second=dice.randrange(60))
    )
    quantity = dice.choice((1, 1, 1, 2, 2, 3, 5))
    # An order whose price was not settled has no amount: sums, averages and counts must mind it.
    amount = None if dice.random() < 0.02 else round(quantity * product[3] * dice.uniform(0.9, 1.1), 2)
    channel = _weighted(dice, _CHANNELS)
    returned = dice.random() < 0.08
    return number, moment, customer[0], product[0], customer[2], product[2], channel, quantity, amount, returned


def _weighted(dice: random.Random, weights: Mapping[Any, int]) -> Any:
    return dice.choices(list(weights), weights=list(weights.values()))[0]


def _fill_sqlite(path: Path, rows: Mapping[str, Sequence[Row]]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, columns in SHOP_TABLES.items():
            definition = ", ".join(f"{name} {_SQLITE_TYPES[kind]}" for name, kind in columns.items())
            connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(f"CREATE TABLE {table} ({definition}, PRIMARY KEY (id))")
            marks = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", map(_with_texts, rows[table]))


def _with_texts(row: Row) -> Row:
    return tuple(str(value) if isinstance(value, date) else value for value in row)


def _fill_by_sqlalchemy(url: str, rows: Mapping[str, Sequence[Row]]) -> None:
    import sqlalchemy as sa

    engine = sa.create_engine(url)
    tables = _sqlalchemy_tables()
    try:
        with engine.begin() as connection:
            tables.drop_all(connection)
            tables.create_all(connection)
            for table, part in ((tables.tables[name], part) for name in rows for part in _as_records(name, rows[name])):
                connection.execute(sa.insert(table).values(part))
    finally:
        engine.dispose()


def _sqlalchemy_tables() -> Any:
    import sqlalchemy as sa

    tables = sa.MetaData()
    for name, columns in SHOP_TABLES.items():
        kinds = {column: sa.String(80) if kind == "String" else getattr(sa, kind)() for column, kind in columns.items()}
        keyed = (
            sa.Column(column, kind, primary_key=column == "id", autoincrement=False) for column, kind in kinds.items()
        )
        # A bare MariaDB server defaults to latin1, which cannot hold the names.
        sa.Table(name, tables, *keyed, mysql_charset="utf8mb4")
    return tables


def _as_records(table: str, rows: Sequence[Row]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows as records, a statement's worth at a time."""
    records = [dict(zip(SHOP_TABLES[table], row, strict=True)) for row in rows]
    for start in range(0, len(records), _ROWS_PER_INSERT):
        yield records[start : start + _ROWS_PER_INSERT]
