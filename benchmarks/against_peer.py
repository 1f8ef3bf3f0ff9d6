"""The ratios to the peer: the two processes take turns on the same payload; medians are compared."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peer import NO_PEER, Peer, is_ready
from benchmarks.report import Ratio, Unmeasured
from benchmarks.system import System
from benchmarks.timing import cost_of
from benchmarks.workload import Workload, peer_environment

NAMES = {
    "small": "100 rows to JSON, uncached: the peer's CPU time over ours",
    "hit": "cache hit on 100k rows: the peer's time over ours",
    "large": "100k rows to JSON, uncached: the peer's time over ours",
}
# From the harness's own run on another machine; a ratio of ours to them would compare two machines.
STORED = {"small": "the peer takes 30 ms of CPU", "hit": "", "large": "the peer takes 8x of fetchall + orjson"}


def compare(
    system: System, workload: Workload, urls: dict[str, str], folder: Path | None, *, engine: str
) -> Iterator[Ratio | Unmeasured]:
    """Return the ratios to the peer on one engine, or why there are none."""
    if folder is None or not is_ready(folder):
        yield from (
            Unmeasured(name=f"{name}: {engine}", why=NO_PEER, stored=STORED[key]) for key, name in NAMES.items()
        )
        return
    environment = peer_environment(urls, engine=engine) | {"PEER_METADATA": str(folder / f"metadata-{engine}.db")}
    peer = Peer(folder, "peer_worker.py", str(workload.folder), engine, environment=environment)
    rows = workload.workloads.chart_rows
    try:
        small = _medians(system, peer, rows(100), rounds=40, by="cpu_s")
        yield Ratio(name=f"{NAMES['small']}: {engine}", value=small, goal=8, at_least=True)
        large = _medians(system, peer, rows(100_000), rounds=5, by="wall_s")
        yield Ratio(name=f"{NAMES['large']}: {engine}", value=large, goal=5, at_least=True)
        hit = _medians(system, peer, rows(100_000, force=False), rounds=9, by="wall_s")
        yield Ratio(name=f"{NAMES['hit']}: {engine}", value=hit, goal=20, at_least=True)
    finally:
        peer.close()


def _medians(system: System, peer: Peer, context: dict[str, Any], *, rounds: int, by: str) -> float:
    payload = system.rows(context)  # the peer sorts no raw rows, with an offset or without
    system.json(payload)
    peer.ask(work="json", context=context)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append(getattr(cost_of(lambda: system.json(payload)), by))
        theirs.append(peer.ask(work="json", context=context)[by])
    return statistics.median(theirs) / statistics.median(ours)
