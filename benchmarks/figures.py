"""The ratios to a floor: the same work without a library around it, taken in turn in one process."""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import Ratio
from benchmarks.system import System
from benchmarks.timing import paired_ratio
from benchmarks.workload import Workload, raw_postgres

HEAVY = ("pandas", "numpy", "sqlalchemy", "sqlglot", "pydantic", "pyarrow")
ROWS = 100_000
JSON_GOALS = {"sqlite": 1.5, "postgres": 1.5, "duckdb": 0.5}  # DuckDB's driver gives Arrow


def import_cost() -> Iterator[Ratio]:
    """What `import analytics_core` adds to a bare interpreter, and which heavy packages it loads."""
    added = []
    for _ in range(9):
        bare, ours = (_interpreter_ms(statement) for statement in ("pass", "import analytics_core"))
        added.append(ours - bare)
    yield Ratio(
        name="import analytics_core, over a bare interpreter", value=statistics.median(added), goal=60, unit="ms"
    )
    code = f"import analytics_core, sys; print(sum(name in sys.modules for name in {HEAVY}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    yield Ratio(name=f"heavy packages loaded by it ({', '.join(HEAVY[:4])} ...)", value=int(loaded), goal=0, unit="")


def _interpreter_ms(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; print((time.perf_counter() - t) * 1000)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def compile_cost(system: System, workload: Workload, *, engine: str) -> Iterator[Ratio]:
    """Payload to SQL, against building and compiling the same statement with bare SQLAlchemy Core."""
    floors = workload.limit_compile.sa_cases()
    for case, make in workload.workloads.COMPILE_CASES.items():
        payload = system.payload(make())
        cold = paired_ratio(_never_seen(system, payload), floors[case], rounds=60, warm_up=5, by="cpu_s")
        yield Ratio(name=f"payload to SQL, never seen before: {case}, {engine}", value=cold, goal=1.2)
        system.sql(payload)
        again = partial(system.sql, payload)
        repeated = paired_ratio(partial(_same, again), floors[case], rounds=60, warm_up=5, by="cpu_s")
        yield Ratio(name=f"payload to SQL, repeated: {case}, {engine}", value=repeated, goal=0.2)


def _same(call: Callable[[], Any]) -> Callable[[], Any]:
    return call


def _never_seen(system: System, payload: dict[str, Any]) -> Callable[[], Callable[[], Any]]:
    """Make payloads that differ from all before, so that no memory of an earlier one helps."""
    query = payload["queries"][0]
    numbers = iter(range(1, 1_000_000))

    def make() -> Callable[[], Any]:
        fresh = {**payload, "queries": [{**query, "row_limit": query["row_limit"] + next(numbers)}]}
        return lambda: system.sql(fresh)

    return make


def json_cost(system: System, workload: Workload, *, engine: str, url: str) -> Iterator[Ratio]:
    """100,000 rows of six columns to the JSON answer, against the driver's fetchall and orjson."""
    payload = system.rows(workload.workloads.chart_rows(ROWS))
    sql = workload.workloads.RAW_SQL.format(rows=ROWS)
    with closing(_raw_connection(engine, url)) as connection:
        ratio = paired_ratio(
            lambda: lambda: system.json(payload),
            lambda: workload.limit_e2e.records_json(connection.execute(sql).fetchall()),
            rounds=7,
            warm_up=1,
        )
    yield Ratio(name=f"100k rows to JSON, against fetchall + orjson: {engine}", value=ratio, goal=JSON_GOALS[engine])


def _raw_connection(engine: str, url: str) -> Any:
    if engine == "sqlite":
        return sqlite3.connect(url.removeprefix("sqlite:///"))
    if engine == "duckdb":
        import duckdb

        # One process opens a DuckDB file with one configuration: the floor reads a copy made for it.
        return duckdb.connect(url.removeprefix("duckdb:///") + ".floor", read_only=True)
    return raw_postgres(url)


def memory_of_a_million_rows(folder: Path, url: str) -> Iterator[Ratio]:
    """Peak memory of a million rows to JSON, above the start-up of the same process."""
    command = [sys.executable, "-m", "benchmarks.million_rows", str(folder), url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout.splitlines()[-1])
    note = f"{figures['rows']} rows, {figures['bytes'] / 1e6:.0f} MB of JSON; max_row_limit raised for it"
    yield Ratio(
        name="1M rows to JSON, peak memory above start-up: sqlite", value=figures["mib"], goal=600, unit="MB", note=note
    )
