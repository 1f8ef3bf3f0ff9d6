"""The wall clock of a zone: seasons follow it, while the grid of a series within the day is that of UTC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics_core._forecast.calendars import DAY_S, STEP_SECONDS
from analytics_core._forecast.types import Floats, Moments
from analytics_core.models.enums import TimeGrain

WallClock = Callable[[Moments], Moments]
"""What the clocks on the wall show at moments of UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSteps:
    """Where the steps of a series stand on the wall clock: one step is skipped in spring, one comes twice in autumn.

    Attributes:
        positions: the step on the wall clock of each step of history and future, 0 or more.
        points: how many steps the history has.
    """

    positions: NDArray[np.int64]
    points: int

    @property
    def horizon(self) -> int:
        """How many steps of the wall clock follow the history."""
        return int(self.positions.max()) - int(self.positions[: self.points].max())

    def to_local(self, values: Floats) -> Floats:
        """Return the history on the wall clock: NaN for what was skipped, the later of two values at one place."""
        places = self.positions[: self.points]
        local = np.full(int(places.max()) + 1, np.nan)
        known = np.isfinite(values)
        local[places[known]] = values[known]
        return local

    def from_local(self, values: Floats) -> Floats:
        """Return for each step of history and future the value at its place on the wall clock."""
        return values[self.positions]


def local_steps(
    first: np.datetime64, grain: TimeGrain, wall_clock: WallClock | None, *, points: int, horizon: int
) -> LocalSteps | None:
    """Return the steps on the wall clock of a series that begins at `first`; None where they are those of the grid.

    A change of the clock that is no whole number of steps moves the profile to the nearest step.
    """
    step = STEP_SECONDS.get(grain, DAY_S)
    if wall_clock is None or step >= DAY_S:
        return None
    steps = np.arange(points + horizon, dtype=np.int64)
    moments = first.astype("datetime64[us]") + (steps * step).astype("timedelta64[s]")
    offsets = (wall_clock(moments) - moments) / np.timedelta64(step, "s")
    positions = steps + np.floor(offsets - offsets[0] + 0.5).astype(np.int64)
    if (positions == steps).all():
        return None
    return LocalSteps(positions=positions - positions.min(), points=points)
