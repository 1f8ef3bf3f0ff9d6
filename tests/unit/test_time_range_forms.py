"""What each accepted form means on Monday 2016-11-07 09:30:10 UTC."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.support.cases import for_each

from analytics_core._engine.compile.time_range import resolve_time_range

MONDAY = datetime(2016, 11, 7, 9, 30, 10, tzinfo=UTC)


def bounds(text, **options):
    found = resolve_time_range(text, now=MONDAY, **options)
    return _written(found.since), _written(found.until)


def _written(moment):
    if moment is None:
        return None
    assert moment.utcoffset() == timedelta(0)
    text = moment.replace(tzinfo=None).isoformat(" ")
    return text.removesuffix(" 00:00:00")


CONTRACT = [
    ("Last day", "2016-11-06", "2016-11-07"),
    ("Last week", "2016-10-31", "2016-11-07"),
    ("Last month", "2016-10-07", "2016-11-07"),
    ("Last quarter", "2016-08-07", "2016-11-07"),
    ("Last year", "2015-11-07", "2016-11-07"),
    ("No filter", None, None),
    ("Last 90 seconds", "2016-11-07 09:28:40", "2016-11-07 09:30:10"),
    ("Last 2 minutes", "2016-11-07 09:28:10", "2016-11-07 09:30:10"),
    ("Last 5 hours", "2016-11-07 04:30:10", "2016-11-07 09:30:10"),
    ("Last hour", "2016-11-07 08:30:10", "2016-11-07 09:30:10"),
    ("Last 7 days", "2016-10-31", "2016-11-07"),
    ("Last 2 weeks", "2016-10-24", "2016-11-07"),
    ("Last 3 months", "2016-08-07", "2016-11-07"),
    ("Last 2 quarters", "2016-05-07", "2016-11-07"),
    ("Last 10 years", "2006-11-07", "2016-11-07"),
    ("Next 30 seconds", "2016-11-07 09:30:10", "2016-11-07 09:30:40"),
    ("Next 2 minutes", "2016-11-07 09:30:10", "2016-11-07 09:32:10"),
    ("Next 5 hours", "2016-11-07 09:30:10", "2016-11-07 14:30:10"),
    ("Next 3 days", "2016-11-07", "2016-11-10"),
    ("Next week", "2016-11-07", "2016-11-14"),
    ("Next 3 months", "2016-11-07", "2017-02-07"),
    ("Next 2 years", "2016-11-07", "2018-11-07"),
    ("5 days : now", "2016-11-02", "2016-11-07 09:30:10"),
    ("5 days ago : now", "2016-11-02", "2016-11-07 09:30:10"),
    ("1 day : today", "2016-11-06", "2016-11-07"),
    ("2 weeks ago : 1 week ago", "2016-10-24", "2016-10-31"),
    ("3 hours ago : 1 hour", "2016-11-07 06:30:10", "2016-11-07 08:30:10"),
    ("today : 2 years from now", "2016-11-07", "2018-11-07"),
    ("now : 2 hours later", "2016-11-07 09:30:10", "2016-11-07 11:30:10"),
    ("2004-01-01 : 2005-01-01", "2004-01-01", "2005-01-01"),
    ("2004-01-01T10:00:00 : 2004-01-01 11:30", "2004-01-01 10:00:00", "2004-01-01 11:30:00"),
]

CALENDAR = [
    ("previous calendar day", "2016-11-06", "2016-11-07"),
    ("previous calendar week", "2016-10-31", "2016-11-07"),
    ("previous calendar month", "2016-10-01", "2016-11-01"),
    ("previous calendar quarter", "2016-07-01", "2016-10-01"),
    ("previous calendar year", "2015-01-01", "2016-01-01"),
    ("previous calendar hour", "2016-11-07 08:00:00", "2016-11-07 09:00:00"),
    ("Current day", "2016-11-07", "2016-11-08"),
    ("Current week", "2016-11-07", "2016-11-14"),
    ("Current month", "2016-11-01", "2016-12-01"),
    ("Current quarter", "2016-10-01", "2017-01-01"),
    ("Current year", "2016-01-01", "2017-01-01"),
    ("current hour", "2016-11-07 09:00:00", "2016-11-07 10:00:00"),
    ("this month", "2016-11-01", "2016-12-01"),
    ("first week of this month", "2016-11-01", "2016-11-08"),
    ("first week of last month", "2016-10-01", "2016-10-08"),
    ("1st month of this quarter", "2016-10-01", "2016-11-01"),
    ("first quarter of next year", "2017-01-01", "2017-04-01"),
    ("first month of the year", "2016-01-01", "2016-02-01"),
    ("first week of prior the year", "2015-01-01", "2015-01-08"),
    ("first day of last month", "2016-10-01", "2016-10-02"),
    ("first hour of this day", "2016-11-07", "2016-11-07 01:00:00"),
]

SIDES = [
    (" : last 2 minutes", None, "2016-11-07 09:28:10"),
    ("start of this month : ", "2016-11-01", None),
    (" : end of this month", None, "2016-11-30"),
    (" : end of next month", None, "2016-12-31"),
    (" : end of last quarter", None, "2016-09-30"),
    (" : end of this day", None, "2016-11-07"),
    ("start of this week : end of this week", "2016-11-07", "2016-11-13"),
    ("beginning of last year : start of this year", "2015-01-01", "2016-01-01"),
    ("start of last 2 months : start of next 2 months", "2016-09-01", "2017-01-01"),
    ("start of this hour : now", "2016-11-07 09:00:00", "2016-11-07 09:30:10"),
    ("first day of last month : first of this month", "2016-10-01", "2016-11-01"),
    ("1st day of the year : today", "2016-01-01", "2016-11-07"),
    ("last month : next month", "2016-10-07", "2016-12-07"),
    ("prior 3 days : this day", "2016-11-04", "2016-11-07"),
    ("last 3 hours : this hour", "2016-11-07 06:30:10", "2016-11-07 09:00:00"),
    ("this year : now", "2016-01-01", "2016-11-07 09:30:10"),
    ("this quarter : today", "2016-10-01", "2016-11-07"),
    ("this month : next month", "2016-11-01", "2016-12-07"),
    ("last week : this week", "2016-10-31", "2016-11-07"),
    ("DATEADD(this month, -1, month) : DATEADD(this year, 1, year)", "2016-10-01", "2017-01-01"),
    ("yesterday : tomorrow", "2016-11-06", "2016-11-08"),
    ("2020 : 2021", "2020-01-01", "2021-01-01"),
    ("2020-02 : 2020-03", "2020-02-01", "2020-03-01"),
    ("2020-W01 : 2020-W02", "2019-12-30", "2020-01-06"),
    (" : 2004-01-01", None, "2004-01-01"),
    ("2004-01-01 : ", "2004-01-01", None),
    (" : ", None, None),
]

ALONE = [
    ("2004-05-06", "2004-05-06", "2004-05-07"),
    ("20040506", "2004-05-06", "2004-05-07"),
    ("2004-W19-4", "2004-05-06", "2004-05-07"),
    ("2004-127", "2004-05-06", "2004-05-07"),
    ("2004-05", "2004-05-01", "2004-06-01"),
    ("2004-W19", "2004-05-03", "2004-05-10"),
    ("2004", "2004-01-01", "2005-01-01"),
    ("today", "2016-11-07", "2016-11-08"),
    ("yesterday", "2016-11-06", "2016-11-07"),
    ("tomorrow", "2016-11-08", "2016-11-09"),
    ("5 days", "2016-11-02", "2016-11-07"),
    ("5 days ago", "2016-11-02", "2016-11-07"),
    ("5 hours ago", "2016-11-07 04:30:10", "2016-11-07 09:30:10"),
    ("5 days from now", "2016-11-07", "2016-11-12"),
    ("5 days later", "2016-11-07", "2016-11-12"),
    ("prior 3 months", "2016-08-07", "2016-11-07"),
    ("end of last month", "2016-10-31", "2016-11-01"),
    ("HOLIDAY('christmas')", "2016-12-25", "2016-12-26"),
]

SPELLING = [
    ("last week", "2016-10-31", "2016-11-07"),
    ("LAST   7\tDays", "2016-10-31", "2016-11-07"),
    ("  no FILTER ", None, None),
    ("PREVIOUS CALENDAR MONTH", "2016-10-01", "2016-11-01"),
    ("2020:2021", "2020-01-01", "2021-01-01"),
    ("2020-01-01:2020-02-01", "2020-01-01", "2020-02-01"),
    ("2020-01-01T10:2020-01-02", "2020-01-01 10:00:00", "2020-01-02"),
    ("2020-01-01T10:00:00:2020-01-02T11:00:00", "2020-01-01 10:00:00", "2020-01-02 11:00:00"),
    ("2020-01-01T10:00:00+02:00:2020-01-02", "2020-01-01 08:00:00", "2020-01-02"),
    ("7 days ago:now", "2016-10-31", "2016-11-07 09:30:10"),
    (":2020", None, "2020-01-01"),
    ("2020:", "2020-01-01", None),
]

ISO = [
    ("2020-01-01T10:00:00Z", "2020-01-01 10:00:00"),
    ("2020-01-01t10:00:00z", "2020-01-01 10:00:00"),
    ("2020-01-01 10:00:00 UTC", "2020-01-01 10:00:00"),
    ("2020-01-01T10:00:00+05:30", "2020-01-01 04:30:00"),
    ("2020-01-01T10:00:00-0800", "2020-01-01 18:00:00"),
    ("2020-01-01T10-08", "2020-01-01 18:00:00"),
    ("20200101T100000", "2020-01-01 10:00:00"),
    ("2020-01-01T10:00:00.25", "2020-01-01 10:00:00.250000"),
    ("2020-01-01T10:00:00,123456789", "2020-01-01 10:00:00.123456"),
    ("2020-01-01T24:00:00", "2020-01-02"),
    ("2020-02-29", "2020-02-29"),
]


@for_each(("text", "since", "until"), CONTRACT + CALENDAR + SIDES + ALONE + SPELLING)
def test_form_means_these_bounds(text, since, until):
    assert bounds(text) == (since, until)


@for_each(("text", "since"), ISO)
def test_iso_8601_side_means_this_moment(text, since):
    assert bounds(f"{text} : ") == (since, None)


@pytest.mark.parametrize("text", [None, "", "   "])
def test_absent_text_is_no_filter(text):
    assert bounds(text) == (None, None)


@for_each(
    ("text", "options", "expected"),
    [
        ("Last week", {"relative_start": "now"}, ("2016-10-31 09:30:10", "2016-11-07")),
        ("Last week", {"relative_end": "now"}, ("2016-10-31", "2016-11-07 09:30:10")),
        ("Next week", {"relative_start": "now"}, ("2016-11-07 09:30:10", "2016-11-14 09:30:10")),
        ("last month : now", {"relative_start": "now"}, ("2016-10-07 09:30:10", "2016-11-07 09:30:10")),
        ("1 month ago : now", {"relative_start": "now"}, ("2016-10-07", "2016-11-07 09:30:10")),
        ("Last 5 hours", {"relative_end": "today"}, ("2016-11-07 04:30:10", "2016-11-07 09:30:10")),
        ("previous calendar month", {"relative_start": "now"}, ("2016-10-01", "2016-11-01")),
    ],
)  # fmt: skip
def test_relative_ends_are_today_unless_now_is_asked(text, options, expected):
    assert bounds(text, **options) == expected


@for_each(
    ("shift", "expected"),
    [
        ("1 week", ("2016-10-24", "2016-10-31")),
        ("1 week ago", ("2016-10-24", "2016-10-31")),
        ("1 month", ("2016-09-30", "2016-10-07")),
        ("1 quarter", ("2016-07-31", "2016-08-07")),
        ("1 week later", ("2016-11-07", "2016-11-14")),
        ("2015-01-01 : 2015-02-01", ("2015-01-01", "2015-02-01")),
        ("2 years ago : 1 year ago", ("2014-11-07", "2015-11-07")),
        ("", ("2016-10-31", "2016-11-07")),
    ],
)
def test_time_shift_moves_or_replaces_both_bounds(shift, expected):
    assert bounds("Last week", time_shift=shift) == expected


def test_time_shift_leaves_an_open_bound_open():
    assert bounds(" : 2020-03-31", time_shift="1 month") == (None, "2020-02-29")


def test_shifting_29_february_back_a_year_gives_the_28th():
    assert bounds("2016-02-29 : 2016-03-01", time_shift="1 year") == ("2015-02-28", "2015-03-01")


def test_a_month_back_from_the_31st_is_the_last_day_of_the_month():
    now = datetime(2023, 3, 31, 12, tzinfo=UTC)
    assert resolve_time_range("Last month", now=now).since == datetime(2023, 2, 28, tzinfo=UTC)


def test_a_present_moment_in_another_zone_is_read_in_utc():
    late_in_new_york = datetime(2016, 11, 6, 23, 0, tzinfo=timezone(timedelta(hours=-5)))
    found = resolve_time_range("today", now=late_in_new_york)
    assert found.since == datetime(2016, 11, 7, tzinfo=UTC)


def test_a_naive_present_moment_is_utc():
    assert resolve_time_range("today", now=MONDAY.replace(tzinfo=None)).since == datetime(2016, 11, 7, tzinfo=UTC)


RECORDED_NOW = datetime(2024, 7, 1, 12, tzinfo=UTC)


@for_each(
    ("text", "since_ms", "until_ms"),
    [
        ("20 years ago : now", 1088640000000, 1719835200000),
        ("100 years ago : now", -1435968000000, 1719835200000),
        ("2003-06-01T00:00:00 : 2003-06-30T12:30:00", 1054425600000, 1056976200000),
        ('DATEADD(DATETIME("now"), -20, year) : now', 1088683200000, 1719835200000),
        ("Last quarter", 1711929600000, 1719792000000),
        ("Last year", 1688169600000, 1719792000000),
        ("No filter", None, None),
        (" : ", None, None),
        (" : 2004-01-01", None, 1072915200000),
        ("previous calendar month", 1717200000000, 1719792000000),
        ("previous calendar year", 1672531200000, 1704067200000),
        ("2004-01-01 : 2005-01-01", 1072915200000, 1104537600000),
        ("1990-01-01 : 2000-01-01", 631152000000, 946684800000),
    ],
)
def test_bounds_are_those_a_real_server_recorded(text, since_ms, until_ms):
    found = resolve_time_range(text, now=RECORDED_NOW)
    assert [bound and bound.timestamp() * 1000 for bound in (found.since, found.until)] == [since_ms, until_ms]


@for_each(
    ("text", "needs_seconds"),
    [
        ("Last week", False),
        ("100 years ago : now", False),
        ("Last 5 hours", False),
        ("Last 90 seconds", True),
        ("Last 2 minutes", True),
        ("1 minute ago : now", True),
        (" : last 30 seconds", True),
        ("start of this hour : now", False),
        ("start of this minute : now", False),
        ("current minute", False),
        ("current second", True),
        ("first minute of this second", True),
        ("DATEADD(DATETIME('now'), -20, year) : now", False),
        ("DATEADD(DATETIME('now'), -20, second) : now", True),
        ("DATETRUNC(DATETIME('90 seconds ago'), minute) : now", False),
        ("DATETRUNC(DATETIME('90 seconds ago'), second) : now", True),
        ("2020-01-01T00:00:30 : 2021", False),
    ],
)
def test_range_counted_in_seconds_or_minutes_says_so(text, needs_seconds):
    assert resolve_time_range(text, now=MONDAY).needs_seconds is needs_seconds
