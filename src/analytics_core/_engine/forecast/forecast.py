"""The road of a forecast: rows to grid, grid to model, model back to rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analytics_core._engine.forecast.default_model import FEWEST_POINTS, Projection, project
from analytics_core._engine.forecast.named import project_named
from analytics_core._engine.forecast.periods import Period, Seasonality, choose_periods, longest_lag
from analytics_core._engine.forecast.time_axis import (
    Floats,
    LocalSteps,
    Moments,
    RegularSeries,
    WallClock,
    future_moments,
    lay_on_grid,
    local_steps,
)
from analytics_core.errors import LimitError
from analytics_core.models.enums import TimeGrain

ForecastModel = Literal["auto", "ets", "theta", "mstl", "sarimax"]
_UNEVEN = "the rows lie too far apart for the time grain and were taken as evenly spaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastResult:
    """A forecast: history rows first, then the future, all arrays of one length.

    Attributes:
        moments: the distinct moments given, in order, then `periods` moments after the last one; datetime64[us].
        yhat: one-step-ahead fits over the history, the forecast over the future; finite where anything was observed.
        lower: lower bound of the interval.
        upper: upper bound of the interval.
        history: how many rows belong to the history.
        notes: what was done otherwise than asked, as sentences.
    """

    moments: Moments
    yhat: Floats
    lower: Floats
    upper: Floats
    history: int
    notes: tuple[str, ...] = ()


def forecast_series(
    y: Floats,
    *,
    moments: Moments,
    grain: TimeGrain,
    periods: int,
    confidence: float,
    seasonality: Seasonality,
    model: ForecastModel = "auto",
    wall_clock: WallClock | None = None,
) -> ForecastResult:
    """Return fits over the history of one series and its forecast for `periods` further steps of `grain`.

    Args:
        y: the values; NaN and infinite ones count as not observed.
        moments: when each was observed, naive UTC (for a grain of a day or more: local days are better), any order.
            Of rows with the same moment, and of rows in one step of the grain, the last one counts.
        grain: how long a step is.
        periods: how many steps to forecast; 0 gives the fits alone.
        confidence: the part of future values that the interval should hold, between 0 and 1 exclusive.
        seasonality: which seasons to look for.
        model: `auto` for the combination described in docs/explanation/forecast.md, or a textbook model.
        wall_clock: for moments of UTC and a grain within the day: the local time that the seasons follow.

    Raises:
        LimitError: `periods` is negative or leads past the year 9999, or `confidence` is not between 0 and 1.
    """
    _require_sane(y, moments, periods=periods, confidence=confidence)
    grid = lay_on_grid(np.asarray(y, dtype=float), moments, grain)
    future = future_moments(grid.moments[-1], grain, periods) if grid.moments.size else grid.moments
    every = np.concatenate([grid.moments, future])
    if not grid.values.size:
        return _nothing_observed(every, history=grid.moments.size)
    chosen, notes = choose_periods(grain, seasonality, points=grid.values.size)
    steps = np.concatenate([grid.positions, grid.positions[-1] + 1 + np.arange(future.size)])
    horizon = max(int(steps[-1]) + 1 - grid.values.size, 0)
    scale, local = _power_of_two(grid.values), _local(grid, grain, wall_clock, horizon)
    lag = longest_lag(grain, seasonality)
    projection, more_notes = _run(
        model, grid.values / scale, chosen, local, horizon=horizon, confidence=confidence, lag=lag
    )
    yhat, lower, upper = _at_rows(projection, np.maximum(steps, 0), scale)
    return ForecastResult(
        moments=every,
        yhat=yhat,
        lower=lower,
        upper=upper,
        history=grid.moments.size,
        notes=(*(() if grid.is_regular else (_UNEVEN,)), *_too_few(grid.values), *notes, *more_notes),
    )


def _too_few(values: Floats) -> tuple[str, ...]:
    """Return a note where there are too few values for a trend."""
    observed = np.count_nonzero(np.isfinite(values))
    if observed >= FEWEST_POINTS:
        return ()
    if observed == 1:
        return (f"one value was observed and is repeated; an interval needs two values, a trend {FEWEST_POINTS}",)
    return (f"{observed} values were observed, of which the last is repeated; a trend needs {FEWEST_POINTS}",)


def _local(grid: RegularSeries, grain: TimeGrain, wall_clock: WallClock | None, horizon: int) -> LocalSteps | None:
    if not grid.is_regular:
        return None
    first = grid.moments[np.searchsorted(grid.positions, 0)]
    return local_steps(first, grain, wall_clock, points=grid.values.size, horizon=horizon)


def _run(
    model: ForecastModel,
    values: Floats,
    chosen: tuple[Period, ...],
    local: LocalSteps | None,
    *,
    horizon: int,
    confidence: float,
    lag: int,
) -> tuple[Projection, tuple[str, ...]]:
    if model == "auto":
        return project(values, chosen, horizon=horizon, confidence=confidence, longest_lag=lag, local=local), ()
    if local is None:
        return project_named(model, values, chosen, horizon=horizon, confidence=confidence)
    answer, notes = project_named(model, local.to_local(values), chosen, horizon=local.horizon, confidence=confidence)
    center, lower, upper = map(local.from_local, (answer.center, answer.lower, answer.upper))
    return Projection(center=center, lower=lower, upper=upper), notes


def _at_rows(projection: Projection, rows: NDArray[np.int64], scale: float) -> tuple[Floats, Floats, Floats]:
    with np.errstate(over="ignore"):  # beside the largest floats a bound may be infinite
        return projection.center[rows] * scale, projection.lower[rows] * scale, projection.upper[rows] * scale


def _require_sane(y: Floats, moments: Moments, *, periods: int, confidence: float) -> None:
    if len(y) != len(moments):
        raise LimitError(f"a forecast needs a moment for each value: {len(y)} values, {len(moments)} moments")
    if periods < 0:
        raise LimitError(f"periods must be 0 or more, not {periods}")
    if not 0 < confidence < 1:
        raise LimitError(f"the confidence of a forecast must lie between 0 and 1, such as 0.8, not {confidence}")


def _power_of_two(values: Floats) -> float:
    """A power of two near the largest value: dividing by it loses no bit and keeps squares from overflowing."""
    largest = float(np.nanmax(np.abs(values)))
    return math.ldexp(1.0, min(max(math.frexp(largest)[1], -1000), 1000)) if largest else 1.0


def _nothing_observed(moments: Moments, *, history: int) -> ForecastResult:
    unknown = np.full(moments.size, np.nan)
    return ForecastResult(
        moments=moments, yhat=unknown, lower=unknown, upper=unknown, history=history, notes=("no value was observed",)
    )
