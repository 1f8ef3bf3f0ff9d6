"""Plain Python's answer to every time grain, and how moments are written in each encoding of a column."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.models.enums import TimeGrain

EPOCH = datetime(1970, 1, 1)

_SECONDS = {
    "PT1S": 1,
    "PT5S": 5,
    "PT30S": 30,
    "PT1M": 60,
    "PT5M": 300,
    "PT10M": 600,
    "PT15M": 900,
    "PT30M": 1800,
    "PT1H": 3600,
    "PT2H": 7200,
    "PT4H": 14400,
    "PT6H": 21600,
    "PT8H": 28800,
    "PT10H": 36000,
    "PT12H": 43200,
    "P1D": 86400,
}


def reference_bucket(moment: datetime, grain: TimeGrain) -> datetime:
    """Return the bucket's label as the contract and `choices.md` define it."""
    if grain.value in _SECONDS:
        step = timedelta(seconds=_SECONDS[grain.value])
        return EPOCH + (moment - EPOCH) // step * step
    day = datetime(moment.year, moment.month, moment.day)
    monday = day - timedelta(days=day.weekday())
    sunday = day - timedelta(days=day.isoweekday() % 7)
    return {
        "P1W": monday,
        "1969-12-29T00:00:00Z/P1W": monday,
        "1969-12-28T00:00:00Z/P1W": sunday,
        "P1W/1970-01-03T00:00:00Z": sunday + timedelta(days=6),
        "P1W/1970-01-04T00:00:00Z": monday + timedelta(days=6),
        "P1M": day.replace(day=1),
        "P3M": day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1),
        "P1Y": day.replace(month=1, day=1),
    }[grain.value]


def awkward_moments(*, random_count: int = 60) -> list[datetime]:
    """Return moments from 1900 to 2100: ends of months and years, leap days, before 1970, microseconds, random ones."""
    edges = [
        datetime(1900, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 999999),
        datetime(1969, 12, 28),
        datetime(1969, 12, 29, 0, 0, 0, 1),
        EPOCH,
        datetime(1970, 1, 3, 12),
        datetime(1970, 1, 4, 23, 59, 59),
        datetime(2000, 2, 29, 23, 59, 59, 999999),
        datetime(2023, 3, 31),
        datetime(2024, 1, 1),
        datetime(2024, 1, 31, 10, 20, 30, 400000),
        datetime(2024, 3, 31, 23, 59, 59, 500000),
        datetime(2024, 12, 29, 9, 59, 59),
        datetime(2024, 12, 31, 10, 0, 0),
        datetime(2038, 1, 19, 3, 14, 8),
        datetime(2100, 12, 31, 23, 59, 59, 999999),
    ]
    chance = random.Random(20240131)
    seconds = int((datetime(2100, 1, 1) - datetime(1900, 1, 1)).total_seconds())
    drawn = [
        datetime(1900, 1, 1)
        + timedelta(seconds=chance.randrange(seconds), microseconds=chance.choice((0, 0, 1, 500000, 999999)))
        for _ in range(random_count)
    ]
    return [*edges, *drawn]


def _cut(step: timedelta) -> Callable[[datetime], datetime]:
    return lambda moment: EPOCH + (moment - EPOCH) // step * step


def _exact(moment: datetime) -> datetime:
    return moment


def _iso_variants(moment: datetime) -> str:
    """Write a moment as ISO 8601 in one of the ways that people do."""
    way = (moment.day + moment.second) % 5
    if way == 0 and moment.time() == datetime.min.time():
        return moment.date().isoformat()
    if way <= 1:
        return moment.isoformat(sep=" ")
    if way == 2:
        return moment.isoformat() + "Z"
    zone = timezone(timedelta(hours=2) if way == 3 else timedelta(hours=-5, minutes=-30))
    return moment.replace(tzinfo=UTC).astimezone(zone).isoformat()


def _sqlite_variants(moment: datetime) -> str:
    """Write a moment as the writers of SQLite files do: the date alone, seconds, microseconds always, with a T."""
    way = (moment.day + moment.second) % 4
    if way == 0 and moment.time() == datetime.min.time():
        return moment.date().isoformat()
    if way == 1:
        return moment.isoformat(sep=" ", timespec="microseconds")
    return moment.isoformat(sep="T" if way == 2 else " ")


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


