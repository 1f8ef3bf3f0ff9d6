"""A process of its own that answers one million rows and says how much memory that took.

python -m benchmarks.million_rows BENCH_FOLDER DATABASE_URL
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.system import System
from benchmarks.workload import load_workload

ROWS = 1_000_000


def peak_mib() -> float:
    """The most memory this process has held; Linux counts it anew for each program, unlike `ru_maxrss`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main(folder: str, url: str) -> None:
    """Answer one that loads what large answers need, remember the peak, answer the large one, print the difference."""
    workload = load_workload(Path(folder))
    system = System(url, workload.workloads, max_row_limit=ROWS)
    system.json(system.rows(workload.workloads.chart_rows(5_000)))
    started = peak_mib()
    payload = system.rows(workload.workloads.chart_rows(ROWS))
    answer = system.core.charts.data(payload).raise_for_error()
    size = len(answer.to_json())
    print(json.dumps({"mib": peak_mib() - started, "rows": answer.results[0].rowcount, "bytes": size}))
    system.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
