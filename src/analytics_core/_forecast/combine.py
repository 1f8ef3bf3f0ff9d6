"""The members in one: weights from their past errors, the combined forecast, its errors at every step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics_core._forecast.members import MEMBERS, Members, fit_members
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
    steps = _steps_to_try(horizon, recent.size)
    errors = _errors(recent, counted, members.forecasts(recent, steps), steps)
    weights = _weights(errors)
    combined = np.tensordot(weights, errors, axes=1)[:, recent.size // 4 :]
    valid = np.isfinite(combined)
    counts = valid.sum(axis=1)
    squares = np.square(np.where(valid, combined, 0.0)).sum(axis=1)
    return Combination(
        path=np.tensordot(weights, members.last_forecasts(recent, horizon), axes=1),
        fits=_fits(members, z, weights),
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


def _errors(z: Floats, observed: NDArray[np.bool_], forecasts: Floats, steps: NDArray[np.int64]) -> Floats:
    """The error of each member, step count and origin; NaN where what came is not known."""
    targets = np.arange(z.size) + steps[:, None]
    inside = targets < z.size
    targets = np.where(inside, targets, 0)
    actual = np.where(inside & observed[targets], z[targets], np.nan)
    errors: Floats = actual - forecasts
    return errors


def _weights(errors: Floats) -> Floats:
    """Weights as the inverse square of the mean squared error, drawn towards equal ones for short series."""
    points = errors.shape[2]
    late = errors[:, :, points // 3 :]
    known = np.isfinite(late[0])
    if not known.any():
        return np.full(MEMBERS, 1 / MEMBERS)
    mean_squares = np.square(late[:, known]).mean(axis=1)
    if mean_squares.min() <= 0.0:
        return np.asarray(mean_squares <= 0.0, dtype=float) / np.count_nonzero(mean_squares <= 0.0)
    own = np.square(mean_squares.min() / mean_squares)
    trust = points / (points + POINTS_FOR_HALF_TRUST)
    weights: Floats = trust * own / own.sum() + (1 - trust) / MEMBERS
    return weights


def _fits(members: Members, z: Floats, weights: Floats) -> Floats:
    one_step = np.tensordot(weights, members.forecasts(z, np.ones(1, dtype=np.int64))[:, 0], axes=1)
    return np.concatenate([[members.first_fit()], one_step[:-1]])
