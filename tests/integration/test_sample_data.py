"""The sample shop: seeded, awkward on purpose, the same on every engine."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from analytics_core.testing.sample_data import SHOP_TABLES, make_shop, shop_rows


def _rows(url: str) -> list[tuple[object, ...]]:
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            columns = ", ".join(SHOP_TABLES["orders"])
            return [tuple(row) for row in connection.exec_driver_sql(f"SELECT {columns} FROM orders ORDER BY id")]
    finally:
        engine.dispose()


def test_the_same_seed_makes_the_same_shop_and_another_seed_another() -> None:
    assert shop_rows(days=30) == shop_rows(days=30)
    assert shop_rows(days=30) != shop_rows(days=30, seed=8)


def test_orders_fill_the_days_asked_for_and_end_before_until() -> None:
    orders = shop_rows(days=40, until=date(2024, 3, 1))["orders"]
    days = {order[1].date() for order in orders}
    assert min(days) == date(2024, 1, 21)
    assert max(days) == date(2024, 2, 29)


@pytest.mark.slow
def test_the_shop_holds_what_makes_queries_awkward() -> None:
    rows = shop_rows()
    orders = [dict(zip(SHOP_TABLES["orders"], row, strict=True)) for row in rows["orders"]]
    assert any(order["amount"] is None for order in orders)
    assert any(order["channel"] is None for order in orders)
    assert {order["returned"] for order in orders} == {True, False}
    assert any(not str(order["country"]).isascii() for order in orders)
    assert any("'" in name for _, name, *_ in rows["customers"])
    assert any("%" in name for _, name, *_ in rows["products"])


def test_every_order_points_to_a_customer_and_a_product() -> None:
    rows = shop_rows(days=60)
    customers, products = ({row[0] for row in rows[name]} for name in ("customers", "products"))
    assert {order[2] for order in rows["orders"]} <= customers
    assert {order[3] for order in rows["orders"]} <= products


def test_a_path_becomes_an_sqlite_file_and_its_url(tmp_path: Path) -> None:
    url = make_shop(tmp_path / "shop.db", days=20)
    assert url == f"sqlite:///{(tmp_path / 'shop.db').as_posix()}"
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        stored = connection.execute("SELECT order_date, returned FROM orders ORDER BY id LIMIT 1").fetchone()
    first = shop_rows(days=20)["orders"][0]
    assert stored == (first[1].isoformat(" "), int(first[9]))


def test_making_a_shop_again_replaces_the_old_one(tmp_path: Path) -> None:
    make_shop(tmp_path / "shop.db", days=20)
    make_shop(tmp_path / "shop.db", days=10)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        assert connection.execute("SELECT count(*) FROM orders").fetchone()[0] == len(shop_rows(days=10)["orders"])


@pytest.mark.slow
def test_duckdb_holds_the_same_rows(tmp_path: Path) -> None:
    url = make_shop(f"duckdb:///{tmp_path / 'shop.duckdb'}", days=20)
    assert _rows(url) == shop_rows(days=20)["orders"]


@pytest.mark.server
def test_postgresql_holds_the_same_rows(postgres_url: str) -> None:
    assert _rows(make_shop(postgres_url, days=20)) == shop_rows(days=20)["orders"]


@pytest.mark.server
def test_mariadb_holds_the_same_rows(mariadb_url: str) -> None:
    assert [(*row[:9], bool(row[9])) for row in _rows(make_shop(mariadb_url, days=20))] == shop_rows(days=20)["orders"]
    assert isinstance(_rows(mariadb_url)[0][1], datetime)
