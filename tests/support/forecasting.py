"""Series to forecast, made from seeds."""

from __future__ import annotations

from typing import Any

import numpy as np

from analytics_core._engine.forecast import ForecastResult, Seasonality, forecast_series, future_moments
from analytics_core._engine.forecast.time_axis import Floats, Moments
from analytics_core.models.enums import TimeGrain

START = np.datetime64("2020-01-06", "us")  # a Monday


def moments_of(grain: TimeGrain, count: int, *, start: np.datetime64 = START) -> Moments:
    """`count` moments in steps of `grain`."""
    if count == 0:
        return np.empty(0, dtype="datetime64[us]")
    return np.concatenate([[start], future_moments(start, grain, count - 1)])


def forecast(y: Any, **changed: Any) -> ForecastResult:
    """The forecast of a daily series for ten days at 80 %, unless said otherwise."""
    values = np.asarray(y, dtype=float)
    options: dict[str, Any] = {
        "grain": TimeGrain.DAY,
        "periods": 10,
        "confidence": 0.8,
        "seasonality": Seasonality(),
    } | changed
    options.setdefault("moments", moments_of(options["grain"], values.size))
    return forecast_series(values, **options)


def noisy_week(days: int, *, seed: int = 7, height: float = 20.0) -> Floats:
    """Daily values around 100 with a clear week, a slow drift and noise."""
    noise = np.random.default_rng(seed).normal(size=days)
    week = height * np.array([0.0, 0.2, 0.1, 0.3, 0.5, -0.9, -1.0])
    return 100 + 0.05 * np.arange(days) + np.resize(week, days) + 2 * noise


def random_walk(points: int, *, seed: int = 3) -> Floats:
    """Sums of normal steps, which begin at 100."""
    return 100 + np.random.default_rng(seed).normal(size=points).cumsum()


def is_finite_and_ordered(result: ForecastResult) -> bool:
    """Whether every row has numbers, with the forecast inside its bounds."""
    every = np.concatenate([result.yhat, result.lower, result.upper])
    return bool(
        np.isfinite(every).all() and (result.lower <= result.yhat).all() and (result.yhat <= result.upper).all()
    )
