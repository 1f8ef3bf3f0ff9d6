"""Buckets and calendar arithmetic in plain Python."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from tests.support.cases import for_each

from analytics_core._engine.compile.calendar import (
    CalendarUnit,
    add_units,
    bucket_span,
    last_day_of,
    middle_of,
    truncate,
    units_between,
)
from analytics_core.models.enums import TimeGrain

WEDNESDAY = datetime(2024, 5, 15, 17, 48, 37, 250000)

LABELS = {
    TimeGrain.SECOND: "2024-05-15 17:48:37",
    TimeGrain.FIVE_SECONDS: "2024-05-15 17:48:35",
    TimeGrain.THIRTY_SECONDS: "2024-05-15 17:48:30",
    TimeGrain.MINUTE: "2024-05-15 17:48:00",
    TimeGrain.FIVE_MINUTES: "2024-05-15 17:45:00",
    TimeGrain.TEN_MINUTES: "2024-05-15 17:40:00",
    TimeGrain.FIFTEEN_MINUTES: "2024-05-15 17:45:00",
    TimeGrain.THIRTY_MINUTES: "2024-05-15 17:30:00",
    TimeGrain.HOUR: "2024-05-15 17:00:00",
    TimeGrain.TWO_HOURS: "2024-05-15 16:00:00",
    TimeGrain.FOUR_HOURS: "2024-05-15 16:00:00",
    TimeGrain.SIX_HOURS: "2024-05-15 12:00:00",
    TimeGrain.EIGHT_HOURS: "2024-05-15 16:00:00",
    TimeGrain.TEN_HOURS: "2024-05-15 08:00:00",
    TimeGrain.TWELVE_HOURS: "2024-05-15 12:00:00",
    TimeGrain.DAY: "2024-05-15 00:00:00",
    TimeGrain.WEEK: "2024-05-13 00:00:00",
    TimeGrain.MONTH: "2024-05-01 00:00:00",
    TimeGrain.QUARTER: "2024-04-01 00:00:00",
    TimeGrain.YEAR: "2024-01-01 00:00:00",
    TimeGrain.WEEK_STARTING_SUNDAY: "2024-05-12 00:00:00",
    TimeGrain.WEEK_STARTING_MONDAY: "2024-05-13 00:00:00",
    TimeGrain.WEEK_ENDING_SATURDAY: "2024-05-18 00:00:00",
    TimeGrain.WEEK_ENDING_SUNDAY: "2024-05-19 00:00:00",
}
WEEKS = [grain for grain in TimeGrain if "P1W" in grain]


def test_every_grain_of_the_contract_has_a_label_here():
    assert set(LABELS) == set(TimeGrain)


@for_each("grain", TimeGrain)
def test_moment_falls_into_its_bucket(grain):
    assert truncate(WEDNESDAY, grain) == datetime.fromisoformat(LABELS[grain])


def test_ten_hours_count_from_1970_and_do_not_restart_at_midnight():
    assert truncate(datetime(1970, 1, 2, 1), TimeGrain.TEN_HOURS) == datetime(1970, 1, 1, 20)


def test_moments_before_1970_fall_back_not_forward():
    assert truncate(datetime(1969, 12, 31, 23, 59, 59, 999999), TimeGrain.FIVE_SECONDS) == datetime(
        1969, 12, 31, 23, 59, 55
    )


@for_each(
    ("grain", "saturday", "sunday", "monday"),
    [
        (TimeGrain.WEEK, 13, 13, 20),
        (TimeGrain.WEEK_STARTING_MONDAY, 13, 13, 20),
        (TimeGrain.WEEK_STARTING_SUNDAY, 12, 19, 19),
        (TimeGrain.WEEK_ENDING_SATURDAY, 18, 25, 25),
        (TimeGrain.WEEK_ENDING_SUNDAY, 19, 19, 26),
    ],
)
def test_week_turns_on_its_own_day(grain, saturday, sunday, monday):
    days = [truncate(datetime(2024, 5, day, 23, 59), grain).day for day in (18, 19, 20)]
    assert days == [saturday, sunday, monday]


def test_aware_moments_are_bucketed_in_utc():
    late_in_new_york = datetime(2024, 5, 15, 22, 0, tzinfo=timezone(timedelta(hours=-4)))
    assert truncate(late_in_new_york, TimeGrain.DAY) == datetime(2024, 5, 16, tzinfo=UTC)


@pytest.mark.parametrize("grain", [TimeGrain.WEEK_STARTING_SUNDAY, TimeGrain.TEN_HOURS])
def test_label_before_the_year_one_overflows(grain):
    with pytest.raises(OverflowError):
        truncate(datetime(1, 1, 1), grain)


@for_each("grain", TimeGrain)
def test_middle_of_a_bucket_lies_in_it(grain):
    label = truncate(WEDNESDAY, grain)
    assert truncate(middle_of(label, grain), grain) == label


@for_each("grain", WEEKS)
def test_weeks_of_two_years_match_one_to_one_by_their_middles(grain):
    labels = [truncate(datetime(2021, 1, 20) + timedelta(weeks=week), grain) for week in range(45)]
    partners = [truncate(add_units(middle_of(label, grain), 1, CalendarUnit.YEAR), grain) for label in labels]
    assert {later - earlier for earlier, later in pairwise(partners)} == {timedelta(weeks=1)}


@for_each(
    ("moment", "count", "unit", "expected"),
    [
        (datetime(2024, 1, 31), 1, CalendarUnit.MONTH, datetime(2024, 2, 29)),
        (datetime(2024, 2, 29), -1, CalendarUnit.YEAR, datetime(2023, 2, 28)),
        (datetime(2024, 2, 29), 4, CalendarUnit.YEAR, datetime(2028, 2, 29)),
        (datetime(2024, 11, 30), 1, CalendarUnit.QUARTER, datetime(2025, 2, 28)),
        (datetime(2024, 1, 15), -1, CalendarUnit.MONTH, datetime(2023, 12, 15)),
        (datetime(2024, 1, 15, 12), -13, CalendarUnit.HOUR, datetime(2024, 1, 14, 23)),
    ],
)
def test_units_are_added_by_the_calendar(moment, count, unit, expected):
    assert add_units(moment, count, unit) == expected


def test_last_day_of_a_quarter_and_of_a_leap_february():
    assert last_day_of(datetime(2024, 2, 10), CalendarUnit.QUARTER) == datetime(2024, 3, 31)
    assert last_day_of(datetime(2024, 2, 10), CalendarUnit.MONTH) == datetime(2024, 2, 29)


@for_each(
    ("unit", "expected"),
    [
        (CalendarUnit.SECOND, 86_400), (CalendarUnit.HOUR, 24), (CalendarUnit.DAY, 1), (CalendarUnit.WEEK, 0),
        (CalendarUnit.MONTH, 1), (CalendarUnit.QUARTER, 1), (CalendarUnit.YEAR, 1),
    ],
)  # fmt: skip
def test_units_between_count_the_turn_of_a_year(unit, expected):
    assert units_between(datetime(2023, 12, 31), datetime(2024, 1, 1), unit) == expected


@for_each("grain", TimeGrain)
def test_a_bucket_spans_all_moments_of_its_label_and_no_other(grain):
    label = truncate(WEDNESDAY, grain)
    first, after = bucket_span(label, grain)
    last = after - timedelta.resolution
    assert [truncate(moment, grain) for moment in (first, WEDNESDAY, last)] == [label] * 3
    assert truncate(first - timedelta.resolution, grain) < label < truncate(after, grain)


@for_each("grain", WEEKS)
def test_the_middle_of_a_week_is_as_far_from_its_beginning_as_from_its_end(grain):
    label = truncate(WEDNESDAY, grain)
    (first, after), middle = bucket_span(label, grain), middle_of(label, grain)
    assert middle - first == after - (middle + timedelta(days=1))
