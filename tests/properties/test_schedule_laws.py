"""Due times against a reference that looks at every minute of the days around clock changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.due_time_reference import expected

from analytics_core._reports.schedule import due_times, parse_crontab

CHANGES = (
    ("America/New_York", datetime(2026, 3, 7)),
    ("America/New_York", datetime(2026, 10, 31)),
    ("Europe/Berlin", datetime(2026, 3, 28)),
    ("Europe/Berlin", datetime(2026, 10, 24)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3)),  # half an hour
    ("Australia/Lord_Howe", datetime(2026, 4, 4)),
    ("America/Santiago", datetime(2026, 9, 5)),  # no midnight
    ("America/Santiago", datetime(2026, 4, 4)),  # 23 o'clock twice
    ("Africa/Casablanca", datetime(2026, 2, 14)),
    ("Africa/Casablanca", datetime(2026, 3, 21)),
    ("America/Havana", datetime(2026, 10, 31)),  # midnight twice on one day
    ("Africa/Cairo", datetime(2026, 10, 29)),  # 23 o'clock twice, on a Thursday
    ("Antarctica/Troll", datetime(2026, 3, 28)),  # two hours
    ("Antarctica/Troll", datetime(2026, 10, 24)),
    ("America/St_Johns", datetime(2010, 3, 13)),  # at a minute past midnight
    ("America/St_Johns", datetime(2010, 11, 6)),
    ("America/Caracas", datetime(2007, 12, 8)),  # half an hour, for good
    ("America/Caracas", datetime(2016, 4, 30)),
    ("Asia/Pyongyang", datetime(2015, 8, 14)),
    ("Asia/Kathmandu", datetime(1985, 12, 31)),  # a quarter of an hour
    ("Pacific/Apia", datetime(2011, 12, 29)),  # no 30 December
    ("Pacific/Kwajalein", datetime(1993, 8, 20)),  # no 21 August
    ("Asia/Kathmandu", datetime(2026, 6, 1)),
    ("UTC", datetime(2024, 2, 28)),
)


def of_numbers(first: int, last: int) -> st.SearchStrategy[str]:
    number = st.integers(first, last)
    ranges = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.integers(1, max(2, last // 2)).map(lambda step: f"*/{step}")
    listed = st.lists(number, min_size=1, max_size=3, unique=True).map(lambda some: ",".join(map(str, some)))
    return st.one_of(st.just("*"), listed, ranges, steps)


around_the_change = st.one_of(st.sampled_from(("*", "*/2", "*/3", "0-3")), of_numbers(0, 3), st.just("23"))
crontabs = st.tuples(
    of_numbers(0, 59),
    around_the_change,
    st.sampled_from(("*", "*", "1", "28-31", "*/2")),
    st.sampled_from(("*", "*", "*", "3,4,10,11", "*/2")),
    st.sampled_from(("*", "*", "0", "6,0", "1-5")),
).map(" ".join)


@pytest.mark.slow
@given(crontab=crontabs, change=st.sampled_from(CHANGES))
@example(crontab="30 1 * * *", change=("America/New_York", datetime(2026, 10, 31)))
@example(crontab="*/15 1 * * *", change=("America/New_York", datetime(2026, 10, 31)))
@example(crontab="15 2 * * *", change=("Europe/Berlin", datetime(2026, 3, 28)))
@example(crontab="15 2,3 * * *", change=("Europe/Berlin", datetime(2026, 3, 28)))
@example(crontab="15 */2 * * *", change=("Europe/Berlin", datetime(2026, 3, 28)))
@example(crontab="0 0 * * *", change=("America/Santiago", datetime(2026, 9, 5)))
@example(crontab="0 0 30 12 *", change=("Pacific/Apia", datetime(2011, 12, 29)))
@example(crontab="1 */1 * * *", change=("America/New_York", datetime(2026, 3, 7)))
@example(crontab="1 0-23 * * *", change=("America/New_York", datetime(2026, 3, 7)))
@example(crontab="* 0-0 * * *", change=("UTC", datetime(2024, 2, 28)))
@example(crontab="*/7 * * * *", change=("Australia/Lord_Howe", datetime(2026, 4, 4)))
@example(crontab="*/20 * * * *", change=("America/Caracas", datetime(2007, 12, 8)))
@example(crontab="40 */2 * * *", change=("Australia/Lord_Howe", datetime(2026, 4, 4)))
@example(crontab="0 0 13 * 5", change=("UTC", datetime(2026, 2, 12)))
def test_due_times_are_those_that_a_look_at_every_minute_finds(crontab: str, change: tuple[str, datetime]) -> None:
    zone, day = change
    since = day.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    until = since + timedelta(days=2, hours=7)
    found = takewhile(lambda due: due < until, due_times(parse_crontab(crontab), zone, after=since))
    assert list(found) == list(expected(crontab, zone, since=since, until=until))


def test_the_half_hour_that_comes_twice_has_its_due_times_twice() -> None:
    since = datetime(2026, 4, 4, 14, 25, tzinfo=UTC)  # 01:25 on Lord Howe, five minutes before 01:30 comes first
    found = takewhile(
        lambda due: due < since + timedelta(minutes=75),
        due_times(parse_crontab("*/7 * * * *"), "Australia/Lord_Howe", after=since),
    )
    minutes = [f"{due:%H:%M}" for due in found]
    assert minutes == [
        "14:28",
        *("14:35", "14:42", "14:49", "14:56"),
        *("15:05", "15:12", "15:19", "15:26"),
        "15:30",
        "15:37",
    ]
    named = takewhile(
        lambda due: due < since + timedelta(minutes=75),
        due_times(parse_crontab("*/7 1,2 * * *"), "Australia/Lord_Howe", after=since),
    )
    assert [f"{due:%H:%M}" for due in named] == [*minutes[:5], *minutes[-2:]]


@pytest.mark.slow
@given(crontab=crontabs, change=st.sampled_from(CHANGES), minutes=st.integers(0, 3000), seconds=st.integers(0, 59))
def test_whoever_looks_in_between_finds_the_same_due_times(
    crontab: str, change: tuple[str, datetime], minutes: int, seconds: int
) -> None:
    zone, day = change
    since = day.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    middle, until = since + timedelta(minutes=minutes, seconds=seconds), since + timedelta(days=2, hours=7)
    parsed = parse_crontab(crontab)
    all_of_them = list(takewhile(lambda due: due < until, due_times(parsed, zone, after=since)))
    later = list(takewhile(lambda due: due < until, due_times(parsed, zone, after=middle)))
    assert later == [due for due in all_of_them if due > middle]
