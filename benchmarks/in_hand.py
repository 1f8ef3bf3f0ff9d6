"""What a million rows in hand cost: memory that grows, and the first grouped question beside DuckDB's own."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import analytics_core
from analytics_core import AnalyticsCore
from benchmarks.report import Ratio
from benchmarks.timing import paired_ratio

ROWS = 1_000_000
MOST_GROWTH = 0.05
MOST_OVERHEAD = 1.3
ROUNDS = 15
SQL = "SELECT category, sum(amount) AS revenue, count(*) AS n FROM sales GROUP BY category ORDER BY revenue DESC"
REVENUE = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "amount"}, "label": "revenue"}
QUERY = {"columns": ["category"], "metrics": [REVENUE, "count"], "orderby": [["revenue", False]]}


def compare() -> Iterator[Ratio]:
    """Measure each kind of frame; no cache is read."""
    frame = sales()
    table = pa.Table.from_pandas(frame, preserve_index=False)
    kinds: dict[str, Any] = {"pandas": frame, "Polars": pl.from_arrow(table), "Arrow": table}
    for name, thing in kinds.items():
        yield Ratio(
            name=f"{name} frame of {ROWS:,} rows: memory that grows when it is registered, over its own",
            value=growth(thing) / table.nbytes,
            goal=MOST_GROWTH,
        )
        yield Ratio(
            name=f"{name} frame of {ROWS:,} rows: first grouped question over DuckDB's own on the same frame",
            value=first_question(thing),
            goal=MOST_OVERHEAD,
        )


def sales() -> pd.DataFrame:
    """Return a million orders: a number, a text, a moment, an amount with gaps."""
    random = np.random.default_rng(7)
    days = np.datetime64("2023-01-01") + random.integers(0, 730, ROWS).astype("timedelta64[D]")
    return pd.DataFrame(
        {
            "id": np.arange(ROWS),
            "day": days.astype("datetime64[us]"),
            "category": pd.array(np.array(["garden", "kitchen", "toys", "books"])[random.integers(0, 4, ROWS)]),
            "amount": np.where(np.arange(ROWS) % 100, random.random(ROWS) * 100, np.nan),
            "quantity": random.integers(1, 9, ROWS).astype("int32"),
        }
    )


def growth(thing: Any) -> float:
    """Return the bytes that stay taken when the frame is registered: Arrow's own, or those of the process if more.

    It goes beside a small one, so that what a core takes itself (about 4 MB) is there before.
    """
    return min(_growth(thing) for _ in range(3))


def _growth(thing: Any) -> float:
    with analytics_core.connect({"small": thing[:10]}) as core:
        ask(core, "small", columns=[])()
        gc.collect()
        arrow, process = pa.total_allocated_bytes(), resident()
        core.dataset_from(thing, "sales")
        gc.collect()
        return float(max(pa.total_allocated_bytes() - arrow, resident() - process, 0))


def resident() -> int:
    """Return the bytes of memory of this process; 0 where nobody tells."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def first_question(thing: Any) -> float:
    """Return the median ratio of the first question of a new core, and the first query of a new DuckDB."""
    cores: list[AnalyticsCore] = []

    def ours() -> Callable[[], Any]:
        cores.append(analytics_core.connect(thing))
        return ask(cores[-1])

    def own() -> Any:
        return connection.execute(SQL).to_arrow_table()

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("sales", thing)
        try:
            return paired_ratio(ours, own, rounds=ROUNDS)
        finally:
            for core in cores:
                core.close()


def ask(core: AnalyticsCore, name: str = "data", **changed: Any) -> Callable[[], Any]:
    """Return the call that asks the grouped question."""
    payload = {"datasource": {"id": core.datasets.get(name).id, "type": "table"}, "queries": [{**QUERY, **changed}]}
    return lambda: core.charts.data(payload, force=True).raise_for_error()


if __name__ == "__main__":
    for figure in compare():
        print(figure.line(), flush=True)
