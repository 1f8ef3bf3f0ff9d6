"""Exponential smoothing as a filter: level alone, level and slope, level and fading slope (ETS with added errors).

A model of this family turns a series into its one-step errors by a recursive filter of order one or two. The start
(level and slope before the first point) enters these errors in a straight line, so least squares gives it, and only
the two or three smoothing numbers are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics_core._forecast.types import Floats

_LEVELS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
_RATIOS = (0.02, 0.1, 0.3)
_FADINGS = (0.86, 0.95)
"""Where the search begins: every one of these, then smaller and smaller steps from the best."""

_LEVEL_BOUNDS = (0.005, 0.995)
_RATIO_BOUNDS = (0.001, 0.9)
_FADING_BOUNDS = (0.80, 0.98)
_ROUNDS = 4


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
        from scipy.signal import lfilter

        filtered = _filtered(_rows(z, self.phi), alpha=self.alpha, beta=self.beta, phi=self.phi)
        errors = filtered[0] - self.level * filtered[1]
        if not self.phi:
            return z - (1 - self.alpha) * errors, np.zeros(z.size), errors
        errors = errors - self.slope * filtered[2]
        fading = self.phi ** np.arange(1, z.size + 1)
        slopes = self.slope * fading + lfilter([self.beta], [1.0, -self.phi], errors)
        return z - (1 - self.alpha) * errors, slopes, errors

    def reach(self, steps: Floats) -> Floats:
        """Return by how many slopes the forecast lies above the level after each number of steps."""
        return _fading_sum(self.phi, steps)

    def growth(self, steps: int) -> Floats:
        """Return the variance of the forecast error after 1 ... `steps` steps, in units of the first."""
        weights = self.alpha + self.beta * _fading_sum(self.phi, np.arange(1.0, steps))
        return np.concatenate([[1.0], 1.0 + np.cumsum(np.square(weights))])


def fit_level(z: Floats) -> Smoothing:
    """Return the best model without a slope."""
    levels = _rows(z, 0.0)
    return _search(lambda p: _solve(levels, alpha=p[0], beta=0.0, phi=0.0), starts=[(a,) for a in _LEVELS])


def fit_smoothing(z: Floats, level_only: Smoothing) -> Smoothing:
    """Return the model with the lowest corrected AIC among `level_only` and those with a slope."""
    candidates = [level_only]
    if z.size >= 6:
        rows = _rows(z, 1.0)
        pairs = [(a, r) for a in _LEVELS for r in _RATIOS]
        candidates.append(_search(lambda p: _solve(rows, alpha=p[0], beta=p[0] * p[1], phi=1.0), starts=pairs))
    if z.size >= 8:
        triples = [(a, r, f) for a in _LEVELS[::2] for r in _RATIOS for f in _FADINGS]
        candidates.append(
            _search(lambda p: _solve(_rows(z, p[2]), alpha=p[0], beta=p[0] * p[1], phi=p[2]), starts=triples)
        )
    return min(candidates, key=lambda model: corrected_aic(model.squares, z.size, model.parameters))


def corrected_aic(squares: float, points: int, parameters: int) -> float:
    """Return Akaike's criterion with the correction for short series; infinite where there is nothing to correct by."""
    freedom = points - parameters - 1
    if freedom <= 0:
        return math.inf
    return points * math.log(max(squares, 1e-12 * points) / points) + 2 * parameters * points / freedom


def _search(solve: Callable[[Sequence[float]], Smoothing], *, starts: Sequence[tuple[float, ...]]) -> Smoothing:
    """Try every start, then move one number at a time by steps that shrink."""
    best = min(((start, solve(start)) for start in starts), key=lambda tried: tried[1].squares)
    size = 0.8
    for _ in range(_ROUNDS):
        for axis in range(len(best[0])):
            best = _stepped(solve, best, axis, size)
        size *= 0.6
    return best[1]


def _stepped(
    solve: Callable[[Sequence[float]], Smoothing], best: tuple[tuple[float, ...], Smoothing], axis: int, size: float
) -> tuple[tuple[float, ...], Smoothing]:
    """The best so far, or the first of a step up and a step down that is better."""
    for step in (size, -size):
        at = _moved(best[0], axis, step)
        model = solve(at)
        if model.squares < best[1].squares:
            return at, model
    return best


def _moved(at: tuple[float, ...], axis: int, step: float) -> tuple[float, ...]:
    """One number moved on the scale between its bounds that stretches both ends (logits)."""
    low, high = (_LEVEL_BOUNDS, _RATIO_BOUNDS, _FADING_BOUNDS)[axis]
    share = min(max((at[axis] - low) / (high - low), 1e-3), 1 - 1e-3)
    moved = 1 / (1 + math.exp(-math.log(share / (1 - share)) - step))
    return (*at[:axis], low + (high - low) * moved, *at[axis + 1 :])


def _rows(z: Floats, phi: float) -> Floats:
    """The series, the course of a unit level, and that of a unit slope where there is one."""
    rows = [z, np.ones(z.size)]
    if phi:
        rows.append(_fading_sum(phi, np.arange(1.0, z.size + 1)))
    return np.array(rows)


def _fading_sum(phi: float, steps: Floats) -> Floats:
    """The sum phi + phi² + ... + phi^steps."""
    if phi == 1.0:
        return steps
    total: Floats = phi * (1 - phi**steps) / (1 - phi)
    return total


def _filtered(rows: Floats, *, alpha: float, beta: float, phi: float) -> Floats:
    """The one-step errors that each row would leave from a start at zero."""
    from scipy.signal import lfilter

    if not phi:
        level_only: Floats = lfilter([1.0, -1.0], [1.0, alpha - 1.0], rows)
        return level_only
    errors: Floats = lfilter([1.0, -(1 + phi), phi], [1.0, phi * beta - phi - 1 + alpha, phi * (1 - alpha)], rows)
    return errors


def _solve(rows: Floats, *, alpha: float, beta: float, phi: float) -> Smoothing:
    """The model with these smoothing numbers and the start that leaves the least squares."""
    filtered = _filtered(rows, alpha=alpha, beta=beta, phi=phi)
    products = filtered @ filtered.T
    level = slope = 0.0
    if not phi:
        level = products[0, 1] / products[1, 1]
        squares = products[0, 0] - level * products[0, 1]
    else:
        determinant = products[1, 1] * products[2, 2] - products[1, 2] ** 2
        if determinant <= 1e-12 * products[1, 1] * products[2, 2]:
            level = products[0, 1] / products[1, 1]
        else:
            level = (products[0, 1] * products[2, 2] - products[0, 2] * products[1, 2]) / determinant
            slope = (products[0, 2] * products[1, 1] - products[0, 1] * products[1, 2]) / determinant
        squares = products[0, 0] - level * products[0, 1] - slope * products[0, 2]
    numbers = 3 if not phi else 5 + (phi != 1.0)
    return Smoothing(
        alpha=alpha,
        beta=beta,
        phi=phi,
        level=float(level),
        slope=float(slope),
        squares=max(float(squares), 0.0),
        parameters=numbers,
    )
