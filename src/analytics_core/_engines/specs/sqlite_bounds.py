"""How SQLite compares moments with columns, which keep them as text (SQL_TRAPS.md, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, time, timedelta
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes
from analytics_core._engines.bounds import epoch_bound, epoch_equal, text_bound, text_equal
from analytics_core._engines.formats import TextFormat
from analytics_core._engines.spec import TimeBound
from analytics_core._engines.specs.sqlite_time import PLAIN_ISO, parse_text_format, part, text_in_utc, written_moment
from analytics_core._engines.types import TimeEncoding, TimeFormat

_WHOLE_TEXT = "0000-00-00 00:00:00.000000"
_AFTER_EVERY_DATE = ":"  # the character after '9'


def sqlite_time_bound(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Return `EngineSpec.time_bound`."""
    return _BOUNDS[time_format.encoding](column, time_format, moment)


def sqlite_time_equal(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Return `EngineSpec.time_equal`."""
    return _EQUALS[time_format.encoding](column, time_format, moment)


def _text_bound(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Bind the shortest text: right for days, minutes, seconds and fractions alike, and at midnight for a `T`."""
    if _is_label(column):
        return TimeBound(left=column, value=_shortest(moment))
    if time_format.strftime in PLAIN_ISO:
        return TimeBound(left=column, value=_shortest(moment).replace(" ", _separator(time_format)))
    is_midnight = moment.time() == time.min
    return TimeBound(left=text_in_utc(column, blank=not is_midnight), value=_shortest(moment), near=_near(moment))


def _separator(time_format: TimeFormat) -> str:
    return "T" if "T" in (time_format.strftime or "") else " "


def _is_label(column: exp.Expr) -> bool:
    """Tell a bucket, whose text has seconds and no zone."""
    return isinstance(column, exp.Anonymous) and column.name in ("DATETIME", "STRFTIME")


def _near(moment: datetime) -> tuple[str, str] | None:
    """Return the days before and after which any text is decided, whatever its zone; None where there are none.

    An offset is less than a day: no text of the day after a midnight means a moment before it.
    """
    day = timedelta(days=1)
    try:
        first, last = moment.date() - day, (moment + day - timedelta(microseconds=1)).date() + day
    except OverflowError:
        return None
    return first.isoformat(), last.isoformat()


def _shortest(moment: datetime) -> str:
    if moment.time() == time.min:
        return moment.date().isoformat()
    if moment.second or moment.microsecond:
        text = moment.isoformat(sep=" ")
        return text.rstrip("0") if moment.microsecond else text
    return moment.isoformat(sep=" ", timespec="minutes")


def _text_equal(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Fill the text up to microseconds, so that a date alone equals its midnight, and cut what is finer."""
    if _is_label(column):
        return TimeBound(left=column, value=moment.isoformat(sep=" "))
    if time_format.strftime in PLAIN_ISO:
        parsed = parse_text_format(time_format)
        return TimeBound(left=column, value=parsed.write(moment) if parsed.floor(moment) == moment else None)
    known = text_in_utc(column, blank=True)
    missing = nodes.call(
        "SUBSTR", nodes.text(_WHOLE_TEXT), nodes.plus(nodes.call("LENGTH", known.copy()), nodes.number(1))
    )
    whole = part(nodes.joined(known, missing), 1, len(_WHOLE_TEXT))
    return TimeBound(left=whole, value=moment.isoformat(sep=" ", timespec="microseconds"), near=_near(moment))


def _written_bound(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    parsed = parse_text_format(time_format)
    return text_bound(column, time_format, parsed, moment) or TimeBound(
        left=written_moment(column, time_format), value=_ceiled(parsed, moment)
    )


def _written_equal(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    parsed = parse_text_format(time_format)
    found = text_equal(column, time_format, parsed, moment)
    if found:
        return found
    value = _shown(parsed, moment) if parsed.floor(moment) == moment else None
    return TimeBound(left=written_moment(column, time_format), value=value)


def _ceiled(parsed: TextFormat, moment: datetime) -> str:
    """Round up to the text's resolution: moments of a text column are whole seconds or whole days."""
    step = timedelta(seconds=1) if parsed.has_clock() else timedelta(days=1)
    floor = moment.replace(microsecond=0) if parsed.has_clock() else datetime.combine(moment.date(), time.min)
    try:
        return _shown(parsed, floor if floor == moment else floor + step)
    except OverflowError:
        return _AFTER_EVERY_DATE


def _shown(parsed: TextFormat, moment: datetime) -> str:
    return moment.isoformat(sep=" ") if parsed.has_clock() else moment.date().isoformat()


_BOUNDS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat, datetime], TimeBound]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: _text_bound,
        TimeEncoding.DATE: _text_bound,
        TimeEncoding.TIMESTAMPTZ: _text_bound,
        TimeEncoding.ISO_TEXT: _text_bound,
        TimeEncoding.TEXT: _written_bound,
        TimeEncoding.EPOCH_S: epoch_bound,
        TimeEncoding.EPOCH_MS: epoch_bound,
    }
)
_EQUALS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat, datetime], TimeBound]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: _text_equal,
        TimeEncoding.DATE: _text_equal,
        TimeEncoding.TIMESTAMPTZ: _text_equal,
        TimeEncoding.ISO_TEXT: _text_equal,
        TimeEncoding.TEXT: _written_equal,
        TimeEncoding.EPOCH_S: epoch_equal,
        TimeEncoding.EPOCH_MS: epoch_equal,
    }
)
