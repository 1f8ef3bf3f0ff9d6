"""The default model: members on the adjusted series, combined, with their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytics_core._forecast.combination import combine, quantile, variances
from analytics_core._forecast.periods import LONGEST_LAG, Period
from analytics_core._forecast.season import AdjustedSeries, adjust_for_seasons, shapes_of
from analytics_core._forecast.time_axis import LocalSteps, fill_gaps
from analytics_core._forecast.types import Floats

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
        center = adjusted.reseason(np.concatenate([z, np.full(horizon, z[-1])]), 0)
        return Projection(center=center, lower=center, upper=center)
    points = min(z.size, MOST_POINTS)
    origin = float(z[-1])
    combination = combine((z - origin) / scale, observed, horizon=horizon, fit_points=points, longest_lag=longest_lag)
    spread = np.sqrt(variances(combination, horizon=horizon, points=points))
    center = origin + scale * np.concatenate([combination.fits, combination.path])
    reach = scale * quantile(confidence, points=points) * np.concatenate([np.full(z.size, spread[0]), spread[:horizon]])
    return Projection(
        center=adjusted.reseason(center, 0),
        lower=adjusted.reseason(center - reach, 0),
        upper=adjusted.reseason(center + reach, 0),
    )


def _adjust(values: Floats, filled: Floats, periods: Sequence[Period], horizon: int) -> AdjustedSeries:
    """The series without its seasons; gaps are filled again on the line between adjusted neighbours."""
    recent = slice(max(0, values.size - MOST_POINTS), None)
    shapes = shapes_of(periods, points=values.size, horizon=horizon)
    adjusted = adjust_for_seasons(filled, shapes)
    if not adjusted.season.any() or not np.isnan(values[recent]).any():
        return adjusted
    bridged = adjusted.reseason(fill_gaps(np.where(np.isfinite(values), adjusted.values, np.nan)), 0)
    return adjust_for_seasons(np.where(np.isfinite(values), values, bridged), shapes)


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
