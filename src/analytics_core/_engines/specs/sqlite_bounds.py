"""How SQLite compares moments with columns, which keep them as text (SQL_TRAPS.md, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, time, timedelta
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes
from analytics_core._engines.bounds import ceil_day, epoch_bound, epoch_equal, text_bound, text_equal
from analytics_core._engines.formats import TextFormat
from analytics_core._engines.spec import TimeBound
from analytics_core._engines.specs.sqlite_time import parse_text_format, part, written_moment, zoned_moment
from analytics_core._engines.types import TimeEncoding, TimeFormat

_WHOLE_TEXT = "0000-00-00 00:00:00.000000"
_AFTER_EVERY_DATE = ":"  # the character after '9'


def sqlite_time_bound(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Return `EngineSpec.time_bound`."""
    return _BOUNDS[time_format.encoding](column, time_format, moment)


def sqlite_time_equal(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Return `EngineSpec.time_equal`."""
    return _EQUALS[time_format.encoding](column, time_format, moment)


def _timestamp_bound(column: exp.Expr, _format: TimeFormat, moment: datetime) -> TimeBound:
    """Bind the shortest text: right for rows stored as dates, with seconds, with fractions, and at midnight with a `T`.

    Inside a day a `T` would sort wrong, so there it is replaced, at the price of an index.
    """
    if moment.time() == time.min:
        return TimeBound(left=column, value=moment.date().isoformat())
    return TimeBound(left=_blank_for_t(column), value=_shortest(moment))


def _shortest(moment: datetime) -> str:
    text = moment.isoformat(sep=" ")
    return text.rstrip("0") if moment.microsecond else text


def _blank_for_t(column: exp.Expr) -> exp.Expr:
    return nodes.call("REPLACE", column, nodes.text("T"), nodes.text(" "))


def _timestamp_equal(column: exp.Expr, _format: TimeFormat, moment: datetime) -> TimeBound:
    """Fill the stored text up to microseconds, so that a date alone equals its midnight; an index is of no use here."""
    missing = nodes.call(
        "SUBSTR", nodes.text(_WHOLE_TEXT), nodes.plus(nodes.call("LENGTH", column.copy()), nodes.number(1))
    )
    return TimeBound(left=nodes.joined(_blank_for_t(column), missing), value=_whole(moment))


def _whole(moment: datetime) -> str:
    return moment.isoformat(sep=" ", timespec="microseconds")


def _date_bound(column: exp.Expr, _format: TimeFormat, moment: datetime) -> TimeBound:
    day = ceil_day(moment)
    return TimeBound(left=column, value=day.isoformat() if day else _AFTER_EVERY_DATE)


def _date_equal(column: exp.Expr, _format: TimeFormat, moment: datetime) -> TimeBound:
    is_day = moment.time() == time.min
    return TimeBound(left=part(column, 1, 10), value=moment.date().isoformat() if is_day else None)


def _zoned_bound(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Compare whole seconds where that is exact, which it is for bounds without a fraction."""
    if moment.microsecond:
        return _zoned_equal(column, time_format, moment)
    return TimeBound(left=zoned_moment(column, time_format), value=moment.isoformat(sep=" "))


def _zoned_equal(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Compare the moment in UTC with its fraction put back: `DATETIME` drops it."""
    rest = nodes.call("SUBSTR", column.copy(), nodes.number(20))
    has_fraction = nodes.equal(part(column.copy(), 20, 1), nodes.text("."))
    fraction = nodes.when((has_fraction, nodes.cast(rest, nodes.Type.DOUBLE)), otherwise=nodes.number(0))
    digits = nodes.call("SUBSTR", nodes.call("PRINTF", nodes.text("%.6f"), fraction), nodes.number(2))
    return TimeBound(left=nodes.joined(zoned_moment(column, time_format), digits), value=_whole(moment))


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
        TimeEncoding.TIMESTAMP: _timestamp_bound,
        TimeEncoding.DATE: _date_bound,
        TimeEncoding.TIMESTAMPTZ: _zoned_bound,
        TimeEncoding.ISO_TEXT: _zoned_bound,
        TimeEncoding.TEXT: _written_bound,
        TimeEncoding.EPOCH_S: epoch_bound,
        TimeEncoding.EPOCH_MS: epoch_bound,
    }
)
_EQUALS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat, datetime], TimeBound]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: _timestamp_equal,
        TimeEncoding.DATE: _date_equal,
        TimeEncoding.TIMESTAMPTZ: _zoned_equal,
        TimeEncoding.ISO_TEXT: _zoned_equal,
        TimeEncoding.TEXT: _written_equal,
        TimeEncoding.EPOCH_S: epoch_equal,
        TimeEncoding.EPOCH_MS: epoch_equal,
    }
)
