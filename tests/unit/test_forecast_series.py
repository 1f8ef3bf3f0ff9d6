"""A forecast of every kind of series that a chart may hold."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.support.cases import for_each
from tests.support.forecasting import forecast, is_finite_and_ordered, moments_of, noisy_week, random_walk

from analytics_core._engine.forecast import Seasonality
from analytics_core.errors import LimitError
from analytics_core.models.enums import TimeGrain

NOISE = np.random.default_rng(11)

AWKWARD = {
    "one point": [5.0],
    "two points": [1.0, 2.0],
    "three points": [1.0, 2.0, 4.0],
    "four points": [1.0, 5.0, 2.0, 8.0],
    "five points": [1.0, 2.0, 1.0, 2.0, 1.0],
    "constant": [3.0] * 50,
    "zeros": [0.0] * 30,
    "one value among nulls": [np.nan, 3.0, np.nan],
    "nulls and infinities": [1, np.nan, 3, 4, np.nan, np.inf, 9, 10, np.nan],
    "a late first step": [0.0] * 40 + [1.0],
    "intermittent": np.where(NOISE.random(300) < 0.05, 100 * NOISE.random(300), 0.0),
    "negative": -5 - np.abs(NOISE.normal(size=100)),
    "crossing zero": NOISE.normal(size=100),
    "a straight line": np.arange(100.0),
    "to and fro": [1.0, -1.0] * 50,
    "exponential": np.exp(0.5 * np.arange(100)),
    "a pure week": np.resize([1.0, 2, 3, 4, 5, 6, 0], 210),
    "an outlier": np.concatenate([NOISE.normal(size=200), [1e6], NOISE.normal(size=50)]),
    "near the largest numbers": [1.7e308, -1.7e308] * 20,
    "the smallest numbers": [5e-324, 0.0] * 20,
    "small changes far from zero": 1e15 + 10 * NOISE.normal(size=200),
    "a long gap": np.concatenate([noisy_week(60), [np.nan] * 200, noisy_week(60)]),
}


@for_each("name", AWKWARD)
def test_awkward_series_get_finite_forecasts(name: str) -> None:
    result = forecast(AWKWARD[name])
    assert result.moments.size == len(AWKWARD[name]) + 10
    assert result.history == len(AWKWARD[name])
    assert is_finite_and_ordered(result)


def test_one_point_or_a_constant_repeats_without_width() -> None:
    for y in ([5.0], [5.0] * 40):
        result = forecast(y)
        assert set(result.yhat) == set(result.lower) == set(result.upper) == {5.0}


def test_no_rows_give_no_rows() -> None:
    result = forecast([])
    assert result.moments.size == result.yhat.size == 0
    assert result.notes == ("no value was observed",)


def test_nothing_observed_gives_rows_without_numbers_and_says_so() -> None:
    result = forecast([np.nan, np.nan])
    assert result.moments.size == 12
    assert np.isnan(result.yhat).all()
    assert result.notes == ("no value was observed",)


def test_the_future_begins_after_the_last_moment_and_nulls_at_the_end_are_forecast() -> None:
    y = np.concatenate([noisy_week(100), [np.nan, np.nan]])
    result = forecast(y, periods=3)
    known = forecast(y[:100], periods=5)
    np.testing.assert_array_equal(result.moments, known.moments)
    np.testing.assert_allclose(result.yhat, known.yhat)


def test_history_rows_are_one_step_fits_not_the_data() -> None:
    y = noisy_week(200)
    result = forecast(y)
    misses = np.abs(result.yhat[:200] - y)[20:]
    assert (misses > 0).all()
    assert misses.mean() < 4


def test_a_fit_uses_no_later_jump_of_the_level() -> None:
    """The level jumps once: the fit of that very point must miss it."""
    y = np.concatenate([NOISE.normal(size=60), 100 + NOISE.normal(size=60)])
    result = forecast(y, seasonality=Seasonality(weekly=False, monthly=False, yearly=False))
    assert result.yhat[60] < 20
    assert result.yhat[66] > 80


def test_no_periods_give_the_fits_alone() -> None:
    y = noisy_week(50)
    assert forecast(y, periods=0).moments.size == 50
    np.testing.assert_allclose(forecast(y, periods=0).yhat, forecast(y, periods=5).yhat[:50], atol=0.5)


def test_more_periods_than_history_are_extrapolated() -> None:
    result = forecast(random_walk(20), periods=500)
    assert result.moments.size == 520
    assert is_finite_and_ordered(result)


def test_the_interval_widens_with_the_horizon_on_a_random_walk() -> None:
    result = forecast(random_walk(300), periods=30)
    width = (result.upper - result.lower)[-30:]
    assert (np.diff(width) >= 0).all()
    assert width[-1] > 3 * width[0]


@for_each("grain", TimeGrain)
def test_every_grain_works(grain: TimeGrain) -> None:
    result = forecast(random_walk(120), grain=grain, periods=5)
    assert is_finite_and_ordered(result)
    assert (np.diff(result.moments) > np.timedelta64(0)).all()


def test_twenty_thousand_points_are_fitted_to_their_end_and_shown_whole() -> None:
    y = noisy_week(20_000)
    result = forecast(y)
    assert result.history == 20_000
    assert is_finite_and_ordered(result)
    assert np.abs(result.yhat[10:20_000] - y[10:]).mean() < 4


def test_hours_over_a_change_of_the_clock_survive() -> None:
    """Naive local hours: none at 02:00 in spring, two at 02:00 in autumn."""
    hours = np.arange("2024-01-01", "2024-12-01", dtype="datetime64[h]")
    local = hours[hours != np.datetime64("2024-03-31T02", "h")]
    local = np.sort(np.append(local, np.datetime64("2024-10-27T02", "h"))).astype("datetime64[us]")
    y = 50 + 10 * np.sin(2 * np.pi * (local.astype("datetime64[h]").astype(int) % 24) / 24)
    result = forecast(y + 0.1 * NOISE.normal(size=y.size), moments=local, grain=TimeGrain.HOUR, periods=24)
    assert result.history == local.size - 1
    truth = 50 + 10 * np.sin(2 * np.pi * (result.moments[-24:].astype("datetime64[h]").astype(int) % 24) / 24)
    assert np.abs(result.yhat[-24:] - truth).max() < 1


def test_a_gap_is_bridged_with_the_season_in_it() -> None:
    y = noisy_week(210)
    full = forecast(y, periods=14)
    y[100:110] = np.nan
    np.testing.assert_allclose(forecast(y, periods=14).yhat[-14:], full.yhat[-14:], atol=2.5)


def test_rows_too_far_apart_for_the_grain_are_forecast_with_a_note() -> None:
    moments = moments_of(TimeGrain.YEAR, 60)
    result = forecast(random_walk(60), moments=moments, grain=TimeGrain.SECOND)
    assert "evenly spaced" in result.notes[0]
    assert is_finite_and_ordered(result)


@for_each(
    ("changed", "message"),
    [
        ({"periods": -1}, "periods"),
        ({"confidence": 0.0}, "between 0 and 1"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"confidence": float("nan")}, "between 0 and 1"),
        ({"moments": moments_of(TimeGrain.DAY, 3)}, "a moment for each value"),
    ],
)
def test_impossible_options_are_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(LimitError, match=message):
        forecast([1.0, 2.0], **changed)


@pytest.mark.slow
def test_another_process_with_other_threads_gives_the_same_bits() -> None:
    code = (
        "import hashlib, numpy as np\n"
        "from analytics_core._engine.forecast import Seasonality, forecast_series\n"
        "from analytics_core.models.enums import TimeGrain\n"
        "digest = hashlib.sha256()\n"
        "for grain, step, points in ((TimeGrain.HOUR, 1, 3000), (TimeGrain.DAY, 24, 1000)):\n"
        "    moments = np.datetime64('2024-01-01', 'us') + np.arange(points) * np.timedelta64(step, 'h')\n"
        "    y = np.random.default_rng(8).normal(size=points).cumsum() + 5 * np.sin(np.arange(points) * np.pi / 12)\n"
        "    result = forecast_series(y, moments=moments, grain=grain, periods=60, confidence=0.8,"
        " seasonality=Seasonality())\n"
        "    digest.update(result.yhat.tobytes() + result.lower.tobytes() + result.upper.tobytes())\n"
        "print(digest.hexdigest())"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2", "4")
    }
    assert len(answers) == 1
    assert len(answers.pop().strip()) == 64


def test_the_input_is_not_changed() -> None:
    y, moments = noisy_week(50)[::-1].copy(), moments_of(TimeGrain.DAY, 50)[::-1].copy()
    before = y.copy(), moments.copy()
    forecast(y, moments=moments)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(moments, before[1])


def test_a_bound_beyond_the_largest_float_is_infinite_without_a_warning() -> None:
    result = forecast([1e308] * 10 + [1.7e308] * 3)
    assert np.isinf(result.upper).any()
    assert np.isfinite(result.yhat).all()
