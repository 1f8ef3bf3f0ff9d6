"""The peer's post-processing: runs under the peer's interpreter, imports nothing of ours.

Each line of standard input is `{"case": NAME, "rows": NUMBER, "calls": NUMBER, "warm_s": SECONDS}`.

python operations_worker.py BENCH_FOLDER
"""

import copy
import json
import sys
import time
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

sys.path.insert(0, sys.argv[1])
import workloads
from superset.utils import pandas_postprocessing


def main() -> None:
    """Answer each line with the mean cost of its calls, after some that are not measured."""
    warnings.simplefilter("ignore")
    cases = {name: rest for name, *rest in workloads.PP_CASES}
    frames: dict[tuple[str, int], Any] = {}
    for line in sys.stdin:
        request = json.loads(line)
        operation, kind, options, _ = cases[request["case"]]
        key = (kind, request["rows"])
        if key not in frames:
            frames = {key: workloads.FRAMES[kind](request["rows"])}
        work = partial(once, operation, frames[key], options)
        warmed = 0.0
        while warmed < request["warm_s"]:  # as on the other side
            warmed += work()["cpu_s"]
        costs = [work() for _ in range(request["calls"])]
        means = {name: sum(cost[name] for cost in costs) / len(costs) for name in costs[0]}
        print("@@" + json.dumps(means), flush=True)


def once(operation: str, frame: Any, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the cost of a call on copies of frame and options."""
    return cost_of(operation, frame.copy(), copy.deepcopy(options))


def cost_of(operation: str, frame: Any, options: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds of one call; its result is dropped outside the measured time."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = getattr(pandas_postprocessing, operation)(frame, **options)
    cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    del result
    return cost


if __name__ == "__main__":
    main()
