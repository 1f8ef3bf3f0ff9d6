"""Texts that are refused, with a message that helps, beside harmless look-alikes that are not."""

from datetime import UTC, datetime

import pytest
from tests.support.cases import for_each
from tests.support.steps import calls_of

from analytics_core._engine.compile.time_range import parse_moment, resolve_time_range
from analytics_core.errors import AnalyticsError, TimeRangeError

NOW = datetime(2024, 7, 1, 12, 0, 30, tzinfo=UTC)


def rejection(text, **options):
    with pytest.raises(TimeRangeError) as caught:
        resolve_time_range(text, now=NOW, **options)
    return caught.value.message


@for_each(
    "text",
    [
        "foo", "12", "last", "Last 5", "Last five days", "Last -5 days", "last7days", "Last 7 fortnights",
        "Last 7 days please", "Last 7 days ago", "6 months before 2004-12-31", "previous month", "previous calendar",
        "previous calendar 3 months", "current 2 months", "current", "no filter : now", "no", "filter",
        "No filter 2020", "2020 : 2021 : 2022", "2020 :: 2021", "::", ": :", "2020 - 2021", "2020 to 2021", "2020 2021",
        "2020-01-01 2021-01-01", "01/02/2020", "2020/01/02", "2020-1-2", "2020-01-1", "202001", "20200", "-2020",
        "2020-01-01T", "2020-01-01T1", "2020-01-01T10:0", "2020-01-01T10:00:00+1", "2020-01-01T10:00PM : ",
        "start of month of year", "start this month", "start of", "end of", "first of", "first month", "the first day",
        "first week of this month : now", "previous calendar month : now", "Last week : No filter",
        "2nd week of this month", "now + 1 day", "today - 1", "a week ago", "5 days ago ago", "5 days from",
        "5 days from today", "ago", "from now", "２０２０ : ２０２１", "Last\x007 days", "ｌast week", "last week;",
        "last week -- x", "'last week'", "\u212aast week", "1=1", "'; DROP TABLE t; --", "${now}", "{{ now }}", "%s",
        "None", "null", "NaN", "∞ days ago", "0x10 days ago",
        "1e3 days ago", "1.5 days ago", "+5 days ago", "1_000 days ago", "٣ days ago",
    ],
)  # fmt: skip
def test_text_outside_the_grammar_is_refused_with_examples(text):
    assert "'Last 7 days'" in rejection(text)


@for_each(
    "text",
    [
        "2024-02-30", "2023-02-29 : now", "2024-13-01", "2024-00-10", "2024-01-00", "2024-13", "0000", "0000-01-01",
        "2024-W54", "2023-W53", "2024-W00", "2023-366", "2024-000", "2024-01-01T25:00 : ", "2024-01-01T24:01 : ",
        "2024-01-01T10:60 : ", "2024-01-01T10:00:60 : ", "2024-01-01T10:00+24:00 : ", "2024-01-01T10:00+01:60 : ",
        "20240230", "DATETIME('2024-02-30') : ",
    ],
)  # fmt: skip
def test_impossible_date_is_refused(text):
    assert "no calendar or clock shows" in rejection(text)


@for_each("text", ["2024-02-29", "2024-366", "2020-W53", "2024-01-01T23:59:59 : ", "9998", "0001"])
def test_rare_but_possible_date_is_accepted(text):
    assert resolve_time_range(text, now=NOW).since is not None


@for_each(
    "text",
    [
        "Last 3000 years", "Last 999999999 days", "Last 999999999 hours", "Next 9000 years", "999999999 years ago : ",
        "9999", "9999-12", "9999-12-31", "DATEADD(now, 999999999, quarter) : ", "DATEADD(now, -999999999, hour) : ",
        "DATEADD(0001-01-01, -1, second) : ", "start of last 9999 years : ",
    ],
)  # fmt: skip
def test_overflow_is_refused(text):
    assert "outside the years 1 to 9999" in rejection(text)


def test_zone_that_leads_out_of_the_calendar_is_refused():
    assert "0001-01-01T00:00+14:00" in rejection("0001-01-01T00:00+14:00 : ")


def test_number_with_too_many_digits_is_refused():
    assert "at most 9 digits" in rejection("Last 1234567890 days")


