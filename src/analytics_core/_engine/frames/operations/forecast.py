"""`forecast`: fits over the history of every numeric column, and its future with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from typing import Any

import numpy as np
import pandas as pd

from analytics_core._engine.forecast import ForecastResult, Seasonality, WallClock, forecast_series
from analytics_core._engine.frames.columns import (
    Array,
    is_numeric,
    labels,
    listed,
    numbers,
    require_columns,
    require_flat,
    require_unique_columns,
)
from analytics_core._engine.frames.registry import FrameWithNotes
from analytics_core.errors import LimitError, PostProcessingError
from analytics_core.models.enums import TimeGrain
from analytics_core.models.postprocessing import ForecastModel, ForecastOptions

DEFAULT_INDEX = "__timestamp"
MOST_PERIODS = 100_000
_ANY_CONFIDENCE = 0.5
_WITHIN_A_DAY = "PT"
_SUFFIXES = ("__yhat", "__yhat_lower", "__yhat_upper")


def apply(frame: pd.DataFrame, options: ForecastOptions) -> FrameWithNotes:
    """Return the moments, and for each numeric column X `X__yhat`, `X__yhat_lower`, `X__yhat_upper` and X itself.

    Moments come in order and once each (the last value of a moment counts), the future behind them; X is null there.
    Rows without a moment and columns without numbers are left out; a note names these.

    Raises:
        PostProcessingError: there is no column of moments, or none of numbers, or a column has the name of a new one.
        LimitError: the future is too long.
    """
    require_flat(frame)
    require_unique_columns(frame)
    axis = _axis(frame, options.index)
    series = [name for name in frame.columns if name != axis and is_numeric(frame[name], booleans=False)]
    others = [name for name in frame.columns if name != axis and name not in series]
    if not series:
        raise PostProcessingError(f"there is no numeric column to forecast; the columns are: {listed(labels(frame))}")
    _check_periods(options.periods, len(series))
    _check_free([axis, *series])
    dated_rows = frame[frame[axis].notna()]
    times = _days_as_moments(dated_rows[axis])
    _check_one_series(times, others)
    moments = _naive(times, options.time_grain)
    wall_clock = _wall_clock(times.dt.tz)
    made: dict[Any, Any] = {}
    notes: dict[str, list[str]] = {}
    for name in series:
        values = numbers(dated_rows[name]).astype(np.float64)
        result = _forecast(values, moments, options, wall_clock)
        if not made:
            made[axis] = _like(times, result.moments, options.time_grain)
        made.update(
            zip((f"{name}{suffix}" for suffix in _SUFFIXES), (result.yhat, result.lower, result.upper), strict=True)
        )
        made[name] = _observed(values, moments, result)
        for note in result.notes:
            notes.setdefault(note, []).append(name)
    return FrameWithNotes(
        frame=pd.DataFrame(made), notes=(*_unread_orders(options), *_repeated(times), *_note_texts(notes, others))
    )


def _unread_orders(options: ForecastOptions) -> tuple[str, ...]:
    """A note of the Fourier orders that only the default model reads."""
    if options.model is ForecastModel.AUTO:
        return ()
    requested = {
        "weekly_seasonality": options.weekly_seasonality,
        "monthly_seasonality": options.monthly_seasonality,
        "yearly_seasonality": options.yearly_seasonality,
    }
    orders = [name for name, order in requested.items() if order and order is not True]
    return (f"{listed(orders)}: model {options.model.value!r} reads no Fourier order, only true",) if orders else ()


def _repeated(times: pd.Series[Any]) -> tuple[str, ...]:
    """A note of the rows that do not count, since a later one has their moment."""
    repeated = int(times.duplicated().sum())
    return (
        (f"rows that share the moment of an earlier one: {repeated:,}; of these the last value counts",)
        if repeated
        else ()
    )


def _note_texts(notes: Mapping[str, Sequence[str]], others: Sequence[str]) -> tuple[str, ...]:
    """Each note of the model with the columns it is about, then the columns left out."""
    messages = [f"{listed(columns)}: {note}" for note, columns in notes.items()]
    if others:
        messages.append(f"left out, since they hold no numbers: {listed(others)}")
    return tuple(messages)


def _axis(frame: pd.DataFrame, name: str | None) -> str:
    """Return the column of moments: the one named, else `__timestamp`, else the first that holds moments."""
    moments = [label for label in frame.columns if _holds_moments(frame[label])]
    if name is None:
        name = DEFAULT_INDEX if DEFAULT_INDEX in moments else next(iter(moments), None)
    if name is None:
        raise PostProcessingError(f"there is no column of moments; the columns are: {listed(labels(frame))}")
    require_columns(frame, [name], option="index")
    if name not in moments:
        raise PostProcessingError(f"index: column {name!r} holds no moments; those that do: {listed(moments)}")
    return name


def _holds_moments(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_datetime64_any_dtype(column) or _holds_arrow_days(column) or _holds_python_days(column)


def _holds_arrow_days(column: pd.Series[Any]) -> bool:
    import pyarrow as pa

    return isinstance(column.dtype, pd.ArrowDtype) and pa.types.is_date(column.dtype.pyarrow_dtype)


def _holds_python_days(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_object_dtype(column) and pd.api.types.infer_dtype(column, skipna=True) == "date"


def _days_as_moments(axis: pd.Series[Any]) -> pd.Series[Any]:
    """Return days of Arrow or of Python as moments, which have a zone or none; other columns as they are."""
    return axis.astype("datetime64[us]") if _holds_arrow_days(axis) or _holds_python_days(axis) else axis


def _check_periods(periods: int, series: int) -> None:
    if periods * series > MOST_PERIODS:
        raise LimitError(
            f"periods: {periods:,} steps of {series:,} columns are {periods * series:,} values; "
            f"at most {MOST_PERIODS:,} are forecast"
        )


def _check_free(names: Sequence[str]) -> None:
    """Refuse columns that a forecast would write over."""
    made = {f"{name}{suffix}" for name in names[1:] for suffix in _SUFFIXES}
    taken = [name for name in names if name in made]
    if taken:
        raise PostProcessingError(
            f"the forecast makes columns called {listed(taken)}, and the frame has such columns: rename or drop them"
        )


def _check_one_series(axis: pd.Series[Any], others: Sequence[str]) -> None:
    """Refuse groups below each other, which are several series in one column."""
    if others and axis.duplicated().any():
        raise PostProcessingError(
            f"column {others[0]!r} holds no numbers and moments occur more than once: put pivot and flatten before, "
            "so that each series is a column"
        )


def _naive(axis: pd.Series[Any], grain: TimeGrain) -> Array:
    """Return moments without a zone: in UTC within a day, else as the days of the zone."""
    if axis.dt.tz is not None:
        axis = (axis.dt.tz_convert("UTC") if grain.value.startswith(_WITHIN_A_DAY) else axis).dt.tz_localize(None)
    return axis.to_numpy(dtype="datetime64[us]")


def _like(axis: pd.Series[Any], moments: Array, grain: TimeGrain) -> pd.Series[Any]:
    """Return moments in the zone of the axis again, and in its unit where that reaches as far."""
    zoned = _in_zone(axis.dt.tz, moments, grain)
    try:
        result: pd.Series[Any] = zoned.dt.as_unit(axis.dt.unit)
    except pd.errors.OutOfBoundsDatetime:
        return zoned
    return result


def _in_zone(zone: tzinfo | None, moments: Array, grain: TimeGrain) -> pd.Series[Any]:
    result: pd.Series[Any] = pd.Series(moments)
    if zone is None:
        return result
    if grain.value.startswith(_WITHIN_A_DAY):
        zoned: pd.Series[Any] = result.dt.tz_localize("UTC").dt.tz_convert(zone)
        return zoned
    first = np.ones(len(result), dtype=bool)
    local: pd.Series[Any] = result.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
    return local


def _wall_clock(zone: tzinfo | None) -> WallClock | None:
    """Return the function from moments of UTC to the local time of `zone`."""
    if zone is None:
        return None

    def local_time(moments: Array) -> Array:
        local = pd.DatetimeIndex(moments).tz_localize("UTC").tz_convert(zone).tz_localize(None)
        return local.to_numpy(dtype="datetime64[us]")

    return local_time


def _forecast(values: Array, moments: Array, options: ForecastOptions, wall_clock: WallClock | None) -> ForecastResult:
    """Return the forecast of a series; an interval that holds nothing is the forecast, one of all has no ends."""
    confidence = options.confidence_interval
    made = forecast_series(
        values,
        moments=moments,
        grain=options.time_grain,
        periods=options.periods,
        confidence=confidence if 0 < confidence < 1 else _ANY_CONFIDENCE,
        seasonality=Seasonality(
            weekly=options.weekly_seasonality,
            monthly=options.monthly_seasonality,
            yearly=options.yearly_seasonality,
        ),
        model=options.model.value,
        wall_clock=wall_clock,
    )
    if 0 < confidence < 1:
        return made
    ends = made.yhat if confidence == 0 else np.full(len(made.yhat), np.nan)
    return replace(made, lower=ends, upper=ends)


def _observed(values: Array, moments: Array, result: ForecastResult) -> Array:
    """Return what was observed at the moments of the result: the last value of each, of the future nothing."""
    observed = np.full(len(result.moments), np.nan)
    history = result.moments[: result.history]
    known = ~np.isnan(values)
    observed[np.searchsorted(history, moments[known])] = values[known]
    return observed
