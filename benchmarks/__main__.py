"""Prints one line for each ratio, with its goal and a verdict.

    python -m benchmarks ../shared/bench
        [--parts first,queries,operations,forecast,store,growth,fence,plans,frames,forms,dashboards,hand,builder,
                 pictures,sql]
        [--plan-rows 2000000]
        [--engines sqlite,duckdb,postgres]
        [--acceptance ../shared/acceptance] [--peer FOLDER] [--forecast ../shared/forecast] [--prophet PYTHON]

Run it on a quiet machine. The exit code is 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.servers import private_servers

from benchmarks import (
    against_peer,
    against_prophet,
    builder,
    dashboards,
    fence,
    figures,
    first_use,
    forecast_accuracy,
    form_data,
    frames,
    growth,
    in_hand,
    operations,
    pictures,
    plans,
    sql,
    store_lists,
)
from benchmarks.report import Ratio, Unmeasured
from benchmarks.system import System
from benchmarks.workload import ENGINES, Workload, load_workload, make_databases

PARTS = (
    "first",
    "queries",
    "operations",
    "forecast",
    "store",
    "growth",
    "fence",
    "plans",
    "frames",
    "forms",
    "dashboards",
    "hand",
    "builder",
    "pictures",
    "sql",
)


def main() -> int:
    """Measure, print."""
    arguments = _arguments()
    workload = load_workload(arguments.bench)
    missed = 0
    for figure in _figures(workload, arguments):
        print(figure.line(), flush=True)
        missed += isinstance(figure, Ratio | plans.Flaw) and not figure.met
    print(f"\n{missed} goals missed" if missed else "\nall measured goals met")
    return 1 if missed else 0


def _figures(workload: Workload, arguments: argparse.Namespace) -> Iterator[Ratio | Unmeasured | plans.Flaw]:
    if "first" in arguments.parts:
        yield from first_use.compare()
    if "queries" in arguments.parts:
        yield from _of_queries(workload, arguments)
    if "operations" in arguments.parts:
        yield from operations.compare(workload.workloads, workload.folder, arguments.peer)
    if "forecast" in arguments.parts:
        yield from _of_forecasts(arguments.forecast, arguments.prophet)
    if "store" in arguments.parts:
        yield from store_lists.compare()
    if "growth" in arguments.parts:
        yield from growth.compare()
    if "fence" in arguments.parts:
        yield from fence.compare()
    if "plans" in arguments.parts:
        yield from plans.compare(rows=arguments.plan_rows)
    if "frames" in arguments.parts:
        yield from frames.compare()
    if "forms" in arguments.parts:
        yield from _of_forms(arguments.acceptance)
    if "dashboards" in arguments.parts:
        yield from dashboards.compare()
    if "hand" in arguments.parts:
        yield from in_hand.compare()
    if "builder" in arguments.parts:
        yield from builder.compare()
    if "pictures" in arguments.parts:
        yield from pictures.compare()
    if "sql" in arguments.parts:
        yield from sql.compare()


def _of_forms(folder: Path | None) -> Iterator[Ratio | Unmeasured]:
    if folder is None:
        yield Unmeasured(name="form data to payload", why="no charts; give their folder with `--acceptance FOLDER`")
    else:
        yield from form_data.compare(folder)


def _of_forecasts(folder: Path | None, prophet: Path | None) -> Iterator[Ratio | Unmeasured]:
    if folder is None:
        yield Unmeasured(
            name="forecast: OWA, coverage, CPU", why="no series; give their folder with `--forecast FOLDER`"
        )
        return
    scores = forecast_accuracy.measure(folder / "series.parquet")
    print(f"\n{forecast_accuracy.table(scores)}")
    yield from forecast_accuracy.goals(scores)
    if prophet is None:
        yield Unmeasured(
            name="forecast: Prophet's CPU time over ours",
            why="no Prophet; give the interpreter of an environment with it by `--prophet PYTHON`",
            stored="Prophet took 200 to 540 ms a series",
        )
    else:
        yield from against_prophet.compare(folder / "series.parquet", prophet)


def _of_queries(workload: Workload, arguments: argparse.Namespace) -> Iterator[Ratio | Unmeasured]:
    """Make the data, measure."""
    with tempfile.TemporaryDirectory() as folder, private_servers() as servers:
        urls = make_databases(workload, Path(folder), servers)
        shutil.copy(Path(folder) / "bench.duckdb", Path(folder) / "bench.duckdb.floor")
        yield from _on_engines(workload, urls, arguments)


def _on_engines(
    workload: Workload, urls: dict[str, str], arguments: argparse.Namespace
) -> Iterator[Ratio | Unmeasured]:
    yield from figures.import_cost()
    for engine in (name for name in arguments.engines if name in urls):
        system = System(urls[engine], workload.workloads)
        try:
            yield from figures.compile_cost(system, workload, engine=engine)
            yield from figures.json_cost(system, workload, engine=engine, url=urls[engine])
            if engine != "duckdb":  # the peer's driver and ours cannot open one DuckDB file at once
                yield from against_peer.compare(system, workload, urls, arguments.peer, engine=engine)
        finally:
            system.close()
    yield from figures.memory_of_a_million_rows(workload.folder, urls["sqlite"])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=lambda text: Path(text).resolve(), help="the folder of the shared harness")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--engines", type=lambda text: text.split(","), default=list(ENGINES))
    parser.add_argument("--plan-rows", type=int, default=plans.ROWS, help="rows of the table of the part `plans`")
    parser.add_argument("--peer", type=lambda text: Path(text).resolve(), help="a folder made by benchmarks.peer")
    parser.add_argument("--acceptance", type=Path, help="the folder of the recorded charts")
    parser.add_argument("--forecast", type=Path, help="the folder of the shared series")
    parser.add_argument("--prophet", type=Path, help="the Python of an environment with prophet==1.5.0")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
