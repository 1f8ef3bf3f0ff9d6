"""The members in one: weights from their past errors, the combined forecast, its errors at every step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from analytics_core._forecast.members import MEMBERS, fit_members
from analytics_core._forecast.types import Floats

MOST_STEPS = 24
"""Errors are taken at so many step counts at most, close together at first; between them they are drawn straight."""

POINTS_FOR_HALF_TRUST = 100
"""With as many points the weights are half their own and half equal."""


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
    """Weights as the inverse square of the mean squared error, drawn towards equal ones for short series."""
    points = errors.shape[2]
    count = np.count_nonzero(known[:, points // 3 :])
    if not count:
        return np.full(MEMBERS, 1 / MEMBERS)
    mean_squares = np.square(errors[:, :, points // 3 :]).sum(axis=(1, 2)) / count
    if mean_squares.min() <= 0.0:
        return np.asarray(mean_squares <= 0.0, dtype=float) / np.count_nonzero(mean_squares <= 0.0)
    own = np.square(mean_squares.min() / mean_squares)
    trust = points / (points + POINTS_FOR_HALF_TRUST)
    weights: Floats = trust * own / own.sum() + (1 - trust) / MEMBERS
    return weights
