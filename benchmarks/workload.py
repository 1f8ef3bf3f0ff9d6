"""The shared workloads and the databases they run on; nothing of them is copied here, they are read by path."""

from __future__ import annotations

import importlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.servers import PrivateServers, ServerMissingError

ENGINES = ("sqlite", "duckdb", "postgres")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The modules of the shared harness: payloads, the floors of compiling and of fetching."""

    folder: Path
    workloads: ModuleType
    limit_compile: ModuleType
    limit_e2e: ModuleType


def load_workload(folder: Path) -> Workload:
    """Import the harness from its folder."""
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    names = ("workloads", "limit_compile", "limit_e2e")
    return Workload(folder=folder, **{name: importlib.import_module(name) for name in names})


def make_databases(workload: Workload, folder: Path, servers: PrivateServers) -> dict[str, str]:
    """Fill one database for each engine that can run here with the harness's rows; return their URLs."""
    make_data = importlib.import_module("make_data")
    frames = {"events": workload.workloads.events_frame(), "wide": workload.workloads.wide_frame()}
    make_data.to_sqlite(str(folder / "bench.db"), frames)
    make_data.to_duckdb(str(folder / "bench.duckdb"), frames)
    urls = {"sqlite": f"sqlite:///{folder / 'bench.db'}", "duckdb": f"duckdb:///{folder / 'bench.duckdb'}"}
    try:
        server = servers.postgres()
    except ServerMissingError as missing:
        print(f"without PostgreSQL: {missing}")
        return urls
    urls["postgres"] = server.make_database()
    _fill_postgres(urls["postgres"], workload.workloads, frames)
    return urls


def _fill_postgres(url: str, workloads: ModuleType, frames: dict[str, Any]) -> None:
    types = workloads.SQL_TYPES["postgres"]
    with raw_postgres(url) as connection, connection.cursor() as cursor:
        for table, columns in workloads.TABLES.items():
            cursor.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {types[kind]}' for name, kind in columns)})")
            text = io.StringIO()
            frames[table].to_csv(text, index=False, header=False, na_rep="\\N", sep="\t")
            with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                copy.write(text.getvalue())
    with raw_postgres(url) as connection:
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")


def raw_postgres(url: str) -> Any:
    """Return a driver connection, without SQLAlchemy."""
    import psycopg

    return psycopg.connect(url.replace("postgresql+psycopg://", "postgresql://"))


def peer_environment(urls: dict[str, str], *, engine: str) -> dict[str, str]:
    """Return the variables by which the harness's adapter finds one engine's database."""
    if engine == "postgres":
        dsn = urls["postgres"].replace("postgresql+psycopg://", "postgresql://")
        return {
            **os.environ,
            "BENCH_PG_URI": dsn.replace("postgresql://", "postgresql+psycopg2://"),
            "BENCH_PG_DSN": dsn,
        }
    return {**os.environ, f"BENCH_{engine.upper()}": urls[engine].removeprefix(f"{engine}:///")}
