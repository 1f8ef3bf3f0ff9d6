"""The ratios to a floor: the same work without a library around it, taken in turn in one process."""

from __future__ import annotations

import json
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.report import Ratio
from benchmarks.system import System
from benchmarks.timing import paired_ratio
from benchmarks.workload import Workload, raw_postgres

HEAVY = ("pandas", "numpy", "sqlalchemy", "sqlglot", "pydantic", "pyarrow")
ROWS = 100_000
Change = Callable[[dict[str, Any], int], dict[str, Any]]
"""Makes a payload of another one, and of a number that no payload was made of before."""

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
    numbers = count(1)
    for case, make in workload.workloads.COMPILE_CASES.items():
        payload = system.payload(make())
        for name, changed, goal in COMPILE_LINES:
            ratio = paired_ratio(
                partial(_question, system, payload, changed, numbers),
                floors[case],
                rounds=60,
                warm_up=5,
                by="cpu_s",
            )
            yield Ratio(name=f"payload to SQL, {name}: {case}, {engine}", value=ratio, goal=goal)


def _question(system: System, payload: dict[str, Any], changed: Change, numbers: Iterator[int]) -> Callable[[], Any]:
    return partial(system.sql, changed(payload, next(numbers)))


def of_new_shape(payload: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a payload with a label that none had before: its last metric is an ad-hoc one."""
    query = payload["queries"][0]
    *others, last = query["metrics"]
    sql = last["sqlExpression"] if isinstance(last, dict) else None
    fresh: dict[str, Any] = {"expressionType": "SQL", "sqlExpression": sql}
    if sql is None:
        name = last.removeprefix("sum_").removeprefix("total_")
        fresh = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": name}}
    metrics = [*others, {**fresh, "label": f"metric {number}"}]
    return {**payload, "queries": [{**query, "metrics": metrics}]}


def with_other_values(payload: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a payload that differs from all before in every value: those of its filters, its range and its limit."""
    query = payload["queries"][0]
    filters = [
        {**item, "val": _other_value(item["val"], number)} if "val" in item else item for item in query["filters"]
    ]
    changed = {**query, "filters": filters, "row_limit": query["row_limit"] + number}
    if "time_range" in query:
        since = date(2022, 3, 1) + timedelta(days=number)
        changed["time_range"] = f"{since} : {since + timedelta(days=365)}"
    return {**payload, "queries": [changed]}


def _other_value(value: Any, number: int) -> Any:
    if isinstance(value, list):
        return [_other_value(member, number) for member in value]
    return f"{value}{number}" if isinstance(value, str) else value + number


def _as_it_is(payload: dict[str, Any], _number: int) -> dict[str, Any]:
    return payload


COMPILE_LINES: tuple[tuple[str, Change, float], ...] = (
    ("never seen before", of_new_shape, 1.2),
    ("same shape, other values", with_other_values, 0.25),
    ("repeated", _as_it_is, 0.12),
)


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
    """Peak memory of a million rows written out, above the start-up of the same process."""
    cpu_s = {}
    for road, goal in (("to_json", 300), ("write_json", 150), ("write_csv", 150)):
        command = [sys.executable, "-m", "benchmarks.million_rows", str(folder), url, road]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        figures = json.loads(done.stdout.splitlines()[-1])
        cpu_s[road] = figures["cpu_s"]
        note = f"{figures['rows']} rows; max_row_limit raised for it"
        name = f"1M rows by {road}, peak memory above start-up: sqlite"
        yield Ratio(name=name, value=figures["mib"], goal=goal, unit="MB", note=note)
    yield Ratio(
        name="1M rows by write_json, CPU over to_json: sqlite", value=cpu_s["write_json"] / cpu_s["to_json"], goal=1.1
    )
