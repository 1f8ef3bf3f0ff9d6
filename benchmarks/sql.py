"""What statements that people write cost: `core.sql` beside the chart of the same rows, checks beside a mere parser.

No cache is read; the rows are DuckDB's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
from tests import tpc
from tests.support.planning import spec_of

import analytics_core
from benchmarks.report import Ratio
from benchmarks.timing import paired_ratio

COLUMNS = ("id", "amount", "city", "paid", "day")
ROWS = 100_000
GOALS = {100: 1.1, ROWS: 1.0}
"""Of each number of rows, the processor time of a statement over that of a chart."""
MONTHS = """
WITH months AS (
    SELECT c.region, o.month, SUM(o.amount) AS total, COUNT(DISTINCT o.customer_id) AS customers
    FROM orders AS o JOIN customers AS c ON o.customer_id = c.id
    WHERE o.month BETWEEN 1 AND 12 AND (c.kind IN ('shop', 'web') OR c.kind LIKE 'part%')
    GROUP BY c.region, o.month
), ranked AS (
    SELECT region, month, total, customers, RANK() OVER (PARTITION BY region ORDER BY total DESC) AS place,
        LAG(total) OVER (PARTITION BY region ORDER BY month) AS before
    FROM months
)
SELECT r.region, r.month, r.total, CASE WHEN r.before > 0 THEN r.total / r.before - 1 ELSE 0 END AS growth,
    (SELECT MAX(p.amount) FROM payments AS p WHERE p.month = r.month) AS largest
FROM ranked AS r WHERE r.place <= 3 AND r.total > (SELECT AVG(total) FROM months)
ORDER BY r.region, r.place LIMIT 100
"""
CHECKED = 2.5
"""The processor time of check and fence over that of sqlglot's own parse and generate."""


def compare() -> Iterator[Ratio]:
    """Check a statement on each engine, fill a table and measure."""
    yield from map(_beside_a_parser, tpc.ENGINES)
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


def _beside_a_parser(engine: str) -> Ratio:
    spec = spec_of(engine)
    return Ratio(
        name=f"check and fence over parse and generate, processor time: {engine}",
        value=paired_ratio(
            lambda: lambda: tpc.fenced(MONTHS, spec), lambda: tpc.parsed(MONTHS, spec), rounds=200, by="cpu_s"
        ),
        goal=CHECKED,
    )


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
