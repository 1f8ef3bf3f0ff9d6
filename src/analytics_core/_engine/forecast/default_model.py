"""The default model: members on the adjusted series, combined by their past errors, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from analytics_core._engine.forecast.periods import LONGEST_LAG, Period
from analytics_core._engine.forecast.recursive_models import (
    Autoregression,
    Smoothing,
    fit_autoregression,
    fit_level,
    fit_smoothing,
)
from analytics_core._engine.forecast.season import AdjustedSeries, adjust_for_seasons, shapes_of
from analytics_core._engine.forecast.time_axis import Floats, LocalSteps, fill_gaps

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


MOST_STEPS = 24
"""Errors are taken at so many step counts at most, close together at first; between them they are drawn straight."""

POINTS_FOR_HALF_TRUST = 50
"""With as many points the weights are half their own and half equal."""

SHARPNESS = 4
"""Weights follow this power of 1 / mean squared error: the errors of all origins and steps tell the members apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """The combined forecast of an adjusted series.

    Attributes:
        path: forecasts for 1 ... h steps after the last point.
        fits: the one-step forecast of each point of the history; the first is the start of the smoothing.
        steps: the step counts at which errors were taken, 1 first.
        mean_squares: mean squared error at each of `steps`; NaN without an origin.
        counts: how many origins each rests on.
        growth: how the members' error variance may grow over 1 ... h steps.
    """

    path: Floats
    fits: Floats
    steps: NDArray[np.int64]
    mean_squares: Floats
    counts: NDArray[np.int64]
    growth: Floats


