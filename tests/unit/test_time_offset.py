"""Entries of `time_offsets`: what they name, where they move bounds, and which buckets go together."""

from datetime import UTC, datetime

import pytest
from tests.support.cases import for_each

from analytics_core._engine.compile.calendar import CalendarUnit
from analytics_core._engine.compile.time_offset import OffsetKind, parse_time_offset
from analytics_core.errors import TimeOffsetError
from analytics_core.models.enums import TimeGrain

SINCE, UNTIL = datetime(2004, 1, 1, tzinfo=UTC), datetime(2005, 1, 1, tzinfo=UTC)


def shifted(text, since=SINCE, until=UNTIL):
    return tuple(
        bound.replace(tzinfo=None).isoformat(" ").removesuffix(" 00:00:00")
        for bound in parse_time_offset(text).shifted(since, until)
    )


@for_each(
    ("text", "kind"),
    [
        ("1 year ago", OffsetKind.RELATIVE),
        ("28 days", OffsetKind.RELATIVE),
        ("1 week later", OffsetKind.RELATIVE),
        ("inherit", OffsetKind.INHERIT),
        ("2003-06-01", OffsetKind.DATE),
        ("2003-01-01 : 2004-01-01", OffsetKind.DATE_RANGE),
        ("y", OffsetKind.RELATIVE),
        ("R", OffsetKind.INHERIT),
    ],
)
def test_kind_is_told_by_the_text(text, kind):
    assert parse_time_offset(text).kind is kind


def test_relative_offset_keeps_its_text_count_and_unit():
    offset = parse_time_offset("28 Days ago")
    assert (offset.text, offset.count, offset.unit) == ("28 Days ago", -28, CalendarUnit.DAY)


@for_each(
    ("text", "expected"),
    [
        ("1 year ago", ("2003-01-01", "2004-01-01")),
        ("1 year", ("2003-01-01", "2004-01-01")),
        ("28 days ago", ("2003-12-04", "2004-12-04")),
        ("1 week later", ("2004-01-08", "2005-01-08")),
        ("1 quarter ago", ("2003-10-01", "2004-10-01")),
        ("12 hours ago", ("2003-12-31 12:00:00", "2004-12-31 12:00:00")),
        ("inherit", ("2002-12-31", "2004-01-01")),
        ("2003-06-01", ("2003-06-01", "2004-06-01")),
        ("2006-01-01", ("2006-01-01", "2007-01-02")),
        ("2003-01-01 : 2004-01-01", ("2003-01-01", "2004-01-01")),
        ("2003-01-01:2003-02-01", ("2003-01-01", "2003-02-01")),
        ("y", ("2003-01-01", "2004-01-01")),
        ("m", ("2003-12-01", "2004-12-01")),
        ("w", ("2003-12-25", "2004-12-25")),
        ("r", ("2002-12-31", "2004-01-01")),
    ],
)
def test_bounds_are_shifted(text, expected):
    assert shifted(text) == expected


def test_each_bound_stops_at_the_end_of_its_month():
    since, until = datetime(2004, 3, 31, tzinfo=UTC), datetime(2004, 7, 31, tzinfo=UTC)
    assert shifted("1 month ago", since, until) == ("2004-02-29", "2004-06-30")


def test_date_shifts_by_whole_days_and_keeps_the_time_of_day():
    since, until = datetime(2004, 1, 1, 10, tzinfo=UTC), datetime(2004, 1, 2, 18, tzinfo=UTC)
    assert shifted("2003-06-01", since, until) == ("2003-06-01 10:00:00", "2003-06-02 18:00:00")


def test_inherit_shifts_a_range_of_hours_by_its_own_length():
    since, until = datetime(2004, 1, 1, 10, tzinfo=UTC), datetime(2004, 1, 1, 18, tzinfo=UTC)
    assert shifted("inherit", since, until) == ("2004-01-01 02:00:00", "2004-01-01 10:00:00")


@pytest.mark.parametrize("text", ["1 year ago", "inherit", "2003-06-01", "2003-01-01 : 2004-01-01"])
def test_naive_bounds_stay_naive_and_aware_ones_aware(text):
    offset = parse_time_offset(text)
    naive = offset.shifted(SINCE.replace(tzinfo=None), UNTIL.replace(tzinfo=None))
    aware = offset.shifted(SINCE, UNTIL)
    assert tuple(bound.replace(tzinfo=None) for bound in aware) == naive


