"""BigQuery: DATETIME is the naive moment, TIMESTAMP the instant. Not run here; written from its documentation."""

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
from analytics_core._engines.nodes import Type, call, interval, number, text, times, verbatim
from analytics_core._engines.patterns import backslashed_like
from analytics_core._engines.spec import Bind, EngineSpec, ParamStyle
from analytics_core._engines.tokens import BIGQUERY, write_tokens
from analytics_core._engines.types import TimeEncoding, TimeFormat, ValueKind


# ------------------------------------------------------------------------------------------------------------ moments
def _moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    return _MOMENTS[time_format.encoding](column, time_format)


def _in_utc(instant: exp.Expr) -> exp.Expr:
    return call("DATETIME", instant, text("UTC"))


def _iso_moment(column: exp.Expr, _format: TimeFormat) -> exp.Expr:
    return _in_utc(call("TIMESTAMP", column))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    source = written_text(column, time_format, Type.TEXT)
    return call("PARSE_DATETIME", text(write_tokens(written_format(time_format), BIGQUERY)), source)


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        micros = call("FLOOR", times(column, number(1_000_000 if is_seconds else 1000)))
        return _in_utc(call("TIMESTAMP_MICROS", nodes.cast(micros, Type.BIGINT)))
    count = nodes.cast(column, Type.BIGINT) if time_format.value_kind is ValueKind.TEXT else column
    return _in_utc(call("TIMESTAMP_SECONDS" if is_seconds else "TIMESTAMP_MILLIS", count))


_MOMENTS: Mapping[TimeEncoding, Callable[[exp.Expr, TimeFormat], exp.Expr]] = MappingProxyType(
    {
        TimeEncoding.TIMESTAMP: lambda column, _format: column,
        TimeEncoding.DATE: lambda column, _format: call("DATETIME", column),
        TimeEncoding.TIMESTAMPTZ: lambda column, _format: _in_utc(column),
        TimeEncoding.ISO_TEXT: _iso_moment,
        TimeEncoding.TEXT: _written_moment,
        TimeEncoding.EPOCH_S: _epoch_moment,
        TimeEncoding.EPOCH_MS: _epoch_moment,
    }
)


# ------------------------------------------------------------------------------------------------------------ buckets
def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    """Name the week's first day: plain WEEK would be Sunday's."""
    return call("DATETIME_TRUNC", moment, verbatim("WEEK(MONDAY)" if unit == "week" else unit.upper()))


def _add_days(moment: exp.Expr, days: int) -> exp.Expr:
    return call("DATETIME_ADD", moment, interval(number(days), "DAY"))


def _seconds_since_epoch(second: exp.Expr) -> exp.Expr:
    return call("DATETIME_DIFF", second, verbatim(f"DATETIME '{EPOCH}'"), verbatim("SECOND"))


def _subtract_seconds(second: exp.Expr, past: exp.Expr) -> exp.Expr:
    return call("DATETIME_SUB", second, interval(past, "SECOND"))


def _shift(moment: exp.Expr, hours: int) -> exp.Expr:
    return call("DATETIME_ADD", moment, interval(number(hours), "HOUR")) if hours else moment


# ---------------------------------------------------------------------------------------------------------- operators
def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    """LIKE takes a backslash and no ESCAPE clause; there is no ILIKE."""
    value = bind(backslashed_like(pattern))
    if fold_case:
        return exp.Like(this=call("LOWER", left), expression=call("LOWER", value))
    return exp.Like(this=nodes.operand(left), expression=value)


_bucket = buckets_by_truncation(
    truncate=_truncate,
    add_days=_add_days,
    cut_seconds=cut_by_remainder(
        truncate=_truncate, seconds_since_epoch=_seconds_since_epoch, subtract_seconds=_subtract_seconds
    ),
)
_COMPARISON = MomentComparison(moment=_moment)
_LITERALS = LiteralStyle(dialect="bigquery", timestamp="DATETIME {}", binary="b'{}'", byte_prefix="\\x", members="[{}]")
_KINDS: Mapping[str, ValueKind] = MappingProxyType({"TIMESTAMP": ValueKind.TIMESTAMPTZ, "RANGE": ValueKind.OTHER})


def bigquery_spec() -> EngineSpec:
    """Return the facts of BigQuery."""
    return EngineSpec(
        name="bigquery",
        label="BigQuery",
        dialect="bigquery",
        drivers=("bigquery",),
        registered_as={"bigquery": "bigquery"},
        paramstyle=ParamStyle.PYFORMAT,
        extra_name="bigquery",
        max_identifier_bytes=300,
        moment=_moment,
        bucket=_bucket,
        shift=_shift,
        time_bound=_COMPARISON.bound,
        time_equal=_COMPARISON.equal,
        text_key=operators.unchanged,
        text_equal=operators.unchanged,
        text_order=operators.unchanged,
        like=_like,
        as_text=operators.cast_to(Type.TEXT),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(operators.unchanged),
        count_distinct=operators.count_distinct_by(operators.unchanged),
        is_true=operators.is_true,
        in_list=operators.in_list_of(),
        literal=_LITERALS.write,
        value_kind=kind_reader(_KINDS),
        null_safe_equal=operators.null_safe_equal,
        allows_cost_estimate=True,
        error_patterns=ERROR_PATTERNS.get("bigquery", ()),
        closes_group_keys=True,
        denied_functions=DENIED_FUNCTIONS["bigquery"],
        allowed_functions=ALLOWED_FUNCTIONS["bigquery"],
    )
