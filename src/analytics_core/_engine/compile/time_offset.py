"""One entry of `time_offsets`: the range that a query is compared with, and which bucket goes with which."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from analytics_core._engine.compile.calendar import CalendarUnit, add_units, middle_of, start_of, truncate
from analytics_core._engine.compile.time_range.moments import Moment
from analytics_core._engine.compile.time_range.parser import parse_moment, parse_time_range
from analytics_core._engine.compile.time_range.tokens import quoted_text
from analytics_core.errors import TimeOffsetError, TimeRangeError
from analytics_core.models.enums import TimeGrain

_SHORT_FORMS = MappingProxyType({"y": "1 year ago", "m": "1 month ago", "w": "1 week ago", "r": "inherit"})
_NEEDS_BOTH_BOUNDS = (
    "An enclosed time range (both start and end) must be specified when using a Time Comparison; "
    "give time_range, for example '2024-01-01 : 2025-01-01'"
)


class OffsetKind(StrEnum):
    """How a time offset names its range."""

    RELATIVE = "relative"
    INHERIT = "inherit"
    DATE = "date"
    DATE_RANGE = "date range"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOffset:
    """A parsed time offset (contract, `time_offsets`).

    Attributes:
        text: as given; result columns are named `METRIC__TEXT`.
        kind: which of the fields below counts.
        count: RELATIVE: units from the main range to the compared one, negative for the past; else 0.
        unit: RELATIVE: the unit of `count`; else None.
        start: DATE and DATE_RANGE: where the compared range starts (naive UTC); else None.
        end: DATE_RANGE: where the compared range ends (naive UTC); else None.
    """

    text: str
    kind: OffsetKind
    count: int = 0
    unit: CalendarUnit | None = None
    start: datetime | None = None
    end: datetime | None = None

    def shifted(self, since: datetime | None, until: datetime | None) -> tuple[datetime, datetime]:
        """Return the bounds of the compared range, aware or naive as `since` is.

        Raises:
            TimeOffsetError: a bound is missing, or the compared range lies outside the years 1 to 9999.
        """
        if since is None or until is None:
            raise TimeOffsetError(_NEEDS_BOTH_BOUNDS)
        if self.start is not None and self.end is not None:
            return self.start.replace(tzinfo=since.tzinfo), self.end.replace(tzinfo=since.tzinfo)
        distance = self._distance(since, until)
        return self._moved(since, distance), self._moved(until, distance)

    def compared_bucket(self, label: datetime, grain: TimeGrain | None, since: datetime, until: datetime) -> datetime:
        """Return the label of the compared bucket that goes with the bucket `label` of the main range `since : until`.

        Every main bucket has exactly one, so that a join on it never repeats rows; with `grain` None the moment itself
        is moved. Weeks go by the day in their middle, which keeps them in step from year to year.
        """
        distance = self._distance(since, until)
        if grain is None:
            return self._moved(label, distance)
        return truncate(self._moved(middle_of(label, grain), distance), grain)

    def _moved(self, moment: datetime, distance: timedelta) -> datetime:
        try:
            if self.unit is not None:
                return add_units(moment, self.count, self.unit)
            return moment + distance
        except OverflowError:
            raise TimeOffsetError(
                f"time offset {quoted_text(self.text)} leads outside the years 1 to 9999; write a smaller one"
            ) from None

    def _distance(self, since: datetime, until: datetime) -> timedelta:
        """Return how far the compared range lies from the main one; whole days when it is given by a date."""
        if self.start is None:
            return since - until
        start = self.start.replace(tzinfo=since.tzinfo)
        return start - since if self.end is not None else start - start_of(since, CalendarUnit.DAY)


def parse_time_offset(text: str) -> TimeOffset:
    """Return the time offset that `text` names: `1 year ago`, `1 week later`, `inherit`, a date or two dates.

    `28 days` means ago; `y`, `m`, `w` and `r` stand for a year, a month, a week ago and for `inherit`.

    Raises:
        TimeOffsetError: the text is none of these; the message shows what works.
    """
    plain = text.strip().lower()
    known = _SHORT_FORMS.get(plain, plain)
    if known == OffsetKind.INHERIT:
        return TimeOffset(text=text, kind=OffsetKind.INHERIT)
    try:
        return _date_range(text) if ":" in known else _single(text, parse_moment(known))
    except TimeRangeError:
        raise _rejected(text) from None


def _single(text: str, node: Moment) -> TimeOffset:
    if node.shift is not None:
        return TimeOffset(text=text, kind=OffsetKind.RELATIVE, count=node.shift.signed, unit=node.shift.unit)
    if node.unit is CalendarUnit.DAY:
        return TimeOffset(text=text, kind=OffsetKind.DATE, start=_date(text, node))
    raise _rejected(text)


def _date_range(text: str) -> TimeOffset:
    start, end = (_date(text, side) for side in parse_time_range(text).sides or (None, None))
    if start > end:
        raise TimeOffsetError(f"time offset {quoted_text(text)} ends before it starts; write the earlier date first")
    return TimeOffset(text=text, kind=OffsetKind.DATE_RANGE, start=start, end=end)


def _date(text: str, node: Moment | None) -> datetime:
    if node is None or node.date is None:
        raise _rejected(text)
    return node.date.replace(tzinfo=None)


def _rejected(text: str) -> TimeOffsetError:
    return TimeOffsetError(
        f"time offset {quoted_text(text)} is not understood; write '1 year ago', '28 days ago', '1 week later', "
        "'inherit', a date such as '2023-06-01' or two dates '2023-01-01 : 2024-01-01'"
    )
