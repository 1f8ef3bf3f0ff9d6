"""How SQLite reads, cuts and compares moments, which it keeps as text (SQL_TRAPS.md, sections 2 and 3).

Moments are `YYYY-MM-DD HH:MM:SS` text; buckets are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, time, timedelta
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes
from analytics_core._engines.bounds import epoch_bound, epoch_equal, text_bound, text_equal, written_format
from analytics_core._engines.formats import TextFormat, fixed_width_format
from analytics_core._engines.grains import SECONDS
from analytics_core._engines.spec import TimeBound
from analytics_core._engines.tokens import iso_text
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.models.enums import TimeGrain


def sqlite_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Return `EngineSpec.moment`."""
    return _MOMENTS[time_format.encoding](column, time_format)


WHOLE_ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")
"""The formats that SQLite reads itself, without a fraction."""

PLAIN_ISO = (*WHOLE_ISO, "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f")
"""The formats of ISO texts without a zone: where the dataset says one of a column, its texts sort as their moments."""


def _text_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Return whole seconds in UTC; the fraction is cut first: strftime rounds it, before 1970 into the next year."""
    if time_format.strftime in WHOLE_ISO:
        return column
    second = part(column, 1, 19)
    if time_format.strftime in PLAIN_ISO:
        return second
    if time_format.encoding is TimeEncoding.ISO_TEXT:  # a `T` sorts after the blank of those that had an offset
        second = nodes.call("REPLACE", second, nodes.text("T"), nodes.text(" "))
    return nodes.when((_has_offset(column), _second_in_utc(column)), otherwise=second)


def sqlite_sorted_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Return `EngineSpec.sorted_moment`: any text may hold an offset, unless the dataset says a format without."""
    if time_format.is_native or time_format.encoding is TimeEncoding.ISO_TEXT:
        return column if time_format.strftime in PLAIN_ISO else text_in_utc(column, blank=True)
    return column if time_format.sorts_as_time else sqlite_moment(column, time_format)


def text_in_utc(column: exp.Expr, *, blank: bool) -> exp.Expr:
    """Return the text of a moment in UTC with its fraction; `blank`: with a blank for a `T`, and without `Z`."""
    fraction = part(column.copy(), 20, nodes.minus(nodes.call("LENGTH", column.copy()), nodes.number(25)))
    zoned = nodes.joined(_second_in_utc(column), fraction)
    if not blank:
        return nodes.when((_has_offset(column), zoned), otherwise=column)
    plain = nodes.call("REPLACE", column.copy(), nodes.text("T"), nodes.text(" "))
    return nodes.when((_has_offset(column), zoned), otherwise=nodes.call("RTRIM", plain, nodes.text("Zz")))


def _has_offset(column: exp.Expr) -> exp.Expr:
    """Tell texts that end with a UTC offset; most are too short for one, which is cheaper to see."""
    long = exp.GT(this=nodes.call("LENGTH", column.copy()), expression=nodes.number(24))
    return exp.And(
        this=long, expression=exp.Glob(this=column.copy(), expression=nodes.text("*[-+][0-9][0-9]:[0-9][0-9]"))
    )


def _second_in_utc(column: exp.Expr) -> exp.Expr:
    return nodes.call("DATETIME", nodes.joined(part(column.copy(), 1, 19), part(column.copy(), -6, 6)))


def written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Return ISO text from a text column of fixed width: the day alone when its format has no clock."""
    if time_format.strftime in WHOLE_ISO:
        return column
    return iso_text(column, parse_text_format(time_format), part)


def _epoch_s_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _from_epoch(_whole(column, time_format))


def _epoch_ms_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Take the milliseconds off downwards; SQLite divides towards zero."""
    count = _whole(column, time_format)
    seconds = exp.Paren(this=nodes.minus(count.copy(), _floor_remainder(count, 1000)))
    return _from_epoch(exp.Div(this=seconds, expression=nodes.number(1000), typed=True))


