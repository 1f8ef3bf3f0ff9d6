"""A process of its own that answers one million rows and says how much memory and time that took.

python -m benchmarks.million_rows BENCH_FOLDER DATABASE_URL to_json|write_json|write_csv
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from benchmarks.system import System
from benchmarks.workload import load_workload

ROWS = 1_000_000


def peak_mib() -> float:
    """The most memory this process has held; Linux counts it anew for each program, unlike `ru_maxrss`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main(folder: str, url: str, road: str) -> None:
    """Answer one that loads what large answers need, remember the peak, answer the large one, print the difference."""
    workload = load_workload(Path(folder))
    system = System(url, workload.workloads, max_row_limit=ROWS)
    system.json(system.rows(workload.workloads.chart_rows(5_000)))
    started = peak_mib()
    payload = system.rows(workload.workloads.chart_rows(ROWS))
    began = time.process_time()
    answer = system.core.charts.data(payload).raise_for_error()
    if road == "to_json":
        answer.to_json()
    else:
        getattr(answer, road)(os.devnull)
    figures = {"mib": peak_mib() - started, "cpu_s": time.process_time() - began}
    print(json.dumps({**figures, "rows": answer.results[0].rowcount}))
    system.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