def _micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedColumn:
    """A column of moments: its type per engine, how a moment is written, and what of it the column keeps."""

    name: str
    time: TimeFormat
    types: Mapping[str, str]
    write: Callable[[datetime], Any]
    keep: Callable[[datetime], datetime]
    sqlite_write: Callable[[datetime], Any] | None = None

    def written(self, moment: datetime | None, engine: str) -> Any:
        """Return the stored value of a moment on an engine; None stays None."""
        if moment is None:
            return None
        write = self.sqlite_write if engine == "sqlite" and self.sqlite_write else self.write
        return write(moment)


def _same(kind: str) -> dict[str, str]:
    return dict.fromkeys(("sqlite", "duckdb", "postgresql", "mysql"), kind)


def _text(name: str, strftime: str, step: Callable[[datetime], datetime], kind: ValueKind = ValueKind.TEXT) -> Any:
    is_number = kind is ValueKind.INTEGER
    return EncodedColumn(
        name=name,
        time=TimeFormat(encoding=TimeEncoding.TEXT, strftime=strftime, value_kind=kind),
        types=_same("BIGINT" if is_number else "VARCHAR(40)"),
        write=lambda moment: int(moment.strftime(strftime)) if is_number else moment.strftime(strftime),
        keep=step,
    )


def _epoch(name: str, encoding: TimeEncoding, micros: int) -> EncodedColumn:
    return EncodedColumn(
        name=name,
        time=TimeFormat(encoding=encoding, value_kind=ValueKind.INTEGER),
        types=_same("BIGINT"),
        write=lambda moment: _micros(moment) // micros,
        keep=_cut(timedelta(microseconds=micros)),
    )


_DAY = _cut(timedelta(days=1))
_SECOND = _cut(timedelta(seconds=1))

COLUMNS: tuple[EncodedColumn, ...] = (
    EncodedColumn(
        name="ts",
        time=TimeFormat(encoding=TimeEncoding.TIMESTAMP),
        types={**_same("TIMESTAMP"), "mysql": "DATETIME(6)"},
        write=_exact,
        keep=_exact,
        sqlite_write=_sqlite_variants,
    ),
    EncodedColumn(
        name="day",
        time=TimeFormat(encoding=TimeEncoding.DATE, value_kind=ValueKind.DATE),
        types=_same("DATE"),
        write=datetime.date,
        keep=_DAY,
        sqlite_write=lambda moment: moment.date().isoformat(),
    ),
    EncodedColumn(
        name="tz",
        time=TimeFormat(encoding=TimeEncoding.TIMESTAMPTZ, value_kind=ValueKind.TIMESTAMPTZ),
        types={**_same("TIMESTAMPTZ"), "mysql": "DATETIME(6)", "sqlite": "TEXT"},
        write=_aware,
        keep=_exact,
        sqlite_write=lambda moment: _aware(moment).astimezone(timezone(timedelta(hours=9))).isoformat(sep=" "),
    ),
    EncodedColumn(
        name="iso",
        time=TimeFormat(encoding=TimeEncoding.ISO_TEXT, value_kind=ValueKind.TEXT),
        types=_same("VARCHAR(40)"),
        write=_iso_variants,
        keep=_exact,
    ),
    _epoch("es", TimeEncoding.EPOCH_S, 1_000_000),
    _epoch("ems", TimeEncoding.EPOCH_MS, 1_000),
    EncodedColumn(
        name="es_float",
        time=TimeFormat(encoding=TimeEncoding.EPOCH_S, value_kind=ValueKind.FLOAT),
        types={**_same("DOUBLE PRECISION"), "duckdb": "DOUBLE"},
        write=lambda moment: _micros(moment) // 500_000 / 2,
        keep=_cut(timedelta(milliseconds=500)),
    ),
    _text("ymd", "%Y%m%d", _DAY),
    _text("ymd_number", "%Y%m%d", _DAY, ValueKind.INTEGER),
    _text("iso_day", "%Y-%m-%d", _DAY),
    _text("iso_seconds", "%Y-%m-%d %H:%M:%S", _SECOND),
    _text("german", "%d/%m/%Y %H:%M:%S", _SECOND),
    _text("german_day", "%d.%m.%Y", _DAY),
    _text("month", "%Y-%m", lambda moment: datetime(moment.year, moment.month, 1)),
    _text("year", "%Y", lambda moment: datetime(moment.year, 1, 1)),
    _text("year_number", "%Y", lambda moment: datetime(moment.year, 1, 1), ValueKind.INTEGER),
)
"""Every encoding, several text formats, and numbers that are dates."""


def as_datetime(value: object) -> datetime | None:
    """Return what a driver gave for a moment as a datetime: SQLite gives text."""
    if value is None or isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    return datetime.fromisoformat(str(value))
