"""One season of a series: the trend away, its course in each cycle, newer cycles first, as strong as cycles agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics_core._forecast.periods import Period
from analytics_core._forecast.recursion import run_recursion
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

    def fit(self, detrended: Floats) -> Floats:
        """Return the season over history and future: the harmonics by weighted least squares."""
        coefficients = np.linalg.solve(self.products, self.weighted @ detrended)
        season: Floats = coefficients @ self.values
        return season

    def fit_and_strength(self, detrended: Floats) -> tuple[Floats, float]:
        """Return the same, and how much of it to believe."""
        shares = (self.values[:, self.first : detrended.size] * detrended[self.first :]).T
        shares = np.add.reduceat(shares, self.starts, axis=0)
        return self.fit(detrended), _agreement(shares, memory=MEMORY, has_waves=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """A period with a mean for each phase around each cycle: weights fade on both sides, the last cycle's go on.

    Attributes:
        steps: the length of the period.
        horizon: how many steps to continue.
    """

    steps: int
    horizon: int

    def fit(self, detrended: Floats) -> Floats:
        """Return the season over history and future."""
        table = self._by_cycle(detrended)
        return self._fit(table, detrended.size, self._best_memory(table, detrended.size))

    def fit_and_strength(self, detrended: Floats) -> tuple[Floats, float]:
        """Return the same, and how much of it to believe."""
        table = self._by_cycle(detrended)
        memory = self._best_memory(table, detrended.size)
        strength = _agreement(table[1:], memory=memory, has_waves=False)
        return self._fit(table, detrended.size, memory), strength

    def _by_cycle(self, values: Floats) -> Floats:
        """One row a cycle, the last one whole; zeros before the first value."""
        cycles = -(-values.size // self.steps)
        table = np.zeros((cycles, self.steps), order="F")  # filters run down its columns
        table[1:] = values[values.size - (cycles - 1) * self.steps :].reshape(cycles - 1, self.steps)
        unseen = cycles * self.steps - values.size
        table[0, unseen:] = values[: self.steps - unseen]
        return table

    def _unseen(self, size: int) -> Floats:
        """One for each phase that the oldest cycle lacks, which began before the first value."""
        unseen = np.zeros(self.steps)
        unseen[: -size % self.steps] = 1.0
        return unseen

    def _fit(self, table: Floats, size: int, memory: float) -> Floats:
        sums, unseen = _fading_sums(table, memory), self._unseen(size)
        weights = _fading_weights(table.shape[0], memory)[:, None] - np.outer(_powers(table.shape[0], memory), unseen)
        seen = np.ones(table.shape)
        seen[0] -= unseen
        told = _centred((sums - table) / (weights - seen))
        coming = _centred(sums[-1:] / weights[-1:])
        return np.concatenate([told.ravel()[-size:], np.resize(coming, self.horizon)])

    def _best_memory(self, table: Floats, size: int) -> float:
        """The memory with which the mean of the earlier cycles comes nearest to each cycle, over the later half."""
        cycles = table.shape[0]
        if cycles < ENOUGH_CYCLES:
            return MEMORY
        half, unseen = cycles // 2, self._unseen(size)

        def squares(memory: float) -> float:
            powers = _powers(cycles, memory)
            weights = np.cumsum(powers)[half:-1, None] - np.outer(powers[half:-1], unseen)
            misses = table[half + 1 :] - _faded(table, memory)[half:-1] / weights
            return float(np.square(misses).sum())

        return min(MEMORIES, key=squares)


def shape_of(period: Period, *, points: int, horizon: int) -> Waves | Phases:
    """Return what fits the season of `period` to a series of `points` points."""
    if period.harmonics is None:
        return Phases(steps=round(period.steps), horizon=horizon)
    return _waves(period.steps, period.harmonics, points=points, horizon=horizon)


def _waves(steps: float, harmonics: int, *, points: int, horizon: int) -> Waves:
    at = np.arange(points + horizon)
    angles = (2 * np.pi / steps) * np.outer(np.arange(1, harmonics + 1), at)
    values = np.concatenate([np.sin(angles), np.cos(angles)])
    if abs(2 * harmonics - steps) < 1e-9:
        values = np.delete(values, harmonics - 1, axis=0)  # the sine of the highest one is zero at every step
    weighted = values[:, :points] * MEMORY ** ((points - 1 - at[:points]) / steps)
    cycles = int(points / steps)
    starts = (points - np.arange(cycles, 0, -1) * steps).round().astype(np.int64)
    return Waves(
        values=values,
        weighted=weighted,
        products=weighted @ values[:, :points].T,
        first=int(starts[0]),
        starts=starts - starts[0],
    )


def seasonal_part(y: Floats, period: Period, shape: Waves | Phases) -> Floats:
    """Return the season of `y` over history and future; zeros when there is no evidence for it.

    Found twice: the second time the trend is that of the series without its season, which reaches to both ends.
    """
    rest = y - shape.fit(y - _trend(y, period.steps))[: y.size]
    detrended = y - _trend(rest, period.steps)
    if period.is_forced:
        return shape.fit(detrended)
    season, strength = shape.fit_and_strength(detrended)
    if strength <= 1 - 1 / period.evidence:
        return np.zeros(season.size)
    return season * strength


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


def _centred(means: Floats) -> Floats:
    """The means of each cycle, less their own mean."""
    centred: Floats = means - means.mean(axis=1, keepdims=True)
    return centred


def _faded(table: Floats, memory: float) -> Floats:
    """Sums down the cycles in which a cycle weighs `memory` to the power of its age."""
    return run_recursion(table, [memory])


def _fading_sums(table: Floats, memory: float) -> Floats:
    """The same both ways: a cycle weighs `memory` to the power of its distance."""
    both: Floats = _faded(table, memory) + _faded(table[::-1], memory)[::-1] - table
    return both


def _powers(cycles: int, memory: float) -> Floats:
    powers: Floats = memory ** np.arange(cycles)
    return powers


def _fading_weights(cycles: int, memory: float) -> Floats:
    """What all cycles together weigh around each cycle."""
    so_far = np.cumsum(_powers(cycles, memory))
    both: Floats = so_far + so_far[::-1] - 1.0
    return both


def _agreement(table: Floats, *, memory: float, has_waves: bool) -> float:
    """Return how much of the season to believe, from how well the other cycles tell each cycle (rows).

    The slope of a cycle on the mean of the others is S / (S + N/m) when S is the variance of a true season, N that of
    what differs between cycles, and m the number of others. Noise of any colour, a random walk too, gives about
    nothing. From it follows the same with all cycles at hand, the factor by which to shrink (James and Stein).
    """
    if table.shape[0] < 2:
        return 0.0
    weights = _fading_weights(table.shape[0], memory) - 1.0
    others = (_fading_sums(table, memory) - table) / weights[:, None]
    power = float(np.square(others).sum())
    if power == 0.0:
        return 0.0
    slope = float((others * table).sum()) / power
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
    weights = _powers(cycles, memory)
    return float(weights.sum() ** 2 / np.square(weights).sum())
