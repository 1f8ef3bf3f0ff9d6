"""One season of a series: the trend away, its course in each cycle, newer cycles first, as strong as cycles agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics_core._forecast.periods import Period
from analytics_core._forecast.types import Floats

MEMORY = 0.85
"""What a cycle weighs beside the one after it, as long as there are too few cycles to tell."""

MEMORIES = (0.6, 0.75, 0.85, 0.95)
ENOUGH_CYCLES = 6
"""From so many cycles on, the memory that would have told each cycle best from those before it."""

SURELY = 1.645
"""Cycles must agree by so many standard errors of what chance makes agree ..."""

ENOUGH_WHEN_FEW = 0.9
"""... or by this much, where they are too few for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """A fitted season.

    Attributes:
        values: its values over history and future.
        strength: how much of it to believe, 0 to 1.
    """

    values: Floats
    strength: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Waves:
    """The harmonics of a period over history and future, ready for weighted least squares.

    Attributes:
        values: one row a wave.
        weighted: the same over the history, newer cycles first.
        products: the normal equations' matrix.
        first: the first step of the oldest whole cycle, counted back from the last step.
        starts: where each whole cycle starts, counted from `first`.
    """

    values: Floats
    weighted: Floats
    products: Floats
    first: int
    starts: NDArray[np.int64]


def waves_of(period: Period, *, points: int, horizon: int) -> Waves | None:
    """Return the harmonics of `period`; None for a period that has a mean for each phase."""
    if period.harmonics is None:
        return None
    at = np.arange(points + horizon)
    angles = (2 * np.pi / period.steps) * np.outer(np.arange(1, period.harmonics + 1), at)
    values = np.concatenate([np.sin(angles), np.cos(angles)])
    if abs(2 * period.harmonics - period.steps) < 1e-9:
        values = np.delete(values, period.harmonics - 1, axis=0)  # the sine of the highest one is zero at every step
    weighted = values[:, :points] * MEMORY ** ((points - 1 - at[:points]) / period.steps)
    cycles = int(points / period.steps)
    starts = (points - np.arange(cycles, 0, -1) * period.steps).round().astype(np.int64)
    return Waves(
        values=values,
        weighted=weighted,
        products=weighted @ values[:, :points].T,
        first=int(starts[0]),
        starts=starts - starts[0],
    )


def seasonal_part(y: Floats, period: Period, waves: Waves | None, *, horizon: int) -> Floats:
    """Return the season of `y` over the history and `horizon` further steps; zeros when there is no evidence for it.

    Found twice: the second time the trend is that of the series without its season, which reaches to both ends.
    """
    first = _fit(y - _trend(y, period.steps), period, waves, horizon=horizon)
    rest = y - first.values[: y.size]
    fit = _fit(y - _trend(rest, period.steps), period, waves, horizon=horizon)
    if period.is_forced:
        return fit.values
    if fit.strength <= 1 - 1 / period.evidence:
        return np.zeros(fit.values.size)
    return fit.values * fit.strength


