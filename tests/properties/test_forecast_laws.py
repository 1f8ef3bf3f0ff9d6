"""Laws of the forecast: equivariance, nesting, determinism, finiteness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.forecasting import START, forecast, is_finite_and_ordered, moments_of

from analytics_core._engine.forecast import Seasonality, future_moments
from analytics_core._engine.forecast.time_axis import step_numbers
from analytics_core.models.enums import TimeGrain

grains = st.sampled_from(
    [TimeGrain.HOUR, TimeGrain.DAY, TimeGrain.WEEK, TimeGrain.MONTH, TimeGrain.QUARTER, TimeGrain.YEAR]
)
lengths = st.integers(5, 120)
seeds = st.integers(0, 2**32 - 1)
options = st.none() | st.booleans() | st.integers(0, 12)
seasonalities = st.builds(Seasonality, weekly=options, monthly=options, yearly=options)
any_values = st.lists(
    st.floats(allow_nan=True, allow_infinity=True) | st.integers(-3, 3).map(float), min_size=1, max_size=60
)


def _series(seed: int, points: int) -> Any:
    """A series that crosses zero: a wave of seven steps, a walk and noise, in parts that the seed chooses."""
    chance = np.random.default_rng(seed)
    wave, walk, noise = chance.random(3)
    at = np.arange(points)
    y = (
        5 * wave * np.sin(2 * np.pi * at / 7)
        + walk * chance.normal(size=points).cumsum()
        + noise * chance.normal(size=points)
    )
    return y - y.mean()


@given(any_values, grains, st.integers(0, 40), seasonalities)
def test_any_numbers_with_one_finite_among_them_give_finite_ordered_rows(
    values: list[float], grain: TimeGrain, periods: int, seasonality: Seasonality
) -> None:
    y = np.clip(
        np.array([*values, 1.0]), -1e300, 1e300, where=np.isfinite([*values, 1.0]), out=np.array([*values, 1.0])
    )
    result = forecast(y, grain=grain, periods=periods, seasonality=seasonality)
    assert result.moments.size == y.size + periods
    assert is_finite_and_ordered(result)


@given(seeds, lengths, grains, seasonalities)
def test_the_same_series_gives_the_same_bits(
    seed: int, points: int, grain: TimeGrain, seasonality: Seasonality
) -> None:
    y = _series(seed, points)
    first = forecast(y, grain=grain, seasonality=seasonality)
    second = forecast(y.copy(), grain=grain, seasonality=seasonality)
    for name in ("yhat", "lower", "upper"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@pytest.mark.slow
@given(seeds, st.sampled_from([TimeGrain.HOUR, TimeGrain.DAY, TimeGrain.MONTH]), st.integers(1, 7))
@settings(max_examples=20)
def test_where_the_numbers_lie_in_memory_does_not_change_a_bit(seed: int, grain: TimeGrain, at: int) -> None:
    y = _series(seed, 400)
    elsewhere, every_second = np.empty(400 + at)[at:], np.empty(800)[::2]
    elsewhere[:], every_second[:] = y, y
    first = forecast(y, grain=grain)
    for other in (elsewhere, every_second):
        second = forecast(other, grain=grain)
        for name in ("yhat", "lower", "upper"):
            assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


@given(seeds, lengths, st.integers(-40, 40))
def test_a_power_of_two_scales_the_forecast_to_the_bit(seed: int, points: int, exponent: int) -> None:
    y = _series(seed, points)
    plain, scaled = forecast(y), forecast(y * 2.0**exponent)
    np.testing.assert_array_equal(scaled.yhat, plain.yhat * 2.0**exponent)
    np.testing.assert_array_equal(scaled.upper, plain.upper * 2.0**exponent)


@given(seeds, lengths)
def test_the_forecast_of_the_mirrored_series_is_mirrored(seed: int, points: int) -> None:
    y = _series(seed, points)
    plain, mirrored = forecast(y), forecast(-y)
    np.testing.assert_allclose(mirrored.yhat, -plain.yhat, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(mirrored.lower, -plain.upper, rtol=1e-6, atol=1e-6)


@given(seeds, lengths, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_a_higher_confidence_holds_the_lower_one(seed: int, points: int, one: float, other: float) -> None:
    y = _series(seed, points)
    narrow, wide = forecast(y, confidence=min(one, other)), forecast(y, confidence=max(one, other))
    np.testing.assert_array_equal(narrow.yhat, wide.yhat)
    assert (wide.lower <= narrow.lower).all()
    assert (narrow.upper <= wide.upper).all()


@given(seeds, lengths, seeds)
def test_the_order_of_the_rows_does_not_matter(seed: int, points: int, shuffle: int) -> None:
    y, moments = _series(seed, points), moments_of(TimeGrain.DAY, points)
    order = np.random.default_rng(shuffle).permutation(points)
    plain, shuffled = forecast(y, moments=moments), forecast(y[order], moments=moments[order])
    np.testing.assert_array_equal(plain.yhat, shuffled.yhat)
    np.testing.assert_array_equal(plain.moments, shuffled.moments)


@given(seeds, st.integers(8, 60), st.integers(1, 20))
def test_rows_with_null_and_missing_rows_are_the_same_gap(seed: int, points: int, at: int) -> None:
    y, moments = _series(seed, points), moments_of(TimeGrain.DAY, points)
    gap = 1 + at % (points - 2)
    mask = np.arange(points) != gap
    nulled = np.where(mask, y, np.nan)
    with_row, without = forecast(nulled, moments=moments), forecast(y[mask], moments=moments[mask])
    np.testing.assert_array_equal(with_row.yhat[-10:], without.yhat[-10:])


@given(seeds, lengths, st.integers(0, 30))
def test_an_earlier_duplicate_of_a_row_changes_nothing(seed: int, points: int, at: int) -> None:
    y, moments = _series(seed, points), moments_of(TimeGrain.DAY, points)
    row = at % points
    doubled = forecast(np.insert(y, row, 1e9), moments=np.insert(moments, row, moments[row]))
    np.testing.assert_array_equal(doubled.yhat, forecast(y, moments=moments).yhat)


@given(st.sampled_from(list(TimeGrain)), st.integers(1, 300), st.integers(-3_000_000, 3_000_000))
def test_future_moments_go_on_in_steps_of_one(grain: TimeGrain, periods: int, minutes: int) -> None:
    last = START + np.timedelta64(minutes, "m")
    label = future_moments(last, grain, 1)[0]
    moments = future_moments(label, grain, periods)
    assert (np.diff(moments, prepend=label) > np.timedelta64(0)).all()
    assert (np.diff(step_numbers(np.concatenate([[label], moments]), grain)) == 1).all()
