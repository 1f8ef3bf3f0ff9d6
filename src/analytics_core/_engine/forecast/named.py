"""The textbook models for those who ask for one by name; statsmodels fits them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from analytics_core._engine.forecast.default_model import MOST_POINTS, Projection, project
from analytics_core._engine.forecast.periods import STRONG_EVIDENCE, Period
from analytics_core._engine.forecast.time_axis import Floats, fill_gaps

FEWEST_POINTS = 12
"""Shorter series get the default model."""

LONGEST_ETS_SEASON = 24
"""A longer season makes the fit of a seasonal ETS a matter of minutes."""

_Answer = tuple[Floats, Floats, float]
"""One-step fits of the history; forecasts, and below them the roots of their error variance; the root for the fits."""


def project_named(
    model: str, values: Floats, periods: Sequence[Period], *, horizon: int, confidence: float
) -> tuple[Projection, tuple[str, ...]]:
    """Return the answer of a textbook model, or of the default one with a note when the textbook's cannot be fitted."""
    periods = [period for period in periods if period.is_forced or period.evidence < STRONG_EVIDENCE]
    filled = fill_gaps(values)[-MOST_POINTS:]
    if filled.size < FEWEST_POINTS or np.ptp(filled) == 0:
        return project(values, periods, horizon=horizon, confidence=confidence), (
            _instead(model, "there is too little of"),
        )
    scale = float(np.abs(np.diff(filled)).mean())
    origin = float(filled[-1])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fits that stop early are judged by their numbers below
            fits, ahead, root = _MODELS[model]((filled - origin) / scale, periods, horizon)
    except (ValueError, ArithmeticError, IndexError, np.linalg.LinAlgError):
        fits, ahead, root = np.empty(0), np.full((2, horizon), np.nan), np.nan
    if not (np.isfinite(ahead).all() and np.isfinite(fits).all() and np.isfinite(root)):
        return project(values, periods, horizon=horizon, confidence=confidence), (_instead(model, "it cannot fit"),)
    return _projection(
        values, origin + scale * fits, (ahead, root), origin=origin, scale=scale, confidence=confidence
    ), _omitted_seasons(model, periods)


def _omitted_seasons(model: str, periods: Sequence[Period]) -> tuple[str, ...]:
    """A note of the seasons that were asked for and have no place in a model with one."""
    if model not in _ONE_SEASON:
        return ()
    taken = _ONE_SEASON[model](periods)
    lost = [f"{period.steps:g}" for period in periods if period.is_forced and period is not taken]
    return (f"model {model!r} has one season at most: left out is that of {' and '.join(lost)} steps",) if lost else ()


def _instead(model: str, reason: str) -> str:
    return f"model {model!r} was replaced by 'auto': {reason} this series"


def _projection(
    values: Floats, fits: Floats, ahead: tuple[Floats, float], *, origin: float, scale: float, confidence: float
) -> Projection:
    """Fits and forecasts in the units of the series; points before the fitted part are shown as the first fit."""
    from scipy.special import ndtri

    future, root = ahead
    earlier = np.full(values.size - fits.size, fits[0])
    center = np.concatenate([earlier, fits, origin + scale * future[0]])
    roots = np.concatenate([np.full(values.size, root), future[1]])
    reach = scale * float(ndtri((1 + confidence) / 2)) * roots
    return Projection(center=center, lower=center - reach, upper=center + reach)


def _ets(z: Floats, periods: Sequence[Period], horizon: int) -> _Answer:
    """The lowest corrected AIC of no trend, a trend and a damped one; with the longest season it can fit."""
    season = _longest_for_ets(periods)
    return _ets_with_season(z, round(season.steps) if season else 0, horizon)


def _longest_for_ets(periods: Sequence[Period]) -> Period | None:
    return max((p for p in periods if p.steps <= LONGEST_ETS_SEASON), key=lambda p: p.steps, default=None)


def _ets_with_season(z: Floats, season: int, horizon: int) -> _Answer:
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    shape: dict[str, Any] = {"seasonal": "add", "seasonal_periods": season} if season else {}
    trends: tuple[dict[str, Any], ...] = ({}, {"trend": "add"}, {"trend": "add", "damped_trend": True})
    fitted = [ETSModel(z, error="add", **trend, **shape).fit(disp=False) for trend in trends]
    best = min(fitted, key=lambda fit: float(fit.aicc))
    root = float(np.sqrt(np.square(best.resid).mean()))
    growth = _ets_growth(dict(zip(best.param_names, best.params, strict=True)), season, horizon)
    return best.fittedvalues, np.array([best.forecast(horizon) if horizon else [], root * growth]), root


