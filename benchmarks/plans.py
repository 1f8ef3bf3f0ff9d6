"""Our statements against what an expert writes by hand for the same rows, on a large table with the usual indexes.

    python -m benchmarks.plans [--rows 2000000] [--engines sqlite,duckdb,postgresql,mysql] [--rounds 5]

Both run in turn on one connection of the driver. The exit code is 1 when a plan lacks what it must show.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa
from tests.support.plan_cases import CASES, Case, flaw, plan_of, statements
from tests.support.plan_world import TABLE, load
from tests.support.servers import PrivateServers, private_servers

import analytics_core
from benchmarks.report import Ratio

ENGINES = ("sqlite", "duckdb", "postgresql", "mysql")
ROWS = 2_000_000
GOAL = 1.1
WRITTEN = "%Y-%m-%d %H:%M:%S"
MOST_TURNS = 60
ENOUGH_S = 3.0
AT_MOST_S = 60.0
"""Turns go on until they took `ENOUGH_S`; statements of many seconds have two turns, the first to warm up."""

POOL_BYTES = 2**30
"""MariaDB holds the table in memory; with the 64 MB of tests an index costs minutes, whoever writes the statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """A plan that is not as it must be."""

    name: str
    why: str
    met: bool = False

    def line(self) -> str:
        """The flaw as people read it."""
        return f"{self.name:64} PLAN {self.why}"


def compare(
    *, rows: int = ROWS, engines: tuple[str, ...] = ENGINES, rounds: int = 5, folder: Path | None = None
) -> Iterator[Ratio | Flaw]:
    """Make the tables, and yield a ratio for each case and engine, and each flaw of a plan."""
    with tempfile.TemporaryDirectory() as made, private_servers() as servers:
        for engine in engines:
            url = _url(engine, folder or Path(made), servers)
            load(url, rows, folder or Path(made))
            yield from _of_engine(engine, url, rows, rounds)


def _url(engine: str, folder: Path, servers: PrivateServers) -> str:
    if engine in ("sqlite", "duckdb"):
        return f"{engine}:///{folder}/plans.{engine}"
    if engine == "postgresql":
        return servers.postgres().make_database()
    server = servers.mariadb()
    server.execute(f"SET GLOBAL innodb_buffer_pool_size = {POOL_BYTES}")
    return server.make_database()


def _of_engine(engine: str, url: str, rows: int, rounds: int) -> Iterator[Ratio | Flaw]:
    with analytics_core.connect(url) as core:
        core.datasets.create({"database": 1, "table_name": TABLE})
        made = [(case, statements(core, case)) for case in CASES]
        if engine == "sqlite":  # an expert knows how moments are written, and so may a dataset
            long = [(replace(case, name=f"{case.name}, any zone"), ours) for case, ours in made if "GLOB" in ours[0]]
            core.datasets.set_column(1, {"column_name": "ts", "python_date_format": WRITTEN, "is_dttm": True})
            made = [*((case, statements(core, case)) for case in CASES), *long]
    database = sa.create_engine(url)
    with database.connect() as connection:
        for case, ours in made:
            why = flaw(case, engine, plan_of(connection, engine, ours[0]))
            if why:
                yield Flaw(name=f"{engine}: {case.name}", why=why)
            yield _ratio(connection, engine, case, ours, rows=rows, rounds=rounds)
    database.dispose()


def _ratio(
    connection: sa.Connection, engine: str, case: Case, ours: tuple[str, ...], *, rows: int, rounds: int
) -> Ratio:
    """Return the best time of each over many turns: other work on the machine only ever adds to a time."""
    texts = {"ours": ours, "expert": tuple(case.expert(engine).split(";"))}
    times: dict[str, list[float]] = {"ours": [], "expert": []}
    found: dict[str, int] = {}
    begun = time.perf_counter()
    while _needs_turn(len(times["ours"]), time.perf_counter() - begun, rounds):
        for who in sorted(texts, reverse=len(times["ours"]) % 2 == 1):
            found[who], seconds = _run(connection, engine, texts[who])
            times[who].append(seconds)
    if found["ours"] != found["expert"]:
        raise AssertionError(f"{engine}: {case.name}: {found} rows")
    typical = statistics.median(a / b for a, b in zip(times["ours"][1:], times["expert"][1:], strict=True))
    best = {who: min(all_[1:]) for who, all_ in times.items()}
    label = f"{best['ours'] * 1000:.1f} ms against {best['expert'] * 1000:.1f} ms"
    note = f"{label}, {rows:,} rows; median of {len(times['ours']) - 1} turns {typical:.2f}"
    return Ratio(name=f"{engine}: {case.name}", value=best["ours"] / best["expert"], goal=GOAL, note=note)


def _needs_turn(turns: int, spent_s: float, rounds: int) -> bool:
    if turns < 2 or spent_s > AT_MOST_S:
        return turns < 2
    return turns <= rounds or (turns < MOST_TURNS and spent_s < ENOUGH_S)


def _run(connection: sa.Connection, engine: str, texts: tuple[str, ...]) -> tuple[int, float]:
    """Return how many rows the statements have, and the seconds that it took to fetch them all.

    Engines in this process are measured by its processor time, which other work on the machine hardly changes.
    """
    clock = time.process_time if engine in ("sqlite", "duckdb") else time.perf_counter
    begun = clock()
    count = sum(len(connection.exec_driver_sql(_written(text, engine)).fetchall()) for text in texts)
    return count, clock() - begun


def _written(sql: str, engine: str) -> str:
    return sql.replace("%", "%%") if engine in ("postgresql", "mysql") else sql


def main() -> int:
    """Measure, print; a missed ratio is told, a flaw of a plan fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--engines", type=lambda text: tuple(text.split(",")), default=ENGINES)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    flaws = 0
    for figure in compare(rows=arguments.rows, engines=arguments.engines, rounds=arguments.rounds):
        print(figure.line(), flush=True)
        flaws += isinstance(figure, Flaw)
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main())