@pytest.mark.parametrize(
    "text", ["2021 : 2020", "now : yesterday", "tomorrow : now", "2020-01-01T00:00:01 : 2020-01-01"]
)
def test_range_that_ends_before_it_starts_is_refused(text):
    assert "write the earlier moment first" in rejection(text)


def test_empty_range_is_accepted():
    found = resolve_time_range("2020 : 2020", now=NOW)
    assert found.since == found.until


@for_each("text", ["now", "2024-01-01T10:00", "DATETIME('now')", "DATEADD(today, 1, day)", "start of this hour"])
def test_moment_alone_is_refused_with_advice(text):
    assert "names a moment, not a range" in rejection(text)


@for_each(
    ("text", "suggestion"),
    [
        ("last7days", "Last 7 days"),
        ("Last 30 dayz", "Last 30 days"),
        ("Lst week", "Last week"),
        ("no filters", "No filter"),
        ("previous month", "previous calendar month"),
        ("previous calender year", "previous calendar year"),
        ("yesterdy", "yesterday"),
        ("30 day agoo", "30 days ago"),
    ],
)
def test_message_names_the_nearest_form(text, suggestion):
    assert f"did you mean {suggestion!r}?" in rejection(text)


def test_text_of_500_characters_is_read_and_longer_text_is_refused():
    assert resolve_time_range("2020".ljust(500), now=NOW).since is not None
    message = rejection("2020".ljust(501))
    assert "longer than 500 characters" in message


def test_long_text_is_cut_in_the_message():
    assert len(rejection("x" * 10_000)) < 400


def test_too_many_function_calls_are_refused():
    text = "DATETIME(" * 21 + "now" + ")" * 21 + " : "
    assert "more than 20 function calls" in rejection(text)
    assert resolve_time_range("DATETIME(" * 20 + "now" + ")" * 20 + " : ", now=NOW).since == NOW


@for_each(
    "text",
    ["(" * 500, "'" * 499, '"' * 500, ":" * 500, "2020-" * 100, "1" * 500, "last " * 100,
     "DATETIME(" * 55, "  " * 5_000_000]
)  # fmt: skip
def test_hostile_text_is_answered_in_few_steps(text):
    def ask():
        with pytest.raises(AnalyticsError):
            resolve_time_range(text, now=NOW)

    assert calls_of(ask) < 10_000  # twice what the worst of them takes; the square of 500 would be 250,000


def test_this_of_several_units_is_refused_with_what_may_be_meant():
    assert "write 'last 3 ...' or 'next 3 ...'" in rejection("this 3 weeks")


@pytest.mark.parametrize("value", ["yesterday", "", "NOW()", "midnight"])
def test_relative_end_other_than_today_or_now_is_refused(value):
    assert "'today' or 'now'" in rejection("Last week", relative_end=value)


@for_each("shift", ["nonsense", "2020-01-01", "last week", "now", "1", "No filter", "inherit"])
def test_time_shift_that_is_no_amount_and_no_range_is_refused(shift):
    with pytest.raises(TimeRangeError):
        resolve_time_range("Last week", now=NOW, time_shift=shift)


def test_time_shift_out_of_the_calendar_is_refused():
    assert "shift by less" in rejection("Last week", time_shift="9000 years")


@for_each("text", ["", ":", "2020 : 2021", "No filter", "Last week : "])
def test_one_side_alone_is_no_range(text):
    with pytest.raises(TimeRangeError):
        parse_moment(text)


@for_each(
    ("text", "form"),
    [
        ("tody", "today"), ("yesteday", "yesterday"), ("tomorow", "tomorrow"), ("Lst week", "Last week"),
        ("Next yar", "Next year"), ("curent month", "current month"), ("No filtr", "No filter"),
        ("previous calender year", "previous calendar year"), ("3 dys ago", "3 days ago"),
        ("3 days from nw", "3 days from now"), ("Last 3 secnds", "Last 3 seconds"),
        ("first week of this mnth", "first week of this month"),
        ("start of this mnth : now", "start of this month : now"),
    ],
)  # fmt: skip
def test_a_text_that_is_nearly_a_form_is_answered_with_it(text, form):
    assert f"did you mean '{form}'?" in rejection(text)


def test_a_clock_unit_has_no_last_day():
    assert "a unit shorter than a day; write 'start of next hour'" in rejection("end of this hour : now")
