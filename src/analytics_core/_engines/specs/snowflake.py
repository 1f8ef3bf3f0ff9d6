"""Snowflake: weeks are counted by ISO day numbers, since DATE_TRUNC obeys the session's WEEK_START.

Not run here; written from its documentation. Sessions run in UTC, for text without a zone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import nodes, operators
from analytics_core._engines.allowed import ALLOWED_FUNCTIONS
from analytics_core._engines.bounds import MomentComparison, written_format, written_text
from analytics_core._engines.denied import DENIED_FUNCTIONS
from analytics_core._engines.error_patterns import ERROR_PATTERNS
from analytics_core._engines.grains import EPOCH, buckets_by_truncation, cut_by_remainder
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.nodes import Type, call, minus, number, text, times
from analytics_core._engines.spec import EngineSpec, ParamStyle
from analytics_core._engines.tokens import SNOWFLAKE, write_tokens
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind


def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _naive(node: exp.Expr) -> exp.Expr:
    return nodes.cast(node, Type.TIMESTAMPNTZ)


def _in_utc(instant: exp.Expr) -> exp.Expr:
    return _naive(call("CONVERT_TIMEZONE", text("UTC"), instant))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    source = written_text(column, time_format, Type.VARCHAR)
    return call("TO_TIMESTAMP_NTZ", source, text(write_tokens(written_format(time_format), SNOWFLAKE)))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
    unit, count = ("second" if is_seconds else "millisecond"), column
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        unit, count = "microsecond", call("FLOOR", times(column, number(1_000_000 if is_seconds else 1000)))
    elif time_format.value_kind is ValueKind.TEXT:
        count = nodes.cast(column, Type.BIGINT)
    return call("DATEADD", text(unit), count, _naive(text(EPOCH)))


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: lambda column, _format: column,
        TimeEncoding.DATE: lambda column, _format: _naive(column),
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: _in_utc(column),
        TimeEncoding.ISO_TEXT: lambda column, _format: _in_utc(call("TO_TIMESTAMP_TZ", column)),
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    if unit == "week":
        back = minus(number(1), call("DAYOFWEEKISO", moment.copy()))
        return call("DATEADD", text("day"), back, _truncate(moment, "day"))
    return call("DATE_TRUNC", text(unit), moment)


def _add_days(moment: exp.Expr, days: int) -> exp.Expr:
    return call("DATEADD", text("day"), number(days), moment)


def _seconds_since_epoch(second: exp.Expr) -> exp.Expr:
    return call("DATEDIFF", text("second"), _naive(text(EPOCH)), second)


def _subtract_seconds(second: exp.Expr, past: exp.Expr) -> exp.Expr:
    return call("DATEADD", text("second"), exp.Neg(this=past), second)


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return call("DATEADD", text("hour"), number(hours), moment) if hours else moment


def _nulls_first(descending: bool) -> bool:
    return descending


_bucket = buckets_by_truncation(
    truncate=_truncate,
    add_days=_add_days,
    cut_seconds=cut_by_remainder(
        truncate=_truncate, seconds_since_epoch=_seconds_since_epoch, subtract_seconds=_subtract_seconds
    ),
)
_COMPARISON = MomentComparison(moment=_moment)
_LITERALS = LiteralStyle(dialect="snowflake", timestamp="{}::TIMESTAMP_NTZ", timestamp_tz="{}::TIMESTAMP_TZ")


def snowflake_spec() -> EngineSpec:
    """Return the facts of Snowflake."""
    return EngineSpec(
        name="snowflake",
        label="Snowflake",
        dialect="snowflake",
        drivers=("snowflake",),
        registered_as={"snowflake": "snowflake"},
        paramstyle=ParamStyle.PYFORMAT,
        extra_name="snowflake",
        max_identifier_bytes=255,
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=operators.unchanged,
        text_equal=operators.unchanged,
        text_order=operators.unchanged,
        like=operators.like_where_case_counts(has_ilike=True),
        as_text=operators.cast_to(Type.VARCHAR),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(operators.unchanged),
        count_distinct=operators.count_distinct_by(operators.unchanged),
        is_true=operators.equals_truth,
        in_list=operators.in_list_of(),
        literal=_LITERALS.write,
        value_kind=kind_reader(),
        null_safe_equal=operators.null_safe_equal,
        nulls_first_by_default=_nulls_first,
        allows_cost_estimate=True,
        error_patterns=ERROR_PATTERNS.get("snowflake", ()),
        denied_functions=DENIED_FUNCTIONS["snowflake"],
        allowed_functions=ALLOWED_FUNCTIONS["snowflake"],
    )
