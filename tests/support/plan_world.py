"""A table of events with the usual indexes on any engine, as large as one likes, to see how statements are run."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

TABLE = "events"
COLUMNS = ("id", "ts", "country", "product", "tenant", "quantity", "price", "score")
_TYPES = {
    "sqlite": ("INTEGER", "TIMESTAMP", "VARCHAR(64)", "VARCHAR(64)", "INTEGER", "BIGINT", "DOUBLE", "DOUBLE"),
    "duckdb": ("INTEGER", "TIMESTAMP", "VARCHAR", "VARCHAR", "INTEGER", "BIGINT", "DOUBLE", "DOUBLE"),
    "postgresql": (
        *("INTEGER", "TIMESTAMP", "VARCHAR(64)", "VARCHAR(64)", "INTEGER", "BIGINT"),
        *("DOUBLE PRECISION", "DOUBLE PRECISION"),
    ),
    "mysql": ("INTEGER", "DATETIME(6)", "VARCHAR(64)", "VARCHAR(64)", "INTEGER", "BIGINT", "DOUBLE", "DOUBLE"),
}
NOT_NULL = ("product", "tenant", "quantity")
INDEXES = ("ts", "country", "product", "tenant")


def load(url: str, rows: int, folder: Path) -> None:
    """Make the table with its indexes and statistics; `folder` takes the rows as a file for the servers."""
    engine = sa.make_url(url).get_backend_name()
    _LOADERS[engine](url, rows, folder)


def _definition(engine: str) -> str:
    pairs = zip(COLUMNS, _TYPES[engine], strict=True)
    listed = ", ".join(f"{name} {kind}{' NOT NULL' if name in NOT_NULL else ''}" for name, kind in pairs)
    return f"CREATE TABLE {TABLE} ({listed}, PRIMARY KEY (id))"


def _indexes() -> Iterator[str]:
    return (f"CREATE INDEX ix_{name} ON {TABLE} ({name})" for name in INDEXES)


def batches(rows: int, *, size: int = 50_000) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows: 40 countries and 2,000 products, uneven; 1 % of moments, countries and scores are null."""
    source = np.random.default_rng(20240607)
    for start in range(0, rows, size):
        count = min(size, rows - start)
        ids = np.arange(start, start + count)
        # Moments in another order than ids, many of them twice.
        seconds = (ids * 7919 % rows) // 2 * 2 * (94_000_000 // max(rows, 1) or 1)
        moments = np.datetime_as_string(np.datetime64("2022-01-01T00:00:00") + seconds.astype("timedelta64[s]"))
        nulls = source.random((3, count)) < 0.01
        countries, products = source.zipf(1.3, count) % 40, source.integers(0, 2000, count)
        yield [
            (
                int(ids[i]),
                None if nulls[0, i] else moments[i].replace("T", " "),
                None if nulls[1, i] else f"Country {countries[i]:02d}",
                f"Product-{products[i]:04d} é",
                int(tenants),
                int(quantity),
                float(price),
                None if nulls[2, i] else float(score),
            )
            for i, (tenants, quantity, price, score) in enumerate(
                zip(
                    source.integers(0, 100, count),
                    source.integers(1, 100, count),
                    np.round(source.gamma(2.0, 25.0, count), 2),
                    np.round(source.normal(50, 15, count), 4),
                    strict=True,
                )
            )
        ]


def _load_sqlite(url: str, rows: int, _folder: Path) -> None:
    with closing(sqlite3.connect(str(sa.make_url(url).database))) as connection, connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(_definition("sqlite"))
        for batch in batches(rows):
            connection.executemany(f"INSERT INTO {TABLE} VALUES ({', '.join('?' * len(COLUMNS))})", batch)
        for statement in (*_indexes(), "ANALYZE"):
            connection.execute(statement)


def _load_duckdb(url: str, rows: int, folder: Path) -> None:
    import duckdb

    with closing(duckdb.connect(str(sa.make_url(url).database))) as connection:
        connection.execute(_definition("duckdb"))
        connection.execute(f"COPY {TABLE} FROM '{_file(rows, folder)}' (FORMAT csv, DELIMITER '\t', NULLSTR '\\N')")
        for statement in (*_indexes(), "ANALYZE", "CHECKPOINT"):
            connection.execute(statement)


def _load_postgresql(url: str, rows: int, folder: Path) -> None:
    import psycopg

    with psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://"), autocommit=True) as connection:
        connection.execute(_definition("postgresql"))
        with connection.cursor().copy(f"COPY {TABLE} FROM STDIN") as copy, open(_file(rows, folder), "rb") as file:
            while block := file.read(1 << 20):
                copy.write(block)
        for statement in (*_indexes(), "VACUUM ANALYZE"):
            connection.execute(statement)


def _load_mysql(url: str, rows: int, folder: Path) -> None:
    engine = sa.create_engine(url, connect_args={"local_infile": True}, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(_definition("mysql"))
        file = _file(rows, folder)
        connection.exec_driver_sql(f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE {TABLE} CHARACTER SET utf8mb4")
        for statement in (*_indexes(), f"ANALYZE TABLE {TABLE}"):
            connection.exec_driver_sql(statement).close()
    engine.dispose()


def _file(rows: int, folder: Path) -> Path:
    """Return a file of the rows, written once, as PostgreSQL and MariaDB read it."""
    path = folder / f"{rows}.tsv"
    if not path.exists():
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, escapechar=None)
            for batch in batches(rows):
                writer.writerows([r"\N" if value is None else value for value in row] for row in batch)
    return path


_LOADERS = {"sqlite": _load_sqlite, "duckdb": _load_duckdb, "postgresql": _load_postgresql, "mysql": _load_mysql}
