"""What `core.sql` takes beside the chart that asks for the same rows, on DuckDB; no cache is read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

import analytics_core
from benchmarks.report import Ratio
from benchmarks.timing import paired_ratio

COLUMNS = ("id", "amount", "city", "paid", "day")
ROWS = 100_000
GOALS = {100: 1.3, ROWS: 1.0}
"""Of each number of rows, the processor time of a statement over that of a chart."""


def compare() -> Iterator[Ratio]:
    """Fill a table and measure."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shop.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.execute(
                "CREATE TABLE orders AS SELECT n AS id, n * 1.5 AS amount, 'city ' || n % 100 AS city, n % 2 = 0 AS "
                f"paid, TIMESTAMP '2024-01-01' + INTERVAL (n) MINUTE AS day FROM range({ROWS}) AS made (n)"
            )
        with analytics_core.connect(file) as core:
            for rows, goal in GOALS.items():
                yield _beside_a_chart(core, rows, goal)


def _beside_a_chart(core: Any, rows: int, goal: float) -> Ratio:
    query = {"columns": list(COLUMNS), "row_limit": rows}
    payload = {"datasource": {"id": 1, "type": "table"}, "queries": [query]}
    statement = f"SELECT {', '.join(COLUMNS)} FROM orders"
    return Ratio(
        name=f"core.sql over charts.data, {rows:,} rows, processor time",
        value=paired_ratio(
            lambda: lambda: core.sql(statement, row_limit=rows).frame,
            lambda: core.charts.data(payload, force=True)[0].frame,
            rounds=15,
            by="cpu_s",
        ),
        goal=goal,
    )
