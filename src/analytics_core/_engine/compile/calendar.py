"""Calendar arithmetic in plain Python: units, whole buckets, month ends. The reference for what SQL must answer.

Moments are in UTC: naive ones are taken as UTC and stay naive, aware ones are answered aware in UTC.
"""

from __future__ import annotations

import calendar
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from analytics_core.models.enums import TimeGrain


class CalendarUnit(StrEnum):
    """A unit of time that people count in, shortest first; weeks start on Monday."""

    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"

    @property
    def is_clock(self) -> bool:
        """Whether the unit is shorter than a day."""
        return self in _CLOCK_UNITS


_CLOCK_UNITS = frozenset({CalendarUnit.SECOND, CalendarUnit.MINUTE, CalendarUnit.HOUR})

_LENGTHS = MappingProxyType(
    {
        CalendarUnit.SECOND: timedelta(seconds=1),
        CalendarUnit.MINUTE: timedelta(minutes=1),
        CalendarUnit.HOUR: timedelta(hours=1),
        CalendarUnit.DAY: timedelta(days=1),
        CalendarUnit.WEEK: timedelta(weeks=1),
    }
)

_MONTHS = MappingProxyType({CalendarUnit.MONTH: 1, CalendarUnit.QUARTER: 3, CalendarUnit.YEAR: 12})

_GRAIN_STEPS = MappingProxyType(
    {
        TimeGrain.SECOND: timedelta(seconds=1),
        TimeGrain.FIVE_SECONDS: timedelta(seconds=5),
        TimeGrain.THIRTY_SECONDS: timedelta(seconds=30),
        TimeGrain.MINUTE: timedelta(minutes=1),
        TimeGrain.FIVE_MINUTES: timedelta(minutes=5),
        TimeGrain.TEN_MINUTES: timedelta(minutes=10),
        TimeGrain.FIFTEEN_MINUTES: timedelta(minutes=15),
        TimeGrain.THIRTY_MINUTES: timedelta(minutes=30),
        TimeGrain.HOUR: timedelta(hours=1),
        TimeGrain.TWO_HOURS: timedelta(hours=2),
        TimeGrain.FOUR_HOURS: timedelta(hours=4),
        TimeGrain.SIX_HOURS: timedelta(hours=6),
        TimeGrain.EIGHT_HOURS: timedelta(hours=8),
        TimeGrain.TEN_HOURS: timedelta(hours=10),
        TimeGrain.TWELVE_HOURS: timedelta(hours=12),
        TimeGrain.DAY: timedelta(days=1),
    }
)

_GRAIN_UNITS = MappingProxyType(
    {
        TimeGrain.WEEK: CalendarUnit.WEEK,
        TimeGrain.WEEK_STARTING_MONDAY: CalendarUnit.WEEK,
        TimeGrain.MONTH: CalendarUnit.MONTH,
        TimeGrain.QUARTER: CalendarUnit.QUARTER,
        TimeGrain.YEAR: CalendarUnit.YEAR,
    }
)

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive stands for UTC here


def truncate(moment: datetime, grain: TimeGrain) -> datetime:
    """Return the label of the bucket that `moment` falls into (contract, `time_grain_orm`).

    Clock grains count from 1970-01-01 00:00 UTC. Weeks that end on a day are labelled by that day at 00:00.

    Raises:
        OverflowError: the label lies outside the years 1 to 9999.
    """
    if grain in _GRAIN_STEPS:
        return _floor(moment, _GRAIN_STEPS[grain])
    if grain in _GRAIN_UNITS:
        return start_of(moment, _GRAIN_UNITS[grain])
    day = start_of(moment, CalendarUnit.DAY)
    if grain is TimeGrain.WEEK_STARTING_SUNDAY:
        return day - timedelta(days=(day.weekday() + 1) % 7)
    last_weekday = calendar.SATURDAY if grain is TimeGrain.WEEK_ENDING_SATURDAY else calendar.SUNDAY
    return day + timedelta(days=(last_weekday - day.weekday()) % 7)


