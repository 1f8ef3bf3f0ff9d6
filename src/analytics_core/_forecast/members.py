"""The four members of the combination, each with forecasts from every point of the history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics_core._forecast.autoregression import Autoregression, fit_autoregression
from analytics_core._forecast.smoothing import Smoothing, fit_level, fit_smoothing
from analytics_core._forecast.types import Floats

MEMBERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """The fitted members: a level with half the slope of the past (theta), smoothing, autoregression, last value."""

    level: Smoothing
    smoothing: Smoothing
    autoregression: Autoregression

    def forecasts(self, z: Floats, steps: NDArray[np.int64]) -> Floats:
        """Return the forecasts of each member (axis 0) for each of `steps` (axis 1) from each point (axis 2)."""
        answer = np.empty((MEMBERS, steps.size, z.size))
        answer[0] = self._theta(z, steps.astype(float))
        levels, slopes, _ = self.smoothing.states(z)
        answer[1] = levels + np.outer(self.smoothing.reach(steps.astype(float)), slopes)
        answer[2] = self.autoregression.forecasts(z, steps)
        answer[3] = z
        return answer

    def last_forecasts(self, z: Floats, horizon: int) -> Floats:
        """Return the forecasts of each member (axis 0) for 1 ... `horizon` steps (axis 1) from the last point."""
        if not horizon:
            return np.empty((MEMBERS, 0))
        ahead = np.arange(1, horizon + 1)
        steps = ahead.astype(float)
        levels, slopes, _ = self.smoothing.states(z)
        return np.array(
            [
                self._theta(z, steps, since=-1)[:, 0],
                levels[-1] + self.smoothing.reach(steps) * slopes[-1],
                self.autoregression.forecasts(z[-self.autoregression.weights.size - 1 :], ahead)[:, -1],
                np.full(horizon, z[-1]),
            ]
        )

    def first_fit(self) -> float:
        """Return the forecast for the first point, which only the smoothing has: its start."""
        return self.smoothing.level + self.smoothing.phi * self.smoothing.slope

    def growth(self, steps: int) -> Floats:
        """Return how the error variance grows over 1 ... `steps` steps in the most cautious member."""
        last_value = np.arange(1.0, steps + 1)
        each = [self.level.growth(steps), self.smoothing.growth(steps), self.autoregression.growth(steps), last_value]
        most: Floats = np.max(each, axis=0)
        return most

    def _theta(self, z: Floats, steps: Floats, *, since: int = 0) -> Floats:
        """From point `since` on: the level, half the slope of all points so far, and what the level lags behind it."""
        levels, _, _ = self.level.states(z)
        alpha = self.level.alpha
        points = np.arange(1.0, z.size + 1)
        lag = (1 - (1 - alpha) ** points) / alpha
        half_slopes = _slopes_so_far(z) / 2
        forecasts: Floats = levels[since:] + half_slopes[since:] * (steps[:, None] - 1 + lag[since:])
        return forecasts


def fit_members(z: Floats, *, longest_lag: int) -> Members:
    """Return the members fitted to `z`: at least three points without gaps, not all equal."""
    level = fit_level(z)
    return Members(
        level=level, smoothing=fit_smoothing(z, level), autoregression=fit_autoregression(z, longest_lag=longest_lag)
    )


def _slopes_so_far(z: Floats) -> Floats:
    """The slope of the least-squares line through the points up to each point; zero for the first."""
    points = np.arange(1.0, z.size + 1)
    shifted = z - z[0]
    sums = np.cumsum(shifted)
    moments = np.cumsum(shifted * points)
    covariance = moments - sums * (points + 1) / 2
    spread = points * (points**2 - 1) / 12
    slopes: Floats = np.divide(covariance, spread, out=np.zeros(z.size), where=spread > 0)
    return slopes
