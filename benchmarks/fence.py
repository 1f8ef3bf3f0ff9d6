"""What the fence between row rules and what may fail costs, against the same statement without one.

A tenant has every second of 200,000 rows, which have an index by tenant and one by time. SQL that fails on no row needs
no fence on most engines, other SQL does. Statements of safe filters, plain columns and plain metrics have none either
(tests/unit/test_fence.py), so nothing is measured of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from tests.support.fence_trials import RULES, Trial, Trials, arrange, fill, run
from tests.support.servers import PrivateServers, ServerMissingError, private_servers

from benchmarks.report import Ratio, Unmeasured
from benchmarks.timing import paired_ratio

ROWS = 200_000
TOTAL = "TRIM(status) <> 'ZZ'"
_REPLACED = "REPLACE(status, 'x', 'y') <> 'ZZ'"
FENCED: Mapping[str, str] = MappingProxyType(
    {"postgresql": _REPLACED, "mysql": "POW(zero, 2) >= 0", "duckdb": _REPLACED, "sqlite": _REPLACED}
)
"""What may fail on a row, as far as the library knows."""
_COUNT = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "n"}
_DAY = {"col": "created_at", "op": "TEMPORAL_RANGE", "val": "2020-02-01 : 2020-02-02"}
WORKLOADS: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "one day by index": {"columns": ["tenant"], "metrics": [_COUNT], "filters": [_DAY]},
        "aggregate": {"columns": ["tenant"], "metrics": [_COUNT]},
        "ten latest rows": {
            "columns": ["id"],
            "orderby": [["created_at", False]],
            "row_limit": 10,
        },
        "series": {
            "columns": ["zero"],
            "metrics": [_COUNT],
            "series_columns": ["zero"],
            "series_limit": 5,
        },
    }
)
GOALS: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "postgresql": {"": 1.5},
        "mysql": {"": 2.5, "ten latest rows": 2_000},
        "duckdb": {"": 4, "aggregate": 30, "ten latest rows": 60, "series": 8},
        "sqlite": {"": 2, "ten latest rows": 20_000},
    }
)
"""At most so many times the plain conjunction; ten rows by an index are those that a fence cannot have."""
TOTAL_GOAL = 1.3
"""The same where no fence stands; what is left is how DuckDB's columns are read as their types."""


def compare() -> Iterator[Ratio | Unmeasured]:
    """Fill a table on each engine, measure."""
    with tempfile.TemporaryDirectory() as folder, private_servers() as servers:
        for engine in GOALS:
            try:
                yield from _on(engine, _url(engine, Path(folder), servers))
            except ServerMissingError as missing:
                yield Unmeasured(name=f"fence: {engine}", why=str(missing))


def _url(engine: str, folder: Path, servers: PrivateServers) -> str:
    if engine == "postgresql":
        return servers.postgres().make_database()
    return servers.mariadb().make_database() if engine == "mysql" else f"{engine}:///{folder}/fence.{engine}"


def _on(engine: str, url: str) -> Iterator[Ratio]:
    trials = Trials(engine)
    database = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with database.connect() as connection:
        fill(connection, engine, ROWS)
        arrange(connection, engine, "index on the rule")
        arrange(connection, engine, "index by time")
        for name, payload in WORKLOADS.items():
            goals = GOALS[engine]
            for kind, fragment, goal in (
                ("a fragment", FENCED[engine], goals.get(name, goals[""])),
                ("a fragment that fails on no row", TOTAL, TOTAL_GOAL),
            ):
                query = {**payload, "extras": {"where": fragment}}
                fenced = Trial(name, trials.on_table(query, RULES["equal"]))
                plain = Trial(name, trials.on_table(query, RULES["equal"], old=True))
                ratio = paired_ratio(_same(connection, fenced), _same(connection, plain)(), rounds=21)
                yield Ratio(name=f"fence: {kind}, {name}, {engine}", value=ratio, goal=goal)
    database.dispose()


def _same(connection: sa.Connection, trial: Trial) -> Callable[[], Callable[[], Any]]:
    return lambda: lambda: run(connection, trial)
