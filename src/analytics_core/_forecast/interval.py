"""How wide the interval is: what the combination missed by in the past, with the members' theory where that is thin."""

from __future__ import annotations

import math

import numpy as np

from analytics_core._forecast.combine import Combination
from analytics_core._forecast.types import Floats

THEORY_COUNTS_AS = 6
"""The members' theory weighs as much as this many errors of the combination."""

ROUNDING = 1e-20
"""A smaller mean squared error, in units of the mean change, is rounding."""

TAILS = 6.0
"""Degrees of freedom of the errors' shape: between the normal and what outliers would ask for."""


def variances(combination: Combination, *, horizon: int, points: int) -> Floats:
    """Return the error variance of the forecast after 1 ... `horizon` steps; it never falls.

    The errors were measured with parameters fitted to the same points; the last factor pays for it.
    """
    ahead = np.arange(1.0, max(horizon, 1) + 1)
    first = combination.mean_squares[0]
    first = max(float(first), ROUNDING) if np.isfinite(first) else 1.0
    theory = first * combination.growth
    at_steps = combination.steps
    measured = np.where(np.isfinite(combination.mean_squares), combination.mean_squares, theory[at_steps - 1])
    ratios = np.interp(ahead, at_steps, measured / theory[at_steps - 1])
    independent = np.interp(ahead, at_steps, combination.counts / at_steps, right=0.0)
    blended = theory * (independent * ratios + THEORY_COUNTS_AS) / (independent + THEORY_COUNTS_AS)
    growing = np.maximum.accumulate(blended)
    widened: Floats = growing * (1 + 24 / max(points, 12) + 2 * ahead / points)
    return widened


def quantile(confidence: float, *, points: int) -> float:
    """Return how many root mean squared errors the interval reaches to either side.

    Two reasons make it other than the normal one: the error's size is estimated from few points (Student's t), and
    it changes over time, so that errors have heavier tails than the normal of the same variance (another t).
    """
    from scipy.special import ndtri, stdtrit

    upper = (1 + confidence) / 2
    estimated = float(stdtrit(max(points / 2 - 5, 3.0), upper))
    shape = float(stdtrit(TAILS, upper) / ndtri(upper)) * math.sqrt((TAILS - 2) / TAILS)
    return estimated * shape
