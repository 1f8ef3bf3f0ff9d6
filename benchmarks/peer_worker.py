"""The peer's side: runs under the peer's interpreter, imports nothing of ours.

python peer_worker.py BENCH_FOLDER ENGINE       then one JSON object a line on standard input
"""

import json
import sys
import time

sys.path.insert(0, sys.argv[1])
from adapter_superset import Adapter


def main(engine: str) -> None:
    """Answer each line with the cost of one call."""
    adapter = Adapter()
    with adapter.context():
        works = {"json": adapter.chart_data, "sql": adapter.compile_from_payload}
        for line in sys.stdin:
            request = json.loads(line)
            payload = adapter.payload(engine, request["context"])
            cpu, wall = time.process_time(), time.perf_counter()
            works[request["work"]](payload)
            cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
            print("@@" + json.dumps(cost), flush=True)


if __name__ == "__main__":
    main(sys.argv[2])