def compared(text, label, grain):
    bounds = SINCE.replace(tzinfo=None), UNTIL.replace(tzinfo=None)
    return parse_time_offset(text).compared_bucket(label, grain, *bounds)


@for_each(
    ("text", "label", "grain", "expected"),
    [
        ("1 year ago", datetime(2004, 2, 1), TimeGrain.MONTH, datetime(2003, 2, 1)),
        ("28 days ago", datetime(2004, 1, 1), TimeGrain.DAY, datetime(2003, 12, 4)),
        ("28 days ago", datetime(2004, 2, 1), TimeGrain.MONTH, datetime(2004, 1, 1)),
        ("1 week later", datetime(2004, 1, 1), TimeGrain.DAY, datetime(2004, 1, 8)),
        ("1 month ago", datetime(2004, 3, 31), TimeGrain.DAY, datetime(2004, 2, 29)),
        ("1 quarter ago", datetime(2004, 4, 1), TimeGrain.QUARTER, datetime(2004, 1, 1)),
        ("1 year ago", datetime(2004, 2, 29, 10), TimeGrain.HOUR, datetime(2003, 2, 28, 10)),
        ("1 year ago", datetime(2004, 1, 1, 10, 17), None, datetime(2003, 1, 1, 10, 17)),
        ("inherit", datetime(2004, 1, 1), TimeGrain.DAY, datetime(2002, 12, 31)),
        ("2003-06-01", datetime(2004, 1, 2), TimeGrain.DAY, datetime(2003, 6, 2)),
        ("2003-01-01 : 2004-01-01", datetime(2004, 1, 2), TimeGrain.DAY, datetime(2003, 1, 2)),
    ],
)
def test_main_bucket_has_its_compared_bucket(text, label, grain, expected):
    assert compared(text, label, grain) == expected


@pytest.mark.parametrize(
    ("grain", "label", "expected"),
    [
        (TimeGrain.WEEK, datetime(2004, 1, 5), datetime(2003, 1, 6)),
        (TimeGrain.WEEK_STARTING_SUNDAY, datetime(2004, 1, 4), datetime(2003, 1, 5)),
        (TimeGrain.WEEK_ENDING_SATURDAY, datetime(2004, 1, 10), datetime(2003, 1, 11)),
        (TimeGrain.WEEK_ENDING_SUNDAY, datetime(2004, 1, 11), datetime(2003, 1, 12)),
    ],
)
def test_week_goes_with_the_nearest_week_of_the_year_before(grain, label, expected):
    assert compared("1 year ago", label, grain) == expected


@pytest.mark.parametrize(("since", "until"), [(None, UNTIL), (SINCE, None), (None, None)])
def test_both_bounds_are_needed(since, until):
    message = "An enclosed time range .both start and end. must be specified when using a Time Comparison"
    with pytest.raises(TimeOffsetError, match=message):
        parse_time_offset("1 year ago").shifted(since, until)


@for_each(
    "text",
    [
        "nonsense", "", " ", "year", "1", "1 yaer ago", "-1 year", "one year ago", "1 year before", "last year", "now",
        "today", "2003", "2003-06", "2003-W05", "2003-06-01T10:00", "2003-02-30", "01/02/2003", "x", "No filter",
        "previous calendar year", "2003-01-01 : ", " : 2003-01-01", "2 years ago : 1 year ago", "now : today",
        "2003-01-01 : 2004-02-30", "1 year ago, 2 years ago", "DATEADD(now, 1, day)", "inherit inherit", "'1 year ago'",
        "1 year ago; drop table t", "1 " * 400,
    ],
)  # fmt: skip
def test_other_text_is_refused_with_what_works(text):
    with pytest.raises(TimeOffsetError, match="write '1 year ago', '28 days ago'"):
        parse_time_offset(text)


def test_reversed_dates_are_refused():
    with pytest.raises(TimeOffsetError, match="ends before it starts"):
        parse_time_offset("2004-01-01 : 2003-01-01")


@pytest.mark.parametrize("text", ["9000 years ago", "9000 years later", "999999999 weeks ago"])
def test_offset_out_of_the_calendar_is_refused(text):
    with pytest.raises(TimeOffsetError, match="outside the years 1 to 9999"):
        parse_time_offset(text).shifted(SINCE, UNTIL)
