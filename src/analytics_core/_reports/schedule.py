"""When a schedule is due: crontabs of five fields in any time zone, and what clock changes do to them; pure.

Where clocks are put forward, the local times that do not exist run once, at the next minute that exists; a crontab of
every hour has nothing to catch up on. Where they are put back, a crontab that names its hours runs in the first
pass of the repeated time alone; one of every hour, or of every n hours (`*/n`), runs in both.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Final
from zoneinfo import ZoneInfo

from analytics_core.errors import StoredDataError

ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""Words that stand for a crontab."""

_FIELDS: Final = 5
_HOURS: Final = 1
_SECOND: Final = timedelta(seconds=1)
_FIRST_OF_CRON: Final = datetime(2000, 1, 1, tzinfo=UTC)
_RANGE: Final = re.compile(r"\b([A-Z]{3}|\d+)-([A-Z]{3}|\d+)")
_SAME_ENDS: Final = re.compile(r"\b([A-Z]{3}|\d+)-\1(?:/\d+)?\b")
"""A range of one value, which croniter takes for all values where it is 0-0."""

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NUMBERS: Final = {name: number for names in (("", *_MONTHS), _WEEKDAYS) for number, name in enumerate(names)}
_WRONG: Final = (
    "must be a crontab of five fields (minute, hour, day of month, month, day of week), such as '0 9 * * 1-5'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crontab:
    """A crontab that names at least one moment; `fields` are its five fields, an alias written out."""

    text: str
    fields: tuple[str, ...]

    @property
    def expression(self) -> str:
        """The five fields as one text."""
        return " ".join(self.fields)

    @property
    def runs_in_both_passes(self) -> bool:
        """Whether it runs again in a local time that a clock change repeats."""
        return self.fields[_HOURS].startswith("*")


def parse_crontab(text: str) -> Crontab:
    """Return a crontab of five fields, or of an alias such as `@daily`.

    Raises:
        ValueError: it is none, or never comes; the message says what would work.
    """
    from croniter import CroniterError, croniter

    fields = tuple(ALIASES.get(text.strip().lower(), text).split())
    if len(fields) != _FIELDS:
        raise ValueError(f"{_WRONG}, or one of {', '.join(ALIASES)}; it has {len(fields)} fields")
    crontab = Crontab(text=text, fields=tuple(_SAME_ENDS.sub(r"\1", field.upper()) for field in fields))
    if re.search(r"(?<![A-Z])[RH](?![A-Z])", crontab.expression):
        raise ValueError(f"{_WRONG}; random times (R, H) are not taken: a due time must be the same for whoever looks")
    for first, last in _RANGE.findall(crontab.expression):
        if _number(first) > _number(last) and last != "SUN":
            raise ValueError(f"{_WRONG}; the range {first}-{last} runs backwards")
    try:
        if croniter.is_valid(crontab.expression, strict=True):
            croniter(crontab.expression, _FIRST_OF_CRON).get_next(datetime)
            return crontab
    except (CroniterError, ValueError, KeyError, OverflowError):
        pass
    raise ValueError(f"{_WRONG}; this one is malformed, or names a day that never comes")


def _number(name: str) -> int:
    return _NUMBERS[name] if name in _NUMBERS else int(name) if name.isdecimal() else 0


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name; StoredDataError where this system knows none of that name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # KeyError: it is not there
        raise StoredDataError(
            f"{name[:100]!r} is no time zone that this system knows; save the schedule anew"
        ) from None


def due_times(crontab: Crontab, zone: str, *, after: datetime) -> Iterator[datetime]:
    """Yield the moments strictly after `after` that a crontab names in an IANA zone, in UTC and in their order.

    They end with the year 9999.
    """
    zone_info, last = zone_of(zone), after
    with suppress(OverflowError, ValueError):  # at an end of the calendar, or none in the next 50 years
        for due in _moments(crontab, after.astimezone(zone_info), zone_info):
            if due > last:
                last = due
                yield due


def _moments(crontab: Crontab, since: datetime, zone: ZoneInfo) -> Iterator[datetime]:
    """Yield the moments of the local times that a crontab names, in their order; some of the first may lie before.

    Local times go on by themselves, whatever the clocks do: those of a second pass wait until the first one is over.
    """
    from croniter import croniter

    begun = since.replace(tzinfo=None, fold=0)
    first, second = _passes(begun, zone)
    if not since.fold and second > first:  # the second pass of local times before it is still to come
        begun -= second - first
    local_times = croniter(crontab.expression, begun)
    is_of_every_hour = local_times.expanded[_HOURS] == ["*"]
    waiting = deque[datetime]()
    while True:
        first, second = _passes(local_times.get_next(datetime), zone)
        if second < first:  # the local time does not exist
            if is_of_every_hour:
                continue
            first = _change_between(second, first, zone)
        while waiting and waiting[0] < first:
            yield waiting.popleft()
        yield first
        if second > first and crontab.runs_in_both_passes:
            waiting.append(second)


def _passes(local: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return when a local time comes first and last; of one that does not exist the moments before and after it.

    The later one comes first then.
    """
    there = local.replace(tzinfo=zone)
    return there.replace(fold=0).astimezone(UTC), there.replace(fold=1).astimezone(UTC)


def _change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment at which the clocks stand as they do at `after`."""
    offset = after.astimezone(zone).utcoffset()
    while after - before > _SECOND:
        middle = before + (after - before) // (2 * _SECOND) * _SECOND
        before, after = (before, middle) if middle.astimezone(zone).utcoffset() == offset else (middle, after)
    return after


def next_due(crontab: Crontab, zone: str, *, after: datetime) -> datetime | None:
    """Return the first moment strictly after `after` that a crontab names, in UTC; None when there is none to come."""
    return next(due_times(crontab, zone, after=after), None)


def least_interval(crontab: Crontab, zone: str, *, after: datetime, runs: int) -> timedelta | None:
    """Return the least time between two of the next so many runs; None where there are not two."""
    times = islice(due_times(crontab, zone, after=after), runs)
    return min((later - earlier for earlier, later in pairwise(times)), default=None)


def humanized(crontab: Crontab) -> str:
    """Return what a crontab means, in English: "At 09:00, Monday through Friday"."""
    from cron_descriptor import Options, get_description

    options = Options(use_24hour_time_format=True, locale_code="en_US")  # or else the language of the machine
    return str(get_description(crontab.expression, options))
