"""Prints one line for each ratio, with its goal and a verdict.

    python -m benchmarks ../shared/bench
        [--parts first,queries,operations,forecast,store,growth,fence,plans,frames,forms,dashboards,hand,builder,
                 pictures,sql]
        [--plan-rows 2000000]
        [--engines sqlite,duckdb,postgres]
        [--runs 3] [--write]
        [--acceptance ../shared/acceptance] [--peer FOLDER] [--forecast ../shared/forecast] [--prophet PYTHON]

Run it on a quiet machine. The exit code is 1 when a figure is worse than the table of docs/explanation/limits.md in two
runs, or a plan lacks what it must show; `--runs 3 --write` writes that table anew. Without the folder of the shared
harness the parts `queries` and `operations` are not measured.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

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
from benchmarks.table import Row, Table
from benchmarks.workload import ENGINES, Workload, load_workload, make_databases

_NO_WORKLOAD: Final = "no workload; give the folder of the shared harness"


def main() -> int:
    """Measure as often as was asked, print, and hold the medians to the table of the last run that wrote it."""
    arguments = _arguments()
    workload = load_workload(arguments.bench) if arguments.bench else None
    runs = [_run(workload, arguments, arguments.parts) for _ in range(arguments.runs)]
    measured = _rows(runs)
    if arguments.runs > 1:
        print("\n" + "\n".join(row.line(name) for name, row in measured.items()))
    table = Table.read()
    if arguments.write:
        table.renew(arguments.parts, measured)
        table.write()
        return 0
    failures = [flaw for run in runs for flaw in run.flaws] + _worse_twice(workload, arguments, table, measured)
    print("\n" + ("\n".join(failures) or "no figure is worse than the table of docs/explanation/limits.md"))
    return 1 if failures else 0


@dataclass(frozen=True, slots=True)
class _Run:
    """What one run measured: each figure with its part, by name, and what is wrong without a figure."""

    figures: dict[str, tuple[str, Ratio]] = field(default_factory=dict)
    flaws: list[str] = field(default_factory=list)


def _run(workload: Workload | None, arguments: argparse.Namespace, parts: Sequence[str]) -> _Run:
    run = _Run()
    missed = 0
    for part in parts:
        for figure in _PARTS[part](workload, arguments):
            print(figure.line(), flush=True)
            if isinstance(figure, Ratio):
                run.figures[figure.name] = (part, figure)
                missed += not figure.met
            elif isinstance(figure, plans.Flaw):
                run.flaws.append(figure.line())
    print(f"\n{missed} goals missed" if missed else "\nall measured goals met")
    return run


def _worse_twice(
    workload: Workload | None, arguments: argparse.Namespace, table: Table, measured: Mapping[str, Row]
) -> list[str]:
    """Measure the parts of what is worse than the table once more, and return what is worse again."""
    first = table.worse(measured)
    if not first:
        return []
    print(f"\n{len(first)} figures are worse than the table; their parts are measured once more")
    second = table.worse(_rows([_run(workload, arguments, sorted({measured[name].part for name in first}))]))
    return [f"{name}: {second[name]}" for name in first if name in second]


def _rows(runs: Sequence[_Run]) -> dict[str, Row]:
    parts = {name: part for run in runs for name, (part, _) in run.figures.items()}
    return {
        name: Row.of(part, [run.figures[name][1] for run in runs if name in run.figures])
        for name, part in parts.items()
    }


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


def _of_queries(workload: Workload | None, arguments: argparse.Namespace) -> Iterator[Ratio | Unmeasured]:
    """Make the data, measure."""
    if workload is None:
        yield Unmeasured(name="payload to SQL, rows to JSON", why=_NO_WORKLOAD)
        return
    with tempfile.TemporaryDirectory() as folder, private_servers() as servers:
        urls = make_databases(workload, Path(folder), servers)
        shutil.copy(Path(folder) / "bench.duckdb", Path(folder) / "bench.duckdb.floor")
        yield from _on_engines(workload, urls, arguments)


def _of_operations(workload: Workload | None, arguments: argparse.Namespace) -> Iterator[Ratio | Unmeasured]:
    if workload is None:
        yield Unmeasured(name="post-processing", why=_NO_WORKLOAD)
    else:
        yield from operations.compare(workload.workloads, workload.folder, arguments.peer)


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
    parser.add_argument(
        "bench", nargs="?", type=lambda text: Path(text).resolve(), help="the folder of the shared harness"
    )
    parser.add_argument("--parts", type=lambda text: text.split(","), default=list(_PARTS), help=", ".join(_PARTS))
    parser.add_argument(
        "--runs", type=int, default=1, help="how often all is measured; medians are compared and written"
    )
    parser.add_argument("--write", action="store_true", help="write the medians into docs/explanation/limits.md")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=list(ENGINES))
    parser.add_argument("--plan-rows", type=int, default=plans.ROWS, help="rows of the table of the part `plans`")
    parser.add_argument("--peer", type=lambda text: Path(text).resolve(), help="a folder made by benchmarks.peer")
    parser.add_argument("--acceptance", type=Path, help="the folder of the recorded charts")
    parser.add_argument("--forecast", type=Path, help="the folder of the shared series")
    parser.add_argument("--prophet", type=Path, help="the Python of an environment with prophet==1.5.0")
    return parser.parse_args()


_Figures = Iterator[Ratio | Unmeasured | plans.Flaw]
_PARTS: Final[Mapping[str, Callable[[Workload | None, argparse.Namespace], _Figures]]] = {
    "first": lambda _workload, _arguments: first_use.compare(),
    "queries": _of_queries,
    "operations": _of_operations,
    "forecast": lambda _workload, given: _of_forecasts(given.forecast, given.prophet),
    "store": lambda _workload, _arguments: store_lists.compare(),
    "growth": lambda _workload, _arguments: growth.compare(),
    "fence": lambda _workload, _arguments: fence.compare(),
    "plans": lambda _workload, given: plans.compare(rows=given.plan_rows),
    "frames": lambda _workload, _arguments: frames.compare(),
    "forms": lambda _workload, given: _of_forms(given.acceptance),
    "dashboards": lambda _workload, _arguments: dashboards.compare(),
    "hand": lambda _workload, _arguments: in_hand.compare(),
    "builder": lambda _workload, _arguments: builder.compare(),
    "pictures": lambda _workload, _arguments: pictures.compare(),
    "sql": lambda _workload, _arguments: sql.compare(),
}

if __name__ == "__main__":
    sys.exit(main())
