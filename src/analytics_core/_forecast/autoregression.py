"""Autoregression of the differences by Burg's recursion, which is stationary whatever the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from analytics_core._forecast.recursion import run_recursion
from analytics_core._forecast.smoothing import corrected_aic
from analytics_core._forecast.types import Floats


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
