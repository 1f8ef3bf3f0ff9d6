"""Druid: timestamps of milliseconds, cut by ISO 8601 periods. Not run here; written from its documentation.

Bounds travel as text, because the driver takes no datetimes. Distinct counts are exact only in sessions with
`useApproximateCountDistinct = false`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, Zoned, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import WEEK_SHIFTS
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type, call, number, text, times
from analytics_core._engines.spec import BindValue, EngineSpec, ParamStyle
from analytics_core._engines.tokens import JAVA, write_tokens
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core.models.enums import TimeGrain


def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _iso_moment(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    return call("TIME_PARSE", call("REPLACE", column, text(" "), text("T")), exp.Null(), text("UTC"))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    source = written_text(column, time_format, Type.VARCHAR)
    return call("TIME_PARSE", source, text(write_tokens(written_format(time_format), JAVA)), text("UTC"))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    count = nodes.cast(column, Type.BIGINT) if time_format.value_kind is ValueKind.TEXT else column
    millis = times(count, number(1000)) if time_format.encoding is TimeEncoding.EPOCH_S else count
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        millis = nodes.cast(call("FLOOR", millis), Type.BIGINT)
    return call("MILLIS_TO_TIMESTAMP", millis)


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: lambda column, _format: column,
        TimeEncoding.DATE: lambda column, _format: nodes.cast(column, Type.TIMESTAMP),
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: column,
        TimeEncoding.ISO_TEXT: _iso_moment,
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


def _bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
    """Cut by the grain's period, which Druid counts from 1970; weeks begin on Mondays."""
    if grain not in WEEK_SHIFTS:
        return _floor(moment, grain.value)
    before, after = WEEK_SHIFTS[grain]
    return _add_days(_floor(_add_days(moment, before), "P1W"), after)


def _floor(moment: exp.Expr, period: str) -> exp.Expr:
    return call("TIME_FLOOR", moment, text(period), exp.Null(), text("UTC"))


def _add_days(moment: exp.Expr, days: int) -> exp.Expr:
    return _moved(moment, "P1D", days)


def _moved(moment: exp.Expr, period: str, count: int) -> exp.Expr:
    return call("TIME_SHIFT", moment, text(period), number(count), text("UTC")) if count else moment


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return _moved(moment, "PT1H", hours)


def _as_text_value(moment: datetime) -> BindValue:
    """Return ISO text in milliseconds, rounded up: no stored moment is finer."""
    rest = -moment.microsecond % 1000
    try:
        moment += timedelta(microseconds=rest)
    except OverflowError:
        moment -= timedelta(microseconds=1000 - rest)
    return moment.isoformat(sep=" ", timespec="milliseconds")


_COMPARISON = MomentComparison(moment=_moment, zoned=Zoned.NAIVE, write=_as_text_value, write_day=date.isoformat)
_LITERALS = LiteralStyle(dialect="druid")


def druid_spec() -> EngineSpec:
    """Return the facts of Druid."""
    return EngineSpec(
        name="druid",
        label="Apache Druid",
        dialect="druid",
        drivers=("http", "https"),
        paramstyle=ParamStyle.PYFORMAT,
        extra_name="druid",
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=operators.unchanged,
        text_equal=operators.unchanged,
        text_order=operators.unchanged,
        like=operators.like_where_case_counts(has_ilike=False),
        as_text=operators.cast_to(Type.VARCHAR),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(operators.unchanged),
        count_distinct=operators.count_distinct_by(operators.unchanged),
        is_true=operators.is_true,
        in_list=operators.in_list_of(),
        literal=_LITERALS.write,
        value_kind=kind_reader(),
        null_safe_equal=operators.null_safe_equal,
        allows_joins=False,
        error_patterns=ERROR_PATTERNS.get("druid", ()),
        denied_functions=DENIED_FUNCTIONS["druid"],
        allowed_functions=ALLOWED_FUNCTIONS["druid"],
    )
