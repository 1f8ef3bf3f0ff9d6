"""The post-processing operations against the peer's: the two processes take turns on the same frame and options.

A turn is some calls, each on a copy of the frame made outside the measured time; the median turn of each side counts.
Before them each side works for a moment that is not measured: the faster one has waited longer, while the other worked,
and would find its caches colder. Who goes first changes from round to round.
"""

from __future__ import annotations

import copy
import os
import statistics
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from analytics_core import postprocessing
from benchmarks.peer import NO_PEER, Peer, is_ready
from benchmarks.report import Ratio, Unmeasured
from benchmarks.timing import cost_of

CALLS_IN_A_TURN: Final = {1_000: 5, 100_000: 3}
SIZES: Final = tuple(CALLS_IN_A_TURN)
NEVER_SLOWER: Final = 0.95
GOALS: Final[Mapping[int, Mapping[str, float]]] = {
    1_000: {"boxplot_tukey": 50, "boxplot_percentile": 50},
    100_000: {
        "pivot": 100,
        "pivot_keep_missing": 100,
        "geohash_encode": 25,
        "geohash_decode": 25,
        "geodetic_parse": 40,
        "contribution_row": 10,
        "boxplot_tukey": 8,
        "boxplot_percentile": 8,
        "compare_ratio": 6,
        "cum_sum": 3,
        "diff": 3,
        "contribution_column": 3,
        "aggregate_sum_mean": 3,
        "aggregate_percentile": 3,
        "histogram": 3,
    },
}
"""How many times faster than the peer each case of the workload must be; cases without a goal must not be slower."""

_BUDGET_S: Final = 3.0
"""Seconds of the peer's measured calls after which a case has enough rounds, once it has the least."""
_LEAST_ROUNDS: Final = 5
_MOST_ROUNDS: Final = 25
_WARM_S: Final = 0.02
"""How long each side works, at least, before its turn is measured."""
_SLOW_S: Final = 1.0
"""A case in which one call of the peer takes longer has one call in a turn, and nothing before it."""


def compare(workloads: ModuleType, bench: Path, folder: Path | None) -> Iterator[Ratio | Unmeasured]:
    """Return the ratio of the peer's processor time to ours for each case and size, or why there are none."""
    if folder is None or not is_ready(folder):
        yield Unmeasured(name="post-processing: the peer's CPU time over ours", why=NO_PEER)
        return
    peer = Peer(folder, "operations_worker.py", str(bench), environment=dict(os.environ))
    try:
        for rows in SIZES:
            for case, operation, kind, options, most in workloads.PP_CASES:
                if rows <= most:
                    yield _ratio(peer, case, operation, workloads.FRAMES[kind](rows), options, rows=rows)
    finally:
        peer.close()


def _ratio(peer: Peer, case: str, operation: str, frame: Any, options: Mapping[str, Any], *, rows: int) -> Ratio:
    work = getattr(postprocessing, operation)
    _turn(work, frame, options, calls=1)
    slow = peer.ask(case=case, rows=rows, calls=1, warm_s=0)["cpu_s"] > _SLOW_S
    calls, warm_s = (1, 0.0) if slow else (CALLS_IN_A_TURN[rows], _WARM_S)
    turns: dict[str, Callable[[], float]] = {
        "ours": partial(_turn, work, frame, options, calls=calls, warm_s=warm_s),
        "theirs": lambda: float(peer.ask(case=case, rows=rows, calls=calls, warm_s=warm_s)["cpu_s"]),
    }
    taken = _turn_about(turns, calls)
    mine, other = statistics.median(taken["ours"]), statistics.median(taken["theirs"])
    return Ratio(
        name=f"{case}, {rows:,} rows: the peer's CPU time over ours",
        value=other / mine,
        goal=GOALS[rows].get(case, NEVER_SLOWER),
        at_least=True,
        note=f"{other * 1000:.2f} ms to {mine * 1000:.2f} ms, medians of {len(taken['ours'])} turns",
    )


def _turn_about(turns: Mapping[str, Callable[[], float]], calls: int) -> Mapping[str, list[float]]:
    """Return what each side's turns took; the sides take as many turns as each other."""
    taken: dict[str, list[float]] = {side: [] for side in turns}
    order = list(turns)
    for rounds in range(_MOST_ROUNDS):
        if rounds >= _LEAST_ROUNDS and sum(taken["theirs"]) * calls >= _BUDGET_S:
            break
        for side in order:
            taken[side].append(turns[side]())
        order.reverse()
    return taken


def _turn(
    work: Callable[..., Any], frame: Any, options: Mapping[str, Any], *, calls: int, warm_s: float = 0.0
) -> float:
    """Return the mean processor time of some calls; those of the first `warm_s` seconds are not measured."""
    warmed = 0.0
    while warmed < warm_s:
        warmed += _cost(work, frame, options)
    return statistics.fmean(_cost(work, frame, options) for _ in range(calls))


def _cost(work: Callable[..., Any], frame: Any, options: Mapping[str, Any]) -> float:
    return cost_of(partial(work, frame.copy(), **copy.deepcopy(options))).cpu_s
