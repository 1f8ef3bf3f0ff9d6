"""DATETIME, DATEADD, DATETRUNC, LASTDAY, DATEDIFF and HOLIDAY, on Monday 2016-11-07 09:30:10 UTC."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from tests.support.cases import for_each

from analytics_core._engine.compile.time_range import resolve_time_range
from analytics_core.errors import TimeRangeError

MONDAY = datetime(2016, 11, 7, 9, 30, 10, tzinfo=UTC)


def moment(text):
    found = resolve_time_range(f"{text} : ", now=MONDAY)
    return found.since.replace(tzinfo=None).isoformat(" ").removesuffix(" 00:00:00")


@for_each(
    ("text", "expected"),
    [
        ("DATETIME('now')", "2016-11-07 09:30:10"),
        ('datetime("today")', "2016-11-07"),
        ("DATETIME('2018-01-02T03:04:05')", "2018-01-02 03:04:05"),
        ("DATETIME('2018')", "2018-01-01"),
        ("DATETIME('5 days ago')", "2016-11-02"),
        ("DATETIME('last month')", "2016-10-07"),
        ("DATETIME('now',)", "2016-11-07 09:30:10"),
        ("DATETIME(now)", "2016-11-07 09:30:10"),
        ("""DATETIME("DATEADD(DATETIME('today'), 1, day)")""", "2016-11-08"),
    ],
)
def test_datetime_reads_a_quoted_or_plain_moment(text, expected):
    assert moment(text) == expected


@for_each(
    ("unit", "expected"),
    [
        ("year", "2018-11-07"), ("quarter", "2017-05-07"), ("month", "2017-01-07"), ("week", "2016-11-21"),
        ("day", "2016-11-09"), ("hour", "2016-11-07 02:00:00"), ("minute", "2016-11-07 00:02:00"),
        ("second", "2016-11-07 00:00:02"), ("years", "2018-11-07"), ("YEAR,", "2018-11-07"),
    ],
)  # fmt: skip
def test_dateadd_knows_every_unit(unit, expected):
    assert moment(f"DATEADD(DATETIME('today'), 2, {unit})") == expected


@pytest.mark.parametrize(
    ("count", "expected"), [("-1", "2016-10-07"), ("+1", "2016-12-07"), ("- 1", "2016-10-07"), ("0", "2016-11-07")]
)
def test_dateadd_takes_a_signed_count(count, expected):
    assert moment(f"DATEADD(DATETIME('today'), {count}, month)") == expected


def test_dateadd_takes_a_count_of_eight_digits():
    assert moment("DATEADD(DATETIME('2016-11-07'), 31536000, second)") == "2017-11-07"


def test_dateadd_clamps_to_the_end_of_the_month():
    assert moment("DATEADD(DATETIME('2016-01-31'), 1, month)") == "2016-02-29"


@for_each(
    ("unit", "expected"),
    [
        ("year", "2016-01-01"), ("quarter", "2016-10-01"), ("month", "2016-11-01"), ("week", "2016-11-07"),
        ("day", "2016-11-09"), ("hour", "2016-11-09 10:00:00"), ("minute", "2016-11-09 10:20:00"),
        ("second", "2016-11-09 10:20:30"),
    ],
)  # fmt: skip
def test_datetrunc_knows_every_unit(unit, expected):
    assert moment(f"DATETRUNC(DATETIME('2016-11-09T10:20:30.5'), {unit})") == expected


@for_each(
    ("unit", "expected"),
    [
        ("year", "2016-12-31"), ("quarter", "2016-12-31"), ("month", "2016-11-30"), ("week", "2016-11-13"),
        ("day", "2016-11-07"),
    ],
)  # fmt: skip
def test_lastday_is_midnight_of_the_last_day_and_sunday_of_a_week(unit, expected):
    assert moment(f"LASTDAY(DATETIME('now'), {unit})") == expected


def test_lastday_of_the_last_year_of_the_calendar_is_in_reach():
    assert moment("LASTDAY(DATETIME('9999-01-01'), year)") == "9999-12-31"


@for_each(
    ("arguments", "expected"),
    [
        ("DATETIME('2016-01-01'), DATETIME('2016-01-31')", "2016-12-07"),
        ("DATETIME('2016-01-01'), DATETIME('2016-01-31'), day", "2016-12-07"),
        ("DATETIME('2016-01-31'), DATETIME('2016-01-01'),", "2016-10-08"),
        ("DATETIME('2015-12-31'), DATETIME('2018-01-01'), year", "2016-11-10"),
        ("DATETIME('2016-01-01'), DATETIME('2016-07-01'), quarter", "2016-11-09"),
        ("DATETIME('2016-01-31'), DATETIME('2016-03-01'), month", "2016-11-09"),
        ("DATETIME('2016-01-01T00:00'), DATETIME('2016-01-01T05:59'), hour", "2016-11-12"),
        ("DATETIME('2016-01-01'), DATETIME('2015-12-31T23:00'), day", "2016-11-06"),
    ],
)
def test_datediff_counts_for_dateadd(arguments, expected):
    assert moment(f"DATEADD(DATETIME('today'), DATEDIFF({arguments}), day)") == expected


def test_functions_nest():
    text = "LASTDAY(DATEADD(DATETRUNC(DATETIME('now'), quarter), -1, month), month)"
    assert moment(text) == "2016-09-30"


@for_each(
    ("text", "expected"),
    [
        ("HOLIDAY('christmas')", "2016-12-25"),
        ("HOLIDAY('CHRISTMAS DAY')", "2016-12-25"),
        ("HOLIDAY('Christmas', DATETIME('2018'))", "2018-12-25"),
        ("HOLIDAY('Christmas', 2018)", "2018-12-25"),
        ("HOLIDAY('Independence Day', DATETIME('2021'))", "2021-07-04"),
        ("HOLIDAY('Boxing', DATETIME('2018'), 'GB')", "2018-12-26"),
        ("HOLIDAY('Boxing', 'United Kingdom')", "2016-12-26"),
        ("HOLIDAY('Erster Weihnachtstag', DATETIME('2018'), 'de')", "2018-12-25"),
        ("HOLIDAY('German Unity', DATETIME('2018'), 'Germany',)", "2018-10-03"),
        ('HOLIDAY("New Year\'s")', "2016-01-01"),
    ],
)
def test_holiday_is_found_by_the_start_of_its_name(text, expected):
    assert moment(text) == expected


@for_each(
    ("text", "part"),
    [
        ("HOLIDAY('Chrismas Day')", "Christmas Day"),
        ("HOLIDAY('')", "it has: New Year's Day"),
        ("HOLIDAY('Christmas', DATETIME('now'), 'Narnia')", "no country 'Narnia'"),
        ("HOLIDAY('Christmas', DATETIME('now'), '__class__')", "no country '__class__'"),
        ("HOLIDAY('Christmas', DATETIME('now'), 'country_holidays')", "no country 'country_holidays'"),
        ("HOLIDAY('Christmas', DATETIME('now'), 'Germania')", "Germany"),
        ("HOLIDAY('Christmas', DATETIME('1600'))", "years 1900 to 2100"),
        ("HOLIDAY(christmas)", "the quoted name of a holiday"),
    ],
)
def test_unknown_holiday_country_or_year_is_refused(text, part):
    with pytest.raises(TimeRangeError, match=part.replace("'", ".")):
        moment(text)


def test_holiday_names_do_not_depend_on_the_language_of_the_process():
    code = (
        "from analytics_core._engine.compile.time_range.moments import find_holiday\n"
        "print(find_holiday('Erster Weihnachtstag', year=2020, country='DE').date())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"LANGUAGE": "fr"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2020-12-25"


def test_missing_holidays_package_is_named_with_its_extra():
    code = (
        "import sys; sys.modules['holidays'] = None\n"
        "from analytics_core._engine.compile.time_range.moments import find_holiday\n"
        "find_holiday('christmas', year=2020, country='US')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "analytics-core[holidays]"' in done.stderr


@for_each(
    "text",
    [
        "DATEADD", "DATEADD(", "DATEADD()", "DATEADD(now)", "DATEADD(now, 1)", "DATEADD(now, 1, day",
        "DATEADD(now 1 day)", "DATEADD(now, x, day)", "DATEADD(now, 1.5, day)", "DATEADD(now, --1, day)",
        "DATEADD(now, 1, day,,)", "DATEADD(now, 1, decade)", "DATETRUNC(now, 'day')", "DATETRUNC(now, millennium)",
        "LASTDAY(now, hour)",
        "DATEDIFF(now, now)", "DATEADD(now, DATEDIFF(now), day)", "DATEADD(DATEDIFF(now, now), 1, day)", "EVAL('1')",
        "DATETIME()", "DATETIME('')", "DATETIME('2020 : 2021')", "DATETIME('foo')", "DATETIME('now'", "now()",
        "__import__('os')", "HOLIDAY()", "HOLIDAY('x' 'US')",
    ],
)  # fmt: skip
def test_malformed_call_is_refused(text):
    with pytest.raises(TimeRangeError):
        moment(text)
