"""Asks many random queries of four engines and prints what differs from the reference: `python -m tests.differential`.

Exits with 1 when anything differs. `--seed` and a printed number (`seed-17`, with `--only`) ask a query again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import secrets
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.differential.share import run_share
from tests.support.servers import private_servers

DISPLAYED = 40


def main() -> int:
    """Ask the queries in a few processes and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=25_000, help="how many queries each engine is asked")
    parser.add_argument("--seed", default=secrets.token_hex(4), help="what the queries are made from")
    parser.add_argument("--only", nargs="*", help="ask only the queries of these numbers")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    numbers = options.only or [f"{options.seed}-{n}" for n in range(options.queries)]
    print(f"seed {options.seed}: {len(numbers)} queries on four engines", flush=True)
    began = time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    with private_servers() as servers, ProcessPoolExecutor(options.processes, mp_context=spawn) as pool:
        parts = [(servers.folder, numbers[n :: options.processes]) for n in range(options.processes)]
        found = [difference for part in pool.map(run_share, parts) for difference in part]
    for difference in found[:DISPLAYED]:
        print(difference)
    by_engine = Counter(difference.engine for difference in found)
    print(f"{len(numbers)} queries, {len(found)} differences {dict(by_engine)}, {time.monotonic() - began:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
