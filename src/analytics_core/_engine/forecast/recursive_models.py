"""Exponential smoothing and autoregression: models that run as recursive filters, and how they are fitted.

Smoothing turns a series into its one-step errors by a recursive filter of order one or two. The start (level and slope
before the first point) enters these errors in a straight line, so least squares gives it, and only the two or three
smoothing numbers are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from analytics_core._engine.forecast.time_axis import Floats


def run_recursion(x: Floats, weights: Sequence[float] | Floats, *, backwards: bool = False) -> Floats:
    """Return y with y[t] = x[t] + weights[0] y[t-1] + weights[1] y[t-2] + ..., from a start at zero.

    A matrix `x` is filtered down each of its columns; `backwards` begins at the end. The recursion is a triangular
    system with few diagonals: LAPACK solves it several times faster than a filter of `scipy.signal` can be called.
    """
    from scipy.linalg.lapack import dtbtrs

    if not x.size or not len(weights):
        return x.astype(float)
    band = np.empty((len(weights) + 1, x.shape[0]), order="F")
    for lag, weight in enumerate(weights, start=1):
        band[lag] = -weight
    filtered: Floats
    filtered, _ = dtbtrs(band, x, uplo="L", diag="U", trans="T" if backwards else "N")
    return filtered


_LEVELS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
_RATIOS = (0.02, 0.1, 0.3)
_FADINGS = (0.86, 0.95)
"""Where the search begins: every one of these, then smaller and smaller steps from the best."""

_LEVEL_BOUNDS = (0.005, 0.995)
_RATIO_BOUNDS = (0.001, 0.9)
_FADING_BOUNDS = (0.80, 0.98)
_ROUNDS = 4


_Solution = tuple[float, float, float]
"""Sum of the squared errors, level and slope before the first point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothing:
    """A fitted model.

    Attributes:
        alpha: what part of an error goes into the level.
        beta: what part of it goes into the slope.
        phi: what part of the slope is left after a step; 0 for no slope.
        level: the level before the first point.
        slope: the slope before the first point.
        squares: sum of the squared one-step errors.
        parameters: how many numbers were fitted, the variance included.
    """

    alpha: float
    beta: float
    phi: float
    level: float
    slope: float
    squares: float
    parameters: int

    def states(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Return level and slope after each point of `z`, and the one-step errors."""
        filtered = _filtered(_drive(z, self.phi), alpha=self.alpha, beta=self.beta, phi=self.phi)
        errors, push = filtered.T
        errors = errors - (self.level + self.phi * self.slope) * push
        if not self.phi:
            return z - (1 - self.alpha) * errors, np.zeros(z.size), errors
        errors[1:] += self.phi * self.level * push[:-1]
        pushes = self.beta * errors
        pushes[0] += self.phi * self.slope
        return z - (1 - self.alpha) * errors, run_recursion(pushes, [self.phi]), errors

    def reach(self, steps: Floats) -> Floats:
        """Return by how many slopes the forecast lies above the level after each number of steps."""
        return _fading_sum(self.phi, steps)

    def growth(self, steps: int) -> Floats:
        """Return the variance of the forecast error after 1 ... `steps` steps, in units of the first."""
        weights = self.alpha + self.beta * _fading_sum(self.phi, np.arange(1.0, steps))
        return np.concatenate([[1.0], 1.0 + np.cumsum(np.square(weights))])


def fit_level(z: Floats) -> Smoothing:
    """Return the best model without a slope."""
    return _search(z, starts=[(a,) for a in _LEVELS], phi=0.0)


def fit_smoothing(z: Floats, level_only: Smoothing) -> Smoothing:
    """Return the model with the lowest corrected AIC among `level_only` and those with a slope."""
    candidates = [level_only]
    if z.size >= 6:
        candidates.append(_search(z, starts=[(a, r) for a in _LEVELS for r in _RATIOS], phi=1.0))
    if z.size >= 8:
        starts = [(a, r, f) for a in _LEVELS[::2] for r in _RATIOS for f in _FADINGS]
        candidates.append(_search(z, starts=starts))
    return min(candidates, key=lambda model: corrected_aic(model.squares, z.size, model.parameters))


def corrected_aic(squares: float, points: int, parameters: int) -> float:
    """Return Akaike's criterion with the correction for short series; infinite where there is nothing to correct by."""
    freedom = points - parameters - 1
    if freedom <= 0:
        return math.inf
    return points * math.log(max(squares, 1e-12 * points) / points) + 2 * parameters * points / freedom


def _search(z: Floats, *, starts: Sequence[tuple[float, ...]], phi: float = 1.0) -> Smoothing:
    """Try every start, then move one number at a time by steps that shrink; `phi` counts where it is not searched."""
    drives = cache(lambda fading: _drive(z, fading))

    def solve(at: tuple[float, ...]) -> _Solution:
        alpha, ratio, fading = (*at, *(0.0, phi)[len(at) - 1 :])
        return _solve(drives(fading), alpha=alpha, beta=alpha * ratio, phi=fading)

    best = min(((start, solve(start)) for start in starts), key=lambda tried: tried[1][0])
    size = 0.8
    for _ in range(_ROUNDS):
        for axis in range(len(best[0])):
            best = _stepped(solve, best, axis, size)
        size *= 0.6
    at, (squares, level, slope) = best
    alpha, ratio, fading = (*at, *(0.0, phi)[len(at) - 1 :])
    numbers = 3 if not fading else 5 + (fading != 1.0)
    return Smoothing(
        alpha=alpha, beta=alpha * ratio, phi=fading, level=level, slope=slope, squares=squares, parameters=numbers
    )


def _stepped(
    solve: Callable[[tuple[float, ...]], _Solution], best: tuple[tuple[float, ...], _Solution], axis: int, size: float
) -> tuple[tuple[float, ...], _Solution]:
    """The best so far, or the first of a step up and a step down that is better."""
    for step in (size, -size):
        at = _moved(best[0], axis, step)
        solution = solve(at)
        if solution[0] < best[1][0]:
            return at, solution
    return best


def _moved(at: tuple[float, ...], axis: int, step: float) -> tuple[float, ...]:
    """One number moved on the scale between its bounds that stretches both ends (logits)."""
    low, high = (_LEVEL_BOUNDS, _RATIO_BOUNDS, _FADING_BOUNDS)[axis]
    share = min(max((at[axis] - low) / (high - low), 1e-3), 1 - 1e-3)
    moved = 1 / (1 + math.exp(-math.log(share / (1 - share)) - step))
    return (*at[:axis], low + (high - low) * moved, *at[axis + 1 :])


def _drive(z: Floats, phi: float) -> Floats:
    """What the recursion of the errors runs on, as columns: the differences (faded ones taken off), and one push."""
    changes = np.concatenate([z[:1], np.diff(z)])
    drive = np.zeros((z.size, 2), order="F")
    drive[:, 0] = changes
    drive[1:, 0] -= phi * changes[:-1]
    drive[0, 1] = 1.0
    return drive


def _fading_sum(phi: float, steps: Floats) -> Floats:
    """The sum phi + phi² + ... + phi^steps."""
    if phi == 1.0:
        return steps
    total: Floats = phi * (1 - phi**steps) / (1 - phi)
    return total


def _filtered(drive: Floats, *, alpha: float, beta: float, phi: float) -> Floats:
    """As columns: the one-step errors from a start at zero, and what one push at the first point takes off them."""
    if not phi:
        return run_recursion(drive, (1 - alpha,))
    return run_recursion(drive, (1 + phi - alpha - phi * beta, -phi * (1 - alpha)))


def _solve(drive: Floats, *, alpha: float, beta: float, phi: float) -> _Solution:
    """The start that leaves the least squares with these smoothing numbers, and these squares.

    A unit slope at the start pushes by phi at the first point; a unit level pushes by 1 there, and by -phi at the next.
    """
    filtered = _filtered(drive, alpha=alpha, beta=beta, phi=phi)
    (total, by_push), (_, pushes) = (filtered.T @ filtered).tolist()
    if not phi:
        level = by_push / pushes
        return max(total - level * by_push, 0.0), level, 0.0
    by_next, overlap = (filtered[1:].T @ filtered[:-1, 1]).tolist()
    by_level, levels = by_push - phi * by_next, (1 + phi**2) * pushes - 2 * phi * overlap
    levels -= (phi * float(filtered[-1, 1])) ** 2
    by_slope, slopes, both = phi * by_push, phi**2 * pushes, phi * (pushes - phi * overlap)
    determinant = levels * slopes - both**2
    if determinant <= 1e-12 * levels * slopes:
        level = by_level / levels
        return max(total - level * by_level, 0.0), level, 0.0
    level = (by_level * slopes - by_slope * both) / determinant
    slope = (by_slope * levels - by_level * both) / determinant
    return max(total - level * by_level - slope * by_slope, 0.0), level, slope


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoregression:
    """A model of the differences: their mean and the weights of the last ones, the newest first."""

    mean: float
    weights: Floats

    def forecasts(self, z: Floats, steps: NDArray[np.int64]) -> Floats:
        """Return the forecasts for each of `steps` (rows), ascending, from every point of `z` (columns)."""
        order = self.weights.size
        centred = np.concatenate([np.zeros(order), np.diff(z, prepend=z[:1]) - self.mean])
        centred[order] = 0.0
        recent = sliding_window_view(centred, z.size)[order:0:-1]
        forecasts: Floats = z + self.mean * steps[:, None] + self._sums_ahead(int(steps[-1]))[steps - 1] @ recent
        return forecasts

    def _sums_ahead(self, steps: int) -> Floats:
        """How much each recent change, newest first, adds to the sum of the changes after 1 ... `steps` steps."""
        order = self.weights.size
        direct = np.concatenate([self.weights, np.zeros(steps)])[np.add.outer(np.arange(steps), np.arange(order))]
        sums: Floats = np.cumsum(run_recursion(direct, self.weights), axis=0)
        return sums

    def growth(self, steps: int) -> Floats:
        """Return the variance of the forecast error after 1 ... `steps` steps, in units of the first."""
        push = np.zeros(steps)
        push[0] = 1.0
        return np.cumsum(np.square(np.cumsum(run_recursion(push, self.weights))))


def fit_autoregression(z: Floats, *, longest_lag: int) -> Autoregression:
    """Return the model of the differences of `z` with the lowest corrected AIC, with or without a mean."""
    changes = np.diff(z)
    best: tuple[float, float, list[float]] = (np.inf, 0.0, [])
    for mean in (0.0, float(changes.mean())):
        reflections, variances = _burg(changes - mean, min(longest_lag, changes.size // 5))
        for order, variance in enumerate(variances):
            criterion = corrected_aic(variance * changes.size, changes.size, order + 1 + (mean != 0.0))
            if criterion < best[0]:
                best = (criterion, mean, reflections[:order])
    return Autoregression(mean=best[1], weights=_weights(best[2]))


def _burg(x: Floats, highest: int) -> tuple[list[float], list[float]]:
    """The reflections of each order from 1 on, and the error variance of each order from 0 on."""
    reflections: list[float] = []
    variances = [float(np.square(x).mean())]
    forward, backward = x[1:], x[:-1]
    for _ in range(highest):
        power = float(forward @ forward + backward @ backward)
        if power <= 0.0:
            break
        reflection = 2.0 * float(forward @ backward) / power
        reflections.append(reflection)
        variances.append(variances[-1] * (1.0 - reflection**2))
        forward, backward = (forward - reflection * backward)[1:], (backward - reflection * forward)[:-1]
    return reflections, variances


def _weights(reflections: list[float]) -> Floats:
    """The weights that belong to reflections (Levinson's recursion)."""
    weights = np.empty(0)
    for reflection in reflections:
        weights = np.concatenate([weights - reflection * weights[::-1], [reflection]])
    return weights
