"""What the first call of a process costs: `connect`, a first answer, a `tick` by cron; new processes, turn about.

Measured is the CPU (user and system) of whole processes, from the interpreter's start to its end.
"""

from __future__ import annotations

import os
import secrets
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb

from analytics_core import AnalyticsCore, Settings
from analytics_core.testing.sample_data import make_shop
from benchmarks.report import Ratio

ROUNDS = 9
MOST_OF_CONNECT = 1.5
MOST_MODULES = 150
MOST_OF_FIRST_ANSWER = 1.5
MOST_OF_TICK_S = 1.0

IMPORTS = "import sqlalchemy, pydantic"
CONNECT = "import analytics_core; core = analytics_core.connect({file!r})"
CLOSE = "; core.close()"
FIRST_ANSWER = f"{CONNECT}; print(core.dataset('orders').query('count').by('country').run()[0].pandas()){CLOSE}"
DUCKDB = (
    "import duckdb, pandas; connection = duckdb.connect({file!r}, read_only=True); "
    "print(connection.sql('SELECT country, count(*) FROM orders GROUP BY 1').df()); connection.close()"
)
MODULES = "; import sys; print(sum(name.split('.')[0] == 'analytics_core' for name in sys.modules))"


def compare() -> Iterator[Ratio]:
    """Measure on the sample shop."""
    with tempfile.TemporaryDirectory() as folder:
        sqlite, duck = Path(folder) / "shop.db", Path(folder) / "shop.duckdb"
        make_shop(sqlite)
        _copy(sqlite, duck)
        yield from _connect(str(sqlite))
        yield _first_answer(str(duck))
        yield _tick(Path(folder))


def _connect(file: str) -> Iterator[Ratio]:
    connect = CONNECT.format(file=file)
    yield Ratio(
        name=f"connect of an SQLite file: CPU over `{IMPORTS}`",
        value=_ratio(connect + CLOSE, IMPORTS),
        goal=MOST_OF_CONNECT,
    )
    yield Ratio(
        name="connect of an SQLite file: modules of ours",
        value=int(_run([sys.executable, "-c", connect + MODULES])),
        goal=MOST_MODULES,
        unit="",
    )


def _first_answer(file: str) -> Ratio:
    return Ratio(
        name="first answer of a DuckDB file as pandas: CPU over DuckDB's own",
        value=_ratio(FIRST_ANSWER.format(file=file), DUCKDB.format(file=file)),
        goal=MOST_OF_FIRST_ANSWER,
    )


def _tick(folder: Path) -> Ratio:
    key, store = secrets.token_urlsafe(32), f"sqlite:///{folder / 'meta.db'}"
    with AnalyticsCore(Settings(secret_key=key), metadata_url=store) as core:
        core.create_first_administrator("admin")
    command = [sys.executable, "-m", "analytics_core", "--store", store, "tick"]
    environment = {**os.environ, "ANALYTICS_CORE_SECRET_KEY": key}
    taken = [_cpu_s(command, environment) for _ in range(ROUNDS)]
    return Ratio(name="tick with nothing due: CPU", value=statistics.median(taken), goal=MOST_OF_TICK_S, unit="s")


def _ratio(ours: str, other: str) -> float:
    """Return the median of the ratios of pairs; the first pair, which may write byte code, is left out."""
    pairs = [[_cpu_s([sys.executable, "-c", code]) for code in (ours, other)] for _ in range(ROUNDS + 1)]
    return statistics.median(one / another for one, another in pairs[1:])


def _cpu_s(command: list[str], environment: Mapping[str, str] | None = None) -> float:
    """Return the CPU seconds of a process, with those of its own children."""
    before = os.times()
    _run(command, environment)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _run(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def _copy(sqlite: Path, duck: Path) -> None:
    """Write the orders of the shop into a DuckDB file, without the extension that would be fetched."""
    import pandas as pd
    import sqlalchemy as sa

    engine = sa.create_engine(f"sqlite:///{sqlite}")
    orders = pd.read_sql("SELECT * FROM orders", engine)
    engine.dispose()
    with duckdb.connect(str(duck)) as connection:
        connection.register("rows_of_orders", orders)
        connection.execute("CREATE TABLE orders AS SELECT * FROM rows_of_orders")


if __name__ == "__main__":
    for figure in compare():
        print(figure.line(), flush=True)
