"""The peer's post-processing: runs under the peer's interpreter, imports nothing of ours.

python operations_worker.py BENCH_FOLDER       then one JSON object a line on standard input
"""

import copy
import json
import sys
import time
import warnings

sys.path.insert(0, sys.argv[1])
import workloads
from superset.utils import pandas_postprocessing


def main() -> None:
    """Answer each line with the cost of one operation on a frame of its own."""
    warnings.simplefilter("ignore")
    cases = {name: rest for name, *rest in workloads.PP_CASES}
    frames = {}
    for line in sys.stdin:
        request = json.loads(line)
        operation, kind, options, _ = cases[request["case"]]
        key = (kind, request["rows"])
        if key not in frames:
            frames = {key: workloads.FRAMES[kind](request["rows"])}
        frame, options = frames[key].copy(), copy.deepcopy(options)
        cpu, wall = time.process_time(), time.perf_counter()
        result = getattr(pandas_postprocessing, operation)(frame, **options)
        cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
        del result
        print("@@" + json.dumps(cost), flush=True)


if __name__ == "__main__":
    main()
