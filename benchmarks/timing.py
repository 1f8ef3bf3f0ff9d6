"""Takes turns between two ways of doing one thing, so that a busy machine slows both."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds of one call: by the wall clock, and of this process's processor time (all threads)."""

    wall_s: float
    cpu_s: float


def cost_of(call: Callable[[], Any]) -> Cost:
    """Run `call` once and return what it cost; its result is dropped outside the measured time."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = call()
    cost = Cost(wall_s=time.perf_counter() - wall, cpu_s=time.process_time() - cpu)
    del result
    return cost


def paired_ratio(
    ours: Callable[[], Callable[[], Any]],
    other: Callable[[], Any],
    *,
    rounds: int,
    warm_up: int = 2,
    by: str = "wall_s",
) -> float:
    """Return the median, over `rounds`, of our cost divided by the other's in the same round.

    Args:
        ours: makes the call to measure, so that each round may have arguments of its own.
        other: the call to compare with.
        rounds: how many pairs are measured.
        warm_up: how many pairs run before.
        by: `wall_s` or `cpu_s`.
    """
    ratios: list[float] = []
    gc.collect()
    for number in range(rounds + warm_up):
        call = ours()
        pair = (cost_of(call), cost_of(other)) if number % 2 else tuple(reversed((cost_of(other), cost_of(call))))
        if number >= warm_up:
            ratios.append(getattr(pair[0], by) / max(getattr(pair[1], by), 1e-9))
    return statistics.median(ratios)


Call = Callable[[], Any]


def medians_in_turns(
    few: tuple[Call, Call], many: tuple[Call, Call], *, rounds: int, warm_up: int
) -> tuple[float, float]:
    """Return the median seconds of two calls by the clock, which take turns; each comes with what is done before it."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(warm_up + rounds):
        for (before, call), taken in zip((few, many), seconds, strict=True):
            before()
            began = time.perf_counter()
            call()
            if turn >= warm_up:
                taken.append(time.perf_counter() - began)
    return statistics.median(seconds[0]), statistics.median(seconds[1])
