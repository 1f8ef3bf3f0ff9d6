"""The seasons of a series: found, shrunk by their evidence, and taken out; on logarithms where that is smoother."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytics_core._forecast.periods import Period
from analytics_core._forecast.profile import Waves, seasonal_part, waves_of
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


def adjust_for_seasons(y: Floats, periods: Sequence[Period], *, horizon: int) -> Adjusted:
    """Return `y` (no gaps) without its seasons, and these for `horizon` further steps."""
    shapes = [(period, waves_of(period, points=y.size, horizon=horizon)) for period in periods]
    season = _sum_of_seasons(y, shapes, horizon=horizon)
    added = Adjusted(values=y - season[: y.size], season=season, is_factor=False)
    if not season.any() or not _suits_logs(y):
        return added
    logs = np.log(y)
    season = _sum_of_seasons(logs, shapes, horizon=horizon)
    factor = Adjusted(values=np.exp(logs - season[: y.size]), season=season, is_factor=True)
    return factor if _roughness(factor.values) <= _roughness(added.values) else added


def _suits_logs(y: Floats) -> bool:
    smallest = float(y.min())
    return smallest > 0 and smallest > SMALLEST_FOR_LOGS * float(np.median(y))


def _roughness(values: Floats) -> float:
    return float(np.abs(np.diff(values, 2)).mean()) if values.size > 2 else 0.0


def _sum_of_seasons(y: Floats, shapes: Sequence[tuple[Period, Waves | None]], *, horizon: int) -> Floats:
    """Fit the seasons in turn, shortest first, each on what the others leave; again with all of them known."""
    parts = [np.zeros(y.size + horizon) for _ in shapes]
    for _ in range(ROUNDS if len(parts) > 1 else 1):
        for at, (period, waves) in enumerate(shapes):
            others = sum((part for other, part in enumerate(parts) if other != at), np.zeros(y.size + horizon))
            parts[at] = seasonal_part(y - others[: y.size], period, waves, horizon=horizon)
    return sum(parts, np.zeros(y.size + horizon))