def combine(z: Floats, observed: NDArray[np.bool_], *, horizon: int, fit_points: int, longest_lag: int) -> Combination:
    """Return the combined forecast of `z`, whose errors count where `observed`, fitted to the last `fit_points`."""
    recent, counted = z[-fit_points:], observed[-fit_points:]
    members = fit_members(recent, longest_lag=longest_lag)
    tracks = members.over(recent)
    steps = _steps_to_try(horizon, recent.size)
    came = _what_came(recent, counted, steps)
    known = np.isfinite(came)
    forecasts = tracks.forecasts(steps)
    errors = np.where(known, came - forecasts, 0.0)
    weights = _weights(errors, known)
    combined = np.tensordot(weights, errors, axes=1)[:, recent.size // 4 :]
    counts = np.count_nonzero(known[:, recent.size // 4 :], axis=1)
    squares = np.square(combined).sum(axis=1)
    one_step = forecasts[:, 0] if recent.size == z.size else members.over(z).forecasts(steps[:1])[:, 0]
    return Combination(
        path=np.tensordot(weights, tracks.last_forecasts(horizon), axes=1),
        fits=np.concatenate([[members.first_fit()], np.tensordot(weights, one_step, axes=1)[:-1]]),
        steps=steps,
        mean_squares=np.divide(squares, counts, out=np.full(steps.size, np.nan), where=counts > 0),
        counts=counts,
        growth=members.growth(max(horizon, 1)),
    )


def _steps_to_try(horizon: int, points: int) -> NDArray[np.int64]:
    """1, 2, 3 ... and then ever larger steps up to the horizon, or as far as there are origins."""
    last = max(1, min(horizon, points - 2))
    if last <= MOST_STEPS:
        return np.arange(1, last + 1)
    spread = np.geomspace(1, last, MOST_STEPS).round().astype(np.int64)
    return np.unique(np.concatenate([np.arange(1, 9), spread]))


def _what_came(z: Floats, observed: NDArray[np.bool_], steps: NDArray[np.int64]) -> Floats:
    """The value at each step count (rows) after each point (columns); NaN where it is not known."""
    known = np.concatenate([np.where(observed, z, np.nan), np.full(int(steps[-1]), np.nan)])
    came: Floats = sliding_window_view(known, z.size)[steps]
    return came


def _weights(errors: Floats, known: NDArray[np.bool_]) -> Floats:
    """Weights as a power of the inverse mean squared error, drawn towards equal ones for short series."""
    points = errors.shape[2]
    count = np.count_nonzero(known[:, points // 3 :])
    if not count:
        return np.full(MEMBERS, 1 / MEMBERS)
    mean_squares = np.square(errors[:, :, points // 3 :]).sum(axis=(1, 2)) / count
    if mean_squares.min() <= 0.0:
        return np.asarray(mean_squares <= 0.0, dtype=float) / np.count_nonzero(mean_squares <= 0.0)
    own = (mean_squares.min() / mean_squares) ** SHARPNESS
    trust = points / (points + POINTS_FOR_HALF_TRUST)
    weights: Floats = trust * own / own.sum() + (1 - trust) / MEMBERS
    return weights


THEORY_COUNTS_AS = 6
"""The members' theory weighs as much as this many errors of the combination."""

ROUNDING = 1e-20
"""A smaller mean squared error, in units of the mean change, is rounding."""

TAILS = 5.0
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


MOST_POINTS = 4_000
"""The model is fitted to so many of the last points at most."""

FEWEST_POINTS = 5
"""Fewer observed points get a random walk."""

NO_CHANGE = 1e-15
"""Changes below this part of the largest value are rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A model's answer: history steps first, then the future.

    Attributes:
        center: the fit or forecast of each step, in the units of the series.
        lower: the lower bound.
        upper: the upper bound.
    """

    center: Floats
    lower: Floats
    upper: Floats


def project(
    values: Floats,
    periods: Sequence[Period],
    *,
    horizon: int,
    confidence: float,
    longest_lag: int = LONGEST_LAG,
    local: LocalSteps | None = None,
) -> Projection:
    """Return fits and forecasts of `values`, which begin and end with an observed one; NaN marks the others.

    The seasons follow `local`, the wall clock, where it is given.
    """
    observed = np.isfinite(values)
    filled = fill_gaps(values)
    if np.ptp(filled) <= NO_CHANGE * np.abs(filled).max():
        return _flat(filled, horizon)
    if np.count_nonzero(observed) < FEWEST_POINTS:
        return _random_walk(filled, horizon, confidence)
    adjusted = _adjust(values, filled, periods, horizon) if local is None else _adjust_locally(values, periods, local)
    z = adjusted.values
    scale = float(np.abs(np.diff(z)).mean())
    if scale <= NO_CHANGE * np.abs(filled).max():
        center = adjusted.reseason(np.concatenate([z, np.full(horizon, z[-1])]))
        return Projection(center=center, lower=center, upper=center)
    points = min(z.size, MOST_POINTS)
    origin = float(z[-1])
    combination = combine((z - origin) / scale, observed, horizon=horizon, fit_points=points, longest_lag=longest_lag)
    spread = np.sqrt(variances(combination, horizon=horizon, points=points))
    center = origin + scale * np.concatenate([combination.fits, combination.path])
    reach = scale * quantile(confidence, points=points) * np.concatenate([np.full(z.size, spread[0]), spread[:horizon]])
    return Projection(
        center=adjusted.reseason(center),
        lower=adjusted.reseason(center - reach),
        upper=adjusted.reseason(center + reach),
    )


def _adjust(values: Floats, filled: Floats, periods: Sequence[Period], horizon: int) -> AdjustedSeries:
    """The series without its seasons; gaps are filled again on the line between adjusted neighbours."""
    recent = slice(max(0, values.size - MOST_POINTS), None)
    shapes = shapes_of(periods, points=values.size, horizon=horizon)
    adjusted = adjust_for_seasons(filled, shapes, horizon=horizon)
    if not adjusted.season.any() or not np.isnan(values[recent]).any():
        return adjusted
    bridged = adjusted.reseason(fill_gaps(np.where(np.isfinite(values), adjusted.values, np.nan)))
    return adjust_for_seasons(np.where(np.isfinite(values), values, bridged), shapes, horizon=horizon)


def _adjust_locally(values: Floats, periods: Sequence[Period], local: LocalSteps) -> AdjustedSeries:
    """The same with seasons that are found, and go on, by the wall clock."""
    on_the_wall = local.to_local(values)
    found = _adjust(on_the_wall, fill_gaps(on_the_wall), periods, local.horizon)
    season = local.from_local(found.season)
    past = season[: values.size]
    adjusted = fill_gaps(values * np.exp(-past) if found.is_factor else values - past)
    return AdjustedSeries(values=adjusted, season=season, is_factor=found.is_factor)


def _flat(filled: Floats, horizon: int) -> Projection:
    center = np.concatenate([filled, np.full(horizon, filled[-1])])
    return Projection(center=center, lower=center, upper=center)


def _random_walk(filled: Floats, horizon: int, confidence: float) -> Projection:
    """The last value goes on; the spread is the mean change, growing with the root of the steps."""
    center = np.concatenate([filled[:1], filled[:-1], np.full(horizon, filled[-1])])
    change = float(np.abs(np.diff(filled)).mean())
    ahead = np.concatenate([np.ones(filled.size), np.arange(1.0, horizon + 1)])
    reach = quantile(confidence, points=filled.size) * change * np.sqrt(ahead)
    return Projection(center=center, lower=center - reach, upper=center + reach)
