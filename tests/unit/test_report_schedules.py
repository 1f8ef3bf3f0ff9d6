"""Crontabs: what is taken, what is refused, what people read of them; due times of some known days."""

from __future__ import annotations

import locale
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from tests.support.cases import for_each

from analytics_core._reports.schedule import due_times, humanized, least_interval, next_due, parse_crontab


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def runs(crontab: str, zone: str, after: str, count: int) -> list[str]:
    return [
        due.strftime("%m-%d %H:%M") for due in islice(due_times(parse_crontab(crontab), zone, after=at(after)), count)
    ]


@for_each(
    "text",
    [
        *(
            "",
            "* * * *",
            "* * * * * *",
            "0 0 1 1 * 0 2027",
            "@reboot",
            "@never",
            "60 * * * *",
            "* 24 * * *",
            "*/0 * * * *",
        ),
        *("0 0 31 2 *", "0 0 30 2,2 *", "10-5 * * * *", "0 22-4 * * *", "* * * dec-jan *", "R R * * *", "H * * * *"),
        *("H(0-5) * * * *", "a b c d e", "0 0 LW * *", "-1 * * * *", "0 9 * * mon-", "0;9 * * * *", "٥ * * * *"),
    ],
)
def test_what_is_no_crontab_or_never_comes_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="0 9 \\* \\* 1-5"):
        parse_crontab(text)


@for_each(
    ("text", "meaning"),
    [
        ("0 9 * * 1-5", "At 09:00, Monday through Friday"),
        ("@daily", "At 00:00"),
        ("@Hourly", "Every hour"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("0 0 L * *", "At 00:00, on the last day of the month"),
        ("0 6 * * MON#1", "At 06:00, on the first Monday of the month"),
        ("0 6 * * fri-sun", "At 06:00, Friday through Sunday"),
    ],
)
def test_crontabs_are_described_in_english_in_any_locale(text: str, meaning: str) -> None:
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        for each in ("C", "C.UTF-8", before):
            locale.setlocale(locale.LC_CTYPE, each)
            assert humanized(parse_crontab(text)) == meaning, each
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def test_a_fixed_time_that_is_missing_runs_at_the_next_minute_and_then_as_usual() -> None:
    assert runs("30 2 * * *", "America/New_York", "2026-03-08T00:00", 3) == [
        "03-08 07:00",
        "03-09 06:30",
        "03-10 06:30",
    ]


def test_a_fixed_time_that_is_repeated_runs_in_the_first_pass() -> None:
    assert runs("30 1 * * *", "America/New_York", "2026-11-01T00:00", 2) == ["11-01 05:30", "11-02 06:30"]
    assert runs("*/30 1 * * *", "America/New_York", "2026-11-01T00:00", 3) == [
        "11-01 05:00",
        "11-01 05:30",
        "11-02 06:00",
    ]


def test_every_hour_runs_in_both_passes() -> None:
    assert runs("0 * * * *", "America/New_York", "2026-11-01T04:30", 3) == ["11-01 05:00", "11-01 06:00", "11-01 07:00"]


def test_the_local_hour_stays_when_the_offset_changes() -> None:
    assert runs("0 1 * * *", "America/Los_Angeles", "2026-07-01T00:00", 1) == ["07-01 08:00"]
    assert runs("0 1 * * *", "America/Los_Angeles", "2026-01-01T00:00", 1) == ["01-01 09:00"]


def test_a_due_time_is_strictly_later_to_the_second() -> None:
    crontab = parse_crontab("0 9 * * *")
    assert next_due(crontab, "UTC", after=at("2026-01-01T09:00:00")) == at("2026-01-02T09:00:00")
    assert next_due(crontab, "UTC", after=at("2026-01-01T08:59:59.999")) == at("2026-01-01T09:00:00")


def test_a_rare_day_is_found() -> None:
    assert next_due(parse_crontab("0 0 29 2 *"), "Europe/Berlin", after=at("2096-03-01")) == at("2104-02-28T23:00")


def test_the_least_interval_sees_the_next_runs() -> None:
    crontab = parse_crontab("0,1 9 * * *")
    assert least_interval(crontab, "UTC", after=at("2026-01-01"), runs=4) == timedelta(minutes=1)
    assert least_interval(crontab, "UTC", after=at("2026-01-01"), runs=1) is None
