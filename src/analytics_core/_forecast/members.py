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

    def over(self, z: Floats) -> Tracks:
        """Return what the members know at each point of `z`."""
        theta_levels, _, _ = self.level.states(z)
        alpha = self.level.alpha
        lag = (1 - (1 - alpha) ** np.arange(1.0, z.size + 1)) / alpha
        half_slopes = _slopes_so_far(z) / 2
        levels, slopes, _ = self.smoothing.states(z)
        return Tracks(
            members=self,
            z=z,
            theta_levels=theta_levels + half_slopes * (lag - 1),
            half_slopes=half_slopes,
            levels=levels,
            slopes=slopes,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracks:
    """What the members know at each point of a series.

    Attributes:
        members: they.
        z: the series.
        theta_levels: the level of theta, with what it lags behind the slope of the past.
        half_slopes: half the slope of all points so far.
        levels: the level of the smoothing.
        slopes: its slope.
    """

    members: Members
    z: Floats
    theta_levels: Floats
    half_slopes: Floats
    levels: Floats
    slopes: Floats

    def forecasts(self, steps: NDArray[np.int64]) -> Floats:
        """Return the forecasts of each member (axis 0) for each of `steps` (axis 1) from each point (axis 2)."""
        ahead = steps.astype(float)[:, None]
        answer = np.empty((MEMBERS, steps.size, self.z.size))
        np.multiply(ahead, self.half_slopes, out=answer[0])
        answer[0] += self.theta_levels
        np.multiply(self.members.smoothing.reach(ahead), self.slopes, out=answer[1])
        answer[1] += self.levels
        answer[2] = self.members.autoregression.forecasts(self.z, steps)
        answer[3] = self.z
        return answer

    def last_forecasts(self, horizon: int) -> Floats:
        """Return the forecasts of each member (axis 0) for 1 ... `horizon` steps (axis 1) from the last point."""
        if not horizon:
            return np.empty((MEMBERS, 0))
        ahead = np.arange(1, horizon + 1)
        autoregression = self.members.autoregression
        return np.array(
            [
                self.theta_levels[-1] + ahead * self.half_slopes[-1],
                self.levels[-1] + self.members.smoothing.reach(ahead.astype(float)) * self.slopes[-1],
                autoregression.forecasts(self.z[-autoregression.weights.size - 1 :], ahead)[:, -1],
                np.full(horizon, self.z[-1]),
            ]
        )


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
