"""Autoregression of the differences by Burg's recursion, which is stationary whatever the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics_core._forecast.smoothing import corrected_aic
from analytics_core._forecast.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoregression:
    """A model of the differences: their mean and the weights of the last ones, the newest first."""

    mean: float
    weights: Floats

    def forecasts(self, z: Floats, steps: int) -> Floats:
        """Return the forecasts for 1 ... `steps` steps from every point of `z`, one row for each step."""
        order = self.weights.size
        centred = np.concatenate([np.zeros(order), np.diff(z, prepend=z[:1]) - self.mean])
        centred[order] = 0.0
        recent = [centred[order - lag : centred.size - lag] for lag in range(order)]
        answer = np.empty((steps, z.size))
        level = z
        for step in range(steps):
            change = sum((w * r for w, r in zip(self.weights, recent, strict=True)), np.zeros(z.size))
            recent = [change, *recent[:-1]] if order else recent
            level = level + change + self.mean
            answer[step] = level
        return answer

    def growth(self, steps: int) -> Floats:
        """Return the variance of the forecast error after 1 ... `steps` steps, in units of the first."""
        answers = np.zeros(steps)
        answers[0] = 1.0
        for step in range(1, steps):
            back = answers[max(0, step - self.weights.size) : step][::-1]
            answers[step] = self.weights[: back.size] @ back
        return np.cumsum(np.square(np.cumsum(answers)))


def fit_autoregression(z: Floats, *, longest_lag: int) -> Autoregression:
    """Return the model of the differences of `z` with the lowest corrected AIC, with or without a mean."""
    changes = np.diff(z)
    best = (np.inf, Autoregression(mean=0.0, weights=np.empty(0)))
    for mean in (0.0, float(changes.mean())):
        for weights, variance in _burg(changes - mean, min(longest_lag, changes.size // 5)):
            numbers = weights.size + 1 + (mean != 0.0)
            criterion = corrected_aic(variance * changes.size, changes.size, numbers)
            if criterion < best[0]:
                best = (criterion, Autoregression(mean=mean, weights=weights))
    return best[1]


def _burg(x: Floats, highest: int) -> list[tuple[Floats, float]]:
    """The weights and the error variance of each order from 0 on."""
    weights = np.empty(0)
    variance = float(np.square(x).mean())
    models = [(weights, variance)]
    forward, backward = x[1:], x[:-1]
    for _ in range(highest):
        power = float(forward @ forward + backward @ backward)
        if power <= 0.0:
            break
        reflection = 2.0 * float(forward @ backward) / power
        weights = np.concatenate([weights - reflection * weights[::-1], [reflection]])
        variance *= 1.0 - reflection**2
        models.append((weights, variance))
        forward, backward = (forward - reflection * backward)[1:], (backward - reflection * forward)[:-1]
    return models
