"""Moments that follow the last one, and the steps that moments fall into."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest
from tests.support.cases import for_each

from analytics_core._engine.compile.calendar import truncate
from analytics_core._engine.forecast import future_moments
from analytics_core._engine.forecast.time_axis import step_numbers
from analytics_core.errors import LimitError
from analytics_core.models.enums import TimeGrain


def _texts(last: str, grain: TimeGrain, periods: int) -> list[str]:
    return [str(moment)[:16] for moment in future_moments(np.datetime64(last, "us"), grain, periods)]


@for_each(
    ("grain", "last", "expected"),
    [
        (TimeGrain.SECOND, "2024-02-28T23:59:59", ["2024-02-29T00:00", "2024-02-29T00:00"]),
        (TimeGrain.FIVE_MINUTES, "2024-02-28T23:55", ["2024-02-29T00:00", "2024-02-29T00:05"]),
        (TimeGrain.TEN_HOURS, "2024-01-01T20:00", ["2024-01-02T06:00", "2024-01-02T16:00"]),
        (TimeGrain.DAY, "2024-02-28", ["2024-02-29T00:00", "2024-03-01T00:00"]),
        (TimeGrain.DAY, "2024-02-28T05:00", ["2024-02-29T05:00", "2024-03-01T05:00"]),
        (TimeGrain.WEEK, "2024-12-30", ["2025-01-06T00:00", "2025-01-13T00:00"]),
        (TimeGrain.WEEK, "2025-01-01", ["2025-01-08T00:00", "2025-01-15T00:00"]),
        (TimeGrain.WEEK_STARTING_SUNDAY, "2024-12-29", ["2025-01-05T00:00", "2025-01-12T00:00"]),
        (TimeGrain.WEEK_STARTING_SUNDAY, "2025-01-01", ["2025-01-05T00:00", "2025-01-12T00:00"]),
        (TimeGrain.WEEK_STARTING_MONDAY, "2024-12-30", ["2025-01-06T00:00", "2025-01-13T00:00"]),
        (TimeGrain.WEEK_ENDING_SATURDAY, "2025-01-04", ["2025-01-11T00:00", "2025-01-18T00:00"]),
        (TimeGrain.WEEK_ENDING_SATURDAY, "2025-01-01", ["2025-01-11T00:00", "2025-01-18T00:00"]),
        (TimeGrain.WEEK_ENDING_SUNDAY, "2025-01-05", ["2025-01-12T00:00", "2025-01-19T00:00"]),
        (TimeGrain.MONTH, "2023-12-01", ["2024-01-01T00:00", "2024-02-01T00:00"]),
        (TimeGrain.MONTH, "2024-01-30", ["2024-02-29T00:00", "2024-03-30T00:00"]),
        (TimeGrain.MONTH, "2023-02-28", ["2023-03-31T00:00", "2023-04-30T00:00"]),
        (TimeGrain.QUARTER, "2024-07-01", ["2024-10-01T00:00", "2025-01-01T00:00"]),
        (TimeGrain.QUARTER, "2024-06-30", ["2024-09-30T00:00", "2024-12-31T00:00"]),
        (TimeGrain.YEAR, "2024-01-01", ["2025-01-01T00:00", "2026-01-01T00:00"]),
        (TimeGrain.YEAR, "2024-02-29", ["2025-02-28T00:00", "2026-02-28T00:00"]),
        (TimeGrain.MONTH, "1969-11-01T12:30", ["1969-12-01T12:30", "1970-01-01T12:30"]),
    ],
)
def test_the_future_follows_the_calendar(grain: TimeGrain, last: str, expected: list[str]) -> None:
    assert _texts(last, grain, 2) == expected


@for_each("grain", TimeGrain)
def test_the_future_of_a_label_is_the_labels_that_follow(grain: TimeGrain) -> None:
    label = truncate(datetime(2023, 10, 29, 13, 7, 31), grain)
    moments = future_moments(np.datetime64(label, "us"), grain, 400)
    labels = [truncate(moment.item(), grain) for moment in moments]
    assert [moment.item() for moment in moments] == labels
    assert labels == sorted(set(labels))


@for_each("grain", TimeGrain)
def test_labels_of_a_grain_have_consecutive_numbers(grain: TimeGrain) -> None:
    label = truncate(datetime(1968, 10, 27, 13, 7, 31), grain)
    numbers = step_numbers(future_moments(np.datetime64(label, "us"), grain, 300), grain)
    assert (np.diff(numbers) == 1).all()


def test_no_periods_give_no_moments() -> None:
    assert future_moments(np.datetime64("2024-01-01", "us"), TimeGrain.DAY, 0).size == 0


@pytest.mark.parametrize("grain", [TimeGrain.DAY, TimeGrain.MONTH, TimeGrain.YEAR])
def test_moments_past_the_year_9999_are_refused(grain: TimeGrain) -> None:
    with pytest.raises(LimitError, match="9999"):
        future_moments(np.datetime64("9990-01-01", "us"), grain, 4_000_000)


def test_local_days_keep_apart_over_a_change_of_the_clock() -> None:
    """Midnights of London in UTC: 23:00 of the day before, in summer."""
    days = np.arange("2024-03-25", "2024-04-06", dtype="datetime64[D]").astype("datetime64[us]")
    is_summer = days > np.datetime64("2024-03-31", "us")
    numbers = step_numbers(days - is_summer * np.timedelta64(1, "h"), TimeGrain.DAY)
    assert (np.diff(numbers) == 1).all()


def test_moments_of_no_pattern_are_counted_by_the_grains_own_marks() -> None:
    moments = np.array(["2024-01-01T00:10", "2024-01-01T23:50", "2024-01-02T12:34"], dtype="datetime64[us]")
    assert np.diff(step_numbers(moments, TimeGrain.DAY)).tolist() == [0, 1]
