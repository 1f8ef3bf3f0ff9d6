"""ISO 8601 dates and date-times: their shape and their value."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone

from analytics_core._compile.calendar import CalendarUnit

# A calendar day, a day of a week, a day of a year, and a day without hyphens (only before a time: else it is a number).
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-?W[0-9]{2}-?[1-7]|[0-9]{4}-[0-9]{3}|[0-9]{8}(?=T)"
_FRACTION = r"[.,][0-9]{1,9}"
_LONG_TIME = rf"[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:{_FRACTION})?)?"
_SHORT_TIME = rf"[0-9]{{2}}(?:[0-9]{{2}}(?:[0-9]{{2}}(?:{_FRACTION})?)?)?"
_ZONE = r"\s?(?:Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)"

ISO_MOMENT = (
    rf"(?:{_DATE})(?:(?:T(?:{_LONG_TIME}|{_SHORT_TIME})|\s{_LONG_TIME})(?:{_ZONE})?)?"
    r"|[0-9]{4}-[0-9]{2}|[0-9]{4}-?W[0-9]{2}"
)
"""Regular expression (ignoring case) of the accepted forms, but those that are digits only (`2024`, `20240131`)."""

_CALENDAR_DAY = re.compile(r"([0-9]{4})-?([0-9]{2})-?([0-9]{2})")
_ORDINAL_DAY = re.compile(r"([0-9]{4})-([0-9]{3})")
_WEEK = re.compile(r"([0-9]{4})-?W([0-9]{2})(?:-?([1-7]))?")
_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_CLOCK = re.compile(r"([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2})(?:[.,]([0-9]+))?)?)?")
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})?")
_SPLIT = re.compile(rf"(.+?)(?:[T\s]([0-9:.,]+?)({_ZONE})?)?")


def parse_iso(text: str) -> tuple[datetime, CalendarUnit | None]:
    """Return the moment (aware, UTC) that an ISO text names, and the unit it names: year, month, week or day.

    The unit is None for a date-time. A text without a zone is UTC; digits past the microsecond are cut.

    Raises:
        ValueError: there is no such date, time or zone.
        OverflowError: the moment lies outside the years 1 to 9999.
    """
    found = _SPLIT.fullmatch(text.upper())
    if found is None:
        raise ValueError(f"no ISO 8601 date: {text}")
    day_text, clock_text, zone_text = found.groups()
    day, unit = _parse_day(day_text)
    midnight = datetime.combine(day, time(), tzinfo=UTC)
    if clock_text is None:
        return midnight, unit
    moment = midnight + _parse_clock(clock_text)
    return moment - _parse_zone(zone_text), None


def _parse_day(text: str) -> tuple[date, CalendarUnit]:
    if text.isdigit() and len(text) == 4:
        return date(int(text), 1, 1), CalendarUnit.YEAR
    if found := _CALENDAR_DAY.fullmatch(text):
        year, month, day = (int(part) for part in found.groups())
        return date(year, month, day), CalendarUnit.DAY
    if found := _MONTH.fullmatch(text):
        return date(int(found[1]), int(found[2]), 1), CalendarUnit.MONTH
    if found := _WEEK.fullmatch(text):
        unit = CalendarUnit.DAY if found[3] else CalendarUnit.WEEK
        return date.fromisocalendar(int(found[1]), int(found[2]), int(found[3] or 1)), unit
    found = _ORDINAL_DAY.fullmatch(text)
    if found is None:
        raise ValueError(f"no ISO 8601 date: {text}")
    first = date(int(found[1]), 1, 1)
    day_of_year = first + timedelta(days=int(found[2]) - 1)
    if day_of_year.year != first.year:
        raise ValueError("day of the year out of range")
    return day_of_year, CalendarUnit.DAY


def _parse_clock(text: str) -> timedelta:
    found = _CLOCK.fullmatch(text)
    if found is None:
        raise ValueError(f"no ISO 8601 time: {text}")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    microsecond = int((found[4] or "0")[:6].ljust(6, "0"))
    if (hour, minute, second, microsecond) == (24, 0, 0, 0):
        return timedelta(days=1)
    clock = time(hour, minute, second, microsecond)
    return timedelta(hours=clock.hour, minutes=clock.minute, seconds=clock.second, microseconds=clock.microsecond)


def _parse_zone(text: str | None) -> timedelta:
    found = _OFFSET.fullmatch((text or "").strip())
    if found is None:
        return timedelta(0)
    hours, minutes = int(found[2]), int(found[3] or 0)
    if minutes > 59:
        raise ValueError("zone minutes must be below 60")
    ahead = timezone(timedelta(hours=hours, minutes=minutes)).utcoffset(None)
    return ahead if found[1] == "+" else -ahead


def render_iso(moment: datetime, unit: CalendarUnit | None = None) -> str:
    """Return the text that `parse_iso` reads back as the same moment and unit."""
    if unit is CalendarUnit.YEAR:
        return f"{moment.year:04}"
    if unit is CalendarUnit.MONTH:
        return f"{moment.year:04}-{moment.month:02}"
    if unit is CalendarUnit.WEEK:
        year, week, _ = moment.isocalendar()
        return f"{year:04}-W{week:02}"
    if unit is CalendarUnit.DAY:
        return moment.date().isoformat()
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
