"""The seasons of a series: found, shrunk by their evidence, and taken out; on logarithms where that is smoother."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics_core._engine.forecast.periods import Period
from analytics_core._engine.forecast.recursive_models import run_recursion
from analytics_core._engine.forecast.time_axis import Floats

MEMORY = 0.85
"""What a cycle weighs beside the one after it, as long as there are too few cycles to tell."""

MEMORIES = (0.6, 0.75, 0.85, 0.95)
ENOUGH_CYCLES = 6
"""From so many cycles on, the memory that would have told each cycle best from those before it."""

LONGEST_HALF_WINDOW = 50
"""A moving average over more steps to either side is taken by running sums."""

SURELY = 1.645
"""Cycles must agree by so many standard errors of what chance makes agree ..."""

ENOUGH_WHEN_FEW = 0.9
"""... or by this much, where they are too few for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harmonics:
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
class _Weights:
    """What the values seen weigh around each cycle and phase.

    Attributes:
        before: those up to the cycle.
        others: those of all other cycles.
    """

    before: Floats
    others: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """A period with a mean for each phase around each cycle: weights fade on both sides, the last cycle's go on.

    Attributes:
        steps: the length of the period.
        points: the length of the history.
        horizon: how many steps to continue.
        weights: for each memory to try, in order.
    """

    steps: int
    points: int
    horizon: int
    weights: Mapping[float, _Weights]

    def fit(self, detrended: Floats) -> Floats:
        """Return the season over history and future."""
        return self._fit(self._by_cycle(detrended))[0]

    def fit_and_strength(self, detrended: Floats) -> tuple[Floats, float]:
        """Return the same, and how much of it to believe."""
        table = self._by_cycle(detrended)
        season, memory = self._fit(table)
        return season, _agreement(table[1:], memory=memory, has_waves=False)

    def _by_cycle(self, values: Floats) -> Floats:
        """One row a cycle, the last one whole; zeros before the first value."""
        cycles = -(-self.points // self.steps)
        unseen = cycles * self.steps - self.points
        table = np.zeros((cycles, self.steps), order="F")  # recursions run down its columns
        table[0, unseen:] = values[: self.steps - unseen]
        table[1:] = values[self.steps - unseen :].reshape(cycles - 1, self.steps)
        return table

    def _fit(self, table: Floats) -> tuple[Floats, float]:
        """The season, and the memory with which the earlier cycles come nearest to each cycle of the later half."""
        half = table.shape[0] // 2
        tried = []
        for memory, weights in self.weights.items():
            before = run_recursion(table, [memory])
            misses = table[half + 1 :] - before[half:-1] / weights.before[half:-1]
            tried.append((float(np.square(misses).sum()), before, memory))
        _, before, memory = min(tried, key=lambda item: item[0])
        weights = self.weights[memory]
        others = before - table + run_recursion(table, [memory], backwards=True) - table
        estimates = _centred(others / weights.others)
        coming = _centred(before[-1:] / weights.before[-1:])
        return np.concatenate([estimates.ravel()[-self.points :], np.resize(coming, self.horizon)]), memory


def _phases(steps: int, *, points: int, horizon: int) -> Phases:
    cycles = -(-points // steps)
    memories = MEMORIES if cycles >= ENOUGH_CYCLES else (MEMORY,)
    weights = {memory: _weights(steps, points, cycles, memory) for memory in memories}
    return Phases(steps=steps, points=points, horizon=horizon, weights=weights)


def _weights(steps: int, points: int, cycles: int, memory: float) -> _Weights:
    powers = memory ** np.arange(cycles)
    so_far = np.cumsum(powers)
    lacking = np.zeros((cycles, steps), order="F")  # the oldest cycle may have begun before the first value
    lacking[:, : -points % steps] = powers[:, None]
    others = (so_far + so_far[::-1] - 2.0)[:, None] - lacking
    others[0] += lacking[0]
    return _Weights(before=so_far[:, None] - lacking, others=others)


def _shape_of(period: Period, *, points: int, horizon: int) -> Harmonics | Phases:
    """Return what fits the season of `period` to a series of `points` points."""
    if period.harmonics is None:
        return _phases(round(period.steps), points=points, horizon=horizon)
    return _waves(period.steps, period.harmonics, points=points, horizon=horizon)


def _waves(steps: float, harmonics: int, *, points: int, horizon: int) -> Harmonics:
    at = np.arange(points + horizon)
    angles = (2 * np.pi / steps) * np.outer(np.arange(1, harmonics + 1), at)
    values = np.concatenate([np.sin(angles), np.cos(angles)])
    if abs(2 * harmonics - steps) < 1e-9:
        values = np.delete(values, harmonics - 1, axis=0)  # the sine of the highest one is zero at every step
    weighted = values[:, :points] * MEMORY ** ((points - 1 - at[:points]) / steps)
    cycles = int(points / steps)
    starts = (points - np.arange(cycles, 0, -1) * steps).round().astype(np.int64)
    return Harmonics(
        values=values,
        weighted=weighted,
        products=weighted @ values[:, :points].T,
        first=int(starts[0]),
        starts=starts - starts[0],
    )


def seasonal_part(y: Floats, period: Period, shape: Harmonics | Phases) -> Floats:
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
    if half > LONGEST_HALF_WINDOW:
        return _long_trend(y, steps, half)
    window = np.ones(2 * half + 1)
    window[[0, -1]] = (steps - (2 * half - 1)) / 2
    window /= window.sum()
    return np.convolve(_continued(y, half), window, mode="valid")


def _long_trend(y: Floats, steps: float, half: int) -> Floats:
    """The same by running sums, whose cost does not grow with the window."""
    padded = _continued(y - y[0], half)
    sums = np.cumsum(padded)
    inner = sums[2 * half - 1 : -1] - sums[: y.size]
    ends = padded[: y.size] + padded[2 * half :]
    trend: Floats = y[0] + (inner + ends * ((steps - (2 * half - 1)) / 2)) / steps
    return trend


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


def _agreement(table: Floats, *, memory: float, has_waves: bool) -> float:
    """Return how much of the season to believe, from how well the other cycles tell each cycle (rows).

    The slope of a cycle on the mean of the others is S / (S + N/m) when S is the variance of a true season, N that of
    what differs between cycles, and m the number of others. Noise of any colour, a random walk too, gives about
    nothing. From it follows the same with all cycles at hand, the factor by which to shrink (James and Stein).
    """
    if table.shape[0] < 2:
        return 0.0
    powers = memory ** np.arange(table.shape[0])
    so_far = np.cumsum(powers)
    sums = run_recursion(table, [memory]) - table + run_recursion(table, [memory], backwards=True) - table
    others = sums / (so_far + so_far[::-1] - 2.0)[:, None]
    power = float(np.square(others).sum())
    if power == 0.0:
        return 0.0
    slope = float((others * table).sum()) / power
    cycles = float(so_far[-1] ** 2 / np.square(powers).sum())  # how many equally weighted ones they are worth
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


ROUNDS = 2
"""Each season is fitted anew this often, with the others taken out."""

SMALLEST_FOR_LOGS = 0.02
"""Logarithms need every value above this part of the median: smaller ones would rule the fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedSeries:
    """A series without its seasons, and the seasons themselves.

    Attributes:
        values: the history without seasons, in the units of the series.
        season: the sum of the seasons over history and future: added, or the logarithm of a factor.
        is_factor: whether the season multiplies.
    """

    values: Floats
    season: Floats
    is_factor: bool

    def reseason(self, values: Floats) -> Floats:
        """Return `values`, which begin with the first of the history, with the season put back."""
        season = self.season[: values.size]
        return values * np.exp(season) if self.is_factor else values + season


SeasonalFits = Sequence[tuple[Period, Harmonics | Phases]]
"""The seasons, shortest first, each with what fits it to series of one length; made once for all fits."""


def shapes_of(periods: Sequence[Period], *, points: int, horizon: int) -> SeasonalFits:
    """Return the fits of `periods` to series of `points` points."""
    return [(period, _shape_of(period, points=points, horizon=horizon)) for period in periods]


def adjust_for_seasons(y: Floats, shapes: SeasonalFits, *, horizon: int) -> AdjustedSeries:
    """Return `y` (no gaps) without its seasons, and these over history and future."""
    season = _sum_of_seasons(y, shapes, horizon)
    added = AdjustedSeries(values=y - season[: y.size], season=season, is_factor=False)
    if not season.any() or not _suits_logs(y):
        return added
    logs = np.log(y)
    season = _sum_of_seasons(logs, shapes, horizon)
    factor = AdjustedSeries(values=np.exp(logs - season[: y.size]), season=season, is_factor=True)
    return factor if _roughness(factor.values) <= _roughness(added.values) else added


def _suits_logs(y: Floats) -> bool:
    smallest = float(y.min())
    return smallest > 0 and smallest > SMALLEST_FOR_LOGS * float(np.median(y))


def _roughness(values: Floats) -> float:
    return float(np.abs(np.diff(values, 2)).mean()) if values.size > 2 else 0.0


def _sum_of_seasons(y: Floats, shapes: SeasonalFits, horizon: int) -> Floats:
    """Fit the seasons in turn, shortest first, each on what the others leave; again with all of them known."""
    parts = [np.zeros(y.size + horizon) for _ in shapes]
    for _ in range(ROUNDS if len(parts) > 1 else 1):
        for at, (period, shape) in enumerate(shapes):
            others = sum((part for other, part in enumerate(parts) if other != at), np.zeros(parts[at].size))
            parts[at] = seasonal_part(y - others[: y.size], period, shape)
    return sum(parts, np.zeros(y.size + horizon))
