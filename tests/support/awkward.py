"""A small table that holds what engines disagree about, the same on every engine, and as plain Python rows."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

TABLE = "Awkward rows"
NAMES = ["Bo", "bo", "BO ", "bo", "é", "É", "straße", "漢字", "😀", "a%b", "a_b", "a\\b", "O'Hara", '"q"', "", None]
GROUPS = ["north", "North", "south", "süd", "Others", None]


def rows(count: int = 240, *, seed: int = 11) -> list[dict[str, Any]]:
    """Return the rows; every column but `id` holds nulls."""
    source = random.Random(seed)
    return [_row(source, number) for number in range(1, count + 1)]


def _row(source: random.Random, number: int) -> dict[str, Any]:
    moment = datetime(2023, 11, 20) + timedelta(minutes=source.randrange(0, 600_000), seconds=source.randrange(60))
    return {
        "id": number,
        "ts": _maybe(source, moment),
        "day": _maybe(source, date(2024, 1, 1) + timedelta(days=source.randrange(-400, 400))),
        "name": source.choice(NAMES),
        "grp": source.choice(GROUPS),
        "qty": _maybe(source, source.randrange(-5, 20)),
        "price": _maybe(source, source.randrange(-400, 4000) / 8),
        "flag": _maybe(source, source.random() < 0.5),
    }


def _maybe(source: random.Random, value: Any) -> Any:
    return None if source.random() < 0.08 else value


def load(url: str, data: list[dict[str, Any]]) -> None:
    """Create the table on the database of `url` and fill it."""
    engine = sa.create_engine(url)
    meta = sa.MetaData()
    table = sa.Table(
        TABLE,
        meta,
        sa.Column("id", sa.Integer, nullable=False, primary_key=True, autoincrement=False),
        sa.Column("ts", _timestamp()),
        sa.Column("day", sa.Date),
        sa.Column("name", sa.String(40)),
        sa.Column("grp", sa.String(20)),
        sa.Column("qty", sa.Integer),
        sa.Column("price", sa.Double),
        sa.Column("flag", sa.Boolean),
    )
    meta.create_all(engine)
    with engine.begin() as connection:
        connection.execute(sa.insert(table), data)
    engine.dispose()


def _timestamp() -> sa.types.TypeEngine[datetime]:
    from sqlalchemy.dialects import mysql

    return sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
