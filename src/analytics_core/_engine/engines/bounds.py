"""Compares moments with columns in the column's own encoding: exact for `>=` and `<`, and for `=`.

A bound finer than the column's resolution is rounded up: of a DATE column, `d >= noon` and `d < noon` are both decided
by the next day. Where a column's texts or numbers sort as the moments that they mean, they are compared as they
are, which keeps indexes usable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum

from sqlglot import exp

from analytics_core._engine.engines import nodes
from analytics_core._engine.engines.spec import BindValue, TimeBound
from analytics_core._engine.engines.tokens import FormatLanguage, write_tokens
from analytics_core._engine.engines.types import TextFormat, TimeEncoding, TimeFormat, ValueKind, parse_format
from analytics_core.errors import UnsupportedByEngineError

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - bounds are naive UTC
_MICROSECOND = timedelta(microseconds=1)
_TICKS: Mapping[TimeEncoding, int] = {TimeEncoding.EPOCH_S: 1_000_000, TimeEncoding.EPOCH_MS: 1_000}

Decode = Callable[[exp.Expr], exp.Expr]
Moment = Callable[[exp.Expr, TimeFormat], exp.Expr]
Compare = Callable[[exp.Expr, TimeFormat, datetime], TimeBound]


def moments_by(
    *,
    date: Decode,
    timestamptz: Decode,
    iso_text: Decode,
    text: Moment,
    epoch: Moment,
    timestamp: Decode = lambda column: column,
) -> Moment:
    """Return `EngineSpec.moment` of its branches: how the columns of each encoding become naive UTC moments."""
    branches: dict[TimeEncoding, Moment] = {
        TimeEncoding.TIMESTAMP: lambda column, _format: timestamp(column),
        TimeEncoding.DATE: lambda column, _format: date(column),
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: timestamptz(column),
        TimeEncoding.ISO_TEXT: lambda column, _format: iso_text(column),
        TimeEncoding.TEXT: text,
        TimeEncoding.EPOCH_S: epoch,
        TimeEncoding.EPOCH_MS: epoch,
    }
    return lambda column, time_format: branches[time_format.encoding](column, time_format)


def parsed_by(function: str, language: FormatLanguage, text_type: exp.DType, *more: str) -> Moment:
    """Return how text is read by `function(text, format, more)`."""

    def moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
        written = nodes.text(write_tokens(written_format(time_format), language))
        source = written_text(column, time_format, text_type)
        return nodes.call(function, source, written, *map(nodes.text, more))

    return moment


def timestamp_of_epoch(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Return a count since 1970 as a timestamp, by TIMESTAMP_SECONDS and its brothers for smaller units."""
    is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        micros = nodes.call("FLOOR", nodes.times(column, nodes.number(1_000_000 if is_seconds else 1000)))
        return nodes.call("TIMESTAMP_MICROS", nodes.cast(micros, nodes.Type.BIGINT))
    return nodes.call("TIMESTAMP_SECONDS" if is_seconds else "TIMESTAMP_MILLIS", epoch_count(column, time_format))


def ceil_day(moment: datetime) -> date | None:
    """Return the first day that does not begin before `moment`; None after the year 9999."""
    if moment.time() == time.min:
        return moment.date()
    try:
        return moment.date() + timedelta(days=1)
    except OverflowError:
        return None