def _ets_growth(params: Mapping[str, float], season: int, horizon: int) -> Floats:
    """The root of the error variance ahead, in units of the first (Hyndman and others 2008, table 6.2, class 1)."""
    ahead = np.arange(1, horizon)
    phi = params.get("damping_trend", 1.0)
    faded = np.cumsum(phi**ahead)
    weights = params["smoothing_level"] + params.get("smoothing_trend", 0.0) * faded
    if season:
        weights = weights + params["smoothing_seasonal"] * (ahead % season == 0)
    grown: Floats = np.sqrt(np.concatenate([[1.0], 1.0 + np.cumsum(np.square(weights))]))[:horizon]
    return grown


def _theta(z: Floats, periods: Sequence[Period], horizon: int) -> _Answer:
    """The Theta method (theta 2) on the series without its shortest season."""
    from scipy.signal import lfilter
    from statsmodels.tsa.forecasting.theta import ThetaModel
    from statsmodels.tsa.seasonal import seasonal_decompose

    shortest = _shortest(periods)
    season = round(shortest.steps) if shortest else 0
    seasonal = seasonal_decompose(z, period=season).seasonal if season else np.zeros(z.size)
    adjusted = z - seasonal
    fit = ThetaModel(adjusted, period=1, deseasonalize=False).fit()
    drift, alpha = (float(number) for number in fit.params[:2])
    levels = adjusted[0] + lfilter([alpha], [1.0, alpha - 1.0], adjusted - adjusted[0])
    lag = (1 - (1 - alpha) ** np.arange(z.size)) / alpha
    fits = np.concatenate([adjusted[:1], levels[:-1]]) + drift / 2 * lag
    root = float(np.sqrt(np.square(adjusted - fits)[1:].mean()))
    ahead = np.asarray(fit.forecast(horizon, theta=2)) if horizon else np.empty(0)
    growth = np.sqrt(1 + np.arange(horizon) * alpha**2)
    return fits + seasonal, np.array([ahead + _continued(seasonal, season, horizon), root * growth]), root


def _shortest(periods: Sequence[Period]) -> Period | None:
    return min(periods, key=lambda p: p.steps, default=None)


def _mstl(z: Floats, periods: Sequence[Period], horizon: int) -> _Answer:
    """All seasons by repeated local regression; what is left by ETS without one."""
    from statsmodels.tsa.seasonal import MSTL

    seasons = [round(p.steps) for p in periods]
    if not seasons:
        return _ets_with_season(z, 0, horizon)
    parts = np.atleast_2d(MSTL(z, periods=seasons).fit().seasonal.T)
    fits, ahead, root = _ets_with_season(z - parts.sum(axis=0), 0, horizon)
    following = sum((_continued(part, p, horizon) for part, p in zip(parts, seasons, strict=True)), np.zeros(horizon))
    return fits + parts.sum(axis=0), np.array([ahead[0] + following, ahead[1]]), root


def _sarimax(z: Floats, periods: Sequence[Period], horizon: int) -> _Answer:
    """ARIMA(1,1,1) with up to three waves for each season."""
    from statsmodels.tsa.statespace.sarimax import SARIMAX

    at = np.arange(z.size + horizon)
    waves = [
        wave(2 * np.pi * k * at / p.steps)
        for p in periods
        for k in range(1, min(3, int((p.steps - 1) // 2)) + 1)
        for wave in (np.sin, np.cos)
    ]
    known = np.array(waves).T if waves else None
    model = SARIMAX(z, exog=None if known is None else known[: z.size], order=(1, 1, 1))
    later = None if known is None or not horizon else known[z.size :]
    answer = model.fit(disp=False).get_prediction(0, z.size + horizon - 1, exog=later)
    center, roots = np.asarray(answer.predicted_mean), np.asarray(answer.se_mean)
    return center[: z.size], np.array([center[z.size :], roots[z.size :]]), float(roots[z.size - 1])


def _continued(seasonal: Floats, season: int, horizon: int) -> Floats:
    """The last cycle, repeated."""
    return np.resize(seasonal[-season:], horizon) if season else np.zeros(horizon)


_MODELS: Mapping[str, Callable[[Floats, Sequence[Period], int], _Answer]] = MappingProxyType(
    {"ets": _ets, "theta": _theta, "mstl": _mstl, "sarimax": _sarimax}
)
_ONE_SEASON: Mapping[str, Callable[[Sequence[Period]], Period | None]] = MappingProxyType(
    {"ets": _longest_for_ets, "theta": _shortest}
)
"""The season that a model takes which can have only one."""