def _whole(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Cut fractions downwards; SQLite's cast cuts towards zero."""
    if time_format.value_kind not in (ValueKind.FLOAT, ValueKind.DECIMAL):
        return column
    cut = nodes.cast(column.copy(), nodes.Type.INT)
    is_above = exp.Paren(this=exp.LT(this=nodes.operand(column.copy()), expression=cut.copy()))
    return exp.Paren(this=nodes.minus(cut, is_above))


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: _text_moment,
        TimeEncoding.DATE: _text_moment,
        TimeEncoding.TIMESTAMPTZ: _text_moment,
        TimeEncoding.ISO_TEXT: _text_moment,
        TimeEncoding.TEXT: written_moment,
        TimeEncoding.EPOCH_S: _epoch_s_moment,
        TimeEncoding.EPOCH_MS: _epoch_ms_moment,
    }
)


def part(node: exp.Expr, start: int, length: int | exp.Expr) -> exp.Expr:
    """Return `SUBSTR(node, start, length)`; places count from 1, negative ones from the end."""
    size = nodes.number(length) if isinstance(length, int) else length
    return nodes.call("SUBSTR", node, nodes.number(start), size)


def _floor_remainder(node: exp.Expr, divisor: int) -> exp.Expr:
    """Return the remainder of a division that rounds down; SQLite's own has the sign of the dividend."""
    positive = exp.Paren(this=nodes.plus(nodes.remainder(node, nodes.number(divisor)), nodes.number(divisor)))
    return nodes.remainder(positive, nodes.number(divisor))


def _from_epoch(seconds: exp.Expr) -> exp.Expr:
    return nodes.call("DATETIME", seconds, nodes.text("unixepoch"))


# ------------------------------------------------------------------------------------------------------------ buckets
def sqlite_bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
    """Return `EngineSpec.bucket`."""
    if grain in _PATTERNS:
        return nodes.call("STRFTIME", nodes.text(_PATTERNS[grain]), moment)
    if grain in SECONDS:
        return _seconds_bucket(moment, SECONDS[grain])
    if grain is TimeGrain.QUARTER:
        return _quarter(moment)
    return nodes.call("DATETIME", moment, *(nodes.text(modifier) for modifier in _MODIFIERS[grain]))


def _seconds_bucket(moment: exp.Expr, size: int) -> exp.Expr:
    seconds = nodes.cast(nodes.call("STRFTIME", nodes.text("%s"), moment), nodes.Type.INT)
    return _from_epoch(nodes.minus(seconds.copy(), _floor_remainder(seconds, size)))


def _quarter(moment: exp.Expr) -> exp.Expr:
    month = nodes.call("STRFTIME", nodes.text("%m"), moment.copy())
    past = nodes.remainder(exp.Paren(this=nodes.minus(month, nodes.number(1))), nodes.number(3))
    back = nodes.joined(nodes.text("-"), exp.Paren(this=past), nodes.text(" months"))
    return nodes.call("DATETIME", moment, nodes.text("start of month"), back)


_PATTERNS: Mapping[TimeGrain, str] = MappingProxyType(
    {TimeGrain.MINUTE: "%Y-%m-%d %H:%M:00", TimeGrain.HOUR: "%Y-%m-%d %H:00:00", TimeGrain.SECOND: "%Y-%m-%d %H:%M:%S"}
)
_MODIFIERS: Mapping[TimeGrain, tuple[str, ...]] = MappingProxyType(
    {
        TimeGrain.DAY: ("start of day",),
        TimeGrain.WEEK: ("start of day", "-6 days", "weekday 1"),
        TimeGrain.WEEK_STARTING_MONDAY: ("start of day", "-6 days", "weekday 1"),
        TimeGrain.WEEK_STARTING_SUNDAY: ("start of day", "-6 days", "weekday 0"),
        TimeGrain.WEEK_ENDING_SATURDAY: ("start of day", "weekday 6"),
        TimeGrain.WEEK_ENDING_SUNDAY: ("start of day", "weekday 0"),
        TimeGrain.MONTH: ("start of month",),
        TimeGrain.YEAR: ("start of year",),
    }
)


def sqlite_shift(moment: exp.Expr, hours: int) -> exp.Expr:
    """Return `EngineSpec.shift`."""
    return nodes.call("DATETIME", moment, nodes.text(f"{hours:+d} hours")) if hours else moment


def parse_text_format(time_format: TimeFormat) -> TextFormat:
    """Return the parsed format of a text column, which SQLite reads by position.

    Raises:
        UnsupportedByEngineError: the format is not of fixed width.
    """
    return written_format(time_format, parse=lambda source: fixed_width_format(source, engine="SQLite"))


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
