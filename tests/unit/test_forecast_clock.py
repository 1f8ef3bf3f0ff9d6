"""Seasons within the day follow the wall clock of a zone through its changes; the grid stays that of UTC."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.support.cases import for_each
from tests.support.forecasting import forecast, is_finite_and_ordered, moments_of

from analytics_core._engine.forecast import ForecastModel, WallClock
from analytics_core._engine.forecast.time_axis import Floats, Moments, local_steps
from analytics_core.models.enums import TimeGrain

SPRING, AUTUMN = "2024-03-31", "2024-10-27"
"""The days on which Oslo's clocks change."""


def wall_clock_of(name: str) -> WallClock:
    """The local time of a zone, moment by moment as the standard library has it."""
    zone = ZoneInfo(name)

    def local_time(moments: Moments) -> Moments:
        aware = [moment.replace(tzinfo=ZoneInfo("UTC")).astimezone(zone) for moment in moments.tolist()]
        return np.array([moment.replace(tzinfo=None) for moment in aware], dtype="datetime64[us]")

    return local_time


def local_profile(moments: Moments, wall_clock: WallClock) -> Floats:
    """A narrow peak at 08:00 local time on workdays, a lower one at 12:00 at the weekend."""
    local = wall_clock(moments).astype("datetime64[m]").astype(np.int64)
    minute, weekday = local % 1440, (local // 1440 + 3) % 7
    peak = np.where(weekday < 5, 8 * 60, 12 * 60)
    height = np.where(weekday < 5, 60.0, 25.0)
    return 100 + height * np.exp(-(((minute - peak) / 70) ** 2))


def series(zone: str, last: str, *, days: int, grain: TimeGrain = TimeGrain.HOUR) -> tuple[Moments, Floats]:
    """`days` days of the profile up to `last`, with a little noise."""
    step = timedelta(hours=1) if grain is TimeGrain.HOUR else timedelta(minutes=30)
    count = int(timedelta(days=days) / step)
    moments = moments_of(grain, count, start=np.datetime64(last, "us") - np.timedelta64(days, "D"))
    noise = np.random.default_rng(5).normal(size=count)
    return moments, local_profile(moments, wall_clock_of(zone)) + noise


def _at(day: str) -> np.datetime64:
    return np.datetime64(f"{day}T00", "us")


@for_each(
    ("zone", "last", "grain"),
    [
        ("Europe/Oslo", "2024-03-30T12", TimeGrain.HOUR),
        ("Europe/Oslo", "2024-04-03T07", TimeGrain.HOUR),
        ("Europe/Oslo", "2024-10-26T12", TimeGrain.HOUR),
        ("Europe/Oslo", "2024-10-30T07", TimeGrain.HOUR),
        ("America/New_York", "2024-03-10T00", TimeGrain.THIRTY_MINUTES),
        ("Australia/Lord_Howe", "2024-04-06T00", TimeGrain.THIRTY_MINUTES),
    ],
)
def test_the_profile_of_the_day_goes_on_by_local_time_over_a_change(zone: str, last: str, grain: TimeGrain) -> None:
    moments, y = series(zone, last, days=35, grain=grain)
    options = {"moments": moments, "grain": grain, "periods": 3 * 24 * (1 if grain is TimeGrain.HOUR else 2)}
    local = forecast(y, **options, wall_clock=wall_clock_of(zone))
    in_utc = forecast(y, **options)
    truth = local_profile(local.moments[y.size :], wall_clock_of(zone))
    misses, misses_in_utc = (np.abs(result.yhat[y.size :] - truth).mean() for result in (local, in_utc))
    assert is_finite_and_ordered(local)
    np.testing.assert_array_equal(local.moments, in_utc.moments)
    assert misses < 2
    assert misses_in_utc > 2 * misses


@pytest.mark.parametrize("day", [SPRING, AUTUMN])
def test_the_fits_of_the_days_around_a_change_follow_local_time_too(day: str) -> None:
    moments, y = series("Europe/Oslo", f"{day}T00", days=28)
    later = moments_of(TimeGrain.HOUR, 14 * 24, start=np.datetime64(f"{day}T00", "us"))
    noise = np.random.default_rng(6).normal(size=later.size)
    moments = np.concatenate([moments, later])
    y = np.concatenate([y, local_profile(later, wall_clock_of("Europe/Oslo")) + noise])
    local, in_utc = (
        forecast(y, moments=moments, grain=TimeGrain.HOUR, **extra).yhat[28 * 24 : y.size]
        for extra in ({"wall_clock": wall_clock_of("Europe/Oslo")}, {})
    )
    assert np.abs(local - y[28 * 24 :]).mean() < np.abs(in_utc - y[28 * 24 :]).mean() / 1.5


@pytest.mark.slow
@pytest.mark.parametrize("model", ["theta", "mstl"])
def test_a_named_model_works_on_the_wall_clock(model: ForecastModel) -> None:
    moments, y = series("Europe/Oslo", "2024-10-26T12", days=28)
    options = {"moments": moments, "grain": TimeGrain.HOUR, "periods": 72, "model": model}
    local = forecast(y, **options, wall_clock=wall_clock_of("Europe/Oslo"))
    in_utc = forecast(y, **options)
    truth = local_profile(local.moments[y.size :], wall_clock_of("Europe/Oslo"))
    assert is_finite_and_ordered(local)
    assert np.abs(local.yhat[y.size :] - truth)[14:].mean() < np.abs(in_utc.yhat[y.size :] - truth)[14:].mean()


@pytest.mark.parametrize(("day", "positions"), [(SPRING, [0, 2, 3, 4]), (AUTUMN, [0, 0, 1, 2])])
def test_one_hour_is_skipped_in_spring_and_one_comes_twice_in_autumn(day: str, positions: list[int]) -> None:
    """Both changes come at 01:00 UTC."""
    steps = local_steps(_at(day), TimeGrain.HOUR, wall_clock_of("Europe/Oslo"), points=3, horizon=1)
    assert steps is not None
    assert steps.positions.tolist() == positions
    assert steps.horizon == 1
    assert steps.from_local(np.array([10.0, 11, 12, 13, 14])).tolist() == [10.0 + at for at in positions]


def test_of_two_values_at_one_local_hour_the_later_observed_counts_and_a_skipped_hour_is_open() -> None:
    oslo = wall_clock_of("Europe/Oslo")
    autumn = local_steps(_at(AUTUMN), TimeGrain.HOUR, oslo, points=4, horizon=0)
    spring = local_steps(_at(SPRING), TimeGrain.HOUR, oslo, points=3, horizon=0)
    assert autumn is not None
    assert spring is not None
    assert autumn.to_local(np.array([5.0, 6, 7, 8])).tolist() == [6.0, 7.0, 8.0]
    assert autumn.to_local(np.array([5.0, np.nan, 7, 8])).tolist() == [5.0, 7.0, 8.0]
    np.testing.assert_array_equal(spring.to_local(np.array([5.0, 6, 7])), [5.0, np.nan, 6.0, 7.0])


@pytest.mark.parametrize("grain", [TimeGrain.DAY, TimeGrain.WEEK, TimeGrain.MONTH])
def test_a_day_and_longer_have_no_wall_clock(grain: TimeGrain) -> None:
    oslo = wall_clock_of("Europe/Oslo")
    assert local_steps(np.datetime64("2024-01-01", "us"), grain, oslo, points=300, horizon=5) is None


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_a_zone_without_changes_gives_the_bits_of_utc(zone: str) -> None:
    moments, y = series(zone, "2024-04-03T07", days=30)
    plain = forecast(y, moments=moments, grain=TimeGrain.HOUR)
    zoned = forecast(y, moments=moments, grain=TimeGrain.HOUR, wall_clock=wall_clock_of(zone))
    assert plain.yhat.tobytes() == zoned.yhat.tobytes()


@for_each("grain", [TimeGrain.MINUTE, TimeGrain.HOUR, TimeGrain.TWO_HOURS, TimeGrain.TEN_HOURS])
@for_each("day", [SPRING, AUTUMN])
@for_each("points", [1, 2, 5, 90])
def test_short_series_with_gaps_and_every_grain_survive_a_change(grain: TimeGrain, day: str, points: int) -> None:
    moments = moments_of(grain, points, start=np.datetime64(f"{day}T00", "us"))
    y = np.random.default_rng(points).normal(size=points)
    y[1:4:2] = np.nan
    result = forecast(y, moments=moments, grain=grain, periods=40, wall_clock=wall_clock_of("Europe/Oslo"))
    assert result.moments.size == points + 40
    assert is_finite_and_ordered(result)


def test_naive_local_hours_are_bridged_in_spring_and_reduced_in_autumn() -> None:
    """The hour missing in spring is a gap of one step; of the two equal hours in autumn the later row counts."""
    hours = moments_of(TimeGrain.HOUR, 24 * 21, start=np.datetime64("2024-10-10", "us"))
    at = int(np.flatnonzero(hours == np.datetime64(f"{AUTUMN}T02", "us"))[0])
    profile = 50 + 10 * np.sin(2 * np.pi * np.arange(hours.size) / 24)
    doubled = forecast(np.insert(profile, at, 1e6), moments=np.insert(hours, at, hours[at]), grain=TimeGrain.HOUR)
    once = forecast(profile, moments=hours, grain=TimeGrain.HOUR)
    np.testing.assert_array_equal(doubled.yhat, once.yhat)
    missing = forecast(np.delete(profile, at), moments=np.delete(hours, at), grain=TimeGrain.HOUR)
    null = profile.copy()
    null[at] = np.nan
    bridged = forecast(null, moments=hours, grain=TimeGrain.HOUR)
    np.testing.assert_array_equal(missing.yhat, np.delete(bridged.yhat, at))
    np.testing.assert_allclose(missing.yhat[-10:], once.yhat[-10:], atol=1)