def _trend(y: Floats, steps: float) -> Floats:
    """A centred moving average of one period, over the series continued at both ends."""
    half = max(1, int(steps // 2))
    window = np.ones(2 * half + 1)
    window[[0, -1]] = (steps - (2 * half - 1)) / 2
    window /= window.sum()
    return np.convolve(_continued(y, half), window, mode="valid")


def _continued(y: Floats, by: int) -> Floats:
    """The series with `by` further values at either end: point reflections about the level there."""
    by_known = min(by, y.size - 1)
    head = 2 * y[: by_known + 1].mean() - y[by_known:0:-1]
    tail = 2 * y[-by_known - 1 :].mean() - y[-2 : -by_known - 2 : -1]
    padded = np.concatenate([head, y, tail])
    return np.pad(padded, by - by_known, mode="edge") if by > by_known else padded


def _fit(detrended: Floats, period: Period, waves: Waves | None, *, horizon: int) -> _Fit:
    if waves is None:
        return _phase_means(detrended, round(period.steps), horizon=horizon)
    return _harmonics(detrended, waves)


def _phase_means(detrended: Floats, steps: int, *, horizon: int) -> _Fit:
    """The mean of each phase around each cycle, with weights that fade on both sides; the last cycle's goes on."""
    size = detrended.size
    cycles = -(-size // steps)
    table = _by_cycle(detrended, cycles, steps)
    seen = _by_cycle(np.ones(size), cycles, steps)
    memory = _best_memory(table, seen)
    sums, weights = _fading_pair(table, seen, memory)
    told = _centred((sums - table) / (weights - seen))
    coming = _centred(sums[-1:] / weights[-1:])
    values = np.concatenate([told.ravel()[-size:], np.resize(coming, horizon)])
    return _Fit(values=values, strength=_agreement(table[1:], seen[1:], memory=memory, has_waves=False))


def _centred(means: Floats) -> Floats:
    """The means of each cycle, less their own mean."""
    centred: Floats = means - means.mean(axis=1, keepdims=True)
    return centred


def _by_cycle(values: Floats, cycles: int, steps: int) -> Floats:
    """One row a cycle, the last one whole; zeros before the first value."""
    return np.concatenate([np.zeros(cycles * steps - values.size), values]).reshape(cycles, steps)


def _best_memory(table: Floats, seen: Floats) -> float:
    """The memory with which the mean of the earlier cycles comes nearest to each cycle, over the later half."""
    cycles = table.shape[0]
    if cycles < ENOUGH_CYCLES:
        return MEMORY
    later, steps = slice(cycles // 2, None), table.shape[1]
    joined = np.hstack([table, seen])

    def squares(memory: float) -> float:
        faded = _faded(joined, memory)[:-1]
        earlier = faded[:, :steps] / faded[:, steps:].clip(1e-300)
        return float(np.square(table[1:] - earlier)[later].sum())

    return min(MEMORIES, key=squares)


def _faded(table: Floats, memory: float) -> Floats:
    """Sums down the cycles in which a cycle weighs `memory` to the power of its age."""
    from scipy.signal import lfilter

    sums: Floats = lfilter([1.0], [1.0, -memory], table, axis=0)
    return sums


def _fading_sums(table: Floats, memory: float) -> Floats:
    """The same both ways: a cycle weighs `memory` to the power of its distance."""
    both: Floats = _faded(table, memory) + _faded(table[::-1], memory)[::-1] - table
    return both


def _fading_pair(table: Floats, seen: Floats, memory: float) -> tuple[Floats, Floats]:
    """The fading sums of both, by one filter: a filter costs as much to call as to run."""
    sums = _fading_sums(np.hstack([table, seen]), memory)
    return sums[:, : table.shape[1]], sums[:, table.shape[1] :]


def _harmonics(detrended: Floats, waves: Waves) -> _Fit:
    """The first harmonics by weighted least squares, newer cycles first."""
    size = detrended.size
    coefficients = np.linalg.solve(waves.products, waves.weighted @ detrended)
    shares = np.add.reduceat((waves.values[:, :size] * detrended)[:, waves.first :], waves.starts, axis=1).T
    strength = _agreement(shares, np.ones(shares.shape), memory=MEMORY, has_waves=True)
    return _Fit(values=coefficients @ waves.values, strength=strength)


def _agreement(table: Floats, seen: Floats, *, memory: float, has_waves: bool) -> float:
    """Return how much of the season to believe, from how well the other cycles tell each cycle (rows).

    The slope of a cycle on the mean of the others is S / (S + N/m) when S is the variance of a true season, N that of
    what differs between cycles, and m the number of others. Noise of any colour, a random walk too, gives about
    nothing. From it follows the same with all cycles at hand, the factor by which to shrink (James and Stein).
    """
    sums, weights = _fading_pair(table, seen, memory)
    others_weight = weights - seen
    others = np.divide(sums - table, others_weight, out=np.zeros(table.shape), where=others_weight > 0)
    power = float(np.square(others * seen).sum())
    if table.shape[0] < 2 or power == 0.0:
        return 0.0
    slope = float((others * table * seen).sum()) / power
    cycles = _effective(table.shape[0], memory)
    if slope < min(SURELY / np.sqrt(_directions(others, has_waves=has_waves) * (cycles - 1)), ENOUGH_WHEN_FEW):
        return 0.0
    noise = (cycles - 1) * (1 / min(slope, 1.0) - 1)
    return float(1 / (1 + noise / cycles))


def _directions(others: Floats, *, has_waves: bool) -> float:
    """In how many directions a season points that can disagree: two for one wave, more for a ragged course."""
    power = np.square(others if has_waves else np.abs(np.fft.rfft(others, axis=1)[:, 1:])).sum(axis=0)
    if has_waves:
        half = -(-power.size // 2)
        power = power[:half] + np.pad(power[half:], (0, 2 * half - power.size))
    return 2 * float(power.sum() ** 2 / np.square(power).sum())


def _effective(cycles: int, memory: float) -> float:
    """How many equally weighted cycles the fading ones are worth."""
    weights = memory ** np.arange(cycles)
    return float(weights.sum() ** 2 / np.square(weights).sum())
