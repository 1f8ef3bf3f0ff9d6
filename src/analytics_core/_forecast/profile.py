"""One season of a series: the trend away, its course in each cycle, newer cycles first, as strong as cycles agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics_core._forecast.periods import Period
from analytics_core._forecast.types import Floats

MEMORY = 0.85
"""What a cycle weighs beside the one after it."""

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


def seasonal_part(y: Floats, period: Period, *, horizon: int) -> Floats:
    """Return the season of `y` over the history and `horizon` further steps; zeros when there is no evidence for it.

    Found twice: the second time the trend is that of the series without its season, which reaches to both ends.
    """
    first = _fit(y - _trend(y, period.steps), period, horizon=horizon)
    rest = y - first.values[: y.size]
    fit = _fit(y - _trend(rest, period.steps), period, horizon=horizon)
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


def _fit(detrended: Floats, period: Period, *, horizon: int) -> _Fit:
    if period.harmonics is None:
        return _phase_means(detrended, round(period.steps), horizon=horizon)
    return _harmonics(detrended, period.steps, period.harmonics, horizon=horizon)


def _phase_means(detrended: Floats, steps: int, *, horizon: int) -> _Fit:
    """The mean of each phase around each cycle, with weights that fade on both sides; the last cycle's goes on."""
    size = detrended.size
    cycles = -(-size // steps)
    table = _by_cycle(detrended, cycles, steps)
    seen = _by_cycle(np.ones(size), cycles, steps)
    sums, weights = _fading_sums(table), _fading_sums(seen)
    means = sums / weights
    means -= means.mean(axis=1, keepdims=True)
    values = np.concatenate([means.ravel()[-size:], np.resize(means[-1], horizon)])
    return _Fit(values=values, strength=_agreement(table[1:], seen[1:], has_waves=False))


def _by_cycle(values: Floats, cycles: int, steps: int) -> Floats:
    """One row a cycle, the last one whole; zeros before the first value."""
    return np.concatenate([np.zeros(cycles * steps - values.size), values]).reshape(cycles, steps)


def _fading_sums(table: Floats) -> Floats:
    """Sums down the cycles, both ways, in which a cycle weighs MEMORY to the power of its distance."""
    from scipy.signal import lfilter

    forward = lfilter([1.0], [1.0, -MEMORY], table, axis=0)
    backward = lfilter([1.0], [1.0, -MEMORY], table[::-1], axis=0)[::-1]
    both: Floats = forward + backward - table
    return both


def _harmonics(detrended: Floats, steps: float, harmonics: int, *, horizon: int) -> _Fit:
    """The first harmonics by weighted least squares, newer cycles first."""
    size = detrended.size
    at = np.arange(size + horizon)
    angles = (2 * np.pi / steps) * np.outer(np.arange(1, harmonics + 1), at)
    waves = np.concatenate([np.sin(angles), np.cos(angles)])
    if abs(2 * harmonics - steps) < 1e-9:
        waves = np.delete(waves, harmonics - 1, axis=0)  # the sine of the highest harmonic is zero at every step
    root_weights = np.sqrt(MEMORY ** ((size - 1 - at[:size]) / steps))
    known = waves[:, :size] * root_weights
    coefficients = np.linalg.lstsq(known.T, detrended * root_weights, rcond=None)[0]
    table = _coefficients_by_cycle(detrended, waves[:, :size], steps)
    return _Fit(values=coefficients @ waves, strength=_agreement(table, np.ones(table.shape), has_waves=True))


def _coefficients_by_cycle(detrended: Floats, waves: Floats, steps: float) -> Floats:
    """The share of each wave in each whole cycle, counted back from the last point; one row a cycle."""
    cycles = int(detrended.size / steps)
    starts = (detrended.size - np.arange(cycles, 0, -1) * steps).round().astype(np.int64)
    shares: Floats = np.add.reduceat((waves * detrended)[:, starts[0] :], starts - starts[0], axis=1).T
    return shares


def _agreement(table: Floats, seen: Floats, *, has_waves: bool) -> float:
    """Return how much of the season to believe, from how well the other cycles tell each cycle (rows).

    The slope of a cycle on the mean of the others is S / (S + N/m) when S is the variance of a true season, N that of
    what differs between cycles, and m the number of others. Noise of any colour, a random walk too, gives about
    nothing. From it follows the same with all cycles at hand, the factor by which to shrink (James and Stein).
    """
    others_weight = _fading_sums(seen) - seen
    others = np.divide(_fading_sums(table) - table, others_weight, out=np.zeros(table.shape), where=others_weight > 0)
    power = float(np.square(others * seen).sum())
    if table.shape[0] < 2 or power == 0.0:
        return 0.0
    slope = float((others * table * seen).sum()) / power
    cycles = _effective(table.shape[0])
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


def _effective(cycles: int) -> float:
    """How many equally weighted cycles the fading ones are worth."""
    weights = MEMORY ** np.arange(cycles)
    return float(weights.sum() ** 2 / np.square(weights).sum())
