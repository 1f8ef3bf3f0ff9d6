"""Our forecast and Prophet's, turn about on the same series: the ratio of the CPU that both take."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import forecast_accuracy
from benchmarks.report import Ratio

SERIES_OF_A_GROUP = 5
TURNS = 3
"""How often both take a turn at each series: single runs of few milliseconds say little."""
GOAL = 15.0


def compare(series: Path, python: Path) -> Iterator[Ratio]:
    """Yield the ratio of each frequency.

    Args:
        series: the parquet file of the series.
        python: the interpreter of an environment with Prophet 1.5 (`pip install prophet==1.5.0`).
    """
    worker = subprocess.Popen(
        [str(python), str(Path(__file__).with_name("prophet_worker.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with worker:
        _read(worker)
        _ask(_some(series, "Yearly")[0], worker)  # its first fit loads what the later ones share
        for group in forecast_accuracy.GRAINS:
            ratios = [_ratio(task, worker) for task in _some(series, group) for _ in range(TURNS)]
            yield Ratio(
                name=f"forecast: Prophet's CPU time over ours, {group.lower()}",
                value=statistics.median(ratios),
                goal=GOAL,
                at_least=True,
                unit="x",
            )
        assert worker.stdin is not None
        worker.stdin.close()


def _some(series: Path, group: str) -> list[forecast_accuracy.Task]:
    tasks = [task for task in forecast_accuracy.read_tasks(series) if task.group == group]
    return tasks[:SERIES_OF_A_GROUP]


def _ratio(task: forecast_accuracy.Task, worker: subprocess.Popen[str]) -> float:
    """Ours first to warm up, then Prophet's and ours."""
    forecast_accuracy.forecast_task(task, 0.8)
    theirs = _ask(task, worker)
    begin = time.process_time()
    forecast_accuracy.forecast_task(task, 0.8)
    return theirs / ((time.process_time() - begin) * 1000)


def _ask(task: forecast_accuracy.Task, worker: subprocess.Popen[str]) -> float:
    values = [None if np.isnan(value) else float(value) for value in task.history]
    line = {"ds": task.moments.astype("int64").tolist(), "y": values, "h": int(task.future.size)}
    assert worker.stdin is not None
    worker.stdin.write(json.dumps(line) + "\n")
    worker.stdin.flush()
    return float(_read(worker)["cpu_ms"])


def _read(worker: subprocess.Popen[str]) -> dict[str, float]:
    assert worker.stdout is not None
    line = worker.stdout.readline()
    if not line:
        raise RuntimeError("the environment has no Prophet that works: pip install prophet==1.5.0")
    answer: dict[str, float] = json.loads(line)
    return answer
