"""Seasons are found where cycles agree, and left alone where they do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tests.support.cases import for_each
from tests.support.forecasting import forecast, noisy_week, random_walk

from analytics_core._engine.forecast import Seasonality
from analytics_core._engine.forecast.periods import Period, choose_periods
from analytics_core._engine.forecast.season import AdjustedSeries, adjust_for_seasons, shapes_of
from analytics_core._engine.forecast.time_axis import Floats
from analytics_core.models.enums import TimeGrain

NONE = Seasonality(weekly=False, monthly=False, yearly=False)


def _steps(grain: TimeGrain, points: int, seasonality: Seasonality | None = None) -> list[float]:
    periods, _ = choose_periods(grain, seasonality or Seasonality(), points=points)
    return [round(period.steps, 2) for period in periods]


def _adjust(y: Floats, periods: Sequence[Period], *, horizon: int) -> AdjustedSeries:
    return adjust_for_seasons(y, shapes_of(periods, points=y.size, horizon=horizon), horizon=horizon)


@for_each(
    ("grain", "points", "expected"),
    [
        (TimeGrain.HOUR, 900, [24, 168]),
        (TimeGrain.HOUR, 48, []),
        (TimeGrain.TEN_HOURS, 100, [2.4, 16.8]),
        (TimeGrain.DAY, 800, [7, 30.44, 365.25]),
        (TimeGrain.DAY, 730, [7, 30.44]),
        (TimeGrain.WEEK, 200, [52.18]),
        (TimeGrain.WEEK_ENDING_SATURDAY, 200, [52.18]),
        (TimeGrain.MONTH, 25, [12]),
        (TimeGrain.MONTH, 24, []),
        (TimeGrain.QUARTER, 40, [4]),
        (TimeGrain.YEAR, 99, []),
    ],
)
def test_periods_follow_from_the_grain(grain: TimeGrain, points: int, expected: list[float]) -> None:
    assert _steps(grain, points) == expected


@pytest.mark.parametrize("off", [False, 0])
def test_a_season_switched_off_is_not_tried(off: bool | int) -> None:
    assert _steps(TimeGrain.DAY, 800, Seasonality(weekly=off)) == [30.44, 365.25]


def test_a_number_is_the_count_of_harmonics_up_to_half_the_period() -> None:
    periods, _ = choose_periods(TimeGrain.DAY, Seasonality(weekly=2, yearly=9, monthly=99), points=800)
    assert [(period.harmonics, period.is_forced) for period in periods] == [(2, True), (15, True), (9, True)]


def test_a_season_that_is_forced_has_its_usual_harmonics() -> None:
    periods, _ = choose_periods(TimeGrain.DAY, Seasonality(weekly=True, yearly=True, monthly=True), points=800)
    assert [(period.harmonics, period.is_forced) for period in periods] == [(None, True), (5, True), (10, True)]


@pytest.mark.parametrize(("grain", "points"), [(TimeGrain.MONTH, 60), (TimeGrain.DAY, 10)])
def test_a_forced_season_that_cannot_show_is_left_out_with_a_note(grain: TimeGrain, points: int) -> None:
    _, notes = choose_periods(grain, Seasonality(weekly=True), points=points)
    assert len(notes) == 1
    assert notes[0].startswith("weekly_seasonality is left out")


def test_a_clear_week_is_found_and_taken_out() -> None:
    y = noisy_week(140)
    periods, _ = choose_periods(TimeGrain.DAY, Seasonality(), points=y.size)
    adjusted = _adjust(y, periods, horizon=14)
    assert np.abs(np.diff(adjusted.values)).mean() < np.abs(np.diff(y)).mean() / 3
    np.testing.assert_allclose(adjusted.reseason(adjusted.values), y)
    np.testing.assert_allclose(adjusted.season[-7:], adjusted.season[-14:-7])


@for_each("seed", range(12))
def test_a_random_walk_has_hardly_any_season(seed: int) -> None:
    y = random_walk(700, seed=seed)
    periods, _ = choose_periods(TimeGrain.DAY, Seasonality(), points=y.size)
    season = _adjust(y - y.mean(), periods, horizon=0).season
    assert season.std() < 0.15 * y.std()


def test_switching_the_week_off_leaves_it_out_of_the_forecast() -> None:
    found = forecast(noisy_week(140), periods=14).yhat[-14:]
    flat = forecast(noisy_week(140), periods=14, seasonality=NONE).yhat[-14:]
    assert np.ptp(found) > 20
    assert np.abs(found[:7] - found[7:]).max() < 5
    assert np.ptp(flat[7:]) < 10


def test_a_forced_week_is_kept_in_noise() -> None:
    noise = np.random.default_rng(1).normal(size=70)
    periods, _ = choose_periods(TimeGrain.DAY, Seasonality(weekly=True, monthly=False), points=70)
    unasked, _ = choose_periods(TimeGrain.DAY, Seasonality(monthly=False), points=70)
    assert _adjust(noise, periods, horizon=0).season.any()
    assert not _adjust(noise, unasked, horizon=0).season.any()


def test_each_season_of_a_day_can_be_forced_and_each_changes_the_forecast() -> None:
    y = random_walk(800)
    plain = forecast(y, seasonality=NONE).yhat
    for name in ("weekly", "monthly", "yearly"):
        options = {"weekly": False, "monthly": False, "yearly": False} | {name: 3}
        assert np.abs(forecast(y, seasonality=Seasonality(**options)).yhat - plain).max() > 1e-6


def test_a_season_that_grows_with_the_level_multiplies() -> None:
    at = np.arange(96)
    y = np.exp(0.02 * at) * (1 + 0.4 * np.sin(2 * np.pi * at / 12)) * 100
    periods, _ = choose_periods(TimeGrain.MONTH, Seasonality(), points=96)
    assert _adjust(y, periods, horizon=12).is_factor
    assert not _adjust(y - 200, periods, horizon=12).is_factor


def test_the_profile_of_a_day_may_differ_between_weekdays_and_weekends() -> None:
    hours = np.arange(24 * 7 * 6)
    is_workday = (hours // 24) % 7 < 5
    y = (
        50
        + np.where(is_workday, 20 * np.sin(2 * np.pi * hours / 24), 0)
        + np.random.default_rng(2).normal(size=hours.size)
    )
    result = forecast(y, grain=TimeGrain.HOUR, periods=168)
    ahead = np.arange(hours.size, hours.size + 168)
    truth = 50 + np.where((ahead // 24) % 7 < 5, 20 * np.sin(2 * np.pi * ahead / 24), 0)
    assert np.abs(result.yhat[-168:] - truth).mean() < 2