def middle_of(label: datetime, grain: TimeGrain) -> datetime:
    """Return a day in the middle of the week that `label` names; the label itself for other grains.

    Moved by a year and truncated again, the middle arrives in the nearest week; a first or last day may miss it.
    """
    if grain in (TimeGrain.WEEK, TimeGrain.WEEK_STARTING_MONDAY, TimeGrain.WEEK_STARTING_SUNDAY):
        return label + timedelta(days=3)
    if grain in (TimeGrain.WEEK_ENDING_SATURDAY, TimeGrain.WEEK_ENDING_SUNDAY):
        return label - timedelta(days=3)
    return label


def bucket_span(label: datetime, grain: TimeGrain) -> tuple[datetime, datetime]:
    """Return the first moment of the bucket that `label` names, and the first one after it.

    Raises:
        OverflowError: a bound lies outside the years 1 to 9999.
    """
    if grain in _GRAIN_STEPS:
        return label, label + _GRAIN_STEPS[grain]
    if grain in _GRAIN_UNITS:
        return label, add_units(label, 1, _GRAIN_UNITS[grain])
    if grain is TimeGrain.WEEK_STARTING_SUNDAY:
        return label, label + timedelta(weeks=1)
    return label - timedelta(days=6), label + timedelta(days=1)


def start_of(moment: datetime, unit: CalendarUnit) -> datetime:
    """Return the first moment of the unit (second, day, Monday's week, quarter, ...) that holds `moment`."""
    utc = as_utc(moment)
    if unit.is_clock:
        return _floor(utc, _LENGTHS[unit])
    day = utc.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit is CalendarUnit.DAY:
        return day
    if unit is CalendarUnit.WEEK:
        return day - timedelta(days=day.weekday())
    months = _MONTHS[unit]
    return day.replace(month=day.month - (day.month - 1) % months, day=1)


def last_day_of(moment: datetime, unit: CalendarUnit) -> datetime:
    """Return 00:00 of the last day of the unit that holds `moment`; `unit` is a day or longer."""
    start = start_of(moment, unit)
    if unit in _LENGTHS:
        return start + _LENGTHS[unit] - timedelta(days=1)
    last_month = start.month + _MONTHS[unit] - 1
    return start.replace(month=last_month, day=calendar.monthrange(start.year, last_month)[1])


def add_units(moment: datetime, count: int, unit: CalendarUnit) -> datetime:
    """Return `moment` moved by `count` units, back when negative; a day that the month lacks becomes its last day.

    Raises:
        OverflowError: the answer lies outside the years 1 to 9999.
    """
    if unit in _LENGTHS:
        return moment + count * _LENGTHS[unit]
    years, month0 = divmod(moment.month - 1 + count * _MONTHS[unit], 12)
    year = moment.year + years
    if not MINYEAR <= year <= MAXYEAR:
        raise OverflowError("date value out of range")
    day = min(moment.day, calendar.monthrange(year, month0 + 1)[1])
    return moment.replace(year=year, month=month0 + 1, day=day)


def units_between(left: datetime, right: datetime, unit: CalendarUnit) -> int:
    """Return how many units lie from `left` to `right`, negative when `right` comes first.

    Units up to weeks are counted whole and rounded down; months, quarters and years by their numbers in the
    calendar, so that 31 December to 1 January is one year.
    """
    if unit in _LENGTHS:
        return (right - left) // _LENGTHS[unit]
    months = _MONTHS[unit]
    return _months(right) // months - _months(left) // months


def _months(moment: datetime) -> int:
    return moment.year * 12 + moment.month - 1


def as_utc(moment: datetime) -> datetime:
    """Return an aware moment in UTC; a naive one is UTC already and stays naive."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC)


def _floor(moment: datetime, step: timedelta) -> datetime:
    utc = as_utc(moment)
    epoch = _EPOCH.replace(tzinfo=utc.tzinfo)
    return epoch + (utc - epoch) // step * step
