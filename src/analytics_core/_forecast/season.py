"""The seasons of a series: found, shrunk by their evidence, and taken out; on logarithms where that is smoother."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytics_core._forecast.periods import Period
from analytics_core._forecast.profile import Phases, Waves, seasonal_part, shape_of
from analytics_core._forecast.types import Floats

ROUNDS = 2
"""Each season is fitted anew this often, with the others taken out."""

SMALLEST_FOR_LOGS = 0.02
"""Logarithms need every value above this part of the median: smaller ones would rule the fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """A series without its seasons, and the seasons themselves.

    Attributes:
        values: the history without seasons, in the units of the series.
        season: the sum of the seasons over history and future: added, or the logarithm of a factor.
        is_factor: whether the season multiplies.
    """

    values: Floats
    season: Floats
    is_factor: bool

    def reseason(self, values: Floats, start: int) -> Floats:
        """Return `values`, which begin `start` steps after the first of the history, with the season put back."""
        season = self.season[start : start + values.size]
        return values * np.exp(season) if self.is_factor else values + season


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """What fits each season to series of one length; made once for all fits.

    Attributes:
        each: the seasons, shortest first, each with its fit.
        points: the length of the history.
        horizon: how many steps follow.
    """

    each: tuple[tuple[Period, Waves | Phases], ...]
    points: int
    horizon: int


def shapes_of(periods: Sequence[Period], *, points: int, horizon: int) -> Shapes:
    """Return the fits of `periods` to series of `points` points."""
    each = tuple((period, shape_of(period, points=points, horizon=horizon)) for period in periods)
    return Shapes(each=each, points=points, horizon=horizon)


def adjust_for_seasons(y: Floats, shapes: Shapes) -> Adjusted:
    """Return `y` (no gaps) without its seasons, and these over history and future."""
    season = _sum_of_seasons(y, shapes)
    added = Adjusted(values=y - season[: y.size], season=season, is_factor=False)
    if not season.any() or not _suits_logs(y):
        return added
    logs = np.log(y)
    season = _sum_of_seasons(logs, shapes)
    factor = Adjusted(values=np.exp(logs - season[: y.size]), season=season, is_factor=True)
    return factor if _roughness(factor.values) <= _roughness(added.values) else added


def _suits_logs(y: Floats) -> bool:
    smallest = float(y.min())
    return smallest > 0 and smallest > SMALLEST_FOR_LOGS * float(np.median(y))


def _roughness(values: Floats) -> float:
    return float(np.abs(np.diff(values, 2)).mean()) if values.size > 2 else 0.0


def _sum_of_seasons(y: Floats, shapes: Shapes) -> Floats:
    """Fit the seasons in turn, shortest first, each on what the others leave; again with all of them known."""
    parts = [np.zeros(shapes.points + shapes.horizon) for _ in shapes.each]
    for _ in range(ROUNDS if len(parts) > 1 else 1):
        for at, (period, shape) in enumerate(shapes.each):
            others = sum((part for other, part in enumerate(parts) if other != at), np.zeros(parts[at].size))
            parts[at] = seasonal_part(y - others[: y.size], period, shape)
    return sum(parts, np.zeros(shapes.points + shapes.horizon))
