"""The time axis of a series: grains as steps, the wall clock of a zone, and the regular grid under the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from analytics_core._engine.engines.grains import SECONDS, WEEK_SHIFTS
from analytics_core.errors import LimitError
from analytics_core.models.enums import TimeGrain

Floats = NDArray[np.float64]
Moments = NDArray[np.datetime64]

DAY_S = 86_400
WEEK_S = 7 * DAY_S
_US = 1_000_000

STEP_SECONDS: Mapping[TimeGrain, int] = MappingProxyType(
    {**SECONDS, TimeGrain.DAY: DAY_S, **dict.fromkeys(WEEK_SHIFTS, WEEK_S)}
)
"""Length in seconds of the grains whose steps are all equally long."""

STEP_MONTHS: Mapping[TimeGrain, int] = MappingProxyType({TimeGrain.MONTH: 1, TimeGrain.QUARTER: 3, TimeGrain.YEAR: 12})
"""Length in months of the others."""

_MONDAY = -3
"""Some Monday, in days since 1970-01-01."""

_LABEL_DAYS: Mapping[TimeGrain, int] = MappingProxyType(
    {grain: _MONDAY + after for grain, (_, after) in WEEK_SHIFTS.items() if grain is not TimeGrain.WEEK}
)
"""Some day that labels a week of the anchored grains, in the same count."""

_FIRST_DAYS: Mapping[TimeGrain, int] = MappingProxyType(
    {grain: _MONDAY - before for grain, (before, _) in WEEK_SHIFTS.items()}
)
"""Some first day of a week."""


def step_numbers(moments: Moments, grain: TimeGrain) -> NDArray[np.int64]:
    """Return the number of the grain's step that each moment falls into; moments need no order, none may be NaT.

    Moments a fixed distance from the grain's own marks (days that begin at 05:00 UTC) are counted around that
    distance, so that an hour of daylight saving time does not put two days into one step.
    """
    if not moments.size:
        return np.empty(0, dtype=np.int64)
    if grain in STEP_MONTHS:
        return moments.astype("datetime64[M]").astype(np.int64) // STEP_MONTHS[grain]
    step = STEP_SECONDS[grain] * _US
    ticks = moments.astype("datetime64[us]").astype(np.int64) - _FIRST_DAYS.get(grain, 0) * DAY_S * _US
    residues, counts = np.unique(ticks % step, return_counts=True)
    common = int(np.argmax(counts))
    if 2 * int(counts[common]) < ticks.size:
        return ticks // step
    return (ticks - int(residues[common]) + step // 2) // step


def future_moments(last: np.datetime64, grain: TimeGrain, periods: int) -> Moments:
    """Return the `periods` moments that follow `last` in steps of `grain`, as datetime64[us].

    Months, quarters and years keep the day and the time of `last`; a last day of the month stays the last day. Weeks
    with an anchor continue with their own label day, whatever day `last` is. Other grains add their length.

    Raises:
        LimitError: the moments would leave the years 1 to 9999.
    """
    count = np.arange(1, periods + 1, dtype=np.int64)
    moment = last.astype("datetime64[us]")
    _require_known_years(moment, grain, periods)
    if grain in STEP_MONTHS:
        return _months_after(moment, count * STEP_MONTHS[grain])
    first = _label_of_week(moment, grain) if grain in _LABEL_DAYS else moment
    following: Moments = first + (count * STEP_SECONDS[grain]).astype("timedelta64[s]")
    return following


def _require_known_years(moment: np.datetime64, grain: TimeGrain, periods: int) -> None:
    seconds = STEP_SECONDS.get(grain) or STEP_MONTHS[grain] * 31 * DAY_S
    remaining_s = (np.datetime64("9999-12-31", "s") - moment.astype("datetime64[s]")).astype(np.int64)
    if periods * seconds > int(remaining_s):
        raise LimitError(f"{periods} periods of {grain.value} lead past the year 9999; ask for fewer periods")


def _label_of_week(moment: np.datetime64, grain: TimeGrain) -> np.datetime64:
    """The label of the week that holds `moment`: its first day, or its last."""
    day = int(moment.astype("datetime64[D]").astype(np.int64))
    first_day = day - (day - _FIRST_DAYS[grain]) % 7
    label_day = first_day + _LABEL_DAYS[grain] - _FIRST_DAYS[grain]
    return np.datetime64(label_day * DAY_S * _US, "us")


def _months_after(moment: np.datetime64, months: NDArray[np.int64]) -> Moments:
    month = moment.astype("datetime64[M]")
    day_of_month = moment.astype("datetime64[D]") - month.astype("datetime64[D]")
    targets = month + months.astype("timedelta64[M]")
    last_days = (targets + np.timedelta64(1, "M")).astype("datetime64[D]") - np.timedelta64(1, "D")
    is_month_end = (moment.astype("datetime64[D]") + np.timedelta64(1, "D")).astype("datetime64[M]") != month
    days = last_days if is_month_end else np.minimum(targets.astype("datetime64[D]") + day_of_month, last_days)
    time_of_day = moment - moment.astype("datetime64[D]")
    following: Moments = days.astype("datetime64[us]") + time_of_day
    return following


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


LONGEST_GAP_FACTOR = 20
"""A grid with more than this many steps for each row is not built: rows are then taken as evenly spaced."""

_SMALLEST_FREE_GRID = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RegularSeries:
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


def lay_on_grid(y: Floats, moments: Moments, grain: TimeGrain) -> RegularSeries:
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
        return RegularSeries(moments=distinct, positions=steps, values=np.empty(0), is_regular=is_regular)
    row_steps = steps[np.searchsorted(distinct, ordered[observed])]
    first = int(row_steps[0])
    values = np.full(int(row_steps[-1]) - first + 1, np.nan)
    values[row_steps - first] = given[observed]
    return RegularSeries(moments=distinct, positions=steps - first, values=values, is_regular=is_regular)


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