def epoch_bound(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Return the bound of an epoch column; whole numbers are rounded up."""
    micros, tick = _micros(moment), _TICKS[time_format.encoding]
    left, kind = epoch_count(column, time_format), time_format.value_kind
    if kind is ValueKind.DECIMAL and micros % tick:
        return TimeBound(column=left, value=Decimal(micros) / tick)
    if kind is ValueKind.FLOAT and micros % tick:
        return TimeBound(column=left, value=micros / tick)
    return TimeBound(column=left, value=-(-micros // tick))


def epoch_equal(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Return the equality of an epoch column; None where whole numbers cannot mean the moment."""
    bound = epoch_bound(column, time_format, moment)
    if isinstance(bound.value, int) and _micros(moment) % _TICKS[time_format.encoding]:
        return TimeBound(column=bound.left, value=None)
    return bound


def epoch_count(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Return the number that an epoch column holds, which may be written as text."""
    is_text = time_format.value_kind is ValueKind.TEXT
    return nodes.cast(column, nodes.Type.BIGINT) if is_text else column


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def written_format(time_format: TimeFormat, parse: Callable[[str], TextFormat] = parse_format) -> TextFormat:
    """Return the parsed `strftime` of a TEXT encoding.

    Raises:
        UnsupportedByEngineError: the format cannot be read, or does not fit the numbers that the column holds.
    """
    if not time_format.strftime:
        raise UnsupportedByEngineError("a text column of moments needs a date format such as '%Y-%m-%d'")
    parsed = parse(time_format.strftime)
    if time_format.value_kind.is_numeric and not (parsed.is_digits and parsed.directives[0] == "Y"):
        raise UnsupportedByEngineError(
            f"a column of numbers cannot hold dates as {time_format.strftime!r}; "
            "digits that begin with the year, such as '%Y%m%d', can be read"
        )
    return parsed


def written_text(column: exp.Expr, time_format: TimeFormat, text_type: exp.DType) -> exp.Expr:
    """Return the text of a TEXT encoding: numbers are cast, fractions cut off first (`202401.0` is no date)."""
    if time_format.value_kind is ValueKind.TEXT:
        return column
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        column = nodes.cast(column, nodes.Type.BIGINT)
    return nodes.cast(column, text_type)


def text_bound(column: exp.Expr, time_format: TimeFormat, parsed: TextFormat, moment: datetime) -> TimeBound | None:
    """Return the bound of a column whose texts sort as time; None when they do not, or the calendar ends."""
    first = parsed.ceil(moment) if parsed.sorts_as_time else None
    return TimeBound(column=column, value=_written(time_format, parsed, first)) if first else None


def text_equal(column: exp.Expr, time_format: TimeFormat, parsed: TextFormat, moment: datetime) -> TimeBound | None:
    """Return the equality of a column whose texts sort as time; None when they do not."""
    if not parsed.sorts_as_time:
        return None
    exact = parsed.floor(moment) == moment
    return TimeBound(column=column, value=_written(time_format, parsed, moment) if exact else None)


def _written(time_format: TimeFormat, parsed: TextFormat, moment: datetime) -> int | str:
    written = parsed.write(moment)
    return int(written) if time_format.value_kind.is_numeric else written


class ZonedComparison(StrEnum):
    """How TIMESTAMPTZ columns are compared: with aware values, with naive ones, or after decoding."""

    AWARE = "aware"
    NAIVE = "naive"
    DECODED = "decoded"


def _itself(value: date) -> BindValue:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentComparison:
    """The comparisons of an engine that has timestamps; `moment` is its own, for encodings that must be decoded.

    `write` and `write_day` make the values for comparisons with naive timestamps and with dates, for drivers that would
    not take a datetime or date as it is. `tries_casts`: what cannot be cast is null, not an error.
    """

    moment: Moment
    zoned: ZonedComparison = ZonedComparison.AWARE
    write: Callable[[datetime], BindValue] = _itself
    write_day: Callable[[date], BindValue] = _itself
    tries_casts: bool = False

    def bound(self, column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
        """Return `EngineSpec.time_bound`."""
        comparisons = self._comparisons(epoch=epoch_bound, date=self._date_bound, text=self._text_bound)
        return self._tried(comparisons[time_format.encoding](column, time_format, moment))

    def equal(self, column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
        """Return `EngineSpec.time_equal`."""
        comparisons = self._comparisons(epoch=epoch_equal, date=self._date_equal, text=self._text_equal)
        return self._tried(comparisons[time_format.encoding](column, time_format, moment))

    def _tried(self, bound: TimeBound) -> TimeBound:
        is_cast = self.tries_casts and type(bound.left) is exp.Cast
        return replace(bound, column=exp.TryCast(**bound.left.args)) if is_cast else bound

    def _comparisons(self, *, epoch: Compare, date: Compare, text: Compare) -> Mapping[TimeEncoding, Compare]:
        zoned = {
            ZonedComparison.AWARE: self._aware,
            ZonedComparison.NAIVE: self._plain,
            ZonedComparison.DECODED: self._decoded,
        }
        return {
            TimeEncoding.TIMESTAMP: self._plain,
            TimeEncoding.TIMESTAMPTZ: zoned[self.zoned],
            TimeEncoding.DATE: date,
            TimeEncoding.ISO_TEXT: self._decoded,
            TimeEncoding.TEXT: text,
            TimeEncoding.EPOCH_S: epoch,
            TimeEncoding.EPOCH_MS: epoch,
        }

    def _plain(self, column: exp.Expr, _format: TimeFormat, moment: datetime) -> TimeBound:
        return TimeBound(column=column, value=self.write(moment))

    def _aware(self, column: exp.Expr, _format: TimeFormat, moment: datetime) -> TimeBound:
        return TimeBound(column=column, value=moment.replace(tzinfo=UTC))

    def _decoded(self, column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
        return TimeBound(column=self.moment(column, time_format), value=self.write(moment))

    def _date_bound(self, column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
        day = ceil_day(moment)
        return (
            TimeBound(column=column, value=self.write_day(day)) if day else self._decoded(column, time_format, moment)
        )

    def _date_equal(self, column: exp.Expr, _format: TimeFormat, moment: datetime) -> TimeBound:
        return TimeBound(column=column, value=self.write_day(moment.date()) if moment.time() == time.min else None)

    def _text_bound(self, column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
        parsed = written_format(time_format)
        return text_bound(column, time_format, parsed, moment) or self._decoded(column, time_format, moment)

    def _text_equal(self, column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
        parsed = written_format(time_format)
        return text_equal(column, time_format, parsed, moment) or self._decoded(column, time_format, moment)
