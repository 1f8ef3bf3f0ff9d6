"""The forecasting model: numpy in, numpy out (contract, operation `forecast`).

`forecast_series` is the whole road: grid, season, members, combination, interval. It does no I/O, reads no clock and
keeps no state; the same numbers give the same bits. docs/explanation/forecast.md says why it is built this way.
"""

from analytics_core._engine.forecast.forecast import ForecastModel, ForecastResult, forecast_series
from analytics_core._engine.forecast.periods import Seasonality
from analytics_core._engine.forecast.time_axis import WallClock, future_moments

__all__ = ["ForecastModel", "ForecastResult", "Seasonality", "WallClock", "forecast_series", "future_moments"]
