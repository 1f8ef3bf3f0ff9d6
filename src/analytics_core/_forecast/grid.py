"""The regular grid under a series: sorted, one value a step, inner gaps marked, the unobserved tail cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics_core._forecast.calendars import step_numbers
from analytics_core._forecast.types import Floats, Moments
from analytics_core.models.enums import TimeGrain

LONGEST_GAP_FACTOR = 20
"""A grid with more than this many steps for each row is not built: rows are then taken as evenly spaced."""

_SMALLEST_FREE_GRID = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A series on its grid.

    Attributes:
        moments: the distinct moments given, in order.
        positions: the step of each of them, counted from the first observed step; negative before it.
        values: one value a step from the first to the last observed step, NaN where none was observed.
        is_regular: False when the rows lay too far apart for a grid and were taken one after the other.
    """

    moments: Moments
    positions: NDArray[np.int64]
    values: Floats
    is_regular: bool


def lay_on_grid(y: Floats, moments: Moments, grain: TimeGrain) -> Grid:
    """Return the series on the grid of `grain`; of rows with one moment, or in one step, the last observed counts.

    Values that are not finite and rows without a moment count as not observed.
    """
    known = ~np.isnat(moments)
    order = np.argsort(moments[known], kind="stable")
    ordered, given = moments[known][order].astype("datetime64[us]"), y[known][order]
    distinct = np.unique(ordered)
    steps = step_numbers(distinct, grain)
    is_regular = _fits_a_grid(steps)
    if not is_regular:
        steps = np.arange(distinct.size, dtype=np.int64)
    observed = np.isfinite(given)
    if not observed.any():
        return Grid(moments=distinct, positions=steps, values=np.empty(0), is_regular=is_regular)
    row_steps = steps[np.searchsorted(distinct, ordered[observed])]
    first = int(row_steps[0])
    values = np.full(int(row_steps[-1]) - first + 1, np.nan)
    values[row_steps - first] = given[observed]
    return Grid(moments=distinct, positions=steps - first, values=values, is_regular=is_regular)


def _fits_a_grid(steps: NDArray[np.int64]) -> bool:
    if steps.size == 0:
        return True
    span = int(steps[-1]) - int(steps[0]) + 1
    return span <= max(_SMALLEST_FREE_GRID, LONGEST_GAP_FACTOR * steps.size)


def fill_gaps(values: Floats) -> Floats:
    """Return `values` with every NaN replaced on the straight line between its neighbours, level at the ends."""
    known = np.isfinite(values)
    if known.all():
        return values
    at = np.arange(values.size)
    return np.interp(at, at[known], values[known])
