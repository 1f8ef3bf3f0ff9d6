"""The members against their textbook recursions, and the combination's weights."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.cases import for_each
from tests.support.forecasting import random_walk

from analytics_core._engine.forecast.default_model import combine, fit_members, quantile, variances
from analytics_core._engine.forecast.recursive_models import (
    Autoregression,
    Smoothing,
    fit_autoregression,
    fit_level,
    fit_smoothing,
)


def _recursion(model: Smoothing, z: np.ndarray) -> tuple[list[float], list[float], list[float]]:
    """Level, slope and errors, point by point, as the textbooks write them."""
    level, slope = model.level, model.slope
    levels, slopes, errors = [], [], []
    for value in z:
        error = value - level - model.phi * slope
        level = level + model.phi * slope + model.alpha * error
        slope = model.phi * slope + model.beta * error
        levels.append(level)
        slopes.append(slope)
        errors.append(error)
    return levels, slopes, errors


@pytest.mark.parametrize(("phi", "beta"), [(0.0, 0.0), (1.0, 0.1), (0.9, 0.05)])
def test_the_filter_equals_the_recursion(phi: float, beta: float) -> None:
    model = Smoothing(alpha=0.4, beta=beta, phi=phi, level=99.0, slope=0.3 * bool(phi), squares=1.0, parameters=3)
    z = random_walk(60)
    for filtered, expected in zip(model.states(z), _recursion(model, z), strict=True):
        np.testing.assert_allclose(filtered, expected, rtol=1e-9, atol=1e-9)


def test_the_reported_squares_are_those_of_the_recursion() -> None:
    z = random_walk(80)
    for model in (fit_level(z), fit_smoothing(z, fit_level(z))):
        assert model.squares == pytest.approx(float(np.square(_recursion(model, z)[2]).sum()), rel=1e-6)


def test_a_steady_slope_is_found() -> None:
    z = 3.0 * np.arange(50) + np.random.default_rng(0).normal(size=50)
    model = fit_smoothing(z, fit_level(z))
    _, slopes, _ = model.states(z)
    assert slopes[-1] == pytest.approx(3.0, abs=0.2)


@pytest.mark.slow
def test_the_level_model_is_as_good_as_that_of_statsmodels() -> None:
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    noise = np.random.default_rng(5)
    z = noise.normal(size=150).cumsum() + 2 * noise.normal(size=150)
    reference = ETSModel(z, error="add").fit(disp=False)
    assert fit_level(z).squares <= float(np.square(reference.resid).sum()) * 1.002


def test_burg_finds_the_weights_of_an_autoregression() -> None:
    noise = np.random.default_rng(4).normal(size=4000)
    changes = np.zeros(4000)
    for at in range(2, 4000):
        changes[at] = 0.6 * changes[at - 1] - 0.3 * changes[at - 2] + noise[at]
    weights = fit_autoregression(changes.cumsum(), longest_lag=8).weights
    np.testing.assert_allclose(weights[:2], [0.6, -0.3], atol=0.05)


def test_forecasts_of_an_autoregression_follow_its_equation() -> None:
    model = Autoregression(mean=0.5, weights=np.array([0.6, -0.3]))
    z = random_walk(30)
    changes = np.diff(z) - 0.5
    first = 0.6 * changes[-1] - 0.3 * changes[-2]
    second = 0.6 * first - 0.3 * changes[-1]
    expected = z[-1] + np.array([first + 0.5, first + second + 1.0])
    np.testing.assert_allclose(model.forecasts(z, np.array([1, 2]))[:, -1], expected)


@for_each("seed", range(5))
def test_an_autoregression_is_never_explosive(seed: int) -> None:
    z = np.exp(0.1 * np.arange(60)) + np.random.default_rng(seed).normal(size=60)
    weights = fit_autoregression(z, longest_lag=28).weights
    assert np.abs(np.roots(np.concatenate([[1.0], -weights]))).max(initial=0.0) < 1.0


def test_forecasts_from_the_last_point_are_the_last_of_those_from_every_point() -> None:
    z = random_walk(120)
    tracks = fit_members(z, longest_lag=8).over(z)
    np.testing.assert_allclose(tracks.last_forecasts(6), tracks.forecasts(np.arange(1, 7))[:, :, -1], rtol=1e-9)


def test_a_member_whose_errors_are_much_smaller_outweighs_the_others() -> None:
    changes = np.random.default_rng(2).normal(size=300)
    for at in range(1, changes.size):
        changes[at] -= 0.7 * changes[at - 1]
    z = np.cumsum(changes)
    fits = combine(z, np.ones(z.size, dtype=bool), horizon=1, fit_points=z.size, longest_lag=8).fits[1:]
    best = fit_members(z, longest_lag=8).autoregression.forecasts(z, np.array([1]))[0, :-1]
    assert np.abs(fits - best)[75:].mean() < 0.28 * np.abs(z[:-1] - best)[75:].mean()


def test_errors_grow_as_theory_says_for_a_random_walk() -> None:
    z = random_walk(2000)
    combination = combine(z, np.ones(z.size, dtype=bool), horizon=16, fit_points=z.size, longest_lag=8)
    ratio = combination.mean_squares[-1] / combination.mean_squares[0]
    assert 8 < ratio < 32
    spread = variances(combination, horizon=16, points=z.size)
    assert (np.diff(spread) >= 0).all()


def test_points_not_observed_are_no_evidence() -> None:
    z = random_walk(100)
    observed = np.ones(100, dtype=bool)
    observed[40:60] = False
    spoilt = z.copy()
    spoilt[40:60] += 0.0
    counts = combine(spoilt, observed, horizon=3, fit_points=100, longest_lag=8).counts
    assert counts.tolist() == [54, 53, 52]


@pytest.mark.parametrize(("confidence", "points", "low", "high"), [(0.8, 10_000, 1.1, 1.16), (0.95, 10_000, 1.9, 2.1)])
def test_the_interval_reaches_about_as_far_as_a_normal_one_on_long_series(
    confidence: float, points: int, low: float, high: float
) -> None:
    assert low < quantile(confidence, points=points) < high
    assert quantile(confidence, points=8) > 1.2 * quantile(confidence, points=points)
