"""Due times of crontabs by the written rule alone: a look at every minute of a zone, for tests of what is due."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


def expected(crontab: str, zone: str, *, since: datetime, until: datetime) -> Iterator[datetime]:
    """Look at every minute: what is named runs, once in what is repeated, at the next minute in what is missing."""
    fields = crontab.split()
    minutes, hours, days, months, weekdays = (
        _values(field, *bounds)
        for field, bounds in zip(fields, ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7)), strict=True)
    )
    weekdays = {day % 7 for day in weekdays}

    def names(local: datetime) -> bool:
        if local.minute not in minutes or local.hour not in hours or local.month not in months:
            return False
        day, weekday = local.day in days, (local.weekday() + 1) % 7 in weekdays
        free_day, free_weekday = fields[2] == "*", fields[4] == "*"
        return day and weekday if free_day or free_weekday else day or weekday

    found = ZoneInfo(zone)
    moment, before = since, since.astimezone(found).replace(tzinfo=None)
    while (moment := moment + MINUTE) < until:
        local = moment.astimezone(found)
        naive = local.replace(tzinfo=None, fold=0)
        missing = (before + MINUTE * n for n in range(1, (naive - before) // MINUTE))
        is_repeated = local.fold == 1 and not fields[1].startswith("*")
        if (names(naive) and not is_repeated) or (len(hours) < 24 and any(map(names, missing))):
            yield moment
        before = naive


def _values(field: str, first: int, last: int) -> set[int]:
    """Read one field of a crontab of numbers: lists, ranges and steps."""
    found: set[int] = set()
    for part in field.split(","):
        base, _, step = part.partition("/")
        start, end = (first, last) if base == "*" else (int(base.split("-")[0]), int(base.split("-")[-1]))
        found |= set(range(start, end + 1, int(step or 1)))
    return found
